"""simlayout run PROGRAM.py: a program as Python runs it, with its launches on the CPU machine, and the report at its end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import refused
from forks import forked, new_process
from texts import GUIDE, blocks

pytest.importorskip("numba.cuda")

from places import ROOT

from simlayout.cli import run_program
from simlayout.cli.parser import program_words
from simlayout.errors import SimlayoutError
from simlayout.programs.report import shown_path

TILE = """import sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]

@cuda.jit
def first_column(a, out):
    out[cuda.threadIdx.x] = a[cuda.threadIdx.x, 0]

if __name__ == "__main__":
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out, column = np.zeros_like(a), np.zeros(32, np.float32)
    for _ in range(3):
        transpose[1, (32, 32)](a, out)
    first_column[1, 32](a, column)
    print("right" if (out == a.T).all() and (column == a[:, 0]).all() else "wrong", sys.argv, sys.path[0])
    print("note", file=sys.stderr)
"""

RACE = TILE.replace("    cuda.syncthreads()\n", "")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder but for tile.py and race.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tile.py").write_text(TILE)
    (tmp_path / "race.py").write_text(RACE)
    return tmp_path


def ran(*words, text=None, how=forked):
    """(exit code, stdout, stderr) of `simlayout run`; text: of a program.py that is written first."""
    if text is not None:
        Path("program.py").write_text(text)
    return tuple(how("simlayout", "run", *words))


# ---- the report --------------------------------------------------------------------------------------------------------

def test_the_report_adds_up_launches_and_tells_lines_and_the_edit_on_stderr_alone(folder):
    code, out, told = ran("--json", "r.json", "--html", "r.html", "tile.py", "--size", "4", "--json")
    assert (code, out) == (0, f"right ['tile.py', '--size', '4', '--json'] {folder}\n")
    assert told.startswith("note\n\nsimlayout: transpose: 3 launches, grid 1, block 32 x 32, ")
    rows = [line.split() for line in told.splitlines()]
    assert ["9", "96", "96", "96", "0", "384", "384", "tile[y,", "x]", "=", "a[y,", "x]"] in rows
    assert ["11", "96", "3072", "96", "2976", "384", "384", "out[y,", "x]", "=", "tile[x,", "y]"] in rows
    assert ["line", "7:", "tile", "=", "cuda.shared.array((32,", "33),", "float32)"] in rows
    assert "line 15 touches 4.5 times the sectors" in told
    assert re.search(r"^4 launches of 2 kernels, simulated as sm_90 in .* excess 2976, hazards 0$", told, re.MULTILINE)
    report = json.loads((folder / "r.json").read_text())
    first, second = report["kernels"]
    assert (first["name"], first["launches"], second["name"], report["excess"], report["hazards"]) == (
        "transpose", 3, "first_column", 2976, 0)
    assert [line["line"] for line in first["lines"] if line["excess"]] == [11]
    assert [(line["sectors"], line["least"]) for line in second["lines"] if line["sectors"]] == [(36, 8)]
    (mend,) = report["mends"]
    assert (mend["name"], mend["line"], mend["excess"], mend["left"], mend["bytes"]) == ("tile", 7, 2976, 0, 128)
    page = (folder / "r.html").read_text()
    assert "cuda.shared.array((32, 33), float32)" in page and "2976" in page and "://" not in page and "<script" not in page


def test_files_in_the_working_folder_are_named_without_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [shown_path(str(path)) for path in (tmp_path / "a" / "b.py", tmp_path.parent / "c.py")] == [
        os.path.join("a", "b.py"), str(tmp_path.parent / "c.py")]


@pytest.mark.slow
def test_hazards_name_both_lines_and_are_reported_raised_or_not_looked_for(folder):
    code, _, told = ran("race.py")
    assert code == 0 and re.search(r"hazard: .*read after write: ld.shared.b32 .*race.py:10\).*race.py:9\) writes", told)
    code, out, told = ran("--hazards", "raise", "--quiet", "race.py")
    assert (code, out) == (1, "") and re.search(r"race.py\", line 20, in <module>[\s\S]*HazardError", told)
    code, out, told = ran("--hazards", "off", "race.py")
    assert code == 0 and told.endswith("hazards not looked for\n")


@pytest.mark.slow
@pytest.mark.parametrize("words, code", [(["--strict", "tile.py"], 1), (["tile.py"], 0), (["--strict", "race.py"], 1),
                                         (["--strict", "program.py"], 0), (["--strict", "fails.py"], 7)])
def test_the_exit_code_is_the_programs_or_1_if_strict_where_there_is_something(words, code, folder):
    (folder / "program.py").write_text("print('nothing launched')")
    (folder / "fails.py").write_text(TILE + "    sys.exit(7)\n")
    assert ran("--quiet", *words)[0] == code


@pytest.mark.slow
def test_an_option_behind_the_path_is_the_programs_and_told_of():
    code, said, told = ran("tile.py", "--strict", "--size=4")
    assert code == 0 and "['tile.py', '--strict', '--size=4']" in said
    assert " ".join(told.split()).endswith("--strict stands behind the program's path, so it is the program's: simlayout's "
                                           "options stand before the path")


@pytest.mark.parametrize("text", [
    "import os\nos.chdir('/')", "import sys\nsys.stdout.close()", "import sys\nsys.stdout = None",
    "import sys\nwith open('log', 'w') as sys.stdout:\n    print('to the log')",
    "import sys\nsys.stdout.close()\nsys.stderr.close()"])
def test_the_report_is_written_whatever_the_program_does_to_its_folder_and_its_streams(text, folder):
    code, _, told = ran("--json", "r.json", "--html", "r.html", "program.py", text=TILE + text)
    assert code == 0 and "Traceback" not in told and ("4 launches of 2 kernels" in told or "stderr" in text)
    assert json.loads((folder / "r.json").read_text())["launches"] == 4 and (folder / "r.html").exists()


@pytest.mark.slow
def test_a_new_process_does_as_a_fork_does():
    assert ran("--quiet", "tile.py", how=new_process) == ran("--quiet", "tile.py")


@pytest.mark.slow
def test_quiet_leaves_the_programs_own_stderr(folder):
    assert ran("--quiet", "tile.py")[1:] == (f"right ['tile.py'] {folder}\n", "note\n")


NOTHING = "\nsimlayout: no kernel was launched"
COUNTED = ": only launches of Numba's kernels are counted, kernel[grid, block](...), and those of this process\n"


DYNAMIC = """import sys
import numpy as np
from numba import cuda

