"""mma.sync, every one of them.

`mma_sync(name)` makes the instruction of a name: its PTX text and operand types from the registers of its fragments, its
twin from `simlayout.numerics`, which returns the bits that an sm_90 GPU returns.
"""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, listed, taking
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
    counts = [f.registers for f in fragments]
    groups = [listed(sum(counts[:i]), count) for i, count in enumerate(counts)]
    results, *operands = ((TYPES[f.dtype].register,) * f.registers for f in fragments)
    names = [f"{letter}{i}" for letter, count in zip("abc", counts[1:]) for i in range(count)]

    def twin(warp, *registers):
        from simlayout.machine.engine.matrices import mma

        return mma(name)(*registers)

    return Instruction("mma_" + name.replace(".", "_"), f"{row.opcode} {', '.join(groups)};", results, sum(operands, ()),
                       taking(names, twin), ordered=False, converged=True, doc=f"D = A B + C (PTX ISA: mma.sync.{name}).")


mma_m16n8k16_f32_f16_f16_f32 = mma_sync("m16n8k16.f32.f16.f16.f32")
mma_m16n8k8_f32_f16_f16_f32 = mma_sync("m16n8k8.f32.f16.f16.f32")
mma_m16n8k16_f16_f16_f16_f16 = mma_sync("m16n8k16.f16.f16.f16.f16")
