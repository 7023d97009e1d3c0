"""Every error that simlayout raises on bad input is a ValueError whose one line names the fault and the fix."""

import reprlib
from numbers import Integral


class SimlayoutError(ValueError):
    """The common base: `except simlayout.SimlayoutError` catches whatever the library refuses.

    `before`: the Hazards that a launch had reported (`hazards="report"`) when the error ended it.
    """

    before: tuple = ()


class AddressError(SimlayoutError):
    """A byte address is misaligned, negative, or outside the memory it points into."""


class InstructionError(SimlayoutError):
    """An instruction, mma shape or architecture is unknown, or cannot do what was asked of it."""


class LayoutError(SimlayoutError):
    """A layout, swizzle or rotation is malformed, not bijective, or cannot be composed as asked."""


class ParseError(SimlayoutError):
    """A text is not in the layout notation, or no PTX module; the message points at the character, or at line and column.

    `column` is that of the character in a text of one line, counted from 1; None where the fault has none.
    """

    def __init__(self, fault: str, column: int | None = None):
        super().__init__(fault if column is None else f"column {column}: {fault}")
        self.column = column


class VerificationError(SimlayoutError):
    """A claim about a layout or an access is false.

    `counterexample` is a dict that holds the first place where it fails (coordinates, lanes, addresses).
    """

    def __init__(self, message: str, counterexample: object = None):
        super().__init__(message)
        self.counterexample = counterexample or {}


class UndefinedError(LayoutError, VerificationError):
    """An index function has no value in 64-bit integers at a point of its domain (a division by zero, a fraction, ...).

    `counterexample["point"]` is the first such point.
    """


class MachineError(SimlayoutError):
    """A kernel did something that the CPU machine cannot execute, or that no GPU may (a deadlock, say)."""


class HazardError(MachineError):
    """A kernel's result is not defined on a GPU: a race, a read of bytes that nothing wrote, a barrier not all reach.

    `hazard` is the `simlayout.machine.Hazard`: its kind, the two source lines, warps, lanes and bytes.
    """

    def __init__(self, message: str, hazard: object = None):
        super().__init__(message)
        self.hazard = hazard


class DeviceError(SimlayoutError):
    """A GPU was asked for and there is none, or it cannot run the kernel."""


SHARED_BYTES = "shared_bytes, or --shared of `simlayout run`"
"""What asks for dynamic shared memory, in Python and at the command line, for errors."""

LANES_OF = "say which coordinate each lane gives (an Access's lanes, or --lanes)"
"""What to do where a warp has no natural way through a tile, likewise."""

TOGETHER = "together=True, or --together of `simlayout run`"
"""What asks for a cooperative launch, likewise."""

_BRIEF = reprlib.Repr()
_BRIEF.maxstring, _BRIEF.maxother = 120, 60


def brief(value: object) -> str:
    """A value as an error shows it: short, on one line; the name of its class where it cannot be shown.

    >>> brief("x"), brief([*range(9)])
    ("'x'", '[0, 1, 2, 3, 4, 5, ...]')
    """
    try:
        return " ".join(_BRIEF.repr(value).split())
    except Exception:                                    # its own repr: it may raise anything
        return type(value).__name__


HOW = {
    "Access": "say which coordinate each lane gives, as in Access(name, instruction, layout, lanes, domain)",
    "Accumulator": "simlayout.hardware.accumulator makes one",
    "Analysis": "analyze(instruction, addresses) makes one, and analyze() of an Access",
    "Emitted": "emit(access) makes one",
    "Fragment": "fragment(name, operand) makes one",
    "Kernel": "cuda_kernels.KERNELS[name] is one",
    "Layout": "write Layout(shape, strides), or parse(text)",
    "LdmatrixChoice": "choose_ldmatrix(mma, operand) makes one",
    "OperandTile": "OperandTile(rows, depth, dtype) makes one",
    "Panel": "functions of simlayout.plots that take no ax make one",
    "Plan": "a kernel of cuda_kernels.KERNELS has one, its .plan",
    "Sheet": "simlayout.plots.plan_sheet(plan) makes one",
    "TensorMap": "write TensorMap(dtype, dims, strides, box)",
    "Timeline": "simlayout.plots.of_kernel(kernel) makes one",
    "Trace": "simulate(kernel)[grid, block](...) and machine.run give one",
}
"""Name of a class that a user makes -> how."""


def require(kind: type, who: str, *values: object) -> None:
    """Raises a SimlayoutError that says how to make one, for a value that is not of this kind. who: takes it.

    >>> class Plan: pass
    >>> require(Plan, "plan", Plan(), 5)
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: plan takes a Plan, not int: a kernel of cuda_kernels.KERNELS has one, its .plan
    """
    for value in values:
        if not isinstance(value, kind):
            refuse(kind.__name__, who, value)


def refuse(kind: str, who: str, value: object) -> None:
    """Raises the error of `require` for a value of which is known that it is not of the kind."""
    article = "an" if kind[0] in "AEIO" else "a"
    raise SimlayoutError(f"{who} takes {article} {kind}, not {type(value).__name__}: {HOW[kind]}")


def require_ints(error: type[SimlayoutError], what: str, **values: object) -> None:
    """Raises an error for a value, by its name, that is no integer.

    >>> require_ints(LayoutError, "operand tile", rows=64.0)
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: operand tile: rows is an integer, not 64.0
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise error(f"{what}: {name} is an integer, not {brief(value)}")
