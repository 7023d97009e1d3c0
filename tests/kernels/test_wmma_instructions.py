"""wmma in kernels: products of all orders on the CPU machine, what they cost, and what ptxas makes of them."""

from itertools import product

import numpy as np
import pytest
from machine_code import assembled, needs_tools, of_class
from machine_kit import fails
from tiers import sweep_but

import simlayout.numerics as numerics
from cuda_kernels.intrinsics import (
    bar_sync,
    ld_global_b32,
    ld_shared_b32,
    s32,
    st_global_b32,
    st_shared_b32,
    tid_x,
    u32,
    u64,
    wmma_load,
    wmma_mma,
    wmma_store,
)
from simlayout.errors import AddressError, InstructionError
from simlayout.machine import run

ORDERS = list(product(("row", "col"), repeat=3))
TYPES = [("f16", "f32"), ("f16", "f16"), ("bf16", "f32")]
AT_A, AT_B, AT_C, SHARED = 0, 2048, 4096, 8192


def stored(matrix, layout, stride):
    """A 16 x 16 matrix in memory, `stride` elements from line to line, zeros between."""
    lines = np.zeros((16, stride), matrix.dtype)
    lines[:, :16] = matrix if layout == "row" else matrix.T
    return lines


def kernel_of(a_layout, b_layout, c_layout, dtype, result, space, strides):
    """D = A B + C of one warp, all in one space; through shared memory the arrays are copied there and D back."""
    load_a, load_b = wmma_load("a", dtype, a_layout, space), wmma_load("b", dtype, b_layout, space)
    load_c, store = wmma_load("c", result, c_layout, space), wmma_store(result, c_layout, space)
    multiply, (sa, sb, sc) = wmma_mma(a_layout, b_layout, dtype, result), strides
    words_c = (16 if result == "f32" else 8) * sc

    def multiplied(a, b, c, d):
        store(d, s32(sc), *multiply(*load_a(a, s32(sa)), *load_b(b, s32(sb)), *load_c(c, s32(sc))))

    def copied(source, target, words):
        for i in range((words + 31) // 32):
            at = 4 * (32 * i + tid_x())
            if at < 4 * words:
                st_shared_b32(u32(target + at), ld_global_b32(source + u64(at)))

    def in_shared(a, b, c, d):
        copied(a, AT_A, 8 * sa)
        copied(b, AT_B, 8 * sb)
        copied(c, AT_C, words_c)
        bar_sync()
        multiplied(u32(AT_A), u32(AT_B), u32(AT_C), u32(AT_C))
        bar_sync()
        for i in range((words_c + 31) // 32):
            at = 4 * (32 * i + tid_x())
            if at < 4 * words_c:
                st_global_b32(d + u64(at), ld_shared_b32(u32(AT_C + at)))

    return in_shared if space == "shared" else multiplied


def numbers(dtype, seed):
    found = np.random.default_rng(seed).standard_normal((16, 16)).astype(np.float32)
    if dtype == "bf16":
        return (found.view(np.uint32) >> 16).astype(np.uint16)
    return found.astype({"f16": np.float16, "f32": np.float32}[dtype])


def made(layouts, dtype, result, space, strides):
    """(D, A B + C by the arithmetic of two mma, the trace)."""
    a, b, c = numbers(dtype, 1), numbers(dtype, 2), numbers(result, 3)
    arrays = [stored(m, layout, stride) for m, layout, stride in zip((a, b, c), layouts, strides)]
    d = np.zeros_like(arrays[2])
    trace = run(kernel_of(*layouts, dtype, result, space, strides), 1, 32, *arrays, d, shared_bytes=SHARED)
    name = f"m16n8k16.{result}.{dtype}.{dtype}.{result}"
    wanted = np.concatenate([numerics.gemm(name, a, b[:, half], c[:, half]) for half in (slice(0, 8), slice(8, 16))], axis=1)
    assert not d[:, 16:].any()
    return d[:, :16] if layouts[2] == "row" else d[:, :16].T, wanted, trace


@pytest.mark.parametrize("dtype, result", TYPES)
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("layouts", ORDERS, ids="-".join)
def test_a_product_has_the_bits_of_two_mma_in_every_order(layouts, space, dtype, result):
    found, wanted, trace = made(layouts, dtype, result, space, (24, 40, 20 if result == "f32" else 24))
    np.testing.assert_array_equal(found, wanted)
    assert trace.hazards == trace.notes == ()


@pytest.mark.parametrize("stride, wavefronts", [(16, 8), (24, 4), (64, 32)])
def test_loads_from_shared_memory_cost_what_ldmatrix_does(stride, wavefronts):
    _, _, trace = made(("row", "col", "row"), "f16", "f32", "shared", (stride, stride, 16))
    counts = {count.instruction: count for count in trace.by_instruction()}
    assert counts["ldmatrix.x4"].instructions == 2 and counts["ldmatrix.x4"].wavefronts == 2 * wavefronts
    assert counts["ld.shared.b64"].instructions == counts["st.shared.b64"].instructions == 4


def opcodes_of(layouts, dtype, result, space, folder):
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    kernel = kernel_of(*layouts, dtype, result, space, (24, 24, 24))
    text, _ = cuda.compile_ptx(bound_kernel(kernel), signature("u64 u64 u64 u64"), cc=(9, 0, "a"))
    return assembled(text, folder)[1]


TRANSPOSED = {0: ("row", "col", "row"), 2: ("col", "row", "row"), 1: ("row", "row", "col")}
"""How many ldmatrix transpose: the layouts of A, B and C."""


@needs_tools
@pytest.mark.parametrize("transposed", sweep_but([2], TRANSPOSED))
def test_ptxas_makes_the_instructions_that_the_twins_count(transposed, tmp_path):
    layouts = TRANSPOSED[transposed]
    opcodes = opcodes_of(layouts, "f16", "f32", "shared", tmp_path)
    assert of_class(opcodes, "LDSM") == 2 and of_class(opcodes, "HMMA") == 2 and of_class(opcodes, "MOVM") == 0
    assert sum(n for name, n in opcodes.items() if name.startswith("LDSM") and "MT88" in name) == transposed
    wide = sum(n for name, n in opcodes.items() if name in ("LDS.64", "STS.64"))
    assert wide == (8 if layouts[2] == "row" else 0)


@needs_tools
def test_ptxas_turns_what_lies_the_other_way_in_global_memory(tmp_path):
    opcodes = opcodes_of(("col", "row", "row"), "f16", "f32", "global", tmp_path)
    assert of_class(opcodes, "LDSM") == 0 and of_class(opcodes, "MOVM") == 8 and of_class(opcodes, "HMMA") == 2


def test_what_wmma_does_not_have_or_cannot_address_is_refused():
    with pytest.raises(InstructionError, match="types are f16 and bf16"):
        wmma_load("a", "f32", "row")
    with pytest.raises(InstructionError, match="layouts row and col"):
        wmma_store("f32", "diagonal")
    load = wmma_load("a", "f16", "row")

    def reads(at, stride, apart):
        load(u32(at + apart * tid_x()), s32(stride))

    options = dict(shared_bytes=SHARED)
    assert "multiple of 32" in fails(AddressError, reads, 16, 16, 0, **options)
    assert "the stride of 16" in fails(AddressError, reads, 0, 20, 0, **options)
    assert "one address and one stride" in fails(AddressError, reads, 0, 16, 32, **options)
