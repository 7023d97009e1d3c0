"""Kernels of grouped products: where their tiles lie, the bits of C on the CPU machine beside each group's own product, and
what was executed beside what is predicted."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_code import assembled, assert_in_registers, needs_tools, of_class
from tiers import given_few, sweep_but

from cuda_kernels.build.compile import ptx
from cuda_kernels.intrinsics import ctaid_x, laneid, s32, st_global_b32, u64
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.grouping import sizes_of
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.pipeline import make_cluster
from cuda_kernels.kernels.hopper.walk import make_walk
from cuda_kernels.matmul.choose.candidates import fitted
from cuda_kernels.run.runner import run
from simlayout import machine, numerics
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.kernel import Problem

NUMPY = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
         "s8": np.dtype(np.int8)}

SMALL = dict(stages=3, buffers=1, grouped=True)


# ---- where the tiles lie ---------------------------------------------------------------------------------------------


def walked(config, offsets, M, N, ctas=3):
    """int [units, 7]: how many units there are, then of each its row and column in its group's tiles, the group, its first
    row and the one behind its last, as `ctas` warps of a kernel find them, and the number of the unit."""
    walk, groups = make_walk(config, make_cluster(config)), len(offsets)
    ordered, counted, begin, find = walk.ordered, walk.counted, walk.begin, walk.find
    tiles_m, tiles_n = config.tile_grid(M, N)
    order = config.order(M, N, groups, 0, 1)

    def body(ends, found):
        group, _, by_group, _, _ = order[:5]
        mine = ordered((group, ends, by_group, u64(0), u64(0)), s32(groups), s32(M), s32(N))
        units, _, _, _ = counted((s32(0), 0, 0, mine), s32(tiles_m), s32(tiles_n))
        unit, seen = ctaid_x(), begin(mine, s32(tiles_m), s32(tiles_n))
        while unit < units:
            seen, place = find(seen, unit, mine, s32(tiles_m), s32(tiles_n))
            if laneid() == 0:
                at = found + u64(28) * u64(unit)
                st_global_b32(at, units)
                st_global_b32(at + u64(24), unit)
                for i in range(5):
                    st_global_b32(at + u64(4 + 4 * i), place[i])
            unit = s32(unit + ctas)

    found = np.full((config.tiles(M, N, groups) * max(groups, 1) + 1, 7), -1, np.int32)
    machine.run(body, (ctas, 1, 1), 32, np.asarray(offsets, np.int32), found)
    return found[found[:, 0] >= 0]


def by_hand(config, offsets, M, N):
    """The same of all units, one behind the other: the twin."""
    tiles_m, tiles_n = config.tile_grid(M, N)
    rows, across = config.turned(M, N)[0], config.turned(tiles_m, tiles_n)[1]
    places, start = [], 0
    for number, size in enumerate(sizes_of(np.asarray(offsets), rows)):
        start = 0 if number == 0 else min(max(int(offsets[number - 1]), 0), rows)
        long = -(-size // config.group_height)
        for first in range(0, long, config.group):
            for beside in range(across):
                for along in range(first, min(first + config.group, long)):
                    places.append((*config.turned(along, beside), number, start, start + size))
    return [(len(places), *place, i) for i, place in enumerate(places)]


SIZES = st.lists(st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 300)), min_size=1, max_size=100)


@given_few(12, 300, st.one_of(SIZES, st.just([0] * 32 + [1]), st.just([0] * 33)), st.integers(0, 70), st.integers(1, 300),
           st.integers(1, 5), st.sampled_from("NM"))
def test_every_tile_of_every_group_is_found_once_in_their_order(sizes, more, across, group, c_major):
    config = Hopper(64, 64, group=group, c_major=c_major, **SMALL)
    offsets, sizes = np.cumsum(sizes), config.turned(max(1, sum(sizes) + more), across)
    assert list(map(tuple, walked(config, offsets, *sizes).tolist())) == by_hand(config, offsets, *sizes)
    assert len(by_hand(config, offsets, *sizes)) <= config.tiles(*sizes, len(offsets))


@given(st.lists(st.integers(-2**31, 2**31 - 1) | st.integers(-5, 200), min_size=1, max_size=40), st.sampled_from("NM"))
@settings(max_examples=12)
def test_offsets_that_fall_or_lie_outside_of_the_rows_name_no_row_outside(offsets, c_major):
    config = Hopper(64, 64, c_major=c_major, **SMALL)
    sizes = config.turned(150, 100)
    found = walked(config, offsets, *sizes)
    assert list(map(tuple, found.tolist())) == by_hand(config, offsets, *sizes)
    assert (found[:, 4] >= 0).all() and (found[:, 5] <= 150).all()


# ---- products --------------------------------------------------------------------------------------------------------


def operands(config, sizes, more, across, K, seed=0):
    """(rows [rows, K], matrices [groups, K, across], offsets): K contiguous, lines on 16 bytes, random normal."""
    source, deep = np.random.default_rng(seed), -(-K * TYPES[config.dtype].bytes // 16) * 16 // TYPES[config.dtype].bytes
    rows, groups = (source.standard_normal((*shape, deep), np.float32).astype(NUMPY[config.dtype])[..., :K]
                    for shape in ((sum(sizes) + more,), (len(sizes), across)))
    return rows, groups.swapaxes(1, 2), np.cumsum(sizes, dtype=np.int32)


def on_machine(config, rows, groups, offsets, *scales):
    """(C [rows, across], the Run) on the CPU machine, whichever of its operands the rows are."""
    a, b = (rows, groups) if config.c_major == "N" else (groups.swapaxes(1, 2), rows.T)
    done = run(kernel_of(config), a, b, offsets, *scales, device="cpu")
    return done.c if config.c_major == "N" else done.c.T, done


def book(config, rows, groups, offsets, dtype):
    """C as each group's own product makes it; the rest of it is as a Work fills it, of ones in all bits."""
    c = np.full((len(rows), groups.shape[2]), -1, np.int16).view(dtype) if dtype.itemsize == 2 else None
    start = 0
    for number, size in enumerate(sizes_of(offsets, len(rows))):
        if size:
            made = numerics.gemm(config.wgmma, rows[None, start:start + size], groups[number:number + 1])[0]
            c[start:start + size] = made.astype(dtype)
        start = int(offsets[number])
    return c


