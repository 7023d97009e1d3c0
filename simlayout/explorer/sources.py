"""What the command line gives the explorer beside text: the kernels that there are, and the lines of a report. A request
only names a kernel of these; it brings no path."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simlayout.errors import SimlayoutError, brief
from simlayout.explorer.pictures import pictures
from simlayout.wording import meant

NO_BANKS = {"cp.async.bulk": "TMA moves whole boxes past the load-store unit: no lanes, so no bank conflicts",
            "wgmma": "the tensor core reads both operands itself: every layout that it accepts takes as many wavefronts"}
"""Prefix of an instruction without lanes -> why it has no grid of banks (`hardware.matrix`)."""


NUMBERS = ("name", "instruction", "instructions", "wavefronts", "ideal", "excess", "exact", "bytes")


@dataclass(frozen=True, eq=False)
class Sources:
    """kernels: {name: an object with a `plan`}; lines: of a report, as `report_lines` makes them; title: of the report."""

    kernels: Mapping = field(default_factory=dict)
    lines: tuple = ()
    title: str = ""

    def plan(self, name):
        """The plan of a kernel. Raises SimlayoutError for a name that is none."""
        if name not in self.kernels:
            raise SimlayoutError(f"unknown kernel {brief(name)}{meant(name[:40], self.kernels)}; known: "
                                 f"{', '.join(self.kernels) or 'none here'}")
        return self.kernels[name].plan

    def parts(self, name):
        """The accesses of a kernel's plan, those of one tile together: a tuple of tuples of Accesses."""
        tiles = {}
        for access in self.plan(name).accesses:
            tiles.setdefault((access.tile, access.dtype), []).append(access)
        return tuple(map(tuple, tiles.values()))


NONE = Sources()


def plan_rows(name, sources):
    """Every access of a kernel in the order of its plan, for JSON: counts for one tile of C and one step of K each stage;
    part, shown: where the bench has it, None for what has no lanes, and then `why`, and `pictures` of it.

    >>> from types import SimpleNamespace
    >>> plan_rows("x", Sources())
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: unknown kernel 'x'; known: none here
    """
    plan = sources.plan(name)
    places = {a.name: (i, j, a) for i, part in enumerate(sources.parts(name)) for j, a in enumerate(part)}
    rows, columns, depth = plan.tile
    found = []
    for count in plan.predict(rows, columns, depth * getattr(plan, "stages", 1)).counts:
        row = {**{key: getattr(count, key) for key in NUMBERS}, "part": None, "shown": None, "why": "", "pictures": []}
        part, shown, access = places.pop(count.name, (None, None, None))
        if access is not None:
            row.update(part=part, shown=shown, dtype=access.dtype, layout=str(access.tile))
        else:
            row["why"] = next((why for prefix, why in NO_BANKS.items() if count.instruction.startswith(prefix)), "")
            row["pictures"] = pictures(plan, count.instruction)
        found.append(row)
    for name, (part, shown, access) in places.items():      # an access that the plan counts under another name
        totals = access.analyze()
        for row in found:
            if row["part"] is None and row["instruction"] == access.instruction:
                row.update(part=part, shown=shown, dtype=access.dtype, layout=str(access.tile), why="", pictures=[])
                break
        else:
            found.append({"name": name, "instruction": access.instruction, "instructions": access.instructions(),
                          "wavefronts": int(totals.wavefronts.sum()), "ideal": int(totals.ideal.sum()),
                          "excess": int(totals.excess.sum()), "exact": bool(totals.exact), "bytes": 0, "part": part,
                          "shown": shown, "why": "", "pictures": [], "dtype": access.dtype, "layout": str(access.tile)})
    return found
