"""The wgmma kernels as the main job takes them: what is predicted of them, what is proved, and how they run."""

from dataclasses import dataclass
from functools import cached_property
from types import FunctionType

import numpy as np

from cuda_kernels.gemm import hopper_parts
from cuda_kernels.gemm.hopper import HOPPER, Hopper
from cuda_kernels.gemm.hopper_plan import emitted_function, predict, store_access
from cuda_kernels.gemm.kernel import with_options
from cuda_kernels.run import Run, problem_of
from cuda_kernels.run_hopper import run_hopper
from simlayout.algebra import dtype_of
from simlayout.errors import DeviceError, VerificationError
from simlayout.hardware.tma import TensorMap
from simlayout.hardware.wgmma import operand_wavefronts
from simlayout.proofs import AccessCount, Prediction, prove_operand, verify

SUMMARIES = {
    "wgmma_tma": "TMA and wgmma alone: one warpgroup loads, waits and multiplies; nothing overlaps",
    "wgmma_specialized": "a producer keeps TMA loads in flight while two warpgroups multiply; one tile per CTA",
    "wgmma_persistent": "CTAs that stay on their SM walk over the tiles of C and store them through stmatrix and TMA",
}

CPU_SMS = 2
"""SMs that the grid of a persistent kernel is for on the CPU machine: few, so that its CTAs have several tiles."""


@dataclass(frozen=True)
class BytesCount(AccessCount):
    """An AccessCount of TMA, whose boxes cost no wavefronts here. bytes: to or from shared memory."""

    bytes: int = 0


def loads_of(major, size, parts, first, k):
    """[(coordinates, shared byte address)] of the boxes that `make_load`'s function moves, of all parts.

    The kernel's own code, with instructions that note their operands: size rows of A or columns of B from `first` on, and
    `hopper_parts.DEPTH` of K from k on, to address 0.

    >>> loads_of("K", 128, 2, 256, 64)
    [((64, 256, 0), 0), ((64, 320, 0), 8192)]
    >>> loads_of("MN", 128, 2, 256, 64)
    [((256, 64, 0), 0), ((320, 64, 0), 8192), ((256, 96, 0), 4096), ((320, 96, 0), 12288)]
    """
    moved = []

    def load(address, tensor_map, mbarrier, *coords):
        moved.append((tuple(int(c) for c in coords), int(address)))

    def load_multicast(address, tensor_map, mbarrier, ctas, *coords):
        load(address, tensor_map, mbarrier, *coords)

    names = {**vars(hopper_parts), "tma_load_3d": load, "tma_load_3d_multicast": load_multicast}
    make = FunctionType(hopper_parts.make_load.__code__, names, argdefs=hopper_parts.make_load.__defaults__)
    tile = make(major, size, parts)
    for part in range(parts):
        tile(0, None, 0, first, k, 0, part, 0)
    return moved


