"""A wgmma + TMA GEMM for Hopper as a configuration: what is constant in its kernel, and how it is compiled and launched."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import import_module

from cuda_kernels.intrinsics.wgmma import wgmma_steps
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.last_wave import cut_tiles, slots
from cuda_kernels.kernels.hopper.order import order_of
from cuda_kernels.kernels.hopper.parts import depth_of, load_box
from cuda_kernels.kernels.hopper.places import BARRIERS
from cuda_kernels.kernels.hopper.rules import CHOICES, ONLY, check
from cuda_kernels.kernels.hopper.scales import grains_of, scales_of_stage
from cuda_kernels.kernels.hopper.sectors import LAP, STAGING_BYTES
from cuda_kernels.kernels.hopper.slices import exchanged_bytes
from cuda_kernels.kernels.hopper.split import cutting_of, piece_bytes
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.matrix.operand_tile import K_BYTES, OperandTile
from simlayout.hardware.tables.arch import LANES

PRODUCER_REGISTERS = 40
"""Of a producer's thread once the consumers have taken the rest: ptxas keeps to it, and spills in clusters with 24."""

SCALES_REGISTERS = {False: 48, True: 64}
"""The same where the producer copies scales, too, by whether the configuration is grouped: with 40 it spilled 4 and 44
bytes, grouped with 56 8."""

_tile = lru_cache(None)(OperandTile)
"""There are few, and the candidates ask for theirs thousands of times when they are made."""


