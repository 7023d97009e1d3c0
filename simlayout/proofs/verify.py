"""verify: claims about layouts and accesses, checked on every point of their domain.

A check either holds everywhere, and becomes a line of the certificate, or it raises VerificationError with the
first point where it fails: the coordinates, the lanes, the addresses, and what would mend it.
"""

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.errors import AddressError, VerificationError
from simlayout.hardware import analyze
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

    Returns a Certificate. Raises VerificationError, whose `counterexample` is the first point that fails.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> print(sl.verify(tile).claims)
    ('one-to-one on its 1024 coordinates', 'in bounds: offsets 0..1023')
    >>> sl.verify(sl.Layout((4, 4), (1, 1)))
    Traceback (most recent call last):
    ...
    simlayout.errors.VerificationError: (4,4):(1,1) is not one-to-one: coordinates (1, 0) and (0, 1) both map to offset 1
    """
    if isinstance(subject, Access):
        return _verify_access(subject, tuple(stored_by), arch)
    claims = _tile_claims(subject)
    analysed = []
    for access in conflict_free_for:
        made = _verify_access(_demanding(access, subject), (), arch)
        analysed.append(made)
        claims.append(f"conflict-free for {access.name} ({access.instruction}): {made.wavefronts} wavefronts = ideal")
    shape = getattr(subject, "shape", None)
    return Certificate(name=str(subject), claims=tuple(claims), domain={"coordinates": int(subject.size)}, arch=arch,
                       instructions=sum(c.instructions for c in analysed), wavefronts=sum(c.wavefronts for c in analysed),
                       ideal=sum(c.ideal for c in analysed), digest=digest(_tile_offsets(subject)),
                       provenance=analysed[0].provenance if analysed else "") if shape is not None else None


def _demanding(access, tile):
    from dataclasses import replace

    return replace(access, tile=tile, excess=0)


def _tile_offsets(tile):
    return np.asarray(tile.offsets(), np.int64).reshape(-1)


def _tile_claims(tile):
    """A tile's own claims: one-to-one, in bounds."""
    if not hasattr(tile, "offsets"):
        raise VerificationError(f"{tile!r} has no domain of its own: verify a layout, or an Access that names its domain")
    offsets = _tile_offsets(tile)
    order = np.argsort(offsets, kind="stable")
    same = np.flatnonzero(np.diff(offsets[order]) == 0)
    if same.size:
        clashes = np.stack([order[same], order[same + 1]], axis=1)
        first, second = sorted(clashes[np.argmin(clashes.max(axis=1))].tolist())
        a, b = _coordinate(tile, first), _coordinate(tile, second)
        raise VerificationError(f"{tile} is not one-to-one: coordinates {a} and {b} both map to offset {offsets[first]}",
                                {"coordinates": (a, b), "offset": int(offsets[first])})
    if offsets.min() < 0:
        at = int(np.argmax(offsets < 0))
        raise VerificationError(f"{tile} maps coordinate {_coordinate(tile, at)} to the negative offset {offsets[at]}",
                                {"coordinates": (_coordinate(tile, at),), "offset": int(offsets[at])})
    wasted = int(offsets.max()) + 1 - offsets.size
    claims = [f"one-to-one on its {offsets.size} coordinates", f"in bounds: offsets 0..{offsets.max()}"]
    return claims + ([f"{wasted} elements unused"] if wasted else [])


def _flat(shape):
    return tuple(x for s in shape for x in _flat(s)) if isinstance(shape, tuple) else (shape,)


def _size(shape):
    return int(np.prod(_flat(shape)))


def _coordinate(tile, index):
    """The coordinate (one int per top-level mode) of a linear index, leftmost mode fastest."""
    modes = [_size(s) for s in tile.shape] if isinstance(tile.shape, tuple) else [_size(tile.shape)]
    return tuple(int(i) for i in np.unravel_index(index, modes, order="F"))


