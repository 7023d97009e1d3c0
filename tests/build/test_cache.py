"""Compiled kernels on disk, and the structures that the driver takes."""

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from cuda_kernels.build import cache
from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.run import driver


@dataclasses.dataclass(frozen=True)
class Compiles:
    """A configuration that counts its compilations."""

    size: int
    times = []

    def compile(self):
        self.times.append(self.size)
        return f"entry_{self.size}", bytes(range(256)) * self.size


def test_a_kernel_is_compiled_once_and_read_back_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "new" / "folder"))
    Compiles.times.clear()
    first = cache.compiled(Compiles(3))
    assert cache.compiled(Compiles(3)) == first == Compiles(3).compile() and Compiles.times == [3, 3]
    cache.compiled(Compiles(4))
    cache.compiled(Compiles(3), driver=13010)
    assert Compiles.times == [3, 3, 4, 3] and len(list((tmp_path / "new" / "folder").iterdir())) == 3


def test_what_the_cache_lacks_is_compiled_ahead_once_and_a_single_program_is_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    Compiles.times.clear()
    wanted = [Compiles(3), Compiles(4), Compiles(3), Compiles(5)]
    assert compile_ahead(wanted, 13010, ThreadPoolExecutor(2)) == 3 and sorted(Compiles.times) == [3, 4, 5]
    assert "3 of 3 kernels compiled\n" == capsys.readouterr().err
    assert compile_ahead([*wanted, Compiles(6)], 13010) == 0 and len(Compiles.times) == 3
    assert cache.compiled(Compiles(4), 13010) == Compiles(4).compile() and Compiles.times[3:] == [4]


def test_compiling_ahead_stops_where_it_is_interrupted(tmp_path, monkeypatch):
    stopped = threading.Event()

    class Interrupts(Compiles):
        def compile(self):
            self.times.append(self.size)
            if self.size > 1:                          # which the pool may have begun before it heard of the first
                stopped.wait()
            raise KeyboardInterrupt

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, **options):
            super().shutdown(wait=False, **options)
            stopped.set()
            super().shutdown(wait)

    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    Compiles.times.clear()
    with pytest.raises(KeyboardInterrupt):
        compile_ahead([Interrupts(i) for i in range(1, 40)], executor=Pool(1))
    assert Compiles.times in ([1], [1, 2])


@dataclasses.dataclass(frozen=True)
class InterruptsItsParent(Compiles):
    """A configuration, of which the sixth interrupts whoever has it compiled, and takes long then, as the one beside it."""

    def compile(self):
        if self.size == 6:
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(1.0 if self.size in (5, 6) else 0.05)
        return "entry", bytes(self.size)


@pytest.mark.skipif(os.name == "nt", reason="no process sends SIGINT to another one there")
def test_an_interrupt_keeps_what_is_being_compiled_and_the_next_run_compiles_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    wanted = [InterruptsItsParent(size) for size in range(1, 13)]
    with pytest.raises(KeyboardInterrupt):
        compile_ahead(wanted)
    kept = {one.size for one in wanted if cache.holds(one)}
    assert {1, 2, 3, 6} <= kept and len(kept) < 8
    assert compile_ahead(wanted) == len(wanted) - len(kept) and all(map(cache.holds, wanted))


def test_what_another_assembler_made_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    Compiles.times.clear()
    for assembler, times in (("/bin/ptxas 7 8", 1), ("/opt/ptxas 7 9", 2), ("/opt/ptxas 7 9", 2)):
        monkeypatch.setattr(cache, "assembler", lambda made=assembler: made)
        monkeypatch.setattr(cache, "is_still", lambda made, under, now=assembler: made == now)
        assert cache.compiled(Compiles(3)) == ("entry_3", bytes(range(256)) * 3) and len(Compiles.times) == times


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 800), st.integers(1, 255), st.booleans())
def test_a_damaged_file_is_compiled_again(tmp_path_factory, at, bits, cut):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMLAYOUT_CACHE", str(folder))
        first = cache.compiled(Compiles(3))
        (path,) = folder.iterdir()
        data = bytearray(path.read_bytes())
        at %= len(data)
        data[at] ^= bits
        path.write_bytes(data[:at] if cut else data)
        Compiles.times.clear()
        assert cache.compiled(Compiles(3)) == first and Compiles.times == [3]
        assert cache.compiled(Compiles(3)) == first and Compiles.times == [3]


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "file"))
    assert cache.compiled(Compiles(2)) == Compiles(2).compile()


