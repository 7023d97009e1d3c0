"""How the fragments of mma and mma.sp are measured: which elements of A, B, C and D meet.

An mma is linear in A and in B. With one element of A set to 1, and with B holding a bit of every element's number, D
shows which element of B met it, and where: that is measured for all pairs of an element of A and one of D. What cannot
be seen is how the hardware numbers rows, columns and k; so a map is recorded by *labels*, as which elements share them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuda_kernels.conformance.fragments.bits import from_registers, one, to_numbers, to_patterns, to_registers
from cuda_kernels.conformance.fragments.forms import mma_form, quad_pair_form, sparse_form
from simlayout.hardware.matrix.fragments import fragment
from simlayout.hardware.matrix.sparse import metadata_nibbles, sparse_mma, stored_columns
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import QUAD_PAIR_MMAS

NOT_ONE = -2
"""In place of a number: more than one element is there, or something that no 0 or 1 could have made."""


def one_hot(frag):
    """Registers of an operand with nothing set, then with each (lane, value) alone set to 1: uint8 [1 + elements, bytes]."""
    count = LANES * frag.values
    patterns = np.zeros((1 + count, count), np.int64)
    patterns[1:] = one(frag.dtype) * np.eye(count, dtype=np.int64)
    return to_registers(patterns.reshape(-1, LANES, frag.values), frag.dtype)


def digits(frag):
    """Registers with nothing set, with everything set, and with bit i of every element's number, counted from 1:
    uint8 [2 + bits, bytes]."""
    count = LANES * frag.values
    numbers = np.arange(1, count + 1)
    bits = numbers >> np.arange(count.bit_length())[:, None] & 1
    patterns = one(frag.dtype) * np.concatenate([0 * bits[:1], 0 * bits[:1] + 1, bits])
    return to_registers(patterns.reshape(-1, LANES, frag.values), frag.dtype)


def numbered(frag):
    """One set of registers whose elements are 1, 2, 3 ...: uint8 [1, bytes]."""
    numbers = np.arange(1, LANES * frag.values + 1).reshape(1, LANES, frag.values)
    return to_registers(to_patterns(numbers, frag.dtype), frag.dtype)


def results(frag, out):
    """uint8 [..., bytes] -> float64 [..., elements]."""
    numbers = to_numbers(from_registers(out, frag.dtype), frag.dtype)
    return numbers.reshape(*numbers.shape[:-2], -1)


def meetings(d, factor=1):
    """Which element of B meets an element of A in an element of D: int64 [elements of A, elements of D], from 1, 0 for none.

    d: float64 [one_hot of A, digits of B, elements of D]; factor: what 1 times 1 adds to D, beyond what A and B add
    by themselves (-2 for the exclusive or).
    """
    alone = (d - d[:1] - d[:, :1] + d[:1, :1])[1:, 1:] / factor
    count, bits = alone[:, 0], alone[:, 1:]
    number = (bits * 2.0 ** np.arange(bits.shape[1])[:, None]).sum(axis=1)
    sound = np.isin(alone, (0, 1)).all(axis=1) & ((count == 1) == (number > 0))
    return np.where(sound, number, NOT_ONE).astype(np.int64)


def expected_meetings(a, b, d, matrices=1):
    """The same from coordinates int64 [elements, 2] of A (row, k), B (k, column) and D (row, column).

    matrices: the products that are stacked; then k counts within one.
    """
    depth = (b[:, 0].max() + 1) // matrices
    at = np.zeros((b[:, 0].max() + 1, b[:, 1].max() + 1), np.int64)
    at[b[:, 0], b[:, 1]] = np.arange(1, len(b) + 1)
    rows = (d[:, 0].max() + 1) // matrices
    k = a[:, 1] + depth * (a[:, 0] // rows)
    return np.where(a[:, :1] == d[:, 0], at[k[:, None], d[:, 1]], 0)


def labels(meets, count):
    """{"A": [elements, 2], "B": ..., "D": ...}: (row, k) of A, (k, column) of B, (row, column) of D by name only.

    A row is called after the first element of D in it, k after the first element of B, a column after the first element
    of D; -1 where an element meets nothing. count: elements of B. If the meetings are not those of any product of
    matrices, {"meetings": meets}.
    """
    elements, places = np.nonzero(meets > 0)
    met = meets[elements, places] - 1
    none = meets.size + count
    row_a, k_a = np.full((2, len(meets)), none)
    k_b, column_b = np.full((2, count), none)
    row_d, column_d = np.full((2, meets.shape[1]), none)
    np.minimum.at(row_a, elements, places)
    np.minimum.at(k_a, elements, met)
    np.minimum.at(column_b, met, places)
    np.minimum.at(k_b, met, k_a[elements])
    np.minimum.at(row_d, places, row_a[elements])
    np.minimum.at(column_d, places, column_b[met])
    pairs = {"A": (row_a, k_a), "B": (k_b, column_b), "D": (row_d, column_d)}
    by_operand = {operand: np.stack([np.where(x == none, -1, x) for x in pair], axis=-1) for operand, pair in pairs.items()}
    return by_operand if np.array_equal(meetings_of(by_operand), meets) else {"meetings": meets}


def meetings_of(by_operand):
    """The meetings that labels mean: int64 [elements of A, elements of D]."""
    a, b, d = by_operand["A"], by_operand["B"], by_operand["D"]
    size = max(x.max() for x in by_operand.values()) + 2
    at = np.zeros((size, size), np.int64)
    at[b[:, 0], b[:, 1]] = np.where(b[:, 0] < 0, 0, np.arange(1, len(b) + 1))
    at[-1], at[:, -1] = 0, 0
    return np.where(a[:, :1] == d[:, 0], at[a[:, 1][:, None], d[:, 1]], 0)


def _by_lane(by_operand, a, b, d, *settings):
    """Labels [elements, 2] -> int16 [lanes, values, 2]; those of A for every one of the settings, [settings, ...]."""
    shapes = {"A": (*settings, LANES, a.values, 2), "B": (LANES, b.values, 2), "D": (LANES, d.values, 2)}
    return {operand: x.reshape(shapes.get(operand, x.shape)).astype(np.int16) for operand, x in by_operand.items()}


@dataclass(frozen=True)
class MmaProbe:
    """A dense mma, by name."""

    name: str

    @cached_property
    def form(self):
        return (quad_pair_form if self.name in QUAD_PAIR_MMAS else mma_form)(self.name)

    def _fragments(self, find=fragment):
        return tuple(find(self.name, operand) for operand in "ABCD")

    def launches(self):
        """Tables of A, B and C: all pairs of an A and a B; then C alone."""
        a, b, c, _ = self._fragments()
        nothing = 0 * numbered(c)
        return [(one_hot(a), digits(b), nothing), (one_hot(a)[:1], digits(b)[:1], numbered(c))]

    def maps(self, outs):
        """{"A", "B", "D": labels [lanes, values, 2]; "C": the number of the C that each D holds, [lanes, values]}."""
        a, b, _, d = self._fragments()
        pairs, alone = (results(d, out) for out in outs)
        meets = meetings(pairs[:, 0], -2 if ".xor." in self.name else 1)
        by_operand = labels(meets, LANES * b.values)
        return _by_lane(by_operand, a, b, d) | {"C": _numbers_of_c(alone, d)}

    def expected(self, find=fragment):
        """The same from the model; find: where fragments come from."""
        a, b, c, d = self._fragments(find)
        at = [f.coordinates().reshape(-1, 2) for f in (a, b, d)]
        meets = expected_meetings(*at, matrices=4 if self.name in QUAD_PAIR_MMAS else 1)
        by_operand = labels(meets, len(at[1]))
        return _by_lane(by_operand, a, b, d) | {"C": expected_numbers_of_c(c, d)}


def _numbers_of_c(alone, d):
    return alone.reshape(LANES, d.values).astype(np.int16)


def expected_numbers_of_c(c, d):
    """Which element of C, from 1, is where each element of D is: int16 [lanes, values]."""
    at = np.zeros(c.shape, np.int64)
    at[tuple(np.moveaxis(c.coordinates(), -1, 0))] = np.arange(1, LANES * c.values + 1).reshape(LANES, c.values)
    return at[tuple(np.moveaxis(d.coordinates(), -1, 0))].astype(np.int16)


# ---- mma.sp --------------------------------------------------------------------------------------------------------------

def everywhere(nibble):
    """A metadata register with one nibble in all places."""
    return 0x11111111 * nibble


@dataclass(frozen=True)
class SparseProbe:
    """An mma.sp with one sparsity selector.

    Its A, B and D are measured as those of the dense mma, under the metadata that keeps the first elements of every
    group and under that which keeps the last ones. Then the metadata is scanned: every bit of every lane is changed
    alone, from one legal nibble to another (of 1:2, whose nibbles differ in two bits, every nibble), and D shows which
    stored elements now come from another column. lanes: those whose metadata is scanned.
    """

    name: str
    selector: int
    lanes: tuple = tuple(range(LANES))

    @cached_property
    def form(self):
        return sparse_form(self.name, self.selector)

    @property
    def mma(self):
        return sparse_mma(self.name)

    def _fragments(self, find=fragment):
        return tuple(find(self.name, operand) for operand in "ABCD")

    def _ends(self):
        """The first and the last nibble of the pattern."""
        codes = list(self.mma.pattern.codes.values())
        return codes[0], codes[-1]

    def _changes(self):
        """(base nibble, bits to change) for each place that is scanned in a register."""
        if self.mma.pattern.stored == 1:
            first, last = self._ends()
            return [(first, (first ^ last) << 4 * nibble) for nibble in range(8)]
        bases = (0b1000, 0b1100, 0b1000, 0b0100)                       # from which flipping bit 0, 1, 2, 3 is legal
        return [(bases[bit % 4], 1 << bit) for bit in range(32)]

    def settings(self):
        """Metadata registers, uint32 [settings, 32]: every legal nibble everywhere, then the changes, lane by lane."""
        same = [np.full(LANES, everywhere(code), np.uint32) for code in self.mma.pattern.codes.values()]
        for lane in self.lanes:
            for base, change in self._changes():
                registers = np.full(LANES, everywhere(base), np.uint32)
                registers[lane] ^= np.uint32(change)
                same.append(registers)
        return np.array(same)

    def _with_metadata(self, c, registers):
        """Table of C, uint8 [cases, bytes], with these metadata registers, uint32 [cases, 32], after each lane's own."""
        c = np.broadcast_to(c, (len(registers), c.shape[1])).reshape(len(registers), LANES, -1)
        metadata = np.ascontiguousarray(registers).view(np.uint8).reshape(len(registers), LANES, 4)
        return np.concatenate([c, metadata], axis=-1).reshape(len(registers), -1)

    def launches(self):
        """Tables of A, B and C: pairs under two sets of metadata; C alone; the scan."""
        a, b, c, _ = self._fragments()
        ends = np.array([[everywhere(code)] * LANES for code in self._ends()], np.uint32)
        numbers = numbered(c)
        return [(one_hot(a), digits(b), self._with_metadata(0 * numbers, ends)),
                (one_hot(a)[:1], digits(b)[:1], self._with_metadata(numbers, ends[:1])),
                (self._stored_columns(a), self._binary_columns(b), self._with_metadata(0 * numbers, self.settings()))]

    def _stored_columns(self, a):
        """Registers with stored column s of A set to 1, for every s."""
        column = a.coordinates()[..., 1]
        return to_registers(one(a.dtype) * (column == np.arange(a.shape[1])[:, None, None]), a.dtype)

    def _binary_columns(self, b):
        """Registers of a B whose column n holds bit n of k + 1."""
        k, n = np.moveaxis(b.coordinates(), -1, 0)
        return to_registers(one(b.dtype) * (k + 1 >> n & 1), b.dtype)[None]

    def maps(self, outs):
        """{"A": labels [2 settings, lanes, values, 2]; "B", "D", "C": as of the dense mma; and those of `_scanned`}."""
        a, b, _, d = self._fragments()
        pairs, alone, scan = (results(d, out) for out in outs)
        meets = np.concatenate([meetings(pairs[:, setting]) for setting in (0, 1)])
        by_operand = _by_lane(labels(meets, LANES * b.values), a, b, d, 2)
        return by_operand | {"C": _numbers_of_c(alone, d)} | self._scanned(self._columns(scan[:, :, 0], d))

    def _columns(self, scan, d):
        """float64 [stored columns, settings, elements of D] -> the column of A: int64 [settings, 16, stored columns]."""
        row, n = np.moveaxis(d.coordinates().reshape(-1, 2), -1, 0)
        bits = np.zeros((*scan.shape[:2], *d.shape))
        bits[:, :, row, n] = scan
        number = (bits * 2.0 ** np.arange(d.shape[1])).sum(axis=-1)
        sound = np.isin(bits, (0, 1)).all(axis=-1) & (number > 0)
        return np.moveaxis(np.where(sound, number - 1, NOT_ONE), 0, -1).astype(np.int64)

    def _scanned(self, columns):
        """{"codes": the columns under each legal nibble [codes, 16, stored columns];
        "metadata": [lanes, places, 4], for every change of a place (a bit; of 1:2, a nibble) the row and the first of the
        stored columns whose column changed, how many of them there are, and by how much; -1 where nothing changed}.
        A place that moves elements of several rows, or by several distances, has NOT_ONE; then all
        "columns" are returned as well.
        """
        codes = columns[:len(self.mma.pattern.codes)]
        changes = self._changes()
        before = np.array([codes[list(self.mma.pattern.codes.values()).index(base)] for base, _ in changes])
        after = columns[len(codes):].reshape(len(self.lanes), len(changes), *columns.shape[1:])
        effects = np.full((len(self.lanes), len(changes), 4), -1, np.int64)
        for lane, place in np.argwhere((after != before).any(axis=(-1, -2))):
            rows, stored = np.nonzero(after[lane, place] != before[place])
            by = np.unique((after[lane, place] - before[place])[rows, stored])
            single = len(set(rows.tolist())) == 1 and len(by) == 1
            effects[lane, place] = (rows[0], stored[0], len(stored), by[0]) if single else NOT_ONE
        unexplained = {"columns": columns} if (effects == NOT_ONE).any() or (codes < 0).any() else {}
        return {o: x.astype(np.int16) for o, x in ({"codes": codes, "metadata": effects} | unexplained).items()}

    def expected(self, find=fragment):
        """The same from the model."""
        a, b, c, d = self._fragments(find)
        at = [f.coordinates().reshape(-1, 2) for f in (a, b, d)]
        meets = []
        for code in self._ends():
            column = stored_columns(np.full((self.mma.m, self.mma.groups), code), self.mma.pattern.name)
            meets.append(expected_meetings(np.stack([at[0][:, 0], column[at[0][:, 0], at[0][:, 1]]], axis=-1), *at[1:]))
        by_operand = _by_lane(labels(np.concatenate(meets), len(at[1])), a, b, d, 2)
        nibbles = metadata_nibbles(self.name, self.settings(), self.selector)
        scanned = self._scanned(stored_columns(nibbles, self.mma.pattern.name))
        return by_operand | {"C": expected_numbers_of_c(c, d)} | scanned
