"""Shared-memory instructions as a table: which lanes are served together, and what a group of lanes costs.

Everything that the bank model knows of an instruction is in its row. A *phase* is a group of lanes served together;
the rules themselves (what one group costs) are in `banks`.
"""

import difflib
import re
from dataclasses import dataclass

from simlayout.errors import InstructionError
from simlayout.hardware.provenance import H200, Provenance, measured

WARP = (tuple(range(32)),)
HALVES = (tuple(range(16)), tuple(range(16, 32)))
QUARTERS = tuple(tuple(range(8 * m, 8 * m + 8)) for m in range(4))


@dataclass(frozen=True)
class Instruction:
    """One row of the table.

    kind: "load", "store", "ldmatrix", "stmatrix", "copy" (cp.async), "reduction" or "atomic".
    bytes: bytes that each address gives access to, and their alignment (16 for every row of ldmatrix and stmatrix).
    groups: the phases, a tuple of tuples of lanes; lanes in no group have their address ignored.
    paired_groups: the phases when the lanes pair up (see `banks.paired`), or None where pairing changes nothing.
    merges: True where equal words of a group are served once, False where every lane's access counts.
    times: how often each group passes through the banks.
    counter: what ncu's bank-conflict counter shows: "excess", "wavefronts - 1" or "nothing".
    exact: whether the rule is known to give the hardware's number for every address pattern; if not, `caveat` says why.
    since: the first compute capability that has the instruction. source: its Provenance on sm_90.
    """

    name: str
    kind: str
    bytes: int
    groups: tuple
    source: Provenance
    paired_groups: tuple | None = None
    merges: bool = True
    times: int = 1
    counter: str = "excess"
    exact: bool = True
    caveat: str = ""
    since: tuple = (7, 5)

    def __str__(self):
        return self.name

    @property
    def rule(self):
        """"distinct" (equal words of a group count once) or "every lane" (they do not)."""
        return "distinct" if self.merges else "every lane"

    @property
    def needs_whole_warp(self):
        """Whether PTX wants all 32 lanes active (the .sync.aligned matrix instructions)."""
        return self.kind in ("ldmatrix", "stmatrix")


