"""Lanes that part and meet again: the runtime that rewritten kernel code calls.

A value is *uniform* (a Python int, float, bool ...) or *lane-varying* (a NumPy array [32]). A decision on a uniform
value, or one on which all active lanes agree, is taken as it is. Where lanes disagree both ways are taken, one after
the other, each with `active` narrowed to its lanes; what they assigned is merged lane by lane where they meet again
(`simlayout.machine.python.flow`).
"""

import sys
from collections.abc import Callable
from inspect import signature
from types import BuiltinFunctionType, FrameType, FunctionType
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.lanes import Lanes, is_lanes
from simlayout.machine.engine.tags import Tagged, tag
from simlayout.machine.python.functions import BUILTINS, scalar_cast
from simlayout.machine.python.numbers import DTYPE, UNSIGNED, choose, kind_of, operands, results
from simlayout.machine.python.rewrite import device_function
from simlayout.machine.python.syntax import WARP_NAME
from simlayout.wording import counted

_BOOL = DTYPE["b1"]
_CHANGEABLE = list, dict, set
_BUILT_IN = type, BuiltinFunctionType


class Unassigned:
    """What a name holds in lanes that never assigned it; using it is undefined on a GPU and a TypeError here."""

    def __repr__(self):
        return "<not assigned by these lanes>"


UNASSIGNED = Unassigned()


class Cancelled(BaseException):
    """Raised inside a warp whose CTA has already failed (or was interrupted), to end it."""


def truth(value):
    """bool [32] of a lane-varying value: non-zero is true, as in C."""
    return np.asarray(value) != 0


def merge(lanes, ours, theirs):
    """`ours` in the lanes given by the mask, `theirs` in the others. Uniform and equal stays uniform.

    >>> merge(np.arange(32) < 2, 7, 0)[:4].tolist()
    [7, 7, 0, 0]
    """
    if ours is theirs or theirs is UNASSIGNED:
        return ours
    if ours is UNASSIGNED:
        return theirs
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        return tuple(merge(lanes, a, b) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, GlobalPointer) and isinstance(theirs, GlobalPointer):
        return ours.merged(lanes, theirs)
    if kind_of(ours) is None or kind_of(theirs) is None:
        raise MachineError(f"the two sides of a lane-varying branch leave a {type(ours).__name__} and a "
                           f"{type(theirs).__name__} under one name, which no register holds: use two names")
    if type(ours) is type(theirs) and not isinstance(ours, np.ndarray) and ours == theirs:
        return ours
    merged = choose(lanes, ours, theirs)
    if not isinstance(ours, Tagged) or not isinstance(theirs, Tagged) or ours.access != theirs.access:
        return merged
    return tag(merged, ours.access, ours.marks and theirs.marks and ours.marks.merged(lanes, theirs.marks))


class LaneRange:
    """A `range` whose bounds differ by lane. start, stop, step: int64 [32], or uint64 [32]."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def holds(self, at):
        """bool [32]: whether int64 [32] `at` lies before the end."""
        return np.where(self.step > 0, at < self.stop, at > self.stop)


class UnsignedRange:
    """A `range` of u64, the same in all lanes."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return map(np.uint64, self._values)


def _fault_of(function, args, error):
    """What an instruction takes, where it was given something else and its twin failed so; "" where the twin is wrong."""
    kinds = function.operands
    if isinstance(error, TypeError) and len(kinds) != len(args):
        takes = list(signature(function.twin).parameters)[1:]
        return f"{counted(len(kinds), 'operand')}, not {len(args)}{': ' * bool(takes)}{', '.join(takes)}"
    if isinstance(error, AttributeError) and any(kind == "u64" and kind_of(given) for kind, given in zip(kinds, args)):
        return ("an address of global memory, an array that is passed and bytes from there, as in a + 4 * i, and is given a "
                "number: of shared memory there are instructions of their own, such as ld_shared_b32")
    return ""


