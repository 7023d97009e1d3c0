"""The largest tiles in slices that the rules let pass, as machine code: nothing spills, and no wgmma waits for another."""

from itertools import product

import pytest
from machine_code import assembled, assert_in_registers, needs_tools
from tiers import sweep_but

from cuda_kernels.build.compile import ptx
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from simlayout.errors import SimlayoutError

FIVE, THREE, TWO = "alpha residual bias_n gelu multiply", "residual gelu multiply", "gelu multiply"
KINDS = {
    "rows of C": {}, "columns of C": dict(c_major="M"), "f32": dict(out="f32", store="direct"),
    "f32, columns": dict(out="f32", store="direct", c_major="M"), "integers": dict(dtype="s8", out="s32", store="direct"),
    "scales of lines": dict(dtype="e4m3", scaled="lines"), "promoted": dict(dtype="e4m3", scaled="1x128"),
    "five parts": dict(epilogue=FIVE), "five parts, scales": dict(dtype="e4m3", scaled="lines", out="bf16", epilogue=FIVE),
    "five parts, f32": dict(out="f32", store="direct", epilogue=FIVE)}
KINDS |= {f"{name} parts, f32, scales": KINDS["f32, columns"] | dict(dtype="e4m3", scaled="lines", epilogue=epilogue)
          for name, epilogue in (("five", FIVE.replace("_n", "_m")), ("three", THREE), ("two", TWO))}
CASES = [*product(KINDS, (64, 128, 256), (1,)), ("rows of C", 64, 2), ("five parts, f32, scales", 64, 2)]
"""What is multiplied and stored, rows of the tile, CTAs of an SM."""


def largest(kind, tile_m, resident):
    """The configuration of two slices with the most columns that is not refused."""
    for tile_n in range(256, 7, -8):
        try:
            box = 0 if tile_n % 16 == 0 or "store" in KINDS[kind] else 16 * ("epilogue" not in KINDS[kind])
            return Hopper(tile_m, tile_n, 2, 1, box, slices=2, resident=resident, **KINDS[kind])
        except SimlayoutError:
            continue
    raise AssertionError(f"no {kind} of {tile_m} rows")


@needs_tools
@pytest.mark.parametrize("case", sweep_but([("columns of C", 256, 1)], CASES), ids=str)
def test_the_largest_tile_in_slices_keeps_its_sums_in_registers_and_lets_wgmma_overlap(case, tmp_path):
    said, _ = assembled(ptx(kernel_of(largest(*case))), tmp_path)
    assert_in_registers(said)


@pytest.mark.parametrize("options, fault", [
    (dict(tile_m=256, tile_n=112, c_major="M"), "56 of them accumulators, and needs 44 more"),
    (dict(tile_m=64, tile_n=176, c_major="M", out="f32", store="direct", epilogue=FIVE, resident=2), "needs 44 more"),
    (dict(tile_m=64, tile_n=208, epilogue=FIVE), "each finishes 104 columns, and wgmma no longer overlap with more than 96"),
    (dict(tile_m=64, tile_n=256, epilogue=THREE), "use more slices or a smaller tile_n")])
def test_tiles_in_slices_that_spilled_or_kept_wgmma_apart_are_refused(options, fault):
    with pytest.raises(SimlayoutError, match=fault):
        Hopper(**options, stages=2, buffers=1, slices=2)
