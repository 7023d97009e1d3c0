"""verify: claims about layouts and accesses, checked on every point of their domain.

A check either holds everywhere, and becomes a line of the certificate, or it raises VerificationError with the
first point where it fails: the coordinates, the lanes, the addresses, and what would fix it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from simlayout.algebra.aliases import IndexFunction
from simlayout.algebra.notation import as_layout, bytes_for_elements
from simlayout.errors import AddressError, SimlayoutError, VerificationError
from simlayout.hardware import analyze, arch_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.proofs.access import Access
from simlayout.proofs.certificate import Certificate, Digest, digest
from simlayout.proofs.stored import Stored
from simlayout.proofs.tables import Tables, modes
from simlayout.wording import counted, tile_name


def verify(subject: Access | IndexFunction | str, conflict_free_for: Access | Collection[Access] = (), *,
           stored_by: Access | Collection[Access] = (), arch: str | None = None) -> Certificate:
    """Proves a tile or an access over its whole domain.

    subject: an Access, or a tile (Layout, Swizzle @ Layout, ..., or its text). A tile is proved one-to-one and in bounds,
    then every access of `conflict_free_for` is proved to have no excess with that tile instead of its own.
    An access is proved in range of its tile, contiguous and aligned for its instruction, without two lanes storing
    to the same bytes, and with exactly the excess it declares (`Access.excess`, 0 unless said otherwise).
    stored_by: the stores that write the tile. If given, every element that the subject, a load, reads is proved to be stored
    at the place that the load reads. Each store must stay in its tile too.
    arch: the architecture whose wavefront rules are used, of all accesses; None: each access's own.

    Returns a Certificate. Raises SimlayoutError if the arguments do not fit together, VerificationError if a claim is
    false: its `counterexample` is the first point that fails. Index functions are computed exactly: if a result
    or an intermediate value does not fit 64-bit integers, that is an UndefinedError, which is a VerificationError too.
    Domains and tiles of more than 2**26 points are refused.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> print(sl.verify(tile).claims)
    ('one-to-one on its 1024 coordinates', 'in bounds: offsets 0..1023')
    >>> sl.verify(sl.Layout((4, 4), (1, 1)))
    Traceback (most recent call last):
    ...
    simlayout.errors.VerificationError: (4,4):(1,1) is not one-to-one: (1, 0) and (0, 1) both map to offset 1
    """
    subject = as_layout(subject)
    conflict_free_for, stored_by = (_accesses(accesses, what) for accesses, what in (
        (conflict_free_for, "conflict_free_for"), (stored_by, "stored_by")))
    if isinstance(subject, Access):
        if conflict_free_for:
            raise SimlayoutError(f"access {subject.name!r}: conflict_free_for goes with a tile; declare excess=0")
        _check_roles(subject, stored_by)
        return _verify_access(subject.on(arch), [store.on(arch) for store in stored_by])
    if stored_by:
        raise SimlayoutError("stored_by goes with an Access that loads: verify(access, stored_by=[store])")
    claims, offsets = _tile_claims(subject)
    certificates = [_verify_access(replace(a.on(arch), tile=subject, excess=0), ()) for a in conflict_free_for]
    claims += [f"conflict-free for {c.name} ({c.instruction}{_elsewhere(c.arch)}): "
               f"{counted(c.wavefronts, _pass(c.arch))} = ideal" for c in certificates]
    chips = dict.fromkeys(c.arch for c in certificates) or [arch_of(DEFAULT_ARCH if arch is None else arch).name]
    size = int(subject.size)                         # type: ignore[union-attr]   # a tile: _tile_claims takes no other
    return Certificate(name=str(subject), claims=tuple(claims), domain={"coordinate": size}, arch=", ".join(chips),
                       instructions=sum(c.instructions for c in certificates),
                       wavefronts=sum(c.wavefronts for c in certificates),
                       ideal=sum(c.ideal for c in certificates), digest=digest(offsets),
                       provenance=certificates[0].provenance if certificates else "")


def _accesses(argument, what) -> tuple[Access, ...]:
    """The Accesses of an argument: several of them, or one alone."""
    accesses = tuple(argument) if isinstance(argument, (list, tuple, set, Iterator)) else (argument,)
    for one in accesses:
        if not isinstance(one, Access):
            raise SimlayoutError(f"{what} takes a list of Accesses, not {type(one).__name__}: wrap a layout in "
                                 "Access(name, instruction, layout, lanes, domain)")
    return accesses


def _check_roles(access, stored_by):
    """Raises SimlayoutError unless all of `stored_by` are stores and `access`, where there are any, is a load."""
    for store in stored_by:
        if not store.is_store:
            raise SimlayoutError(f"stored_by takes stores alone: {store.name!r} is of {store.instruction}; give the "
                                 "accesses that write the tile")
    if stored_by and access.is_store:
        raise SimlayoutError(f"access {access.name!r} is a {access.instruction}, which reads nothing that was stored: "
                             "stored_by goes with an Access that loads")


# ---- tiles --------------------------------------------------------------------------------------------------------

def _tile_claims(tile):
    """A tile's own claims, one-to-one and in bounds, and its offsets, int64 [coordinates]."""
    if not all(hasattr(tile, name) for name in ("shape", "offsets", "size")):
        raise VerificationError(f"{tile_name(tile)} has no domain of its own: verify a layout, a Tile of the function, or "
                                "an Access that names its domain")
    offsets = np.asarray(tile.offsets(), np.int64).reshape(-1)
    least, greatest = int(offsets.min()), int(offsets.max())
    if not _is_one_to_one(offsets, least, greatest):
        raise _clash(tile, offsets)
    if least < 0:
        at = int(np.argmax(offsets < 0))
        raise VerificationError(f"{tile} maps coordinate {_coordinate(tile, at)} to the negative offset {offsets[at]}",
                                {"coordinates": (_coordinate(tile, at),), "offset": int(offsets[at])})
    wasted = greatest + 1 - offsets.size
    claims = [f"one-to-one on its {offsets.size} coordinates", f"in bounds: offsets 0..{greatest}"]
    return claims + ([f"{wasted} elements unused"] if wasted else []), offsets