def assert_as_predicted(kernel, work_problem, done):
    """What the machine counted is what the plan says for these sizes."""
    counts = {c.instruction: c for c in done.trace.by_instruction()}
    for said in kernel.predict(work_problem).counts:
        if said.instructions or said.instruction in counts:
            found = counts[said.instruction]
            if said.exact:
                assert found.bytes == said.bytes and (found.wavefronts, found.ideal) == (said.wavefronts, said.ideal), said
            assert said.bytes or found.instructions == said.instructions


KINDS = {
    "rows": (Hopper(64, 64, **SMALL), (70, 0, 3, 130, 0), 72),
    "columns": (Hopper(64, 32, c_major="M", **SMALL), (70, 0, 3, 130, 0), 136),
    "direct": (Hopper(128, 64, store="direct", **SMALL), (1, 127, 129), 71),
    "all in one group": (Hopper(64, 64, group=2, **SMALL), (0, 200, 0), 136),
    "forty groups of a row": (Hopper(64, 16, c_major="M", **SMALL), (1,) * 40, 64),
    "consumers without rows": (Hopper(192, 64, **SMALL), (1, 64, 65, 0, 191, 200), 72),
    "boxes without rows": (Hopper(64, 48, c_major="M", box=16, **SMALL), (1, 17, 0, 33, 50), 72),
    "two consumers in turns": (Hopper(64, 64, pingpong=True, **SMALL), (200, 90, 0, 0, 64, 65), 136),
    "two bands": (Hopper(256, 32, bands=2, **SMALL), (300, 20), 40),
    "bf16": (Hopper(64, 64, dtype="bf16", out="bf16", **SMALL), (70, 0, 66), 72),
    "e4m3": (Hopper(64, 64, dtype="e4m3", out="bf16", **SMALL), (70, 0, 66), 72),
}
"""Configuration, rows of the groups, columns."""


