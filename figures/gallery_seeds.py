"""The pictures of the tutorials that this project comes from, drawn anew from the model."""

from dataclasses import replace
from functools import partial

import numpy as np
from picture import Picture, compared, joined

import simlayout as sl
from cuda_kernels import KERNELS
from cuda_kernels.kernels.practical import practical
from cuda_kernels.kernels.practical.common import exchange
from cuda_kernels.kernels.practical.tiles import accesses
from simlayout.hardware import choose_ldmatrix
from simlayout.plots import Box, Panel, atom, choice, in_memory, landing, layouts, sheet, sheet_of, table, touched
from simlayout.plots.copies import index_of
from simlayout.plots.lanes import costs, of_access
from simlayout.plots.library import shown_figure

# ---- cuda_hgemm: base beside permuted ---------------------------------------------------------------------------------

HGEMM = {name: KERNELS[name].variant(stages=1).plan for name in ("mma_base", "mma_permuted")}
"""The plans of cuda_hgemm's mma_base.cu and mma_permuted.cu, which copy through registers."""


def hgemm(name, what, colour="chunk", warp=0, **loops):
    """An access of warp 0 in the tile, and in shared memory of both kernels. loops: how many of a loop's trips are drawn."""
    plans = [plan.access(name) for plan in HGEMM.values()]
    first = plans[0]
    trips = [dict(zip(loops, values)) for values in np.ndindex(*loops.values())]
    indices = [index_of(first, warp, **values) for values in trips]
    titles = [f"{label}, shared memory" for label in HGEMM]
    return [touched(first, indices, colour, what), *(in_memory(a, indices, colour, t) for a, t in zip(plans, titles))]


def hgemm_phases():
    """The rows that the lanes of ldmatrix.x4 name in A, and their banks, phase by phase."""
    return [_phases(plan.access("load A"), f"{name}: load A") for name, plan in HGEMM.items()]


def _phases(access, title, index=0, only=None):
    """The phases of an access, with its counts in the title."""
    return of_access(access, index, only, f"{title}, {access.instruction}: {costs(access.analyze(), index)}")


def hgemm_load_a():
    """The loads of A as bank grids."""
    plans = [KERNELS[name].plan for name in HGEMM]
    return compared([p.access("load A").analyze() for p in plans], [f"load A of {p.name}, ldmatrix.x4" for p in plans])


# ---- CuTe and MatmulTutorial ------------------------------------------------------------------------------------------

def cute_ldmatrix():
    """Which ldmatrix CuTe chooses for A and B of m16n8k16 with value layout (1, 2, 1): N where k is contiguous, else T."""
    mma = "m16n8k16.f32.f16.f16.f32"
    return [choice(choose_ldmatrix(mma, operand, (1, 2, 1), major)) for operand in "AB" for major in ("K", "MN")]


def tutorial_fragments():
    """Its tables of T0 to T31, which are of m16n8k8 (those of m16n8k16 are a picture of the model), and B's."""
    return [table(sl.fragment("m16n8k8.f32.f16.f16.f32", operand)) for operand in "ACB"]


def tutorial_crosswise():
    """The copies of A of two warps by cp.async: 16x16 blocks (v02 to v08) and crosswise lines (v09 on)."""
    names = "mma_blocks", "mma_crosswise"
    plans = [KERNELS[name].plan.access("copy A") for name in names]
    trips = [index_of(plans[0], warp) for warp in range(2)]
    return [touched(plans[0], trips, "chunk", "copy A, two warps"),
            *(in_memory(a, trips, "chunk", name, leading=4096) for a, name in zip(plans, names))]


# ---- the practical-swizzle tutorial -----------------------------------------------------------------------------------

LINE = sl.Layout((16, 64), (64, 1))


def practical_load(shape, layouts_, role="load left", only=(0, 1)):
    """Phases of an ldmatrix in some layouts of a shape."""
    return [_phases(accesses(shape, layout)[role], f"{shape} {layout}", 0, only) for layout in layouts_]


def swizzle_conflict():
    """LDSM of a 16x16 tile: four rows fill all banks, so that rows 0 and 4 meet."""
    access = accesses("16x16", "none")["load left"]
    return [in_memory(access, [0], "phase", "16x16, row-major"), _phases(access, "its phases", 0, (0, 1))]


def swizzle_rearranged():
    """Rearranged addresses, and the registers before and after the exchange."""
    access = accesses("16x16", "rearranged")["load left"]
    before = _held(access)
    after = np.array([exchange(tid, *before[tid]) for tid in range(32)])
    return [in_memory(access, [0], "phase", "rearranged addresses"), _phases(access, "its phases", 0, (0, 1)),
            _registers(before, "R0 to R3 after ldmatrix.x4"), _registers(after, "and after the exchange")]


BLOCKS = "registers: the 8x8 block of the tile that is in them; 0 and 1 below each other, 2 and 3 right of these"


