"""A shared-memory address that knows its access, as a Numba type; instructions on such an address get a line marker.

Compiled with marks (`cuda_kernels.build.compile`), an emitted index function returns an `Address` in place of a plain u32,
as on the CPU machine it returns a tagged array. The type survives `smem + offset` and calls, so the instruction that takes
the address knows at compile time whose it is, and brackets its text with PTX `.loc` directives: the SASS instruction that
ptxas makes of it carries the access's own line number in the line table, wherever it is inlined, unrolled or moved to.
Numba's own line numbers cannot serve: what it inlines from other functions it files under the kernel's first line.
A `.loc` makes no code: the machine code is the same with marks and without (`tests/conformance/test_sass.py`).
"""

from functools import lru_cache

UNMARKED = 1
"""The line that everything after a marked instruction carries, until Numba's next `.loc`."""


def marked(text, line):
    """PTX text under a line number of its own, in the first file of the module's line table.

    >>> print(marked("bar.sync 0;", 1000))
    .loc 1 1000 0
    bar.sync 0;
    .loc 1 1 0
    """
    return f".loc 1 {line} 0\n{text}\n.loc 1 {UNMARKED} 0"


@lru_cache(None)
def address_type():
    """The Numba type class Address(line, bits): an unsigned integer of 32 or 64 bits that knows its access's line.

    Adding an integer gives an Address of 64 bits, as Numba adds integers, so that marks leave the arithmetic as it is.
    """
    import operator

    from llvmlite import ir
    from numba.cuda import extending, models, types
    from numba.cuda.cudadecl import registry
    from numba.cuda.cudaimpl import lower
    from numba.cuda.typing.templates import AbstractTemplate, signature

    class Address(types.Type):
        def __init__(self, line, bits):
            self.line, self.bits = line, bits
            super().__init__(name=f"Address({line}, {bits})")

    @extending.register_model(Address)
    class AddressModel(models.PrimitiveModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, ir.IntType(kind.bits))

    @registry.register_global(operator.add)
    class Add(AbstractTemplate):
        def generic(self, arguments, keywords):
            lines = [a.line for a in arguments if isinstance(a, Address)]
            if len(lines) == 1 and all(isinstance(a, Address | types.Integer) for a in arguments):
                return signature(Address(lines[0], 64), *arguments)

    def add(context, builder, sig, values):
        return builder.add(*(resized(builder, v, 64, getattr(t, "signed", False)) for v, t in zip(values, sig.args)))

    lower(operator.add, Address, types.Integer)(add)
    lower(operator.add, types.Integer, Address)(add)
    return Address


def resized(builder, value, bits, signed=False):
    """An LLVM integer with another number of bits."""
    from llvmlite import ir

    if value.type.width == bits:
        return value
    change = builder.trunc if value.type.width > bits else builder.sext if signed else builder.zext
    return change(value, ir.IntType(bits))


@lru_cache(None)
def as_address(line):
    """The Numba intrinsic that makes an integer the 32-bit Address of the access with this line."""
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    address = address_type()(line, 32)

    @intrinsic
    def mark(typingctx, value):
        def generate(context, builder, sig, values):
            return resized(builder, values[0], 32)

        return (address(value), generate) if isinstance(value, types.Integer) else None

    return mark