@pytest.mark.parametrize("kind", sweep_but(["columns", "consumers without rows"], KINDS))
def test_each_group_has_the_bits_of_its_own_product_and_rows_behind_the_last_are_left(kind):
    config, sizes, across = KINDS[kind]
    rows, groups, offsets = operands(config, sizes, 5, across, 136)
    made, done = on_machine(config, rows, groups, offsets)
    wanted = book(config, rows, groups, offsets, NUMPY[config.out])
    np.testing.assert_array_equal(np.ascontiguousarray(made).view(np.int16), wanted.view(np.int16))
    assert done.trace.hazards == done.trace.notes == ()
    problem = Problem(*config.turned(len(rows), across), 136, len(sizes), sizes=sizes)
    assert_as_predicted(kernel_of(config), problem, done)
    kernel_of(config).prove()


SCALED = {
    "lines": (Hopper(64, 64, scaled="lines", dtype="e4m3", out="bf16", **SMALL), (70, 0, 66)),
    "lines, columns": (Hopper(64, 32, c_major="M", scaled="lines", dtype="e4m3", out="bf16", **SMALL), (70, 0, 66)),
    "tensor": (Hopper(64, 64, scaled="tensor", **SMALL), (70, 0, 66)),
    "blocks": (Hopper(64, 32, scaled="1x128", dtype="e4m3", out="bf16", **SMALL), (70, 0, 66)),
    "blocks, consumers without rows": (Hopper(192, 32, scaled="1x128", dtype="e4m3", out="bf16", **SMALL), (130, 0, 1)),
    "blocks, bands without rows": (Hopper(256, 32, bands=2, scaled="1x1", dtype="e4m3", out="bf16", **SMALL), (70, 0, 300)),
    "blocks, columns": (Hopper(64, 32, c_major="M", scaled="128x1", dtype="e4m3", out="bf16", **SMALL), (70, 0, 66)),
    "integers, lines": (Hopper(64, 32, c_major="M", scaled="lines", dtype="s8", out="bf16", **SMALL), (70, 0, 66)),
    "integers, blocks": (Hopper(64, 32, scaled="1x128", dtype="s8", out="bf16", **SMALL), (70, 0, 66)),
}


@pytest.mark.parametrize("kind", sweep_but(["blocks, consumers without rows", "integers, lines"], SCALED))
def test_scales_of_rows_and_of_each_groups_columns_are_those_of_the_groups_own_product(kind):
    config, sizes = SCALED[kind]
    rows, groups, offsets = operands(config, sizes, 5, 72, 272)
    source, by_blocks = np.random.default_rng(1), "x" in config.scaled
    lines, columns = sum(sizes) + 5, 72 if config.scaled == "1x1" else 1
    shapes = {"tensor": ((1,), (1,)), "lines": ((lines, 1), (3, 72))}.get(config.scaled, ((lines, 3), (3, 3, columns)))
    of_rows, of_groups = (source.random(shape, dtype=np.float32) + np.float32(0.5) for shape in shapes)
    turned_a, turned_b = (of_rows.T, of_groups.swapaxes(1, -1)) if by_blocks else (of_rows.T, of_groups)
    scales = (of_rows, of_groups) if config.c_major == "N" else (turned_b, turned_a)
    made, done = on_machine(config, rows, groups, offsets, *scales)
    assert done.trace.hazards == ()
    problem = Problem(*config.turned(len(rows), 72), 272, len(sizes), sizes=sizes)
    assert_as_predicted(kernel_of(config), problem, done)
    alone = kernel_of(Hopper(**{name: value for name, value in config.changes.items() if name != "grouped"}))
    start = 0
    for number, size in enumerate(sizes):
        if size:
            mine = of_rows if config.scaled == "tensor" else of_rows[start:start + size]
            its = of_groups if config.scaled == "tensor" else of_groups[number:number + 1]
            its = its[0] if by_blocks else its
            a, b = rows[start:start + size], groups[number]
            if config.c_major == "N":
                wanted = run(alone, a, b, mine, its, device="cpu").c
            else:
                wanted = run(alone, b.T, a.T, its.T, mine.T, device="cpu").c.T
            found = np.ascontiguousarray(made[start:start + size])
            np.testing.assert_array_equal(found.view(np.int16), np.ascontiguousarray(wanted).view(np.int16))
        start += size
    assert (np.ascontiguousarray(made[start:]).view(np.int16) == -1).all()


