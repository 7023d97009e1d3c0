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
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.plots import (
    Box,
    Panel,
    atom,
    choice,
    in_memory,
    landing,
    layouts,
    operand_panel,
    sheet_of,
    sheets,
    table,
    touched,
)
from simlayout.plots.copies import index_of
from simlayout.plots.fragments import parts
from simlayout.plots.lanes import costs, of_access

# ---- cuda_hgemm: base beside permuted ---------------------------------------------------------------------------------

HGEMM = {name: KERNELS[name].variant(stages=1).plan for name in ("mma_base", "mma_permuted")}
"""The plans of cuda_hgemm's mma_base.cu and mma_permuted.cu, which copy through registers."""


def hgemm(name, what, **loops):
    """An access of warp 0 in the tile, and in shared memory of both kernels. loops: how many of a loop's trips are drawn."""
    plans = [plan.access(name) for plan in HGEMM.values()]
    first, indices = plans[0], _trips(plans[0], loops)
    titles = [f"{label}, shared memory" for label in HGEMM]
    what = f"{what}, {first.instruction}, {first.dtype}"
    return [touched(_in_first_slot(first), indices, "chunk", what),
            *(in_memory(a, indices, "chunk", t) for a, t in zip(plans, titles))]


def _trips(access, loops):
    """The instructions of warp 0 in the first trips of some loops."""
    return [index_of(access, 0, **dict(zip(loops, values))) for values in np.ndindex(*loops.values())]


def hgemm_phases():
    """The rows that the lanes of ldmatrix.x4 name in A, and their banks, phase by phase."""
    return [_phases(plan.access("load A"), f"{name}: load A") for name, plan in HGEMM.items()]


def _phases(access, title, index=0, only=None):
    """The phases of an access."""
    return of_access(_in_first_slot(access), index, only, f"{title}, {access.instruction}, {access.dtype}")


def _in_first_slot(access):
    """An access to a tile in slots as one to the first of them alone, by row and column."""
    if len(getattr(access.tile, "shape", ())) <= 2:
        return access
    return replace(access, tile=_first(access.tile), lanes=lambda *at, lanes=access.lanes: lanes(*at)[:2])


def hgemm_lines(name, colour, **loops):
    """The lines of shared memory that an access of warp 0 touches, in both kernels. loops: as of `hgemm`."""
    plans = [(label, plan.access(name)) for label, plan in HGEMM.items()]
    return [in_memory(a, _trips(a, loops), colour, f"{label}: {a.instruction}, {a.dtype}") for label, a in plans]


def hgemm_load_a():
    """The loads of A as bank grids."""
    plans = [KERNELS[name].plan for name in HGEMM]
    return compared([p.access("load A").analyze() for p in plans], [f"load A of {p.name}, ldmatrix.x4, f16" for p in plans])


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
    title = f"copy A, {plans[0].instruction}, f16, rows of 4096, two warps"
    return [touched(_in_first_slot(plans[0]), trips, "chunk", title),
            *(in_memory(a, trips, "chunk", name, leading=4096) for a, name in zip(plans, names))]


# ---- the practical-swizzle tutorial -----------------------------------------------------------------------------------

LINE = sl.Layout((16, 64), (64, 1))


def swizzle_conflict():
    """LDSM of a 16x16 tile: four rows fill all banks, so that rows 0 and 4 meet."""
    access = accesses("16x16", "none")["load left"]
    return [in_memory(access, [0], "phase", "16x16 f16, row after row, ldmatrix.x4"),
            _phases(access, "its lanes 0-7", 0, (0,))]


def swizzle_rearranged():
    """Rearranged addresses, and the registers before and after the exchange: 8x8 blocks keep their colours."""
    plain, access = (accesses("16x16", layout)["load left"] for layout in ("none", "rearranged"))
    before = _held(access)
    after = np.array([exchange(tid, *before[tid]) for tid in range(32)])
    return [in_memory(plain, [0], "block", "1. ldmatrix.x4 of 16x16 f16 by its 8x8 blocks"),
            in_memory(access, [0], "block", "2. every second four lanes give the other half's address"),
            _registers(before, "3. so that lanes 16-31 hold the halves exchanged"),
            _registers(after, "4. they exchange R0 and R2, R1 and R3: as mma wants it")]


