"""The wheel and the sdist: what they hold, how large they are, and that what they hold runs where there is no repository."""

import json
import subprocess
import sys
import tarfile
from zipfile import ZipFile

import pytest
from distributions import FILES, PACKAGES, outside, shipped
from once import made_once

from cuda_kernels.matmul.choose.trees import OF_GROUPS, PATH

MOST_BYTES, MOST_OF_A_FILE = 1_980_000, 10_000
"""Compressed: the wheel, and each file but the trees that choose: code is small, and data has to be asked for."""
MAIN = "import sys; from simlayout.cli import main; sys.exit(main())"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(wheel, tmp_path_factory):
    """Runs `simlayout ...` of the installed wheel in a folder of its own; returns (what it printed, the folder)."""
    def install(site):
        options = "-q", "--no-compile", "--no-deps", "--no-index", "--target", site
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True, env=outside())

    site, here = made_once(tmp_path_factory, "site", install), tmp_path_factory.mktemp("here")

    def run(*arguments, program=("-c", MAIN)):
        done = subprocess.run([sys.executable, *program, *arguments], cwd=here, env=outside(PYTHONPATH=str(site)),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout, here

    printed, _ = run(program=("-c", "import simlayout, cuda_kernels; print(simlayout.__file__, cuda_kernels.__file__)"))
    assert printed.count(str(site)) == 2
    return run


def test_the_wheel_is_small_and_holds_every_file_of_the_packages_but_what_needs_a_checkout(wheel):
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == shipped() and {name.split("/")[0] for name in names} == set(PACKAGES)
    assert wheel.stat().st_size < MOST_BYTES
    large = {info.filename for info in ZipFile(wheel).infolist() if info.compress_size > MOST_OF_A_FILE}
    trees = {f"cuda_kernels/matmul/choose/{path.name}" for path in (PATH, OF_GROUPS)}
    assert {name for name in large if ".dist-info/" not in name} <= trees


def test_the_sdist_holds_what_the_wheel_is_built_from(sdist_and_wheel):
    with tarfile.open(sdist_and_wheel[0]) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames() if "/" in name}
    assert shipped() | set(FILES) <= names


def test_the_command_of_the_wheel_multiplies_on_the_cpu_machine(run):
    printed, _ = run("gemm", "--kernel", "mma_permuted", "-M", "64", "-N", "72", "-K", "40")
    assert printed.splitlines()[-1].split() == ["result", "ok"] and "device     CPU machine" in printed


def test_exercises_whose_index_functions_are_not_checked_in_run_from_the_wheel(run):
    printed, _ = run("--problem", "2.1", "--device", "cpu", program=("-m", "cuda_kernels.conformance.practical"))
    assert "14 of 14 right and as predicted" in printed


def test_the_page_a_lesson_a_case_and_the_guide_are_in_the_wheel(run):
    printed, here = run("explore", "Sw<3,3,3> o (16,64):(64,1)", "--dtype", "f16", "-o", "page.html")
    assert printed == f"wrote page.html: {(here / 'page.html').stat().st_size} bytes\n"
    run("lesson", "1", "--no-open")
    assert json.loads((here / "1_banks.ipynb").read_text())["cells"]
    assert run("lesson", "theory")[0].startswith("# ") and run("clinic", "hgemm-4")[0].strip()
    assert run("guide", "accuracy")[0].startswith("# ")


def test_measured_facts_are_in_the_wheel(run):
    code = "import simlayout as sl; print(sl.analyze('ldmatrix.x4', range(0, 512, 16)).provenance)"
    assert "measured on one NVIDIA H200" in run(program=("-c", code))[0]
    code = "from cuda_kernels.matmul.choose.trees import learned; print(learned().feature.shape)"
    assert run(program=("-c", code))[0] == "(560, 7)\n"


def test_what_needs_an_extra_says_which(wheel):
    metadata = next(name for name in ZipFile(wheel).namelist() if name.endswith("/METADATA"))
    said = ZipFile(wheel).read(metadata).decode()
    for extra in ("cuda", "plot", "lessons", "complete", "fast", "test"):
        assert f"Provides-Extra: {extra}\n" in said
    assert "License-Expression: Apache-2.0" in said
