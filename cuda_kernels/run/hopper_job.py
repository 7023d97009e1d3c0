"""The kernels for Hopper as the main job takes them: what is predicted of them, what is proved, and how they run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.parts import DEPTH
from cuda_kernels.kernels.hopper.plan import CPU_SMS, plan_of
from cuda_kernels.kernels.kernel import with_options
from cuda_kernels.run.hopper import run_hopper
from cuda_kernels.run.mma import Run, problem_of
from simlayout.errors import DeviceError
from simlayout.hardware.tables.arch import FEATURES

SUMMARIES = {
    "wgmma_tma": "TMA and wgmma alone: one warpgroup loads, waits and multiplies; nothing overlaps",
    "wgmma_specialized": "a producer keeps TMA loads in flight while two warpgroups multiply; one tile per CTA",
    "wgmma_persistent": "CTAs that stay on their SM walk over the tiles of C and store them through stmatrix and TMA",
    "mma_tma": "mma.sync with operands from TMA, shared by the CTAs of a cluster; 96x64 per warp",
}


@dataclass(frozen=True)
class HopperKernel:
    """A kernel for Hopper with the interface of a Kernel: C = A @ B.T for A (M, K) and B (N, K), both f16; C (M, N) f16.

    options: its Hopper configuration.
    """

    name: str
    summary: str
    options: Hopper

    dtype = "f16"

    def variant(self, **changes):
        """The same kernel with other options. Raises SimlayoutError for what does not fit."""
        return with_options(self, changes)

    def fitted(self, M, N, K):
        """The variant for a problem: C is stored directly where its rows do not start on 16 bytes."""
        return self if N % 8 == 0 or self.options.store == "direct" else self.variant(store="direct")

    @cached_property
    def plan(self):
        """What it does to shared memory."""
        return plan_of(self.options)

    def prove(self):
        """The plan's certificates."""
        return self.plan.prove()

    def described(self, M, N, K, sms):
        """(the plan, its bounds) as text."""
        config, said, how = self.options, self.plan.predict(M, N, K, sms), self.plan.multiply
        stages = f"{config.stages} stage{'s' * (config.stages > 1)}"
        plan = (f"tile {config.tile_m}x{config.tile_n}x{DEPTH}, {config.block} threads, {stages} and "
                f"{config.shared_bytes} bytes of shared memory per CTA; CTAs: {said.ctas}, tiles: "
                f"{config.sharing * config.tiles(M, N)}, K steps: {said.steps}")
        return plan, (f"{said.mma_clocks:.0f} clocks of {how}, {said.shared_clocks} of shared memory for its operands per K "
                      f"step of a CTA: bound by {how if said.bound == 'mma' else said.bound}")

    def run(self, a, b, device="auto", progress=None, hazards="raise"):
        """a @ b.T, a Run; arguments and errors as of `cuda_kernels.run.mma.run`."""
        from cuda_kernels.run.device import gpu_problem

        problem = problem_of(a, b)
        kernel = self.fitted(problem.M, problem.N, problem.K)
        if device == "gpu" or (device == "auto" and gpu_problem() is None):
            return kernel._run_gpu(a, b, problem)
        return run_hopper(kernel.options, _in_lines(a), _in_lines(b).T, CPU_SMS, progress, hazards)

    def _run_gpu(self, a, b, problem):
        if missing := hopper_problem():
            raise DeviceError(missing)
        from numba import cuda

        from cuda_kernels.matmul.matmul import matmul
        from cuda_kernels.run.device import device_name

        x, y = cuda.to_device(np.ascontiguousarray(a)), cuda.to_device(np.ascontiguousarray(b).T)
        c = cuda.to_device(np.full((problem.M, problem.N), np.nan, np.float16))
        matmul(x, y, c, kernel=self.options)
        cuda.synchronize()
        return Run(c.copy_to_host(), device_name())


def hopper_problem():
    """Why no kernel for Hopper can run on a GPU here, as a sentence; None if one can."""
    from cuda_kernels.run.device import compute_capability, gpu_problem

    if problem := gpu_problem():
        return problem
    major, minor = compute_capability()
    if not FEATURES["wgmma"].on((major, minor)):
        return (f"the GPU has compute capability {major}.{minor}; wgmma needs 9.0 (sm_90a): take another kernel, or the CPU "
                "machine (--cpu)")
    return None


def _in_lines(matrix):
    """The same matrix in lines that start on 16 bytes, as TMA needs them (on a GPU `matmul` copies what does not)."""
    rows, cols = matrix.shape
    made = np.zeros((rows, -(-cols // 8) * 8), matrix.dtype)
    made[:, :cols] = matrix
    return made[:, :cols]


HOPPER_KERNELS = {name: HopperKernel(name, SUMMARIES[name], config) for name, config in HOPPER.items()}
"""The kernels for Hopper by name."""
