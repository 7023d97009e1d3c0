"""Our layouts, swizzles and fragments against NVIDIA's CuTe DSL 4.8, which needs no GPU to trace: the group `oracles`."""

import os
import re

import pytest

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")              # what it traces for where there is no GPU to ask
cute = pytest.importorskip("cutlass.cute")

import cutlass  # noqa: E402 (nothing here without CuTe DSL)
from algebra_kit import injective_layouts, layouts, swizzles  # noqa: E402
from cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from oracle_kit import ours, text, theirs, values  # noqa: E402

import simlayout as sl  # noqa: E402

traced = settings(deadline=None, max_examples=40)


def inside(function):
    """What a function of static values returns where CuTe DSL's calls are allowed: in a function that it traces."""
    results = []

    @cute.jit
    def trace():
        results.append(function())

    trace()
    return results[0]


def layout(made):
    """Our layout as theirs."""
    return cute.make_layout(made.shape, stride=made.stride)


def many(strategy):
    """Some cases for one trace."""
    return st.lists(strategy, min_size=1, max_size=8)


@traced
@given(many(layouts()))
def test_a_layout_is_the_same_function(cases):
    def answers():
        return [(values(layout(c), c.size), cute.size(layout(c)), cute.cosize(layout(c)), text(layout(c)),
                 text(cute.coalesce(layout(c)))) for c in cases]

    for made, found in zip(cases, inside(answers)):
        assert found == (values(made, made.size), made.size, made.cosize, str(made), str(sl.coalesce(made)))


@traced
@given(many(st.tuples(injective_layouts(), layouts()).filter(lambda pair: pair[1].cosize <= pair[0].size)))
def test_compositions_agree_where_both_answer(cases):
    def answers():
        made = [theirs(cute.composition, layout(a), layout(b)) for a, b in cases]
        return [t and (cute.size(t), values(t, b.size)) for t, (_, b) in zip(made, cases)]

    for (outer, inner), found in zip(cases, inside(answers)):
        mine = ours(sl.composition, outer, inner)
        if mine is not None and found is not None:
            assert found == (mine.size, values(mine, inner.size))


@traced
@given(many(st.tuples(injective_layouts(), st.integers(0, 100))))
def test_complements_agree_where_both_answer(cases):
    def answers():
        made = [theirs(cute.complement, layout(c), c.cosize + beyond) for c, beyond in cases]
        return [t and text(t) for t in made]

    for (made, beyond), found in zip(cases, inside(answers)):
        mine = ours(sl.complement, made, made.cosize + beyond)
        if mine is not None and found is not None:
            assert found == str(mine)


@traced
@given(many(st.tuples(injective_layouts(), injective_layouts()).filter(lambda pair: pair[1].cosize <= pair[0].size)),
       st.sampled_from(["logical_divide", "zipped_divide", "logical_product"]))
def test_divisions_and_products_agree_where_both_answer(cases, name):
    def answers():
        made = [theirs(getattr(cute, name), layout(a), layout(b)) for a, b in cases]
        return [t and (cute.size(t), values(t, cute.size(t))) for t in made]

    for (one, other), found in zip(cases, inside(answers)):
        mine = ours(getattr(sl, name), one, other)
        if mine is not None and found is not None:
            assert found == (mine.size, values(mine, mine.size))


@traced
@given(many(st.tuples(swizzles.filter(lambda s: s.bits and s.shift > 0), layouts())))
def test_composed_swizzles_agree_and_print_what_we_read(cases):
    def composed(swizzle, made):
        return cute.make_composed_layout(cute.make_swizzle(swizzle.bits, swizzle.base, swizzle.shift), 0, layout(made))

    def answers():
        return [(values(composed(*case), case[1].size), str(composed(*case))) for case in cases]

    for (swizzle, made), (offsets, printed) in zip(cases, inside(answers)):
        assert offsets == values(swizzle @ made, made.size)
        assert sl.parse(printed) == swizzle @ made


# ---- fragments ---------------------------------------------------------------------------------------------------------

F16, BF16, F32 = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
WARP = {"m16n8k16.f32.f16.f16.f32": lambda: warp.MmaF16BF16Op(F16, F32, (16, 8, 16)),
        "m16n8k8.f32.f16.f16.f32": lambda: warp.MmaF16BF16Op(F16, F32, (16, 8, 8)),
        "m16n8k16.f16.f16.f16.f16": lambda: warp.MmaF16BF16Op(F16, F16, (16, 8, 16)),
        "m16n8k16.f32.bf16.bf16.f32": lambda: warp.MmaF16BF16Op(BF16, F32, (16, 8, 16)),
        "m16n8k8.f32.tf32.tf32.f32": lambda: warp.MmaTF32Op((16, 8, 8))}


def operands(op):
    """{"A", "B", "C": their layout of (lane, value)} as the atom prints them, in our notation."""
    shown = inside(lambda: str(cute.make_mma_atom(op())))
    return {name: sl.parse(made) for name, made in re.findall(r"TV Layout ([ABC]): +(\S+)", shown)}


def held(fragment, made, rows, transposed=False):
    """Compares all (lane, value) of a fragment with a layout into a column-major operand of so many rows."""
    for lane in range(fragment.lanes):
        for value in range(fragment.values):
            at = made(lane, value)
            want = (at % rows, at // rows)
            assert tuple(map(int, fragment(lane, value))) == (want[::-1] if transposed else want), (lane, value)


@pytest.mark.parametrize("name", WARP)
def test_fragments_of_mma_agree(name):
    found = operands(WARP[name])
    held(sl.fragment(name, "A"), found["A"], 16)
    held(sl.fragment(name, "B"), found["B"], 8, transposed=True)          # CuTe's B is (n, k), PTX's (k, n)
    held(sl.fragment(name, "C"), found["C"], 16)


@pytest.mark.parametrize("n", [8, 24, 64, 192, 256])
@pytest.mark.parametrize("source", ["SMEM", "RMEM"])
def test_fragments_of_wgmma_agree(n, source):
    found = operands(lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, n, 16), getattr(warpgroup.OperandSource, source),
                                                    OperandMajorMode.K, OperandMajorMode.K))
    name = f"wgmma.m64n{n}k16.f32.f16.f16"
    held(sl.fragment(name, "D"), found["C"], 64)
    if source == "RMEM":
        held(sl.fragment(name, "A"), found["A"], 64)


# ---- where CuTe DSL 4.8 differs: each fails here when it is mended ------------------------------------------------------

def test_a_swizzle_of_a_swizzled_layout_cannot_be_written():
    def nested():
        inner = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((16, 64), stride=(64, 1)))
        with pytest.raises(TypeError):
            cute.make_composed_layout(cute.make_swizzle(1, 3, 5), 0, inner)
        return True

    assert inside(nested)
    assert (sl.Swizzle(1, 3, 5) @ sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1)))(4, 0) == 256 + 32 + 8
