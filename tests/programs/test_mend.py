"""What would mend an array: candidates judged by the accesses that were seen, and the edits that say so in the source."""

import re
from contextlib import nullcontext
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.hardware.tables.arch import MOST_STATIC
from simlayout.machine.engine.trace import Recorder
from simlayout.machine.ptx.declared.declarations import Declaration, Edit, NoEdit, edits, replaced
from simlayout.programs import SharedArray
from simlayout.programs.mend import Candidate, candidates, cost, mends
from simlayout.programs.uses import Uses

LANES = np.arange(32)


def used(accesses, shape=(32, 32), itemsize=4, source=("tile.py", 5), beside=0, times=1):
    """Uses of one launch of a kernel with one array (and another of `beside` bytes before it); accesses: [(instruction,
    flat index of the element of each lane)]."""
    recorder = Recorder("sm_90")
    for instruction, index in accesses:
        for _ in range(times):
            recorder.add(instruction, None, (source[0], 9), beside + itemsize * np.asarray(index), None)
    arrays = (SharedArray("other", 0, beside),) * bool(beside)
    array = SharedArray("tile", beside, itemsize * prod(shape), *source, shape)
    uses = Uses()
    uses.add(replace(recorder.trace(), arrays=(*arrays, array)), "kernel")
    return uses


def only(uses):
    (use,) = uses.found.values()
    return use


# ---- candidates --------------------------------------------------------------------------------------------------------

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple) | st.sampled_from([(32, 32), (16, 8), (4, 8, 16)])


@given(shapes, st.sampled_from([1, 2, 4, 8, 16]))
def test_every_candidate_places_all_elements_apart_and_within_its_size(shape, itemsize):
    index = np.arange(prod(shape))
    for one in candidates(shape, itemsize):
        placed = one.place(index, shape)
        assert len(np.unique(placed)) == len(index) and placed.min() >= 0 and placed.max() < one.elements(shape)


@given(st.integers(2, 9), st.integers(2, 9), st.integers(1, 9), st.integers(1, 2), st.integers(1, 5))
def test_padding_is_the_array_with_another_shape(a, b, c, dim, by):
    shape = (a, b, c)
    wide = [n + by * (i == dim) for i, n in enumerate(shape)]
    coords = np.unravel_index(np.arange(prod(shape)), shape)
    assert Candidate("pad", by, dim).place(np.arange(prod(shape)), shape).tolist() == np.ravel_multi_index(
        coords, wide).tolist()


@pytest.mark.parametrize("one", [None, Candidate("pad", 1, 1), Candidate("swizzle", 0)])
def test_the_cost_is_that_of_every_access_by_itself_at_its_new_place(one):
    rng = np.random.default_rng(3)
    accesses = [(name, rng.integers(0, 1024, 32)) for name in ("ld.shared.b32", "st.shared.b32") for _ in range(20)]
    found = [sl.analyze(name, 4 * (index if one is None else one.place(index, (32, 32))))
             for name, index in accesses]
    wavefronts, ideal = (sum(int(getattr(f, what)[0]) for f in found) for what in ("wavefronts", "ideal"))
    assert cost(only(used(accesses, times=3)), one, "sm_90") == (3 * (wavefronts - ideal), 3 * wavefronts)


def test_an_access_of_four_elements_that_padding_parts_counts_as_four():
    use = only(used([("ld.shared.b128", 4 * LANES)]))
    assert cost(use, Candidate("pad", 4, 1), "sm_90")[0] == 0
    single = [sl.analyze("ld.shared.b32", 4 * Candidate("pad", 1, 1).place(4 * LANES + i, (32, 32))) for i in range(4)]
    assert cost(use, Candidate("pad", 1, 1), "sm_90")[1] == sum(int(one.wavefronts[0]) for one in single)


def test_elements_that_lie_together_by_chance_are_no_access_of_several():
    """Every second row of 17 pairs begins at a multiple of 16 bytes, which no compiler knows: two loads, not one."""
    use = only(used([("ld.shared.b128", 2 * 16 * LANES)], shape=(64, 16), itemsize=8))
    pad = Candidate("pad", 1, 1)
    two = [sl.analyze("ld.shared.b64", 8 * pad.place(2 * 16 * LANES + i, (64, 16))) for i in range(2)]
    assert cost(use, pad, "sm_90") == (sum(int(one.excess[0]) for one in two), sum(int(one.wavefronts[0]) for one in two))
    assert cost(use, pad, "sm_90")[0] > 0 and cost(use, Candidate("pad", 2, 1), "sm_90")[1] == sl.analyze(
        "ld.shared.b128", 8 * Candidate("pad", 2, 1).place(2 * 16 * LANES, (64, 16))).wavefronts[0]


# ---- mends -------------------------------------------------------------------------------------------------------------