@dataclass(frozen=True)
class HopperPlan:
    """What a Hopper configuration does to shared memory, in the words of a `simlayout.Plan`."""

    config: Hopper

    @property
    def tile(self):
        """(rows, columns, depth) of the tile that a CTA, or a cluster, works on at a time."""
        config = self.config
        return config.cluster_m * config.tile_m, config.cluster_n * config.tile_n, hopper_parts.DEPTH

    @property
    def accesses(self):
        """The accesses through emitted index functions."""
        return (store_access(self.config),) if self.config.store == "tma" else ()

    def predict(self, M, N, K, sms=CPU_SMS):
        """The Prediction of one product; a K step's clocks are of wgmma, and of the wavefronts that read its operands."""
        config, said = self.config, predict(self.config, M, N, K)
        steps = -(-K // hopper_parts.DEPTH)
        stages = config.sharing * config.tiles(M, N) * steps
        wgmmas, wavefronts = 4 * config.row_bands, operand_wavefronts(config.wgmma)[0]
        boxes = sum(len(loads_of(major, size, cluster, 0, 0)) // cluster for major, size, cluster in self._loads)
        counts = [BytesCount("load A, B", "cp.async.bulk.tensor", stages * boxes, 0, 0,
                             bytes=4 * said.bank_writes - 512 * said.stores),
                  AccessCount("multiply", config.wgmma, 4 * stages * wgmmas, *[said.operand_wavefronts] * 2)]
        for access in self.accesses:
            stored = said.stores * 16 // (4 * config.box_n)
            counts += [AccessCount("stage C", access.instruction, said.stores, *[said.store_wavefronts] * 2),
                       BytesCount("store C", "cp.async.bulk.tensor.global", stored, 0, 0, bytes=512 * said.stores)]
        return Prediction(tuple(counts), config.grid(M, N, K, 1, sms), steps, wgmmas * wavefronts,
                          wgmmas * config.tile_n / 2)

    @property
    def _loads(self):
        """(major, rows or columns, CTAs that share the load) of A and of B."""
        config = self.config
        of_b = config.operands[1].rows
        return (config.a_major, config.tile_m, config.cluster_n), (config.b_major, of_b, config.cluster_m)

    def prove(self):
        """Certificates by name: that wgmma reads A and B where the kernel's loads put them; what is staged of C.

        Raises VerificationError.
        """
        config, first, k, made = self.config, 384, 128, {}
        parts = config.row_bands, 1
        for name, (major, size, cluster), tile, box, count in zip("AB", self._loads, config.operands, config.boxes(), parts):
            rows = tile.rows if name == "A" else config.tile_n
            tensor = TensorMap(config.dtype, (8192, 8192, 1), (16384, 16384), box, swizzle=128)
            loads = loads_of(major, size, cluster, first, k)
            for part in range(count):                    # bands of 64 rows of A; all columns of B
                steps = [tile.descriptor(tile.bytes * part).encode() + (start >> 4) for start in tile.starts]
                made[name] = prove_operand(tensor, loads, steps, rows, (first + rows * part, k), major)
        for access in self.accesses:
            made[access.name] = verify(access)
            _as_emitted(access)
        return made


def _as_emitted(access):
    """Raises VerificationError where the emitted function that the kernel calls is not the access's."""
    function = emitted_function(access)
    if (function(*access.points()) != access.offsets() * dtype_of(access.dtype).bytes).any():
        raise VerificationError(f"cuda_kernels.emitted.wgmma.{function.__name__} is out of date: run "
                                "`python -m cuda_kernels.emitted`")


@dataclass(frozen=True)
class HopperKernel:
    """A wgmma kernel with the interface of a Kernel: C = A @ B.T for A (M, K) and B (N, K), both f16; C (M, N) f16.

    options: its Hopper configuration.
    """

    name: str
    summary: str
    options: Hopper

    def variant(self, **changes):
        """The same kernel with other options. Raises SimlayoutError for what does not fit."""
        return with_options(self, changes)

    def fitted(self, M, N, K):
        """The variant for a problem: C is stored directly where its rows do not start on 16 bytes."""
        return self if N % 8 == 0 or self.options.store == "direct" else self.variant(store="direct")

    @cached_property
    def plan(self):
        """The HopperPlan."""
        return HopperPlan(self.options)

    @property
    def proves(self):
        """What `prove` proves, as a sentence."""
        of_c = "; C is staged without conflicts" if self.plan.accesses else ""
        return f"A, B: wgmma reads every element where the kernel's TMA loads put it{of_c}"

    def prove(self):
        """See HopperPlan.prove."""
        return self.plan.prove()

    def described(self, M, N, K, sms):
        """(the plan, its bounds) as text."""
        config, said = self.options, self.plan.predict(M, N, K, sms)
        stages = f"{config.stages} stage{'s' * (config.stages > 1)}"
        plan = (f"tile {config.tile_m}x{config.tile_n}x{hopper_parts.DEPTH}, {config.block} threads, {stages} and "
                f"{config.shared_bytes} bytes of shared memory per CTA; CTAs: {said.ctas}, tiles: "
                f"{config.sharing * config.tiles(M, N)}, K steps: {said.steps}")
        return plan, (f"{said.mma_clocks:.0f} clocks of wgmma, {said.shared_clocks} of shared memory for its operands per K "
                      f"step of a CTA: bound by {'wgmma' if said.bound == 'mma' else said.bound}")

    def run(self, a, b, device="auto", progress=None, hazards="raise"):
        """a @ b.T, a Run; arguments and errors as of `cuda_kernels.run.run`."""
        from cuda_kernels.launch import gpu_problem

        problem = problem_of(a, b)
        kernel = self.fitted(problem.M, problem.N, problem.K)
        if device == "gpu" or (device == "auto" and gpu_problem() is None):
            return kernel._run_gpu(a, b, problem)
        return run_hopper(kernel.options, _in_lines(a), _in_lines(b).T, CPU_SMS, progress, hazards)

    def _run_gpu(self, a, b, problem):
        if missing := hopper_problem():
            raise DeviceError(missing)
        from numba import cuda

        from cuda_kernels.launch import device_name
        from cuda_kernels.matmul import matmul

        x, y = cuda.to_device(np.ascontiguousarray(a)), cuda.to_device(np.ascontiguousarray(b).T)
        c = cuda.to_device(np.full((problem.M, problem.N), np.nan, np.float16))
        matmul(x, y, c, kernel=self.options)
        cuda.synchronize()
        return Run(c.copy_to_host(), device_name())


def hopper_problem():
    """Why no wgmma kernel can run on a GPU here, as a sentence; None if one can."""
    from cuda_kernels.launch import compute_capability, gpu_problem

    if problem := gpu_problem():
        return problem
    major, minor = compute_capability()
    if (major, minor) != (9, 0):
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
"""The wgmma kernels by name."""
