"""A chip of AMD is one file of tables: a made-up one works everywhere, and the contributors' page shows the smallest."""

import json
import os
import shutil
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

from texts import CONTRIBUTING

import simlayout as sl


def test_a_new_chip_is_one_file(tmp_path):
    package = Path(sl.__file__).parent
    shutil.copytree(package, tmp_path / "simlayout", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "simlayout" / "hardware" / "tables" / "amd"
    text = (folder / "gfx1201.py").read_text()
    assert len(text.splitlines()) < 30
    (folder / "gfx1250.py").write_text(text.replace('"gfx1201"', '"gfx1250"').replace("phases(32, (4,))", "phases(32)"))
    told = subprocess.run([sys.executable, "-m", "simlayout", "chips"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True).stdout
    asked = ["check", "(64,64):(64,1)", "--op", "ds_load_b64", "--arch", "gfx1250", "--json"]
    found = subprocess.run([sys.executable, "-m", "simlayout", *asked], cwd=tmp_path, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True).stdout
    assert "gfx1250" in told and json.loads(found)["excess"] == 32        # all lanes in one phase now: two passes, not one


def test_the_contributors_page_shows_what_the_smallest_chip_has_of_its_own():
    """The recipe of a chip: its file, as a difference from its neighbour's."""
    folder = Path(sl.__file__).parent / "hardware" / "tables" / "amd"
    one, other = ((folder / f"{name}.py").read_text().splitlines() for name in ("gfx1100", "gfx1201"))
    changed = [line for line in unified_diff(one, other, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]
    assert "```text\n" + "\n".join(changed) + "\n```" in CONTRIBUTING.read_text() and len(other) == 24
