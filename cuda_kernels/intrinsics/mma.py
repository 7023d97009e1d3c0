"""mma.sync, every one of them.

`mma_sync(name)` makes the instruction of a name: its PTX text and operand types from the registers of its fragments, its
twin from `simlayout.numerics`, which returns the bits that an sm_90 GPU returns.
"""

import inspect
from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import fragment, mma_of


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
    twin = _twin(name, *(f.registers for f in fragments[1:]))
    new = Instruction("mma_" + name.replace(".", "_"), text, results, sum(operands, ()), twin, ordered=False,
                      converged=True)
    object.__setattr__(new, "__doc__", f"D = A B + C (PTX ISA: mma.sync.{name}).")
    return new


def _twin(name, *counts):
    """The CPU meaning of an mma. counts: registers of A, of B and of C."""
    def twin(warp, *registers):
        from simlayout.machine.engine.matrices import mma

        return mma(name)(*registers)

    names = ["warp", *(f"{letter}{i}" for letter, count in zip("abc", counts, strict=True) for i in range(count))]
    twin.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    return twin


mma_m16n8k16_f32_f16_f16_f32 = mma_sync("m16n8k16.f32.f16.f16.f32")
mma_m16n8k8_f32_f16_f16_f32 = mma_sync("m16n8k8.f32.f16.f16.f32")
mma_m16n8k16_f16_f16_f16_f16 = mma_sync("m16n8k16.f16.f16.f16.f16")