def _held(access):
    """Which 8x8 block of the 16x16 tile (0 to 3, downwards first) lane l has in register m: int [32, 4]."""
    row, column = access.coordinate(*(np.arange(32), np.zeros(32, int)))[:2]
    block = row // 8 + 2 * (column // 8)
    return np.array([[block[8 * m + lane // 4] for m in range(4)] for lane in range(32)])


def _registers(held, title):
    boxes = [Box(lane, register, 1, 1, int(held[lane, register]), str(int(held[lane, register])))
             for register in range(4) for lane in range(32)]
    return Panel(title, 32, 4, boxes, layouts.numbers(32, 4), tuple((m + 0.5, f"R{m}") for m in range(4)),
                 legend=((tuple(range(4)), BLOCKS),), xlabel="lane")


def remapped(tile, name):
    """A 16x64 tile copied into shared memory by 16 bytes, and the first phase of ldmatrix before and after."""
    copy = sl.Access("copy", "st.shared.b128", tile, lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8)), {"tid": 32, "i": 4})
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid: (tid % 16, 8 * (tid // 16)), excess=None)
    every = range(4)
    return [touched(copy, every, "chunk", "global memory: 16x64"), in_memory(copy, every, "chunk", f"{name}: the copy"),
            _phases(load.with_tile(LINE), "row-major", 0, (0,)), _phases(load, name, 0, (0,))]


def swizzled(shape, plain, layout):
    """A shape's tile in shared memory row by row and swizzled, and the first phase of its ldmatrix in both."""
    made = []
    for name in (plain, layout):
        load = accesses(shape, name)["load left"]
        made += [replace(layouts.memory(_first(load.tile)), title=f"{shape} {name}: shared memory"),
                 _phases(load, name, 0, (0,))]
    return made


def _first(tile):
    """The first slot of a tile (row, column, slot)."""
    layout = getattr(tile, "layout", tile)
    flat = sl.Layout(layout.shape[:2], layout.stride[:2])
    return flat if layout is tile else sl.Composed(tile.layers, flat)


def two_layers():
    """Rows and blocks of a 16x256 tile: no swizzle, its first layer alone, and both: first phase of the first warp."""
    return [_phases(accesses("16x256", layout)[role], f"{layout}: {role}", 0, (0,))
            for role in ("load rows", "load blocks") for layout in ("none", "xor blocks", "xor")]


def problem():
    """The two patterns of problem 2.1: a row read as a 16x16 matrix, and a 16x16 block."""
    rows, blocks = (accesses("16x256", "none")[role] for role in ("load rows", "load blocks"))
    return [touched(rows, [0], "phase", "pattern 2: row 0 of 256 is a 16x16 matrix"),
            touched(blocks, [0], "phase", "pattern 1: the first 16x16 block")]


def interleaved():
    """The accesses of problem 3.1, where each pattern has a layout of its own, or one serves both."""
    return [sheet_of(practical("3.1", layout).predict(), f"problem 3.1 (blocks, then rows): {layout}")
            for layout in ("none", "xor", "xor interleaved", "xor interleaved wide")]


def _sheets(made):
    """Four sheets, two beside each other."""
    figure = shown_figure(figsize=(13.3, 7.4))
    room = {"left": 0.13, "right": 0.99, "top": 0.95, "bottom": 0.1, "wspace": 0.42, "hspace": 0.42}
    axes = figure.subplots(2, 2, gridspec_kw=room)
    reach = max(sheet(one, ax=ax).get_xlim()[1] for one, ax in zip(made, axes.flat))
    for ax in axes.flat:
        ax.set_xlim(0, reach)                            # one scale
    return tuple(axes.flat)


PICTURES = (
    Picture("hgemm_copy_a", partial(hgemm, "copy A", "global to shared, A: warp 0", i=4), joined()),
    Picture("hgemm_copy_b", partial(hgemm, "copy B", "global to shared, B: warp 0", i=2), joined()),
    Picture("hgemm_phases", hgemm_phases, joined()),
    Picture("hgemm_load_a", *hgemm_load_a()),
    Picture("hgemm_store_c", partial(hgemm, "store C", "registers to shared, C: warp 0, 8 rows", "instruction"), joined(1)),
    Picture("hgemm_read_c", partial(hgemm, "read C", "shared to global, C: warp 0", i=4), joined()),
    Picture("cute_ldmatrix", cute_ldmatrix, joined(2)),
    Picture("tutorial_fragments_k8", tutorial_fragments, joined(2)),
    Picture("tutorial_crosswise", tutorial_crosswise, joined()),
    Picture("swizzle_conflict", swizzle_conflict, joined()),
    Picture("swizzle_rearranged", swizzle_rearranged, joined(2)),
    Picture("swizzle_shift", partial(remapped, sl.Rotation(8, 8, 64) @ LINE, "shift"), joined(2)),
    Picture("swizzle_xor", partial(remapped, sl.Swizzle(3, 3, 3) @ LINE, "xor"), joined(2)),
    Picture("swizzle_16x16", partial(swizzled, "16x16", "none", "xor"), joined(2)),
    Picture("swizzle_16x32", partial(swizzled, "16x32", "none", "xor"), joined(2)),
    Picture("swizzle_patterns", problem, joined(1)),
    Picture("swizzle_two_layers", two_layers, joined(3)),
    Picture("swizzle_interleaved", interleaved, _sheets),
    Picture("h100_accumulator", lambda: [table(sl.fragment("wgmma.m64n64k16.f32.bf16.bf16", "D"))], joined()),
    Picture("h100_swizzle_128b", lambda: [landing(atom(0)), landing(atom(128))], joined()),
)
