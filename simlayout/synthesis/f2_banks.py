"""Every way in which XORs can spread the chunks of a tile over the banks, without trying one matrix after the other.

An F2 layout permutes chunks by an invertible matrix F over F2, from chunk number to chunk number; the lowest b rows of F,
P, give a chunk its banks (of 128 bytes, b = 3 for chunks of 16). Two lanes that are served together conflict if they want
different words at the same place in their chunks v and w, and P (v ^ w) = 0. So only the differences v ^ w in the kernel
of P cause conflicts:

- Two F with the same kernel cost the same. A chunk number of n bits has [n over b] kernels (the Gaussian binomial):
  11,811 for a 16x64 tile of f16, which has more than 10**14 matrices.
- Where the lanes of a phase XOR (no carries), their differences are a space U, and the phase takes one wavefront for each
  element of U that lies in the kernel. The excess of all accesses together is therefore a sum over differences: each has
  a weight, and costs it if it is in the kernel.
- Where they carry, the layout is free of conflicts exactly if no difference of two lanes is in the kernel. The weights count
  pairs of lanes then, and a kernel that holds any has an excess of at least 1.

The search assigns banks (a column of P) to one bit of the chunk number after the other, in reduced row echelon form, so
that every kernel occurs once. Because weights only add up, a partial kernel that costs more than the best known one is
dropped at once. Bits that occur in no difference cost nothing, whatever their banks are, so they are only counted.

Accesses of one tile may see 32 banks and 64, as the writes and reads of gfx950 do. The banks of the first are then P without
its last row, whose kernel holds that of P, and each difference costs if it lies in the kernel of the rows that its access
sees. Such pairs of kernels occur once each as well: the rows that all see in reduced row echelon form, the last one with
zeros at their pivots. (A kernel here means such a pair, where there are two.)
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simlayout.algebra.f2 import F2Map
from simlayout.hardware.banks.copies import LINE_BYTES
from simlayout.hardware.banks.model import WORD_BYTES
from simlayout.hardware.tables.instructions import Instruction
from simlayout.hardware.tables.instructions import instruction as row_of

MOST = 1 << 20
"""How many partial kernels are kept at a time; if there are more, the cheapest are kept."""

BEAM = 1 << 9
"""Those of the first, greedy run, which finds the cost that the exhaustive one must not exceed."""

PIECE = 1 << 13
"""Partial kernels that are extended at once, and that an executor gets at a time."""


@dataclass(frozen=True)
class Differences:
    """What lanes that are served together differ by, in chunk numbers of the plain tile.

    bits: of the chunk number that a layout permutes; banks: b, the bits that choose a chunk's banks. weights: {difference
    above 0: excess wavefronts if it lies in the kernel}; constant: the excess that every layout has. additive: whether the
    sum of weights and constant is a lower bound of the excess (else the constant is, and 1 if the sum is above 0). decides:
    whether an excess of 0 follows from a sum of 0. With both the sum is the excess. of_half: {difference: excess if it lies
    in the kernel without the last row}, of accesses that see half as many banks as others; None where there are no others.
    """

    bits: int
    banks: int
    weights: dict
    constant: int
    additive: bool
    decides: bool
    of_half: dict | None = None

    @property
    def common(self):
        """The bits of `banks` that all accesses see."""
        return self.banks - (self.of_half is not None)

    def extensions(self, left, states):
        """Kernels that extend some States by `left` bits."""
        ranks, counts = np.unique(2 * states.ranks + states.begun(self), return_counts=True)
        return sum(n * kernels(left, rank // 2, self.common, rank % 2 if self.of_half is not None else None)
                   for rank, n in zip(ranks.tolist(), counts.tolist()))

    @property
    def total(self):
        """All kernels."""
        return kernels(self.bits, 0, self.common, None if self.of_half is None else 0)

    def bound(self, cost):
        """The excess that a layout of this cost has at least."""
        if self.additive or self.constant < 0:
            return self.constant + cost * self.additive
        return max(self.constant, min(cost, 1))

    @property
    def used_bits(self):
        """The bits, ascending, that some difference has."""
        together = int(np.bitwise_or.reduce([0, *self.weights, *(self.of_half or ())]))
        return tuple(i for i in range(self.bits) if together >> i & 1)


def differences(instructions, addresses, chunk_bytes, bits, starts=(0,)):
    """The Differences of some accesses to a plain tile.

    instructions: names or rows, whose chips have 32 banks or 64; addresses: for each, int64 [n, lanes], bytes from the
    tile's start. chunk_bytes: the size of a chunk, a power of two: at least 4, and at least the width of the widest access.
    bits: of the chunk number that a layout may permute. starts: bytes above a multiple of 128 where the tile may start.

    >>> lanes = np.arange(32)
    >>> result = differences(["ldmatrix.x4"], [(128 * (lanes % 16) + 16 * (lanes // 16))[None]], 16, 7)
    >>> result.weights, result.used_bits         # 4 phases of 8 rows: the rows differ by multiples of 8 chunks
    ({8: 4, 16: 4, 24: 4, 32: 4, 40: 4, 48: 4, 56: 4}, (3, 4, 5))
    """
    ops = [row_of(name) for name in instructions]
    bits_of = {rule.banks: (WORD_BYTES * rule.banks // chunk_bytes).bit_length() - 1 for op in ops for rule in rules(op)}
    banks = min(max(bits_of.values()), bits)
    weights: dict[int, dict] = {min(seen, bits): {} for seen in bits_of.values()}
    constant, additive, decides = 0, True, True
    for op, rows in zip(ops, addresses, strict=True):
        if op.rule == "retry":                           # what its rounds cost depends on more than who meets whom
            additive = decides = False
            continue
        if op.rule == "bypass":                          # as many wavefronts as lines are written, at least
            alike = _distinct(rows) < rows.shape[1]      # of lanes with one destination only one writes: down to 1 wavefront
            constant -= int(alike.sum()) * (len(op.groups) - 1)
            rows, decides = rows[~alike], decides and not alike.any()
            decides &= all((_distinct((rows + start) // LINE_BYTES) <= len(op.groups)).all() for start in starts)
        additive &= op.rival is None                     # it costs what the worse rule says, not what both say together
        always = []                                      # what each rule costs in every layout
        for rule in rules(op):
            seen = bits_of[rule.banks]
            fixed, xors, of_bytes = _of_rule(rule, rows)
            additive, own, met = additive and xors, weights[min(seen, bits)], 0
            for byte, weight in of_bytes.items():
                chunk = byte // chunk_bytes
                stays = chunk >> bits << bits & (1 << seen) - 1        # bank bits that no layout of the family changes
                if byte % chunk_bytes == 0 and not stays:
                    chunk &= (1 << bits) - 1
                    if chunk:
                        own[chunk] = own.get(chunk, 0) + weight
                    else:
                        met += weight
            always.append(fixed + (met if xors else min(met, 1)))      # of lanes that carry the weights are pairs
        constant += max(always)
    every = [dict(sorted(weights.get(n, {}).items())) for n in (banks, banks - 1)]
    return Differences(bits, banks, every[0], constant, additive, decides, every[1] if len(weights) > 1 else None)


def rules(op: Instruction) -> tuple[Instruction, ...]:
    """What the tables say of an instruction: one rule, or two where sources disagree."""
    return (op,) if op.rival is None else (op, op.rival)


def _of_rule(op, rows):
    """(excess in every layout, whether the lanes XOR, {difference in bytes: weight}) of the phases of an instruction."""
    constant, additive, weight_of = 0, True, {}
    for of_phase in _phases(op, rows):
        words = of_phase // max(op.bytes, WORD_BYTES)
        patterns, counts = np.unique(words ^ words[:, :1], axis=0, return_counts=True)
        for pattern, count in zip(patterns, counts.tolist()):
            fixed, costs, xors = _of_phase(op, pattern)
            constant, additive = constant + fixed * count, additive and xors
            for difference, weight in costs:
                byte = difference * max(op.bytes, WORD_BYTES)
                weight_of[byte] = weight_of.get(byte, 0) + weight * count
    return constant, additive, weight_of


def _distinct(values):
    """How many different values each row holds."""
    return 1 + (np.diff(np.sort(values, axis=1), axis=1) != 0).sum(axis=1)


def _phases(op, rows):
    """Addresses [n, lanes] of every phase of an instruction; loads whose lanes pair up have other phases."""
    lanes = np.arange(op.lanes)
    paired = np.zeros(len(rows), bool)
    if op.paired_groups:
        paired = (rows == rows[:, lanes ^ 1]).all(axis=1) | (rows == rows[:, lanes ^ 2]).all(axis=1)
    for groups, chosen in ((op.groups, rows[~paired]), (op.paired_groups or (), rows[paired])):
        for group in groups if len(chosen) else ():
            yield chosen[:, list(group)]


def _of_phase(op, words):
    """(excess in every layout, [(difference, weight)], whether the lanes XOR) of one phase, whose first word is 0."""
    lanes = np.arange(len(words))
    distinct = np.unique(words)
    columns = words[1 << np.arange(len(words).bit_length() - 1)]
    if len(words).bit_count() == 1 and (F2Map(columns)(lanes) == words).all():
        times = op.times * (1 if op.merges else len(words) // len(distinct))
        return times - 1, [(int(u), times) for u in distinct if u], True
    first, second = np.triu_indices(len(distinct), 1)
    alike = not op.merges and len(distinct) < len(words)
    return int(alike), [(int(u), 1) for u in distinct[first] ^ distinct[second]], False


@lru_cache(None)
def kernels(bits, rank, banks, begun=None):
    """How many kernels extend one of rank `rank` by so many bits: in reduced row echelon form, up to rank `banks`.

    begun: None, or whether a further row, which only some accesses see, has a one already.

    >>> kernels(7, 0, 3), kernels(9, 0, 3)          # the Gaussian binomials [7 over 3] and [9 over 3]
    (11811, 788035)
    >>> kernels(7, 0, 3, 0) == 11811 * (2**4 - 1)   # a further row: one of the others, up to sums with the first three
    True
    """
    if bits == 0 or rank + bits < banks:
        return int(bits == 0 and rank == banks and begun != 0)
    wider = kernels(bits - 1, rank + 1, banks, begun) if rank < banks else 0
    same = kernels(bits - 1, rank, banks, begun) + (0 if begun is None else kernels(bits - 1, rank, banks, 1))
    return (same << rank) + wider


@dataclass(frozen=True)
class States:
    """N partial kernels: images [N, levels] of the bits so far, uint8; their ranks, without a row that only some accesses
    see, uint8 [N], and what they cost, int64 [N]."""

    images: np.ndarray
    ranks: np.ndarray
    costs: np.ndarray

    def __len__(self):
        return len(self.costs)

    def __getitem__(self, which):
        return States(self.images[which], self.ranks[which], self.costs[which])

    def begun(self, differences):
        """Whether the row that only some accesses see has a one, bool [N]; True where all see all rows."""
        if differences.of_half is None:
            return np.ones(len(self), bool)
        return (self.images >> differences.common).any(axis=1)


def joined(parts):
    """Some States as one."""
    return States(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("images", "ranks", "costs")))


def tables(differences, order):
    """For each bit of `order` (members, weights, of half): the differences whose last bit it is, bool [k, bits before], what
    they cost, int [k], and whether their accesses see half as many banks as others."""
    level_of = {bit: level for level, bit in enumerate(order)}
    by_level = [[] for _ in order]
    for half, weights in ((False, differences.weights), (True, differences.of_half or {})):
        for difference, weight in weights.items():
            levels = [level_of[i] for i in range(difference.bit_length()) if difference >> i & 1]
            by_level[max(levels)].append(([level in levels for level in range(max(levels))], weight, half))
    return [(np.array([m for m, _, _ in rows], bool).reshape(len(rows), level), np.array([w for _, w, _ in rows], np.int64),
             [half for _, _, half in rows]) for level, rows in enumerate(by_level)]


def grown(job):
    """States with one bit more, from (States, its table, Differences, greatest cost, bits after it)."""
    states, (members, weights, halves), differences, most, left = job
    banks, last = differences.common, 1 << differences.common
    meets = np.zeros((len(states), len(weights)), np.uint8)       # the image of each difference without its last bit
    for level in range(members.shape[1]):
        meets ^= states.images[:, level, None] * members[:, level]
    costs = np.repeat(states.costs[:, None], 1 << differences.banks, axis=1)
    every = np.arange(len(states))
    for k, (weight, half) in enumerate(zip(weights, halves)):
        costs[every, meets[:, k]] += weight
        if half:
            costs[every, meets[:, k] ^ last] += weight       # it does not see the last row
    image = np.arange(1 << differences.banks, dtype=np.uint8)
    new = image == 1 << states.ranks[:, None]
    new &= image < last                                      # where `banks` are reached, what follows is the last row's
    rank = states.ranks[:, None] + new
    begun = states.begun(differences)[:, None] | (image >= last)
    fits = (new | (image % last < 1 << states.ranks[:, None])) & (rank + left + begun > banks)
    at, chosen = np.nonzero(fits & (costs <= most))
    images = np.concatenate([states.images[at], chosen[:, None].astype(np.uint8)], axis=1)
    return States(images, rank[at, chosen], costs[at, chosen])


@dataclass(frozen=True)
class Spreads:
    """What a search over kernels came to: States at all the bits of `order`, cheapest first; examined, total: kernels."""

    order: tuple
    states: States
    examined: int
    total: int
    free: int
    """Kernels without any cost, of those examined."""


def spreads(differences, progress=None, executor=None, most=MOST):
    """The Spreads of some Differences: all kernels of the least cost, if no more than `most` were kept on the way.

    progress: called with the kernels decided so far. executor: of concurrent.futures. After Ctrl-C it returns what a
    greedy run has found.
    """
    order, total = differences.used_bits, differences.total
    start = States(np.zeros((1, 0), np.uint8), np.zeros(1, np.uint8), np.zeros(1, np.int64))
    best, _ = _run(differences, order, start, np.iinfo(np.int64).max, BEAM)
    best = best[best.costs == best.costs.min()]
    examined = _leaves(differences, best)
    try:
        states, dropped = _run(differences, order, start, int(best.costs[0]), most, progress, executor)
        best, examined = states[np.argsort(states.costs, kind="stable")], total - dropped
    except KeyboardInterrupt:
        pass
    return Spreads(order, best, examined, total, _leaves(differences, best[best.costs == 0]))


def _run(differences, order, states, cost, most, progress=None, executor=None):
    """(States at all bits of `order` up to a cost, kernels that were dropped because more than `most` were kept)."""
    dropped, total = 0, differences.total
    for level, table in enumerate(tables(differences, order)):
        left = differences.bits - level - 1
        jobs = [(states[i:i + PIECE], table, differences, cost, left) for i in range(0, len(states), PIECE)]
        states = joined(list((executor.map if executor and len(jobs) > 1 else map)(grown, jobs)))
        if len(states) > most:
            ranked = np.argsort(states.costs, kind="stable")
            dropped += differences.extensions(left, states[ranked[most:]])
            states = states[ranked[:most]]
        if progress:
            progress(total - dropped - (differences.extensions(left, states) if level < len(order) - 1 else 0))
    return states, dropped


def _leaves(differences, states):
    return differences.extensions(differences.bits - len(differences.used_bits), states)
