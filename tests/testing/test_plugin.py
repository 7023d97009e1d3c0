"""pytest's plugin: a suite of Numba kernels runs without a GPU, its faults are found, and it costs nothing unused."""

import os
import re

import pytest
from forks import forked, new_process
from places import ROOT

from simlayout.machine.hazards.kinds import MODES
from simlayout.testing.marker import HAZARDS as HAZARD_MODES

PROJECT = ROOT / "simlayout" / "testing" / "example" / "project"
cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[cuda]'")

KERNELS = '''
import numpy as np
import pytest
from numba import cuda, float32

@cuda.jit
def turn(a, out):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]

@cuda.jit
def shift(a):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    a[i] = tile[63 - i]

A = np.zeros((32, 32), np.float32)
'''


def run(folder, *options, text=None, plugins=("simlayout.testing.plugin",), how=forked):
    """(exit code, what pytest prints) in a folder, with the plugins and no others."""
    if text is not None:
        (folder / "test_it.py").write_text(text)
    named = [word for name in plugins for word in ("-p", name)]
    done = how("pytest", *named, "-p", "no:cacheprovider", "--rootdir", folder, *options, cwd=folder, COLUMNS="160",
               PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="", PYTHONDONTWRITEBYTECODE="1",
               PYTHONPATH=f"{ROOT}{os.pathsep}{folder}")
    return done.returncode, done.stdout + done.stderr


def rows(printed):
    """{kernel: (launches, wavefronts, excess, hazards)} of the table."""
    found = re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +\d+\.\d\d$", printed, re.M)
    return {name: tuple(map(int, numbers)) for name, *numbers in found}


