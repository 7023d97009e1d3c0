"""Which tensor-core instructions there are, by name: mma.sync, mma.sp and wgmma, one table; and those of tcgen05.mma."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.arch import ARCHES, DEFAULT_ARCH, FEATURES, Arch, arch_of, arches_since
from simlayout.hardware.tables.mma import MMAS, hint, spelled
from simlayout.hardware.tables.mma_sp import SPARSE_MMAS
from simlayout.hardware.tables.tcgen05 import KINDS, shapes_of


@dataclass(frozen=True)
class TensorOp:
    """One tensor-core instruction, D = A B + C.

    family: "mma.sync", "mma.sp", "wgmma", "wgmma.sp" or "tcgen05". m, n, k: shape in elements, of a sparse A with its
    zeros. d, a, b, c: element types. suffix: ".satfinite" (the sum is clamped where it would wrap), ".xor.popc" or
    ".and.popc" (how two bits make a product), or none. arches: the architectures that have it.
    """

    name: str
    family: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    suffix: str
    arches: tuple

    @property
    def sparse(self) -> bool:
        """Whether half of A is stored, and metadata says which half."""
        return self.family.endswith(".sp")

    @property
    def stored(self) -> int:
        """Elements of a row of A in registers or memory: k, or half of it."""
        return self.k // 2 if self.sparse else self.k


_SM_75, _SM_80, _SM_89, _SM_90 = map(arches_since, ((7, 5), (8, 0), (8, 9), (9, 0)))
_HAVE_WGMMA = tuple(a.name for a in ARCHES.values() if FEATURES["wgmma"].on(a.capability))


def _mma_arches(mma):
    """Where a warp-level mma or mma.sp exists (PTX ISA, mma: target ISA notes; ptxas refuses every other pair)."""
    a = mma.types[1]
    if a in ("e4m3", "e5m2"):
        return _SM_89
    if a == "f64":
        return _SM_80 if mma.m == 8 else _SM_90
    if mma.family == "mma.sp":
        return _SM_80
    first = mma.m == 8 and mma.suffix != ".and.popc" or (mma.k, a) == (8, "f16")
    return _SM_75 if first else _SM_80


_EVERY_N = tuple(range(8, 257, 8))
_INTEGER_N = (8, 16, 24, *range(32, 65, 16), *range(80, 257, 16))
_FP8 = tuple((a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2"))
_INT8 = tuple((a, b) for a in ("s8", "u8") for b in ("s8", "u8"))

_WGMMA = (
    # n, ((A, B), ...), suffixes
    (_EVERY_N, (("f16", "f16"),), ("",)),
    (_EVERY_N, (("bf16", "bf16"),), ("",)),
    (_EVERY_N, (("tf32", "tf32"),), ("",)),
    (_EVERY_N, _FP8, ("",)),
    (_INTEGER_N, _INT8, ("", ".satfinite")),
)
"""PTX ISA, wgmma: supported shapes and types; every row assembles for sm_90a. k is 32 bytes of A; D and C are one of A's
accumulators."""


_WGMMA_FAMILIES = ("wgmma", 1), ("wgmma.sp", 2)
"""With how many times the k."""


def _warp_level():
    for mma in (*MMAS.values(), *SPARSE_MMAS.values()):
        d, a, b, c = mma.types
        yield TensorOp(mma.name, mma.family, mma.m, mma.n, mma.k, d, a, b, c, mma.suffix, _mma_arches(mma))


def _warpgroup_level():
    for columns, inputs, suffixes in _WGMMA:
        first = TYPES[inputs[0][0]]
        k = 256 // first.bits
        for n in columns:
            for d in first.accumulators:
                for a, b in inputs:
                    for suffix, (family, times) in product(suffixes, _WGMMA_FAMILIES):
                        yield TensorOp(f"{family}.m64n{n}k{times * k}.{d}.{a}.{b}{suffix}", family, 64, n, times * k, d, a,
                                       b, d, suffix, _HAVE_WGMMA)


TENSOR_OPS = {op.name: op for level in (_warp_level, _warpgroup_level) for op in level()}
"""Every instruction, by name: `m16n8k16.f32.f16.f16.f32` (shape, types of D, A, B, C) for mma.sync,
`mma.sp.m16n8k32.f32.f16.f16.f32` for mma.sp, `wgmma.m64n256k16.f32.f16.f16` (shape, types of D, A, B) for wgmma, whose C is
its D, and `wgmma.sp.m64n256k32.f32.f16.f16` for one with a sparse A. Those of tcgen05.mma, which are many, are made of their
names: `tcgen05.m128n256k16.f32.f16.f16`."""


@lru_cache(None)
def _tcgen05(name):
    """The TensorOp of a dense tcgen05.mma of kind::f16, tf32 or i8, by its name; InstructionError for others."""
    found = re.fullmatch(r"tcgen05\.m(\d{1,3})n(\d{1,3})k(\d{1,2})\.(\w+)\.(\w+)\.(\w+)(\.satfinite)?", name)
    if found is None:
        raise InstructionError(f"unknown tensor-core instruction {brief(name)}; write it as tcgen05.m128n256k16.f32.f16.f16")
    m, n, k = (int(found[i]) for i in (1, 2, 3))
    d, a, b, suffix = found[4], found[5], found[6], found[7] or ""
    for kind in ("f16", "tf32", "i8"):
        known = dict(KINDS[kind].formats)
        if k == KINDS[kind].k and a in known and b in known and (a == b or kind == "i8") and d in TYPES[a].accumulators:
            if any(m in ms and n in ns for _, _, ms, ns in shapes_of(kind)) and (not suffix or kind == "i8"):
                return TensorOp(name, "tcgen05", m, n, k, d, a, b, d, suffix, KINDS[kind].arches)
    raise InstructionError(f"tcgen05.mma has no {name!r}: K is 32 bytes of A, of f16, bf16, tf32, s8 or u8, and the shapes "
                           "are those of their kinds; simlayout.numerics.narrow_mma has floats of 8, 6 and 4 bits")


def tensor_op(name: str, arch: str | Arch = DEFAULT_ARCH) -> TensorOp:
    """The TensorOp of a name on an architecture. Raises InstructionError: an unknown name (with the nearest ones), or an
    architecture without the instruction.

    >>> tensor_op("wgmma.m64n256k16.f32.f16.f16").n
    256
    >>> tensor_op("m16n8k4.f64.f64.f64.f64", "sm_80")
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: sm_80 has no m16n8k4.f64.f64.f64.f64; sm_90, sm_100, sm_103, \
sm_110, sm_120, sm_121 have
    """
    if str(name).startswith("tcgen05."):
        op = _tcgen05(name)
    else:
        found = TENSOR_OPS.get(spelled(name, TENSOR_OPS)) if isinstance(name, str) else None
        if found is None:
            near = [known for known in TENSOR_OPS if known.startswith(f"{name}.")][:3]
            meant = f"did you mean {' or '.join(near)}?" if near else hint(name, TENSOR_OPS)
            raise InstructionError(f"unknown tensor-core instruction {brief(name)}; {meant}")
        op = found
    chip = arch_of(arch).name
    if chip not in op.arches:
        has = "has" if len(op.arches) == 1 else "have"
        raise InstructionError(f"{chip} has no {name}; {', '.join(op.arches)} {has}")
    return op
