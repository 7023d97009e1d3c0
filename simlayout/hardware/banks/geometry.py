"""An instruction as the fast counters (`fast` on the CPU, `sweep` on a GPU) see it: a few numbers."""

from typing import NamedTuple

from simlayout.hardware.banks.model import WORD_BYTES, last_address
from simlayout.hardware.tables.arch import LANES


class Geometry(NamedTuple):
    """last: the highest legal byte address; low: the bits that no legal one has. shift: from an address to its wide word;
    bank_bits: of a wide word that say its bank. span: lanes of a group; paired_span: of one that pairs make, 0 for none;
    used: lanes in any group. merges, times: as in Instruction."""

    last: int
    low: int
    shift: int
    bank_bits: int
    span: int
    paired_span: int
    used: int
    merges: bool
    times: int


def geometry(instruction, shared_bytes):
    """The Geometry of a row whose rule is "banks" in a CTA with so much shared memory; None for one of other warps than of
    32 lanes, or whose lane groups are not neighbours from lane 0 on, 4, 8, 16 or 32 lanes each. (All of INSTRUCTIONS are
    so.)

    >>> from simlayout.hardware import INSTRUCTIONS
    >>> geometry(INSTRUCTIONS["ld.shared.b64"], 1024)
    Geometry(last=1016, low=7, shift=3, bank_bits=4, span=16, paired_span=32, used=32, merges=True, times=1)
    """
    word_bytes = max(instruction.bytes, WORD_BYTES)
    span, used = len(instruction.groups[0]), sum(map(len, instruction.groups))
    paired_span = len(instruction.paired_groups[0]) if instruction.paired_groups else 0
    if (instruction.lanes != LANES or instruction.bytes not in (1, 2, 4, 8, 16, 32) or span not in (4, 8, 16, 32)
            or instruction.groups != _runs(span, used)
            or paired_span and (paired_span != 2 * span or instruction.paired_groups != _runs(paired_span, used))):
        return None
    bank_bits = (instruction.banks * WORD_BYTES // word_bytes).bit_length() - 1
    return Geometry(last_address(instruction, shared_bytes), instruction.bytes - 1, word_bytes.bit_length() - 1, bank_bits,
                    span, paired_span, used, instruction.merges, instruction.times)


def _runs(span, used):
    return tuple(tuple(range(start, start + span)) for start in range(0, used, span))
