"""verify: claims about layouts and accesses, checked on every point of their domain.

A check either holds everywhere, and becomes a line of the certificate, or it raises VerificationError with the
first point where it fails: the coordinates, the lanes, the addresses, and what would mend it.
"""

from dataclasses import replace
from math import prod

import numpy as np

from simlayout.errors import AddressError, SimlayoutError, VerificationError
from simlayout.hardware import analyze, arch_of
from simlayout.proofs.access import Access
from simlayout.proofs.certificate import Certificate, digest


def verify(subject, conflict_free_for=(), *, stored_by=(), arch="sm_90"):
    """Proves a tile or an access over its whole domain.

    subject: an Access, or a tile (Layout, Swizzle @ Layout, ...). A tile is proved one-to-one and in bounds, then
    every access of `conflict_free_for` is proved with that tile in the place of its own, without any excess.
    An access is proved in range of its tile, contiguous and aligned for its instruction, without two lanes storing
    to the same bytes, and with exactly the excess it declares (`Access.excess`, 0 unless said otherwise).
    stored_by: accesses that write the tile; then every element that the subject reads was stored, at that very place.
    arch: whose wavefront rules to use.

    Returns a Certificate. Raises SimlayoutError if the arguments do not fit together, VerificationError if a claim is
    false: its `counterexample` is the first point that fails.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> print(sl.verify(tile).claims)
    ('one-to-one on its 1024 coordinates', 'in bounds: offsets 0..1023')
    >>> sl.verify(sl.Layout((4, 4), (1, 1)))
    Traceback (most recent call last):
    ...
    simlayout.errors.VerificationError: (4,4):(1,1) is not one-to-one: (1, 0) and (0, 1) both map to offset 1
    """
    if isinstance(subject, Access):
        if conflict_free_for:
            raise SimlayoutError(f"access {subject.name!r}: conflict_free_for goes with a tile; declare excess=0")
        return _verify_access(subject, tuple(stored_by), arch)
    if stored_by:
        raise SimlayoutError("stored_by goes with an Access that loads: verify(access, stored_by=[store])")
    claims = _tile_claims(subject)
    made = [_verify_access(replace(a, tile=subject, excess=0), (), arch) for a in conflict_free_for]
    claims += [f"conflict-free for {c.name} ({c.instruction}): {c.wavefronts} wavefronts = ideal" for c in made]
    return Certificate(name=str(subject), claims=tuple(claims), domain={"coordinates": int(subject.size)}, arch=arch,
                       instructions=sum(c.instructions for c in made), wavefronts=sum(c.wavefronts for c in made),
                       ideal=sum(c.ideal for c in made), digest=digest(_tile_offsets(subject)),
                       provenance=made[0].provenance if made else "")


# ---- tiles --------------------------------------------------------------------------------------------------------

def _tile_offsets(tile):
    return np.asarray(tile.offsets(), np.int64).reshape(-1)


def _tile_claims(tile):
    """A tile's own claims: one-to-one, in bounds."""
    if not hasattr(tile, "shape"):
        raise VerificationError(f"{tile} has no domain of its own: verify a layout, or an Access that names its domain")
    offsets = _tile_offsets(tile)
    order = np.argsort(offsets, kind="stable")
    same = np.flatnonzero(np.diff(offsets[order]) == 0)
    if same.size:
        clashes = np.stack([order[same], order[same + 1]], axis=1)
        first, second = sorted(clashes[np.argmin(clashes.max(axis=1))].tolist())
        a, b = _coordinate(tile, first), _coordinate(tile, second)
        raise VerificationError(f"{tile} is not one-to-one: {a} and {b} both map to offset {offsets[first]}",
                                {"coordinates": (a, b), "offset": int(offsets[first])})
    if offsets.min() < 0:
        at = int(np.argmax(offsets < 0))
        raise VerificationError(f"{tile} maps coordinate {_coordinate(tile, at)} to the negative offset {offsets[at]}",
                                {"coordinates": (_coordinate(tile, at),), "offset": int(offsets[at])})
    wasted = int(offsets.max()) + 1 - offsets.size
    claims = [f"one-to-one on its {offsets.size} coordinates", f"in bounds: offsets 0..{offsets.max()}"]
    return claims + ([f"{wasted} elements unused"] if wasted else [])