def _loads_and_stores():
    narrow = measured(3839, "8-, 16- and 32-bit ld.shared and st.shared")
    for bits in (8, 16, 32):
        yield Instruction(f"ld.shared.b{bits}", "load", bits // 8, WARP, narrow)
        yield Instruction(f"st.shared.b{bits}", "store", bits // 8, WARP, narrow)
    yield Instruction("ld.shared.b64", "load", 8, HALVES, measured(2690, "ld.shared.b64"), paired_groups=WARP)
    yield Instruction("ld.shared.b128", "load", 16, QUARTERS, measured(3040, "ld.shared.b128"), paired_groups=HALVES)
    yield Instruction("st.shared.b64", "store", 8, HALVES, measured(1005, "st.shared.b64"))
    yield Instruction("st.shared.b128", "store", 16, QUARTERS, measured(968, "st.shared.b128"))


def _matrices():
    source = measured(1870, "ldmatrix and stmatrix", " (x1, x2, x4, with and without .trans)")
    for op, since in (("ldmatrix", (7, 5)), ("stmatrix", (9, 0))):
        for count in (1, 2, 4):
            for trans in ("", ".trans"):
                yield Instruction(f"{op}.x{count}{trans}", op, 16, QUARTERS[:count], source, since=since)


SCATTERED = "sources in global memory that are not coalesced add wavefronts, by a rule that is not known"
BYPASS = "the hardware's count for .cg follows no known rule (by this one, 23 of 114 measured cases)"


def _copies():
    cases = {4: (104, 118, " (97 of 97 with a coalesced source)"), 8: (100, 116, ""), 16: (105, 121, "")}
    for size, groups in ((4, WARP), (8, HALVES), (16, QUARTERS)):
        agree, total, note = cases[size]
        source = Provenance("measured", f"explains {agree} of {total} cases of cp.async.ca.{size}{note}; {H200}", agree)
        yield Instruction(f"cp.async.ca.{size}", "copy", size, groups, source, merges=False, exact=False,
                          caveat=SCATTERED, since=(8, 0))
    source = Provenance("measured", f"explains 23 of 114 cases of cp.async.cg.16; {H200}", 23)
    yield Instruction("cp.async.cg.16", "copy", 16, QUARTERS, source, merges=False, exact=False, caveat=BYPASS,
                      counter="nothing", since=(8, 0))


INTEGER_OPS = (("add", "u32 s32"), ("min", "u32 s32"), ("max", "u32 s32"), ("and", "b32"), ("or", "b32"),
               ("xor", "b32"), ("inc", "u32"), ("dec", "u32"))
"""Operations that red and atom share, with their 32-bit types (PTX ISA, sections red and atom)."""

WIDE_OPS = (("add", "u64"), ("min", "u64 s64"), ("max", "u64 s64"), ("and", "b64"), ("or", "b64"), ("xor", "b64"))
"""The same for 64 bits."""

MEASURED_OPS = ("red.shared.add.u32", "red.shared.min.s32", "red.shared.or.b32", "atom.shared.add.u32",
                "atom.shared.exch.b32")
LOOP = "it may run as a loop around compare-and-swap, whose rounds depend on the data; this counts one round"
UNMEASURED = "no 64-bit form but cas has been measured"


def _atomics():
    # The rules are those of ATOMS. Where all lanes add one constant to one address, ptxas may emit a count of lanes.
    seen = measured(384, "red and atom .add .min .or .exch of 32 bits")
    like = Provenance("assumed", "as the 32-bit red and atom operations that were measured: the unit is the same")
    guess = Provenance("assumed", "a lower bound: one round of the rule measured for atom.shared.cas of this width")
    common = {"merges": False, "counter": "wavefronts - 1"}
    for op, kind, extra in (("red", "reduction", ()), ("atom", "atomic", (("exch", "b32"),))):
        for function, types in INTEGER_OPS + extra:
            for name in (f"{op}.shared.{function}.{t}" for t in types.split()):
                yield Instruction(name, kind, 4, WARP, seen if name in MEASURED_OPS else like, **common)
        yield Instruction(f"{op}.shared.add.f32", kind, 4, WARP, guess, times=2, exact=False, caveat=LOOP, **common)
        for function, types in WIDE_OPS + tuple((f, "b64") for f, _ in extra):
            for name in (f"{op}.shared.{function}.{t}" for t in types.split()):
                yield Instruction(name, kind, 8, HALVES, guess, times=2, exact=False,
                                  caveat=f"{UNMEASURED}; {LOOP}", **common)
    cas32 = measured(81, "atom.shared.cas.b32")
    cas64 = measured(82, "atom.shared.cas.b64", " (the rule of cas.b32 on half-warps, found on these very cases)")
    yield Instruction("atom.shared.cas.b32", "atomic", 4, WARP, cas32, times=2, **common)
    yield Instruction("atom.shared.cas.b64", "atomic", 8, HALVES, cas64, times=2, **common)


INSTRUCTIONS = {row.name: row for rows in (_loads_and_stores, _matrices, _copies, _atomics) for row in rows()}
"""Every instruction that `analyze` models, by name."""

_QUALIFIERS = {"volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys",
               "sync", "aligned", "m8n8", "noftz"}
_NOT_MODELLED = (
    ("wgmma", "wgmma reads its operands through the tensor pipe, not the LSU: no layout makes it conflict"),
    ("cp.async.bulk", "TMA and cp.async.bulk have no LSU wavefronts"),
)


def instruction(name):
    """The row of an instruction, by its own name or by a PTX spelling of it; an Instruction is returned as it is.

    Types of one width are one instruction (ld.shared.f32 is ld.shared.b32), vectors are their width (ld.shared.v4.f32
    is ld.shared.b128), and qualifiers that do not change the addresses (.volatile, .sync.aligned, .m8n8, memory order
    and scope, ::cta) are skipped. Source: PTX ISA, sections ld, st, ldmatrix, stmatrix, cp.async, red and atom.
    Raises InstructionError, naming near matches.

    >>> instruction("ld.shared.v2.f32").name
    'ld.shared.b64'
    >>> instruction("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16").groups[1]
    (8, 9, 10, 11, 12, 13, 14, 15)
    """
    if isinstance(name, Instruction):
        return name
    text = str(name).strip()
    row = INSTRUCTIONS.get(text) or INSTRUCTIONS.get(_canonical(text))
    if row is None:
        raise InstructionError(_unknown(text))
    return row


def _canonical(text):
    """The table's spelling of a PTX name, or a name that is not in the table."""
    parts = [p for p in text.lower().replace("shared::cta", "shared").split(".") if p not in _QUALIFIERS]
    op, rest = parts[0], parts[1:]
    if op in ("ld", "st"):
        return _plain_access(op, rest)
    if op in ("ldmatrix", "stmatrix"):
        return ".".join([op, *(p for p in rest if p not in ("shared", "b16"))])
    if op == "cp":
        return ".".join([op, *(p for p in rest if p not in ("shared", "global") and not p.startswith("l2::"))])
    return ".".join(parts)


def _plain_access(op, rest):
    """"ld", ["shared", "v4", "f32"] -> "ld.shared.b128"."""
    match = re.fullmatch(r"shared\.(?:v([24])\.)?[busf](\d+)", ".".join(rest))
    if not match:
        return ".".join([op, *rest])
    return f"{op}.shared.b{int(match[1] or 1) * int(match[2])}"


def _unknown(text):
    """The error line for a name that is not in the table."""
    for prefix, reason in _NOT_MODELLED:
        if text.startswith(prefix):
            return f"{text!r} is not modelled: {reason}"
    near = difflib.get_close_matches(_canonical(text), INSTRUCTIONS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "known are ld.shared, st.shared, ldmatrix, stmatrix, " \
        "cp.async, red.shared and atom.shared (see simlayout.hardware.INSTRUCTIONS)"
    return f"unknown shared-memory instruction {text!r}; {hint}"