@cuda.jit
def spread(x):
    s = cuda.shared.array(0, "float32")
    s[2 * cuda.threadIdx.x] = x[cuda.threadIdx.x]
    x[cuda.threadIdx.x] = s[2 * cuda.threadIdx.x]

x = np.ones(32, np.float32)
there = cuda.to_device(x)
spread[1, 32, 0, 256](there)
if "back" in sys.argv:
    there.copy_to_host(x)
"""


@pytest.mark.parametrize("words, unseen", [((), True), (("back",), False)])
def test_what_no_edit_is_proposed_for_is_said_and_that_nothing_was_copied_back(words, unseen):
    code, _, told = ran("program.py", *words, text=DYNAMIC)
    assert code == 0 and "of dynamic shared memory; no edit is proposed: its shape is in the index" in " ".join(told.split())
    assert ("nothing was copied back from the GPU" in told) == unseen


def test_without_numba_a_program_of_triton_is_told_what_to_do_with_that():
    for text, told in (("import triton", "kernels of triton"), ("import numba", "needs numba-cuda")):
        Path("program.py").write_text(text)
        with pytest.raises(SimlayoutError, match=told), run_program._other_compiler("program.py"):
            raise SimlayoutError("Numba needs numba-cuda")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x = 1", ""])
def test_a_program_without_launches_says_so_and_what_would_be_one(text):
    assert ran("program.py", text=text) == (0, "", NOTHING + COUNTED)


@pytest.mark.slow
def test_a_program_of_another_compiler_is_told_how_its_kernels_are_launched():
    text = "import sys, types; sys.modules['triton'] = types.ModuleType('triton'); raise RuntimeError('no driver')"
    told = " ".join(ran("program.py", text=text)[2].split())
    assert "no kernel was launched: only launches of Numba are redirected here; write simlayout.simulate(kernel)" in told


@pytest.mark.slow
def test_a_program_that_failed_before_its_first_launch_is_not_told_what_a_launch_is():
    assert ran("program.py", text="1 / 0")[2].endswith(f"ZeroDivisionError: division by zero\n{NOTHING}\n")


# ---- as Python runs it -------------------------------------------------------------------------------------------------

def plain(name):
    """(exit code, stdout, stderr) of Python itself."""
    done = subprocess.run([sys.executable, os.path.abspath(name)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("text", [
    "def f(n):\n    return 1 // n\nprint('before')\nf(0)",
    "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error",
    "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
    "x = (", "import sys\nsys.exit('bye')", "import sys\nsys.exit(3)", "import sys\nsys.exit()", "raise SystemExit(True)",
    "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__, file=sys.stderr)\n1 / 0",
    "import atexit, pickle, sys, __main__\nx = 5\nclass A: pass\natexit.register(print, 'at the end')\n"
    "print(__name__, __file__, __builtins__ is not None, __doc__, __main__.x, sys.modules['__main__'] is __main__)\n"
    "print(type(pickle.loads(pickle.dumps(A()))))"])
def test_a_program_does_what_it_does_under_python(text):
    Path("program.py").write_text(text)
    assert ran("--quiet", "program.py") == plain("program.py")


def test_a_program_that_is_a_link_imports_what_lies_beside_its_target(folder):
    (folder / "real").mkdir()
    (folder / "real" / "beside.py").write_text("x = 5")
    (folder / "real" / "linked.py").write_text("import beside\nprint(beside.x, __file__)")
    (folder / "link.py").symlink_to(folder / "real" / "linked.py")
    assert ran("--quiet", "link.py")[:2] == plain("link.py")[:2] == (0, f"5 {folder / 'link.py'}\n")


@pytest.mark.parametrize("start", ["threading.Thread(target=late).start()", "ThreadPoolExecutor(2).submit(late)"])
def test_what_threads_launch_after_the_last_line_is_in_the_report(start):
    late = "import threading, time\nfrom concurrent.futures import ThreadPoolExecutor\ndef late():\n    time.sleep(0.2)\n" \
        "    first_column[1, 32](a, column)\n"
    code, _, told = ran("program.py", text=f"{TILE}\n{late}\n{start}")
    assert code == 0 and "5 launches of 2 kernels" in told


def test_what_a_program_leaves_behind_still_imports_what_lies_beside_it(folder):
    (folder / "beside.py").write_text("x = 5")
    text = "import atexit\n@atexit.register\ndef last():\n    import beside\n    print(beside.x)"
    assert ran("--quiet", "program.py", text=text)[:2] == (0, "5\n")


@pytest.mark.slow
def test_an_error_in_a_launch_shows_the_line_of_the_program_and_no_frame_of_simlayout():
    code, _, told = ran("program.py", text=TILE.replace("a[y, x]", "a[y + 99, x]"))
    assert code in (0, 1)                                # out of bounds is a hazard, and is reported
    code, _, told = ran("--hazards", "raise", "--quiet", "program.py")
    assert code == 1 and 'program.py", line 21, in <module>' in told and "/simlayout/" not in told.replace("simlayout.", "")
    told = ran("--hazards", "raise", "program.py")[2]
    assert told.endswith("\nsimlayout: 1 launch of transpose did not come to an end, and nothing of it is counted\n")


@pytest.mark.slow
def test_ctrl_c_is_130_and_the_report_still_comes():
    Path("program.py").write_text(TILE + "    print('ready', flush=True)\n    import time\n    time.sleep(600)\n")
    process = subprocess.Popen([sys.executable, "-m", "simlayout", "run", "program.py"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(
                                   [str(ROOT), os.environ.get("PYTHONPATH", "")])})
    while process.stdout.readline() != "ready\n":
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130 and "KeyboardInterrupt" in told and "4 launches of 2 kernels" in told


MEETING = """import numpy as np
from numba import cuda

