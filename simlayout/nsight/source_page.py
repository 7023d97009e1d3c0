"""Nsight Compute's source page: what every SASS instruction of a kernel was counted to do.

ncu collects it with `--section SourceCounters` and prints it with `--import REPORT --page source --csv --print-source
sass`: per kernel launch a line with the kernel's name, a line of column names, and a line per instruction.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from simlayout.errors import DeviceError, brief
from simlayout.excess import WithExcess

COLUMNS = {"threads": "Predicated-On Thread Instructions Executed", "wavefronts": "L1 Wavefronts Shared",
           "ideal": "L1 Wavefronts Shared Ideal", "executions": "Instructions Executed",
           "sectors": "L2 Theoretical Sectors Global", "least": "L2 Theoretical Sectors Global Ideal"}
"""What is read of an instruction: sums over the launch (Nsight Compute 2025.3.1)."""

OF_SHARED = {"wavefronts", "ideal"}
"""Those of them that only kernels have which access shared memory."""

METRICS = {"threads": "thread_inst_executed_true", "wavefronts": "memory_l1_wavefronts_shared",
           "ideal": "memory_l1_wavefronts_shared_ideal", "executions": "inst_executed",
           "sectors": "memory_l2_theoretical_sectors_global", "least": "memory_l2_theoretical_sectors_global_ideal"}
"""The metrics behind COLUMNS (Nsight Compute's Profiling Guide, "Source Metrics")."""

ACCESSES = {"LDS": "ld", "LDSM": "ldmatrix", "STS": "st", "STSM": "stmatrix", "LDGSTS": "copy", "ATOMS": "atom"}
"""Opcode of SASS -> the class of its wavefronts, as of `Trace.totals`."""


@dataclass(frozen=True)
class Counted(WithExcess[int]):
    """What one SASS instruction did. text: guard and instruction as ncu prints them; threads: executions by threads
    whose predicate held, 32 for a whole warp; wavefronts, ideal: of shared memory; executions: by warps, also by those of
    which no thread's predicate held; sectors, least: of global memory, asked for and the fewest that would do; file, line:
    of the source, "" and 0 where the report has none.
    """

    text: str
    threads: int
    wavefronts: int = 0
    ideal: int = 0
    executions: int = 0
    sectors: int = 0
    least: int = 0
    file: str = ""
    line: int = 0

    @property
    def opcode(self) -> str:
        """The opcode, without guard and operands.

        >>> Counted("@!P0 LDS.128 R4, [R2]", 32, 4, 4).opcode
        'LDS.128'
        """
        words = self.text.split() or [""]
        return words[1] if words[0].startswith("@") and len(words) > 1 else words[0]

    @property
    def accesses_shared(self) -> bool:
        """Whether it accessed shared memory: LDS, STS, LDSM, ..., or a generic access that did."""
        return bool(self.wavefronts or self.ideal or self.threads and self.opcode.partition(".")[0] in ACCESSES)

    @property
    def class_name(self) -> str:
        """The class of its wavefronts, of ACCESSES; of a generic access "ld", "st" or "atom".

        >>> Counted("LDSM.16.M88.4 R4, [R2]", 32, 4, 4).class_name, Counted("ST.E [R2], R4", 32, 4, 4).class_name
        ('ldmatrix', 'st')
        """
        name = self.opcode.partition(".")[0]
        return ACCESSES.get(name) or {"LD": "ld", "ST": "st"}.get(name, "atom")

    @property
    def misread(self) -> bool:
        """Whether Nsight Compute gives it a wrong number of wavefronts: see `misread`."""
        return misread(self.text)


def misread(text: str) -> bool:
    """Whether a SASS instruction, as text, is an LDGSTS with the predicate P0: Nsight Compute 2025.3.1 counts those wrong.

    The code that it patches in sees another P0. Under the guard @P0 an LDGSTS counts no wavefronts, and under @!P0 also
    those of warps that do not execute it (tests/data/ncu: copy_pipeline); as the operand that chooses between data and
    zeros (.ZFILL) it counts as if every lane read its source. With P1 to P6 in the same places, and with P0 where all
    lanes do read, counts are right. The copy itself is not changed. Measured: tests/data/README.md.

    >>> misread("@!P6  LDGSTS.E.BYPASS.128.ZFILL desc[UR8][R242.64], P0, [R228]"), misread("@P0 LDS R1, [R2]")
    (True, False)
    """
    return "LDGSTS" in text and re.search(r"\bP0\b", text) is not None


def parse(text: str, fields: Iterable[str] = tuple(COLUMNS)) -> list[dict[int, Counted]]:
    """The CSV of a source page -> one {offset in bytes from the kernel's start: Counted} per launch, in their order. fields:
    of Counted, those that are read; others are 0. Of a kernel that does not access shared memory ncu leaves out what it
    would count there (seen with 2025.3.1).

    Raises DeviceError for a text without instructions, or without the column of one of the fields.
    """
    return [page for _, page in named(text, fields)]


def named(text: str, fields: Iterable[str] = tuple(COLUMNS)) -> list[tuple[str, dict[int, Counted]]]:
    """As `parse`, each page with the name of its kernel before it, "" where the text has none."""
    launches, names, name, head, places = [], [], "", [], {}
    for number, row in enumerate(_rows(text), 1):
        if row[:1] == ["Kernel Name"]:
            name = row[1] if len(row) > 1 else ""
        elif row[:2] == ["Address", "Source"]:
            launches.append({})
            names.append(name)
            head = row
            places = {field: _place(row, COLUMNS[field]) for field in fields
                      if field not in OF_SHARED or COLUMNS[field] in row}
        elif launches and row and row[0].startswith("0x"):
            try:
                counts = {field: _number(row[place]) for field, place in places.items()}
                one = launches[-1][int(row[0], 16)] = Counted(row[1].strip(), **counts)
            except (IndexError, ValueError):
                raise DeviceError(f"row {number} of ncu's source page is damaged: {brief(','.join(row))}") from None
            if one.accesses_shared:
                for field in OF_SHARED.intersection(fields):
                    _place(head, COLUMNS[field])
    if not launches or not all(launches):
        last = (text.strip().splitlines() or ["nothing"])[-1]
        raise DeviceError(f"ncu printed no source page: {last if last.isprintable() else repr(last)}")
    return [(name, {address - min(one): counted for address, counted in one.items()})
            for name, one in zip(names, launches)]


def _rows(text):
    """The rows of a CSV; DeviceError where it is none."""
    try:
        return list(csv.reader(io.StringIO(text)))
    except csv.Error as error:                           # a NUL, under Python 3.10, or a field without end
        raise DeviceError(f"ncu's source page is damaged: {error}") from None


def _place(row, name):
    if name not in row:
        raise DeviceError(f"ncu's source page has no column {name!r}: use a version that has (2025.3 does)")
    return row.index(name)


def _number(text):
    return int(text.replace(",", "")) if text not in ("", "-") else 0


def parse_raw(text: str, metrics: Iterable[str]) -> list[dict[str, int | None]]:
    """The CSV of a raw page (`--page raw --csv`) -> one {metric: int} per launch, in their order; None where ncu could
    not read a counter.

    >>> parse_raw('"ID","a.sum"\\n"","sector"\\n"0","1,024"\\n', ["a.sum"])
    [{'a.sum': 1024}]
    """
    start = text.find('"ID"')
    rows = [row for row in csv.DictReader(io.StringIO(text[max(start, 0):])) if row.get("ID")]     # one row holds units
    if start < 0 or not rows:
        raise DeviceError(f"ncu printed no raw page: {text.strip().splitlines()[-1] if text.strip() else 'nothing'}")
    return [{m: int(float(row[m].replace(",", ""))) if row.get(m) not in (None, "", "n/a") else None for m in metrics}
            for row in rows]