class Decisions(Lanes):
    """What rewritten code asks its warp: calls, and decisions that depend on the active mask.

    inside: the device functions that the call in progress leads through. elements: the Elements that are declared, if any.
    cancelled: whether its CTA has already failed.
    """

    inside: list
    elements: Any
    cancelled: bool

    def call(self, function: Any, /, *args: Any, **named: Any) -> Any:
        """A call in kernel code: an instruction's twin, a device function, a builtin on lanes, or anything as it is."""
        if self.cancelled:
            raise Cancelled
        twin = getattr(function, "twin", None)
        if twin is not None:
            frame = sys._getframe(1)
            self.site, self.doing = (frame.f_code.co_filename, frame.f_lineno), function
            return self._instruction(function, twin, args, named)
        if isinstance(function, _BUILT_IN):
            return _BUILTINS.get(function, _as_it_is)(self, function, args, named)
        scalar = getattr(function, "casts_to", None)
        if scalar is not None:
            return scalar_cast(self, scalar, *args)
        plain = getattr(function, "py_func", function)   # what numba.cuda.jit wraps
        if isinstance(plain, FunctionType):
            result = self._device_function(plain, args, named, sys._getframe(1))
        else:
            result = function(*args, **named)
        name = getattr(function, "access_name", None)
        if name is None:
            return result
        return tag(result, name, self.elements and self.elements.marks(name, args))

    def _instruction(self, function, twin, args, named):
        """What the twin of an instruction gives."""
        if not self.converged and getattr(function, "converged", False):
            self.require_convergence(getattr(function, "name", "this instruction"))
        kinds = getattr(function, "operands", None)
        if kinds is None or named:
            return twin(self, *args, **named)
        if len(kinds) == len(args):
            args = operands(kinds, args, self.active)
        try:
            result = twin(self, *args)
        except (AttributeError, TypeError) as error:
            fault = _fault_of(function, args, error)
            if not fault:
                raise
            raise MachineError(f"{getattr(function, 'name', 'this instruction')} takes {fault}") from None
        return results(function.results, result) if function.results else result

    def _device_function(self, plain, args, named, frame):
        """What a device function gives, which the kernel's code calls from a frame."""
        if plain in self.inside:
            raise MachineError(f"{plain.__name__} calls itself, which Numba does not compile for a GPU: write a loop")
        outer = self.caller
        self.caller = frame.f_code.co_filename, frame.f_lineno, outer
        self.inside.append(plain)
        result = device_function(plain, args, named)(self, *args, **named)
        self.inside.pop()
        self.caller = outer
        return result

    def put(self, target: Any, key: Any, value: Any) -> None:
        """`target[key] = value` in the active lanes. (A RegisterArray sees to that itself.)"""
        if not self.converged and isinstance(target, _CHANGEABLE):
            if not isinstance(target, list) or isinstance(key, slice):
                raise MachineError(f"a {type(target).__name__} changes for some lanes only: keep a value per lane")
            value = merge(self.active, value, target[key])
        target[key] = value

    def agreed(self, test: Any) -> bool | None:
        """The truth on which all active lanes agree, None if they do not."""
        if not is_lanes(test):
            return bool(test)
        if test.shape != (LANES,):
            raise MachineError(f"a condition has one value per lane, shape (32,), not {test.shape}")
        true = int(np.count_nonzero(test if self.whole else np.asarray(test)[self.active]))
        return true > 0 if true in (0, self.count) else None

    def uniform(self, test: Any) -> bool:
        """The truth of the condition of a comprehension, which all active lanes must share."""
        agreed = self.agreed(test)
        if agreed is None:
            raise MachineError("lanes disagree on the condition of `if` in a comprehension: write the loop out")
        return agreed

    def every(self, test: Any) -> bool:
        """Whether a condition holds in all active lanes."""
        return bool(truth(test)[self.active].all()) if is_lanes(test) else test

    def iterate(self, values: Any) -> Any:
        """What a `for` or a comprehension walks over that is the same for all lanes."""
        if is_lanes(values):
            raise MachineError("a `for` over a lane-varying value: loop over a range")
        if isinstance(values, LaneRange):
            raise MachineError("a comprehension over a range that differs by lane: write the loop out")
        return values

    def _under(self, lanes, later):
        """The value of an expression evaluated by some of the active lanes only."""
        outer = self.active
        self.narrow(outer & lanes)
        value = later()
        self.narrow(outer)
        return value

    def both(self, first: Any, later: Callable[[], Any]) -> Any:
        """`first and later()`: the second value where the first is true, evaluated by those lanes; else the first."""
        agreed = self.agreed(first)
        if agreed is not None:
            return later() if agreed else first
        true = truth(first)
        second = self._under(true, later)
        if first.dtype is _BOOL and is_lanes(second) and second.dtype is _BOOL:
            return first & second
        return merge(true, second, first)

    def either(self, first: Any, later: Callable[[], Any]) -> Any:
        """`first or later()`: the first value where it is true; else the second, evaluated by those lanes."""
        agreed = self.agreed(first)
        if agreed is not None:
            return first if agreed else later()
        true = truth(first)
        second = self._under(~true, later)
        if first.dtype is _BOOL and is_lanes(second) and second.dtype is _BOOL:
            return first | second
        return merge(true, first, second)

    def negate(self, value: Any) -> Any:
        """`not value`, lane by lane."""
        return ~truth(value) if is_lanes(value) else not value

    def approximate(self, name: str) -> None:
        """Notes that the last bit of a result may differ from a GPU's."""
        self.doubt(f"{name}: the last bit may differ from that of the GPU's libdevice")

    def doubt(self, text: str) -> None:
        """Notes a sentence about the line of kernel code that is being executed, once."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and WARP_NAME not in (*frame.f_code.co_varnames, *frame.f_code.co_freevars):
            frame = frame.f_back
        site = self.site if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        self.cta.launch.recorder.note_once(site, text)

    def select(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """`then() if test else otherwise()`, each evaluated by its own lanes."""
        agreed = self.agreed(test)
        if agreed is not None:
            return then() if agreed else otherwise()
        true = truth(test)
        return merge(true, self._under(true, then), self._under(~true, otherwise))


def _as_it_is(warp, function, args, named):
    if not warp.converged and isinstance(getattr(function, "__self__", None), _CHANGEABLE):
        raise MachineError(f"{function.__name__} of a {type(function.__self__).__name__} by some lanes only: it would "
                           "change for all of them")
    try:
        return function(*args, **named)
    except TypeError:
        if any(is_lanes(a) or isinstance(a, LaneRange) for a in args):
            raise MachineError(f"{function.__name__} of lanes cannot run on the machine: it takes uniform numbers") from None
        raise


def _range(warp, function, args, named):
    """A range where the active lanes agree on its bounds, else a LaneRange; of u64 where all bounds are unsigned."""
    if not 1 <= len(args) <= 3:
        return range(*args)
    used = [np.broadcast_to(np.asarray(a), (LANES,))[warp.active] for a in args] if any(map(is_lanes, args)) else args
    for bound in used:
        if np.asarray(bound).dtype.kind not in "biu":
            raise MachineError(f"a range of {np.asarray(bound).dtype}: its bounds are integers")
    if len(args) == 3 and not np.all(used[2]):
        raise MachineError("a range with step 0 never ends: give a step of at least 1, or a negative one")
    unsigned = all(kind_of(a) in UNSIGNED for a in args)
    if used is args:
        return UnsignedRange(range(*args)) if unsigned else range(*args)
    if all((bound == bound[0]).all() for bound in used):
        same = range(*(bound[0].item() for bound in used))
        return UnsignedRange(same) if unsigned else same
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    kind = DTYPE["u64" if unsigned else "s64"]
    return LaneRange(*(np.broadcast_to(np.asarray(a), (LANES,)).astype(kind) for a in (start, stop, step)))


_BUILTINS = BUILTINS | {range: _range}
"""Builtins that mean something else on lanes: (warp, builtin, args, named) -> value."""
