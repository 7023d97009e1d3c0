"""The kernels for Hopper: a configuration with what every Kernel says of itself."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from cuda_kernels.kernels.gemm import Gemm
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES, in_pairs
from cuda_kernels.kernels.hopper.finishing import Added, with_added
from cuda_kernels.kernels.hopper.grouping import checked_offsets, scales_of_groups, sizes_of
from cuda_kernels.kernels.hopper.scaling import scaled_by, scales_of, taken_by
from cuda_kernels.kernels.hopper.window import WINDOW
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import FEATURES
from simlayout.kernel import CPU_SMS, Argument, LaunchShape, Map, Pointer

COLUMNS_BY_BOXES = 128
"""Columns of a tile at most that is not stored by sectors after all: to store one without them takes more registers."""

SUMMARIES = {
    "wgmma_tma": "TMA and wgmma alone: one warpgroup loads, waits and multiplies; nothing overlaps",
    "wgmma_specialized": "a producer keeps TMA loads in flight while two warpgroups multiply; one tile per CTA",
    "wgmma_persistent": "CTAs that stay on their SM walk over the tiles of C and store them through stmatrix and TMA",
    "mma_tma": "mma.sync with operands from TMA, shared by the CTAs of a cluster; 96x64 per warp",
}


def _map(i):
    """The value of the tensor map of A, B or C: C's is not used where C is stored directly."""
    def value(kernel, problem):
        config = kernel.options
        if i == 2 and config.store != "tma":
            return None
        return Map("abc"[i], config.boxes()[i], config.swizzles[i], kernel.dtypes[i], WINDOW * config.windows[i])
    return value


@lru_cache(4096)
def _cut(config, M, N, K, matrices, sms):
    """(whole tiles, parts of each of the others, order of tiles and dividers): what the last arguments are made of."""
    whole_tiles, parts = config.cut(M, N, K, matrices, sms)
    return whole_tiles, parts, config.order(M, N, matrices, whole_tiles, parts)


def cut(kernel, problem):
    """`_cut` of a kernel's problem."""
    return _cut(kernel.options, problem.M, problem.N, problem.K, problem.matrices, problem.sms)


def _ordered(i):
    """The value of number i of `Hopper.order`."""
    return lambda kernel, problem: cut(kernel, problem)[2][i]


SIGNATURE = (
    Argument("map_a", "map", "tensor map of A", _map(0)),
    Argument("map_b", "map", "tensor map of B", _map(1)),
    Argument("map_c", "map", "tensor map of C, where TMA stores it", _map(2)),
    Argument("c", "u64", "address of C", lambda kernel, problem: Pointer("c")),
    Argument("M", "s32", "rows of A", lambda kernel, problem: problem.M),
    Argument("N", "s32", "columns of B", lambda kernel, problem: problem.N),
    Argument("K", "s32", "depth of the product", lambda kernel, problem: problem.K),
    Argument("matrices", "s32", "products", lambda kernel, problem: problem.matrices),
    Argument("batched_a", "s32", "whether each has its own A", lambda kernel, problem: int(problem.step_a > 0)),
    Argument("batched_b", "s32", "whether each has its own B", lambda kernel, problem: int(problem.step_b > 0)),
    Argument("ldc", "s32", "elements from line to line of C", lambda kernel, problem: kernel.leading(problem)[2]),
    Argument("matrix_c", "u64", "bytes from one C to the next", lambda kernel, problem: problem.step_c),
    Argument("whole", "s32", "tiles that are not cut along K", lambda kernel, problem: cut(kernel, problem)[0]),
    Argument("parts", "s32", "parts of each of the others", lambda kernel, problem: cut(kernel, problem)[1]),
    Argument("workspace", "u64", "where parts of tiles meet", lambda kernel, problem: Pointer("split")),
    Argument("counters", "u64", "how many parts have come", lambda kernel, problem: Pointer("counters")),
    Argument("group", "s32", "rows of tiles that are walked together", _ordered(0)),
    Argument("by_matrix", "u64", "divider by the tiles of a matrix", _ordered(1)),
    Argument("by_group", "u64", "divider by the tiles of a group", _ordered(2)),
    Argument("by_rows", "u64", "divider by the rows of a group", _ordered(3)),
    Argument("by_last", "u64", "divider by the rows of the last group", _ordered(4)),
    Argument("by_parts", "u64", "divider by the parts of a tile", _ordered(5)),
    Argument("by_left", "u64", "divider by the tiles that are cut", _ordered(6)),
    Argument("early", "s32", "whether the next kernel may begin early", lambda kernel, problem: int(kernel.options.early)),
)
"""The arguments of all bodies. Dividers: see `order.divider`."""

SCALES = (
    Argument("scale_a", "u64", "address of the scales of A", lambda kernel, problem: Pointer("scale_a")),
    Argument("step_scale_a", "s32", "bytes from one to the next along its rows",
             lambda kernel, problem: problem.step_scale_a),
    Argument("deep_scale_a", "s32", "bytes from one to the next along K", lambda kernel, problem: problem.deep_scale_a),
    Argument("scale_b", "u64", "address of the scales of B", lambda kernel, problem: Pointer("scale_b")),
    Argument("step_scale_b", "s32", "bytes from one to the next along its columns",
             lambda kernel, problem: problem.step_scale_b),
    Argument("deep_scale_b", "s32", "bytes from one to the next along K", lambda kernel, problem: problem.deep_scale_b),
)
"""The last arguments of a body with scales."""

