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

CONSTRAINTS = {"b16": "h", "b32": "r", "u32": "r", "s32": "r", "u64": "l", "f32": "f", "f64": "d"}
"""Operand type -> the register letter of LLVM's inline assembly (LLVM NVPTX backend: h 16, r 32, l 64 bit, f float, d
double)."""

_NUMBA_NAMES = {"b16": "uint16", "b32": "uint32", "u32": "uint32", "s32": "int32", "u64": "uint64", "f32": "float32",
                "f64": "float64"}


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
    bits: int
    signed: bool = False
    is_float: bool = False

    def __call__(self, value):
        if self.is_float:
            return np.asarray(value, self.numpy)[()]
        wrapped = value & ((1 << self.bits) - 1) if self.bits < 64 else value
        if not self.signed:
            return wrapped
        half = 1 << (self.bits - 1)
        return (wrapped ^ half) - half

    @property
    def casts_to(self):
        """The name by which the CPU machine casts numbers to it."""
        return self.name

    @property
    def numpy(self):
        """The NumPy dtype of a register of this type."""
        return np.dtype(f"{'float' if self.is_float else 'int' if self.signed else 'uint'}{self.bits}")

    @property
    def numba(self):
        """The Numba type of this name."""
        from numba.cuda import types

        return getattr(types, _NUMBA_NAMES[self.name])


u32 = Scalar("u32", 32)
s32 = Scalar("s32", 32, signed=True)
u64 = Scalar("u64", 64)
f32 = Scalar("f32", 32, is_float=True)
f64 = Scalar("f64", 64, is_float=True)
b32 = Scalar("b32", 32)


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
        made = Instruction(twin.__name__, text, results, operands, twin, ordered, converged, lowering)
        object.__setattr__(made, "__doc__", twin.__doc__)
        return made

    return decorate


def _inline_assembly(ins):
    """The Numba intrinsic: casts the arguments to the operand types and emits one InlineAsm call."""
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    llvm = {"b16": ir.IntType(16), "b32": ir.IntType(32), "u32": ir.IntType(32), "s32": ir.IntType(32),
            "u64": ir.IntType(64), "f32": ir.FloatType(), "f64": ir.DoubleType()}
    numba_type = {name: getattr(types, _NUMBA_NAMES[name]) for name in llvm}
    operands = tuple(numba_type[t] for t in ins.operands)
    if not ins.results:
        result, llvm_result = types.void, ir.VoidType()
    elif len(ins.results) == 1:
        result, llvm_result = numba_type[ins.results[0]], llvm[ins.results[0]]
    else:
        result = types.UniTuple(numba_type[ins.results[0]], len(ins.results))
        llvm_result = ir.LiteralStructType([llvm[t] for t in ins.results])
    constraints = ["=" + CONSTRAINTS[t] for t in ins.results] + [CONSTRAINTS[t] for t in ins.operands]
    if ins.ordered:
        constraints.append("~{memory}")

    def generate(context, builder, signature, values):
        lines = [a.line for a in signature.args if isinstance(a, address_type())]
        values = [resized(builder, v, 32) if isinstance(a, address_type()) else v for v, a in zip(values, signature.args)]
        function = ir.FunctionType(llvm_result, [v.type for v in values])
        asm = ir.InlineAsm(function, marked(ins.text, lines[0]) if lines else ins.text, ",".join(constraints),
                           side_effect=ins.ordered)
        made = builder.call(asm, values, attrs=("convergent",) if ins.converged else ())
        if not ins.results:
            return context.get_dummy_value()
        if len(ins.results) == 1:
            return made
        packed = ir.Constant(context.get_value_type(result), ir.Undefined)
        for i in range(len(ins.results)):
            packed = builder.insert_value(packed, builder.extract_value(made, i), i)
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
