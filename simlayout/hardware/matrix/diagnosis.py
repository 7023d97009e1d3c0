"""What a matrix descriptor says, field by field; what it makes of a tile; and which usual mistake would explain it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from simlayout.algebra import Layout, Swizzle, dtype_of
from simlayout.algebra.composed import Composed
from simlayout.algebra.swizzle_modes import EVERY_MODE, SwizzleMode
from simlayout.arguments import typed
from simlayout.errors import InstructionError, LayoutError, SimlayoutError, require_ints
from simlayout.hardware.matrix.descriptor import UNIT, Descriptor, illegal, readers_of
from simlayout.hardware.matrix.operand_k96 import ROW_BYTES, STEP_BYTES
from simlayout.hardware.matrix.operand_tile import K_BYTES, OperandTile, k_rows, operand_addresses
from simlayout.hardware.tables.arch import arch_of
from simlayout.hardware.tables.operand_readers import (
    ADDRESS,
    BASE_OFFSET,
    CONSTANT,
    LEADING,
    READERS,
    STRIDE,
    operand_reader,
    takes_swizzle,
)
from simlayout.hardware.tables.provenance import Provenance
from simlayout.shown import Shown
from simlayout.wording import by

ROWS = {"wgmma": 64, "tcgen05": 128}
"""Rows of an operand that are looked at where nobody says how many: those of A that fill an instruction of one CTA."""


@dataclass(frozen=True)
class FieldWords:
    """A field of a descriptor: where it lies, what it is called, its value (of addresses and offsets in bytes), and what
    that means."""

    bits: str
    name: str
    value: int
    words: str


@dataclass(frozen=True)
class Reading:
    """What one instruction reads with a descriptor, in one order. layout: (mn, k) -> elements from byte `origin`, the
    multiple of the swizzle's period that the start lies behind (`operand_layout`). first, last: the byte addresses that it
    needs, the last one included. shared: how many elements lie in bytes of others; clash: the first two such elements, each
    (mn, k), or None."""

    major: str
    origin: int
    layout: Layout | Composed
    first: int
    last: int
    shared: int
    clash: tuple | None


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What `diagnose` found of 64 bits. reader: whose descriptor it is taken for. faults: what keeps it from being one.
    dtype: of the operand. descriptor: None if there are faults. readings: of the orders that the type may have. tile: (rows,
    depth) of the one that was given, None where none was; verdict: whether it is read; mistakes: what is probably wrong, a
    sentence each.

    >>> print(diagnose(0x4000004000010040, depth=64, major="K"))
    descriptor   0x4000004000010040, of wgmma (sm_90)
    legal        yes
    start        1024   0x400 in shared memory (bits 0-13)
    ...
    K-major      Sw<3,3,3> o ((8,8),(8,2)):((64,512),(1,8)), in f16 from 0x400
                 bytes 0x400 to 0x23ff, each element in bytes of its own
    tile         64 x 64: step 0 along K reads all 1024 elements where TMA put them
    provenance   documented: PTX ISA, ...
    """

    bits: int
    reader: str
    faults: tuple[str, ...]
    fields: tuple[FieldWords, ...]
    dtype: str = "f16"
    descriptor: Descriptor | None = None
    readings: tuple[Reading, ...] = ()
    tile: tuple[int, int] | None = None
    verdict: str | None = None
    mistakes: tuple[str, ...] = ()

    @property
    def source(self) -> Provenance:
        """Who says what such a descriptor holds."""
        return operand_reader(self.reader).source

    def told(self) -> Iterator[tuple[str, str]]:
        """(label, text) of each line that tells it."""
        yield "descriptor", f"{self.bits:#018x}, of {self.reader} ({operand_reader(self.reader).arch})"
        yield "legal", f"no: {'; '.join(self.faults)}" if self.faults else "yes"
        for field in self.fields:
            yield field.name, f"{field.value:<6} {field.words} ({field.bits})"
        for reading in self.readings:
            shared = f"{reading.shared} elements lie in bytes of others"
            yield f"{reading.major}-major", f"{reading.layout}, in {self.dtype} from {reading.origin:#x}"
            yield "", (f"bytes {reading.first:#x} to {reading.last:#x}, "
                       f"{shared if reading.shared else 'each element in bytes of its own'}")
        if self.tile is not None and self.verdict is not None:
            yield "tile", f"{by(self.tile)}: {self.verdict}"
        for mistake in self.mistakes:
            yield "mistake", mistake
        yield "provenance", str(self.source)

    def __str__(self):
        return "\n".join(f"{label:<12} {text}" for label, text in self.told())


