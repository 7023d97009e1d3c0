"""Reports of Nsight Compute that were recorded on a GPU, and what is read from them without NVIDIA's package.

    python tests/kits/ncu_reports.py FOLDER      packs FOLDER/NAME.ncu-rep into tests/data/ncu, and what they hold into
                                                 launches.json.xz; NAME: a row of cuda_kernels.conformance.foreign
"""

import json
import lzma
import sys
from dataclasses import astuple
from functools import cache
from pathlib import Path

from places import DATA

from simlayout.nsight.reports import Launch, launches
from simlayout.nsight.source_page import Counted

REPORTS = DATA / "ncu"
KEPT = ("name", "number", "mangled", "grid", "block", "device", "conflicts")


@cache
def recorded():
    """{name of a row: its Launch}, of launches.json.xz."""
    made = json.loads(lzma.decompress((REPORTS / "launches.json.xz").read_bytes()))
    return {name: Launch(**{**one, "grid": tuple(one["grid"]), "block": tuple(one["block"]),
                            "counted": {int(offset): Counted(*values) for offset, values in one["counted"].items()}})
            for name, one in made.items()}


def unpacked(name, folder):
    """The report of a row, unpacked into a folder: its path."""
    path = Path(folder) / f"{name}.ncu-rep"
    path.write_bytes(lzma.decompress((REPORTS / f"{name}.ncu-rep.xz").read_bytes()))
    return path


def main(folder):
    """As the module says."""
    made = {}
    for path in sorted(Path(folder).glob("*.ncu-rep")):
        (REPORTS / f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
        (one,) = launches(path)
        made[path.stem] = {**{name: getattr(one, name) for name in KEPT},
                           "counted": {offset: astuple(c) for offset, c in one.counted.items()}}
    text = json.dumps(made, sort_keys=True)
    (REPORTS / "launches.json.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(sys.argv[1])
