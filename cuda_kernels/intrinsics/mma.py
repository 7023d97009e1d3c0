"""mma.sync and mma.sp, every one of them.

`mma_sync(name)` makes the instruction of a name: its PTX text and operand types from the registers of its fragments, its
twin from `simlayout.numerics`, which returns the bits that an sm_90 GPU returns. `mma_sp(name, selector)` does for mma.sp.
"""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, listed, taking
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import fragment, mma_of, sparse_mma


@lru_cache(None)
def mma_sync(name):
    """The instruction of an mma name, for kernels: `mma_sync("m16n8k16.f32.f16.f16.f32")`, outside of them.

    It takes the registers of A, then of B, then of C, and returns those of D (PTX ISA, mma: registers of b32, or f32, f64
    and s32 where these are the types of the elements). Raises InstructionError for an unknown name.

    >>> mma_sync("m8n8k4.f64.f64.f64.f64").text
    'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};'
    """
    return _product(mma_of(name), f"D = A B + C (PTX ISA: mma.sync.{name}).")


@lru_cache(None)
def mma_sp(name, selector=0):
    """The instruction of a name of mma.sp, for kernels, as of `mma_sync`: `mma_sp("mma.sp.m16n8k32.f32.f16.f16.f32")`.

    selector: the sparsity selector. It takes the registers of A (as it is stored), of B, of C, and the register of metadata,
    and returns those of D (PTX ISA, mma.sp). Raises InstructionError for an unknown name, or a selector that the instruction
    has not.

    >>> mma_sp("mma.sp.m16n8k16.f16.f16.f16.f16", 3).text.split(".f16 ")[1]
    '{$0, $1}, {$2, $3}, {$4, $5}, {$6, $7}, $8, 3;'
    """
    row = sparse_mma(name)
    return _product(row, f"D = A B + C with a sparse A (PTX ISA: {name}).", row.check_selector(selector))


def _product(row, doc, selector=None):
    """The Instruction of an Mma, or of a SparseMma with a selector."""
    fragments = [fragment(row.name, operand) for operand in "DABC"]
    counts = [f.registers for f in fragments]
    groups = [listed(sum(counts[:i]), count) for i, count in enumerate(counts)]
    results, *operands = ((TYPES[f.dtype].register,) * f.registers for f in fragments)
    names = [f"{letter}{i}" for letter, count in zip("abc", counts[1:]) for i in range(count)]
    if selector is not None:
        groups += [f"${sum(counts)}", str(selector)]
        operands.append(("b32",))
        names.append("metadata")

    def twin(warp, *registers):
        from simlayout.machine.engine.matrices import mma

        return mma(row.name, selector or 0)(*registers)

    name = "mma_" + row.name.removeprefix("mma.").replace(".", "_")
    return Instruction(name, f"{row.opcode} {', '.join(groups)};", results, sum(operands, ()), taking(names, twin),
                       ordered=False, converged=True, doc=doc)


mma_m16n8k16_f32_f16_f16_f32 = mma_sync("m16n8k16.f32.f16.f16.f32")
mma_m16n8k8_f32_f16_f16_f32 = mma_sync("m16n8k8.f32.f16.f16.f32")
mma_m16n8k16_f16_f16_f16_f16 = mma_sync("m16n8k16.f16.f16.f16.f16")
