"""The gallery's pictures of the model: one or two of every kind of figure."""

from dataclasses import replace
from functools import partial

from picture import Picture, headed, joined

import simlayout as sl
from cuda_kernels import KERNELS
from cuda_kernels.intrinsics import bar_sync, dynamic_shared, ld_shared_b32, st_shared_b32, tid_x
from cuda_kernels.kernels import named
from simlayout.machine import run
from simlayout.plots import (
    accumulated,
    atom,
    bit_matrix,
    comparison,
    in_memory,
    landing,
    layouts,
    lost_by_depth,
    of_kernel,
    order,
    pipeline,
    plan_sheet,
    sheet,
    table,
    together,
    touched,
)
from simlayout.plots.banks import named as named_access
from simlayout.plots.copies import LEFT_OUT, index_of
from simlayout.plots.lanes import of_access
from simlayout.plots.tmem import accumulators, scale_panels
from simlayout.proofs.natural import natural_access

PLAIN = sl.Layout((16, 64), (64, 1))
SWIZZLED = sl.Swizzle(3, 3, 3) @ PLAIN


def banks_16x64():
    """A 16x64 f16 tile read by ldmatrix.x4, without and with a swizzle, and where the swizzle puts what is read."""
    accesses = [natural_access(t, "ldmatrix.x4", "f16") for t in (PLAIN, SWIZZLED)]
    where = in_memory(accesses[1])
    boxes = tuple(b._replace(colour=int(b.text) % 8) for b in where.boxes)
    title = "the same pieces where they lie in shared memory:\nthose of lanes 0-7, say, in eight different places"
    return [a.analyze() for a in accesses], [named_access(a) for a in accesses], replace(where, title=title, boxes=boxes,
                                                                                         legend=())


def above_memory(made, says):
    """Draws two bank grids side by side, and a Panel in the room below the second."""
    *grids, panel = made
    axes = comparison(*grids[0], titles=grids[1], title=says)
    together([panel], ax=axes[1].figure.add_axes((0.5, 0.04, 0.46, 0.58)))
    return axes


def laid_out(tile, by, dtype="f16"):
    """A tile by its coordinates and shared memory by its lines."""
    return [layouts.logical(tile, by, dtype), layouts.memory(tile, dtype)]


def matrix_phases(instruction, tiles):
    """The phases of an instruction in several tiles."""
    return [of_access(natural_access(tile, instruction, "f16")) for tile in tiles]


def lost(curves, says):
    """Draws what sums lose."""
    return lost_by_depth(curves, title=f"{says}\ncomputed with the tensor core's arithmetic, bit for bit "
                         "(simlayout.numerics): 64 x 16 sums of products of e4m3")


def fragments(mma, operands="ACB"):
    """Operands of an mma."""
    return [table(sl.fragment(mma, operand)) for operand in operands]


def copy_lines():
    """What warps 0 to 3 copy of A first, in mma_crosswise and mma_swizzled: which 16 bytes of it come to which line."""
    made = []
    for name in ("mma_crosswise", "mma_swizzled"):
        access = KERNELS[name].plan.access("copy A")
        indices = [index_of(access, warp) for warp in range(4)]
        moved = {b.text: (int(b.y), int(b.x)) for b in touched(access, indices).boxes}
        panel = in_memory(access, indices, title=f"{name}: {access.instruction}, {access.dtype}", leading=4096)
        made.append(_by_origin(panel, {b.text: moved[b.text] for b in panel.boxes}, 0, "row of A, which has 4096 columns"))
    return made


