"""The wgmma kernels without a GPU: their machine code, the order of their work, and what they refuse."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from machine_code import assembled, assert_in_registers, needs_tools, of_class
from tiers import sweep_but

from cuda_kernels.build.compile import ptx
from cuda_kernels.build.entry import Entry
from cuda_kernels.kernels.hopper.accesses import EMITTED, emitted_function, store_access
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import SIGNATURE, kernel_of
from cuda_kernels.kernels.hopper.order import divided, divider, order_of, tile_of
from cuda_kernels.kernels.hopper.rules import RULES
from cuda_kernels.kernels.hopper.sectors import LAP, run_of
from cuda_kernels.kernels.hopper.slices import slice_of
from cuda_kernels.kernels.hopper.split import cutting_of, piece_bytes, unit_of
from cuda_kernels.matmul.choose.candidates import BY_SECTORS, candidates
from cuda_kernels.matmul.choose.choice import choose, suited
from cuda_kernels.matmul.choose.figures import FIGURES
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.workspace import LARGEST_TILE
from simlayout.algebra import dtype_of
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.kernel import Problem

SIZES = st.integers(1, 40)


@pytest.mark.parametrize("where, store", [
    ({}, "tma"), ({"ldc": 72}, "tma"), ({"ldc": 68}, "direct"), ({"c": 8}, "direct"),
    ({"matrices": 2, "step_c": 8192}, "tma"), ({"matrices": 2, "step_c": 8200}, "direct")], ids=str)
def test_a_c_that_no_tensor_map_describes_is_stored_directly(where, store):
    kernel = kernel_of(HOPPER["wgmma_persistent"])
    assert kernel.options.store == "tma" and kernel.fitted(Problem(64, 64, 64, **where)).options.store == store


BY_SECTORS_KERNEL = kernel_of(BY_SECTORS[0])
H100 = FIGURES["NVIDIA H100 80GB HBM3"]


@pytest.mark.parametrize("where, store", [
    ({}, "sectors"), ({"ldc": 80}, "sectors"), ({"ldc": 76}, "direct"), ({"c": 8}, "direct"), ({"c": 16}, "sectors"),
    ({"matrices": 2, "step_c": 8208}, "sectors"), ({"matrices": 2, "step_c": 8200}, "direct")], ids=str)
def test_c_is_stored_by_sectors_where_its_lines_start_on_16_bytes(where, store):
    assert BY_SECTORS_KERNEL.fitted(Problem(64, 72, 64, **where)).options.store == store


def test_lines_that_do_not_end_on_16_bytes_are_stored_by_boxes():
    assert BY_SECTORS_KERNEL.fitted(Problem(64, 70, 64, ldc=72)).options.store == "tma"


@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 5000))
def test_the_runs_of_tiles_are_every_line_once_and_meet_on_sectors_of_32_bytes(eights, sixteens, at):
    N, step, line = 8 * eights, 16 * sixteens, 16 * at
    runs = [run_of(line, col, step, N) for col in range(0, N + step, step)]
    assert [c for first, end in runs for c in range(first, end)] == list(range(N))
    assert all((line + 2 * end) % 32 == 0 for first, end in runs[:-1] if first < end < N)
    assert all(col <= first and end <= col + step + LAP for col, (first, end) in zip(range(0, N, step), runs)
               if first < end)


def test_a_wide_and_shallow_product_whose_lines_start_within_sectors_is_stored_by_sectors_where_dram_is_slow():
    wide = Wanted(14608, 14312, 152)
    assert choose(wide, H100) == BY_SECTORS[0] and choose(wide).store == "tma"
    assert choose(replace(wide, b_major="MN"), H100) == BY_SECTORS[1].taking(("f16", "f16"), "f16", ("K", "MN"))
    for other in (Wanted(14608, 14320, 152), Wanted(3000, 3016, 152), Wanted(14608, 14312, 512),
                  Wanted(14608, 14312, 152, out="f32"), Wanted(14608, 14312, 152, store="direct")):
        assert choose(other, H100).store != "sectors", other


@pytest.mark.parametrize("wanted, stored", [
    (Wanted(4872, 10040, 64, b_major="MN", out="bf16", scaled="lines"), "sectors"),
    (Wanted(21288, 15624, 448, types=("e4m3", "e5m2"), out="bf16", scaled="lines", epilogue="alpha relu multiply"), "tma"),
    (Wanted(1525, 10840, 22, 64, types=("s8", "u8"), scaled="lines", epilogue="alpha residual bias_n multiply"), "tma")])
def test_such_a_product_with_scales_of_lines_gets_what_has_room_for_them(wanted, stored):
    assert choose(wanted, H100).store == stored


# ---- machine code ----------------------------------------------------------------------------------------------------

COMPILED = {
    "wgmma_tma": HOPPER["wgmma_tma"], "wgmma_specialized": HOPPER["wgmma_specialized"],
    "cut and in clusters": Hopper(a_major="MN", b_major="MN", split=True, cluster_m=2),
    "f32 C, stored directly": Hopper(out="f32", store="direct", split=True, dtype="bf16"),
    "one consumer": Hopper(tile_m=64, tile_n=128, stages=8, split=True),
    "columns of C": Hopper(tile_n=176, c_major="M", b_major="MN", split=True),
    "three consumers": Hopper(192, 192, 3, 1, producer=1, split=True),
    "four consumers": Hopper(256, 128, 3, 1, producer=1, cluster_m=2),
    "two bands": Hopper(256, 192, 3, 1, bands=2), "two bands in clusters": Hopper(256, 160, 4, 1, bands=2, cluster_m=2),
    "two bands, cut": Hopper(256, 160, 4, 2, bands=2, split=True),
    "two bands, one consumer": Hopper(128, 160, 4, 1, bands=2, split=True, c_major="M"),
    "two consumers in turns": Hopper(64, 256, 5, 1, split=True, pingpong=True),
    "two bands in turns": Hopper(128, 192, 4, 2, bands=2, pingpong=True, cluster_m=2),
    "two bands, stored directly": Hopper(256, 184, 3, 1, bands=2, out="f32", store="direct", c_major="M", cluster_m=2),
    "two bands in turns, cut and stored directly": Hopper(128, 136, 4, 1, bands=2, split=True, pingpong=True, c_major="M",
                                                          out="f32", store="direct", cluster_m=2),
    "by sectors": BY_SECTORS[0], "by sectors, 136": replace(BY_SECTORS[0], tile_n=136, buffers=2, stages=3),
    "two bands in turns, cut": Hopper(128, 168, 5, 1, bands=2, split=True, pingpong=True, c_major="M"),
    "two CTAs per SM": Hopper(128, 128, 3, 1, producer=1, resident=2, split=True),
    "slices": Hopper(64, 16, 8, 1, c_major="M", slices=8), "big slices": Hopper(tile_n=128, slices=3, stages=3)}


@needs_tools
@pytest.mark.parametrize("name", sweep_but(["wgmma_tma"], COMPILED))
def test_accumulators_stay_in_registers_and_no_wgmma_waits_for_another(name, tmp_path):
    config = COMPILED[name]
    said, opcodes = assembled(ptx(kernel_of(config)), tmp_path)
    assert_in_registers(said)
    stage = 4 * config.bands
    assert of_class(opcodes, "HGMMA") in (stage, 2 * stage)     # the first stage of a tile may be peeled off
    assert of_class(opcodes, "LDL") == of_class(opcodes, "STL") == 0
    assert of_class(opcodes, "WARPGROUP") >= 2                  # the fence, and the waits


@needs_tools
@pytest.mark.parametrize("tile_m", sweep_but([], (64, 128, 192, 256)))
def test_promoted_sums_of_the_widest_tiles_stay_in_registers(tile_m, tmp_path):
    widest = max((c for c in candidates(scaled="1x128") if c.tile_m == tile_m), key=lambda c: (c.tile_n, c.stages))
    said, _ = assembled(ptx(kernel_of(widest)), tmp_path)
    assert_in_registers(said)


@needs_tools
@pytest.mark.sweep
@pytest.mark.parametrize("candidate", (*candidates()[::9], *candidates(scaled="1x128")[::7],
                                       *candidates(("MN", "MN"))[4::31]), ids=str)
def test_candidates_compile_without_spills(candidate, tmp_path):
    said, _ = assembled(ptx(kernel_of(candidate)), tmp_path)
    assert_in_registers(said)


def test_tensor_maps_are_parameters_of_128_bytes_and_clusters_have_their_size():
    entry = Entry.of(ptx(kernel_of(Hopper(64, 64, 4, cluster_m=2))))
    assert [p.array for p in entry.parameters] == ["[128]" if a.type == "map" else "" for a in SIGNATURE]
    assert ".reqnctapercluster 2, 1, 1" in entry.directives


# ---- what is read and written ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("candidate", candidates()[::37], ids=str)
@pytest.mark.parametrize("major", ["K", "MN"])
def test_wgmma_reads_a_and_b_of_every_configuration_where_tma_puts_them(candidate, major):
    config = suited(candidate, Wanted(1, 1, 1, 1, major, major))
    if config is None:
        pytest.skip("MN-major tiles of it do not fit")
    for tile in config.operands:
        assert tile.prove().elements == tile.rows * 64
    whole = OperandTile(config.tile_m, 64, "f16", major).put()   # a band of A is a tile of its own
    for band in range(config.tile_m // 64):
        part = config.operands[0].put(8192 * band)
        assert (part == whole[64 * band:64 * band + 64]).all()
    box_a, box_b, box_c = config.boxes()
    assert box_a[0] == box_b[0] == 64 and max(box_a + box_b + box_c) <= 256


@pytest.mark.parametrize("access", EMITTED["wgmma"], ids=lambda access: access.name)
def test_c_is_staged_and_exchanged_without_conflicts_and_as_emitted(access):
    assert access.analyze().excess.sum() == 0
    assert (emitted_function(access)(*access.points()) == access.offsets() * dtype_of(access.dtype).bytes).all()


@given(st.sampled_from(range(16, 257, 8)), st.sampled_from("NM"), st.sampled_from([0, 16, 32, 48, 64]))
def test_a_staging_buffer_is_what_tma_reads_as_a_box_of_c_and_the_boxes_cover_the_tile(tile_n, c_major, box):
    assume(box <= tile_n and not (box == 48 and c_major == "N"))
    config = Hopper(tile_n=tile_n, stages=2, c_major=c_major, box=box)
    box, swizzle, tile = config.boxes()[2], config.swizzles[2], store_access(config).tile
    assert prod(box) * 2 * config.buffers == config.staging_bytes
    covered = [first + i for first in config.box_starts for i in range(config.box_n)]
    assert set(covered) == set(range(tile_n)) and len(covered) < tile_n + config.box_n
    landed = TensorMap("f16", (1024, 1024, 1), (2048, 2048), box, swizzle=swizzle).offsets()[0]
    row, col = np.indices((64, config.box_n))
    wanted = landed.T if c_major == "M" else landed
    for buffer in range(config.buffers):                    # each starts on the swizzle's period
        first = 128 * config.box_n * buffer
        assert (tile((row, col + config.box_n * buffer)) * 2 == first + wanted).all()


# ---- the order of work -----------------------------------------------------------------------------------------------

@given(SIZES, SIZES, st.integers(1, 3), st.integers(1, 12))
def test_every_tile_of_every_matrix_is_visited_once(rows, cols, matrices, group):
    order = order_of(rows, cols, group)
    found = {tile_of(i, rows, cols, order) for i in range(rows * cols * matrices)}
    assert found == {(r, c, m) for r in range(rows) for c in range(cols) for m in range(matrices)}


@pytest.mark.parametrize("unit_at", [unit_of, slice_of])
@given(st.integers(0, 30), st.integers(0, 10), st.integers(1, 12), st.integers(0, 50))
def test_the_parts_of_a_cut_tile_cover_its_steps_once(unit_at, whole, cut, parts, more):
    steps = parts + more
    seen, cutting = {}, cutting_of(whole + cut, whole, parts)
    for unit in range(whole + cut * parts):
        tile, part, first, last = unit_at(unit, steps, cutting)
        assert first < last
        seen.setdefault(tile, []).append((part, first, last))
    assert sorted(seen) == list(range(whole + cut))
    for tile, found in seen.items():
        assert [p for p, *_ in found] == list(range(len(found))) and len(found) == (parts if tile >= whole else 1)
        assert found[0][1] == 0 and found[-1][2] == steps
        assert all(a[2] == b[1] for a, b in zip(found, found[1:]))


@given(st.integers(0, 30), st.integers(1, 10), st.integers(1, 12))
def test_ctas_next_to_one_another_have_the_same_part_of_cut_tiles(whole, cut, parts):
    cutting = cutting_of(whole + cut, whole, parts)
    found = [unit_of(unit, parts, cutting) for unit in range(whole, whole + cut * parts)]
    assert [(part, tile) for tile, part, *_ in found] == sorted((part, tile) for tile, part, *_ in found)


@given(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1), st.integers(-1, 1))
def test_a_product_with_the_divider_is_the_quotient(n, d, beside):
    for number in (n, n // d * d + beside, 2**31 - 1):       # next to a multiple, where a rounded product would fail
        if 0 <= number < 2**31:
            assert divided(number, divider(d)) == number // d


def test_a_divider_fits_what_the_kernel_takes():
    for d in [*range(1, 70), *(2**p + i for p in range(7, 31) for i in (-1, 0, 1)), 2**31 - 1]:
        assert divider(d) % 2**32 * d >= 2 ** (divider(d) >> 32) and divider(d) < 2**64
        assert {divided(n, divider(d)) for n in (d, 2 * d - 1) if n < 2**31} == {1}


@given(st.sampled_from([c for c in candidates() if c.split]), *[st.integers(1, 9000)] * 3, st.integers(1, 3),
       st.sampled_from([1, 7, 114, 132]))
def test_work_is_cut_so_that_no_cta_has_two_parts_and_all_of_k_is_done(config, M, N, K, matrices, sms):
    tiles = config.tiles(M, N, matrices)
    whole, parts = config.cut(M, N, K, matrices, sms)
    grid = config.grid(M, N, K, matrices, sms)
    assert 0 <= whole <= tiles and 1 <= parts <= -(-K // 64) and grid % config.sharing == 0
    assert 1 <= grid <= config.sharing * config.slots(sms) and (sms < 8 or grid <= config.resident * sms)
    if parts == 1:
        assert whole == tiles and config.workspace(M, N, K, matrices, sms) == (0, 0)
    else:
        cut = tiles - whole
        assert cut * parts <= config.slots(sms)
        pieces = cut * config.sharing * config.tile_m // 64
        assert config.workspace(M, N, K, matrices, sms) == (piece_bytes(config.tile_n) * pieces * parts, 8 * pieces)


def test_what_an_sm_has_of_cut_tiles_fits_into_the_workspace_of_a_stream():
    each = {c.resident * c.tile_m // 64 * piece_bytes(c.tile_n) for c in candidates() if c.split}
    assert max(each) == LARGEST_TILE


@given(st.integers(1, 8), st.integers(1, 2), *[st.integers(1, 9000)] * 3, st.integers(1, 3),
       st.sampled_from([16, 66, 114, 132]))
def test_the_slices_of_a_tile_are_the_ctas_of_one_cluster_in_order_and_the_last_work_of_each(slices, resident, M, N, K,
                                                                                           matrices, sms):
    config = Hopper(64, 64, 2, 1, slices=slices, resident=resident, producer=1)
    tiles, steps = config.tiles(M, N, matrices), -(-K // 64)
    whole, parts = config.cut(M, N, K, matrices, sms)
    grid, units = config.grid(M, N, K, matrices, sms), whole + parts * (tiles - whole)
    assert grid % slices == 0 and 1 <= grid <= resident * sms and config.workspace(M, N, K, matrices, sms) == (0, 0)
    if parts == 1:
        assert whole == tiles
        return
    assert parts == slices <= steps and whole % grid == 0 and units - whole <= grid
    for unit in range(whole, units):
        tile, part, first, last = slice_of(unit, steps, cutting_of(tiles, whole, parts))
        cta = unit % grid
        assert (cta // slices, cta % slices) == (tile - whole, part) and first < last and unit + grid >= units


# ---- what is refused -------------------------------------------------------------------------------------------------

REFUSED = [
    ({"tile_m": 96}, "tile_m = 96: choose one of 64, 128"), ({"tile_n": 320}, "tile_n = 320"),
    ({"tile_n": 8}, 'tile_n = 8 is less than the 16 columns of a box: store it with store="direct"'),
    ({"tile_n": 40, "box": 64}, "tile_n = 40 is less than the 64 columns of a box: use a smaller box"),
    ({"store": "sectors"}, 'tile_n = 256: store="sectors" needs an odd multiple of 8 from 24 to 200'),
    ({"store": "sectors", "tile_n": 8}, "tile_n = 8: store"),
    ({"store": "sectors", "tile_n": 72}, "buffers = 2: .* the 1 bands"),
    ({"store": "sectors", "tile_n": 72, "buffers": 1, "c_major": "M"}, 'needs c_major="N"'),
    ({"store": "sectors", "tile_n": 72, "buffers": 1, "split": True}, "copies whole lines"),
    ({"box": 48}, 'box = 48 needs c_major="M"'), ({"box": 24}, "box = 24: choose one of 0, 16, 32, 48, 64"),
    ({"dtype": "f32"}, "dtype = 'f32'"), ({"out": "f32"}, 'store="direct"'), ({"stages": 1}, "at least 2"),
    ({"stages": 5}, "need 278608 bytes"), ({"cluster_m": 3}, "cluster_m = 3"), ({"body": "other"}, "body = 'other'"),
    ({"cluster_m": 4, "cluster_n": 4}, "at most 8 CTAs"),
    ({"split": True, "persistent": False}, "needs persistent=True"),
    ({"pingpong": True}, "pingpong needs persistent=True, slices=1 and tile_m=64, or 128 with bands=2"),
    ({"pingpong": True, "bands": 2, "tile_n": 64, "persistent": False}, "pingpong needs"),
    ({"pingpong": True, "tile_m": 64, "tile_n": 64, "slices": 2}, "pingpong needs"),
    ({"pingpong": True, "bands": 2}, "128x256 with 1 CTAs of 384 threads per SM: a thread may have 232 registers"),
    ({"tile_m": 256, "tile_n": 144, "bands": 2, "split": True, "out": "f32", "store": "direct", "c_major": "M"}, "needs 96"),
    ({"slices": 2, "split": True}, "slices need persistent=True, split=False"),
    ({"slices": 3, "cluster_m": 2, "cluster_n": 2}, "cluster_n = 2, slices = 3: a cluster has at most 8 CTAs"),
    ({"slices": 2, "bands": 2, "tile_n": 64}, "slices need"),
    ({"tile_m": 192, "bands": 2}, "no multiple of the 128 rows of a consumer"),
    ({"tile_m": 256, "tile_n": 176, "bands": 2, "split": True}, "232 registers, 176 of them accumulators, and needs 60"),
    ({"slices": 2}, "stages of 128x256x64 need 360528 bytes of shared memory"),
    ({"resident": 2, "tile_n": 128, "stages": 2}, "may have 80 registers, 64 of them accumulators"),
    ({"resident": 2, "tile_n": 128, "stages": 4, "producer": 1}, "a CTA has 115712"),
    ({"tile_m": 192, "tile_n": 208, "stages": 2}, "may have 128 registers"), ({"c_major": "K"}, "c_major = 'K'"),
    ({"body": "wgmma_tma"}, "set tile_m=64, stages=1, store='direct', persistent=False"),
    ({"dtype": "bf16", "b_dtype": "e4m3"}, "wgmma mixes e4m3 and e5m2"),
    ({"dtype": "e5m2", "b_major": "MN"}, "wgmma reads e5m2 K-major alone"),
    ({"dtype": "s8", "tile_n": 40}, "wgmma of integers has 8, 16, 24 or 32"),
    ({"out": "s32"}, "an int32 has the sums of integers"),
    ({"scaled": "1x128"}, "only 8-bit operands have these"),
    ({"scaled": "1x1", "dtype": "e4m3", "tile_n": 72}, "needs a tile_n of"),
    ({"scaled": "1x1", "dtype": "e4m3", "tile_n": 64, "producer": 1}, "needs producer=4"),
    ({"epilogue": "gelu bias_n"}, "any of these words in this order"),
    ({"epilogue": "relu", "store": "sectors", "tile_n": 72, "buffers": 1}, "needs grouped=False"),
    ({"epilogue": "relu", "slices": 2, "tile_m": 64, "stages": 2}, "wgmma no longer overlap with more than 96"),
    ({"epilogue": "relu", "tile_n": 72}, "boxes of 16 columns overlap, and would read"),
    ({"grouped": True, "split": True}, "grouped needs persistent=True, slices=1 and split=False"),
    ({"grouped": True, "scaled": "128x128", "dtype": "e4m3", "tile_n": 64}, "groups begin at any row"),
    ({"grouped": True, "cluster_m": 2}, "grouped needs cluster_m=cluster_n=1"),
    ({"grouped": True, "a_major": "MN"}, "groups begin at any row, and TMA ends"),
    ({"grouped": True, "scaled": "1x128", "c_major": "M", "dtype": "e4m3", "tile_n": 64}, 'use "128x1" or "1x1"'),
]


def unchecked(options):
    """A configuration as its rules see it, whether it is one or not."""
    made = object.__new__(Hopper)
    for name, value in (vars(Hopper()) | options).items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize("options, fault", REFUSED)
def test_a_configuration_that_no_kernel_can_have_is_refused(options, fault):
    with pytest.raises(SimlayoutError, match=fault):
        Hopper(**options)


def test_every_rule_refuses_something_that_the_rules_before_it_let_pass():
    first = [next((rule for rule in RULES if rule.breaks(unchecked(options))), None) for options, fault in REFUSED
             if "choose one of" not in fault and " = '" not in fault]
    assert set(RULES) <= set(first)
