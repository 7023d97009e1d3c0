"""How the rows of AMD's chips are written: lane groups by the bits of a lane, and the instructions that read and write LDS.

A DS instruction is served in phases: a fixed group of lanes each, whose lanes share the banks. Lanes that want one dword
are served by one access. Conflicts, which SQ_LDS_BANK_CONFLICT counts, are the passes of every phase after its first.
"""

from dataclasses import replace

from simlayout.hardware.tables.instructions import Instruction
from simlayout.hardware.tables.provenance import Provenance

NARROW = Provenance("assumed", "the lane groups of the 32-bit access: nobody has published those of 8 and 16 bits")


def phases(lanes: int, *keys: tuple) -> tuple:
    """The lane groups of a wave: lanes are in one if they agree in every key, the XOR of some bits of the lane's number.

    >>> phases(32, (4, 2), (3,))[0]                      # agree in bit 4 ^ bit 2, and in bit 3
    (0, 1, 2, 3, 20, 21, 22, 23)
    """
    groups: dict[tuple, list] = {}
    for lane in range(lanes):
        groups.setdefault(tuple(sum(lane >> bit & 1 for bit in key) % 2 for key in keys), []).append(lane)
    return tuple(map(tuple, groups.values()))


def reads(bits: int, groups: tuple, said: Provenance, **more) -> Instruction:
    """The row of ds_read_b32, b64 or b128. more: other fields of an Instruction."""
    return _row("ds_read", "load", bits, groups, said, more)


def reads_of_12_bytes(groups: tuple, said: Provenance, **more) -> Instruction:
    """The row of ds_read_b96, at multiples of 16 bytes: its lanes meet in as many banks as if they read all 16. Elsewhere
    its rule is not known: HipKittens counted a conflict on an MI355X where two lanes began in one bank, and none where they
    shared another one of their three."""
    return Instruction("ds_read_b96", "load", 16, groups, since=(), lanes=sum(map(len, groups)), said=said,
                       elsewhere="the hardware takes others, but who conflicts there is not known", **more)


def reads_transposing(element_bits: int, groups: tuple, said: Provenance, **more) -> Instruction:
    """The row of ds_read_b64_tr_b16, b8 or b4: each lane reads 8 bytes, which lanes then exchange 16 by 16, so EXEC has to
    have all of them (CDNA4 ISA, 11.4)."""
    name, lanes = f"ds_read_b64_tr_b{element_bits}", sum(map(len, groups))
    return Instruction(name, "load", 8, groups, since=(), lanes=lanes, said=said, exchanges=True, **more)


def writes(bits: int, groups: tuple, said: Provenance, **more) -> Instruction:
    """The row of ds_write_b32, b64 or b128. Lanes that write one dword make neither a conflict nor a pass more: the last
    one wins."""
    return _row("ds_write", "store", bits, groups, said, more)


def _row(op, kind, bits, groups, said, more):
    return Instruction(f"{op}_b{bits}", kind, bits // 8, groups, since=(), lanes=sum(map(len, groups)), said=said, **more)


def with_narrow(*rows: Instruction) -> tuple:
    """The rows, and before those of 32 bits these for 8 and 16 bits."""
    every = []
    for row in rows:
        if row.bytes == 4:
            every += [_narrow(row, size) for size in (1, 2)]
        every.append(row)
    return tuple(every)


def _narrow(row, size):
    name = f"ds_read_u{8 * size}" if row.kind == "load" else f"ds_write_b{8 * size}"
    return replace(row, name=name, bytes=size, said=NARROW, rival=row.rival and _narrow(row.rival, size))
