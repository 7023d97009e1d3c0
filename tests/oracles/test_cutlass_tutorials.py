"""The tutorials of CUTLASS's CuTe in C++, as they are and mended, on the CPU machine: the group `oracles`, and nvcc."""

import numpy as np
import pytest
from cutlass_wheel import INCLUDES, SOURCE, needs_cutlass
from nvcc import needs_nvcc, ptx_of

import simlayout as sl

TUTORIAL = SOURCE / "examples" / "cute" / "tutorial"
pytestmark = [needs_nvcc, needs_cutlass]

M, N, K = 256, 128, 256
EMPTY = b"\0"
"""What an empty type is as a parameter: the tiler, and layouts, copies and products that are fixed."""

BARRIER, FENCE = "__syncthreads();", 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


def entries(name, folder, *mends, arch="sm_90a"):
    """[the NT kernel, the TN kernel] of a tutorial, as far as it has them. mends: (text that is there once, another)."""
    text = (TUTORIAL / name).read_text()
    for old, new in mends:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return list(sl.ptx.load(ptx_of(text, folder, *INCLUDES, arch=arch)).entries.values())


def operands(dtype, kmajor):
    """A, B, C, what C is to be, and the leading dimensions of A and B; C is M-major."""
    source = np.random.default_rng(1)
    a, b = (source.integers(-2, 3, (rows, K)).astype(dtype) for rows in (M, N))
    c, right = np.zeros((N, M), dtype), (b.astype(np.float32) @ a.astype(np.float32).T)
    return (a, b, c, right, K, K) if kmajor else (a.T.copy(), b.T.copy(), c, right, M, N)


def size(*numbers):
    return np.array(numbers, np.int32)


@pytest.mark.parametrize(("name", "block", "dtype", "more", "shared"), [
    ("sgemm_1.cu", 256, np.float32, 1, 0), ("sgemm_2.cu", 256, np.float32, 1, 0),
    ("sgemm_sm80.cu", 128, np.float16, 2, 2 * 3 * 256 * 64)])
def test_tutorials_of_cp_async_are_right_and_have_no_hazards(name, block, dtype, more, shared, tmp_path):
    found = entries(name, tmp_path, arch="sm_80")
    for i, entry in enumerate(found):
        a, b, c, right, lda, ldb = operands(dtype, i or len(found) == 1)
        args = [size(M, N, K), EMPTY, a, size(lda), EMPTY, *[EMPTY] * more, b, size(ldb), EMPTY, *[EMPTY] * more, c, size(M),
                EMPTY, EMPTY, dtype(1), dtype(0)]
        trace = entry.run((M // 128, N // 128), block, *args, shared_bytes=shared)
        np.testing.assert_array_equal(c, right)
        assert trace.hazards == ()


PRODUCT = np.ones(2, np.int32)
"""A TiledMMA of wgmma, with its `accumulate_`, which is One."""

WAIT, END = "    cp_async_wait<0>();\n\n    warpgroup_fence_operand(tCrC);", "\n    warpgroup_fence_operand(tCrC);"


@pytest.mark.parametrize(("between", "kinds"), [
    ("", {"read after write", "lane race", "early read"}), (BARRIER, {"missing proxy fence"}),
    (FENCE + BARRIER, set())])
def test_the_tutorial_of_wgmma_lacks_a_barrier_and_a_proxy_fence_behind_its_copies(between, kinds, tmp_path):
    mend = WAIT, WAIT.removesuffix(END) + between + END
    for i, entry in enumerate(entries("hopper/wgmma_sm90.cu", tmp_path, mend)):
        a, b, c, right, lda, ldb = operands(np.float16, i)
        args = [size(M, N, K), EMPTY, a, size(lda), EMPTY, EMPTY, b, size(ldb), EMPTY, EMPTY, c, size(M), PRODUCT]
        trace = entry.run((M // 128, 1), 128, *args, np.float16(1), np.float16(0), shared_bytes=100_000, hazards="report")
        np.testing.assert_array_equal(c, right)
        assert {hazard.kind for hazard in trace.hazards} == kinds


LOADS = """      // Wait for Consumer to complete consumption
      ConsumerBarType::wait(&consumer_mbar[pipe], write_state.phase());
"""


@pytest.mark.parametrize(("mends", "kinds"), [
    ((), {"early exit"}),
    (((LOADS, LOADS + "if (k_tile_count > 0) {\n"), ("      ++write_state;\n", "}\n      ++write_state;\n")), set())])
def test_the_tutorial_of_tma_loads_tiles_behind_the_last_one_and_ends_before_they_have_come(mends, kinds, tmp_path):
    for i, entry in enumerate(entries("hopper/wgmma_tma_sm90.cu", tmp_path, *mends)):
        a, b, c, right, _, _ = operands(np.float16, i)
        maps = [[sl.TensorMap.of(x, (64, 128 if i else 8)), bytes(128)] for x in (a, b)]     # a TMA copy, with what it adds
        args = [size(M, N, K), EMPTY, a, maps[0], b, maps[1], c, size(M), PRODUCT, np.float16(1), np.float16(0)]
        trace = entry.run((M // 128, 1), 128, *args, shared_bytes=100_000, cluster=2, hazards="report")
        np.testing.assert_array_equal(c, right)
        assert {hazard.kind for hazard in trace.hazards} == kinds