def _verify_access(access, stored_by, arch):
    claims = []
    coordinates = _table(access, access.coordinate(*access.points()))
    if hasattr(access.tile, "shape"):
        claims += _tile_claims(access.tile)
        _check_coordinates(access, coordinates)
    if access.elements > 1:
        claims.append(_check_contiguous(access, coordinates))
    addresses = access.addresses()
    try:
        analysis = analyze(access.instruction, addresses, arch=arch)
    except AddressError as error:
        raise VerificationError(f"access {access.name!r}: {error}{_blame(access, addresses, arch)}",
                                _blamed(access, addresses)) from None
    claims.append(f"addresses {addresses[:, access.used_lanes()].min()}..{addresses.max() + access.bytes - 1} bytes, "
                  f"aligned to {access.bytes}")
    if access.is_store:
        claims.append(_check_no_overlap(access, addresses))
    claims.append(_check_excess(access, analysis))
    if stored_by:
        claims.append(_check_stored(access, coordinates, stored_by))
    return Certificate(access.name, tuple(claims), dict(access.domain), access.instruction, access.dtype, arch,
                       access.instructions(), int(analysis.wavefronts.sum()), int(analysis.ideal.sum()),
                       digest(access.offsets()), analysis.provenance.text)


def _table(access, coordinate):
    """The coordinate's entries as int64 [instructions, 32] arrays."""
    sizes = list(access.domain.values())
    shape = tuple(sizes[1:] + sizes[:1])
    return [np.broadcast_to(np.asarray(c, np.int64), shape).reshape(-1, 32) for c in _flat(coordinate)]


def _text(point):
    return ", ".join(f"{k} = {v}" for k, v in point.items())


def _blamed(access, addresses):
    used = access.used_lanes()
    wrong = ((addresses % access.bytes != 0) | (addresses < 0)) & used
    row, lane = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return {"point": access.point(row, lane), "address": int(addresses[row, lane])} if wrong.any() else {}


def _blame(access, addresses, arch):
    found = _blamed(access, addresses)
    return f" (at {_text(found['point'])})" if found else ""


def _check_coordinates(access, coordinates):
    """Every coordinate lies in the tile's shape (an offset may be in bounds by accident)."""
    shape = access.tile.shape if isinstance(access.tile.shape, tuple) else (access.tile.shape,)
    limits = [_size(s) for s in shape] if len(coordinates) == len(shape) else list(_flat(access.tile.shape))
    if len(coordinates) == 1:
        limits = [_size(access.tile.shape)]
    if len(coordinates) != len(limits):
        raise VerificationError(f"access {access.name!r} gives {len(coordinates)} coordinates to {access.tile}, "
                                f"which takes {len(limits)}")
    used = access.used_lanes()
    for mode, (c, limit) in enumerate(zip(coordinates, limits)):
        wrong = ((c < 0) | (c >= limit)) & used
        if wrong.any():
            row, lane = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            point = access.point(row, lane)
            raise VerificationError(f"access {access.name!r} leaves the tile {access.tile}: coordinate {mode} is "
                                    f"{c[row, lane]} where it must be under {limit}, at {_text(point)}",
                                    {"point": point, "mode": mode, "value": int(c[row, lane])})


def _check_contiguous(access, coordinates):
    """The instruction's consecutive elements are consecutive in one mode of the tile, so it moves what it names."""
    width, used = access.elements, access.used_lanes()
    base = _evaluate(access.tile, coordinates)
    best = None
    for mode in range(len(coordinates)):
        wrong = np.zeros(base.shape, bool)
        for j in range(1, width):
            moved = list(coordinates)
            moved[mode] = coordinates[mode] + j
            wrong |= _evaluate(access.tile, moved) != base + j
        wrong &= used
        if not wrong.any():
            return f"the {width} elements of each {access.bytes}-byte access are neighbours along coordinate {mode}"
        first = int(np.argmax(wrong))
        if best is None or first > best[0]:
            best = (first, mode)
    row, lane = np.unravel_index(best[0], base.shape)
    point = access.point(row, lane)
    raise VerificationError(
        f"access {access.name!r}: the {width} elements of one {access.bytes}-byte access are not neighbours in "
        f"{access.tile} at {_text(point)} (best along coordinate {best[1]}); a swizzle must keep 16-byte chunks whole",
        {"point": point, "mode": best[1]})


