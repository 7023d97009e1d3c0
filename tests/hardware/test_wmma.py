"""The fragments of wmma, as the hardware must hold them to multiply by mma without moving anything between lanes."""

import numpy as np
import pytest

from simlayout.hardware import fragment
from simlayout.hardware.matrix.wmma import FAMILIES, WMMA_FRAGMENTS

PIECES = {
    # (m, n): for each mma that the wmma is made of, which tile of values of A, of B, and of C and D it takes
    (16, 16): ((0, 0, 0), (0, 1, 1)),
    (32, 8): ((0, 0, 0), (1, 0, 1)),
    (8, 8): ((0, 0, 0),),
}


def mma_name(m, k, dtype, result):
    suffix = ".and.popc" if dtype == "b1" else ""
    return f"m{min(m, 16)}n8k{k}.{result}.{dtype}.{dtype}.{result}{suffix}"


def held(name, operand, matrix):
    """[32, values]: what every lane holds of a matrix."""
    return matrix[tuple(np.moveaxis(fragment(name, operand).coordinates(), -1, 0))]


def product(mma, a, b):
    """D of one mma, by lane and value, from the values of A and of B."""
    matrices = []
    for operand, values in (("A", a), ("B", b)):
        f = fragment(mma, operand)
        matrices.append(np.zeros(f.shape, int))
        matrices[-1][tuple(np.moveaxis(f.coordinates(), -1, 0))] = values[:, :f.values]
    return held(mma, "D", matrices[0] @ matrices[1])


CASES = [(m, n, k, dtype, result) for m, n, k, inputs, results, *_ in FAMILIES for dtype in inputs for result in results
         if (result in ("s32", "f64")) == (dtype in ("s8", "u8", "s4", "u4", "b1", "f64"))
         and not (dtype in ("bf16", "tf32") and result == "f16")]


@pytest.mark.parametrize("m, n, k, dtype, result", CASES)
def test_a_wmma_is_made_of_mma_on_the_registers_as_they_are(m, n, k, dtype, result):
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n))
    name, sums = f"wmma.m{m}n{n}k{k}.{dtype}", f"wmma.m{m}n{n}k{k}.{result}.row"
    b_layout = "col" if dtype in ("s4", "u4", "b1") else "row"
    registers = held(f"{name}.row", "load.a", a), held(f"{name}.{b_layout}", "load.b", b)
    if (m, n) == (8, 32):                                  # the transposed product: what is A here is its B
        registers, (m, n) = registers[::-1], (32, 8)
    mma = mma_name(m, k, dtype, result)
    parts = {}
    for i, j, to in PIECES[m, n]:
        a_values, b_values = fragment(mma, "A").values, fragment(mma, "B").values
        parts[to] = product(mma, registers[0][:, i * a_values:], registers[1][:, j * b_values:])
    made = np.zeros_like(a @ b)
    sums_at = tuple(np.moveaxis(fragment(sums, "store.d").coordinates(), -1, 0))
    made[sums_at] = np.concatenate([parts[i] for i in sorted(parts)], axis=1)
    np.testing.assert_array_equal(made, a @ b)


def test_the_layout_in_memory_does_not_change_who_holds_what():
    for name, operand in WMMA_FRAGMENTS:
        other = name.replace(".row", ".col")
        if (other, operand) in WMMA_FRAGMENTS:
            np.testing.assert_array_equal(fragment(name, operand).coordinates(), fragment(other, operand).coordinates())
        if operand == "load.c":
            np.testing.assert_array_equal(fragment(name, "load.c").coordinates(), fragment(name, "store.d").coordinates())


@pytest.mark.parametrize("shape, operand, copies", [
    ("m16n16k16", "load.a", 2), ("m16n16k16", "load.b", 2), ("m32n8k16", "load.a", 1), ("m32n8k16", "load.b", 4),
    ("m8n32k16", "load.a", 4), ("m8n32k16", "load.b", 1),
])
def test_eight_registers_of_f16_repeat_what_does_not_fill_them(shape, operand, copies):
    f = fragment(f"wmma.{shape}.f16.col", operand)
    assert (f.copies, f.registers) == (copies, 8)
    at = f.coordinates().reshape(32, copies, -1, 2)
    assert (at == at[:, :1]).all()


@pytest.mark.parametrize("name, registers", [
    # PTX ISA, wmma: matrix fragments; A, B, C or D
    ("m16n16k16.bf16", (4, 4)), ("m32n8k16.bf16", (8, 2)), ("m8n32k16.bf16", (2, 8)), ("m16n16k8.tf32", (4, 4)),
    ("m16n16k16.s8", (2, 2)), ("m32n8k16.u8", (4, 1)), ("m8n32k16.s8", (1, 4)), ("m8n8k32.s4", (1, 1)),
    ("m8n8k128.b1", (1, 1)), ("m8n8k4.f64", (1, 1)), ("m16n16k16.f16", (8, 8)),
])
def test_a_and_b_take_the_registers_that_the_ptx_isa_gives_them(name, registers):
    assert (fragment(f"wmma.{name}.row", "load.a").registers, fragment(f"wmma.{name}.col", "load.b").registers) == registers


@pytest.mark.parametrize("name, registers", [("m16n16k16.f16", 4), ("m32n8k16.f32", 8), ("m8n32k16.s32", 8),
                                             ("m8n8k32.s32", 2), ("m8n8k4.f64", 2), ("m16n16k8.f32", 8)])
def test_c_and_d_take_the_registers_that_the_ptx_isa_gives_them(name, registers):
    for layout in ("row", "col"):
        for operand in ("load.c", "store.d"):
            assert fragment(f"wmma.{name}.{layout}", operand).registers == registers
