"""Runs one `Atoms` on NumPy matrices: on the GPU, or on the CPU machine, with the same arguments and answer."""

from functools import lru_cache

import numpy as np

from cuda_kernels.run.device import Loaded, device_name, goes_to_gpu, on_gpu
from cuda_kernels.run.mma import Run, problem_of


def run(atoms, a, b, device="auto", hazards="raise"):
    """a @ b.T with f32 accumulators.

    a: (M, K), b: (N, K), float16 NumPy matrices of any strides; they are handed over in the storage order that the case
    says. device: "gpu", "cpu" (the CPU machine) or "auto" (the GPU if there is one). hazards: as of `simlayout.machine.run`.

    Returns a Run with C (M, N), float32. Raises SimlayoutError for other input, DeviceError where "gpu" has none.

    >>> from cuda_kernels.kernels.cute import Atoms
    >>> a, b = np.ones((16, 16), np.float16), np.eye(8, 16, dtype=np.float16)
    >>> run(Atoms("m16n8k8", a_major="M"), a, b, device="cpu").c.sum()
    np.float32(128.0)
    """
    a, b = (np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in (a, b))
    problem, by_gpu = problem_of(a, b), goes_to_gpu(device)
    atoms = atoms.fitted(problem.M, problem.N, problem.K)
    stored = [x if major == "K" else np.ascontiguousarray(x.T) for x, major in ((a, atoms.a_major), (b, atoms.b_major))]
    c = np.full((problem.M, problem.N), np.nan, np.float32)
    sizes = problem.M, problem.N, problem.K, stored[0].shape[1], stored[1].shape[1], problem.N
    if by_gpu:
        return _run_gpu(atoms, *stored, c, sizes)
    return _run_cpu(atoms, *stored, c, sizes, hazards)


def _run_cpu(atoms, a, b, c, sizes, hazards):
    from simlayout import machine

    trace = machine.run(atoms.body, atoms.grid(*sizes[:2]), atoms.block, a, b, c, *sizes, shared_bytes=atoms.shared_bytes,
                        hazards=hazards, accesses=atoms.plan.accesses if hazards != "off" else ())
    return Run(c, "CPU machine", trace)


@lru_cache(64)
def _load(atoms):
    return Loaded(atoms)


def _run_gpu(atoms, a, b, c, sizes):
    loaded = _load(atoms)
    (c,) = on_gpu(f"{atoms} for M, N, K = {sizes[:3]}", lambda *addresses: loaded(*addresses, *sizes), [a, b], [c])
    return Run(c, device_name())