def _modes(shape):
    """The sizes of the top-level modes."""
    return [_size(s) for s in shape] if isinstance(shape, tuple) else [shape]


def _size(shape):
    return prod(_modes(shape))


def _coordinate(tile, index):
    """The coordinate (one int per top-level mode) of a linear index, leftmost mode fastest."""
    return tuple(int(i) for i in np.unravel_index(index, _modes(tile.shape), order="F"))


# ---- accesses -----------------------------------------------------------------------------------------------------

class _Table:
    """The coordinates of an access over its domain: int64 [instructions, 32] arrays `leaves`, nested as `form`."""

    def __init__(self, access):
        self.access, self.tile, self.used = access, access.tile, access.used_lanes()
        self.form = access.coordinate(*access.points())
        sizes = list(access.domain.values())
        shape = tuple(sizes[1:] + sizes[:1])
        self.leaves = [np.broadcast_to(np.asarray(c, np.int64), shape).reshape(-1, 32) for c in _flat(self.form)]

    def offsets(self, moved=None, by=0):
        """Offsets of all points, with leaf number `moved` further `by` elements: int64 [instructions, 32]."""
        leaves = iter([leaf + by if i == moved else leaf for i, leaf in enumerate(self.leaves)])
        made = self.tile(*_nested(self.form, leaves))
        return np.broadcast_to(np.asarray(made, np.int64), self.leaves[0].shape)

    def limits(self):
        """How many values each leaf may take; None for a tile that is a mere function."""
        if not hasattr(self.tile, "shape"):
            return None
        form = self.form[0] if len(self.form) == 1 else self.form
        limits = _limits(form, self.tile.shape)
        if limits is None:
            raise VerificationError(f"access {self.access.name!r} gives {len(self.form)} coordinates to {self.tile}, "
                                    f"which takes {len(_modes(self.tile.shape))}, nested as its shape")
        return limits

    def elements(self, mode):
        """Every element that the access moves: (offsets [n], keys [n, modes]); keys count along the tile's modes."""
        offsets, keys = [], []
        for j in range(self.access.elements):
            leaves = [leaf + j if i == mode else leaf for i, leaf in enumerate(self.leaves)]
            offsets.append((self.offsets() + j)[:, self.used].reshape(-1))
            keys.append(np.stack([k[:, self.used].reshape(-1) for k in self._keys(leaves)], axis=1))
        return np.concatenate(offsets), np.concatenate(keys)

    def _keys(self, leaves):
        shape = getattr(self.tile, "shape", None)
        if shape is None:
            return leaves
        form = _nested(self.form, iter(leaves))
        if len(form) == 1 and isinstance(form[0], tuple):
            form = form[0]
        if len(form) == 1:
            return np.unravel_index(form[0], _modes(shape), order="F")
        return [_linear(c, s) for c, s in zip(form, shape, strict=True)]

    def first(self, wrong):
        """(row, lane, domain point) of the first True of a mask over used lanes."""
        row, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        return row, lane, self.access.point(row, lane)


def _flat(nested):
    return [x for item in nested for x in _flat(item)] if isinstance(nested, tuple) else [nested]


def _nested(form, leaves):
    return tuple(_nested(f, leaves) for f in form) if isinstance(form, tuple) else next(leaves)


def _limits(form, shape):
    """The limit of every leaf of a coordinate, or None if it is not nested as the shape."""
    if not isinstance(form, tuple):
        return [_size(shape)]
    if not isinstance(shape, tuple) or len(form) != len(shape):
        return None
    found = [_limits(f, s) for f, s in zip(form, shape, strict=True)]
    return None if None in found else [limit for limits in found for limit in limits]


