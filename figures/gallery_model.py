"""The gallery's pictures of the model: one or two of every kind of figure."""

from functools import partial

from picture import Picture, compared, joined

import simlayout as sl
from cuda_kernels import KERNELS
from cuda_kernels.kernels import named
from simlayout.plots import (
    atom,
    bit_matrix,
    in_memory,
    landing,
    layouts,
    of_kernel,
    pipeline,
    plan_sheet,
    sheet,
    table,
    touched,
)
from simlayout.plots.copies import index_of
from simlayout.plots.lanes import costs, of_access
from simlayout.proofs.natural import natural_access

PLAIN = sl.Layout((16, 64), (64, 1))
SWIZZLED = sl.Swizzle(3, 3, 3) @ PLAIN


def banks_16x64():
    """A 16x64 f16 tile read by ldmatrix.x4, without and with a swizzle."""
    return compared([natural_access(t, "ldmatrix.x4", "f16").analyze() for t in (PLAIN, SWIZZLED)],
                    [f"ldmatrix.x4 of {t}, f16" for t in (PLAIN, SWIZZLED)])


def laid_out(tile, by, dtype="f16"):
    """A tile by its coordinates and shared memory by its lines."""
    return [layouts.logical(tile, by, dtype), layouts.memory(tile, dtype)]


def matrix_phases(instruction, tiles):
    """The phases of an instruction in several tiles."""
    made = []
    for tile in tiles:
        access = natural_access(tile, instruction, "f16")
        made.append(of_access(access, title=f"{instruction} of {tile}: {costs(access.analyze())}"))
    return made


def fragments(mma, operands="ACB"):
    """Operands of an mma."""
    return [table(sl.fragment(mma, operand)) for operand in operands]


def copy_crosswise():
    """What the warps of mma_crosswise copy of A: threads to elements, and to shared memory."""
    access = KERNELS["mma_crosswise"].plan.access("copy A")
    indices = [index_of(access, warp) for warp in range(4)]
    return [touched(access, indices, "warp", "copy A of mma_crosswise, its first trip"),
            in_memory(access, indices, "warp", "shared memory", leading=4096)]


def f2_maps():
    """F2 matrices: a plain tile, a swizzle, and two swizzles of 16 x 256."""
    wide = sl.Layout((16, 256), (256, 1))
    return [bit_matrix(t) for t in (PLAIN, SWIZZLED, sl.Swizzle(1, 3, 3) @ sl.Swizzle(3, 3, 5) @ wide)]


PADDED = sl.Layout((16, 16), (16, 1)), sl.Layout((16, 16), (24, 1))
ROTATED = sl.Rotation(8, 4, 64) @ sl.Layout((16, 32), (32, 1))

PICTURES = (
    Picture("banks_16x64", *banks_16x64()),
    Picture("layout_offsets", partial(laid_out, SWIZZLED, "offset"), joined()),
    Picture("layout_banks", partial(laid_out, sl.Layout((32, 32), (33, 1)), "bank", "f32"), joined()),
    Picture("layout_chunks", partial(laid_out, ROTATED, "chunk"), joined()),
    Picture("ldmatrix_phases", partial(matrix_phases, "ldmatrix.x4", (PLAIN, SWIZZLED)), joined()),
    Picture("stmatrix_phases", partial(matrix_phases, "stmatrix.x4", PADDED), joined()),
    Picture("fragment_m16n8k16_f16", partial(fragments, "m16n8k16.f32.f16.f16.f32"), joined(2)),
    Picture("fragment_m16n8k32_e4m3", partial(fragments, "m16n8k32.f32.e4m3.e4m3.f32", "AB"), joined(1)),
    Picture("tma_modes", lambda: [landing(atom(span)) for span in (0, 32, 64, 128)], joined(2)),
    Picture("copy_crosswise", copy_crosswise, joined()),
    Picture("f2_maps", f2_maps, joined()),
    *(Picture(f"plan_{name}", lambda name=name: plan_sheet(named(name).plan, name=name), sheet)
      for name in ("mma_base", "mma_permuted", "wgmma_persistent")),
    Picture("pipeline_2_stages", partial(of_kernel, KERNELS["mma_permuted"].variant(stages=2, accumulate="f16"), 3),
            pipeline),
    Picture("pipeline_4_stages", partial(of_kernel, KERNELS["mma_crosswise"], 6), pipeline),
    Picture("pipeline_tma", partial(of_kernel, named("wgmma_specialized"), 8), pipeline),
    Picture("pipeline_persistent", partial(of_kernel, named("wgmma_persistent"), 6), pipeline),
)
