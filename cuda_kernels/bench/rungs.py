"""The ladder: every GEMM of the tutorials, one change per rung, with the share of cuBLAS that its authors published.

A Rung is a kernel of this project. These kernels do not have the races of the published ones (see
`tests/kits/seed_kernels.py`).
"""

from dataclasses import dataclass
from functools import cached_property

from cuda_kernels.kernels import KERNELS
from simlayout.kernel import Kernel, Problem

A100 = "A100 PCIe 80 GB, 5376 x 5376 x 2048"
CUBLAS_A100 = 156.726
"""TFLOP/s of cuBLAS there (MatmulTutorial)."""

SIZE = 8192
"""M, N and K of what rungs are predicted for."""

H100 = "H100 SXM, 4096 x 4096 x 4096, bf16"


@dataclass(frozen=True)
class Rung:
    """A rung of the ladder.

    seed: whose it is; name: of the published kernel; changed: what is new in it; kernel: its Kernel;
    published: its share of cuBLAS where its authors measured it, None if they published none, and on what: where.
    """

    seed: str
    name: str
    changed: str
    kernel: Kernel
    published: float | None = None
    where: str = ""

    @property
    def label(self):
        """What rows of a benchmark call it."""
        return f"{self.seed} {self.name}: {self.changed}"

    @cached_property
    def _planned(self):
        """Its plan for SIZE^3, and what that predicts."""
        plan = self.kernel.fitted(Problem(SIZE, SIZE, SIZE)).plan
        return plan, plan.predict(SIZE, SIZE, SIZE)

    @property
    def excess(self):
        """{access: excess wavefronts per warp instruction} at SIZE^3, of the accesses through index functions with any."""
        plan, predicted = self._planned
        excess_of = {a.name: predicted.count(a.name).excess_per_instruction if a.source else float(a.analyze().excess.mean())
                     for a in plan.accesses}
        return {name: excess for name, excess in excess_of.items() if excess}

    def bounds(self):
        """(clocks of the shared memory, clocks of mma or wgmma) per K step of a CTA: the larger one bounds the kernel."""
        _, predicted = self._planned
        return predicted.shared_clocks, predicted.mma_clocks


def _matmul_tutorial():
    blocks = KERNELS["mma_blocks"].variant(fragments=1, serpentine=False, addresses="written")
    cross = KERNELS["mma_crosswise"].variant(fragments=1, serpentine=False)
    wide = cross.variant(warps=8)
    steps = (
        ("v00", "wmma 16x16x16, copied 2 bytes at a time", blocks.variant(loads="wmma", copies="elements"), 26.50),
        ("v02", "four stages of cp.async", blocks.variant(loads="wmma"), 102.28),
        ("v03", "mma m16n8k8, fragments by plain loads", blocks.variant(mma="m16n8k8", loads="lds"), 88.44),
        ("v04", "fragments by ldmatrix", blocks.variant(mma="m16n8k8"), 79.58),
        ("v05", "mma m16n8k16", blocks, 80.01),
        ("v06", "simplified addresses, plain loads", blocks.variant(addresses="emitted", loads="lds"), 97.11),
        ("v07", "simplified addresses, ldmatrix", blocks.variant(addresses="emitted"), 88.80),
        ("v08", "8 warps, 2 x 4, plain loads", blocks.variant(addresses="emitted", loads="lds", warps=8), 88.32),
        ("v09", "crosswise shared memory", wide.variant(loads="lds"), 110.74),
        ("v10", "crosswise with ldmatrix", wide, 106.94),
        ("v11", "8 warps, 2 x 2 x 2: two groups along K", wide.variant(split_k=True), 87.80),
        ("v12", "4 warps, A by plain loads, B by ldmatrix", cross.variant(loads="mixed"), 132.45),
        ("v12+", "two buffers of fragments", cross.variant(loads="mixed", fragments=2), None),
        ("v13", "serpentine mma, rolled outer loop", cross.variant(loads="mixed", fragments=2, serpentine=True), 141.09),
        ("v13+", "all by ldmatrix", cross.variant(fragments=2, serpentine=True), None),
    )
    return [Rung("MatmulTutorial", name, changed, kernel, tflops and tflops / CUBLAS_A100, A100)
            for name, changed, kernel, tflops in steps]


def _cuda_hgemm():
    base, padded, permuted = (KERNELS[name] for name in ("mma_base", "mma_padded", "mma_permuted"))
    steps = (
        ("mma_base", "one stage, through registers", base.variant(stages=1)),
        ("mma_async", "cp.async, two stages", base.variant(stages=2)),
        ("mma_padded", "8 halves of padding", padded.variant(stages=2)),
        ("mma_permuted", "chunks rotated by the line", permuted.variant(stages=2)),
        ("mma_async_stage3", "three stages", permuted.variant(stages=3)),
        ("mma_async_stage4", "four stages", permuted.variant(stages=4)),
        ("mma_async_stage4+", "stripes walked back and forth", permuted.variant(stages=4, stripes="serpentine")),
    )
    return [Rung("cuda_hgemm", *step) for step in steps]


def _here():
    steps = (("mma_swizzled", "chunks of 64: half the barriers, whole 128-byte lines", KERNELS["mma_swizzled"]),
             ("mma_tma", "operands by TMA, shared by clusters of 2; 96x64 per warp", KERNELS["mma_tma"]))
    return [Rung("simlayout", *step) for step in steps]


def _fast_cu():
    from cuda_kernels.bench.steps import PUBLISHED_CUBLAS, ladder

    return [Rung("fast.cu", f"step {i}", step.name, config, step.published and step.published / PUBLISHED_CUBLAS, H100)
            for i, (step, config) in enumerate(ladder(), 1) if config]


SEEDS = {"MatmulTutorial": _matmul_tutorial, "cuda_hgemm": _cuda_hgemm, "simlayout": _here, "fast.cu": _fast_cu}
"""Whose ladders there are: two tutorials', what this project adds to mma.sync, and fast.cu's."""


def rungs(seed=None):
    """The Rungs of a seed, or all.

    >>> [r.name for r in rungs("cuda_hgemm")][:3]
    ['mma_base', 'mma_async', 'mma_padded']
    """
    return [rung for name, make in SEEDS.items() if seed in (None, name) for rung in make()]