def _is_one_to_one(offsets, least, greatest):
    """Whether no two offsets are the same: by marks where they lie close together, else by their order."""
    if greatest - least < 4 * offsets.size:
        marks = np.zeros(greatest - least + 1, bool)
        marks[offsets - least if least else offsets] = True
        return np.count_nonzero(marks) == offsets.size
    rising = np.sort(offsets)
    return not (rising[1:] == rising[:-1]).any()


def _clash(tile, offsets):
    """The VerificationError of the first coordinate that shares its offset with an earlier one."""
    order = np.argsort(offsets, kind="stable")
    same = np.flatnonzero(np.diff(offsets[order]) == 0)
    clashes = np.stack([order[same], order[same + 1]], axis=1)
    first, second = sorted(clashes[np.argmin(clashes.max(axis=1))].tolist())
    a, b = _coordinate(tile, first), _coordinate(tile, second)
    return VerificationError(f"{tile} is not one-to-one: {a} and {b} both map to offset {offsets[first]}",
                             {"coordinates": (a, b), "offset": int(offsets[first])})


def _coordinate(tile, index):
    """The coordinate (one int per top-level mode) of a linear index, leftmost mode fastest."""
    return tuple(int(i) for i in np.unravel_index(index, modes(tile.shape), order="F"))


# ---- accesses -----------------------------------------------------------------------------------------------------

@dataclass
class _Sums:
    """Sums over the boxes of a domain. addresses, excess, each: (least, greatest) byte address, excess and ideal of one
    instruction; exact: whether all counts are exactly the hardware's."""

    wavefronts: int = 0
    ideal: int = 0
    exact: bool = True
    addresses: list = field(default_factory=list)
    excess: list = field(default_factory=list)
    each: list = field(default_factory=list)

    def add(self, used, analysis):
        self.wavefronts += int(analysis.wavefronts.sum())
        self.ideal += int(analysis.ideal.sum())
        self.exact = self.exact and analysis.exact
        for limits, values in ((self.addresses, used), (self.excess, analysis.excess), (self.each, analysis.ideal)):
            limits[:] = min([*limits, int(values.min())]), max([*limits, int(values.max())])


