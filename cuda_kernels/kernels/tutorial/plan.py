"""Who touches what in MatmulTutorial's kernel: options, coordinates, accesses and the plan of a variant."""

from dataclasses import dataclass, field

from cuda_kernels.kernels.kernel import choice
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import LANES
from simlayout.plan import Plan
from simlayout.proofs import Access, Source

BLOCK, CHUNK_K, STAGES = 128, 32, 4
WARP_ROWS = 64

WMMA_STRIDE = 16
"""Elements from line to line of the blocks that wmma loads and stores."""


@dataclass(frozen=True)
class Options:
    """warps: 4 (64x64 each) or 8 (64x32 each, or with split_k 64x64 by two groups of 4, which take alternate k16 steps and
    add up at the end). copies: "async" (16 bytes by cp.async, four stages) or "elements" (2 bytes through a register, one
    stage). loads: fragments by "ldmatrix", by plain "lds", "mixed" (A plain, B by ldmatrix), or "wmma": wmma.load, wmma.mma
    and wmma.store of 16x16 blocks, which must lie in lines of one stride. mma: "m16n8k16" or "m16n8k8". fragments: buffers
    of them: 2, one is loaded while the other is multiplied, or 1. serpentine: whether every other row of mma goes backwards.
    addresses: "emitted" index functions, or the layout's formula as "written". c_store: "float2" (st.shared.b64) or
    "scalar". accumulate: "f16" or "f32". The rest is set by `Kernel.fitted`: ab_aligned, c_aligned: rows of A and B, of C,
    start on 16 bytes (C is stored by halves either way); whole: M, N and K are multiples of the tile, so no copy needs a
    guard."""

    warps: int = 4
    split_k: bool = False
    copies: str = "async"
    loads: str = "ldmatrix"
    mma: str = "m16n8k16"
    fragments: int = 2
    serpentine: bool = True
    addresses: str = "emitted"
    c_store: str = "float2"
    accumulate: str = "f32"
    ab_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False

    def __post_init__(self):
        allowed = dict(warps=(4, 8), split_k=(False, True), copies=("async", "elements"), mma=("m16n8k16", "m16n8k8"),
                       loads=("ldmatrix", "lds", "mixed", "wmma"), fragments=(1, 2), addresses=("emitted", "written"),
                       c_store=("float2", "scalar"), accumulate=("f16", "f32"))
        for name, values in allowed.items():
            choice(name, getattr(self, name), values)
        if self.loads == "wmma" and (self.c_store, self.accumulate) != ("float2", "f32"):
            raise SimlayoutError('loads="wmma" accumulates in f32 and stores pairs: set accumulate="f32", c_store="float2"')
        if self.mma == "m16n8k8" and (self.loads == "wmma" or self.accumulate != "f32"):
            raise SimlayoutError('mma="m16n8k8" needs accumulate="f32" and other loads than wmma, which is 16x16x16')
        if self.split_k and (self.warps != 8 or self.fragments != 1 or self.loads == "wmma" or self.c_store != "float2"
                             or self.accumulate != "f32"):
            raise SimlayoutError('split_k needs warps=8, fragments=1, c_store="float2", accumulate="f32" and other loads '
                                 "than wmma: each group has one k16 step of a chunk, and the groups add up pairs of f32")

    @property
    def stages(self):
        """Four with cp.async; one where copies go through registers: of elements, or where rows do not start on 16 bytes."""
        return STAGES if self.ab_aligned and self.copies == "async" else 1

    @property
    def groups(self):
        """Groups of warps that each compute the whole tile from their k16 steps."""
        return 2 if self.split_k else 1

    @property
    def beside(self):
        """Warps of a group beside one another along N; there are two below one another along M."""
        return self.warps // (2 * self.groups)

    @property
    def steps(self):
        """k16 steps of a warp per chunk."""
        return 2 // self.groups


# ---- (tid, loop variables) -> coordinates ---------------------------------------------------------------------------

def copy_col(tid):
    """First of the 8 columns (of K) that a thread copies."""
    return 8 * (tid % 4)


def element_col(tid):
    """The column (of K) of the elements that a thread copies one by one."""
    return tid % CHUNK_K


def make_rows(options):
    """(copy_row, element_row, read_row): the rows of a tile that a thread copies 16 bytes of, an element of, and of C takes
    back."""
    threads = LANES * options.warps

    def copy_row(tid, i):
        return tid // 4 + threads // 4 * i

    def element_row(tid, i):
        return tid // CHUNK_K + threads // CHUNK_K * i

    def read_row(tid, i):
        return tid // BLOCK + threads // BLOCK * i

    return copy_row, element_row, read_row