def test_a_user_without_a_home_has_no_cache_and_compiles_all_the_same(monkeypatch):
    import pathlib

    def homeless(*_):
        raise RuntimeError("Could not determine home directory.")

    for name in ("SIMLAYOUT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pathlib.Path, "home", homeless)
    assert cache.folder() is None and not cache.holds(Compiles(2))
    assert cache.compiled(Compiles(2)) == Compiles(2).compile()


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="only root can become a user who is not there")
def test_a_container_s_arbitrary_user_compiles(tmp_path):
    code = ("import os; os.environ.pop('HOME', 0); from cuda_kernels.build import cache; os.setuid(54321)\n"
            "class C:\n  compile = lambda self: ('k', b'code')\n  __repr__ = lambda self: 'C'\n"
            "print(cache.compiled(C()), cache.holds(C()))")
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "SIMLAYOUT_CACHE")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("('k', b'code') False\n", "")


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))       # every write to a file fails, as on a full disk
"""


def test_on_a_full_disk_kernels_are_compiled_and_used_and_no_file_is_left(tmp_path):
    code = FULL_DISK + "from test_cache import *; print(cache.compiled(Compiles(2)) == Compiles(2).compile())"
    done = run_here(code, SIMLAYOUT_CACHE=tmp_path / "cache")
    assert (done.stdout, done.stderr) == ("True\n", "") and not list((tmp_path / "cache").iterdir())


def test_on_a_full_disk_and_with_a_damaged_cache_numba_s_functions_count(tmp_path, monkeypatch):
    from numba import config
    from numba.core import caching

    from simlayout.jit import jit

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(caching.IndexDataCacheFile, "save", full)
        assert jit(next_number)(4) == 5
    for kind in ("nbi", "nbc", "none"):
        assert jit(next_number)(4) == 5 and list(tmp_path.rglob("*.nbi"))
        for path in tmp_path.rglob(f"*.{kind}"):
            path.write_bytes(path.read_bytes()[:-9])    # cut short


def next_number(n):
    """For Numba."""
    return n + 1


def run_here(code, **environment):
    """A Python of its own, which finds this file."""
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", code], env={**there, **{k: str(v) for k, v in environment.items()}},
                          capture_output=True, text=True, cwd=ROOT)


def test_the_cache_lies_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("SIMLAYOUT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "simlayout"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache.folder().parts[-2:] == (".cache", "simlayout")


def test_structures_are_laid_out_as_in_cuda_h():
    import ctypes

    assert (ctypes.sizeof(driver.Config), driver.Config.stream.offset, driver.Config.count.offset) == (56, 32, 48)
    assert (ctypes.sizeof(driver.Attribute), driver.Attribute.value.offset) == (72, 8)
    shape = driver.Shape((4, 1, 1), (384, 1, 1), 1000, cluster=2, overlap=True)
    config = shape.on(5)._obj
    assert [config.attributes[i].id for i in range(config.count)] == [4, 6]
    assert list(config.attributes[0].value[:3]) == [2, 1, 1] and config.attributes[1].value[0] == 1
    assert shape.on(5) is shape.on(5) and shape.on(0)._obj.stream is None


def test_the_copy_kernel_compiles_for_hopper_and_ampere():
    from cuda_kernels.matmul.repack import Copy

    for config in (Copy(2), Copy(4), Copy(2, "sm_80")):
        entry, code = config.compile()
        assert entry.isidentifier() and code[:4] == b"\x7fELF"