GROUPS = {
    "by_matrix": Argument("offsets", "u64", "address of the numbers of the rows behind each group",
                          lambda kernel, problem: Pointer("offsets")),
    "by_rows": Argument("step_groups", "u64", "bytes from the scales of a group's B to those of the next",
                        lambda kernel, problem: problem.step_groups),
}
"""What a grouped body takes in the place of dividers that it has no use for."""


def _bits(name):
    """The value of alpha or beta: the bits of its f32."""
    return lambda kernel, problem: int(np.float32(getattr(problem, name)).view(np.uint32))


def _read(name):
    """The value of an array that an epilogue reads; 0 where it does not."""
    return lambda kernel, problem: Pointer(name) if name in EPILOGUES[kernel.options.epilogue].reads else 0


FINISH = (
    Argument("alpha", "u32", "what elements are multiplied by, f32", _bits("alpha")),
    Argument("beta", "u32", "what the residual is multiplied by, f32", _bits("beta")),
    Argument("bias", "u64", "address of the bias", _read("bias")),
    Argument("residual", "u64", "address of the residual", _read("residual")),
    Argument("multiply", "u64", "address of what elements are multiplied by", _read("multiply")),
)
"""The last arguments of a body with an epilogue."""


@dataclass(frozen=True)
class HopperKernel(Gemm):
    """A kernel for Hopper. options: its configuration."""

    name: str
    summary: str
    options: Hopper

    stacks = True
    unit = 16
    """TMA reads lines that start on 16 bytes."""

    needs = FEATURES["wgmma"]

    @property
    def signature(self):
        """Its Arguments."""
        plain = tuple(GROUPS.get(a.name, a) for a in SIGNATURE) if self.options.grouped else SIGNATURE
        return plain + SCALES * bool(self.options.scaled) + FINISH * bool(self.options.epilogue)

    @property
    def dtypes(self):
        """Of A, B and C."""
        return *self.options.types, self.options.out

    @property
    def majors(self):
        """The contiguous dimensions of A, B and C."""
        config = self.options
        return config.a_major.replace("MN", "M"), config.b_major.replace("MN", "N"), config.c_major

    @property
    def claim(self):
        """What `prove` proves, as a sentence."""
        return self.plan.proves

    @property
    def body(self):
        """The kernel's Python function."""
        return self.options.python

    @property
    def block(self):
        """Threads per CTA."""
        return self.options.block

    @property
    def shared_bytes(self):
        """Dynamic shared memory per CTA, in bytes."""
        return self.options.shared_bytes

    @property
    def resident(self):
        """CTAs that an SM is to hold."""
        return self.options.resident

    @property
    def cluster(self):
        """CTAs of a cluster."""
        return self.options.cluster_ctas

    @property
    def compiled_as(self):
        """The kernel without what is only passed at the launch."""
        return HopperKernel(self.options.body, "", self.options.program)

    @cached_property
    def plan(self):
        """What it does to shared memory."""
        from cuda_kernels.kernels.hopper.plan import plan_of

        return plan_of(self.options)

    def prove(self):
        """The plan's certificates."""
        return self.plan.prove()

    def fitted(self, problem):
        """The variant for a problem: C is stored directly where no tensor map describes it, because C itself, a line or a
        matrix of it does not start on 16 bytes, or an epilogue would read pairs of an odd number of columns; and not by
        sectors where lines do not end on 16 bytes."""
        size, config = TYPES[self.options.out].bytes, self.options
        starts = problem.c, self.leading(problem)[2] * size, problem.step_c
        by_boxes = all(start % 16 == 0 for start in starts) and not (in_pairs(config) and problem.N % 2)
        by_sectors = by_boxes and problem.N * size % 16 == 0
        if {"tma": by_boxes, "sectors": by_sectors, "direct": True}[config.store]:
            return self
        narrower = {"tile_n": min(config.tile_n, COLUMNS_BY_BOXES)} if config.store == "sectors" else {}
        return self.variant(store="tma" if by_boxes else "direct", **narrower)

    def taking(self, types, out, majors=None, scaled="", epilogue=""):
        """The variant for operands of two dtypes, and results of another, whose contiguous dimensions are `majors`, "K" or
        "MN" of each; scaled, epilogue: Hopper's options, for the product. Where c_major is "M" it makes the transpose of C:
        its A is the product's B."""
        return self.with_options(self.options.taking(types, out, majors, scaled, epilogue))

    @property
    def grouped(self):
        """Whether groups of rows (of columns where C is stored by columns) have matrices of their own."""
        return self.options.grouped

    def work(self, a, b, *more, sms=CPU_SMS, packed=False):
        """The Work of a @ b. more: of a grouped kernel the offsets, int32 [groups], where a or, with C by columns, b has no
        groups and the other has; of a scaled kernel, the scales of A and of B, float32 arrays of the shapes of `scales_of`,
        of groups those of `scales_of_groups`; with an epilogue that reads something, an Added."""
        scaled, work = self.options.scaled, super().work(a, b, sms=sms, packed=packed)
        more, added = [x for x in more if not isinstance(x, Added)], [x for x in more if isinstance(x, Added)]
        if len(added) > 1:
            raise SimlayoutError(f"{len(added)} Addeds: this kernel takes one")
        if self.options.epilogue:
            work = with_added(work, *added or [Added()])
        elif added:
            raise SimlayoutError("an Added: this kernel has no epilogue (Hopper's option)")
        offsets, scales = (more[:1], more[1:]) if self.grouped else ((), more)
        if len(scales) != 2 * bool(scaled):
            taken = "two" if scaled else "none"
            raise SimlayoutError(f"{len(scales)} arrays of scales: this kernel takes {taken} (Hopper's option scaled)")
        if self.grouped:
            held = checked_offsets(offsets, work.problem.matrices, *self.options.turned(a.ndim, b.ndim))
            sizes = sizes_of(held, self.options.turned(work.problem.M, work.problem.N)[0])
            work = replace(work, arrays=work.arrays | {"offsets": held}, problem=replace(work.problem, sizes=sizes))
        return self._scaled(work, scales) if scaled else work

    def _scaled(self, work, scales):
        """A Work with arrays of scales."""
        scaled, problem, held = self.options.scaled, work.problem, {"scale_a": scales[0], "scale_b": scales[1]}
        held = {name: np.ascontiguousarray(x) for name, x in held.items()}
        own, step_groups, found = self.options.turned("scale_b", "scale_a")[0], 0, {}
        for (name, x), lines in zip(held.items(), (problem.M, problem.N)):
            described = name, x.shape, x.strides, x.dtype.name
            if self.grouped and name == own:
                found[name], step_groups = scales_of_groups(*described, problem.matrices, lines, problem.K)
            else:
                found[name] = scales_of(*described, lines, problem.K)
        if not taken_by(scaled, *found.values()):
            given = scaled_by(*found.values())
            raise SimlayoutError(f"the scales are for scaled = {given!r}, and this kernel's is {scaled!r}")
        problem = replace(problem, step_groups=step_groups, **{f"step_{name}": of.step for name, of in found.items()},
                          **{f"deep_{name}": of.deep for name, of in found.items()})
        return replace(work, problem=problem, arrays=work.arrays | {name: x.reshape(-1) for name, x in held.items()})

    def as_record(self):
        """Its configuration as plain values."""
        return asdict(self.options)

    def launch_shape(self, problem):
        """Its launch: one CTA per tile or, persistent, as many as the GPU holds."""
        config = self.options
        grid = config.grid(problem.M, problem.N, problem.K, problem.matrices, problem.sms)
        return LaunchShape((grid, 1, 1), self.block, self.shared_bytes, self.cluster, config.launch_registers,
                           together=config.split and cut(self, problem)[1] > 1)

    def workspace(self, problem):
        """Where parts of tiles meet, and their counters."""
        sizes = self.options.workspace(problem.M, problem.N, problem.K, problem.matrices, problem.sms)
        return dict(zip(("split", "counters"), sizes))

    def predict(self, problem):
        """What the plan predicts of a problem; the grid is for the problem's SMs. Raises SimlayoutError for a grouped one
        whose sizes are not known."""
        if not self.grouped:
            return self.plan.predict(problem.M, problem.N, problem.K, problem.sms, matrices=problem.matrices)
        if problem.sizes is None:
            raise SimlayoutError("what a grouped product costs depends on its groups: give the Problem their sizes")
        return self.plan.predict(problem.M, problem.N, problem.K, problem.sms, problem.sizes)

    def described(self, problem):
        """(the plan, its bounds) as text."""
        from cuda_kernels.kernels.hopper.accesses import tiles_of

        config, prediction, how = self.options, self.predict(problem), self.plan.multiply
        stages = f"{config.stages} stage{'s' * (config.stages > 1)}"
        plan = (f"tile {config.tile_m}x{config.tile_n}x{config.depth}, {config.block} threads, {stages} and "
                f"{config.shared_bytes} bytes of shared memory per CTA; CTAs: {prediction.ctas}, tiles: "
                f"{tiles_of(config, problem.M, problem.N, sizes=problem.sizes or ()).tiles}, K steps: {prediction.steps}")
        bound = how if prediction.bound == "mma" else prediction.bound
        return plan, (f"{prediction.mma_clocks:.0f} clocks of {how}, {prediction.shared_clocks} of shared memory for its "
                      f"operands per K step of a CTA: bound by {bound}")


def kernel_of(config):
    """The HopperKernel of a configuration."""
    return HopperKernel(config.body, SUMMARIES[config.body], config)


HOPPER_KERNELS = {name: HopperKernel(name, SUMMARIES[name], config) for name, config in HOPPER.items()}
"""The kernels for Hopper by name."""

