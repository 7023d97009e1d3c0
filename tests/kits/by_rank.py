"""Wavefronts in closed form: of a warp whose lanes' addresses XOR, by the ranks of matrices instead of by counting.

The words that a phase touches are then a coset of a space over F2, and every bank that is touched at all holds as many
of them: 2 to the rank of the word numbers less that of the bank numbers. Sub-word accesses differ only in that several
addresses lie in one word; where equal words are not merged (atomics), every lane counts instead.
"""

from simlayout.algebra.f2 import rank
from simlayout.hardware.banks.model import WORD_BYTES
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.hardware.tables.instructions import instruction as row_of


def wavefronts_by_rank(instruction, columns, arch=DEFAULT_ARCH):
    """Wavefronts of a warp with all lanes active, lane l at constant ^ columns[i] ^ ... for the bits i that are set in l.

    instruction: the name of one whose rule is "banks" (loads, stores, ldmatrix, stmatrix, reductions). columns: five byte
    distances (six in a wave of 64 lanes), each a multiple of the instruction's bytes. arch: whose instruction it is. The
    constant does not matter: it permutes the banks.

    >>> wavefronts_by_rank("ld.shared.b32", (4, 8, 16, 32, 64)), wavefronts_by_rank("ld.shared.b32", (128, 256, 4, 8, 16))
    (1, 4)
    >>> wavefronts_by_rank("ldmatrix.x4", (64, 128, 256, 16, 32))
    16
    """
    op = row_of(instruction, arch)
    pairs = columns[0] == 0 or columns[1] == 0           # `model.paired`: lane ^ 1 or lane ^ 2 has the same address
    groups = op.paired_groups if op.paired_groups and pairs else op.groups
    return op.times * sum(_of_group(op, columns, group) for group in groups)


def _of_group(op, columns, group):
    """Wavefronts of the lanes of one phase, which are a coset: the lanes 2**i places on differ from the first by a basis."""
    lanes = len(group).bit_length() - 1
    word_bytes = max(op.bytes, WORD_BYTES)
    banks = op.banks * WORD_BYTES // word_bytes
    words = [_across(columns, group[1 << i] ^ group[0]) // word_bytes for i in range(lanes)]
    reached = rank(words) if op.merges else lanes
    return 1 << reached - rank([word % banks for word in words])


def _across(columns, lanes):
    """How far apart in bytes, by XOR, two lanes are whose numbers differ in the bits of `lanes`."""
    distance = 0
    for bit, column in enumerate(columns):
        if lanes >> bit & 1:
            distance ^= column
    return distance
