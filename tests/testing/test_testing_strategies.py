"""What the strategies of simlayout.testing draw is valid and shrinks to the simple, and Hypothesis finds them by itself."""

import re
import subprocess
import sys
from importlib import import_module, metadata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from tiers import given_few, sweep_but

import simlayout as sl
from simlayout import testing
from simlayout.codegen import trace
from simlayout.errors import InstructionError, LayoutError, VerificationError
from simlayout.hardware import INSTRUCTIONS, instruction
from simlayout.proofs.natural import natural_access
from simlayout.testing.hypothesis_entry import register
from simlayout.testing.patterns import PATTERNS

COMMON = settings(max_examples=100, deadline=None)
names = st.sampled_from(sorted(INSTRUCTIONS))


# ---- what is drawn ----------------------------------------------------------------------------------------------------

def injective(offsets):
    return len(set(offsets.tolist())) == offsets.size


@given_few(35, 100, testing.layouts(max_size=60, max_rank=2, max_stride=5), testing.one_to_one_layouts(max_size=60))
def test_layouts_keep_to_their_limits_and_those_that_are_one_to_one_are(layout, single):
    assert layout.size <= 60 and layout.rank <= 2
    assert layout == sl.Layout(layout.shape) or all(d <= 5 for _, d in layout.modes())
    assert single.size <= 60 and injective(single.offsets()) and single.offsets().min() == 0


@settings(max_examples=25, deadline=None)
@given(testing.one_to_one_layouts(max_size=60, max_rank=2, max_gap=1), testing.swizzles(max_bits=2),
       testing.rotations(max_chunk=2, max_count=3, max_rows=2, max_period=4), testing.tiles(max_rows=16, max_row_bytes=64),
       testing.accesses(dtypes=["f32"], max_rows=16, max_row_bytes=32))
def test_every_limit_holds(layout, swizzle, rotation, tile, access):
    assert layout.cosize == layout.size and layout.rank <= 2
    assert swizzle.bits <= 2 and rotation.chunk <= 2 and rotation.count <= 3 and (rotation.period or 0) <= 4
    assert rotation.line <= 2 * rotation.chunk * rotation.count
    assert tile.shape[0] == 16 and tile.shape[1] <= 32 and access.tile.shape == (16, 8)


@COMMON
@given(testing.swizzles(), testing.swizzles(min_bits=1, min_base=3, max_base=3, min_shift=1), testing.rotations())
def test_swizzles_and_rotations_are_permutations(swizzle, chunked, rotation):
    assert sorted(swizzle(np.arange(1 << 14)).tolist()) == list(range(1 << 14))
    assert chunked.base == 3 and chunked.shift > 0 < chunked.bits
    assert (chunked(np.arange(64)) % 8 == np.arange(64) % 8).all()
    size = rotation.line * rotation.period
    assert sorted(rotation(np.arange(size)).tolist()) == list(range(size))


@given_few(35, 100, st.data(), st.sampled_from(["f16", "f32", "s8", "f64"]),
           st.sampled_from(["plain", "padded", "rotated", "swizzled"]))