def test_what_is_no_grouped_product_is_refused_on_the_cpu_machine():
    config = Hopper(64, 64, **SMALL)
    rows, groups, offsets = operands(config, (3, 4), 0, 72, 64)
    for inputs, text in (((rows, groups), "a grouped kernel takes rows"),
                         ((rows, groups, offsets[:1]), r"pass int32 \(2,\)"), ((rows, groups[0], offsets), "a stack of"),
                         ((rows, groups[:0], offsets[:0]), r"b is \(0, 64, 72\): a stack of no matrices"),
                         ((rows, groups, offsets, rows), "1 arrays of scales: this kernel takes none")):
        with pytest.raises(SimlayoutError, match=text):
            run(kernel_of(config), *inputs, device="cpu")
    for options, operand in ((dict(a_major="MN"), "a"), (dict(b_major="MN", c_major="M"), "b")):
        with pytest.raises(SimlayoutError, match=f'{operand}_major = "MN" with grouped: groups begin at any row'):
            Hopper(64, 64, **options, **SMALL)
    with pytest.raises(SimlayoutError, match="depends on its groups: give the Problem their sizes"):
        kernel_of(config).predict(Problem(7, 72, 64, 2))
    assert "CTAs: 2, tiles: 4, K steps: 1" in kernel_of(config).described(Problem(7, 72, 64, 2, sizes=(3, 4)))[0]


COMPILED = {"rows": (128, 256, "N", "bf16", ""), "columns": (128, 128, "M", "bf16", ""),
            "few": (64, 16, "M", "e4m3", "lines"), "scaled": (128, 128, "M", "e4m3", "lines"),
            "promoted": (128, 64, "M", "e4m3", "128x1"), "promoted rows": (128, 128, "N", "e4m3", "1x128"),
            "integers": (128, 96, "M", "s8", "tensor")}
"""tile_m, tile_n, c_major, dtype, scaled."""


def compiled_config(kind):
    """The configuration of one of COMPILED."""
    tile_m, tile_n, c_major, dtype, scaled = COMPILED[kind]
    return replace(fitted(tile_m, tile_n, c_major=c_major, dtype=dtype, out="bf16", scaled=scaled), grouped=True)


DIRECT = {"wide": (256, 184, 3, "N", "bf16"), "in turns": (128, 184, 5, "N", "f32"), "columns": (256, 176, 3, "M", "f32")}
"""tile_m, tile_n, stages, c_major, out."""


@needs_tools
@pytest.mark.parametrize("kind", sweep_but([], DIRECT))
def test_nothing_spills_of_two_bands_that_are_stored_directly(kind, tmp_path):
    tile_m, tile_n, stages, c_major, out = DIRECT[kind]
    config = Hopper(tile_m, tile_n, stages, bands=2, pingpong=kind == "in turns", c_major=c_major, dtype="bf16", out=out,
                    store="direct", grouped=True)
    said, _ = assembled(ptx(kernel_of(config)), tmp_path)
    assert_in_registers(said)


@needs_tools
@pytest.mark.parametrize("kind", sweep_but([], COMPILED))
def test_nothing_spills_and_no_wgmma_waits_for_another(kind, tmp_path):
    said, opcodes = assembled(ptx(kernel_of(compiled_config(kind))), tmp_path)
    assert_in_registers(said)
    assert of_class(opcodes, "LDL") == of_class(opcodes, "STL") == 0
