"""Special registers, register arrays and the base of dynamic shared memory."""

from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from simlayout.hardware.tables.arch import LANES


def _along_axes(name, said, of):
    """The special register of PTX along x, y and z. said: what it is; of(warp): its three values."""
    def along(i, axis):
        return Instruction(f"{name}_{axis}", f"mov.u32 $0, %{name}.{axis};", ("s32",), (), lambda warp: of(warp)[i],
                           ordered=False, doc=f"{said}, {axis} (PTX ISA, Special Registers: %{name}).")

    return [along(i, axis) for i, axis in enumerate("xyz")]


tid_x, tid_y, tid_z = _along_axes("tid", "The thread's index in its CTA", lambda warp: warp.thread)
ntid_x, ntid_y, ntid_z = _along_axes("ntid", "How many threads the CTA has", lambda warp: warp.block)
ctaid_x, ctaid_y, ctaid_z = _along_axes("ctaid", "The CTA's index in the grid", lambda warp: warp.index)
nctaid_x, nctaid_y, nctaid_z = _along_axes("nctaid", "How many CTAs the grid has", lambda warp: warp.grid)


@instruction("mov.u32 $0, %laneid;", "s32 <-", ordered=False)
def laneid(warp):
    """The lane, 0..31 (PTX ISA, Special Registers: %laneid)."""
    return warp.lane


@instruction("mov.u32 $0, %smid;", "s32 <-")
def smid(warp):
    """The SM that the CTA runs on (PTX ISA, Special Registers: %smid). On the CPU machine each has one of its own."""
    return warp.index[0]


@instruction("mov.u32 $0, %cluster_ctarank;", "s32 <-", ordered=False)
def cluster_ctarank(warp):
    """The CTA's index in its cluster (PTX ISA, Special Registers: %cluster_ctarank)."""
    return warp.cluster_rank()


@instruction("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "s32 <- s32", ordered=False, converged=True)
def uniform(warp, value):
    """Lane 0's value in all lanes; the compiler then knows that a branch on it parts no warp (PTX ISA: shfl.sync)."""
    return int(np.broadcast_to(np.asarray(value), (LANES,))[0])


@instruction("add.s32 $0, $1, 1;", "s32 <- s32", ordered=False)
def successor(warp, value):
    """value + 1, worked out where the compiler cannot see it: a loop that counts so is not unrolled."""
    return value + 1


@instruction("mov.b32 $0, $1;", "s32 <- s32")
def here(warp, value):
    """The value itself, known to the compiler from here on: what follows from it is not worked out, and kept in registers,
    before a loop ahead."""
    return value


@lru_cache(None)
def setmaxnreg(count, increase):
    """The instruction that gives every thread of a warpgroup `count` registers: `more = setmaxnreg(240, True)` outside the
    kernel. count: 24 to 256, a multiple of 8 (PTX ISA: setmaxnreg)."""
    return Instruction(f"setmaxnreg_{count}", f"setmaxnreg.{'inc' if increase else 'dec'}.sync.aligned.u32 {count};", (), (),
                       lambda warp: warp.setmaxnreg(count, increase), converged=True)


def _local_array():
    """cuda.local.array under a name of its own: a local array of constant shape, C-ordered."""
    from numba.cuda import types
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.cudaimpl import _generic_array
    from numba.cuda.extending import intrinsic

    @intrinsic
    def register_array(typingctx, shape, dtype):
        if not all(isinstance(size, types.IntegerLiteral) for size in shape):
            return None                              # Numba then asks again with the literal types
        sizes = [size.literal_value for size in shape]
        element = dtype.dtype

        def generate(context, builder, signature, values):
            return _generic_array(context, builder, shape=sizes, dtype=element, symbol_name="registers",
                                  addrspace=nvvm.ADDRSPACE_LOCAL)

        return types.Array(element, len(sizes), "C")(shape, dtype), generate

    return register_array


@instruction("", "<-", lowering=_local_array)
def register_array(warp, shape, dtype):
    """An array private to the thread; with constant indices (after unrolling) the compiler keeps it in registers.

    shape: tuple of constants; dtype: one of the scalars of `cuda_kernels.intrinsics` (f32, f64, b32). Contents start
    undefined. """
    from simlayout.machine import RegisterArray

    return RegisterArray(warp, shape, dtype.numpy)


def _dynamic_memory(module):
    """The LLVM variable of a kernel's dynamic shared memory."""
    from llvmlite import ir

    name = "simlayout_dynamic_shared"
    if name not in module.globals:
        memory = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), 0), name, addrspace=3)
        memory.linkage, memory.align = "external", 1024          # the widest period of any swizzle: 8 rows of 128 bytes
    return module.globals[name]


def _dynamic_shared():
    """The 32-bit shared-window address of the CTA's dynamic shared memory."""
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    @intrinsic
    def dynamic_shared(typingctx):
        def generate(context, builder, signature, values):
            return builder.ptrtoint(_dynamic_memory(builder.module), ir.IntType(32))

        return types.uint32(), generate

    return dynamic_shared


@instruction("", "u32 <-", lowering=_dynamic_shared)
def dynamic_shared(warp):
    """Byte address of the CTA's dynamic shared memory in the .shared window; 1024-byte aligned."""
    return 0


def _aligned_shared():
    """dynamic_shared by way of its generic address: ptxas then keeps the result, and does not work it out in every loop."""
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    text = "{ .reg .u64 t; cvta.to.shared.u64 t, $1; cvt.u32.u64 $0, t; }"

    @intrinsic
    def aligned_shared(typingctx):
        def generate(context, builder, signature, values):
            memory = _dynamic_memory(builder.module)
            generic = builder.addrspacecast(memory, memory.type.pointee.as_pointer())
            long, word = ir.IntType(64), ir.IntType(32)
            asm = ir.InlineAsm(ir.FunctionType(word, [long]), text, "=r,l", side_effect=True)
            return builder.call(asm, [builder.ptrtoint(generic, long)])

        return types.int32(), generate

    return aligned_shared


@instruction("", "s32 <-", lowering=_aligned_shared)
def aligned_shared(warp):
    """dynamic_shared as a signed number, which ptxas works out once and keeps."""
    return 0


@instruction("mov.u64 $0, %clock64;", "u64 <-")
def clock64(warp):
    """The SM's clock counter (PTX ISA, Special Registers: %clock64). The CPU machine has no clock: always 0."""
    return 0
