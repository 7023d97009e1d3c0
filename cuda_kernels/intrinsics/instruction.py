"""What an instruction is: its PTX text for the GPU and its twin for the CPU machine, side by side.

A kernel names instructions as ordinary functions. Neither meaning is in the kernel: `cuda_kernels.build.compile` puts
the Numba lowering in their place, `simlayout.machine` puts the twin, and the kernel's source is the same.

    @instruction("ld.shared.b32 $0, [$1];", "b32 <- u32")
    def ld_shared_b32(warp, address):
        \"\"\"...\"\"\"
        return ...                                        # what 32 lanes do, in NumPy

The operands of the text are numbered as LLVM does: results first ($0 ...), then arguments. Numba is imported when
a kernel is compiled, never before, so that a machine without it can still run every kernel on the CPU.
"""

import inspect
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cuda_kernels.intrinsics.address import address_type, marked, resized
from simlayout.algebra.dtypes import TYPES

_INTEGER_LETTERS, _FLOAT_LETTERS = {16: "h", 32: "r", 64: "l"}, {32: "f", 64: "d"}
"""Bits of an operand -> the register letter of LLVM's inline assembly (LLVM NVPTX backend)."""


def numba_type(name):
    """The Numba type of an operand type."""
    from numba.cuda import types

    return getattr(types, TYPES[name].storage)


def llvm_type(name):
    """The LLVM type of an operand type."""
    from llvmlite import ir

    row = TYPES[name]
    return {32: ir.FloatType, 64: ir.DoubleType}[row.bits]() if row.exponent else ir.IntType(row.bits)


def letter_of(name):
    """The register letter of an operand type in LLVM's inline assembly."""
    row = TYPES[name]
    return (_FLOAT_LETTERS if row.exponent else _INTEGER_LETTERS)[row.bits]


@dataclass(frozen=True)
class Scalar:
    """A scalar type that a kernel may use to cast (`u64(x)`) or to declare a register array.

    Outside a kernel it casts as the GPU does: integers wrap, floats round.

    >>> u32(-1)
    4294967295
    >>> s32(2**31)
    -2147483648
    """

    name: str

    def __call__(self, value):
        row = TYPES[self.name]
        if row.exponent:
            return np.asarray(value, self.numpy)[()]
        wrapped = value & ((1 << row.bits) - 1) if row.bits < 64 else value
        if row.limits[0] == 0:
            return wrapped
        half = 1 << (row.bits - 1)
        return (wrapped ^ half) - half

    @property
    def casts_to(self):
        """The name by which the CPU machine casts numbers to it."""
        return self.name

    @property
    def numpy(self):
        """The NumPy dtype of a register of this type."""
        return TYPES[self.name].plain

    @property
    def numba(self):
        """The Numba type of this name."""
        return numba_type(self.name)


u32, s32, u64, f32, f64, b32 = map(Scalar, ("u32", "s32", "u64", "f32", "f64", "b32"))


@dataclass(frozen=True)
class Instruction:
    """One PTX instruction. `twin(warp, *operands)` is its CPU meaning, `numba` its GPU one.

    ordered: it touches memory or synchronises, so the compiler may neither drop, merge nor move it.
    converged: all lanes of the warp must execute it together (`.sync.aligned`).
    """

    name: str
    text: str
    results: tuple
    operands: tuple
    twin: object
    ordered: bool = True
    converged: bool = False
    lowering: object = field(default=None, compare=False)
    doc: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        if self.doc is not None:
            object.__setattr__(self, "__doc__", self.doc)          # what `help` shows

    def __call__(self, *args):
        raise TypeError(f"{self.name} is a GPU instruction: call it inside a kernel that runs on the GPU "
                        "or through simlayout.machine.run")

    @cached_property
    def numba(self):
        """What Numba calls in its place: an @intrinsic of one inline-assembly statement, or `lowering()`."""
        return self.lowering() if self.lowering else _inline_assembly(self)


def instruction(text, types, ordered=True, converged=False, lowering=None):
    """Decorates a twin with its PTX text; `types` is "results <- operands", for example "b32 b32 <- u32"."""
    results, operands = (tuple(side.split()) for side in types.split("<-"))

    def decorate(twin):
        return Instruction(twin.__name__, text, results, operands, twin, ordered, converged, lowering, twin.__doc__)

    return decorate


def listed(first, count):
    """The operands of a text from number `first` on.

    >>> listed(1, 2)
    '{$1, $2}'
    """
    return f"{{{', '.join(f'${i}' for i in range(first, first + count))}}}"


def taking(names, twin):
    """A twin of any number of operands as one that takes those of some names, and no others."""
    def exact(warp, *operands):
        if len(operands) != len(names):
            raise TypeError(f"{len(operands)} operands, not {len(names)}")
        return twin(warp, *operands)

    exact.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                                             for name in ("warp", *names)])
    return exact


def _inline_assembly(ins):
    """The Numba intrinsic: casts the arguments to the operand types and emits one InlineAsm call."""
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    operands = tuple(numba_type(t) for t in ins.operands)
    if not ins.results:
        result, llvm_result = types.void, ir.VoidType()
    elif len(ins.results) == 1:
        result, llvm_result = numba_type(ins.results[0]), llvm_type(ins.results[0])
    else:
        result = types.UniTuple(numba_type(ins.results[0]), len(ins.results))
        llvm_result = ir.LiteralStructType([llvm_type(t) for t in ins.results])
    constraints = ["=" + letter_of(t) for t in ins.results] + [letter_of(t) for t in ins.operands]
    if ins.ordered:
        constraints.append("~{memory}")

    def generate(context, builder, signature, values):
        lines = [a.line for a in signature.args if isinstance(a, address_type())]
        values = [resized(builder, v, 32) if isinstance(a, address_type()) else v for v, a in zip(values, signature.args)]
        function = ir.FunctionType(llvm_result, [v.type for v in values])
        asm = ir.InlineAsm(function, marked(ins.text, lines[0]) if lines else ins.text, ",".join(constraints),
                           side_effect=ins.ordered)
        returned = builder.call(asm, values, attrs=("convergent",) if ins.converged else ())
        if not ins.results:
            return context.get_dummy_value()
        if len(ins.results) == 1:
            return returned
        packed = ir.Constant(context.get_value_type(result), ir.Undefined)
        for i in range(len(ins.results)):
            packed = builder.insert_value(packed, builder.extract_value(returned, i), i)
        return packed

    def typer(typingctx, *args):
        if len(args) != len(operands):
            return None
        return result(*(a if isinstance(a, address_type()) else o for a, o in zip(args, operands))), generate

    twin_parameters = list(inspect.signature(ins.twin).parameters.values())[1:]
    context = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typer.__signature__ = inspect.Signature([context, *twin_parameters])
    typer.__name__ = ins.name
    return intrinsic(typer)