def make_maps(options, ab, c):
    """{access: a function of (tid, loop variables)} for the warps of a variant: `ab` of the row, column, stage and operand
    in A and B, `c` of the row and column in C."""
    return make_copy_maps(options, ab) | make_fragment_maps(options, ab) | make_c_maps(options, c)


def make_copy_maps(options, ab):
    """Those of the copies into shared memory."""
    copy_row, element_row, _ = make_rows(options)

    def copy_a(tid, i, stage):
        return ab(copy_row(tid, i), copy_col(tid), stage, 0)

    def copy_b(tid, i, stage):
        return ab(copy_row(tid, i), copy_col(tid), stage, 1)

    def copy_a_element(tid, i, stage):
        return ab(element_row(tid, i), element_col(tid), stage, 0)

    def copy_b_element(tid, i, stage):
        return ab(element_row(tid, i), element_col(tid), stage, 1)

    return {"copy A": copy_a, "copy B": copy_b, "copy A element": copy_a_element, "copy B element": copy_b_element}


def fragment_row(first, tid, i, h):
    """The row of an mma's fragment (of B, the column) that a thread holds: 8-row half h of 16-row block i from `first`."""
    return first + 16 * i + 8 * h + tid % 32 // 4


def make_warp_place(options):
    """(warp_row, warp_col): the first row and column of a warp's part of C's tile."""
    beside, in_group = options.beside, 64 * options.beside
    across = BLOCK // beside

    def warp_row(tid):
        return WARP_ROWS * (tid % in_group // (32 * beside))

    def warp_col(tid):
        return across * (tid // 32 % beside)

    return warp_row, warp_col


def make_fragment_maps(options, ab):
    """Those of the loads of fragments, by ldmatrix and by plain loads."""
    in_group = 64 * options.beside
    warp_row, warp_col = make_warp_place(options)

    def first_k(tid, ks):
        return 16 * (ks + tid // in_group)

    def load_a(tid, i, ks, stage):
        return ab(warp_row(tid) + 16 * i + tid % 16, first_k(tid, ks) + 8 * (tid % 32 // 16), stage, 0)

    def load_b(tid, i, ks, stage):
        row = warp_col(tid) + 16 * i + 8 * (tid % 32 // 16) + tid % 8
        return ab(row, first_k(tid, ks) + 8 * (tid % 16 // 8), stage, 1)

    def lds_a(tid, i, h, q, ks, stage):
        return ab(fragment_row(warp_row(tid), tid, i, h), first_k(tid, ks) + 8 * q + 2 * (tid % 4), stage, 0)

    def lds_b(tid, i, h, q, ks, stage):
        return ab(fragment_row(warp_col(tid), tid, i, h), first_k(tid, ks) + 8 * q + 2 * (tid % 4), stage, 1)

    return {"load A": load_a, "load B": load_b, "lds A": lds_a, "lds B": lds_b}


def make_c_maps(options, c):
    """Those of C's way through shared memory."""
    in_group = 64 * options.beside
    warp_row, warp_col = make_warp_place(options)
    read_row = make_rows(options)[2]

    def pair(tid, i, j, r):
        return c(fragment_row(warp_row(tid), tid, i, r), warp_col(tid) + 8 * j + 2 * (tid % 4))

    def first_row(tid):
        """With two groups: the first of the two rows of mma whose sum a thread stores; the others it sends."""
        return 2 * (tid // in_group)

    def store_c(tid, i, j, r):
        return pair(tid, i + first_row(tid), j, r)

    def send_c(tid, i, j, r):
        return pair(tid, i + 2 - first_row(tid), j, r)

    def take_c(tid, i, j, r):
        return pair(tid, i + first_row(tid), j, r)

    def store_c_scalar(tid, i, j, r, e):
        return c(fragment_row(warp_row(tid), tid, i, r), warp_col(tid) + 8 * j + 2 * (tid % 4) + e)

    def read_c(tid, i):
        return c(read_row(tid, i), tid % BLOCK)

    return {"store C": store_c, "store C scalar": store_c_scalar, "send C": send_c, "take C": take_c, "read C": read_c}


@dataclass(frozen=True)
class Coordinate:
    """Which coordinate a thread passes in an access of a variant: (tid, loop variables) -> it."""

    options: Options = field(repr=False)
    access: str

    def __call__(self, *point):
        return make_maps(self.options, _coordinates, _coordinates)[self.access](*point)


class Element(Coordinate):
    """The same of a copy, in the operand that it reads: (tid, loop variables) -> (row, column)."""

    def __call__(self, *point):
        return super().__call__(*point)[:2]


def _coordinates(*at):
    return at


def written(kernel):
    """{access: its index function as one writes it by hand}: the layout's formula, in bytes, of the coordinates."""
    maps = make_maps(kernel.options, kernel.ab_bytes, kernel.c_bytes)
    for access, function in maps.items():
        function.access_name = access                    # as of an emitted one: `build.compile` makes these u32
    return maps


def all_accesses(kernel):
    """Every access that some variant with the same warps uses, {name: Access}."""
    options, ab_tile, c_tile = kernel.options, kernel.ab_tile, kernel.c_tile
    threads, deep = LANES * options.warps, 512 // (LANES * options.warps)
    across = BLOCK // options.beside
    copy = "cp.async.cg.16" if options.ab_aligned else "st.shared.b128"
    loops = {"ks": options.steps, "stage": options.stages}
    halves = {"h": 2, "q": 2, **loops}
    elements = {"i": BLOCK * CHUNK_K // threads, "stage": 1}
    pieces = {"i": 4 // options.groups, "j": across // 8, "r": 2}
    table = (
        ("copy A", copy, ab_tile, "f16", {"i": deep, "stage": options.stages}),
        ("copy B", copy, ab_tile, "f16", {"i": deep, "stage": options.stages}),
        ("copy A element", "st.shared.b16", ab_tile, "f16", elements),
        ("copy B element", "st.shared.b16", ab_tile, "f16", elements),
        ("load A", "ldmatrix.x4", ab_tile, "f16", {"i": 4, **loops}),
        ("load B", "ldmatrix.x4", ab_tile, "f16", {"i": across // 16, **loops}),
        ("lds A", "ld.shared.b32", ab_tile, "f16", {"i": 4, **halves}),
        ("lds B", "ld.shared.b32", ab_tile, "f16", {"i": across // 16, **halves}),
        ("store C", "st.shared.b64", c_tile, "f32", pieces),
        ("store C scalar", "st.shared.b32", c_tile, "f32", {**pieces, "e": 2}),
        ("read C", "ld.shared.b32", c_tile, "f32", {"i": BLOCK * BLOCK // threads}),
    )
    if options.split_k:
        table += (("send C", "st.shared.b64", c_tile, "f32", pieces), ("take C", "ld.shared.b64", c_tile, "f32", pieces))
    sources = {f"copy {operand}": Source(operand, Element(options, f"copy {operand}"), sized=None)
               for operand in "AB"} if options.ab_aligned else {}
    return {name: Access(name, instruction, tile, Coordinate(options, name), {"tid": threads, **loops}, dtype,
                         kernel.excess.get(name, 0), sources.get(name))
            for name, instruction, tile, dtype, loops in table}


def _stride(ab_tile):
    """Elements from one row of a 16 x 16 block to the next, None where that varies."""
    steps = {ab_tile(row + 1, col, 0, 0) - ab_tile(row, col, 0, 0) for row in range(15) for col in range(16)}
    return steps.pop() if len(steps) == 1 else None


def make_plan(kernel):
    """The plan of a variant of Tutorial."""
    name, options, ab_tile, c_tile = kernel.name, kernel.options, kernel.ab_tile, kernel.c_tile
    accesses = all_accesses(kernel)
    if options.loads == "wmma" and _stride(ab_tile) != WMMA_STRIDE:
        raise SimlayoutError(f"{name}: wmma reads lines that lie {WMMA_STRIDE} elements apart, and those of its tiles do "
                             "not: use mma_blocks")
    suffix = " element" if options.copies == "elements" else ""
    copy_a, copy_b = "copy A" + suffix, "copy B" + suffix
    load_a = "load A" if options.loads in ("ldmatrix", "wmma") else "lds A"
    load_b = "lds B" if options.loads == "lds" else "load B"
    store_c = "store C" if options.c_store == "float2" else "store C scalar"
    agreements = (((copy_a,), load_a), ((copy_b,), load_b), ((store_c,), "read C"))
    exchanged = ("send C", "take C") if options.split_k else ()
    return Plan(name, (BLOCK, BLOCK, CHUNK_K), options.warps, options.stages,
                f"{options.mma}.{options.accumulate}.f16.f16.{options.accumulate}",
                (accesses[copy_a], accesses[copy_b], accesses[load_a], accesses[load_b]),
                tuple(accesses[name] for name in (*exchanged, store_c, "read C")),
                agreements + (((exchanged[0],), exchanged[1]),) if exchanged else agreements,
                max(2 * ab_tile.cosize, 4 * c_tile.cosize))
