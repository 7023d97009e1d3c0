"""What `simlayout run --json FILE` wrote, of PTX or of a program, as predictions for a report."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.files import NOT_OURS, TEXT, fault_of, reading
from simlayout.hardware.tables.instructions import class_of
from simlayout.machine.ptx.declared.declarations import Edit
from simlayout.programs.mend import Mend
from simlayout.shown import Shown
from simlayout.wording import counted

Place = tuple[str, int]

BOUNDED = "the model only bounds it"
LOOP = "an atomic that is a loop: how often lanes try again depends on time"


@dataclass
class Sums:
    """Wavefronts and ideal of shared memory that are predicted; doubt: why they are not exact, "" where they are."""

    wavefronts: int = 0
    ideal: int = 0
    doubt: str = ""

    def add(self, other: "Sums") -> None:
        """Adds another's numbers to these."""
        self.wavefronts, self.ideal = self.wavefronts + other.wavefronts, self.ideal + other.ideal
        self.doubt = self.doubt or other.doubt


@dataclass
class Prediction(Shown):
    """One kernel of a trace. shapes: (grid, block, how many launches) of each shape; lines: {((file, line), (file, line) of
    the call that it was inlined at, ...): Sums} of the lines that access shared memory; classes: {class as of
    `Trace.totals`: Sums}, empty where they are not known; sources: {(file, line): text}; mends: what the trace of a program
    proposes."""

    name: str
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...]
    lines: dict[tuple[Place, ...], Sums] = field(default_factory=dict, repr=False)
    classes: dict[str, Sums] = field(default_factory=dict)
    sources: dict[Place, str] = field(default_factory=dict, repr=False)
    mends: tuple[Mend, ...] = ()

    @property
    def launches(self) -> int:
        """How many launches its numbers are sums over."""
        return sum(times for _, _, times in self.shapes)

    def __str__(self):
        """What is predicted of all lines together.

        >>> print(Prediction("f", (((1, 1, 1), (32, 1, 1), 2),), {(("f.cu", 1),): Sums(8, 2)}))
        f: 2 launches, 8 wavefronts of shared memory, ideal 2
        """
        total = self.total()
        return (f"{self.name}: {counted(self.launches, 'launch')}, {total.wavefronts} wavefronts of shared memory, ideal "
                f"{total.ideal}")

    def total(self) -> Sums:
        """Over all lines."""
        made = Sums()
        for one in self.lines.values():
            made.add(one)
        return made


@typed()
def predictions(path: str | Path) -> list[Prediction]:
    """The kernels of a JSON file of `simlayout run`. Raises SimlayoutError if it is not one."""
    with reading(path):
        text = Path(path).read_text(TEXT)
    try:
        made = json.loads(text)
        found = [_of_entry(made)] if "entry" in made else [_of_program(one, made) for one in made["kernels"]]
    except NOT_OURS as error:
        raise SimlayoutError(f"--trace {path} is not what `simlayout run ... --json FILE.json` writes: "
                             f"{fault_of(error)}") from None
    if not found:
        raise SimlayoutError(f"--trace {path}: the program launched no kernel")
    return found


def _of_entry(made):
    """Of an entry of PTX. What wgmma and TMA move is no wavefront of the source page."""
    if "accesses" not in made:
        raise ValueError(f"the run ended with {made['hazards'][0]['kind']}, and counted nothing")
    shape = _three(made["grid"]), _three(made["block"]), 1
    one = Prediction(made["entry"], (shape,))
    for access in made["accesses"]:
        class_name = class_of(access["instruction"])
        if class_name is None:
            continue
        callers = tuple((str(file), int(line)) for file, line in access.get("callers", ()))
        loads = int(access["loads"])
        doubt = LOOP if loads else "" if access["exact"] else BOUNDED
        parts = {class_name: Sums(int(access["wavefronts"]), int(access["ideal"]), doubt)}
        if loads:
            parts["ld"] = Sums(loads, loads, doubt)
        for name, sums in parts.items():
            one.lines.setdefault((_place(access), *callers), Sums()).add(sums)
            one.classes.setdefault(name, Sums()).add(sums)
    one.sources = {_place(line): line["source"].strip() for line in made["lines"]}
    return one


def _place(made):
    return str(made["file"]), int(made["line"])


def _of_program(kernel, made):
    shapes = tuple((_three(s["grid"]), _three(s["block"]), int(s["launches"])) for s in kernel["shapes"])
    mends = tuple(_mend(mend) for mend in made["mends"] if kernel["name"] in mend["kernels"])
    one = Prediction(kernel["name"], shapes, mends=mends)
    for line in kernel["lines"]:
        place = _place(line)
        one.sources[place] = line["source"].strip()
        if line["instructions"]:
            sums = Sums(int(line["wavefronts"]), int(line["ideal"]), "" if line["exact"] else BOUNDED)
            one.lines.setdefault((place,), Sums()).add(sums)
    return one


def _mend(made):
    """The Mend of its `as_dict`."""
    return Mend(**{**made, "kernels": tuple(made["kernels"]), "edits": tuple(Edit(**edit) for edit in made["edits"])})


def _three(size: Iterable[int]) -> tuple[int, ...]:
    """A grid or a block as (x, y, z).

    >>> _three([32, 8])
    (32, 8, 1)
    """
    given = tuple(int(n) for n in size)
    return (*given, *(1,) * (3 - len(given)))
