"""Nsight Compute's source page: what every SASS instruction of a kernel was counted to do.

ncu collects it with `--section SourceCounters` and prints it with `--import REPORT --page source --csv --print-source
sass`: per kernel launch a line with the kernel's name, a line of column names, and a line per instruction.
"""

import csv
import io
import re
from dataclasses import dataclass

from simlayout.errors import DeviceError

COLUMNS = {"threads": "Predicated-On Thread Instructions Executed", "wavefronts": "L1 Wavefronts Shared",
           "ideal": "L1 Wavefronts Shared Ideal"}
"""What is read of an instruction: sums over the launch (Nsight Compute 2025.3.1; in its documentation the metrics are
thread_inst_executed_true, memory_l1_wavefronts_shared and memory_l1_wavefronts_shared_ideal)."""


@dataclass(frozen=True)
class Counted:
    """What one SASS instruction did. text: guard and instruction as ncu prints them; threads: executions by threads
    whose predicate held, 32 for a whole warp ("Instructions Executed" also counts warps of which no thread's did);
    wavefronts, ideal: of shared memory."""

    text: str
    threads: int
    wavefronts: int
    ideal: int

    @property
    def opcode(self):
        """The opcode, without guard and operands."""
        words = self.text.split()
        return words[1] if words[0].startswith("@") else words[0]

    @property
    def misread(self):
        """Whether Nsight Compute gives it a wrong number of wavefronts: see `misread`."""
        return misread(self.text)


def misread(text):
    """Whether a SASS instruction, as text, is an LDGSTS with the predicate P0: Nsight Compute 2025.3.1 counts those wrong.

    The code that it patches in sees another P0. As the guard of an LDGSTS it counts no wavefronts; as the operand that
    chooses between data and zeros (.ZFILL) it counts as if every lane read its source. With P1 to P6 in the same places,
    and with P0 where all lanes do read, counts are right. The copy itself is not changed. Measured: tests/data/README.md.

    >>> misread("@!P6  LDGSTS.E.BYPASS.128.ZFILL desc[UR8][R242.64], P0, [R228]"), misread("@P0 LDS R1, [R2]")
    (True, False)
    """
    return "LDGSTS" in text and re.search(r"\bP0\b", text) is not None


def parse(text):
    """The CSV of a source page -> one {offset in bytes from the kernel's start: Counted} per launch, in their order.

    Raises DeviceError for a text without instructions, or without one of COLUMNS.
    """
    launches, places = [], None
    for row in csv.reader(io.StringIO(text)):
        if row[:2] == ["Address", "Source"]:
            launches.append({})
            places = {field: _place(row, name) for field, name in COLUMNS.items()}
        elif launches and row and row[0].startswith("0x"):
            launches[-1][int(row[0], 16)] = Counted(row[1].strip(), *(_number(row[p]) for p in places.values()))
    if not launches or not all(launches):
        raise DeviceError(f"ncu printed no source page: {text.strip().splitlines()[-1] if text.strip() else 'nothing'}")
    return [{address - min(one): counted for address, counted in one.items()} for one in launches]


def _place(row, name):
    if name not in row:
        raise DeviceError(f"ncu's source page has no column {name!r}: use a version that has (2025.3 does)")
    return row.index(name)


def _number(text):
    return int(text.replace(",", "")) if text not in ("", "-") else 0


def parse_raw(text, metrics):
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
