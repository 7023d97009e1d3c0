"""Shared-memory instructions as a table: which lanes are served together, and what a group of lanes costs.

Everything that the bank model knows of an instruction is in its row. A *phase* is a group of lanes served together;
the rules themselves (what one group costs) are in `banks`, `copies` and `retries`. Where the numbers were measured is
in `records`. Here are the rows of PTX, which all of NVIDIA's chips share; those of each AMD chip are in `tables.amd`.
"""

import re
from dataclasses import dataclass

from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.arch import ARCHES, DEFAULT_ARCH, FEATURES, LANES, Arch, arch_of
from simlayout.hardware.tables.provenance import Provenance
from simlayout.wording import counted, nearest, ranges

WARP = (tuple(range(LANES)),)
HALVES = (tuple(range(16)), tuple(range(16, LANES)))
QUARTERS = tuple(tuple(range(8 * m, 8 * m + 8)) for m in range(4))


CLASSES = {"load": "ld", "ldmatrix": "ldmatrix", "store": "st", "stmatrix": "stmatrix", "copy": "copy", "reduction": "atom",
           "atomic": "atom"}
"""Kind -> the class under which wavefronts are added up, as Nsight Compute has a counter for each: of
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ those that end in ld, ldsm, st, ldgsts and atom. stmatrix is in none
of them, but with the stores in l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st (foreign kernels on an H200)."""


@dataclass(frozen=True)
class Instruction:
    """One row of the table.

    kind: "load", "store", "ldmatrix", "stmatrix", "copy" (cp.async), "reduction" or "atomic".
    bytes: bytes that each address gives access to, and their alignment (16 for every row of ldmatrix and stmatrix).
    groups: the phases, a tuple of tuples of lanes; lanes in no group have their address ignored.
    rule: how lanes that meet in a group are served: "banks" (`banks`), "copy" or "bypass" (`copies`), "retry" (`retries`).
    paired_groups: the phases when the lanes pair up (see `model.paired`), or None where pairing changes nothing.
    merges: True where equal words of a group are served once, False where every lane's access counts.
    times: how often each group passes through the banks.
    caveat: for which accesses the rule gives bounds and not a number, empty if for none.
    like: for a row that no record covers, why its rule is believed. since: the first compute capability that has it.
    lanes: of a warp; banks: how many of 4 bytes serve it. said: who says so, where no record of ours does.
    rival: the row as another source has it, where sources disagree; `caveat` then says on what.
    exchanges: True where lanes exchange what they load, so that all of them have to be active.
    elsewhere: what is known of addresses that the hardware takes and the row does not, if there are such.
    """

    name: str
    kind: str
    bytes: int
    groups: tuple
    rule: str = "banks"
    paired_groups: tuple | None = None
    merges: bool = True
    times: int = 1
    caveat: str = ""
    like: str = ""
    since: tuple = (7, 5)
    lanes: int = LANES
    banks: int = 32
    said: Provenance | None = None
    rival: "Instruction | None" = None
    exchanges: bool = False
    elsewhere: str = ""

    def __str__(self):
        return self.name

    def _repr_pretty_(self, printer, cycle):             # what a notebook shows: str() is the name alone
        printer.text(f"{self.name}: {counted(self.bytes, 'byte')} for each address, {self.served}")

    @property
    def served(self) -> str:
        """In how many phases, of which lanes where these are no neighbours, and in how many banks.

        >>> instruction("ldmatrix.x4").served, instruction("ld.shared.b64").served
        ('4 phases of 8 lanes, 32 banks', '2 phases of 16 lanes, 1 where lanes pair up, 32 banks')
        """
        text = f"{counted(len(self.groups), 'phase')} of {len(self.groups[0])} lanes"
        if self.paired_groups:
            text += f", {len(self.paired_groups)} where lanes pair up"
        elif any(group[-1] - group[0] != len(group) - 1 for group in self.groups):
            text += f" ({'; '.join(map(ranges, self.groups[:2]))}; ...)"
        return f"{text}, {self.banks} banks"

    @property
    def exact(self) -> bool:
        """Whether the rule gives the hardware's number for every access (of copies, with their sources)."""
        return not self.caveat

    @property
    def is_matrix(self) -> bool:
        """Whether it is ldmatrix or stmatrix, whose phases are matrices of 8 rows."""
        return self.kind in ("ldmatrix", "stmatrix")

    @property
    def needs_whole_warp(self) -> bool:
        """Whether all lanes have to be active: in the .sync.aligned matrix instructions, and where lanes exchange."""
        return self.is_matrix or self.exchanges


