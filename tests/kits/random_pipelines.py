"""Random pipelines of CUDA C++, with the fault that each may have: copies by groups (cp.async), and rings of stages that one
warp fills and others empty, handed over by mbarriers. The twin sums the same tiles in NumPy.

A fault is a number that the source asks for; TOLD says of which pipelines it is one, since a stage that is used once can be
overwritten by nobody.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

HEAD = """#include <cuda.h>
#include <stdint.h>
#define DO __device__ __forceinline__
DO unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
DO void init(uint64_t *bar, unsigned count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(bar)), "r"(count) : "memory");
}
DO void arrive(uint64_t *bar) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(bar)) : "memory"); }
DO void arrive_copies(uint64_t *bar) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(bar)) : "memory");
}
DO void expect(uint64_t *bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes) : "memory");
}
DO void wait(uint64_t *bar, unsigned parity) {
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }"
                 ::"r"(at(bar)), "r"(parity) : "memory");
}
DO void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DO void line(void *to, const void *from, unsigned bytes, uint64_t *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(bar)) : "memory");
}
DO void box(void *to, const CUtensorMap *map, int row, uint64_t *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {0, %2}], [%3];" ::"r"(at(to)), "l"(map), "r"(row), "r"(at(bar)) : "memory");
}
DO void copy(void *to, const void *from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at(to)), "l"(from), "r"(bytes) : "memory");
}
DO void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DO void pending() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
"""
"""What the kernels use. In the body: in, map: the tiles, one after the other; n: words of them."""

KERNEL = """
template <int FAULT> DO void body(const CUtensorMap &map, const int *in, int *out, int n) {{
    constexpr int S = {stages}, N = {tiles}, TILE = {words}, THREADS = {threads}, AHEAD = {ahead};
    __shared__ __align__(1024) int tile[S][TILE];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    auto add = [&](int i) {{
        for (int j = 0; j < TILE / 32; ++j) sum += tile[i % S][(j * 32 + t * 5 + i) % TILE] * (j + 1);
        sum = sum * 3 + 1;
    }};
{body}
    out[t] = sum;
}}
"""
ENTRY = """extern "C" __global__ void __launch_bounds__({threads})
fault{fault}(const __grid_constant__ CUtensorMap map, const int *in, int *out, int n) {{ body<{fault}>(map, in, out, n); }}
"""


@dataclass(frozen=True)
class Groups:
    """All threads copy, `ahead` tiles ahead, and all add up."""

    stages: int
    ahead: int
    tiles: int
    warps: int
    missing: int

    words = property(lambda self: 64 * self.warps)
    threads = property(lambda self: 32 * self.warps)
    first = 0

    FAULTS = {
        1: lambda p: True,                                                      # waits for one group too few
        2: lambda p: True,                                                      # no barrier behind the wait
        3: lambda p: p.ahead > 1 and p.tiles > 1,                               # commits only where it copies
        4: lambda p: p.ahead == p.stages and p.tiles > p.ahead,                 # no barrier before the stage is reused
        5: lambda p: p.missing % 2 == 1,                                        # copies a pair that ends beyond the array
        6: lambda p: p.tiles > p.stages,                                        # copies before the barrier
    }
    BODY = """
    auto load = [&](int i) {
        int from = i * TILE + 2 * t, bytes = 4 * max(0, min(2, n - from));
        if (FAULT == 5 && bytes) bytes = 8;
        copy(&tile[i % S][2 * t], bytes ? in + from : in, bytes);
    };
    for (int i = 0; i < AHEAD; ++i) {
        if (i < N) load(i);
        commit();
    }
#pragma unroll 1
    for (int i = 0; i < N; ++i) {
        if (FAULT == 6 && i + AHEAD < N) load(i + AHEAD);
        if (FAULT == 6) commit();
        pending<AHEAD - (FAULT == 6 ? 0 : 1) + (FAULT == 1)>();
        if (FAULT != 2) __syncthreads();
        add(i);
        if (S == AHEAD && FAULT != 4) __syncthreads();
        if (FAULT != 6 && i + AHEAD < N) load(i + AHEAD);
        if (FAULT != 6 && (FAULT != 3 || i + AHEAD < N)) commit();
    }
