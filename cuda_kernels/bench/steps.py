"""The ladder of fast.cu, the published way from a first wgmma kernel to cuBLAS's speed, rebuilt with this project's
options.

Each Step is one published step, or one of this project's between or after them. `change` is the one option that it
changes, and `forced` has the options that must change with it, because otherwise the configuration is refused (a test
checks that).
"""

from dataclasses import dataclass, field, replace

SIZE, PUBLISHED_CUBLAS = 4096, 716
"""M = N = K of the published numbers, and cuBLAS's TFLOP/s beside them: bf16, one H100 SXM, CUDA 12.6 (WORKLOG)."""

WORKLOG = "https://cudaforfun.substack.com/p/outperforming-cublas-on-h100-a-worklog"
CODE = "https://github.com/pranjalssh/fast.cu"


@dataclass(frozen=True)
class Step:
    """A step of the ladder.

    name: what changes; published: TFLOP/s at SIZE, None if it was not published; source: of that number; change, forced:
    options of a Hopper configuration; why: for a step that has no counterpart here; kernel: of a step before the first
    configuration, its name.
    """

    name: str
    published: float | None = None
    source: str = ""
    change: dict = field(default_factory=dict)
    forced: dict = field(default_factory=dict)
    why: str = ""
    kernel: str = ""

    @property
    def published_share(self):
        """Of cuBLAS's speed in the same publication; None if there is no number."""
        return None if self.published is None else self.published / PUBLISHED_CUBLAS


FIRST = dict(tile_m=64, tile_n=64, stages=1, group=1, dtype="bf16", out="bf16", store="direct", persistent=False,
             move_registers=False, body="wgmma_tma")
"""Options of the first step's configuration."""

STEPS = (
    Step("warp tiling on CUDA cores", 32, f"{WORKLOG}, kernel 1", kernel="warptile"),
    Step("wgmma and TMA, tile 64x64", 317, f"{WORKLOG}, kernel 2"),
    Step("tile 64x128", 423, f"{WORKLOG}, kernel 3 (there 128x128)", {"tile_n": 128}),
    Step("a producer and a ring of 5 stages", 498, f"{WORKLOG}, kernel 4 (128x128)", {"body": "wgmma_persistent"},
         {"stages": 5}),
    Step("two consumers, tile 128x128", change={"tile_m": 128}),
    Step("tile 128x256", 610, f"{WORKLOG}, kernel 5 (3 stages)", {"tile_n": 256}, {"stages": 4}),
    Step("consumers take the producer's registers", 631, f"{WORKLOG}, kernel 5 with setmaxnreg", {"move_registers": True}),
    Step("persistent CTAs, tiles row by row", 400, f"{WORKLOG}, kernel 6 in naive order", {"persistent": True}),
    Step("tiles in groups of 8 rows", 660, f"{WORKLOG}, kernel 6 (groups of 16x8, 128 SMs)", {"group": 8}),
    Step("mbarriers written in PTX", 704, f"{WORKLOG}, kernel 7", why="ours are mbarriers in PTX from the first step on"),
    Step("clusters of 2 share the loads of B", 734, f"{WORKLOG}, kernel 8", {"cluster_m": 2}),
    Step("store order, cache hints, no zeroing", 747, f"{WORKLOG}, kernel 9",
         why="our first wgmma of a tile overwrites its accumulators from the first step on; C is stored without hints"),
    Step("C through shared memory and TMA", 758, f"{WORKLOG}, kernel 10 (st.shared; here stmatrix)", {"store": "tma"}),
    Step("tiles along a Hilbert curve", 764, f"{WORKLOG}, kernel 11", why="ours stay in groups of 8 rows"),
    Step("stmatrix into padded rows", 763, f"{CODE}, README, kernel 12", why="our stmatrix, two steps up, swizzles instead"),
    Step("without clusters", change={"cluster_m": 1}),
    Step("the last wave's tiles cut along K", change={"split": True}),
)


def ladder():
    """[(Step, Kernel)] from the first step on; None in the place of a kernel for a step without a counterpart.

    >>> [(step.name, kernel.options.tile_n) for step, kernel in ladder()[1:3]]
    [('wgmma and TMA, tile 64x64', 64), ('tile 64x128', 128)]
    """
    from cuda_kernels.kernels import KERNELS
    from cuda_kernels.kernels.hopper.config import Hopper
    from cuda_kernels.kernels.hopper.kernel import kernel_of

    rungs, config = [], Hopper(**FIRST)
    for step in STEPS:
        config = replace(config, **step.change, **step.forced)
        rungs.append((step, KERNELS[step.kernel] if step.kernel else None if step.why else kernel_of(config)))
    return rungs