def _verify_access(access, stored_by):
    claims = _tile_claims(access.tile)[0] if hasattr(access.tile, "shape") else []
    tables = Tables(access)
    mode = check_coordinates(tables)
    if mode is not None:
        claims.append(f"the {access.elements} elements of each {access.bytes}-byte access are neighbours along "
                      f"coordinate {mode}")
    sums, hashed = _Sums(), Digest(access.table_order()[1])
    for table in tables:
        analysis = _analysis(table)
        sums.add(analysis.addresses[:, table.used], analysis)
        hashed.update(table.base)
        if access.is_store:
            _check_no_overlap(table, analysis.addresses)
        _check_excess(table, analysis)
    claims.append(f"addresses {sums.addresses[0]}..{sums.addresses[1] + access.bytes - 1} bytes, aligned to {access.bytes}")
    if access.is_store:
        claims.append("no two lanes of an instruction store to the same bytes")
    claims.append(_excess_claim(access, sums, analysis))
    if stored_by:
        claims.append(_check_stored(tables, mode, stored_by))
    return Certificate(access.name, tuple(claims), dict(access.domain), access.instruction, access.dtype, access.arch,
                       access.instructions(), sums.wavefronts, sums.ideal, hashed.text(), analysis.provenance.told)


def _analysis(table):
    """The Analysis of a table. Raises VerificationError at the point whose address the instruction cannot use."""
    addresses = table.addresses()
    try:
        return analyze(table.access.instruction, addresses, arch=table.access.arch)
    except AddressError as error:
        raise _address_fault(table, addresses, error) from None


def check_coordinates(tables):
    """Checks that all coordinates, and all elements that an instruction moves, are in the tile. Returns the number of the
    coordinate along which these elements are neighbours, None if the instruction moves one element."""
    for table in tables:
        limits = table.limits()
        if limits is not None:
            _check_inside(table, limits)
    if tables.access.elements == 1:
        return None
    mode = _neighbours(tables, limits)
    if limits is not None:
        for table in tables:
            _check_last(table, mode, table.leaves[mode] + tables.access.elements - 1, limits[mode])
    return mode


def _text(point):
    return ", ".join(f"{k} = {v}" for k, v in point.items())


def _address_fault(table, addresses, error):
    """The VerificationError for what `analyze` refused, at its domain point."""
    access = table.access
    outside = (addresses < 0) | (addresses > arch_of(access.arch).shared_bytes_per_cta - access.bytes)
    wrong = outside & table.used if (outside & table.used).any() else (addresses % access.bytes != 0) & table.used
    row, lane, point = table.first(wrong)
    remedy = "" if outside[row, lane] else alignment(access)
    return VerificationError(f"access {access.name!r}: {error} (at {_text(point)}){remedy and ': '}{remedy}",
                             {"point": point, "address": int(addresses[row, lane])})


def alignment(access):
    """What mends the misaligned addresses of an access; "" where nothing is known."""
    if access.elements == 1:
        return ""
    return (f"let strides and padding be multiples of {access.elements} {access.dtype} elements, and swizzles keep "
            f"{access.bytes}-byte chunks whole")


def _check_inside(table, limits):
    """Checks every coordinate against the tile's shape. The offset alone may be in bounds by accident."""
    for mode, (leaf, limit) in enumerate(zip(table.leaves, limits, strict=True)):
        wrong = ((leaf < 0) | (leaf >= limit)) & table.used
        if wrong.any():
            row, lane, point = table.first(wrong)
            raise VerificationError(f"access {table.access.name!r} leaves the tile {table.tile}: coordinate {mode} is "
                                    f"{leaf[row, lane]} where it must be under {limit}, at {_text(point)}",
                                    {"point": point, "mode": mode, "value": int(leaf[row, lane])})


def _neighbours(tables, limits):
    """The number of the coordinate along which the instruction's elements are neighbours, at consecutive offsets; one
    that is too short for them comes last. limits: how many values each coordinate may take, or None."""
    access, best = tables.access, (-1, 0)
    numbers = range(len(next(iter(tables)).leaves))
    for mode in sorted(numbers, key=lambda m: limits is not None and limits[m] < access.elements):
        first = next((torn for table in tables if (torn := _torn(table, mode)) is not None), None)
        if first is None:
            return mode
        best = max(best, (first, -mode))
    point = access.point(*divmod(best[0], access.warp))
    cure = (bytes_for_elements(access.tile, access.dtype)
            or f" (best along coordinate {-best[1]}); a swizzle must keep {access.bytes}-byte chunks whole")
    raise VerificationError(
        f"access {access.name!r}: the {access.elements} elements of one {access.bytes}-byte access are not neighbours "
        f"in {tile_name(access.tile)} at {_text(point)}{cure}", {"point": point, "mode": -best[1]})


