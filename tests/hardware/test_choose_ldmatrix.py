"""The choice of ldmatrix: by CuTe's rules, and by moving the bytes."""

import numpy as np
import pytest
from tiers import sweep_but

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.hardware import FRAGMENTS, MMAS, choose_ldmatrix, fragment

LANE = np.arange(32)
F16_K16, F16_K8 = "m16n8k16.f16.f16.f16.f16", "m16n8k8.f16.f16.f16.f16"
SIZES = {"x1": 1, "x2": 2, "x4": 4}

RULES = [
    # mma, operand, val_layout, major, instruction, CuTe's copy atom; source: notes on CUTLASS 3.5 and its atoms
    (F16_K16, "A", (1, 2, 1), "K", "ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    (F16_K16, "B", (1, 2, 1), "K", "ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    (F16_K16, "A", (1, 2, 1), "MN", "ldmatrix.x4.trans", "SM75_U16x8_LDSM_T"),
    (F16_K16, "B", (1, 2, 1), "MN", "ldmatrix.x4.trans", "SM75_U16x8_LDSM_T"),
    (F16_K16, "A", (1, 1, 1), "K", "ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    (F16_K16, "B", (1, 1, 1), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
    (F16_K16, "B", (1, 1, 1), "MN", "ldmatrix.x2.trans", "SM75_U16x4_LDSM_T"),
    (F16_K8, "A", (1, 2, 1), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
    (F16_K8, "B", (1, 2, 1), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
    (F16_K8, "A", (1, 1, 1), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
    (F16_K8, "B", (1, 1, 1), "K", "ldmatrix.x1", "SM75_U32x1_LDSM_N"),
    (F16_K8, "B", (1, 1, 1), "MN", "ldmatrix.x1.trans", "SM75_U16x2_LDSM_T"),
    (F16_K8, "A", (2, 1, 1), "K", "ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    (F16_K8, "B", (1, 1, 2), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
    (F16_K8, "B", (1, 3, 1), "K", "ldmatrix.x1", "SM75_U32x1_LDSM_N"),
    ("m16n8k8.f32.tf32.tf32.f32", "A", (1, 1, 1), "K", "ldmatrix.x4", "SM75_U32x4_LDSM_N"),
    ("m16n8k32.s32.s8.s8.s32", "B", (1, 1, 1), "K", "ldmatrix.x2", "SM75_U32x2_LDSM_N"),
]


@pytest.mark.parametrize("mma, operand, val_layout, major, instruction, atom", RULES)
def test_the_choice_is_the_one_cute_wants(mma, operand, val_layout, major, instruction, atom):
    choice = choose_ldmatrix(mma, operand, val_layout, major)
    assert (choice.instruction, choice.atom) == (instruction, atom)


def test_lanes_point_at_the_rows_as_in_hand_written_kernels():
    a, b = choose_ldmatrix(F16_K16, "A"), choose_ldmatrix(F16_K16, "B", (1, 2, 1))
    for lane in range(32):
        assert a.address(lane) == (lane % 16, lane // 16 * 8)
        assert b.address(lane) == (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8)


LOADABLE = [(name, operand, major) for name, row in MMAS.items() for operand in "AB" for major in ("K", "MN")
            for bits in (TYPES[row.operands()[operand][2]].bits,) if bits == 16 or (bits < 64 and major == "K")]


def stored_tile(tile, bits, major, seed):
    """(memory, byte address of a coordinate, element bits [mn, k, bits]) of random elements of `bits` bits."""
    element = np.random.default_rng(seed).integers(0, 2, (*tile, bits), dtype=np.uint8)
    memory = element if major == "K" else element.transpose(1, 0, 2)
    strides = (tile[1], 1) if major == "K" else (1, tile[0])
    return (np.packbits(memory.ravel(), bitorder="little"),
            lambda mn, k: bits * (mn * strides[0] + k * strides[1]) // 8, element)


def ldmatrix(instruction, memory, addresses):
    """What the hardware delivers, register by register: uint8 [lanes, matrices, 4]. By the PTX ISA, not by our map."""
    x, trans = SIZES[instruction.split(".")[1]], instruction.endswith(".trans")
    out = np.zeros((32, x, 4), np.uint8)
    for m in range(x):
        rows = np.stack([memory[a:a + 16] for a in addresses[8 * m:8 * m + 8]]).reshape(8, 8, 2)
        matrix = rows.transpose(1, 0, 2) if trans else rows
        for lane in range(32):
            out[lane, m] = matrix[lane // 4, 2 * (lane % 4):2 * (lane % 4) + 2].ravel()
    return out


@pytest.mark.parametrize("name, operand, major", LOADABLE)
@pytest.mark.parametrize("val_layout", sweep_but([(1, 1, 1), (2, 3, 2)], [
    (1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 1, 2), (2, 3, 2)]), ids=str)
def test_the_chosen_ldmatrix_delivers_exactly_the_fragment(name, operand, major, val_layout):
    choice = choose_ldmatrix(name, operand, val_layout, major)
    f, row = fragment(name, operand), MMAS[name]
    extent = row.m if operand == "A" else row.n
    memory, address_of, element = stored_tile(choice.tile, TYPES[f.dtype].bits, major, seed=len(name))
    held = {}
    for copy in range(choice.copies):
        addresses = [int(address_of(*choice.address(lane, copy))) for lane in range(32)]
        assert all(a % 16 == 0 for a in addresses)
        registers = ldmatrix(choice.instruction, memory, addresses)
        for m in range(choice.matrices):
            held[choice.feeds[copy * choice.matrices + m]] = registers[:, m]
    repetitions = [(mn, k) for mn in range(choice.tile[0] // extent) for k in range(choice.tile[1] // row.k)]
    assert set(held) == {(mn, k, r) for mn, k in repetitions for r in range(f.registers)}
    at = f.coordinates()[..., ::-1] if operand == "B" else f.coordinates()
    for mn, k in repetitions:
        expected = element[at[..., 0] + mn * extent, at[..., 1] + k * row.k].reshape(32, f.registers, 32)
        dealt = np.unpackbits(np.stack([held[mn, k, r] for r in range(f.registers)], axis=1), axis=-1, bitorder="little")
        np.testing.assert_array_equal(dealt, expected)


@pytest.mark.parametrize("want, copies", [("x1", 4), ("x2", 2), ("x4", 1)])
def test_fewer_matrices_at_a_time_take_more_copies(want, copies):
    choice = choose_ldmatrix(F16_K16, "A", want=want)
    assert (choice.copies, choice.instruction) == (copies, f"ldmatrix.{want}")
    covered = {choice.address(lane, c) for c in range(copies) for lane in range(8 * SIZES[want])}
    assert covered == {(row, col) for row in range(16) for col in (0, 8)}


def test_the_address_takes_arrays_and_stays_in_the_tile():
    choice = choose_ldmatrix(F16_K16, "B", (1, 2, 2))
    for copy in range(choice.copies):
        mn, k = choice.address(LANE, copy)
        assert (mn < choice.tile[0]).all() and (k < choice.tile[1]).all()
        assert list(zip(mn.tolist(), k.tolist(), strict=True)) == [choice.address(lane, copy) for lane in range(32)]


@pytest.mark.parametrize("mma, operand, want, words", [
    (F16_K8, "B", {"want": "x4"}, "^TiledCopy uses too few vals for selected CopyAtom: .* holds 1 of the 8x8"),
    (F16_K8, "A", {"want": "x4"}, "TiledCopy uses too few vals for selected CopyAtom"),
    (F16_K8, "B", {"want": "x4", "val_layout": (1, 6, 1)}, "holds 6 of the 8x8 matrices"),
    (F16_K8, "B", {"want": 4}, "want is 'x1', 'x2' or 'x4', not 4"),
    (F16_K8, "C", {}, "operand 'A' or 'B' of an mma, not 'C'"),
    (F16_K8, "A", {"major": "row"}, "major is 'K' or 'MN'"),
    (F16_K8, "A", {"val_layout": (1, 0, 1)}, "three positive repetitions"),
    (F16_K8, "A", {"val_layout": (1, 1)}, "three positive repetitions"),
    (F16_K8, "A", {"val_layout": 2}, "three positive repetitions"),
    ("m8n8k4.f64.f64.f64.f64", "A", {}, "use ld.shared"),
    ("m16n8k32.s32.s8.s8.s32", "A", {"major": "MN"}, "transposes 16-bit elements, not s8"),
    ("m16n8k32", "A", {}, "did you mean"),
])
def test_what_ldmatrix_cannot_do_is_refused(mma, operand, want, words):
    with pytest.raises(InstructionError, match=words) as caught:
        choose_ldmatrix(mma, operand, **want)
    assert "\n" not in str(caught.value)


def test_every_choice_is_an_instruction_with_a_fragment():
    for name, operand, major in LOADABLE:
        assert (choose_ldmatrix(name, operand, major=major).instruction, None) in FRAGMENTS
