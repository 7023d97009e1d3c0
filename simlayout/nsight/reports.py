"""Launches of kernels in a report of Nsight Compute: what every SASS instruction did, and where it stands in the source."""

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simlayout.arguments import typed
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import TEXT, reading
from simlayout.nsight.source_page import METRICS, Counted, named
from simlayout.shown import Shown
from simlayout.wording import by

COUNTERS = {"ld": ("ld", "ldmatrix"), "st": ("st", "stmatrix"), "atom": ("atom",), "ldgsts": ("copy",)}
"""Operation of the hardware's counter of bank conflicts -> the classes of instructions that it covers."""

CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

NOT_COLLECTED = ("holds no counters of single instructions for {}: profile with `ncu --set full --import-source yes`, or "
                 "`--section SourceCounters --import-source yes`, and compile with -lineinfo")

HEAD = b"NVR\0"
"""What every .ncu-rep begins with."""

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Launch(Shown):
    """One launch of a kernel that a GPU ran under Nsight Compute.

    name: of the function, without its parameters where the report has it so; mangled: the linker's, "" where it is not
    known; number: in the report, from 0; counted: {offset of a SASS instruction in bytes: Counted}; grid, block: (x, y, z),
    None where they are not known; device: its name, or ""; times: how many launches it is the sum of; conflicts: {"ld": bank
    conflicts by the hardware's counter, ...}, as far as they were collected; sources: {file: its text}, where the report
    brings it.
    """

    name: str
    number: int
    counted: dict[int, Counted] = field(repr=False)
    mangled: str = ""
    grid: Triple | None = None
    block: Triple | None = None
    device: str = ""
    times: int = 1
    conflicts: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def title(self) -> str:
        """Its name without Numba's tag, which is 100 letters long."""
        return re.sub(r"\[abi:[^\]]*\]", "", self.name)

    @property
    def which(self) -> str:
        """Its number, shape and device, as far as they are known."""
        number = str(self.number) if self.times == 1 else f"{self.number} and {self.times - 1} more, added up"
        shape = [f"grid {by(self.grid)}, block {by(self.block)}"] if self.grid and self.block else []
        return ", ".join([number, *shape, *filter(None, [self.device])])

    def __str__(self):
        """What was launched, and how.

        >>> print(Launch("transpose", 0, {}, grid=(3, 2, 1), block=(32, 8, 1), device="NVIDIA H200"))
        transpose: launch 0, grid 3 x 2 x 1, block 32 x 8 x 1, NVIDIA H200
        """
        return f"{self.title}: launch {self.which}"

    @property
    def accesses(self) -> dict[int, Counted]:
        """The instructions that accessed shared memory."""
        return {offset: one for offset, one in self.counted.items() if one.accesses_shared}

    @property
    def has_lines(self) -> bool:
        """Whether the instructions know their lines of the source."""
        return any(one.line for one in self.counted.values())

    @typed()
    def source(self, file: str, line: int) -> str:
        """A line of the source, "" where it is not at hand.

        >>> Launch("f", 0, {}, sources={"a.cu": "one\\ntwo\\n"}).source("a.cu", 2)
        'two'
        """
        text = self.sources.get(file, "").splitlines()
        if 0 < line <= len(text):
            return text[line - 1].strip()
        from simlayout.machine.engine.listing import line_text

        return line_text(file, line).strip()

    @typed()
    def is_called(self, name: str) -> bool:
        """Whether a name means this kernel: the linker's, the function's with or without its module, or as Numba shows it.

        >>> one = Launch("work::tile::f[abi:v1,cw51c](Array<float, 1>)", 0, {}, "_ZN4work4tile1fE")
        >>> [one.is_called(name) for name in ("f", "tile::f", "_ZN4work4tile1fE", "tile", "ile::f")]
        [True, True, True, False, False]
        """
        return name in (self.mangled, self.name) or f"::{short(self.name)}".endswith(f"::{short(name)}")

    @typed(DeviceError)
    def plus(self, other: "Launch") -> "Launch":
        """The sums of two launches of the same machine code; raises DeviceError if it is other code."""
        if {o: c.text for o, c in self.counted.items()} != {o: c.text for o, c in other.counted.items()}:
            raise DeviceError(f"launches {self.number} and {other.number} of {short(self.name)} are of different machine "
                              "code: choose one with --launch")
        added = {offset: replace(one, **{name: getattr(one, name) + getattr(other.counted[offset], name)
                                         for name in METRICS}) for offset, one in self.counted.items()}
        both = {name: n + other.conflicts[name] for name, n in self.conflicts.items() if name in other.conflicts}
        return replace(self, counted=added, conflicts=both, times=self.times + other.times)


