"""What Numba has compiled is used again as long as no source has changed that it may be made of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

pytest.importorskip("numba")

PROGRAM = """import sys
import simlayout.jit as j
j.source_stamp = lambda: (float(sys.argv[1]), 1)
@j.jit
def twice(x):
    return 2 * x
twice(3)
print(sum(twice.stats.cache_hits.values()), sum(twice.stats.cache_misses.values()))
"""


def hits(folder, stamp):
    """(times that compiled code was found, that it was not) in a new process, with sources of some stamp."""
    done = subprocess.run([sys.executable, "own.py", stamp], capture_output=True, text=True, check=True, cwd=folder,
                          env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(ROOT)})
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
def test_compiled_code_is_found_until_a_source_changes(tmp_path):
    (tmp_path / "own.py").write_text(PROGRAM)
    assert hits(tmp_path, "1") == (0, 1)
    assert hits(tmp_path, "1") == (1, 0)
    assert hits(tmp_path, "2") == (0, 1)


def test_every_file_with_a_compiled_function_of_several_files_counts():
    import simlayout.jit as jit

    root = Path(jit.__file__).parent
    users = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")
             if "simlayout.jit import" in path.read_text() and path.name != "jit.py"}
    assert users <= {*jit.ROOMS}, "a room with compiled functions that jit.ROOMS lacks"


@pytest.mark.slow
def test_whether_a_function_is_kept_is_known_before_it_is_called(tmp_path):
    (tmp_path / "own.py").write_text("from simlayout.jit import jit, kept\n@jit\ndef twice(x):\n    return 2 * x\n"
                                     "print(kept(twice), twice(3), kept(twice), kept(len))\n")
    told = [subprocess.run([sys.executable, "own.py"], capture_output=True, text=True, check=True, cwd=tmp_path,
                           env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)}).stdout
            for _ in range(2)]
    assert told == ["False 6 True True\n", "True 6 True True\n"]


@pytest.mark.slow
def test_whoever_calls_it_is_told_of_a_long_compilation_and_of_none_that_is_kept(tmp_path):
    (tmp_path / "own.py").write_text("import simlayout.progress as p\np.waiting.__wrapped__.__defaults__ = 0.0,\n"
                                     "from simlayout.jit import jit\n@jit\ndef twice(x):\n    return 2 * x\n"
                                     "print(twice(3))\n")
    told = [subprocess.run([sys.executable, "own.py"], capture_output=True, text=True, check=True, cwd=tmp_path,
                           env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)}).stderr
            for _ in range(2)]
    line = "simlayout: compiles the machine, once for this installation, which takes half a minute to a minute\n"
    assert told == [line, ""]


@pytest.mark.slow
def test_of_processes_that_call_a_function_at_once_one_compiles_and_the_others_find_it(tmp_path):
    pytest.importorskip("fcntl", reason="Windows has no such lock")
    (tmp_path / "own.py").write_text("import time\nfrom simlayout import jit\nsave = jit._Forgiving.save_overload\n"
                                     "def late(*given):\n    time.sleep(1)\n    save(*given)\n"
                                     "jit._Forgiving.save_overload = late\n"
                                     "@jit.jit\ndef twice(x):\n    return 2 * x\n"
                                     "print(twice(3), sum(twice.stats.cache_misses.values()))\n")
    started = [subprocess.Popen([sys.executable, "own.py"], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                                env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)})
               for _ in range(3)]
    assert sorted(one.communicate()[0] for one in started) == ["6 0\n", "6 0\n", "6 1\n"]


def test_nobody_waits_for_ever_and_a_process_that_dies_leaves_no_lock(tmp_path):
    pytest.importorskip("fcntl", reason="Windows has no such lock")
    from simlayout.jit import _alone

    holds = ("import fcntl, sys\nfile = open(sys.argv[1], 'ab')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
             "print('held', flush=True)\nsys.stdin.read()\n")
    with subprocess.Popen([sys.executable, "-c", holds, tmp_path / "compiling.lock"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with _alone(tmp_path, longest=0.1) as alone:
            assert not alone
        other.kill()
    with _alone(tmp_path) as alone, _alone(tmp_path, longest=0.0) as too:
        assert alone and not too
    with _alone(tmp_path / "a" / "new" / "one") as alone:
        assert alone


def test_a_folder_in_which_nothing_can_be_written_is_compiled_for_without_a_lock(tmp_path):
    from simlayout.jit import _alone

    (tmp_path / "file").touch()
    with _alone(tmp_path / "file") as alone:
        assert not alone
