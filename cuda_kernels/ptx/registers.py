"""Special registers, register arrays and the base of dynamic shared memory."""

from cuda_kernels.ptx.instruction import instruction


@instruction("mov.u32 $0, %tid.x;", "s32 <-", ordered=False)
def tid_x(warp):
    """The thread's index in its CTA, x (PTX ISA, Special Registers: %tid)."""
    return warp.tid


@instruction("mov.u32 $0, %ctaid.x;", "s32 <-", ordered=False)
def ctaid_x(warp):
    """The CTA's index in the grid, x (PTX ISA, Special Registers: %ctaid)."""
    return warp.index[0]


@instruction("mov.u32 $0, %ctaid.y;", "s32 <-", ordered=False)
def ctaid_y(warp):
    """The CTA's index in the grid, y."""
    return warp.index[1]


@instruction("mov.u32 $0, %ctaid.z;", "s32 <-", ordered=False)
def ctaid_z(warp):
    """The CTA's index in the grid, z."""
    return warp.index[2]


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

    shape: tuple of constants; dtype: one of the scalars of `cuda_kernels.ptx` (f32, f64, b32). Contents start undefined.
    """
    from simlayout.machine import RegisterArray

    return RegisterArray(warp, shape, dtype.numpy)


def _dynamic_shared():
    """The 32-bit shared-window address of the CTA's dynamic shared memory."""
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    @intrinsic
    def dynamic_shared(typingctx):
        def generate(context, builder, signature, values):
            name, module = "simlayout_dynamic_shared", builder.module
            if name in module.globals:
                memory = module.globals[name]
            else:
                memory = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), 0), name, addrspace=3)
                memory.linkage = "external"
                memory.align = 1024                  # the widest period of any swizzle: 8 rows of 128 bytes
            return builder.ptrtoint(memory, ir.IntType(32))

        return types.uint32(), generate

    return dynamic_shared


@instruction("", "u32 <-", lowering=_dynamic_shared)
def dynamic_shared(warp):
    """Byte address of the CTA's dynamic shared memory in the .shared window; 1024-byte aligned."""
    return 0


@instruction("mov.u64 $0, %clock64;", "u64 <-")
def clock64(warp):
    """The SM's clock counter (PTX ISA, Special Registers: %clock64). The CPU machine has no clock: always 0."""
    return 0