def short(name: str) -> str:
    """A kernel's name without parameters, template arguments, and the tag of an ABI that Numba adds.

    >>> short("void scan::block<int, 4>(const int *, int *)"), short("__main__::f[abi:v1](Array<float>)")
    ('scan::block', '__main__::f')
    """
    depth, kept = 0, []
    for character in name.replace("(anonymous namespace)", "{anonymous}"):
        depth += (character in "<[(") - (character in ">])" and depth > 0)
        if character == "(" and depth == 1:
            break
        if depth == 0 and character not in ">])":
            kept.append(character)
    return "".join(kept).strip().rpartition(" ")[2]


# ---- reading -----------------------------------------------------------------------------------------------------------

@typed()
def launches(path: str | Path) -> list[Launch]:
    """All launches of a report, or of the CSV of a source page, in their order.

    Raises SimlayoutError where there is no such file, where it cannot be read or is neither, where the package ncu_report is
    missing, and DeviceError where the report has no counters of instructions.
    """
    if not os.path.isfile(path):
        raise SimlayoutError(f"{path}: there is no such report" if not os.path.isdir(path) else f"{path} is a folder, not a "
                             "report")
    with reading(path), open(path, "rb") as file:
        head = file.read(4096)
    if head[:2] == b"PK":
        raise SimlayoutError(f"{path} is packed: let `ncu` write it as .ncu-rep")
    if head.startswith(HEAD):
        return of_report(_loaded(path), str(path))
    return _of_page(path)


def _loaded(path):
    """The report's IContext."""
    try:
        import ncu_report
    except ImportError as error:
        raise SimlayoutError(
            "a .ncu-rep is read by NVIDIA's package ncu-report: pip install 'simlayout[ncu]'; without it, print the source "
            f"page: ncu --import {path} --page source --csv > page.csv, and give that ({error})") from None
    try:
        report = ncu_report.load_report(str(path))
    except Exception as error:                           # whatever its C++ raises
        raise SimlayoutError(f"{path}: ncu_report cannot read it: {error}") from None
    if not len(report):
        raise SimlayoutError(f"{path} is no report that this ncu_report can read: it is damaged, or of a newer Nsight "
                             "Compute (pip install -U ncu-report)")
    return report


def _of_page(path):
    try:
        pages = named(Path(path).read_text(TEXT))
    except (UnicodeDecodeError, DeviceError) as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise SimlayoutError(f"{path} is neither a report of Nsight Compute (.ncu-rep) nor its source page as CSV "
                             f"(ncu --import REPORT --page source --csv): {why}") from None
    return [Launch(name, number, counted) for number, (name, counted) in enumerate(pages)]


def of_report(report: Any, path: str) -> list[Launch]:
    """The launches of an IContext of ncu_report; path: of its file, for errors."""
    actions = [action for one in report for action in one]
    return [_launch(action, number, path) for number, action in enumerate(actions)]


def _launch(action, number, path):
    """The Launch of an IAction."""
    name = action.name()
    if not name:
        raise SimlayoutError(f"{path} is no report that this ncu_report can read: its result {number} has no name")
    columns = {field_name: _by_instruction(action, metric) for field_name, metric in METRICS.items()}
    if not columns["executions"] or columns["wavefronts"] is None:
        raise DeviceError(f"{path} " + NOT_COLLECTED.format(short(name)))
    start = min(columns["executions"])
    counted = {}
    for address in sorted(columns["executions"]):
        place = action.source_info(address)
        counts = {field_name: (column or {}).get(address, 0) for field_name, column in columns.items()}
        counted[address - start] = Counted(action.sass_by_pc(address).strip() or "?", **counts,
                                           file=place.file_name() if place else "", line=place.line() if place else 0)
    conflicts = {op: _number(action, CONFLICTS.format(op)) for op in COUNTERS}
    return Launch(name, number, counted, action.name(action.NameBase_MANGLED), _size(action, "grid"), _size(action, "block"),
                  _text(action, "device__attribute_display_name"), 1,
                  {op: n for op, n in conflicts.items() if n is not None},
                  {file: text for file, text in action.source_files().items() if text})


def _by_instruction(action, metric):
    """{address: int} of a metric, None where it was not collected by instruction."""
    found = action.metric_by_name(metric)
    if found is None:
        return None
    if not found.num_instances():
        return {}
    if not found.has_correlation_ids():
        return None
    places = found.correlation_ids()
    return {places.as_uint64(i): found.as_uint64(i) for i in range(found.num_instances())}


def _number(action, metric):
    found = action.metric_by_name(metric)
    return None if found is None or not found.has_value() else int(found.as_uint64())


def _text(action, metric):
    found = action.metric_by_name(metric)
    return "" if found is None else found.as_string() or ""


def _size(action, what):
    sizes = tuple(_number(action, f"launch__{what}_dim_{axis}") for axis in "xyz")
    return None if None in sizes else sizes
