"""Machine code from PTX: by ptxas as a whole program, by nvJitLink where there is no ptxas that can."""

import subprocess

import pytest
from machine_code import CUOBJDUMP, needs_tools

from cuda_kernels.build import assembler
from cuda_kernels.build.compile import ptx
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from simlayout.errors import SimlayoutError

EMPTY = """.version {version}
.target sm_90a
.address_size 64
.visible .entry nothing() {{ ret; }}
"""


def sass(code, folder):
    """The listing of machine code."""
    (folder / "kernel.cubin").write_bytes(code)
    return subprocess.run([CUOBJDUMP, "-sass", folder / "kernel.cubin"], capture_output=True, text=True).stdout


@needs_tools
@pytest.mark.slow
def test_consumers_take_the_registers_of_the_producer(tmp_path):
    listing = sass(assembler.cubin(ptx(kernel_of(Hopper(256, 192, 3, 1, bands=2)))), tmp_path)
    assert listing.count("USETMAXREG") == 2 and "HGMMA" in listing and "LDL" not in listing and "STL" not in listing


@needs_tools
def test_the_linker_makes_code_where_there_is_no_ptxas(tmp_path, monkeypatch):
    monkeypatch.setattr(assembler, "find_tool", lambda name: None)
    assert assembler.assembler() == "nvJitLink"
    assert "EXIT" in sass(assembler.cubin(EMPTY.format(version="8.0")), tmp_path)


def test_a_text_that_is_too_new_for_ptxas_goes_to_the_linker(monkeypatch):
    refused = subprocess.CompletedProcess([], 255, "", "ptxas k.ptx, line 1; fatal: Unsupported .version 9.9")
    monkeypatch.setattr(assembler, "find_tool", lambda name: "/bin/ptxas")
    monkeypatch.setattr(assembler.subprocess, "run", lambda *a, **k: refused)
    monkeypatch.setattr(assembler, "_linked", lambda text, arch: b"by the linker")
    assert assembler.cubin("text") == b"by the linker"


@needs_tools
def test_what_ptxas_refuses_is_an_error_with_its_words():
    with pytest.raises(SimlayoutError, match="refuses the kernel.*error"):
        assembler.cubin(EMPTY.format(version="8.0").replace("ret;", "no_such_instruction;"))


@needs_tools
def test_the_cache_knows_which_assembler_made_the_code():
    path = assembler.find_tool("ptxas")
    assert assembler.assembler().startswith(path) and len(assembler.assembler().split()) == 3


def test_an_assembler_that_is_where_it_was_needs_no_search_and_another_one_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "ptxas"
    path.write_text("one")
    monkeypatch.setattr(assembler, "find_tool", lambda name: str(path))
    found, under = assembler.assembler(), assembler.surroundings()
    searches = []
    monkeypatch.setattr(assembler, "find_tool", lambda name: searches.append(name) or str(path))
    assert assembler.is_still(found, under) and not searches
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))                    # it may be found elsewhere now: it is searched for
    assert assembler.is_still(found, under) and searches == ["ptxas"]
    assert not assembler.is_still("nvJitLink", assembler.surroundings()) and len(searches) == 2
    path.write_text("another")
    assert not assembler.is_still(found, assembler.surroundings())
    path.unlink()
    assert not assembler.is_still(found, assembler.surroundings())
