"""What hazards advise where the obvious mend is wrong: where a barrier is there already, or none can be put."""

import numpy as np
import pytest

import simlayout as sl

cuda = pytest.importorskip("numba.cuda")


def advice(kernel, grid, block, *args):
    found = sl.simulate(kernel, hazards="report")[grid, block](*args).hazards
    return {hazard.kind: str(hazard).rpartition(": ")[2] for hazard in found}


@pytest.mark.parametrize("block, who, they", [(64, "warp 1", "it"), (128, "warps 1-3", "they")])
def test_a_barrier_that_some_warps_do_not_come_to_is_named(block, who, they):
    @cuda.jit
    def turned(x):
        s = cuda.shared.array(128, "float32")
        t = cuda.threadIdx.x
        s[t] = x[t]
        if t < 32:
            cuda.syncthreads()
        x[t] = s[cuda.blockDim.x - 1 - t]

    line = turned.py_func.__code__.co_firstlineno + 6
    told = set(advice(turned, 1, block, np.zeros(block, np.float32)).values())
    assert told == {f"let {who} come to the cuda.syncthreads() of test_advice.py:{line}, which {they} ended without"}


def test_what_an_atomic_and_a_store_do_without_a_barrier_is_told_once_although_it_reads_and_writes():
    @cuda.jit
    def most(x, total):
        s = cuda.shared.array(2, "int32")
        t = cuda.threadIdx.x
        if t > 93:
            s[t - 94] = 0
        cuda.atomic.max(s, t % 2, x[t])
        cuda.syncthreads()
        total[t % 2] = s[t % 2]

    found = sl.simulate(most, hazards="report")[1, 96](np.arange(96), np.zeros(2, np.int32)).hazards
    assert len(found) == 2 and {hazard.kind for hazard in found} > {"lane race"}


def test_a_count_without_an_atomic_is_to_become_one():
    @cuda.jit
    def counted(x, total):
        s = cuda.shared.array(4, "int32")
        t = cuda.threadIdx.x
        if t < 4:
            s[t] = 0
        cuda.syncthreads()
        s[x[t]] += 1
        total[x[t]] += 1

    told = advice(counted, 2, 64, np.arange(64) % 4, np.zeros(4, np.int32))
    for kind in ("write after read", "read after write", "write after write", "global race"):
        assert told.get(kind, "as one line does both, make it an atomic (cuda.atomic.add), or ").startswith(
            "as one line does both, make it an atomic (cuda.atomic.add), or "), told
    assert "global race" in told and len(told) > 2


def test_a_line_that_two_warps_do_apart_is_still_to_be_parted_by_a_barrier():
    @cuda.jit
    def shifted(x):
        s = cuda.shared.array(128, "float32")
        t = cuda.threadIdx.x
        s[t] = x[t]
        x[t] = s[127 - t]
        cuda.syncthreads()

    assert set(advice(shifted, 1, 128, np.zeros(128, np.float32)).values()) == {"put a cuda.syncthreads() between them"}
