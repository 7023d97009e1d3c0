"""Every error that simlayout raises on bad input is a ValueError whose one line names the fault and the fix."""

import reprlib
from numbers import Integral


class SimlayoutError(ValueError):
    """The common base: `except simlayout.SimlayoutError` catches whatever the library refuses."""


class AddressError(SimlayoutError):
    """A byte address is misaligned, negative, or outside the memory it points into."""


class InstructionError(SimlayoutError):
    """An instruction, mma shape or architecture is unknown, or cannot do what was asked of it."""


class LayoutError(SimlayoutError):
    """A layout, swizzle or rotation is malformed, not bijective, or cannot be composed as asked."""


class ParseError(SimlayoutError):
    """A text is not in the layout notation, or no PTX module; the message points at the character, or at line and column."""


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


def require_ints(error: type[SimlayoutError], what: str, **values: object) -> None:
    """Raises an error for a value, by its name, that is no integer.

    >>> require_ints(LayoutError, "operand tile", rows=64.0)
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: operand tile: rows is an integer, not 64.0
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise error(f"{what}: {name} is an integer, not {reprlib.repr(value)}")
