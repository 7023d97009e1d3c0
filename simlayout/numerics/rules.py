"""The arithmetic of the tensor cores as a table: which rule each instruction follows, and who says so."""

from dataclasses import dataclass
from functools import lru_cache

from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware.tables.arch import ARCHES, DEFAULT_ARCH, Arch, arch_of
from simlayout.hardware.tables.mma import MMAS
from simlayout.hardware.tables.mma_sp import SPARSE_MMAS
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tensor_ops import tensor_op

ZERO_EXPONENT = -133
"""The exponent with which a zero product, and a zero c, take part in a fused sum."""


@dataclass(frozen=True)
class Rule:
    """How one instruction computes d = c + sum over k of a[k] b[k]; where A is sparse, over the k whose a is stored.

    kind:
      "fused": a step adds its products to c at once. Products are exact and keep the exponent ea + eb (they are not
        renormalised); zeros have the exponent -133. Every addend is truncated toward zero to a multiple of
        2**(e - fraction_bits), where e is the largest exponent of all addends; their sum is exact. An f32 result is
        truncated toward zero to kept_bits fraction bits, an f16 result rounded to nearest even. Subnormals count; what
        rounds to zero is +0; a tf32 operand is an f32 without its low 13 bits; every NaN is 0x7fffffff or 0x7fff.
      "through f16": 8-bit operands become f16. A fused sum over the k with k % 4 < 2 starts from +0, a second one over
        the other k from its result, and an IEEE addition of c in the type of D ends it.
      "integer": exact; wraps to 32 bits, or is clamped once at the end (.satfinite). Products of single bits are their
        exclusive or (.xor.popc) or their conjunction (.and.popc).
      "fma": correctly rounded f64 fused multiply-adds in the order of k, starting from c.
    step: the k that one fused step takes; an instruction with more k repeats it.
    fraction_bits, kept_bits: None where the kind has none.
    provenance: who says so: measured, documented or assumed.
    """

    kind: str
    step: int
    fraction_bits: int | None
    kept_bits: int | None
    provenance: Provenance


_H200 = "one NVIDIA H200 (driver 580.159, CUDA 13.0), 2026-11-"

SPARSE_WGMMA = tuple(f"wgmma.sp.m64n{n}{kind}" for n in (8, 64, 256) for kind in (
    "k32.f32.f16.f16", "k32.f16.f16.f16", "k32.f32.bf16.bf16", "k16.f32.tf32.tf32", "k64.f32.e4m3.e5m2", "k64.f32.e5m2.e4m3",
    "k64.f16.e4m3.e4m3", "k64.s32.s8.u8", "k64.s32.u8.s8.satfinite"))
"""The wgmma.sp that were measured: each type of A, of B and of D, at three widths."""

_CAMPAIGNS = (
    # outputs compared bit for bit on an sm_90 GPU, none wrong; of which instructions; with what reservation; on which day
    (6_800_000, ("wgmma.m64n8k16.f32.f16.f16", "wgmma.m64n8k16.f16.f16.f16", "wgmma.m64n8k16.f32.bf16.bf16",
                 "wgmma.m64n8k8.f32.tf32.tf32", "wgmma.m64n8k32.f32.e4m3.e4m3"),
     ", NaN bits included, together with 8 of mma.sync", 21),
    (20_006_720, tuple(MMAS), ", NaN bits included but for some payloads of f64", 21),
    (8_002_048, tuple(SPARSE_MMAS), ", NaN bits included", 30),
    (12_926_976, SPARSE_WGMMA, ", NaN bits included", 30),
)
"""What was measured. Whoever measures more adds a row; nothing else changes."""

MEASURED = {
    name: Provenance("measured", f"none of {outputs:,} outputs wrong, of {len(names)} instruction{'s' * (len(names) > 1)}"
                     f"{note}; {_H200}{day}", outputs)
    for outputs, names, note, day in _CAMPAIGNS for name in names
}
"""The sm_90 instructions whose results were compared with the hardware's, and how many."""

_SIM = Provenance("documented", "MMA-Sim, arXiv 2511.10909; zeros and NaN as measured on sm_90")
_AS_SM_80 = Provenance("assumed", "as on sm_80, which MMA-Sim (arXiv 2511.10909) documents")
_AS_SIBLINGS = Provenance("assumed", "as the measured instructions with such operands; MMA-Sim (arXiv 2511.10909) agrees")
_AS_SM_100 = Provenance("assumed", "as on sm_100, which MMA-Sim (arXiv 2511.10909) documents")
_AS_SM_120 = Provenance("assumed", "as on sm_120, which MMA-Sim (arXiv 2511.10909) documents")
_SASS = Provenance("assumed", "from the SASS that ptxas makes: F2FP.F16.UNPACK_B, two HMMA from RZ, FADD or HADD2 of c")
_PTX = Provenance("documented", "PTX ISA, mma and wgmma: integer sums are exact and wrap, or saturate with .satfinite")
_B200 = Provenance("measured elsewhere", "sf-tensor/tcgen05, MODEL.md and its frozen results of one B200; MMA-Sim (arXiv "
                   "2511.10909) has the same rule. Sums whose largest addend is below 2**-133 are assumed to be as on sm_90")