BLOCKS = "in registers: the number of the 8x8 block that the lane holds a part of"


def _held(access):
    """Which 8x8 block of the 16x16 tile (0 to 3, downwards first) lane l has in register m: int [32, 4]."""
    row, column = access.coordinate(*(np.arange(32), np.zeros(32, int)))[:2]
    block = row // 8 + 2 * (column // 8)
    return np.array([[block[8 * m + lane // 4] for m in range(4)] for lane in range(32)])


def _registers(held, title):
    boxes = [Box(lane, register, 1, 1, int(held[lane, register]), str(int(held[lane, register])))
             for register in range(4) for lane in range(32)]
    return Panel(title, 32, 4, boxes, layouts.numbers(32, 4), tuple((m + 0.5, f"R{m}") for m in range(4)),
                 legend=(((), BLOCKS),), xlabel="lane")


def remapped(tile, name):
    """A 16x64 tile copied into shared memory by 16 bytes, and the first phase of ldmatrix before and after."""
    copy = sl.Access("copy", "st.shared.b128", tile, lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8)), {"tid": 32, "i": 4})
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid: (tid % 16, 8 * (tid // 16)), excess=None)
    every = range(4)
    return [touched(copy, every, "chunk", "global memory: 16x64 f16, by 16 bytes"),
            in_memory(copy, every, "chunk", f"{name}: the copy"),
            _phases(load.with_tile(LINE), "row after row", 0, (0,)), _phases(load, name, 0, (0,))]


NAMES = {"none": "row after row", "xor": "XOR"}
"""What pictures call the tutorial's layouts."""


def swizzled(shape, plain, layout):
    """A shape's tile in shared memory row by row and swizzled, and the first phase of its ldmatrix in both."""
    made = []
    for name in (plain, layout):
        load = accesses(shape, name)["load left"]
        made += [replace(layouts.memory(_first(load.tile)), title=f"{shape} f16, {NAMES[name]}: shared memory"),
                 _phases(load, NAMES[name], 0, (0,))]
    return made


def _first(tile):
    """The first slot of a tile (row, column, slot)."""
    layout = getattr(tile, "layout", tile)
    flat = sl.Layout(layout.shape[:2], layout.stride[:2])
    return flat if layout is tile else sl.Composed(tile.layers, flat)


def two_layers():
    """Rows and blocks of a 16x256 tile: no swizzle, its first layer alone, and both: first phase of the first warp."""
    names = {"none": "no XOR", "xor blocks": "one XOR", "xor": "two XORs"}
    return [_phases(accesses("16x256", layout)[role], f"{what}, {name}", 0, (0,))
            for role, what in (("load blocks", "a 16x16 block"), ("load rows", "a row")) for layout, name in names.items()]


def problem():
    """The two patterns of problem 2.1 in its 16x256 tile: 16x16 blocks, and rows read as 16x16 matrices."""
    made = []
    for role, what in (("load blocks", "pattern 1: each ldmatrix.x4 reads a block of 16 x 16"),
                       ("load rows", "pattern 2: each ldmatrix.x4 reads a row of 256 as 16 x 16")):
        access = accesses("16x256", "none")[role]
        title = f"{what}, f16: {costs(access.analyze())} each"
        made.append(touched(_in_first_slot(access), range(16), "instruction", title, whole=True))
    return made


def interleaved():
    """The accesses of problem 3.1, where each pattern has a layout of its own, or one serves both."""
    names = {"none": "row after row", "xor": "one layout, two XORs", "xor interleaved": "a layout per pattern",
             "xor interleaved wide": "a layout per pattern,\nrows in Sw<3,3,3>"}
    return [sheet_of(practical("3.1", layout).predict(), name) for layout, name in names.items()]


PICTURES = (
    Picture("hgemm_copy_a", "cuda_hgemm copies A: mma_permuted rotates each row, at no cost",
            partial(hgemm, "copy A", "A, warp 0", i=4), joined((1, 2))),
    Picture("hgemm_copy_b", "cuda_hgemm copies B behind A's 256 rows: no conflicts either way",
            partial(hgemm, "copy B", "B, warp 0", i=2), joined((1, 2))),
    Picture("hgemm_phases", "mma_base: every second row lies in the same banks; mma_permuted: eight rows fill all of them",
            hgemm_phases, joined()),
    Picture("hgemm_load_a", "Loading A costs mma_base 16 passes through the banks, and mma_permuted 4", *hgemm_load_a()),
    Picture("hgemm_store_c", "Storing C: four banks per instruction in mma_base, all in mma_permuted",
            partial(hgemm_lines, "store C", "instruction", j=8), joined(1)),
    Picture("hgemm_read_c", "Reading C back costs the same in both: each line is read whole, in any order",
            partial(hgemm_lines, "read C", "chunk", i=4), joined()),
    Picture("cute_ldmatrix", "ldmatrix where k is contiguous, ldmatrix.trans where m or n is: A and B of m16n8k16",
            cute_ldmatrix, joined(2)),
    Picture("tutorial_fragments_k8", "mma m16n8k8: four lanes share a row of A and C, and a column of B", tutorial_fragments,
            joined(2)),
    Picture("tutorial_crosswise", "Copying A: mma_blocks fills a line from four rows of A, mma_crosswise from two",
            tutorial_crosswise, joined((1, 2))),
    Picture("swizzle_conflict", "Four rows of 32 bytes fill all banks: rows 4 to 7 meet rows 0 to 3", swizzle_conflict,
            joined()),
    Picture("swizzle_rearranged", "Without moving the tile: lanes ask for the other half, and exchange registers after it",
            swizzle_rearranged, joined(2)),
    Picture("swizzle_shift", "Each row shifted by one piece more than the row above: eight rows, eight places",
            partial(remapped, sl.Rotation(8, 8, 64) @ LINE, "shift"), joined(2)),
    Picture("swizzle_xor", "The piece's place XOR the row: eight rows, eight places",
            partial(remapped, sl.Swizzle(3, 3, 3) @ LINE, "XOR"), joined(2)),
    Picture("swizzle_16x16", "16x16: rows 4 to 7 exchange their halves, and no longer meet rows 0 to 3",
            partial(swizzled, "16x16", "none", "xor"), joined(2)),
    Picture("swizzle_16x32", "16x32: the place of a piece XOR half the row's number; eight rows, eight places",
            partial(swizzled, "16x32", "none", "xor"), joined(2)),
    Picture("swizzle_patterns", "Problem 2.1: one tile is read by blocks and by rows; a layout has to serve both",
            problem, joined(1)),
    Picture("swizzle_two_layers", "One XOR mends the blocks, and a second one the rows", two_layers, joined(3)),
    Picture("swizzle_interleaved", "Problem 3.1: one layout of two XORs serves both patterns better than a layout "
            "for each", interleaved, lambda made, says: sheets(made, says)),
    Picture("h100_accumulator", "wgmma's result: a warp holds 16 rows; of each 8x8 block every thread has two elements",
            lambda: parts(sl.fragment("wgmma.m64n64k16.f32.bf16.bf16", "D")), joined()),
    Picture("h100_operands", "wgmma: the 8 rows of 16 bytes of a core matrix lie in all banks",
            lambda: [operand_panel(OperandTile(64, 64, "bf16", major), name, 8) for name, major in zip("AB", ("K", "MN"))],
            joined()),
    Picture("h100_swizzle_128b", "SWIZZLE_128B: in row r of the box, chunk c lies in place c XOR r",
            lambda: [landing(atom(0)), landing(atom(128))], joined()),
)