def _linear(coordinate, shape):
    """A possibly nested coordinate of one mode as a single int, leftmost fastest."""
    if not isinstance(coordinate, tuple):
        return coordinate
    total, step = 0, 1
    for c, s in zip(coordinate, shape, strict=True):
        total, step = total + step * _linear(c, s), step * _size(s)
    return total


def _verify_access(access, stored_by, arch):
    table = _Table(access)
    claims = _tile_claims(access.tile) if hasattr(access.tile, "shape") else []
    limits = table.limits()
    if limits is not None:
        _check_inside(table, limits)
    mode = None
    if access.elements > 1:
        mode = _check_neighbours(table, limits)
        claims.append(f"the {access.elements} elements of each {access.bytes}-byte access are neighbours along "
                      f"coordinate {mode}")
    addresses = access.addresses()
    try:
        analysis = analyze(access.instruction, addresses, arch=arch)
    except AddressError as error:
        raise _address_fault(table, addresses, arch, error) from None
    used = addresses[:, table.used]
    claims.append(f"addresses {used.min()}..{used.max() + access.bytes - 1} bytes, aligned to {access.bytes}")
    if access.is_store:
        claims.append(_check_no_overlap(table, addresses))
    claims.append(_check_excess(table, analysis))
    if stored_by:
        claims.append(_check_stored(table, mode, stored_by))
    return Certificate(access.name, tuple(claims), dict(access.domain), access.instruction, access.dtype, arch,
                       access.instructions(), int(analysis.wavefronts.sum()), int(analysis.ideal.sum()),
                       digest(access.offsets()), analysis.provenance.text)


def _text(point):
    return ", ".join(f"{k} = {v}" for k, v in point.items())


def _address_fault(table, addresses, arch, error):
    """The VerificationError for what `analyze` refused, at its domain point."""
    access = table.access
    beyond = (addresses < 0) | (addresses > arch_of(arch).shared_bytes_per_cta - access.bytes)
    wrong = beyond & table.used if (beyond & table.used).any() else (addresses % access.bytes != 0) & table.used
    row, lane, point = table.first(wrong)
    return VerificationError(f"access {access.name!r}: {error} (at {_text(point)})",
                             {"point": point, "address": int(addresses[row, lane])})


def _check_inside(table, limits):
    """Every coordinate lies in the tile's shape (an offset may be in bounds by accident)."""
    for mode, (leaf, limit) in enumerate(zip(table.leaves, limits, strict=True)):
        wrong = ((leaf < 0) | (leaf >= limit)) & table.used
        if wrong.any():
            row, lane, point = table.first(wrong)
            raise VerificationError(f"access {table.access.name!r} leaves the tile {table.tile}: coordinate {mode} is "
                                    f"{leaf[row, lane]} where it must be under {limit}, at {_text(point)}",
                                    {"point": point, "mode": mode, "value": int(leaf[row, lane])})


def _check_neighbours(table, limits):
    """The number of the coordinate along which the instruction's elements are neighbours, at consecutive offsets."""
    access, base, best = table.access, table.offsets(), (-1, 0)
    for mode, leaf in enumerate(table.leaves):
        wrong = np.zeros(base.shape, bool)
        for j in range(1, access.elements):
            wrong |= table.offsets(mode, j) != base + j
        wrong &= table.used
        if not wrong.any():
            if limits is not None:
                _check_last(table, mode, leaf + access.elements - 1, limits[mode])
            return mode
        best = max(best, (int(np.argmax(wrong)), -mode))
    row, lane = divmod(best[0], 32)
    point = access.point(row, lane)
    raise VerificationError(
        f"access {access.name!r}: the {access.elements} elements of one {access.bytes}-byte access are not neighbours "
        f"in {access.tile} at {_text(point)} (best along coordinate {-best[1]}); a swizzle must keep "
        f"{access.bytes}-byte chunks whole", {"point": point, "mode": -best[1]})


def _check_last(table, mode, last, limit):
    """The last element of each access is still inside the tile."""
    wrong = (last >= limit) & table.used
    if wrong.any():
        row, lane, point = table.first(wrong)
        access = table.access
        raise VerificationError(f"access {access.name!r} leaves the tile {table.tile}: its {access.elements} elements "
                                f"reach coordinate {mode} = {last[row, lane]}, which must be under {limit}, at "
                                f"{_text(point)}", {"point": point, "mode": mode, "value": int(last[row, lane])})