def _loads_and_stores():
    groups = {8: WARP, 16: WARP, 32: WARP, 64: HALVES, 128: QUARTERS}
    merged = {64: WARP, 128: HALVES}
    for bits, phases in groups.items():
        yield Instruction(f"ld.shared.b{bits}", "load", bits // 8, phases, paired_groups=merged.get(bits))
        yield Instruction(f"st.shared.b{bits}", "store", bits // 8, phases)
        yield Instruction(f"ld.b{bits}", "load", bits // 8, phases)         # a generic address: pairs never merge


def _matrices():
    for op, since in (("ldmatrix", (7, 5)), ("stmatrix", (9, 0))):
        for count in (1, 2, 4):
            for trans in ("", ".trans"):
                yield Instruction(f"{op}.x{count}{trans}", op, 16, QUARTERS[:count], since=since)


DUPLICATED = ("where one 16-byte piece of global memory goes to two places in one 128-byte line of shared memory, "
              "only bounds are known")


def _copies():
    copies = FEATURES["cp.async"].since
    for size, groups in ((4, WARP), (8, HALVES), (16, QUARTERS)):
        yield Instruction(f"cp.async.ca.{size}", "copy", size, groups, rule="copy", merges=False, since=copies)
    yield Instruction("cp.async.cg.16", "copy", 16, QUARTERS, rule="bypass", merges=False, caveat=DUPLICATED, since=copies)


INTEGER_OPS = (("add", "u32 s32"), ("min", "u32 s32"), ("max", "u32 s32"), ("and", "b32"), ("or", "b32"),
               ("xor", "b32"), ("inc", "u32"), ("dec", "u32"))
"""Operations that red and atom share, with their 32-bit types (PTX ISA, sections red and atom): one SASS instruction."""

RETRIED_OPS = (("add", "f32 f64 noftz.f16x2 noftz.bf16x2 u64"), ("min", "u64 s64"), ("max", "u64 s64"), ("and", "b64"),
               ("or", "b64"), ("xor", "b64"))
"""Those that ptxas makes a loop of: a load, then ATOMS.CAST.SPIN, until every lane has succeeded."""

COUNTED = "red.shared.add.u32 1"
"""An addition of the constant 1 of which nobody reads what it found, as atomicAdd(&bins[i], 1) is: ptxas makes
ATOMS.POPC.INC of it, which serves the lanes of one address at once (ptxas 13.0, for sm_80 to sm_120). It does so neither of
s32 nor where the address is a generic one."""

UNCHANGED = ("lanes of both half-warps that share an address: how many rounds they need depends on whether the "
             "operation changes the value")
SKIPPED = "a lane whose value is reached already skips the exchange, so the counts depend on the data"


def _atomics():
    for op, kind, extra in (("red", "reduction", ()), ("atom", "atomic", (("exch", "b32"),))):
        for function, types in INTEGER_OPS + extra:
            for name in (f"{op}.shared.{function}.{t}" for t in types.split()):
                yield Instruction(name, kind, 4, WARP, merges=False, like="as the other 32-bit operations")
        for function, types in RETRIED_OPS:
            for t in types.split():
                wide = t.endswith("64")
                caveat = SKIPPED if function in ("min", "max") else UNCHANGED if wide else ""
                yield Instruction(f"{op}.shared.{function}.{t}", kind, 8 if wide else 4, HALVES if wide else WARP,
                                  rule="retry", merges=False, times=2, caveat=caveat,
                                  like="as the other retried operations", since=(9, 0) if "bf16" in t else (7, 5))
    yield Instruction(COUNTED, "reduction", 4, WARP, since=(8, 0))
    yield Instruction("atom.shared.exch.b64", "atomic", 8, HALVES, merges=False)
    yield Instruction("atom.shared.exch.b128", "atomic", 16, QUARTERS, merges=False, like="as exch.b64, in quarter-warps",
                      since=(9, 0))
    yield Instruction("atom.shared.cas.b32", "atomic", 4, WARP, merges=False, times=2)
    yield Instruction("atom.shared.cas.b64", "atomic", 8, HALVES, merges=False, times=2)
    yield Instruction("atom.shared.cas.b128", "atomic", 16, QUARTERS, merges=False, times=2,
                      like="as cas.b64, in quarter-warps", since=(9, 0))


INSTRUCTIONS = {row.name: row for rows in (_loads_and_stores, _matrices, _copies, _atomics) for row in rows()}
"""Every instruction of PTX that `analyze` models, by name."""


def instructions_of(arch: str | Arch) -> dict[str, Instruction]:
    """Every instruction that `analyze` models on an architecture, by name.

    >>> list(instructions_of("gfx1201"))[:3], "stmatrix.x4" in instructions_of("sm_80")
    (['ds_read_u8', 'ds_read_u16', 'ds_read_b32'], False)
    """
    chip = arch_of(arch)
    return {row.name: row for row in chip.instructions or INSTRUCTIONS.values() if row.since <= chip.capability}


_QUALIFIERS = {"volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys",
               "sync", "aligned", "m8n8"}
_COUNT = ("To settle it on your GPU, count SQ_LDS_BANK_CONFLICT of every pair of lanes, two active at a time in one bank, "
          "as the script of `simlayout conform --rocm` does of those that have a rule")
_REGISTERS = "it moves registers from lane to lane and reads no LDS, so it has no bank conflicts"
_BY_LANE = "its lanes give no addresses: from a base on they have one place after the other, in their order"
_ATOMICS = ("add", "sub", "rsub", "min", "max", "and", "or", "xor", "inc", "dec", "cmpst", "cmpstore", "wrxchg", "storexchg",
            "condxchg", "cond_sub", "mskor", "wrap", "append", "consume", "pk_add", "ordered_count")
_NOT_MODELLED = (
    ("atoms.popc.inc", f"it is what the machine code calls {COUNTED!r}"),
    ("wgmma", "wgmma reads its operands through the tensor pipe, not the LSU: no layout makes it conflict"),
    ("cp.async.bulk", "TMA and cp.async.bulk have no LSU wavefronts"),
    *((f"{op}.{shape}", "of matrices of 8 bits and fewer, which sm_100 has, was not measured which rows share a wavefront")
      for op, shape in (("ldmatrix", "m16n16"), ("ldmatrix", "m8n16"), ("stmatrix", "m16n8"))),
    *((op, "what the shared memory of another CTA costs was not measured; of the CTA's own write ld.shared or st.shared")
      for op in ("ld.shared::cluster", "st.shared::cluster", "st.async", "red.async")),
    *((f"{op}.shared.v8", f"shared memory takes 16 bytes of a lane: two {op}.shared.v4") for op in ("ld", "st")),
    *((f"{op}.{space}", f"{space} memory has no banks; did you mean {op}.shared?")
      for op in ("ld", "st", "red", "atom") for space in ("global", "local")),
    *((f"ds_{op}{kind}", f"it makes two accesses, one after the other: analyze each as ds_{op}_b32 or ds_{op}_b64")
      for op in ("read", "write") for kind in ("2_", "2st64_", "_2addr")),
    ("ds_read_b96_tr", f"who shares a phase is published of no transposing read of 12 bytes, only of those of 8. {_COUNT}"),
    ("ds_read_b64_tr", "of the chips here gfx950 alone has it"),
    ("ds_read_tr", "gfx1250 alone has it (LLVM, DSInstructions.td), which is in no table here"),
    ("ds_read_b128_tr", "gfx1250 alone has it (LLVM, DSInstructions.td), which is in no table here"),
    ("ds_read_b96", f"who shares a phase is published of gfx950 and gfx1201 alone. {_COUNT}"),
    ("ds_write_b96", f"nobody has published who shares a phase. {_COUNT}"),
    *((f"ds_{op}", "of atomics in LDS no rule is published. SQ_LDS_ADDR_CONFLICT counts lanes that meet at one address, "
       "SQ_LDS_BANK_CONFLICT those that meet in one bank: with both, the cases of `simlayout conform --rocm` would "
       "settle it")
      for op in _ATOMICS),
    *((f"ds_{op}", _REGISTERS) for op in ("bpermute", "permute", "swizzle")),
    *((f"ds_{op}_addtid", _BY_LANE) for op in ("read", "write")),
    ("global_load_lds", f"{_BY_LANE}; what that costs in LDS is in no source known here"),
    ("buffer_load", f"with its bit lds set, {_BY_LANE}, and what that costs in LDS is in no source known here; "
     "without it, it reads global memory, which has no banks"),
    *((f"{space}_{op}", f"{space} memory has no banks; did you mean ds_{'read' if op == 'load' else 'write'}?")
      for space in ("global", "scratch") for op in ("load", "store")),
)


def instruction(name: str | Instruction, arch: str | Arch = DEFAULT_ARCH) -> Instruction:
    """The row of an instruction, by its own name or by another spelling of it; an Instruction is returned as it is.

    Types of one width are one instruction (ld.shared.f32 is ld.shared.b32), vectors are their width (ld.shared.v4.f32
    is ld.shared.b128), and qualifiers that do not change the addresses (.volatile, .sync.aligned, .m8n8, memory order
    and scope, ::cta) are skipped; st, red and atom with a generic address are the .shared ones, ld is not.
    Source: PTX ISA, sections ld, st, ldmatrix, stmatrix, cp.async, red and atom.
    arch: whose table is meant. NVIDIA's chips share that of PTX, whole; AMD's have one each, in which ds_load_b128, as
    RDNA writes it, is ds_read_b128. Raises InstructionError, naming near matches.

    >>> instruction("ld.shared.v2.f32").name
    'ld.shared.b64'
    >>> instruction("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16").groups[1]
    (8, 9, 10, 11, 12, 13, 14, 15)
    >>> instruction("ds_read_b128", "gfx942").groups[0]
    (0, 1, 2, 3, 20, 21, 22, 23)
    """
    if isinstance(name, Instruction):
        return name
    if not isinstance(name, str):
        raise InstructionError(f"an instruction is its PTX name, text such as 'ldmatrix.x4', not {brief(name)}")
    text, chip = name.strip(), arch_of(arch)
    rows = instructions_of(chip) if chip.instructions else INSTRUCTIONS
    row = rows.get(text) or rows.get(_canonical(text))
    if row is None:
        raise InstructionError(_unknown(text, chip, rows))
    return row


def class_of(name: str) -> str | None:
    """The class, of CLASSES, of an instruction by its name; None of what is not in the table, as wgmma and TMA are not.

    >>> [class_of(name) for name in ("ld.shared.v4.f32", "red.shared.add.u32", "wgmma.m64n64k16.f32.f16.f16")]
    ['ld', 'atom', None]
    """
    row = INSTRUCTIONS.get(name) or INSTRUCTIONS.get(_canonical(name))
    return None if row is None else CLASSES[row.kind]


def _canonical(text):
    """The table's spelling of a name, or a name that is not in the table."""
    if text.lower().startswith("ds_"):
        return _ds_name(text.lower())
    parts = [p for p in text.lower().replace("shared::cta", "shared").split(".") if p not in _QUALIFIERS]
    op, rest = parts[0], parts[1:]
    if op in ("ld", "st"):
        return _plain_access(op, rest)
    if op in ("ldmatrix", "stmatrix"):
        return ".".join([op, *(p for p in rest if p not in ("shared", "b16"))])
    if op in ("red", "atom") and "shared" not in rest and rest[-1:] not in (["f32"], ["u32 1"]):
        rest = ["shared", *rest]                        # a generic address costs what one of shared memory does
    if op == "cp":
        return ".".join([op, *(p for p in rest if p not in ("shared", "global") and not p.startswith("l2::"))])
    return ".".join([op, *rest])


def _plain_access(op, rest):
    """"ld", ["shared", "v4", "f32"] -> "ld.shared.b128"; a store with a generic address costs what st.shared does."""
    match = re.fullmatch(r"(shared\.)?(?:v([24])\.)?[busf](\d+)", ".".join(rest))
    if not match:
        return ".".join([op, *rest])
    space = ".shared" if match[1] or op == "st" else ""
    return f"{op}{space}.b{int(match[2] or 1) * int(match[3])}"


_SASS = {"lds": "ld.shared", "sts": "st.shared", "ldsm": "ldmatrix.x", "stsm": "stmatrix.x", "ldgsts": "cp.async.cg",
         "atoms": "atom.shared"}
"""What the machine code calls them, as a profiler shows: for a hint."""


def _ds_name(text):
    """"ds_load_i8_d16_hi" -> "ds_read_u8": what moves as many bytes the same way is one instruction."""
    for rdna, cdna in (("load", "read"), ("store", "write")):                  # RDNA's word, since gfx11, for CDNA's
        text = text.replace(f"ds_{rdna}_2addr_", f"ds_{cdna}2_").replace(f"ds_{rdna}_", f"ds_{cdna}_")
    text = re.sub(r"^ds_read_tr(4|8|16)_b64$", r"ds_read_b64_tr_b\1", text)      # as LLVM's builtins have it
    return re.sub(r"^ds_(read|write)_([bui])(8|16)(_d16)?(_hi)?$",
                  lambda m: f"ds_{m[1]}_{'u' if m[1] == 'read' else 'b'}{m[3]}", text)


def _unknown(text, chip, rows):
    """The error line for a name that is not among the rows of a chip."""
    canonical = _canonical(text)
    others = [a.name for a in ARCHES.values() if a.vendor != chip.vendor and canonical in instructions_of(a)]
    if others:
        return (f"{chip.name} has no {text}, which is an instruction of {', '.join(others)}: name one of them as the arch, "
                f"or use {', '.join(list(rows)[:5])}, ... of {chip.name}")
    for prefix, reason in _NOT_MODELLED:
        if canonical.startswith(prefix):
            return f"{brief(text)} is not modelled: {reason}"
    if re.fullmatch(r"(atom|red)\.shared\.(add\.noftz\.b?f16|cas\.b16)", _canonical(text)):
        return (f"{text!r} is a loop: ptxas makes ld.shared.b32 of it, and in every round atom.shared.cas.b32, on the "
                "32-bit words; analyze these")
    if re.search(r"\.v[24]$", text):
        return f"{brief(text)} does not say the type of its elements: write {text}.f32, say"
    op, dot, rest = canonical.partition(".")
    near = nearest(f"{_SASS.get(op, op)}{dot}{rest}", rows, 3, 0.5)
    known = ", ".join(rows) if chip.instructions else ("ld.shared, st.shared, ldmatrix, stmatrix, cp.async, red.shared and "
                                                       "atom.shared (see simlayout.hardware.INSTRUCTIONS)")
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {known}"
    return f"unknown shared-memory instruction {brief(text)}; {hint}"