SOURCE = """from numba import cuda

@cuda.jit
def kernel(out):
    tile = cuda.shared.array((32, 32), 'float32')
    y, x = cuda.threadIdx.y, cuda.threadIdx.x
    tile[y, x] = 1
    cuda.syncthreads()
    out[y, x] = tile[x, y]
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "tile.py"

    def written(text=SOURCE):
        path.write_text(text)
        return str(path), 5

    return written


def test_a_column_of_a_square_is_mended_by_one_more_column(source):
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES), ("st.shared.b32", LANES)], source=source()), "sm_90")
    assert (mend.name, mend.kernels, mend.excess, mend.left, mend.bytes) == ("tile", ("kernel",), 31, 0, 128)
    assert mend.edits == (Edit(5, "tile = cuda.shared.array((32, 32), 'float32')",
                               "tile = cuda.shared.array((32, 33), 'float32')"),)
    assert replaced(SOURCE, mend.replacements) == SOURCE.replace("(32, 32)", "(32, 33)")


@pytest.mark.parametrize("beside", [MOST_STATIC - 4096, MOST_STATIC])
def test_where_there_is_no_room_for_padding_the_indices_are_swizzled(source, beside):
    uses = used([("ld.shared.b32", 32 * LANES), ("st.shared.b32", LANES)], source=source(), beside=beside)
    (mend,) = mends(uses, "sm_90")
    assert (mend.left, mend.bytes) == (0, 0)
    assert [(e.line, e.after) for e in mend.edits] == [(7, "tile[y, x ^ y] = 1"), (9, "out[y, x] = tile[x, y ^ x]")]


@pytest.mark.parametrize("index, after", [("x, y", "a[x, y ^ x] + b[x, y ^ x]"), ("b[x, y], y", None)])
def test_a_line_that_several_arrays_share_is_shown_with_all_changes_unless_one_is_inside_another(source, index, after):
    text = f"a = cuda.shared.array((32, 32), f4)\nb = cuda.shared.array((32, 32), f4)\nout = a[{index}] + b[x, y]"
    (file, _), uses = source(text), Uses()
    for line in (1, 2):
        uses.found |= used([("ld.shared.b32", 32 * LANES)], source=(file, line), beside=MOST_STATIC).found
    (first, *_), (second, *_) = (mend.edits for mend in mends(uses, "sm_90"))
    assert (first.after, second.after) == (f"out = {after}",) * 2 if after else first.after != second.after


def test_an_array_without_excess_is_not_spoken_of(source):
    assert mends(used([("ld.shared.b32", LANES)], source=source()), "sm_90") == ()


def test_of_records_it_is_said_what_an_array_for_each_field_would_have(source):
    """Of 64 records of 16 bytes a warp reads the field of 8 bytes and, strided, both of 4."""
    fields = [("ld.shared.b64", 8), ("ld.shared.b32", 0), ("ld.shared.b32", 4)]
    place, uses = source(SOURCE.replace("(32, 32)", "64").replace("y, x]", "x]")), Uses()
    recorder = Recorder("sm_90")
    for instruction, at in fields:
        recorder.add(instruction, None, ("tile.py", 9), 16 * LANES + at, None)
    uses.add(replace(recorder.trace(), arrays=(SharedArray("tile", 0, 1024, *place, (64,)),)), "kernel")
    (mend,) = mends(uses, "sm_90")
    assert (mend.excess, mend.edits) == (2 + 3 + 3, ())
    assert mend.why == "an array for each part of its elements (the fields of a record) would have 0"


def test_of_elements_that_are_read_several_at_once_no_array_for_each_part_is_spoken_of(source):
    uses = used([("ld.shared.b128", 512 * LANES)], (16384,), source=source(SOURCE.replace("(32, 32)", "16384")))
    (mend,) = mends(uses, "sm_90")
    assert (mend.excess, mend.edits) == (28, ()) and "no padding and no swizzle" in mend.why


def test_what_nothing_helps_says_so(source):
    """Atomics of all lanes on one element."""
    (mend,) = mends(used([("atom.shared.exch.b32", 0 * LANES)], source=source()), "sm_90")
    assert mend.edits == () and mend.left == mend.excess > 0 and "no padding and no swizzle" in mend.why


def test_an_edit_that_saves_less_than_a_quarter_is_not_proposed(source):
    """Ten atomics on one element beside one column: padding mends the column alone."""
    same = [("atom.shared.exch.b32", 0 * LANES)] * 10
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES), *same], source=source()), "sm_90")
    assert mend.edits == () and mend.why == "no padding and no swizzle that was tried saves 25% of it"
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES), *same[:2]], source=source()), "sm_90")
    assert mend.edits and (mend.excess, mend.left) == (93, 62)


def test_a_number_in_the_place_of_a_name_is_told(source):
    text = SOURCE.replace("(32, 32)", "(N, N)")
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES)], source=source(text)), "sm_90")
    assert "(N, 33)" in mend.edits[0].after and mend.why == "33 is N + 1: Numba takes no sums there"


def test_an_array_whose_source_is_not_at_hand_says_so():
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES)], source=("nowhere.py", 5)), "sm_90")
    assert mend.edits == () and mend.why == "line 5 does not read NAME = cuda.shared.array(SHAPE, DTYPE)"


@pytest.mark.parametrize("names", ["more = {}; tile = {}", "more, tile = {}, {}"])
def test_of_two_arrays_that_one_line_declares_it_is_said_to_give_each_its_own(source, names):
    array = "cuda.shared.array((32, 32), 'float32')"
    text = SOURCE.replace(f"tile = {array}", names.format(array, array))
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES)], source=source(text)), "sm_90")
    assert text != SOURCE and mend.why == "line 5 declares 2 arrays: give each its own line"


def test_a_call_beside_the_declaration_on_its_line_is_no_array_and_does_not_keep_it_from_its_edit(source):
    text = SOURCE.replace("    tile = cuda", "    more = cuda.grid(1); tile = cuda")
    (mend,) = mends(used([("ld.shared.b32", 32 * LANES)], source=source(text)), "sm_90")
    assert text != SOURCE and mend.edits and not mend.why


def test_an_array_of_several_shapes_gets_no_number(source):
    uses, place = used([("ld.shared.b32", 32 * LANES)], source=source()), source()
    uses.found |= used([("ld.shared.b32", 24 * LANES)], shape=(32, 24), source=place).found
    (mend,) = mends(uses, "sm_90")
    assert mend.edits == () and "several shapes" in mend.why


def test_an_array_of_several_shapes_is_swizzled_where_that_is_one_text_for_all(source):
    uses, place = used([("ld.shared.b32", 32 * LANES)], source=source()), source()
    uses.found |= used([("ld.shared.b32", 16 * (LANES % 16))], shape=(16, 16), source=place).found
    (mend,) = mends(uses, "sm_90")
    assert [edit.after for edit in mend.edits] == ["tile[y, x ^ y] = 1", "out[y, x] = tile[x, y ^ x]"] and mend.left == 0


@pytest.mark.parametrize("access, why", [(("ld.shared.b32", 32 * LANES), ""),
                                         (("atom.shared.exch.b32", 0 * LANES), "no padding and no swizzle .*; ")])
def test_accesses_that_were_not_kept_are_owned_up_to(source, access, why):
    uses = used([access], source=source())
    only(uses).others = 7
    assert re.fullmatch(f"{why}judged by the first 1024 patterns of addresses of a line", mends(uses, "sm_90")[0].why)


# ---- edits -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("before, shape, dim, after", [
    ("t = cuda.shared.array((32, 16), f4)", (32, 16), 1, "t = cuda.shared.array((32, 17), f4)"),
    ("t = cuda.shared.array(shape=(N, N), dtype=f4)", (8, 8), 1, "t = cuda.shared.array(shape=(N, 9), dtype=f4)"),
    ("t = cuda.shared.array(SHAPE, f4)", (4, 8), 1, "t = cuda.shared.array((4, 9), f4)"),
    ("t = cuda.shared.array((N, 4, 8), f4)", (2, 4, 8), 1, "t = cuda.shared.array((N, 5, 8), f4)"),
    ("t = cuda.shared.array(N, f4)", (8,), 0, "t = cuda.shared.array(9, f4)"),
    ("t = shared.array(  # größer\n    (8, 8), f4)", (8, 8), 1, "t = shared.array(  # größer\n    (8, 9), f4)")])
def test_padding_changes_the_declaration_alone(before, shape, dim, after):
    assert replaced(before, Declaration(before, 1).padded(shape, dim, 1)) == after


@pytest.mark.parametrize("shape, sizes, dim, told", [
    ("(N, c.M)", (4, 8), 1, "11 is c.M + 3: Numba takes no sums there"), ("(N, 8)", (4, 8), 1, ""), ("SHAPE", (4, 8), 1, ""),
    ("N", (8,), 0, "11 is N + 3: Numba takes no sums there"), ("(N,)", (8,), 0, "11 is N + 3: Numba takes no sums there"),
    ("8", (8,), 0, "")])
def test_what_a_new_number_stands_for_is_told_where_a_name_stood(shape, sizes, dim, told):
    declaration = Declaration(f"t = cuda.shared.array({shape}, f4)", 1)
    assert declaration.stands_for(sizes, dim, 3) == told


def test_swizzling_changes_every_index_and_cuts_tall_rows():
    text = "t = cuda.shared.array((64, 8), f4)\nt[y + 1, x] = t[i, f(x)]\ncuda.atomic.add(t, (y, x), 1)"
    assert replaced(text, Declaration(text, 1).swizzled((64, 8), 0)).splitlines()[1:] == [
        "t[y + 1, x ^ (y + 1) % 8] = t[i, f(x) ^ i % 8]", "cuda.atomic.add(t, (y, x ^ y % 8), 1)"]
    third = replaced(text, Declaration(text, 1).swizzled((64, 8), 3))
    assert third.splitlines()[1] == "t[y + 1, x ^ ((y + 1) >> 3)] = t[i, f(x) ^ (i >> 3)]"


@pytest.mark.parametrize("text, why", [
    ("t = cuda.shared.array((8, 8), f4)\nf(t)", "t is used as a whole on line 2"),
    ("t = cuda.shared.array((8, 8), f4)\nt[1][2] = 3", "not one of 2 numbers"),
    ("t = cuda.shared.array((8, 8), f4)\nt[1, -1] = 3", "counts from the end"),
    ("t = cuda.shared.array((8, 8), f4)\nt[1, 2:] = 3", "is a slice"),
    ("t = cuda.shared.array((8, 8), i4)\nt[t[1, 2], 3] = 4", "an index of t on line 2 is one of its own elements"),
    ("t = cuda.shared.array((8, 8), i4)\nt[(n := n + 1), 3] = 4", "line 2 does more than to give a number"),
    ("t = cuda.shared.array((8, 8), i4)\nt[cuda.atomic.add(n, 0, 1), 3] = 4", "line 2 does more than to give a number")])
def test_indices_that_are_not_all_in_sight_are_left_alone(text, why):
    with pytest.raises(NoEdit, match=why):
        Declaration(text, 1).swizzled((8, 8), 0)


@pytest.mark.parametrize("text", ["a, b = f(1), f(2)", "a = f(1); b = f(2)", "return_(1)", "x = (", ""])
def test_a_line_that_declares_no_array_of_one_name_is_refused(text):
    with pytest.raises(NoEdit):
        Declaration(text, 1)


@pytest.mark.parametrize("use, why", [
    ("t[i, -1] = 0", "counts from the end"), ("t[i][-1 - i] = 0", "counts from the end"), ("t[i, :] = 0", "is a slice"),
    ("for c in range(t.shape[1]): t[i, c] = 0", "the shape of t is asked for on line 2"),
    ("n = len(t)", "the shape of t is asked for"), ("u = t.reshape(64)", "the shape of t is asked for"),
    ("cuda.atomic.add(t, (i, -i), 1)", "counts from the end"),
    ("t[-1, i] = t[:, i - 1] + t[i, -i % 8]", ""), ("cuda.atomic.add(t, (-1, i), 1)", "")])
def test_an_array_whose_length_an_index_or_the_program_counts_on_is_not_padded(use, why):
    one = Declaration(f"t = cuda.shared.array((8, 8), f4)\n{use}", 1)
    with pytest.raises(NoEdit, match=why) if why else nullcontext():
        one.padded((8, 8), 1, 1)
    assert why or one.stands_for((8, 8), 1, 1) == ""


@pytest.mark.parametrize("use, right", [
    ("f(t, i)", "what gets t on line 2 does not ask for its shape"),
    ("row = t[i]", "what gets t on line 2 does not ask for its shape"),
    ("t[0, i] = t[1, 2] + t[i, 0]", "the index on line 2 stays in its row")])
def test_what_the_padding_of_an_array_assumes_of_its_uses_is_said(use, right):
    told = Declaration(f"t = cuda.shared.array((8, N), f4)\n{use}", 1).stands_for((8, 8), 1, 1)
    assert told == f"9 is N + 1: Numba takes no sums there; right if {right}"


def test_an_index_that_is_a_number_which_an_edit_does_not_change_is_left_as_it_is():
    text = "t = cuda.shared.array(64, f4)\nt[0] = t[31] + t[32]\n"
    assert replaced(text, Declaration(text, 1).skewed((64,), 32)).endswith("(65, f4)\nt[0] = t[31] + t[32 + 32 // 32]\n")
    text = "t = cuda.shared.array((8, 8), f4)\nt[0, x] = t[1, x] + t[x, 0]\n"
    assert replaced(text, Declaration(text, 1).swizzled((8, 8), 1)).endswith("t[0, x] = t[1, x] + t[x, 0 ^ (x >> 1)]\n")


def test_edits_are_the_lines_that_change():
    text = "if 1:\n    t = cuda.shared.array(8, f4)\n    t[i] = 1\n"
    assert edits(text, Declaration(text, 2).skewed((8,), 4)) == (
        Edit(2, "t = cuda.shared.array(8, f4)", "t = cuda.shared.array(9, f4)"),
        Edit(3, "t[i] = 1", "t[i + i // 4] = 1"))
