"""Ten programs as users write them run unchanged, with the bits that a GPU gave, and the edits that are proposed bring
their excess to 0."""

import json
import re
from pathlib import Path

import pytest
from forks import forked
from places import DATA
from tiers import sweep_but

pytest.importorskip("numba.cuda")

FOLDER = Path(__file__).parent / "samples"
MENDED = {"convolution", "game_of_life", "kmeans", "matmul", "prefix_sum"}
ON_A_GPU = json.loads((DATA / "h200_samples.json").read_text())["digests"]
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


def ran(path, tmp_path):
    """(digest, report) of a program."""
    target = tmp_path / "report.json"
    done = forked("simlayout", "run", "--quiet", "--json", target, path)
    assert done.returncode == 0, done.stderr
    return re.search(r"^digest (\w{64})$", done.stdout, re.MULTILINE)[1], json.loads(target.read_text())


def test_there_are_ten():
    assert len(NAMES) == 10 and set(NAMES) > MENDED
    assert set(ON_A_GPU) == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", sweep_but(NAMES[::3], NAMES))
def test_a_sample_runs_unchanged_and_what_is_proposed_leaves_no_excess_and_the_same_bits(name, tmp_path):
    path = FOLDER / f"{name}.py"
    digest, report = ran(path, tmp_path)
    assert digest == ON_A_GPU[name]
    assert report["launches"] and report["hazards"] == 0
    assert bool(report["excess"]) == bool(report["mends"]) == (name in MENDED)
    lines = path.read_text().splitlines()
    for mend in report["mends"]:
        assert mend["left"] == 0 and mend["file"] == str(path)
        for edit in mend["edits"]:
            assert lines[edit["line"] - 1].strip() == edit["before"]
            lines[edit["line"] - 1] = lines[edit["line"] - 1].replace(edit["before"], edit["after"])
    if report["mends"]:
        mended = tmp_path / path.name
        mended.write_text("\n".join(lines) + "\n")
        again, report = ran(mended, tmp_path)
        assert (again, report["excess"], report["mends"]) == (digest, 0, [])
