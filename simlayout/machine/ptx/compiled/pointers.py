"""Memory by its address, in compiled functions: an array that is passed on is unpacked and counted each time, a pointer is
one number."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def pointer_to(element):
    """What makes a pointer to such elements of an address."""
    kind = types.CPointer(element)

    @intrinsic
    def pointer(typing, address):
        def generate(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(kind))
        return kind(types.int64), generate

    return pointer


u64s, i64s, u32s, i32s, u8s = map(pointer_to, (types.uint64, types.int64, types.uint32, types.int32, types.uint8))
"""A pointer to numbers of a type, of an address. `pointer[i]` is the i-th of them; nobody checks i."""


@intrinsic
def behind(typing, pointer, count):
    """A pointer so many elements further."""
    def generate(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])
    return pointer(pointer, types.int64), generate


@intrinsic
def copy(typing, to, source, count):
    """Copies so many elements to where a pointer points; they do not overlap."""
    def generate(context, builder, signature, args):
        size = context.get_abi_sizeof(context.get_value_type(to.dtype))
        cgutils.raw_memcpy(builder, args[0], args[1], args[2], size)
        return context.get_dummy_value()
    return types.void(to, source, types.int64), generate


@intrinsic
def address(typing, pointer):
    """Where a pointer points, as a number."""
    def generate(context, builder, signature, args):
        return builder.ptrtoint(args[0], ir.IntType(64))
    return types.int64(pointer), generate


@intrinsic
def call(typing, function, numbers):
    """What a function returns, called by its address, of a tuple of numbers; all are int64."""
    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * len(numbers))
        given = [context.cast(builder, number, of, types.int64)
                 for number, of in zip(cgutils.unpack_tuple(builder, args[1]), numbers)]
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), given)
    return types.int64(types.int64, numbers), generate


@intrinsic
def fill(typing, to, byte, count):
    """Fills so many bytes."""
    def generate(context, builder, signature, args):
        cgutils.memset(builder, args[0], args[2], args[1])
        return context.get_dummy_value()
    return types.void(types.CPointer(types.uint8), types.uint8, types.int64), generate


def _access(bits):
    """(load, store) of so many bits at an address of this process, any alignment."""
    width = ir.IntType(bits)

    @intrinsic
    def load(typing, address):
        def generate(context, builder, signature, args):
            value = builder.load(builder.inttoptr(args[0], width.as_pointer()), align=1)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))
        return types.uint64(types.int64), generate

    @intrinsic
    def store(typing, address, value):
        def generate(context, builder, signature, args):
            low = args[1] if bits == 64 else builder.trunc(args[1], width)
            builder.store(low, builder.inttoptr(args[0], width.as_pointer()), align=1)
            return context.get_dummy_value()
        return types.void(types.int64, types.uint64), generate

    return load, store


load_8, store_8 = _access(8)
load_16, store_16 = _access(16)
load_32, store_32 = _access(32)
load_64, store_64 = _access(64)
