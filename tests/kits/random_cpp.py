"""Random functions of C++ that a GPU and a host may compile: integers of 32 and 64 bits, floats, arrays, loops, switches,
early returns and calls; with shared memory, barriers, shuffles and atomics. nvcc makes PTX of a kernel around one, g++ a
program with as many threads: what either gives is a number per thread."""

import re
import shutil
import subprocess

import numpy as np
from hypothesis import strategies as st

BLOCK, THREADS, WORDS = 64, 128, 16
"""Threads of a CTA and of a kernel, and words of its input."""

LEAVES = {
    "word": ["v0", "v1", "v2", "v3", "t", "0u", "1u", "3u", "31u", "255u", "65535u", "0x80000000u", "0xffffffffu",
             "in[t % 16]", "arr[v0 % 8]", "(u32)w0", "(u32)(w1 >> 32)"],
    "long": ["w0", "w1", "(u64)v0", "((u64)v1 << 32 | v2)", "0x8000000000000001ull"],
    "float": ["f0", "f1", "(float)(v0 & 1023u)", "(float)(s32)(v1 & 0xffffu)", "1.5f", "(-0.25f)", "3e10f"],
    "condition": ["(v0 & 1u)", "(v1 < v2)", "((s32)v3 < 5)"],
    "statement": ["v0 += 3u;", "v1 = v2;"],
    "inside": ["v2 ^= v0;"],
}
"""What a text of a kind may be in the end."""

TEMPLATES = {
    "word": ["({word} + {word})", "({word} - {word})", "({word} * {word})", "({word} ^ {word})", "({word} & {word})",
             "({word} | {word})", "({word} << ({word} & 31))", "({word} >> ({word} & 31))", "({word} / ({word} | 1u))",
             "((u32)((s32){word} >> ({word} & 31)))", "({word} % ({word} | 1u))", "({condition} ? {word} : {word})",
             "((u32)((s32)({word} >> 1) / (s32)(({word} & 0xffffu) | 1u)))", "POPC({word})", "CLZ({word})",
             "((u32)(-(s32)({word} >> 1) % (s32)(({word} & 0xffffu) | 1u)))", "((u32)(u16){word})", "((u32)(s32)(s8){word})",
             "((u32)(((u64){word} * {word}) >> 32))", "helper({word}, {word})", "((u32)(s32)(s16)({word} + {word}))",
             "BITS({float})"],
    "long": ["({long} + {long})", "({long} - {long})", "({long} * {long})", "({long} ^ {long})", "({long} >> ({word} & 63))",
             "({long} << ({word} & 63))", "({long} / ({long} | 1ull))", "({long} % ({long} | 1ull))",
             "((u64)((s64){long} >> ({word} & 63)))", "({condition} ? {long} : {long})", "((u64)(s64)(s32){word})"],
    "float": ["({float} + {float})", "({float} - {float})", "({float} * {float})", "({float} / ({float} * {float} + 1.0f))",
              "sqrtf({float} * {float} + 2.0f)", "({condition} ? {float} : {float})", "(-({float}))",
              "(({float}) < ({float}) ? ({float}) : ({float}))", "(float)((double){float} * 1.1)"],
    "condition": ["({word} < {word})", "((s32){word} < (s32){word})", "({word} == {word})", "({word} & 4u)",
                  "({long} < {long})", "({float} < {float})", "({condition} && {condition})",
                  "({condition} || !{condition})"],
    "statement": ["v0 = {word};", "v1 += {word};", "v2 ^= {word};", "v3 *= {word};", "w0 += {long};", "w1 = {long};",
                  "f0 = {float};", "f1 = {float};", "arr[{word} % 8] = {word};",
                  "arr[{word} % 8] += {word};", "COUNT({word} % 8, {word});", "COUNT({word} % 8, 1u);",
                  "if ({condition}) {{ {statement} }}",
                  "if ({condition}) {{ {statement} {statement} }} else {{ {statement} }}",
                  "for (u32 i = 0; i < {word} % 9u; i++) {{ TIRE; v0 ^= i * 7u; {inside} {inside} }}",
                  "while ({condition}) {{ TIRE; {inside} }}", "do {{ TIRE; {inside} {inside} }} while ({condition});",
                  "switch ({word} % 6u) {{ case 0: {statement} break; case 1: {statement} case 2: {statement} break; "
                  "case 4: v3++; default: {statement} }}", "if ({condition}) END(v1 ^ {word})",
                  "while (true) {{ if ({condition} || ++fuel > 400u) END(v0 + v1) {inside} if ({condition}) break; }}"],
    "inside": ["{statement}", "{statement}", "if ({condition}) break;", "if ({condition}) continue;"],
}
"""What it may be made of. A loop that runs without end is left when it has tired (`fuel`). No sum of a loop's counter: nvcc
13.0 and 13.5 at -O3 may cut that to two bits too few where its remainder by 4 is asked for."""

