"""Kernels of CUDA C++ as users bring them: right to the bit, told nothing; and where one thing is left out, that is told."""

from pathlib import Path

import numpy as np
import pytest
from nvcc import needs_nvcc, ptx_of
from once import made_once

import simlayout as sl

pytestmark = needs_nvcc
SOURCE, SEED = Path(__file__).with_name("users.cu"), 3


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    made = made_once(tmp_path_factory, "users", lambda folder: ptx_of(SOURCE, folder, "-lineinfo"))
    return sl.ptx.load(made / "users.ptx")


def whole(*shape, low=0, high=100, dtype=np.int32):
    return np.random.default_rng(SEED).integers(low, high, shape).astype(dtype)


def tree():
    x = whole(4, 256)
    return (4, 256, x, out := np.zeros(4, np.int32)), out, x.sum(1)


def rows():
    x = whole(16, 100, dtype=np.float32)
    return (2, 256, x, out := np.zeros(16, np.float32), 100), out, x.sum(1)


def bitonic():
    out = whole(512, high=10000)
    return (1, 512, out), out, np.sort(out)


def stencil():
    x = whole(384, dtype=np.float32)
    return (3, 128, x, out := np.zeros(384, np.float32), 384), out, np.convolve(x, [1, 1, 1], "same")


def steps():
    out = whole(64, dtype=np.float32)
    wanted = out
    for _ in range(3):
        wanted = wanted + np.roll(wanted, -1)
    return (1, 64, out), out, wanted


def last_block():
    x = whole(8)
    return (8, 32, x, np.zeros(8, np.int32), out := np.zeros(1, np.int32)), out, [3 * x.sum()]


def locked():
    return (8, 64, out := np.zeros(1, np.int32)), out, [8]


def total_of_cluster():
    x = whole(2, 4, 64)
    return (8, 64, x, out := np.zeros_like(x)), out, np.broadcast_to(x.sum(1, keepdims=True), x.shape)


def product():
    a, b = (whole(64, 96, low=-2, high=3, dtype=np.float16) for _ in "ab")
    return (1, 128, a, b, out := np.zeros((64, 64), np.float32), 96), out, a.astype(np.float32) @ b.astype(np.float32).T


def exchanged():
    x = whole(2, 64)
    return (2, 64, x, out := np.zeros_like(x)), out, x[::-1, ::-1]


LEFT_OUT = {
    tree: {1: {"lane race", "read after write", "write after read", "write after write"}},
    rows: {1: {"lane race"}},
    bitonic: {1: {"lane race", "read after write", "write after read", "write after write"}},
    stencil: {1: {"out of bounds"}, 2: {"out of bounds"}, 3: {"lane race", "read after write"}},
    steps: {1: {"stale read"}},
    last_block: {1: {"missing fence"}},
    locked: {1: {"global race"}},
    total_of_cluster: {1: {"early exit"}},
    product: {1: {"early read", "write in flight"}, 2: {"early read", "lane race", "read after write"},
              3: {"write after read", "lane race"}},
    exchanged: {1: {"bad mbarrier", "unwritten read"}, 2: {"early read", "write after read", "early exit"}, 3: set()},
}
"""Kernel -> what is left out -> the kinds of hazards of which at least one is told, and no other."""


def collatz(v):
    """What the kernel `flow` makes of a number; None where it returns before."""
    s, kind = 0, v % 7
    if kind == 3:
        return 0
    if kind == 5:
        while v > 1 and s <= 50:
            v, s = 3 * v + 1 if v % 2 else v // 2, s + 1
    else:
        s = {0: 3, 1: 2, 2: v}.get(kind, -v)
    rounds = [k for k in range(v % 11) if k != 5]
    return None if 8 in rounds else s + sum(rounds)


def ways(words):
    """How many words of one bank are asked for, at most."""
    return int(np.bincount(np.unique(words) % 32).max()) if len(words) else 0


@pytest.mark.parametrize("made", LEFT_OUT, ids=lambda made: made.__name__)
def test_it_is_right_to_the_bit_and_told_nothing(kernels, made):
    launch, out, wanted = made()
    trace = kernels[made.__name__].run(*launch, 0)
    np.testing.assert_array_equal(out, wanted)
    assert not trace.hazards and not trace.notes


@pytest.mark.parametrize(("made", "left_out"), [(made, n) for made, faults in LEFT_OUT.items() for n in faults],
                         ids=lambda one: getattr(one, "__name__", one))
def test_what_is_left_out_is_told(kernels, made, left_out):
    launch, _, _ = made()
    hazards = kernels[made.__name__].run(*launch, left_out, hazards="report").hazards
    kinds, may = {one.kind for one in hazards}, LEFT_OUT[made][left_out]
    assert kinds <= may and bool(kinds) == bool(may)


def test_lanes_that_go_many_ways_come_out_as_in_python(kernels):
    x, out = whole(64, high=1000), np.full(64, -7777, np.int32)
    assert not kernels["flow"].run(1, 64, x, out).hazards
    assert out.tolist() == [-7777 if (wanted := collatz(int(v))) is None else wanted for v in x]


def test_a_race_of_lanes_warps_and_ctas_in_place_is_told(kernels):
    [found, *others] = kernels["in_place"].run(64, 256, np.ones(64 * 256, np.float32), 64 * 256, hazards="report").hazards
    assert {one.kind for one in (found, *others)} == {"global race"} and found.second.line == found.first.line


def test_wavefronts_are_those_that_banks_counted_by_hand_say(kernels):
    launch, _, _ = tree()
    trace, wanted = kernels["tree"].run(*launch, 0), 8 + 1               # 8 warps store their words, one thread loads s[0]
    for d in (2**k for k in range(8)):
        for warp in range(8):
            words = np.array([2 * d * t for t in range(32 * warp, 32 * warp + 32) if 2 * d * t < 256], int)
            loads = 2 * bool(len(words)) if d == 1 else ways(words) + ways(words + d)    # neighbours come in 8 bytes at once
            wanted += loads + ways(words)
    assert trace.total().wavefronts == 4 * wanted
    launch, _, _ = product()
    counts = {count.instruction: count for count in kernels["product"].run(*launch, 0).by_instruction()}
    assert {name: counts[name].excess for name in ("ldmatrix.x4", "ldmatrix.x2")} == {"ldmatrix.x4": 0, "ldmatrix.x2": 0}