def _by_origin(panel, origin, axis, what):
    """A Panel of shared memory whose boxes show the row and column that lie there: {text of a box: (row, column)}; colour:
    the row (axis 0), or the 16 bytes of the row (axis 1)."""
    boxes = [b._replace(text="{}, {}".format(*origin[b.text]), colour=origin[b.text][axis] // (1, 8)[axis] % 8)
             for b in panel.boxes]
    legend = (tuple(range(len({b.colour for b in boxes}))), f"row, column of the first of 8 neighbours; colour: the {what}"),
    return replace(panel, boxes=tuple(boxes), legend=(*legend, *(entry for entry in panel.legend if entry[1] == LEFT_OUT)))


def exchanged(barriers):
    """What two warps do that exchange a row twice, with one or two barriers in each round."""
    def exchange():
        tid, smem = tid_x(), dynamic_shared()
        for _ in range(2):
            st_shared_b32(smem + 4 * tid, tid)
            bar_sync()
            ld_shared_b32(smem + 4 * (63 - tid))
            if barriers == 2:
                bar_sync()

    title = f"{barriers} bar.sync in each round"
    return order(lambda: run(exchange, 1, 64, shared_bytes=256, hazards="report"), title=title)


def of_mfma(tile):
    """The first 16 rows of a tile as an MFMA of an MI300X reads them, 16 bytes each lane."""
    load = sl.Access("load", "ds_read_b128", tile, lambda tid: (tid % 16, 8 * (tid // 16)), {"tid": 64}, "f16", excess=None,
                     arch="gfx942")
    return in_memory(load, colour="phase", title=f"{load.instruction} of {tile} on gfx942")


def rotated():
    """A 16x32 tile in shared memory, row after row and rotated, by the columns of the tile."""
    made = []
    for tile in (ROTATED.layout, ROTATED):
        panel = layouts.memory(tile)
        origin = {b.text: tuple(map(int, b.text.split(", "))) for b in panel.boxes}
        made.append(replace(_by_origin(panel, origin, 1, "columns of the tile"), title=f"{tile}, f16"))
    return made


def f2_maps():
    """F2 matrices: a plain tile, a swizzle, and two swizzles of 16 x 256."""
    wide = sl.Layout((16, 256), (256, 1))
    return [bit_matrix(t) for t in (PLAIN, SWIZZLED, sl.Swizzle(1, 3, 3) @ sl.Swizzle(3, 3, 5) @ wide)]


def plan_of(name):
    """The sheet of a kernel's plan."""
    kernel = named(name)
    return plan_sheet(kernel.plan, name=name, dtype=kernel.dtypes[0])


PADDED = sl.Layout((16, 16), (16, 1)), sl.Layout((16, 16), (24, 1))
ROTATED = sl.Rotation(8, 4, 64) @ sl.Layout((16, 32), (32, 1))

PICTURES = (
    Picture("banks_16x64", "Row after row, ldmatrix.x4 needs 32 passes through the banks; with a swizzle 4",
            banks_16x64, above_memory),
    Picture("layout_offsets", "Sw<3,3,3> moves the pieces of a row within its line: eight rows of a column fill all banks",
            partial(laid_out, SWIZZLED, "offset"), joined()),
    Picture("layout_banks", "One float of padding per row: every column of the tile now passes through all 32 banks",
            partial(laid_out, sl.Layout((32, 32), (33, 1)), "bank", "f32"), joined()),
    Picture("layout_rotated", "A rotation shifts line n by n places: a column of the tile then has all banks",
            rotated, joined()),
    Picture("ldmatrix_phases", "ldmatrix.x4 is served in four phases of eight lanes; without a swizzle the eight rows "
            "of each share four banks", partial(matrix_phases, "ldmatrix.x4", (PLAIN, SWIZZLED)), joined()),
    Picture("stmatrix_phases", "Rows of 32 bytes: the fifth lies in the banks of the first; with 16 bytes of padding "
            "per row all eight of a phase pass at once", partial(matrix_phases, "stmatrix.x4", PADDED), joined()),
    Picture("fragment_m16n8k16_f16", "mma m16n8k16: four lanes share a row of A and C, and a column of B",
            partial(fragments, "m16n8k16.f32.f16.f16.f32"), joined(2)),
    Picture("fragment_m16n8k32_e4m3", "mma m16n8k32 of one-byte elements: a lane holds four neighbours",
            partial(fragments, "m16n8k32.f32.e4m3.e4m3.f32", "AB"), joined(1)),
    Picture("tma_modes", "TMA's modes: a chunk stays, or moves among the 2, 4 or 8 places of its row",
            lambda: [landing(atom(span)) for span in (0, 32, 64, 128)], joined(2)),
    Picture("tmem_accumulators", "tcgen05.mma: 128 rows of D fill all lanes; with fewer, half of them stay free, or parts "
            "of N lie side by side", accumulators, joined(3)),
    Picture("tmem_scales", "Scale factors: rows m, m + 32, m + 64, m + 96 lie together in memory, and side by side in the "
            "lanes of every warp", scale_panels, joined()),
    Picture("copy_lines", "cp.async fills a line from two rows of A in two wavefronts, and a line from one row in one",
            copy_lines, joined()),
    Picture("f2_maps", "A swizzle XORs bits of the row onto bits of the bank; a second swizzle XORs a bit of the column",
            f2_maps, joined()),
    Picture("amd_mfma", "An MI300X serves lanes 0 to 3 with 20 to 23: rows of 128 bytes take 32 passes, swizzled ones 8",
            lambda: [of_mfma(PLAIN), of_mfma(SWIZZLED)], joined()),
    Picture("order_barriers", "One barrier: a warp fills the row again while the other has yet to read it; two put both in "
            "order", lambda: [exchanged(1), exchanged(2)], joined(1)),
    Picture("plan_mma_base", "The loads of A and B wait for banks: shared memory bounds the kernel",
            partial(plan_of, "mma_base"), headed(sheet)),
    Picture("plan_mma_permuted", "The loads are free of conflicts: mma bounds the kernel",
            partial(plan_of, "mma_permuted"), headed(sheet)),
    Picture("plan_wgmma_persistent", "wgmma reads its operands without conflicts, and bounds the kernel",
            partial(plan_of, "wgmma_persistent"), headed(sheet)),
    Picture("pipeline_2_stages", "Two stages: a chunk is copied into one while the other is read",
            partial(of_kernel, KERNELS["mma_permuted"].variant(stages=2, accumulate="f16"), 3), headed(pipeline)),
    Picture("pipeline_4_stages", "Four stages: up to three chunks are under way or wait while one is read",
            partial(of_kernel, KERNELS["mma_crosswise"], 6), headed(pipeline)),
    Picture("pipeline_tma", "Five stages that TMA fills: loads are issued ahead, a stage is filled anew once it is read",
            partial(of_kernel, named("wgmma_specialized"), 8), headed(pipeline)),
    Picture("accumulation", "A long sum of 8-bit products loses more and more in the tensor core; promoted every 128 of K "
            "it does not", accumulated, lost),
    Picture("pipeline_persistent", "A persistent CTA: loads of its second tile are issued before C of the first is stored",
            partial(of_kernel, named("wgmma_persistent"), 6), headed(pipeline)),
)
