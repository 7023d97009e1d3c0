"""What the first product of a process needs when its kernel lies compiled on disk, and that this is little."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuda_kernels.matmul.choose.candidates import KK, candidates
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.programs import programs_of

FIRST = """
import sys
import numpy as np
import fake_driver, host_kit
library, torch = fake_driver.FakeLibrary(), host_kit.make_torch()
library.cuLaunchKernelEx = fake_driver._Function(lambda *parameters: library.launches.append(parameters) or 0)
sys.modules["torch"] = torch
from cuda_kernels.run import driver
cuda = driver.Cuda(library)
driver.cuda = lambda: cuda
from cuda_kernels import matmul
{before}
x, y = (torch.Tensor(host_kit.aligned(np.zeros((256, 256), np.float16))) for _ in range(2))
matmul(x, x, y)
assert len(library.launches) == 1
from cuda_kernels.matmul.choose import candidates
print(candidates.candidates.cache_info().misses)
print(*sys.modules)
"""
"""A product on a driver made of NumPy, whose launch computes nothing."""

COMPILED = "from cuda_kernels.build.program import Program; Program.compile = lambda self: ('entry', b'256')"
"""In the place of Numba, which takes seconds."""

NOT_NEEDED = ("numba", "llvmlite", "cuda", "matplotlib", "hypothesis", "simlayout.machine", "simlayout.codegen",
              "simlayout.proofs", "simlayout.plan", "simlayout.numerics", "simlayout.hardware.banks", "cuda_kernels.emitted",
              "cuda_kernels.build.compile", "cuda_kernels.kernels.by_name", "cuda_kernels.kernels.hgemm",
              "cuda_kernels.kernels.tutorial", "cuda_kernels.kernels.warptile", "cuda_kernels.kernels.hopper.plan",
              "cuda_kernels.kernels.hopper.wgmma_persistent", "cuda_kernels.matmul.grouped", "cuda_kernels.matmul.repack")
"""Packages and modules that compile, prove, predict or run a kernel, and other kernels."""


def test_a_first_call_whose_kernel_lies_on_disk_loads_no_compiler_no_machine_and_no_other_kernel_and_makes_no_candidate(
        tmp_path):
    def first(before):
        kits = os.pathsep.join([str(Path(__file__).parents[1] / "kits"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": kits, "SIMLAYOUT_CACHE": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", FIRST.format(before=before)], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE)
        made, modules = done.stdout.splitlines()
        return int(made), {".".join(parts[:i]) for parts in (name.split(".") for name in modules.split())
                           for i in range(1, len(parts) + 1)}

    made, _ = first(COMPILED)
    assert made == 1 and len(list(tmp_path.iterdir())) == 2          # the kernel, and what is known of the candidates
    made, loaded = first("")
    assert made == 0 and not loaded & set(NOT_NEEDED)


@pytest.mark.parametrize("majors, scaled", [
    (KK, ""), (("K", "MN"), ""), (("MN", "K"), ""), (("MN", "MN"), "lines"), (KK, "1x128"), (KK, "128x128")])
def test_what_is_kept_of_the_candidates_is_what_they_are(majors, scaled, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    configs = candidates(majors, scaled)
    expected = Estimates(configs)
    for _ in range(2):                                               # made, then read
        programs_of.cache_clear()
        found = programs_of(majors, scaled)
        assert tuple(found.configs) == configs
        for name, values in vars(expected).items():
            if isinstance(values, np.ndarray):
                read = getattr(found, name)
                assert read.dtype == values.dtype and (read == values).all(), name