def test_a_tile_fits_is_one_to_one_and_keeps_chunks_of_16_bytes_whole(data, dtype, kind):
    tile = data.draw(testing.tiles(dtype, kinds=(kind,), max_bytes=8192))
    size, offsets = sl.dtype_of(dtype).bytes, tile.offsets()
    rows, columns = tile.shape
    assert injective(offsets) and tile.cosize * size <= 8192 and rows % 16 == 0 and columns * size % 32 == 0
    starts = size * tile(*np.ix_(np.arange(rows), np.arange(0, columns, 16 // size)))
    assert (starts % 16 == 0).all()
    for name in data.draw(st.lists(names, min_size=1, max_size=3)):
        if instruction(name).bytes >= size:
            sl.verify(natural_access(tile, name, dtype))


@given_few(30, 3_000, st.data(), names)
def test_addresses_are_those_that_the_instruction_takes(data, name):
    top = data.draw(st.sampled_from([instruction(name).bytes, 512, 48 * 1024]))
    patterns = data.draw(st.none() | st.sampled_from([[p] for p in PATTERNS]))
    found = data.draw(testing.addresses(name, max_bytes=top, patterns=patterns))
    mask = data.draw(testing.lane_masks(name))
    assert found.dtype == np.int64 and found.ndim == 2 and found.shape[1] == 32 and 1 <= len(found) <= 4
    assert found.min() >= 0 and (found % instruction(name).bytes == 0).all()
    assert found.max() + instruction(name).bytes <= top
    assert len(sl.analyze(name, found, mask)) == len(found)


@pytest.mark.parametrize("name", sweep_but([*INSTRUCTIONS][::4], INSTRUCTIONS))
def test_every_instruction_has_addresses_that_its_lanes_contend_for(name):
    row = instruction(name)

    def waits(given):
        found = sl.analyze(name, given)
        return (found.wavefronts > row.times * found.ideal).any()

    assert testing.smallest(testing.addresses(name, max_accesses=1), waits).shape == (1, 32)


@COMMON
@given(st.integers(0, 32), st.data())
def test_masks_are_masks(least, data):
    mask = data.draw(testing.lane_masks(min_active=least))
    assert mask.dtype == bool and mask.shape == (32,) and mask.sum() >= least
    assert data.draw(testing.lane_masks("stmatrix.x2", min_active=least)).all()


@given_few(30, 100, testing.accesses(), testing.accesses(excess=0))
def test_an_access_is_proved_and_one_that_declares_no_excess_is_refused_for_conflicts_alone(access, strict):
    assert sl.verify(access).excess == int(access.analyze().excess.sum())
    if strict.analyze().excess.any():
        with pytest.raises(VerificationError, match="has bank conflicts"):
            sl.verify(strict)
    else:
        sl.verify(strict)
    assert isinstance(trace(access).hi, int)           # its lanes are integer arithmetic, so that it can be emitted


@pytest.mark.parametrize("strategy, condition, simplest", [
    (testing.layouts(), lambda x: True, "1:1"), (testing.swizzles(), lambda x: True, "Sw<0,0,0>"),
    (testing.swizzles(), lambda x: x.bits == 2, "Sw<2,0,2>"), (testing.rotations(), lambda x: True, "Rot<1,1,1,1>"),
    (testing.tiles(), lambda x: True, "(16,16):(16,1)"), (testing.tiles(), lambda x: x.cosize > x.size, "(16,16):(24,1)"),
    (testing.addresses("st.shared.b32"), lambda x: x.any(), str(np.full((1, 32), 4))),
    (testing.addresses("st.shared.b32"), lambda x: x[0, 0] != x[0, 1], str(np.array([4 * np.arange(32)]))),
    (testing.addresses("ldmatrix.x4"), lambda x: True, str(np.zeros((1, 32), int))),
    (testing.lane_masks(), lambda x: True, str(np.ones(32, bool))),
    (testing.lane_masks(), lambda x: not x[4], str(np.zeros(32, bool))),
])
def test_what_is_drawn_shrinks_to_the_simplest(strategy, condition, simplest):
    assert str(testing.smallest(strategy, condition)) == simplest


@pytest.mark.parametrize("made, error, fault", [
    (lambda: testing.layouts(max_size=0), LayoutError, "max_size = 0"),
    (lambda: testing.swizzles(min_bits=3, min_shift=-2, max_shift=2), LayoutError, "no swizzle has 3 to 3 bits"),
    (lambda: testing.rotations(max_chunk=0), LayoutError, "max_chunk = 0"),
    (lambda: testing.tiles(kinds=("woven",)), LayoutError, "kinds 'woven'"),
    (lambda: testing.tiles(kinds=()), LayoutError, "kinds missing"),
    (lambda: testing.tiles("f17", max_bytes=1024), LayoutError, "unknown dtype"),
    (lambda: testing.tiles(max_bytes=512), LayoutError, "max_bytes = 512"),
    (lambda: testing.addresses("ld.shared.b24"), InstructionError, "ld.shared.b24"),
    (lambda: testing.addresses("ld.shared.b64", max_bytes=4), LayoutError, "max_bytes = 4"),
    (lambda: testing.addresses("ld.shared.b64", patterns=["zigzag"]), LayoutError, "'zigzag'"),
    (lambda: testing.lane_masks(min_active=33), LayoutError, "a warp has 32 lanes"),
    (lambda: testing.accesses(instructions=["ld.shared.b8"], dtypes=("f32",)), LayoutError, "none of the dtypes f32"),
    (lambda: testing.accesses(instructions=["ldmatrix.x4"], lane_maps=["columns"]), LayoutError, "lane maps columns"),
    (lambda: testing.accesses(lane_maps=("zigzag",)), LayoutError, "lane_maps 'zigzag'"),
])
def test_limits_that_leave_nothing_to_draw_are_refused_before_anything_is_drawn(made, error, fault):
    with pytest.raises(error, match=re.escape(fault)):
        made()


# ---- Hypothesis' entry point -----------------------------------------------------------------------------------------

def declared():
    """The entry point that pyproject.toml declares (tomllib is there from Python 3.11 on only)."""
    text = (ROOT / "pyproject.toml").read_text()
    return re.search(r'\[project\.entry-points\.hypothesis\]\nsimlayout = "([\w.]+:\w+)"\n', text)[1]


def run(code, *path):
    code = f"import sys; sys.path[:0] = {[str(ROOT), *map(str, path)]}\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_a_lone_name_is_one_of_several():
    tile = testing.smallest(testing.tiles(kinds="padded"), lambda tile: True)
    assert tile.cosize > tile.size
    found = testing.smallest(testing.accesses(instructions="ldmatrix.x4", dtypes="f16", lane_maps="natural"))
    assert (found.instruction, found.dtype) == ("ldmatrix.x4", "f16")
    assert testing.smallest(testing.addresses("ld.shared.b32", patterns="strided")).shape == (1, 32)
    with pytest.raises(LayoutError, match="max_rank is an integer, not 1.5"):
        testing.layouts(max_rank=1.5)


def test_the_declared_entry_point_registers_every_type(tmp_path):
    module, function = declared().split(":")
    assert getattr(import_module(module), function) is register
    installed = {entry.value for entry in metadata.entry_points(group="hypothesis") if entry.name == "simlayout"}
    assert installed <= {declared()}
    info = tmp_path / "installed-1.dist-info"                   # what pip makes of pyproject.toml
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[hypothesis]\nsimlayout = {declared()}\n")
    code = ("import simlayout as sl\nfrom hypothesis import strategies as st\n"
            "assert 'simlayout.testing.strategies' not in sys.modules and 'numba' not in sys.modules\n"
            "import simlayout.testing\n"
            "for kind in (sl.Layout, sl.Swizzle, sl.Rotation, sl.Composed, sl.Access):\n"
            "    assert type(sl.testing.smallest(st.from_type(kind))) is kind\n"
            "print(sl.testing.smallest(st.from_type(sl.Swizzle), lambda x: x.bits == 1))")
    assert run(code, tmp_path) == "Sw<1,0,1>\n"


def test_the_assertions_come_without_hypothesis_and_the_strategies_bring_it():
    code = ("import simlayout.testing as made\nmade.assert_bijective(lambda x: x, [4])\n"
            "assert 'hypothesis' not in sys.modules and set(made.__all__) <= set(dir(made))\n"
            "assert all(getattr(made, name).__name__ == name for name in made.__all__)\n"
            "print(made.swizzles.__module__, 'hypothesis' in sys.modules)")
    assert run(code) == "simlayout.testing.strategies True\n"
    with pytest.raises(AttributeError, match="no attribute 'zigzag'"):
        _ = testing.zigzag


register()


@COMMON
@given(...)
def test_annotated_arguments_are_drawn(swizzle: sl.Swizzle, tile: sl.Composed, access: sl.Access):
    assert isinstance(swizzle, sl.Swizzle) and isinstance(tile, sl.Composed) and isinstance(access, sl.Access)
