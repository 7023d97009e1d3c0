"""mma.sync, every one of them, and the conversions around it.

`mma_sync(name)` makes the instruction of a name: its PTX text and operand types from the registers of its fragments, its
twin from `simlayout.numerics`, which returns the bits that an sm_90 GPU returns.
"""

import inspect
from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import fragment, mma_of
from simlayout.hardware.tables.arch import LANES
from simlayout.numerics import compute_tile, rule, tensor_op
from simlayout.numerics.formats import bf16_bits


@lru_cache(None)
def mma_sync(name):
    """The instruction of an mma name, for kernels: `mma_sync("m16n8k16.f32.f16.f16.f32")`, outside of them.

    It takes the registers of A, then of B, then of C, and returns those of D (PTX ISA, mma: registers of b32, or f32, f64
    and s32 where these are the types of the elements). Raises InstructionError for an unknown name.

    >>> mma_sync("m8n8k4.f64.f64.f64.f64").text
    'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};'
    """
    row = mma_of(name)
    fragments = [fragment(name, operand) for operand in "DABC"]
    first, groups = 0, []
    for f in fragments:
        groups.append("{" + ", ".join(f"${i}" for i in range(first, first + f.registers)) + "}")
        first += f.registers
    text = f"{row.opcode} {', '.join(groups)};"
    results, *operands = ((TYPES[f.dtype].register,) * f.registers for f in fragments)
    made = Instruction("mma_" + name.replace(".", "_"), text, results, sum(operands, ()), _twin(name), ordered=False,
                       converged=True)
    object.__setattr__(made, "__doc__", f"D = A B + C (PTX ISA: mma.sync.{name}).")
    return made


def _twin(name):
    """The CPU meaning of an mma: registers into matrices, `compute_tile`, and back."""
    op, its_rule = tensor_op(name), rule(name)
    a, b, c, d = (fragment(name, operand) for operand in "ABCD")
    na, nc = a.registers, a.registers + b.registers
    ab_place = np.concatenate([_places(a).T, _places(b) + na * LANES * a.per_register], axis=1)[:, None]
    c_place, d_element = _places(c).T[None], _places(d).T.reshape(-1).argsort().reshape(d.registers, -1)
    c_word, c_dtype = _word(c), TYPES[c.dtype].plain

    def twin(warp, *registers):
        ab = _elements(_packed(registers[:nc], _word(a)), a).take(ab_place)
        made = compute_tile(op, its_rule, ab, _packed(registers[nc:], c_word).view(c_dtype).take(c_place))
        words = made.take(d_element).view(c_word)
        return tuple(words)

    counts = (("a", a.registers), ("b", b.registers), ("c", c.registers))
    names = ["warp", *(f"{letter}{i}" for letter, count in counts for i in range(count))]
    twin.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    return twin


def _word(f):
    """The NumPy dtype of a register of a fragment."""
    return TYPES[TYPES[f.dtype].register].plain


def _places(f):
    """Where each element of a fragment's matrix lies in its registers [registers, 32], counted in elements: int [rows,
    cols]."""
    lane, value = np.meshgrid(np.arange(f.lanes), np.arange(f.values), indexing="ij")
    row, col = np.moveaxis(f.coordinates(), -1, 0)
    made = np.empty(f.shape, np.int64)
    made[row, col] = (value // f.per_register * LANES + lane) * f.per_register + value % f.per_register
    return made


def _elements(words, f):
    """Registers [n] as elements [n * per_register], as `simlayout.numerics` takes A and B."""
    bits = TYPES[f.dtype].bits
    if bits >= 8:
        return words.view(TYPES[f.dtype].operand)
    return (words[:, None] >> np.arange(0, 32, bits, dtype=np.uint32) & ((1 << bits) - 1)).astype(np.uint8).reshape(-1)


def _packed(registers, word):
    """Registers of a warp, each [32] or uniform, as one array of words [registers * 32]."""
    try:
        made = np.concatenate(registers)
    except ValueError:                                        # a uniform one has no axis
        made = np.concatenate([np.broadcast_to(r, LANES) for r in registers])
    return made.astype(word, copy=False)


mma_m16n8k16_f32_f16_f16_f32 = mma_sync("m16n8k16.f32.f16.f16.f32")
mma_m16n8k8_f32_f16_f16_f32 = mma_sync("m16n8k8.f32.f16.f16.f32")
mma_m16n8k16_f16_f16_f16_f16 = mma_sync("m16n8k16.f16.f16.f16.f16")


@instruction("cvt.rn.f16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_f16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register: `high` in the upper half (PTX ISA: cvt)."""
    halves = np.empty((LANES, 2), np.float16)
    halves[:, 0], halves[:, 1] = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return halves.view(np.uint32)[:, 0].astype(np.int64)


@instruction("cvt.rn.bf16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_bf16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register of bf16: `high` in the upper half (PTX ISA: cvt; NaN is 0x7fff)."""
    low, high = (bf16_bits(np.broadcast_to(np.asarray(x, np.float32), (LANES,))).astype(np.int64) for x in (low, high))
    return high << 16 | low


@instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }", "f32 <- b32", ordered=False)
def cvt_f32_f16_low(warp, packed):
    """The lower half of a register as f32."""
    return _halves(packed)[:, 0]


@instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, h; }", "f32 <- b32", ordered=False)
def cvt_f32_f16_high(warp, packed):
    """The upper half of a register as f32."""
    return _halves(packed)[:, 1]


def _halves(packed):
    """The two halves of a register as f32 [32, 2]."""
    return _packed((packed,), np.uint32).view(np.float16).reshape(LANES, 2).astype(np.float32)