def reader_of(bits: int, arch: str | None = None) -> str:
    """The reader whose descriptor 64 bits are: that of an architecture, or the only one for which they are legal. Where
    neither tells, the one that the constant of bits 46-48 names.

    >>> reader_of(0x4000404000010040), reader_of(0x4000004000010040), reader_of(0x4000004000010040, "sm_100a")
    ('tcgen05', 'wgmma', 'tcgen05')
    """
    require_ints(LayoutError, "descriptor", bits=bits)
    if arch is not None:
        chip = arch_of(arch).name
        found = next((row.name for row in READERS.values() if chip in row.arches), None)
        if found is None:
            having = ", ".join(f"{name} ({row.name})" for row in READERS.values() for name in row.arches)
            raise InstructionError(f"{arch} reads no operands by descriptors; {having} do")
        return found
    named = [row.name for row in READERS.values() if row.constant == CONSTANT.of(bits)]
    return next(iter(readers_of(bits) or named), "wgmma")


@typed(LayoutError, own=("arch", "dtype"))
def diagnose(bits: int, arch: str | None = None, dtype: str = "f16", rows: int | None = None, depth: int | None = None,
             major: str | None = None) -> Diagnosis:
    """The Diagnosis of 64 bits.

    arch: "sm_90" or "sm_100"; None: told by which of them it is legal for. dtype: of the operand. rows: of A, or columns of
    B. depth: elements of K of the tile that TMA put at the start, in boxes of the descriptor's swizzle; with it the verdict
    says whether the instruction finds that tile. major: "K" or "MN"; None: both, where both are possible.

    Raises InstructionError for an architecture without descriptors, LayoutError for a type that the reader does not have.

    >>> found = diagnose(0x4000404000010040, rows=128, depth=64, major="K")
    >>> found.reader, found.verdict
    ('tcgen05', 'step 0 along K reads all 2048 elements where TMA put them')
    >>> print(diagnose(0x4000400100400040, rows=128, depth=64, major="K").mistakes[0])
    LBO and SBO are exchanged: LBO 16 and SBO 1024 read the tile right
    """
    reader = reader_of(bits, arch)
    row = operand_reader(reader)
    name, faults, fields = dtype_of(dtype).name, tuple(illegal(bits, reader)), tuple(_fields(bits, row))
    if faults:
        return Diagnosis(bits, reader, faults, fields, name, mistakes=tuple(_of_illegal(bits, row)))
    descriptor, high = Descriptor.decode(bits, reader), rows or ROWS[reader]
    plain = replace(descriptor, base_offset=0, absolute=False)
    majors = [m for m in row.majors(name) if major in (None, m) and takes_swizzle(row, name, m, descriptor.swizzle)]
    if not majors:
        operand_addresses(plain, high, K_BYTES // dtype_of(name).bytes, name, major or "K")     # says what is wrong
    readings = tuple(_reading(plain, high, name, m) for m in majors)
    tile, verdict, mistakes = None, None, list(_of_start(descriptor))
    if depth is None:
        mistakes += _of_readings(plain, readings, high, name)
    else:
        tile, (verdict, more) = (high, depth), _of_tile(plain, high, depth, name, majors)
        mistakes += more
    return Diagnosis(bits, reader, faults, fields, name, descriptor, readings, tile, verdict, tuple(mistakes))


# ---- the fields --------------------------------------------------------------------------------------------------------

def _fields(bits, row) -> Iterator[FieldWords]:
    mode = _mode(bits, row)
    deep = k_rows(mode) if mode else 8
    if mode is None or not mode.span:
        leading = "K-major: from 16 bytes of K to the next 16; MN-major: from 8 k to the next 8"
        stride = "K-major: from 8 rows to the next 8; MN-major: from 16 bytes of rows to the next 16"
    else:
        leading = f"K-major: not used; MN-major: from {mode.span} bytes of rows to the next {mode.span}"
        stride = f"K-major: from 8 rows to the next 8; MN-major: from {deep} k to the next {deep}"
    start = ADDRESS.of(bits) * UNIT
    yield FieldWords(str(ADDRESS), "start", start, f"{start:#x} in shared memory")
    absolute = row.absolute is not None and row.absolute.of(bits)
    yield FieldWords(str(LEADING), "LBO", LEADING.of(bits) * UNIT,
                     "an address, that of the next tile" if absolute else f"leading offset. {leading}")
    yield FieldWords(str(STRIDE), "SBO", STRIDE.of(bits) * UNIT, f"stride offset. {stride}")
    whose = next((r.name for r in READERS.values() if r.constant == CONSTANT.of(bits)), "nobody")
    yield FieldWords(str(CONSTANT), "constant", CONSTANT.of(bits), f"as {whose}'s descriptors have it")
    base = BASE_OFFSET.of(bits)
    yield FieldWords(str(BASE_OFFSET), "base offset", base,
                     f"the pattern starts {128 * base} bytes behind its period" if base else "it starts on its period")
    if row.absolute is not None:
        yield FieldWords(str(row.absolute), "LBO mode", row.absolute.of(bits),
                         "LBO is an address (sm_103 alone)" if absolute else "LBO is an offset")
    yield FieldWords(str(row.swizzle), "swizzle", row.swizzle.of(bits), str(mode) if mode else "no mode has this number")


def _mode(bits, row) -> SwizzleMode | None:
    return next((mode for mode in EVERY_MODE.values() if getattr(mode, row.name) == row.swizzle.of(bits)), None)


# ---- what it reads ------------------------------------------------------------------------------------------------------

def operand_layout(descriptor: Descriptor, mn: int, dtype: str, major: str) -> Layout | Composed:
    """The layout (mn, k) of what one instruction reads, in elements, as CUTLASS writes canonical layouts.

    It counts from the multiple of the swizzle's period that the start lies behind, without a swizzle from the start itself;
    `operand_addresses` gives the same as bytes.

    >>> print(operand_layout(Descriptor(0, 16, 1024, 128), 64, "f16", "K"))
    Sw<3,3,3> o ((8,8),(8,2)):((64,512),(1,8))
    >>> print(operand_layout(Descriptor(0, 8192, 1024, 128), 128, "f16", "MN"))
    Sw<3,3,3> o ((64,2),(8,2)):((1,4096),(64,512))
    >>> print(operand_layout(Descriptor(0x440, 16, 1024, 128), 64, "f16", "K"))
    Sw<3,3,3> o 32 o ((8,8),(8,2)):((64,512),(1,8))
    """
    size, mode = dtype_of(dtype).bytes, descriptor.mode
    each, k = mode.row // size, K_BYTES // size
    leading, stride = descriptor.leading // size, descriptor.stride // size
    if major == "K":
        chunk = UNIT // size
        layout = Layout(((8, mn // 8), (chunk, 2)), ((each, stride), (1, chunk if mode.span else leading)))
    else:
        deep = k_rows(mode)
        between, down = (leading, stride) if mode.span else (stride, leading)
        wide = min(each, mn)
        layout = Layout(((wide, -(-mn // each)), (min(deep, k), -(-k // deep))), ((1, between), (each, down)))
    if not mode.span:
        return layout
    swizzle = Swizzle(mode.bits, mode.chunk_bits - int(log2(size)), mode.shift)
    return Composed((swizzle,), layout, descriptor.address % mode.period // size)


def _reading(descriptor, mn, dtype, major):
    size = dtype_of(dtype).bytes
    at = operand_addresses(descriptor, mn, K_BYTES // size, dtype, major)
    shared, clash = _clash(at)
    start, period = descriptor.address, descriptor.mode.period
    origin = start - start % period if descriptor.mode.span else start
    return Reading(major, origin, operand_layout(descriptor, mn, dtype, major), int(at.min()), int(at.max()) + size - 1,
                   shared, clash)


def _clash(at):
    """(how many elements lie in bytes of others, the first two such (mn, k) or None) of byte addresses [mn, k]."""
    values, first, counts = np.unique(at, return_index=True, return_counts=True)
    if (counts == 1).all():
        return 0, None
    taken = np.isin(at, values[counts > 1])
    where = np.argwhere(taken & (np.arange(at.size).reshape(at.shape) != first[np.searchsorted(values, at)]))[0]
    other = np.unravel_index(first[np.searchsorted(values, at[tuple(where)])], at.shape)
    return int(taken.sum()), (tuple(int(i) for i in other), tuple(int(i) for i in where))


# ---- the usual mistakes -------------------------------------------------------------------------------------------------

def _of_illegal(bits, row):
    for other in READERS.values():
        if other is not row and not illegal(bits, other.name):
            yield f"it is a legal descriptor of {other.name} ({other.arch})"
    if illegal(bits & ~CONSTANT.mask | CONSTANT.put(row.constant), row.name) == [] and CONSTANT.of(bits) != row.constant:
        right = bits & ~CONSTANT.mask | CONSTANT.put(row.constant)
        yield f"with {CONSTANT} {row.constant}, {right:#018x}, it is one of {row.name}"
    if bits >> 14 & 3 or bits >> 30 & 3:
        yield "an address or offset of 2**18 bytes or more has run into the bits above its field: keep its low 18 bits"


def _of_k96(descriptor):
    first = descriptor.address % ROW_BYTES
    last = first + STEP_BYTES - 1
    if descriptor.swizzle != ROW_BYTES:
        return ("LBO is an address: sm_103 alone has that, for 96 elements of 4 bits along K, whose operands have a "
                f"{ROW_BYTES}-byte swizzle; what follows takes it for an offset")
    crosses = f", then 0 to {last - ROW_BYTES} of that row at {descriptor.leading}" if last >= ROW_BYTES else ""
    return (f"LBO is an address: sm_103 alone has that, for 96 elements of 4 bits along K: bytes {first} to "
            f"{min(last, ROW_BYTES - 1)} of each row{crosses}; what follows takes it for an offset")


def _of_start(descriptor):
    mode, start, base = descriptor.mode, descriptor.address, descriptor.base_offset
    inside = start % mode.period
    if descriptor.absolute:
        yield _of_k96(descriptor)
    if base:
        yield (f"base offset {base}: what it does is not modelled, and what follows leaves it out; a pattern that starts "
               f"on a multiple of {mode.period} bytes needs none")
    elif mode.span and inside >= 128:
        yield (f"the start lies {inside} bytes behind a multiple of {mode.period}, where the {mode.words} begins anew: "
               f"right for a part of a tile that starts there; a tile whose own pattern starts here needs the base offset "
               f"{start >> 7 & 7}")


def _of_readings(descriptor, readings, rows, dtype):
    """Of a descriptor that in no order reads every element from bytes of its own."""
    if any(not reading.shared for reading in readings):
        return
    swapped = replace(descriptor, leading=descriptor.stride, stride=descriptor.leading)
    for reading in readings:
        a, b = reading.clash
        text = (f"read {reading.major}-major, {reading.shared} elements lie in bytes of others: (mn {a[0]}, k {a[1]}) and "
                f"(mn {b[0]}, k {b[1]}) first")
        exchanged = not _reading(swapped, rows, dtype, reading.major).shared
        yield text + f"; with LBO {swapped.leading} and SBO {swapped.stride}, exchanged, none do" * exchanged
    if not descriptor.mode.span and descriptor.reader == "tcgen05":
        yield "it may be one of tcgen05.cp, whose shapes of 128 bits to a row do not use LBO"


def _of_tile(descriptor, rows, depth, dtype, majors):
    """(the verdict, mistakes) of a tile as TMA puts it at the start, or one of whose steps along K starts there."""
    right, wrong = [], []
    for major in majors:
        step, fault = _found(descriptor, OperandTile(rows, depth, dtype, major, descriptor.swizzle, descriptor.reader))
        right += [] if fault else [(step, major)]
        wrong += [f"{major}-major, {fault}"] if fault else []
    if right:
        elements, (step, major) = rows * K_BYTES // dtype_of(dtype).bytes, right[0]
        which = f" of a tile that is {' or '.join(m for _, m in right)}-major" if len(majors) > 1 else ""
        return f"step {step} along K reads all {elements} elements{which} where TMA put them", []
    mended = [text for major in majors for text in _mended(descriptor, rows, depth, dtype, major)]
    return "; ".join(wrong), mended or [text for m in majors for text in _dense(descriptor, rows, depth, dtype, m)]


def _found(descriptor, tile):
    """(the step along K at which a descriptor reads a tile, None), or (None, which element it reads elsewhere)."""
    k, told = K_BYTES // dtype_of(tile.dtype).bytes, None
    read = operand_addresses(descriptor, tile.rows, k, tile.dtype, tile.major)
    for step, start in enumerate(tile.starts):
        base = descriptor.address - start
        if base < 0 or base % max(tile.mode.period, 128):
            continue
        put = tile.put(base)[:, step * k:(step + 1) * k]
        if (put == read).all():
            return step, None
        if told is None:
            row, col = (int(i) for i in np.argwhere(put != read)[0])
            told = (f"element (mn {row}, k {step * k + col}) lies at byte {put[row, col]} and is read at {read[row, col]}")
    return None, told or f"no step of the tile starts at {descriptor.address:#x}, whichever multiple of " \
                         f"{max(tile.mode.period, 128)} bytes it begins on"


def _mended(descriptor, rows, depth, dtype, major):
    """Which single change makes a descriptor read the tile, a sentence each."""
    def reads(changed, order=major):
        try:
            return _found(changed, OperandTile(rows, depth, dtype, order, changed.swizzle, changed.reader))[1] is None
        except SimlayoutError:                           # no such tile
            return False

    leading, stride = descriptor.leading, descriptor.stride
    if reads(replace(descriptor, leading=stride, stride=leading)):
        yield f"LBO and SBO are exchanged: LBO {stride} and SBO {leading} read the tile right"
    other = "MN" if major == "K" else "K"
    if reads(descriptor, other):
        article = "an" if other == "MN" else "a"
        yield f"it reads {article} {other}-major tile: the tile, or the instruction's transpose bit, is {major}-major"
    row = operand_reader(descriptor.reader)
    for key, mode in EVERY_MODE.items():
        if key != descriptor.swizzle and getattr(mode, row.name) is not None and reads(replace(descriptor, swizzle=key)):
            yield f"it reads a tile that TMA wrote with {mode}, if its swizzle said so"


def _dense(descriptor, rows, depth, dtype, major):
    """What a dense tile of the same swizzle would have, if the start allows for one."""
    try:
        tile = OperandTile(rows, depth, dtype, major, descriptor.swizzle, descriptor.reader)
        wanted = tile.descriptor(descriptor.address)
    except SimlayoutError:
        return
    used = "" if major == "K" and tile.mode.span else f"LBO {wanted.leading} and "
    yield f"a dense {rows} x {depth} tile, {major}-major, has {used}SBO {wanted.stride}: {wanted.encode():#018x}"