def _evaluate(tile, coordinates):
    return np.broadcast_to(np.asarray(tile(*coordinates), np.int64), coordinates[0].shape)


def _check_no_overlap(access, addresses):
    """No two lanes of one store write the same bytes (which of them would win is undefined)."""
    used = np.flatnonzero(access.used_lanes())
    lanes = addresses[:, used]
    order = np.argsort(lanes, axis=1, kind="stable")
    clash = np.diff(np.take_along_axis(lanes, order, axis=1), axis=1) < access.bytes
    if clash.any():
        row, i = np.unravel_index(int(np.argmax(clash)), clash.shape)
        a, b = sorted(int(used[order[row, i + d]]) for d in (0, 1))
        raise VerificationError(f"access {access.name!r}: lanes {a} and {b} store to the same bytes (address "
                                f"{addresses[row, a]}) at {_text(access.point(row, a))} and {_text(access.point(row, b))}",
                                {"points": (access.point(row, a), access.point(row, b))})
    return "no two lanes of an instruction store to the same bytes"


def _check_excess(access, analysis):
    """Each instruction has the declared excess."""
    known = "" if analysis.exact else " (by the destination rule; not known exactly)"
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
            f"{_text(access.point(row, 0))}, in {int(wrong.sum())} of {wrong.size} instructions; try a swizzle, padding "
            f"or rotation, or declare Access(excess={found})\n{detail}",
            {"point": access.point(row, 0), "excess": found})
    return (f"conflict-free: {int(analysis.ideal[0])} wavefronts per instruction" if access.excess == 0 else
            f"excess exactly {access.excess} wavefronts per instruction") + known


def _spread(access, coordinates):
    """Every element that the access touches, as {offset: coordinate}: arrays (offsets, keys) sorted by offset."""
    used = np.flatnonzero(access.used_lanes())
    base = _evaluate(access.tile, coordinates)[:, used].reshape(-1)
    mode = _contiguous_mode(access, coordinates)
    columns = [c[:, used].reshape(-1) for c in coordinates]
    offsets, keys = [], []
    for j in range(access.elements):
        offsets.append(base + j)
        keys.append(np.stack([c + (j if m == mode else 0) for m, c in enumerate(columns)], axis=1))
    return np.concatenate(offsets), np.concatenate(keys)


def _contiguous_mode(access, coordinates):
    if access.elements == 1:
        return -1
    return int(_check_contiguous(access, coordinates).rsplit(" ", 1)[1])


def _check_stored(access, coordinates, stored_by):
    """Every element read was stored by one of `stored_by`, under the same coordinate."""
    written = {}
    for store in stored_by:
        offsets, keys = _spread(store, _table(store, store.coordinate(*store.points())))
        written.update(zip(offsets.tolist(), map(tuple, keys.tolist())))
    offsets, keys = _spread(access, coordinates)
    for offset, key in zip(offsets.tolist(), map(tuple, keys.tolist())):
        if written.get(offset) != key:
            what = f"holds element {written[offset]}" if offset in written else "was never stored"
            raise VerificationError(f"access {access.name!r} reads element {key} at offset {offset}, which {what} "
                                    f"(stored by {', '.join(repr(s.name) for s in stored_by)})",
                                    {"element": key, "offset": offset, "stored": written.get(offset)})
    return f"agrees with {' and '.join(repr(s.name) for s in stored_by)}: every element read was stored there"