"""


@dataclass(frozen=True)
class Ring:
    """Warp 0 fills stages, the others add up; how: what fills them; one: whether a lane arrives for its warp; clears:
    whether who has read a stage clears it."""

    stages: int
    tiles: int
    warps: int
    how: str
    one: bool
    clears: bool

    words, ahead, missing = 128, 1, 0
    threads = property(lambda self: 32 * self.warps)
    first = 32
    again = property(lambda self: self.tiles > self.stages)
    engine = property(lambda self: self.how in ("line", "box"))

    FAULTS = {
        1: lambda p: p.engine,                                                  # announces fewer bytes than come
        2: lambda p: p.engine,                                                  # announces more
        3: lambda p: True,                                                      # waits for the wrong parity at first
        4: lambda p: p.again,                                                   # overwrites what others may still read
        5: lambda p: p.again,                                                   # waits for the same parity in each round
        6: lambda p: p.again,                                                   # gives a stage back before it has read it
        7: lambda p: p.again and p.one,                                         # no __syncwarp before one arrives for all
        8: lambda p: p.again,                                                   # an arrival more than there are
        9: lambda p: p.again,                                                   # one fewer
        10: lambda p: True,                                                     # no barrier behind the init
        11: lambda p: True,                                                     # reads without waiting
        12: lambda p: p.again and p.clears and p.engine,                        # no proxy fence between clearing and a copy
        13: lambda p: p.again,                                                  # never gives a stage back
        14: lambda p: True,                                                     # waits by one lane
    }
    FILLS = {
        "line": "if (lane == 0) { expect(&full[s], BYTES); line(tile[s], in + i * TILE, 4 * TILE, &full[s]); }",
        "box": "if (lane == 0) { expect(&full[s], BYTES); box(tile[s], &map, i * TILE / 32, &full[s]); }",
        "stores": "for (int j = lane; j < TILE; j += 32) tile[s][j] = in[i * TILE + j];\n            arrive(&full[s]);",
        "copies": "for (int j = 2 * lane; j < TILE; j += 64) copy(&tile[s][j], in + i * TILE + j, 8);\n"
                  "            arrive_copies(&full[s]);"}
    CLEAR = """asm volatile("bar.sync 1, %0;" ::"n"(THREADS - 32) : "memory");
            for (int j = t - 32; j < TILE; j += THREADS - 32) tile[s][j] = 0;
            if (FAULT != 12) fence();"""

    @property
    def BODY(self):
        give = "{ if (FAULT != 7) __syncwarp(); if (lane == 0) arrive(&empty[s]); }" if self.one else "arrive(&empty[s]);"
        return f"""
    constexpr int BYTES = 4 * TILE + (FAULT == 1 ? -16 : FAULT == 2 ? 16 : 0);
    __shared__ uint64_t full[S], empty[S];
    if (t == 0)
        for (int s = 0; s < S; ++s) {{
            init(&full[s], {1 if self.engine else 32});
            init(&empty[s], {self.warps - 1 if self.one else self.threads - 32} + (FAULT == 8) - (FAULT == 9));
        }}
    if (FAULT != 10) __syncthreads();
#pragma unroll 1
    for (int i = 0; i < N; ++i) {{
        int s = i % S, round = i / S;
        if (t < 32) {{
            if (FAULT != 4) wait(&empty[s], (round & 1) ^ (FAULT != 3));
            {self.FILLS[self.how]}
        }} else {{
            if (FAULT == 14 ? lane == 0 : FAULT != 11) wait(&full[s], FAULT == 5 ? 0 : round & 1);
            if (FAULT == 6) {give}
            add(i);
            {self.CLEAR if self.clears else ""}
            if (FAULT != 6 && FAULT != 13) {give}
        }}
    }}
"""


groups = st.integers(1, 4).flatmap(lambda stages: st.builds(
    Groups, st.just(stages), st.integers(max(1, stages - 1), stages), st.integers(1, 2 * stages + 2), st.integers(2, 4),
    st.sampled_from([0, 0, 1, 2, 35])))
rings = st.integers(1, 4).flatmap(lambda stages: st.builds(
    Ring, st.just(stages), st.integers(1, 2 * stages + 2), st.integers(2, 4), st.sampled_from([*Ring.FILLS]), st.booleans(),
    st.booleans()))


def source(pipeline):
    """The source of a pipeline: a kernel "fault0" that is right, and one for each of its faults."""
    made = {name: getattr(pipeline, name) for name in ("stages", "tiles", "words", "threads", "ahead")}
    entries = [ENTRY.format(fault=fault, threads=pipeline.threads) for fault in (0, *pipeline.FAULTS)]
    return HEAD + KERNEL.format(body=pipeline.BODY, **made) + "".join(entries)


def faults(pipeline):
    """The numbers of the faults that this pipeline may have."""
    return [fault for fault, of in pipeline.FAULTS.items() if of(pipeline)]


def tiles(pipeline):
    """The words of all tiles, int32 [n]; the last ones are missing."""
    return (np.arange(pipeline.tiles * pipeline.words - pipeline.missing, dtype=np.int64) * 7919 % 1000).astype(np.int32)


def summed(pipeline):
    """What the right kernel gives, int32 [threads]."""
    words = np.zeros((pipeline.tiles, pipeline.words), np.int32)
    given = tiles(pipeline)
    words.reshape(-1)[:len(given)] = given
    t = np.arange(pipeline.first, pipeline.threads)
    sums = np.zeros(pipeline.threads, np.int32)
    for i, tile in enumerate(words):
        for j in range(pipeline.words // 32):
            sums[pipeline.first:] += tile[(j * 32 + t * 5 + i) % pipeline.words] * np.int32(j + 1)
        sums[pipeline.first:] = sums[pipeline.first:] * np.int32(3) + np.int32(1)
    return sums