@dataclass(frozen=True)
class Hopper:
    """A configuration of a wgmma kernel: C = A B of matrices of 16 or 8 bits, with f32 accumulation, or s32 of integers.
    Raises SimlayoutError for options that there are not, or that do not go together (`rules`).

    The tile of C that a CTA makes, and how it is made:
    - tile_m, tile_n: its rows, 64 to 256, and its columns, a multiple of 8 to 256; K is taken in stages of `depth`, of which
      `stages` are in shared memory;
    - bands: of 64 rows that each of the `consumers`, which are warpgroups, multiplies, one behind the other; producer: warps
      of the producer, 4 or 1; move_registers: two or more consumers take the registers of 4 such warps (setmaxnreg);
    - pingpong: two consumers take turns, each with a whole tile: while one stores its tile, the other multiplies the next;
    - body: "wgmma_persistent" (a producer and consumers), "wgmma_tma" (one warpgroup, one stage) or "mma_tma" (mma.sync in
      all warps, one of which loads, too).

    The operands:
    - dtype: "f16", "bf16" or, K-major alone, "e4m3", "e5m2", "s8" or "u8"; b_dtype: of B, where it is the other 8-bit type
      of A's kind; out: of C: "f16", "bf16", "f32" or, of integers that are not scaled, "s32";
    - a_major, b_major: "K" or "MN", the contiguous dimension of an operand; c_major: "N" or "M", that of C;
    - scaled: "" or how elements of C are scaled (`scales`); epilogue: what else is done to them, in words (`epilogue`);
    - grouped: the rows of A (where c_major is "M" the columns of B) belong to groups with a matrix each (`walk`).

    How C is stored:
    - store: "tma" (C of 16 bits whose lines start on 16 bytes), "sectors" (the same, line by line) or "direct" (any C);
    - buffers: staging buffers (64 x `box_n`) per consumer; box: columns of such a buffer (0: the most that divide the tile).

    Which CTA works on what:
    - persistent: as many CTAs as the GPU holds walk over the tiles, else there is one per tile; resident: CTAs that an SM
      holds; group: rows of tiles walked together, of a grouped product tiles along the rows of a group;
    - cluster_m, cluster_n: CTAs of a cluster with tiles below one another, which share the loads of B, and beside one
      another, which share those of A;
    - split: tiles may be cut along K; slices: CTAs of a cluster that compute one tile, each a part of K;
    - early: the CTAs of the next kernel in the stream, if that was launched to overlap, may take SMs that are free once all
      CTAs of this one have begun; without it they come when all of these have ended. Either way they wait until this kernel
      has ended and what it wrote is there.
    """

    tile_m: int = 128
    tile_n: int = 256
    stages: int = 4
    buffers: int = 2
    box: int = 0
    group: int = 8
    a_major: str = "K"
    b_major: str = "K"
    c_major: str = "N"
    dtype: str = "f16"
    b_dtype: str = ""
    scaled: str = ""
    epilogue: str = ""
    out: str = "f16"
    store: str = "tma"
    split: bool = False
    persistent: bool = True
    producer: int = 4
    move_registers: bool = True
    cluster_m: int = 1
    cluster_n: int = 1
    slices: int = 1
    resident: int = 1
    bands: int = 1
    pingpong: bool = False
    grouped: bool = False
    early: bool = False
    body: str = "wgmma_persistent"

    def __post_init__(self):
        check(self)

    @property
    def changes(self):
        """What differs from the default configuration, {option: value}.

        >>> Hopper(tile_n=128, stages=6).changes
        {'tile_n': 128, 'stages': 6}
        """
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    @property
    def consumers(self):
        """Warpgroups that multiply."""
        return 2 if self.body == "mma_tma" or self.pingpong else self.row_bands // self.bands

    @property
    def tile_consumers(self):
        """Of these, those that multiply one tile."""
        return 1 if self.pingpong else self.consumers

    @property
    def row_bands(self):
        """Bands of 64 rows of the tile, those of all consumers."""
        return self.tile_m // 64

    @property
    def accumulators(self):
        """Sums per thread of a consumer."""
        return self.tile_m * self.tile_n // (128 * self.tile_consumers)

    @property
    def block(self):
        """Threads per CTA: the consumers, and the producer where it is not one of them."""
        return 128 * self.consumers + (LANES * self.producer if self.body == "wgmma_persistent" else 0)

    @property
    def sharing(self):
        """CTAs that share loads."""
        return self.cluster_m * self.cluster_n

    @property
    def cluster_ctas(self):
        """CTAs per cluster."""
        return self.sharing * self.slices

    @property
    def registers(self):
        """(of the producer, of a consumer) per thread, after they have been moved; None where they are not."""
        if not self.move_registers or self.consumers == 1 or self.producer == 1:
            return None
        own = SCALES_REGISTERS[self.grouped] if grains_of(self.scaled) else PRODUCER_REGISTERS
        more = (self.launch_registers * self.block - own * 128) // (128 * self.consumers)
        return own, min(240, more // 8 * 8)

    @property
    def launch_registers(self):
        """Registers per thread that leave room for `resident` CTAs: each quarter of an SM has 512 for a lane of all its
        warps."""
        warps = -(-self.resident * self.block // 128)
        return min(255, 512 // warps // 8 * 8)

    @property
    def consumer_registers(self):
        """Registers per thread of a consumer. Those that it takes over count for what no wgmma takes as operands, a second
        band or promoted sums: an instruction must do with what there is at the launch (ptxas C7602)."""
        more = self.bands > 1 or grains_of(self.scaled)
        return self.registers[1] if more and self.registers else self.launch_registers

    @property
    def majors(self):
        """Orders of operands that the kernel takes: "K", and where it can, "MN"."""
        return ONLY.get(self.body, {}).get("a_major", CHOICES["a_major"])

    @property
    def types(self):
        """The dtypes of A and B."""
        return self.dtype, self.b_dtype or self.dtype

    @property
    def accumulates(self):
        """The type in which the tensor core adds up: "f32", or "s32" of integers."""
        return TYPES[self.dtype].accumulators[0]

    @property
    def sums(self):
        """The type of what is stored in C: of the tensor core's sums, or "f32" where these are promoted."""
        return "f32" if grains_of(self.scaled) else self.accumulates

    @property
    def depth(self):
        """Elements of K per stage."""
        return depth_of(self.dtype)

    @property
    def wgmma(self):
        """The wgmma that a warpgroup issues."""
        return f"wgmma.m64n{self.tile_n}k{K_BYTES // TYPES[self.dtype].bytes}.{self.accumulates}.{'.'.join(self.types)}"

    @property
    def operands(self):
        """What one wgmma k-chunk reads: the OperandTiles of 64 rows of A and of all columns of B, which in an
        MN-major order are loaded by 64."""
        cols = self.tile_n if self.b_major == "K" else -(-self.tile_n // 64) * 64
        of_a, of_b = self.types
        return _tile(64, self.depth, of_a, self.a_major), _tile(cols, self.depth, of_b, self.b_major)

    @property
    def multiply(self):
        """The instruction that multiplies a stage."""
        a, b = self.operands
        bands = tuple(a.bytes * i for i in range(1 if grains_of(self.scaled) else self.bands))
        return wgmma_steps(self.wgmma, a.starts, b.starts, int(self.a_major == "MN"), int(self.b_major == "MN"), bands)

    @property
    def stage_bytes(self):
        """Bytes that TMA brings per stage."""
        a, b = self.operands
        return self.row_bands * a.bytes + b.bytes

    @property
    def box_n(self):
        """Columns of a staging buffer, and of the boxes in which TMA stores C."""
        return self.box or widest_box(self.tile_n, self.c_major)

    @property
    def box_starts(self):
        """First columns of the boxes. Where these do not divide the tile the last one begins earlier, and stores columns of
        the one before again."""
        return tuple(min(first, self.tile_n - self.box_n) for first in range(0, self.tile_n, self.box_n))

    @property
    def step_n(self):
        """Columns from tile to tile of C: a tile's, or fewer where tiles overlap."""
        return self.tile_n - LAP if self.store == "sectors" else self.tile_n

    @property
    def staged_blocks(self):
        """How many blocks of 16 columns a warp stages of its rows of C; those of two boxes twice."""
        return {"tma": len(self.box_starts) * self.box_n // 16, "sectors": -(-self.tile_n // 16), "direct": 0}[self.store]

    @property
    def staging_bytes(self):
        """Bytes of shared memory in which one consumer stages C."""
        by_boxes, by_sectors = staged_bytes(self.box_n, self.buffers), self.buffers * STAGING_BYTES
        return {"tma": by_boxes, "sectors": by_sectors, "direct": 0}[self.store]

    @property
    def exchanged_bytes(self):
        """Bytes of shared memory in which one consumer gets the parts of its sums that slices send."""
        return exchanged_bytes(self.tile_n, self.slices)

    @property
    def come_bytes(self):
        """Bytes of the mbarriers that count these, one per consumer."""
        return 8 * self.consumers * (self.slices > 1)

    @property
    def scale_bytes(self):
        """Bytes of shared memory for the scales of a stage: f32 of all rows and columns of the tile, or CHUNKs of
        columns."""
        return 4 * scales_of_stage(self) if grains_of(self.scaled) else 0

    @property
    def lines_scales(self):
        """How many scales of rows and columns, f32, each consumer has in shared memory for the tile that it works on."""
        return 64 * self.bands + self.tile_n if self.scaled == "lines" else 0

    @property
    def shared_bytes(self):
        """Dynamic shared memory per CTA, in bytes: stages, staging, what slices send, mbarriers, scales."""
        of_stages = self.stages * (self.stage_bytes + BARRIERS + self.scale_bytes)
        of_consumers = self.consumers * (self.staging_bytes + self.exchanged_bytes + 4 * self.lines_scales)
        return of_stages + of_consumers + self.come_bytes

    @property
    def python(self):
        """The kernel's Python function."""
        return import_module(f"cuda_kernels.kernels.hopper.{self.body}").make_body(self)

    def boxes(self):
        """The boxes of the maps of A, B and C, innermost first, in elements; `swizzles` go with them."""
        a = load_box(self.a_major, self.tile_m, self.dtype, self.cluster_n)
        b = load_box(self.b_major, self.tile_n, self.dtype, self.cluster_m)
        return a, b, (self.box_n, 64, 1) if self.c_major == "N" else (64, self.box_n, 1)

    @property
    def windows(self):
        """Whether a window slides over the rows in the maps of A, B and C, so that boxes end where a group does: where these
        have the rows of groups."""
        return *self.turned(self.grouped, False), self.grouped and self.store == "tma"

    @property
    def swizzles(self):
        """Bytes of the swizzle of the maps of A, B and C."""
        return 128, 128, 2 * self.box_n if self.c_major == "N" else 128

    def turned(self, first, second):
        """What belongs to the rows and the columns of C, for the C that the kernel makes: the transpose where c_major is
        "M"."""
        return (first, second) if self.c_major == "N" else (second, first)

    def taking(self, types, out, majors=None, scaled="", epilogue=""):
        """The configuration for operands of two dtypes, and results of another, whose contiguous dimensions are `majors`,
        "K" or "MN" of each, in the order of the product; scaled, epilogue: as the options, in that order too."""
        a_major, b_major = self.turned(*majors) if majors else (self.a_major, self.b_major)
        of_a, of_b = self.turned(*types)
        if grains := grains_of(scaled):
            scaled = "{}x{}".format(*self.turned(*grains))
        if epilogue in EPILOGUES and self.c_major == "M":
            epilogue = str(EPILOGUES[epilogue].transposed)
        return replace(self, a_major=a_major, b_major=b_major, dtype=of_a, b_dtype="" if of_b == of_a else of_b, out=out,
                       scaled=scaled, epilogue=epilogue, store="direct" if TYPES[out].bytes == 4 else self.store)

    def tiles(self, M, N, matrices=1):
        """Tiles of C, those of a cluster counted once; the most that there may be where `matrices` are groups of rows."""
        if self.grouped:
            rows, cols = self.group_grid(M, N, matrices)
            return rows * cols
        rows, cols = self.tile_grid(M, N)
        return rows * cols * matrices

    def tile_grid(self, M, N):
        """(rows, columns) of tiles of C, those of a cluster counted once."""
        return -(-M // (self.tile_m * self.cluster_m)), -(-N // (self.step_n * self.cluster_n))

    @property
    def group_height(self):
        """Rows of a tile of a grouped product, those of a cluster together."""
        return self.turned(self.tile_m * self.cluster_m, self.tile_n * self.cluster_n)[0]

    def group_grid(self, M, N, groups):
        """(the most tiles that the rows of so many groups may take, how many lie beside each of these), those of a cluster
        counted once: of each group one tile may be in part empty.

        >>> Hopper(tile_m=64, tile_n=128, grouped=True).group_grid(1000, 512, 8)
        (23, 4)
        """
        rows = self.turned(M, N)[0]
        return rows // self.group_height + min(groups, rows), self.turned(*self.tile_grid(M, N))[1]

    def slots(self, sms=132):
        """Units of work that a GPU with `sms` SMs does at a time: CTAs, or clusters of those that share loads."""
        return int(slots(self, sms))

    def cut(self, M, N, K, matrices=1, sms=132):
        """(whole tiles, parts of each of the others) for a GPU with `sms` SMs: what the kernel takes as `whole` and `parts`.

        Full waves of tiles stay whole; the rest is cut: into `slices`, if they fit into the last wave, or, with split, so
        that its parts fill the last wave, as far as that is sooner.
        """
        whole, parts = cut_tiles(self, self.tiles(M, N, matrices), self.slots(sms), -(-K // self.depth))
        return int(whole), int(parts)

    def grid(self, M, N, K, matrices=1, sms=132):
        """CTAs: one per tile, or, persistent, as many as fit or one per unit of work where there are fewer."""
        whole, parts = self.cut(M, N, K, matrices, sms)
        units = whole + parts * (self.tiles(M, N, matrices) - whole)
        if self.persistent:
            units = min(self.slots(sms), -(-units // self.slices) * self.slices)
        return self.sharing * units

    def workspace(self, M, N, K, matrices=1, sms=132):
        """(bytes of workspace, bytes of counters, which must be zero) for the tiles that are cut."""
        whole, parts = self.cut(M, N, K, matrices, sms)
        if not self.split:
            return 0, 0
        cut = self.sharing * self.row_bands * (self.tiles(M, N, matrices) - whole)
        return piece_bytes(self.tile_n) * cut * parts, 8 * cut

    def order(self, M, N, matrices, whole, parts):
        """The order of tiles, of `order_of`, and the dividers of `cutting_of`: what the kernel takes last."""
        grid = self.group_grid(M, N, matrices) if self.grouped else self.tile_grid(M, N)
        return *order_of(*grid, self.group), *cutting_of(self.tiles(M, N, matrices), whole, parts)[3:]

    @property
    def program(self):
        """What is compiled: the configuration without what is only passed to the kernel."""
        return replace(self, group=Hopper.group, early=Hopper.early)


def widest_box(columns, c_major):
    """Columns of the widest box that divides so many: stmatrix.x4 moves 16. Rows of C are swizzled by 32, 64 or 128 bytes,
    columns of 64 rows by 128."""
    sizes = (64, 32) if c_major == "N" else (64, 48, 32)
    return next((n for n in sizes if columns % n == 0), 16)


def staged_bytes(box, buffers):
    """Bytes of so many staging buffers of 64 rows and so many columns, of 16 bits."""
    return 128 * box * buffers


HOPPER = {
    "wgmma_tma": Hopper(tile_m=64, tile_n=64, stages=1, store="direct", persistent=False, body="wgmma_tma"),
    "wgmma_specialized": Hopper(tile_n=128, stages=5, group=1, store="direct", persistent=False, move_registers=False),
    "wgmma_persistent": Hopper(),
    "mma_tma": Hopper(192, 256, cluster_m=2, store="direct", persistent=False, move_registers=False, body="mma_tma"),
}
"""The kernels by name: TMA and wgmma alone; with a producer and consumers; persistent, with a store through TMA; and
mma.sync with operands from TMA."""
