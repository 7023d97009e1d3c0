"""prove_operand: the loads of a kernel against the descriptors of its wgmma."""

import numpy as np
import pytest

import simlayout as sl
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.plan import loads_of
from simlayout.errors import LayoutError, VerificationError
from simlayout.hardware.matrix.descriptor import Descriptor

TENSOR = sl.TensorMap("f16", (4096, 4096), (8192,), (64, 64), swizzle=128)
STEPS = [Descriptor(1024 + 32 * i, 16, 1024, 128) for i in range(4)]


def test_what_is_proved_holds_when_the_bytes_are_moved():
    """An independent look: gather the box, put its bytes where they land, read them where wgmma does."""
    array = np.random.default_rng(1).integers(0, 2**16, (256, 256)).astype(np.uint16)
    tensor = sl.TensorMap.of(array, (64, 128), dtype="bf16")
    steps = [Descriptor(2048 + 32 * i, 16, 1024, 128) for i in range(4)]
    certificate = sl.prove_operand(tensor, [((128, 64), 2048)], steps, 128, origin=(64, 128))
    memory = np.zeros(32768, np.uint16)
    memory[tensor.landing(2048) // 2] = tensor.gather((128, 64))
    read = np.concatenate([sl.hardware.operand_addresses(s, 128, 16, "bf16", "K") for s in steps], axis=1)
    np.testing.assert_array_equal(memory[read // 2], array[64:192, 128:192])
    assert certificate.domain == {"row": 128, "k": 64} and certificate.digest == sl.proofs.digest(read)


@pytest.mark.parametrize("loads, steps, counterexample", [
    ([((0, 0), 1024)], [Descriptor(1024, 16, 512, 128)], {"row": 8, "k": 0, "put": 2048, "read": 1600}),
    ([((0, 0), 1024)], [Descriptor(1024, 16, 1024, 64)], {"row": 1, "k": 0, "put": 1168, "read": 1088}),
    ([((0, 0), 1024)], STEPS[1:2], {"row": 0, "k": 0, "put": 1024, "read": 1056}),
    ([((16, 0), 1024)], STEPS, {"row": 0, "k": 0, "put": -1, "read": 1024}),
    ([((0, 32), 1024)], STEPS, {"row": 0, "k": 0, "put": -1, "read": 1024}),
    ([((0, 0), 1024), ((64, 0), 8192)], STEPS, {"byte": 8192, "first": (56, 0), "second": (0, 64)}),
    ([((0, 0), 1024), ((0, 0), 16384)], STEPS, {"row": 0, "k": 0, "first": 1024, "second": 16384})])
def test_a_load_that_does_not_fit_is_found_with_its_first_element(loads, steps, counterexample):
    with pytest.raises(VerificationError) as fault:
        sl.prove_operand(TENSOR, loads, steps, 64)
    assert fault.value.counterexample == counterexample and "\n" not in str(fault.value)


def test_the_columns_of_a_matrix_can_be_two_dimensions_of_its_map():
    """256 columns of K as (64, rows, 4): one box brings them all."""
    tensor = sl.TensorMap("f16", (64, 4096, 64), (8192, 128), (64, 64, 4), swizzle=128)
    steps = [Descriptor(8192 * block + 32 * i, 16, 1024, 128) for block in range(4) for i in range(4)]
    with pytest.raises(LayoutError, match="say with element="):
        sl.prove_operand(tensor, [((0, 128, 0), 0)], steps, 64, origin=(128, 0))
    sl.prove_operand(tensor, [((0, 128, 0), 0)], steps, 64, origin=(128, 0), element=lambda c: (c[1], c[0] + 64 * c[2]))


@pytest.mark.parametrize("loads, steps", [([], STEPS), ([((0, 0), 1024)], [])])
def test_nothing_is_not_proved(loads, steps):
    with pytest.raises(LayoutError, match="at least one load and one descriptor"):
        sl.prove_operand(TENSOR, loads, steps, 64)


@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("tile_m, tile_n, below, beside", [
    (64, 64, 1, 1), (64, 16, 1, 1), (64, 256, 1, 4), (128, 128, 2, 1), (128, 256, 2, 1), (128, 176, 1, 2), (192, 192, 2, 2),
    (256, 112, 1, 1), (256, 128, 2, 1), (64, 96, 4, 2), (64, 112, 2, 4)])
def test_the_wgmma_kernels_read_every_element_where_their_own_loads_put_it(major, tile_m, tile_n, below, beside):
    config = Hopper(tile_m, tile_n, 2, 1, a_major=major, b_major=major, cluster_m=below, cluster_n=beside, producer=1)
    boxes, (of_a, of_b), first, k = config.boxes(), config.operands, 384, 128
    for box, tile, size, parts, rows in ((boxes[0], of_a, tile_m, beside, 64), (boxes[1], of_b, of_b.rows, below, tile_n)):
        tensor = sl.TensorMap("f16", (8192, 8192, 1), (16384, 16384), box, swizzle=128)
        loads = loads_of(major, size, parts, first, k)
        for part in range(size // tile.rows):            # each consumer's 64 rows of A; all of B
            starts = [tile.descriptor(tile.bytes * part).encode() + (start >> 4) for start in tile.starts]
            made = sl.prove_operand(tensor, loads, starts, rows, (first + tile.rows * part, k), major)
            assert made.domain == {"row": rows, "k": 64} and len(made.claims) == 2


TILE = 1024 + 2 * (sl.Swizzle(3, 3, 3) @ sl.Layout((64, 64), (64, 1)))(*np.indices((64, 64)))
"""Where a kernel that swizzles by itself has a 64 x 64 tile of f16 that begins at byte 1024."""


def test_a_layout_that_swizzles_as_tma_does_is_proved():
    proved = sl.prove_tile(TENSOR, [((0, 0), 1024)], TILE)
    assert proved.domain == {"row": 64, "k": 64} and proved.digest == sl.proofs.digest(TILE)


@pytest.mark.parametrize("loads, tile, fault", [
    ([((0, 0), 1024)], TILE ^ 16, r"element \(row 0, k 0\) lies at byte 1024 and the layout has it at 1040: make"),
    ([((16, 0), 1024)], TILE, r"element \(row 0, k 0\) is in none of 1 boxes, and the layout has it at byte 1024: load it")])
def test_a_layout_that_does_not_fit_the_boxes_is_refused_with_the_first_element(loads, tile, fault):
    with pytest.raises(VerificationError, match=fault):
        sl.prove_tile(TENSOR, loads, tile)


@pytest.mark.parametrize("loads, tile", [([], TILE), ([((0, 0), 1024)], TILE[0])])
def test_a_tile_without_loads_or_rows_is_not_proved(loads, tile):
    with pytest.raises(LayoutError, match="at least one load and the addresses"):
        sl.prove_tile(TENSOR, loads, tile)