def line_of(path, text):
    return next(i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def example():
    """What the sample project's CI prints without a GPU."""
    return run(PROJECT, "--simlayout-strict")


def test_the_sample_project_has_five_files_and_its_ci_runs_what_is_tested_here():
    assert {path.name for path in PROJECT.iterdir() if path.is_file()} == {
        "ci.yml", "kernels.py", "mended.py", "pyproject.toml", "test_kernels.py"}
    assert "- run: pytest --simlayout-strict\n" in (PROJECT / "ci.yml").read_text()


def test_the_ci_of_the_sample_project_finds_the_conflict_the_race_and_the_wrong_result_and_nothing_else(example):
    code, printed = example
    assert code == 1 and "3 failed, 4 passed" in printed
    assert set(re.findall(r"^FAILED test_kernels.py::(\S+)", printed, re.M)) == {
        "test_transpose[kernels]", "test_block_sums[kernels]", "test_smooth[kernels]"}
    kernels = PROJECT / "kernels.py"
    conflict, race = line_of(kernels, "tile[x, y]"), line_of(kernels, "part[thread + step]")
    assert "bank conflicts: 2680 excess wavefronts on 1 line" in printed
    assert re.search(rf"^ +{conflict} +3192 +120 +2800 +120 +2680 .*tile\[x, y\]", printed, re.M)
    declared = line_of(kernels, "tile = cuda.shared.array")
    assert (f"kernels.py:{declared}: excess 2680 of tile; this makes it 0, 128 bytes more "
            "(33 is TILE + 1: Numba takes no sums there):\n"
            f"  line {declared}: tile = cuda.shared.array((TILE, 33), float32)\n") in printed
    assert f"read after write: ld.shared.b32 of warp 0, lanes 0-31 (kernels.py:{race}) reads" in printed
    assert "Mismatched elements: 2 / 300" in printed and "(127,) |" in printed


def test_the_table_has_a_row_for_each_kernel_and_the_tests_with_hazards_or_excess(example):
    printed = example[1]
    assert {name: row[0] for name, row in rows(printed).items()} == {"transpose": 3, "block_sums": 2, "smooth": 2}
    assert rows(printed)["transpose"][2:] == (2680, 0) and rows(printed)["block_sums"][2:] == (0, 3)
    tests = printed.split("hazards or excess in 2 tests:")[1].split("====")[0]
    assert re.findall(r"^test_kernels.py::(\S+)$", tests, re.M) == ["test_transpose[kernels]", "test_block_sums[kernels]"]


@pytest.mark.slow
def test_workers_of_xdist_send_their_rows(example):
    pytest.importorskip("xdist")
    code, printed = run(PROJECT, "--simlayout-strict", "-n", "2", plugins=("simlayout.testing.plugin", "xdist"))
    assert code == 1 and "3 failed, 4 passed" in printed and rows(printed) == rows(example[1])


def test_without_strict_faults_are_told_and_fail_nothing(tmp_path):
    code, printed = run(tmp_path, "--simlayout", text=KERNELS + '''
def test_turn():
    turn[1, (32, 32)](A, A.copy())

def test_shift():
    shift[1, 64](np.zeros(64, np.float32))
''')
    assert code == 0 and rows(printed) == {"turn": (1, 1056, 992, 0), "shift": (1, 4, 0, 1)}
    assert "hazards or excess in 2 tests" in printed and "read after write" in printed


def test_a_fault_of_a_fixtures_launch_fails_the_test_and_a_marker_lets_it_pass(tmp_path):
    code, printed = run(tmp_path, "--simlayout-strict", text=KERNELS + '''
@pytest.fixture
def turned():
    turn[1, (32, 32)](A, A.copy())

def test_of_a_fixture(turned):
    pass

@pytest.mark.simlayout(strict=False)
def test_allowed(turned):
    turn[1, (32, 32)](A, A.copy())
''')
    assert code == 1 and re.search(r"1 passed, (\d warnings, )?1 error", printed)
    assert rows(printed)["turn"] == (3, 3168, 2976, 0)
    assert re.search(r"^ERROR test_it.py::test_of_a_fixture", printed, re.M)


def test_the_fixture_runs_a_kernel_with_the_tests_options_and_needs_no_flag(tmp_path):
    code, printed = run(tmp_path, "--strict-markers", text=KERNELS + '''
from simlayout.errors import HazardError
from simlayout.testing import assert_no_conflicts, assert_no_hazards

def test_as_simulate(simulate):
    with pytest.raises(HazardError):
        simulate(shift)[1, 64](np.zeros(64, np.float32))

@pytest.mark.simlayout(hazards="report", arch="sm_80")
def test_with_a_marker(simulate):
    trace = simulate(shift)[1, 64](np.zeros(64, np.float32))
    assert_no_conflicts(trace)
    with pytest.raises(AssertionError, match="1 hazard"):
        assert_no_hazards(trace)

@pytest.mark.simlayout(hazards="off")
class TestOfAClass:
    def test_of_the_class(self, simulate):
        assert simulate(shift)[1, 64](np.zeros(64, np.float32)).hazards == ()

    @pytest.mark.simlayout(hazards="report")
    def test_the_nearest_marker_counts(self, simulate):
        assert simulate(shift)[1, 64](np.zeros(64, np.float32)).hazards
''')
    assert code == 0 and "4 passed" in printed and "simlayout" not in printed


def test_the_marker_takes_what_the_machine_does_about_hazards():
    assert set(HAZARD_MODES) == set(MODES)


def test_a_marker_that_says_what_there_is_not_fails_its_test(tmp_path):
    code, printed = run(tmp_path, text='''
import pytest

@pytest.mark.simlayout(hazard="raise")
def test_of_a_misspelt_option():
    pass

@pytest.mark.simlayout("raise")
def test_of_an_option_without_its_name():
    pass

@pytest.mark.simlayout(hazards="none")
class TestOfAClass:
    @pytest.mark.simlayout(strict=False)
    def test_of_a_value_that_there_is_not(self):
        pass
''')
    assert code == 1 and "3 errors" in printed and "passed" not in printed
    for strange in ("hazard='raise'", "'raise'", "hazards='none'"):
        assert f"the marker simlayout does not take {strange}: write arch=, hazards=" in printed


HAZARDS = KERNELS + '''
def test_shift():
    shift[1, 64](np.zeros(64, np.float32))

def test_of_the_fixture(simulate):
    simulate(shift)[1, 64](np.zeros(64, np.float32))

@pytest.mark.simlayout(hazards="report")
def test_the_marker_is_nearer(simulate):
    assert simulate(shift)[1, 64](np.zeros(64, np.float32)).hazards
'''


def test_a_run_that_looks_for_no_hazards_says_so(tmp_path):
    code, printed = run(tmp_path, "--simlayout-strict", "--simlayout-hazards", "off", "-k", "not marker", text=HAZARDS)
    assert code == 0 and "2 passed" in printed and "2 launches of 1 kernel; hazards were not looked for" in printed
    assert re.search(r"^shift +2 +8 +0 +- ", printed, re.M)


@pytest.mark.slow
def test_a_run_stops_each_test_at_its_first_hazard_where_that_is_asked_for(tmp_path):
    code, printed = run(tmp_path, "--simlayout", "--simlayout-hazards", "raise", text=HAZARDS)
    assert code == 1 and "2 failed, 1 passed" in printed
    assert len(re.findall(r"^E +.*HazardError: .*read after write", printed, re.M)) == 2


def test_hazards_are_chosen_by_the_words_of_the_command_line():
    from simlayout.cli.commands import command_line
    from simlayout.testing.plugin import pytest_addoption

    class Group:
        def __init__(self):
            self.options = {}

        def getgroup(self, *_):
            return self

        def addoption(self, name, **given):
            self.options[name] = given

    pytest_addoption(group := Group())
    ours = group.options["--simlayout-hazards"]
    (command,) = [a.choices["run"] for a in command_line()._actions if a.dest == "command"]
    (its,) = [a for a in command._actions if "--hazards" in a.option_strings]
    assert ours["choices"] == its.choices
    assert ours["help"].partition(" (")[0] == its.help.partition(" (")[0]


@pytest.mark.slow
def test_launches_of_the_fixture_are_in_the_table_once(tmp_path):
    code, printed = run(tmp_path, "--simlayout", "--simlayout-arch", "sm_80", text=KERNELS + '''
def test_both(simulate):
    simulate(turn)[1, (32, 32)](A, A.copy())
    turn[1, (32, 32)](A, A.copy())
''')
    assert code == 0 and rows(printed) == {"turn": (2, 2112, 1984, 0)} and "CPU machine, sm_80" in printed


def test_a_run_that_does_not_use_the_plugin_loads_nothing_of_it(tmp_path):
    code, printed = run(tmp_path, "-s", how=new_process, text='''
import sys

def test_what_is_loaded():
    ours = {name for name in sys.modules if name.startswith("simlayout")}
    assert ours == {"simlayout", "simlayout.lazy", "simlayout.progress", "simlayout.testing", "simlayout.testing.marker",
                    "simlayout.testing.plugin"}
    assert not {"numpy", "numba"} & set(sys.modules)
''')
    assert code == 0, printed


def test_a_wait_that_is_told_leaves_stdout_to_who_has_put_another_in_its_place(tmp_path):
    code, printed = run(tmp_path, text='''
import io
import time
from contextlib import redirect_stdout
from simlayout.progress import waiting

def test_it():
    with redirect_stdout(io.StringIO()) as out:
        with waiting("why", patience=0.01):
            time.sleep(0.3)
        print("here")
    assert out.getvalue() == "here\\n"
''')
    assert code == 0 and "why\n" in printed, printed


@pytest.mark.parametrize("options, plugin, message", [
    (["--simlayout"], "import sys; sys.modules['numba.cuda'] = None", r'pip install "simlayout\[cuda\]"'),
    (["--simlayout", "--simlayout-arch", "sm_12"], "", "unknown architecture 'sm_12'"),
    (["--simlayout-arch", "sm_80"], "", "how launches are simulated: give --simlayout"),
    (["--simlayout-hazards", "off"], "", "give --simlayout"),
])
def test_what_a_run_lacks_is_told_before_its_first_test(tmp_path, options, plugin, message):
    (tmp_path / "first.py").write_text(plugin)
    code, printed = run(tmp_path, *options, text="def test_it(): pass", plugins=("first", "simlayout.testing.plugin"),
                        how=new_process)
    assert code == pytest.ExitCode.USAGE_ERROR and re.search(f"ERROR: --simlayout.*{message}", printed)


def test_the_guide_shows_what_the_sample_project_prints_and_has(example):
    page = (ROOT / "simlayout" / "guide" / "ci.md").read_text()
    code, table, edit, *_ = re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M)
    assert code in (PROJECT / "test_kernels.py").read_text() and edit in example[1]
    assert [without_seconds(line) for line in table.splitlines()] == [
        without_seconds(line) for line in example[1][example[1].index("kernel      launches"):].splitlines()][:9]


def without_seconds(line):
    return re.sub(r" +\d+\.\d\d$", "", line)


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
def test_a_launch_without_a_gpu_fails_with_the_option_that_helps(tmp_path):
    code, printed = run(tmp_path, text=KERNELS + "\ndef test_it():\n    turn[1, (32, 32)](A, A)\n")
    assert code == 1 and "`pytest --simlayout` runs the launches without one" in printed