def _check_no_overlap(table, addresses):
    """No two lanes of one store write the same bytes (which of them would win is undefined)."""
    access, used = table.access, np.flatnonzero(table.used)
    lanes = addresses[:, used]
    order = np.argsort(lanes, axis=1, kind="stable")
    clash = np.diff(np.take_along_axis(lanes, order, axis=1), axis=1) < access.bytes
    if clash.any():
        row, i = (int(x) for x in np.unravel_index(int(np.argmax(clash)), clash.shape))
        a, b = sorted(int(used[order[row, i + d]]) for d in (0, 1))
        points = access.point(row, a), access.point(row, b)
        raise VerificationError(f"access {access.name!r}: lanes {a} and {b} store to the same bytes (address "
                                f"{addresses[row, a]}) at {_text(points[0])} and {_text(points[1])}",
                                {"points": points})
    return "no two lanes of an instruction store to the same bytes"


def _check_excess(table, analysis):
    """Each instruction has the declared excess."""
    access = table.access
    known = "" if analysis.exact else " (of the destinations alone)" if analysis.instruction.kind == "copy" else " (at most)"
    if access.excess is None:
        return f"excess wavefronts {int(analysis.excess.min())}..{int(analysis.excess.max())} per instruction{known}"
    wrong = analysis.excess != access.excess
    if wrong.any():
        row = int(np.argmax(wrong))
        found, wanted = int(analysis.excess[row]), access.excess
        lead = "has bank conflicts" if wanted == 0 else f"does not have the declared excess of {wanted}"
        detail = "\n".join(str(analysis.explain(row)).splitlines()[:12])
        raise VerificationError(
            f"access {access.name!r} {lead}: {found} excess wavefronts per {access.instruction} at "
            f"{_text(access.point(row, 0))}, in {int(wrong.sum())} of {wrong.size} instructions; try a swizzle, "
            f"padding or rotation, or declare Access(excess={found})\n{detail}",
            {"point": access.point(row, 0), "excess": found})
    if access.excess:
        return f"excess exactly {access.excess} wavefront{'s' * (access.excess > 1)} per instruction{known}"
    low, high = int(analysis.ideal.min()), int(analysis.ideal.max())
    each = f"{low} wavefront{'s' * (low > 1)}" if low == high else f"{low} to {high} wavefronts"
    return f"conflict-free: {each} per instruction{known}"


def _check_stored(table, mode, stored_by):
    """Every element read was stored by one of `stored_by`, under the same coordinate."""
    access, written = table.access, {}
    for store in stored_by:
        if store.dtype != access.dtype:
            raise SimlayoutError(f"access {access.name!r} reads {access.dtype} and {store.name!r} stores "
                                 f"{store.dtype}: their elements cannot be compared")
        made = _Table(store)
        offsets, keys = made.elements(_check_neighbours(made, made.limits()) if store.elements > 1 else None)
        for offset, key in zip(offsets.tolist(), map(tuple, keys.tolist()), strict=True):
            if written.setdefault(offset, key) != key:
                raise VerificationError(f"{store.name!r} stores element {key} at offset {offset}, where element "
                                        f"{written[offset]} is stored as well", {"element": key, "offset": offset})
    offsets, keys = table.elements(mode)
    for offset, key in zip(offsets.tolist(), map(tuple, keys.tolist()), strict=True):
        if written.get(offset) != key:
            what = f"holds element {written[offset]}" if offset in written else "was never stored"
            raise VerificationError(f"access {access.name!r} reads element {key} at offset {offset}, which {what} "
                                    f"(stored by {', '.join(repr(s.name) for s in stored_by)})",
                                    {"element": key, "offset": offset, "stored": written.get(offset)})
    return f"agrees with {' and '.join(repr(s.name) for s in stored_by)}: every element read was stored there"
