"""Compiled tensor-core arithmetic: the bits of the NumPy rule, for every instruction, and of any arrays."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few, sweep_but

from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import fragment
from simlayout.hardware.tables.arch import LANES
from simlayout.numerics import TENSOR_OPS, arithmetic, gemm, mma, rule, tensor_op, warp_mma

compiled = pytest.importorskip("simlayout.numerics.compiled", reason="needs Numba", exc_type=ImportError)

INSTRUCTIONS = [(name, arch) for name, op in TENSOR_OPS.items() for arch in op.arches]
WARP_LEVEL = [name for name, op in TENSOR_OPS.items() if op.family == "mma.sync"]
F16 = "m16n8k16.f32.f16.f16.f32"


@pytest.fixture(scope="module", autouse=True)
def way():
    """Here both ways are compared, so each test runs once (see conftest)."""


def raw(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


FIELDS = {"near": lambda bias, last: (bias - 3, bias + 3), "far": lambda bias, last: (1, last), "edges": lambda *_: (0, 2),
          "mixed": lambda bias, last: (bias - 1, bias + 2)}
"""The exponents that `elements` draws: of sums whose parts interact, of all, of subnormal, and of nearly equal numbers."""


def elements(random, name, shape, how):
    """Raw bits of a type: "any", or with exponents of FIELDS; of "edges" most, and of "mixed" some, are zeros, ones, the
    largest and smallest numbers, infinities and NaN."""
    row = TYPES[name]
    anything = np.frombuffer(random.bytes(8 * int(np.prod(shape))), np.uint64).reshape(shape).astype(row.raw)
    if not row.exponent and row.bits < 8:
        return anything & row.raw.type((1 << row.bits) - 1)
    if how == "any" or not row.exponent:
        return anything
    fraction = row.bits - 1 - row.exponent
    ones, last = (1 << fraction) - 1, (1 << row.exponent) - 1
    sign = random.integers(0, 2, shape)
    bits = (sign << row.exponent | random.integers(*FIELDS[how](row.bias, last), shape)) << fraction
    bits |= (anything & row.raw.type(ones)).astype(np.int64)
    edges = np.array([0, 1, ones, 1 << fraction, row.bias << fraction, last - 1 << fraction | ones, last << fraction,
                      last << fraction | 1, last << fraction | ones, last << fraction | ones - 1])
    rare = random.random(shape) < {"edges": 0.8, "mixed": 0.01}.get(how, 0)
    return np.where(rare, random.choice(edges, shape) | sign << row.bits - 1, bits).astype(row.raw)


HOW = st.sampled_from(["any", "near", "far", "edges", "mixed"])


def assert_same(found, expected, name):
    different = raw(found) != raw(expected)
    assert not different.any(), (name, int(different.sum()), np.argwhere(different)[0].tolist(), found[different][0],
                                 expected[different][0])


def both_ways(name, arch, a, b, c):
    op, its_rule = tensor_op(name, arch), rule(name, arch)
    return compiled.compute(op, its_rule, a, b, c), arithmetic.by_numpy(op, its_rule, a, b, c)


def operands(op, random, how, chain, batch, m, n, shared=False):
    """a [chain, k, batch or 1, m], b [chain, k, batch, n], c [batch, m, n]; now and then products cancel, pair by pair."""
    a = elements(random, op.a, (chain, op.k, 1 if shared else batch, m), how)
    b = elements(random, op.b, (chain, op.k, batch, n), how)
    if random.random() < 0.3 and TYPES[op.a].exponent:
        a[:, 1::2], b[:, 1::2] = a[:, ::2] ^ a.dtype.type(1 << TYPES[op.a].bits - 1), b[:, ::2]
    c = elements(random, op.c, (batch, m, n), how)
    return a.view(TYPES[op.a].operand), b.view(TYPES[op.b].operand), c.view(TYPES[op.c].plain)


# ---- the same bits ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["fused", "through f16", "integer", "fma"])
@given_few(15, 4_000, data=st.data())
def test_compiled_results_are_those_of_numpy(kind, data):
    name, arch = data.draw(st.sampled_from([key for key in INSTRUCTIONS if rule(*key).kind == kind]))
    op, random = tensor_op(name, arch), np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    small = st.integers(1, 20)
    chain, batch = data.draw(st.integers(1, 3), "chain"), data.draw(st.integers(1, 3), "batch")
    m, n, shared = data.draw(small, "m"), data.draw(small, "n"), data.draw(st.booleans(), "shared")
    found, expected = both_ways(name, arch, *operands(op, random, data.draw(HOW, "how"), chain, batch, m, n, shared))
    assert_same(found, expected, (name, arch))


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.sweep)])
def test_every_instruction_is_compiled_to_the_bits_of_numpy(step):
    random = np.random.default_rng(0)
    for name, arch in INSTRUCTIONS[::step]:
        op = tensor_op(name, arch)
        if op.family == "wgmma" and op.n not in (8, 24, 256):
            continue
        how = random.choice(["any", "near", "far", "mixed"])
        found, expected = both_ways(name, arch, *operands(op, random, how, 1, 1, min(op.m, 16), min(op.n, 24)))
        assert_same(found, expected, (name, arch))


@pytest.mark.parametrize("name", [F16, "m16n8k16.f16.f16.f16.f16", "wgmma.m64n256k32.f32.e4m3.e5m2",
                                  "m16n8k32.s32.s8.u8.s32", "m16n8k32.f16.e4m3.e5m2.f16", "m8n8k4.f64.f64.f64.f64"])
@pytest.mark.parametrize("m, n", [(1, 1), (65, 257), (130, 3), (3, 530), (64, 256)])
def test_results_of_several_blocks_are_those_of_numpy(name, m, n):
    op, random = tensor_op(name), np.random.default_rng(1)
    found, expected = both_ways(name, "sm_90", *operands(op, random, "near", 2, 1, m, n))
    assert_same(found, expected, name)


# ---- registers of warps ----------------------------------------------------------------------------------------------

def matrix_of(name, operand, words):
    """The matrix that registers [registers, 32] of a warp hold, element by element; raw bits."""
    f = fragment(name, operand)
    bits, per = TYPES[f.dtype].bits, f.per_register
    made = np.zeros(f.shape, TYPES[f.dtype].raw)
    for lane in range(LANES):
        for value in range(f.values):
            word = int(words[value // per, lane])
            made[f(lane, value)] = word >> bits * (value % per) & (1 << bits) - 1
    return made


@pytest.mark.parametrize("patience", [-1, float("inf")], ids=["Numba", "NumPy"])
@pytest.mark.parametrize("name", sweep_but(WARP_LEVEL[::3], WARP_LEVEL))
def test_registers_of_warps_are_multiplied_as_the_matrices_that_they_hold(name, patience, monkeypatch):
    monkeypatch.setattr(arithmetic, "PATIENCE", patience)
    multiply, random = warp_mma(name), np.random.default_rng(2)
    op, registers = multiply.op, multiply.registers
    given = 3, sum(registers[:3]), LANES
    words = np.frombuffer(random.bytes(int(np.prod(given)) * multiply.word.itemsize), multiply.word).reshape(given)
    d = multiply(words)
    assert d.shape == (3, registers[3], LANES) and d.dtype == multiply.word
    cuts = np.cumsum(registers[:3])
    for i in (0, 2):
        a, b, c = (matrix_of(name, letter, part) for letter, part in zip("ABC", np.split(words[i], cuts[:2]), strict=True))
        expected = arithmetic.by_numpy(op, multiply.rule, *(x.view(TYPES[t].operand)[None, :, None] for x, t in
                                                            ((a.T.copy(), op.a), (b, op.b))),
                                       c.view(TYPES[op.c].plain)[None])[0]
        assert_same(matrix_of(name, "D", d[i]), raw(expected), name)


# ---- any arrays ------------------------------------------------------------------------------------------------------

def test_read_only_and_misaligned_operands_give_the_same_and_compile_nothing_anew(monkeypatch):
    monkeypatch.setattr(arithmetic, "PATIENCE", -1)
    random = np.random.default_rng(3)
    a, b, c = (random.standard_normal(s).astype(t) for s, t in (((16, 16), "f2"), ((16, 9), "f2"), ((16, 9), "f4")))
    expected = gemm(F16, a, b, c)
    versions = len(compiled.fused.signatures)
    room = np.empty(2 + c.nbytes + b.nbytes, np.uint8)
    apart = room[2:2 + c.nbytes].view(np.float32).reshape(c.shape)
    apart[:] = c
    odd = room[2 + c.nbytes:].view(np.float16).reshape(b.shape)
    odd[:] = b
    for x in (apart, odd, a):
        x.setflags(write=False)
    assert_same(gemm(F16, a, odd, apart), expected, "misaligned")
    assert len(compiled.fused.signatures) == versions


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32))
def test_odd_numbers_of_small_elements_leave_no_room_uncounted(batch, m, n, seed):
    random = np.random.default_rng(seed)
    for name in ("m16n8k16.f16.f16.f16.f16", "m16n8k32.f16.e4m3.e4m3.f16", "m16n8k32.s32.s8.s8.s32"):
        found, expected = both_ways(name, "sm_90", *operands(tensor_op(name), random, "any", 1, batch, m, n))
        assert_same(found, expected, name)


# ---- when Numba is used ----------------------------------------------------------------------------------------------

ONE = "import numpy as np, sys; from simlayout.numerics import arithmetic, mma; x = np.ones((16, 16), np.float16)\n"


def run(code):
    return subprocess.run([sys.executable, "-c", ONE + code], capture_output=True, text=True, check=True).stdout.split()


def test_few_products_do_not_load_numba_and_many_do():
    loads = f"mma({F16!r}, x, x[:, :8]); print('numba' in sys.modules)"
    assert run(f"{loads}\narithmetic.PATIENCE = 0\n{loads}") == ["False", "True"]


def test_without_numba_numpy_computes(monkeypatch):
    monkeypatch.setattr(arithmetic, "PATIENCE", -1)
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    arithmetic._compiled.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "numba", None)
            assert arithmetic.compiled_functions() is None and (mma(F16, a, b) == 16).all()
        arithmetic._compiled.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr("numba.config.DISABLE_JIT", 1)
            assert arithmetic.compiled_functions() is None
    finally:
        arithmetic._compiled.cache_clear()
    assert arithmetic.compiled_functions() is compiled
