"""Parts of a Warp: what all have in common, and the first of them, which lanes are active and where in the program it is."""

from os.path import basename
from typing import TYPE_CHECKING, Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.kinds import Place, calls_of, error, hazard, ordered_ints, place_of
from simlayout.machine.hazards.scopes import reach_of, value_bytes
from simlayout.machine.hazards.units import spans


class WarpPart:
    """A part of a Warp, which uses attributes and methods of the others. For a type checker it may have any attribute: those
    of the whole Warp are written where it is."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


class Lanes(WarpPart):
    """The active mask of a warp and its place in the program.

    launched, present, active: bool [32], the lanes that exist, those that have not returned from the kernel, and those
    that execute now. count: active lanes. whole: all 32 are active. converged: all present ones are; otherwise `parted` is
    the (file, line) of the innermost statement that parted them.
    site: (file, line) of the instruction in progress; doing: its object; caller: (file, line, caller) of the call that
    leads there, None in the kernel itself.
    """

    site: tuple[str, int]
    caller: Any
    parted: tuple[str, int] | None

    def __init__(self, launched: np.ndarray):
        self.launched, self.present = launched, launched
        self._present = int(np.count_nonzero(launched))
        self.site, self.doing, self.caller, self.parted = ("", 0), None, None, None
        self.narrow(launched)

    @property
    def reach(self) -> int:
        """How far the scope of the instruction in progress reaches, see `scopes`."""
        return reach_of(getattr(self.doing, "name", ""))

    def value_bytes(self, nbytes: int) -> int:
        """Bytes of a value of the instruction in progress, of nbytes in all."""
        return value_bytes(getattr(self.doing, "name", "")) or nbytes

    def narrow(self, lanes: np.ndarray) -> None:
        """Makes bool [32] the active mask."""
        self.active = lanes
        self.count = int(np.count_nonzero(lanes))
        self.whole = self.count == LANES
        self.converged = self.count == self._present

    def exit(self, lanes: np.ndarray) -> None:
        """Lanes, bool [32], have returned from the kernel: nothing waits for them any more."""
        self.present = self.present & ~lanes
        self._present = int(np.count_nonzero(self.present))
        self.converged = self.count == self._present

    def place(self, lanes: Any = (), instruction: str | None = None, site: tuple[str, int] | None = None,
              caller: Any = None) -> Place:
        """The Place of some lanes: where the warp is now, unless another instruction, site and its caller are given."""
        callers = calls_of(caller if site else self.caller)
        name = instruction or str(getattr(self.doing, "name", "instruction"))
        return Place(*(site or self.site), name, self.index, self.warp_index, ordered_ints(lanes), callers)

    def standing(self) -> str:
        """Where the warp is, as text: its line, and the calls that lead there."""
        return place_of(*self.site, calls_of(self.caller))

    def require_convergence(self, what: str) -> None:
        """Raises HazardError unless all lanes of the warp execute together."""
        if not self.converged:
            text = (f"{what} must be executed by all lanes of the warp together, and only lanes {lane_list(self.active)} "
                    "are here")
            first = None
            if self.parted:
                first = self.place((), "if", self.parted)
                text += f", parted from the others at {basename(self.parted[0])}:{self.parted[1]}"
            raise error(hazard("divergence", first, self.place(np.flatnonzero(self.active)), what=text))

    def agree(self, value: Any, what: str) -> Any:
        """The one value of all active lanes, as a Python number."""
        if not is_lanes(value):
            return value
        there = np.asarray(value)[self.active]
        if (there != there[0]).any():
            raise MachineError(f"{what} differs between lanes ({there.min()} to {there.max()}): it must be the same for all")
        return there[0].item()

    def current_line(self) -> tuple[str, int] | None:
        """(file, line) of kernel code that is being executed between instructions; None where instructions are all there
        is."""
        return None


def is_lanes(value):
    """Whether a value is lane-varying: a NumPy array with an axis."""
    return isinstance(value, np.ndarray) and value.ndim > 0


def lane_list(lanes):
    """The lanes of a mask as text.

    >>> lane_list(np.arange(32) < 3)
    '0-2'
    >>> lane_list(np.arange(32) % 8 == 0)
    '0, 8, 16, 24'
    """
    return spans(np.flatnonzero(lanes).tolist(), most=LANES)