HEAD = """#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint32_t u32; typedef uint64_t u64; typedef int32_t s32; typedef int64_t s64;
typedef uint16_t u16; typedef int16_t s16; typedef int8_t s8;
#define TIRE if (++fuel > 400u) break
#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>
#define BOTH
struct CTA { std::barrier<> b{64}; u32 slots[64] = {}; std::atomic<u32> sums[8] = {}; } ctas[2];
#define SHARE u32 own = t % 64; u32 arr[8]; auto &[b, slots, sums] = ctas[t / 64]
#define BARRIER b.arrive_and_wait()
#define COUNT(at, x) sums[at] += (x)
#define SHUFFLE(v, of, by) SWAP(v, of, (own / 32 * 32 + ((own ^ by) & 31)))
#endif
#define END(x) { h = x; goto end; }
#define SWAP(v, of, from) slots[own] = of; BARRIER; v ^= slots[from]; BARRIER
#ifdef __CUDA_ARCH__
#define SHARE u32 own = threadIdx.x; __shared__ u32 all[512], slots[64], sums[8]; u32 *arr = all + 8 * own; \\
    slots[own] = 0; if (own < 8) sums[own] = 0; BARRIER
#define BARRIER __syncthreads()
#define COUNT(at, x) atomicAdd(&sums[at], x)
#define SHUFFLE(v, of, by) v ^= __shfl_xor_sync(~0u, of, by)
#define POPC(x) ((u32)__popc(x))
#define CLZ(x) ((u32)__clz(x))
#else
#define POPC(x) ((u32)__builtin_popcount(x))
#define CLZ(x) zeros(x)
static u32 zeros(u32 x) { return x ? __builtin_clz(x) : 32; }
#endif
BOTH static u32 BITS(float x) { u32 u; memcpy(&u, &x, 4); return (u & 0x7fffffffu) > 0x7f800000u ? 77u : u; }
BOTH HELPER u32 helper(u32 a, u32 b) {
    if (a < b) return a * b + 1u;
    u32 s = 0;
    for (u32 i = 0; i < (a & 3u); i++) { if (i == b % 5u) continue; s += a >> i; }
    return s ^ b;
}
BOTH u32 f(u32 t, const u32 *in) {
    u32 v0 = t * 2654435761u, v1 = in[(t + 1) % 16], v2 = t, v3 = 7u, fuel = 0, h = 0;
    SHARE;
    u64 w0 = in[t % 16] * 0x100000001ull, w1 = t;
    float f0 = (float)(t & 15u), f1 = 0.5f;
    for (int q = 0; q < 8; q++) arr[q] = in[q] + t;
"""
TAIL = """
    h = v0 ^ v1 * 3u ^ v2 * 5u ^ v3 * 7u ^ (u32)w0 ^ (u32)(w1 >> 7) ^ BITS(f0) ^ BITS(f1);
    for (int q = 0; q < 8; q++) h = h * 31u + arr[q];
end:
    BARRIER;
    return h + sums[t % 8];
}
"""
KERNEL = """extern "C" __global__ void kernel(const u32 *in, u32 *out) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = f(t, in);
}
"""
MAIN = """int main() {
    u32 in[16], out[128];
    fread(in, 4, 16, stdin);
    std::vector<std::thread> all;
    for (u32 t = 0; t < 128; t++) all.emplace_back([&, t] { out[t] = f(t, in); });
    for (auto &one : all) one.join();
    for (u32 t = 0; t < 128; t++) printf("%u ", out[t]);
}
"""


@st.composite
def texts(draw, kind, depth):
    """A text of a kind (of LEAVES), made of templates to a depth."""
    if depth == 0:
        return draw(st.sampled_from(LEAVES[kind]))
    template = draw(st.sampled_from(LEAVES[kind] + 2 * TEMPLATES[kind]))
    parts = {name: iter([draw(texts(name, depth - 1)) for _ in re.findall(f"{{{name}}}", template)]) for name in LEAVES}
    made = re.sub(r"\{(\w+)\}", lambda found: next(parts[found[1]]), template)
    return made.replace("{{", "{").replace("}}", "}")


_WORDS = st.sampled_from(["v0", "v1", "v2", "v3"])
swaps = st.builds("SWAP({}, {}, (own + {}) % 64);".format, _WORDS, _WORDS, st.integers(1, 63))
shuffles = st.builds("SHUFFLE({}, {}, {});".format, _WORDS, _WORDS, st.integers(1, 31))
"""What lanes exchange that all come there: those that end early wait at the end."""

functions = st.lists(st.one_of(texts("statement", 4), swaps, shuffles), min_size=1, max_size=8).map("\n    ".join).filter(
    lambda text: "END" not in text or "SWAP" not in text and "SHUFFLE" not in text)
"""The statements of a function, which change v0 to v3, w0, w1, f0, f1, arr and what its CTA shares."""


def source(statements, kernel=True):
    """The source of the function, with a kernel around it for nvcc, or a program for g++."""
    return f"{HEAD}    {statements}{TAIL}{KERNEL if kernel else MAIN}"


def on_the_host(statements, words, folder):
    """What g++ makes of the function: uint32 [THREADS]. words: uint32 [WORDS]."""
    made = folder / "host"
    made.with_suffix(".cpp").write_text(source(statements, kernel=False))
    subprocess.run([shutil.which("g++"), "-O0", "-std=c++20", "-pthread", "-ffp-contract=off", "-fwrapv", "-w",
                    "-DHELPER=static", "-o", made, made.with_suffix(".cpp")], check=True)
    told = subprocess.run([made], input=words.tobytes(), capture_output=True, check=True, timeout=60).stdout
    return np.array(told.split(), np.int64).astype(np.uint32)