_AS_B200 = Provenance("assumed", "as on sm_100, of which others measured a B200 (sf-tensor/tcgen05, MODEL.md)")
_FMA = Provenance("documented", "MMA-Sim, arXiv 2511.10909; NaN payloads are assumed")

_HALF, _TF32, _FP8, _INTEGER = ("f16", "bf16"), ("tf32",), ("e4m3", "e5m2"), ("s8", "u8", "s4", "u4", "b1")
_ALL = tuple(ARCHES)

_TABLE = (
    # family, types of A, architectures, kind, k of a step (None: all), fraction bits, kept bits, who says so
    ("mma.sync", _HALF, ("sm_75",), "fused", None, 24, 23, _SIM),
    ("mma.sync", _HALF, ("sm_80", "sm_89"), "fused", 8, 24, 23, _SIM),
    ("mma.sync", _HALF, ("sm_86",), "fused", 8, 24, 23, _AS_SM_80),
    ("mma.sync", _TF32, ("sm_80", "sm_89"), "fused", 4, 24, 23, _SIM),
    ("mma.sync", _TF32, ("sm_86",), "fused", 4, 24, 23, _AS_SM_80),
    ("mma.sync", _FP8, ("sm_89",), "fused", 16, 13, 13, _SIM),
    ("mma.sync", _HALF + _TF32, ("sm_90",), "fused", None, 25, 23, _AS_SIBLINGS),
    ("mma.sync", _HALF + _TF32, ("sm_100", "sm_120"), "fused", None, 25, 23, _SIM),
    ("mma.sync", _HALF + _TF32, ("sm_103", "sm_110"), "fused", None, 25, 23, _AS_SM_100),
    ("mma.sync", _FP8, ("sm_90", "sm_100", "sm_103", "sm_110"), "through f16", None, 25, 23, _SASS),
    ("mma.sync", _FP8, ("sm_120",), "fused", None, 25, 23, _SIM),
    ("mma.sync", _HALF + _TF32 + _FP8, ("sm_121",), "fused", None, 25, 23, _AS_SM_120),
    ("wgmma", _HALF + _TF32, ("sm_90",), "fused", None, 25, 23, _AS_SIBLINGS),
    ("wgmma", _FP8, ("sm_90",), "fused", None, 13, 13, _AS_SIBLINGS),
    ("tcgen05", _HALF + _TF32, ("sm_100",), "fused", None, 25, 23, _B200),
    ("tcgen05", _INTEGER, ("sm_100",), "integer", None, None, None, _B200),
    ("tcgen05", _HALF + _TF32, ("sm_103", "sm_110"), "fused", None, 25, 23, _AS_B200),
    ("tcgen05", _INTEGER, ("sm_110",), "integer", None, None, None, _AS_B200),
    ("mma.sync", _INTEGER, _ALL, "integer", None, None, None, _PTX),
    ("wgmma", _INTEGER, _ALL, "integer", None, None, None, _PTX),
    ("mma.sync", ("f64",), _ALL, "fma", None, None, None, _FMA),
)

_DENSE = {"mma.sp": "mma.sync", "wgmma.sp": "wgmma"}
"""Families with a sparse A, and those whose rules they follow."""


@typed(InstructionError)
@lru_cache(None)
def rule(name: str, arch: str | Arch = DEFAULT_ARCH) -> Rule:
    """The Rule of an instruction on an architecture, with its provenance.

    Raises InstructionError for an unknown name, or an architecture without the instruction.

    >>> r = rule("m16n8k16.f32.f16.f16.f32")
    >>> r.kind, r.step, r.fraction_bits, r.provenance.kind
    ('fused', 16, 25, 'measured')
    >>> r = rule("m16n8k16.f32.f16.f16.f32", "sm_80")
    >>> r.kind, r.step, r.fraction_bits, r.provenance.kind
    ('fused', 8, 24, 'documented')
    >>> print(rule("wgmma.m64n256k16.f32.f16.f16").provenance)
    assumed: as the measured instructions with such operands; MMA-Sim (arXiv 2511.10909) agrees
    """
    op, chip = tensor_op(name, arch), arch_of(arch).name
    for family, inputs, arches, kind, step, fraction_bits, kept_bits, source in _TABLE:
        if family == _DENSE.get(op.family, op.family) and op.a in inputs and chip in arches:
            if op.family in _DENSE and kind != "integer":
                source = Provenance("assumed", f"as the dense product of as many elements as are stored: {source}")
            source = MEASURED.get(name, source) if chip == DEFAULT_ARCH else source
            return Rule(kind, min(step or op.stored, op.stored), fraction_bits, kept_bits, source)
    raise AssertionError(f"{name} on {chip} is in the table of instructions and not in that of rules")