@cuda.jit
def meeting(arrived):
    cuda.atomic.add(arrived, 0, 1)
    while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
        pass

meeting[2, 1](np.zeros(1, np.int32))
print("met")
"""


@pytest.mark.slow
def test_ctas_of_a_program_meet_where_it_runs_together(folder):
    code, _, told = ran("program.py", text=MEETING)
    assert code == 1 and "--together of `simlayout run`" in told
    starts = "import subprocess, sys\nsys.exit(subprocess.run([sys.executable, 'program.py'], stderr=-1).returncode)"
    (folder / "starts.py").write_text(starts)
    assert ran("--together", "program.py")[:2] == (0, "met\n") and ran("--together", "starts.py", how=new_process)[0] == 0


@pytest.mark.slow
def test_python_processes_of_a_program_have_a_simulated_gpu_that_is_not_in_the_report(folder):
    text = "import subprocess, sys\n" \
        "print(subprocess.run([sys.executable, 'tile.py'], stdout=-1, stderr=-1, text=True).stdout)"
    code, out, told = ran("program.py", text=text)
    assert (code, out, told) == (0, f"right ['tile.py'] {folder}\n\n", NOTHING + COUNTED)


# ---- the command line --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, fault", [
    (["nowhere.py"], "nowhere.py: there is no such program"),
    (["folder.py"], "folder.py is a folder, not a program"),
    (["--json", "tile.py"], "--json: stdout is the program's: name a file, as in --json report.json"),
    (["--json", "-", "tile.py"], "--json: stdout is the program's: name a file, as in --json report.json"),
    (["--html", "nowhere/r.html", "tile.py"], "nowhere: make it first"),
    (["--html", "r.pdf", "tile.py"], "cannot write r.pdf: name a file that ends in .html"),
    (["--grid", "4", "tile.py"], "--grid is an option of PTX; a program's own options follow its path"),
    (["-m"], "the following arguments are required: FILE"), (["kernel.ptx", "-m"], "-m is an option of a program in Python"),
    (["--quiet", "kernel.ptx"], "--quiet is an option of a program in Python, FILE.py"),
    (["--quite", "tile.py"], "unrecognized arguments: --quite (did you mean --quiet?)")])
def test_what_cannot_be_run_is_one_line_and_2(words, fault, folder, capsys):
    (folder / "folder.py").mkdir()
    (folder / "kernel.ptx").write_text("")
    assert fault in refused(capsys, "run", *words)


@pytest.mark.parametrize("words, own, given", [
    (["run", "a.py"], ["run", "a.py"], []), (["run", "a.py", "b.py", "--", "-x"], ["run", "a.py"], ["b.py", "--", "-x"]),
    (["run", "A.PY", "x"], ["run", "A.PY"], ["x"]),
    (["run", "-m", "a.b", "-m", "c.py"], ["run", "-m", "a.b"], ["-m", "c.py"]),
    (["run", "a.ptx"], ["run", "a.ptx"], None), (["check", "a.py"], ["check", "a.py"], None), ([], [], None)])
def test_all_behind_the_program_is_the_programs(words, own, given):
    assert program_words(words) == (own, given)


@pytest.mark.parametrize("name, runs, told", [
    ("package", "package.__main__ package", ""), ("package.part", "package.part package", ""),
    ("package.none", "", "-m package.none: there is no such module"), ("math", "", "-m math: there is no such module")])
def test_a_module_runs_as_python_runs_it_with_m(name, runs, told, folder):
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("import sys")
    for file in ("__main__", "part"):
        (folder / "package" / f"{file}.py").write_text("from . import sys\nif __name__ == '__main__':\n"
                                                       "    print(__spec__.name, __package__, sys.argv[1:], sys.path[0])")
    code, out, error = ran("--quiet", "-m", name, "--size", "4")
    assert (code, out) == ((0, f"{runs} ['--size', '4'] {folder}\n") if runs else (1, "")) and told in error


# ---- the guide ---------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_the_page_of_the_guide_shows_what_its_program_gets(folder):
    page = next(path for path in GUIDE if path.stem == "numba")
    program, shown = (block.body for block in blocks(page, "text"))
    (folder / "columns.py").write_text(program)
    code, out, told = ran("columns.py")
    assert (code, out) == (0, "right\n")
    told = told.lstrip("\n").replace(f"{folder}/", "")
    assert re.sub(r"(, |in )[0-9.e-]+ s", r"\1... s", told) == shown


@pytest.mark.slow
def test_a_kernel_of_instructions_is_launched_by_numba_as_the_guide_says(folder):
    (program,) = (block.body for block in blocks(next(path for path in GUIDE if path.stem == "own-kernels"), "text"))
    (folder / "on_gpu.py").write_text(program)
    code, out, told = ran("--strict", "on_gpu.py")
    assert (code, out) == (0, "[0 1 2 3]\n"), told
    assert "simlayout: reverse: 1 launch, grid 1, block 32" in told and "excess 0, hazards 0" in told
