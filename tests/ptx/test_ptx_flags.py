"""What is told of races between threads that know of one another by a flag, or by a lock: what would order them is no
barrier, at which one of them would wait for ever."""

import re

import numpy as np
import pytest
from nvcc import needs_nvcc, ptx_of

import simlayout as sl

HEAD = """
#include <cuda/atomic>
typedef cuda::atomic_ref<int, cuda::thread_scope_block> Ref;
struct Flag {
    volatile int is;
    __device__ bool set() { return is; }
};
__device__ int look(volatile int *flag) { return *flag; }
extern "C" __global__ void kernel(int *out) {
    __shared__ int data[32], flag;
    __shared__ Flag as_class;
    volatile int *is = &flag;
    const int tid = threadIdx.x, lane = tid % 32;
    if (tid == 0) { flag = 0; as_class.is = 0; }
    __syncthreads();
"""
HANDED = HEAD + """
    if (tid < 32) {
        data[lane] = lane + 1;
        __syncwarp();
        if (lane == 0) { RELEASED SET }
    } else {
        WAIT
        ACQUIRED
        out[lane] = data[lane];
    }
}
"""
"""A warp hands 32 numbers to another one."""

FENCE = "__threadfence_block();"
WAITS = {
    "a loop": "while (*is == 0) {}",
    "a function": "while (look(is) == 0) {}",
    "a vote": "while (!__any_sync(~0u, *is)) {}",
    "a vote of a function": "while (!__all_sync(~0u, look(is) != 0)) {}",
    "a class": "while (!as_class.set()) {}",
}


def found(text, folder, *options, block=64, **parts):
    """(what the kernel leaves, its hazards)."""
    for name, part in parts.items():
        text = text.replace(name, part)
    out = np.zeros(64, np.int32)
    module = sl.ptx.load(ptx_of(text, folder, *(options or ("-lineinfo",))))
    return out, module.entry().run(1, block, out, hazards="report").hazards


@needs_nvcc
@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimized", "-G"])
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_volatile_flag_may_be_read_through_a_function_or_in_a_vote(wait, options, tmp_path):
    sets = "as_class.is = 1;" if "class" in wait else "*is = 1;"
    out, hazards = found(HANDED, tmp_path, *options, RELEASED=FENCE, SET=sets, WAIT=wait, ACQUIRED=FENCE)
    assert not hazards and out[:32].tolist() == list(range(1, 33))


RELAXED = ("Ref(flag).store(1, cuda::std::memory_order_relaxed);",
           "while (Ref(flag).load(cuda::std::memory_order_relaxed) == 0) {}")
SETS = {"volatile": ("*is = 1;", WAITS["a loop"]), "a relaxed atomic_ref": RELAXED,
        "an atomic": ("atomicExch(&flag, 1);", WAITS["a loop"])}


@needs_nvcc
@pytest.mark.parametrize("sets, wait", SETS.values(), ids=SETS)
@pytest.mark.parametrize("released", ["", FENCE], ids=["nothing", "a release"])
def test_of_data_behind_a_flag_that_orders_nothing_its_line_is_told_and_what_is_missing(sets, wait, released, tmp_path):
    _, (hazard,) = found(HANDED, tmp_path, RELEASED=released, SET=sets, WAIT=wait, ACQUIRED="")
    line = 1 + HANDED[:HANDED.index("SET")].count("\n")
    assert hazard.kind == "read after write" and "__syncthreads" not in hazard.text
    if released:
        assert hazard.text.endswith(f"let what waits for the flag of kernel.cu:{line} acquire (memory_order_acquire of "
                                    "cuda::atomic_ref), or put a __threadfence_block() behind it")
    else:
        assert hazard.text.endswith(
            f"let what sets the flag (kernel.cu:{line}) release, and what waits for it acquire (memory_order_release and "
            "_acquire of cuda::atomic_ref), or put a __threadfence_block() ahead of the one and one behind the other")


RING = HEAD + """
    __shared__ volatile int head, tail;
    if (tid == 0) { head = 0; tail = 0; }
    __syncthreads();
    if (tid == 0) {
        for (int i = 0; i < 20; i++) {
            while (i - tail >= 4) {}
            ACQUIRED
            data[i % 4] = i * i;
            RELEASED
            head = i + 1;
        }
    } else if (tid == 32) {
        for (int i = 0; i < 20; i++) {
            while (head <= i) {}
            ACQUIRED
            out[i] = data[i % 4];
            RELEASED
            tail = i + 1;
        }
    }
}
"""


@needs_nvcc
def test_a_ring_of_four_places_asks_for_fences_on_both_ways_and_for_no_barrier(tmp_path):
    out, hazards = found(RING, tmp_path, RELEASED=FENCE, ACQUIRED=FENCE)
    assert not hazards and out[:20].tolist() == [i * i for i in range(20)]
    _, hazards = found(RING, tmp_path, RELEASED="", ACQUIRED="")
    assert {one.kind for one in hazards} == {"read after write", "write after read"}
    assert len({re.search(r"flag \(kernel\.cu:(\d+)\)", one.text)[1] for one in hazards}) == 2
    assert not any("__syncthreads" in one.text for one in hazards)


FAR = HEAD + """
    volatile int *there = out + 63;
    if (blockIdx.x == 0) {
        out[lane] = lane;
        __syncwarp();
        if (lane == 0) *there = 1;
    } else {
        if (lane == 0) while (*there == 0) {}
        __syncwarp();
        out[32] = out[1];
    }
}
"""


@needs_nvcc
@pytest.mark.parametrize("together", [False, True])
def test_across_ctas_the_fence_that_is_asked_for_is_the_gpus(tmp_path, together):
    entry = sl.ptx.load(ptx_of(FAR, tmp_path, "-lineinfo")).entry()
    (hazard,) = entry.run(2, 32, np.zeros(64, np.int32), hazards="report", together=together).hazards
    assert hazard.kind == "global race" and "put a __threadfence() ahead of the one" in hazard.text


LOCK = HEAD + """
    if (lane == 0) {
        while (atomicCAS(&flag, 0, 1) != 0) {}
        ACQUIRED
        data[0] += tid;
        RELEASED
        atomicExch(&flag, 0);
    }
}
"""


@needs_nvcc
def test_under_a_lock_a_fence_is_advised_too(tmp_path):
    text = LOCK.replace("as_class.is = 0;", "data[0] = 0;")
    _, hazards = found(text, tmp_path, ACQUIRED="", RELEASED="")
    assert {one.kind for one in hazards} == {"read after write", "write after read"}
    assert all("; under a lock, or where one waits for the other by an atomic, put a __threadfence_block() ahead of what "
               "frees it instead, and one behind what takes it" in one.text for one in hazards)
    assert not found(text, tmp_path, ACQUIRED=FENCE, RELEASED=FENCE)[1]