def _torn(table, mode):
    """The number, in the domain, of the first lane whose elements are not neighbours along a coordinate, or None."""
    wrong = (table.along(mode) != table.base[:, :, None] + np.arange(1, table.access.elements)).any(axis=2) & table.used
    return table.start * table.access.warp + int(np.argmax(wrong)) if wrong.any() else None


def _check_last(table, mode, last, limit):
    """Checks that the last element of each access is still inside the tile."""
    wrong = (last >= limit) & table.used
    if wrong.any():
        row, lane, point = table.first(wrong)
        access = table.access
        raise VerificationError(f"access {access.name!r} leaves the tile {table.tile}: its {access.elements} elements "
                                f"reach coordinate {mode} = {last[row, lane]}, which must be under {limit}, at "
                                f"{_text(point)}", {"point": point, "mode": mode, "value": int(last[row, lane])})


def _check_no_overlap(table, addresses):
    """Checks that no two lanes of one store write the same bytes, because it is undefined which of them wins."""
    access, used = table.access, np.flatnonzero(table.used)
    lanes = addresses[:, used]
    order = np.argsort(lanes, axis=1, kind="stable")
    clash = np.diff(np.take_along_axis(lanes, order, axis=1), axis=1) < access.bytes
    if clash.any():
        row, i = (int(x) for x in np.unravel_index(int(np.argmax(clash)), clash.shape))
        a, b = sorted(int(used[order[row, i + d]]) for d in (0, 1))
        points = table.point(row, a), table.point(row, b)
        raise VerificationError(f"access {access.name!r}: lanes {a} and {b} store to the same bytes (address "
                                f"{addresses[row, a]}) at {_text(points[0])} and {_text(points[1])}",
                                {"points": points})


def _check_excess(table, analysis):
    """Checks that each instruction has the declared excess."""
    access = table.access
    wrong = analysis.excess != access.excess
    if access.excess is None or not wrong.any():
        return
    row = int(np.argmax(wrong))
    excess, declared, point = int(analysis.excess[row]), access.excess, table.point(row, 0)
    lead = "has bank conflicts" if declared == 0 else f"does not have the declared excess of {declared}"
    detail = "\n".join(str(analysis.explain(row)).splitlines()[:12])
    passes = counted(excess, f"excess {_pass(access.arch)}")
    many = f"{int(wrong.sum())} of {counted(wrong.size, 'instruction')}"
    raise VerificationError(f"access {access.name!r} {lead}: {passes} per {access.instruction} at {_text(point)}, in {many}"
                            f"; try a swizzle, padding or rotation, or declare Access(excess={excess})\n{detail}",
                            {"point": point, "excess": excess})


def _excess_claim(access, sums, analysis):
    """The claim about the wavefronts, as text; analysis: of any part of the access."""
    called, row = _pass(access.arch), analysis.instruction
    known = ("" if sums.exact else " (of the destinations alone)" if row.kind == "copy" else
             " (by the rule that gives more, of two)" if row.rival else " (at most)")
    if access.excess:
        return f"excess exactly {counted(access.excess, called)} per instruction{known}"
    what, (low, high) = ("excess", sums.excess) if access.excess is None else ("conflict-free", sums.each)
    return f"{what}: {'' if low == high else f'{low} to '}{counted(high, called)} per instruction{known}"


def _pass(arch):
    """What a wavefront is called on an architecture."""
    return arch_of(arch).vendor.wavefront


def _elsewhere(arch):
    """Where a claim holds, if that is not what is meant where nobody says."""
    return f" on {arch}" if arch_of(arch).vendor is not arch_of(DEFAULT_ARCH).vendor else ""


def _check_stored(tables, mode, stored_by):
    """Every element read was stored by one of `stored_by`, under the same coordinate."""
    access, stored = tables.access, Stored()
    for store in stored_by:
        if store.dtype != access.dtype:
            raise SimlayoutError(f"access {access.name!r} reads {access.dtype} and {store.name!r} stores "
                                 f"{store.dtype}: their elements cannot be compared")
        written = Tables(store)
        along = check_coordinates(written)
        for table in written:
            _analysis(table)                             # refuses what leaves the shared memory, or is misaligned
            stored.add(store.name, *table.elements(along))
    for table in tables:
        stored.check(access.name, *table.elements(mode))
    return f"agrees with {' and '.join(repr(s.name) for s in stored_by)}: every element read was stored there"
