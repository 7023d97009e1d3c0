"""The panels: what their boxes say is what the model says, point by point, by slow twins."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from cuda_kernels import KERNELS
from simlayout.hardware import choose_ldmatrix
from simlayout.hardware.banks.copies import wavefront_of
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.kernel import Problem
from simlayout.plots import (
    Box,
    Panel,
    atom,
    bit_matrix,
    choice,
    draw,
    in_memory,
    landing,
    logical,
    memory,
    operand_panel,
    phase_rows,
    phases,
    save,
    table,
    together,
    touched,
)
from simlayout.plots.copies import index_of
from simlayout.plots.layouts import extents
from simlayout.proofs.source import analyze_copies

TILES = ("(16,64):(64,1)", "Sw<3,3,3> o (16,64):(64,1)", "(8,8):(1,8)", "((2,4),8):((1,16),2)", "(32,32):(33,1)", "24:3",
         "Rot<8,4,64> o (16,32):(32,1)", "(4,40):(72,1)", "(16,128):(1,16)")
DTYPES = ("f16", "f32", "e4m3", "f64")
BYTES = {"f16": 2, "f32": 4, "e4m3": 1, "f64": 8}


def at(tile, row, column):
    """The offset of one coordinate, as the tile takes it."""
    return tile(column) if tile.rank == 1 else tile(row, column)


# ---- layouts ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", TILES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cell_of_a_layout_says_where_its_first_element_lies(text, dtype):
    tile, size = sl.parse(text), BYTES[dtype]
    rows, columns = extents(tile)
    said = {by: logical(tile, by, dtype) for by in ("offset", "bank", "chunk")}
    for panel in said.values():
        assert sum(b.width * b.height for b in panel.boxes) == rows * columns
    for by, panel in said.items():
        for box in panel.boxes:
            byte = at(tile, box.y, box.x) * size
            first, last = byte // 4 % 32, (byte + box.width * size - 1) // 4 % 32
            assert box.colour == f"place {byte % 128 // 16}"
            assert box.text in ("", {"offset": str(byte // size), "chunk": f"{byte // 128}.{byte % 128 // 16}",
                                     "bank": str(first) if first == last else f"{first}-{last}"}[by])
    assert columns > 64 or all(box.text for panel in said.values() for box in panel.boxes)


@pytest.mark.parametrize("text", TILES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_lies_in_memory_where_its_tile_puts_it_and_nothing_else_does(text, dtype):
    tile, size = sl.parse(text), BYTES[dtype]
    rows, columns = extents(tile)
    panel = memory(tile, dtype)
    covered, holes = [], []
    for b in panel.boxes:
        first = round(b.y * 128 + b.x * 4)
        (holes if b.colour == -1 else covered).extend(range(first, first + round(b.width * 4)))
    wanted = [at(tile, r, c) * size + i for r in range(rows) for c in range(columns) for i in range(size)]
    assert sorted(covered) == sorted(wanted) and sorted(holes) == sorted(set(range(max(wanted))) - set(wanted))
    assert any("no element" in meaning for _, meaning in panel.legend) == bool(holes)
    for b in panel.boxes:
        if b.text:
            row, column = map(int, b.text.split(", "))
            assert b.y * 128 + b.x * 4 == at(tile, row, column) * size


def test_of_as_many_cells_as_a_picture_may_have_padding_is_left_out():
    assert len(memory(sl.Layout((64, 128), (129, 1)), "f32").boxes) == 64 * 128
    assert len(memory(sl.Layout((63, 128), (129, 1)), "f32").boxes) == 63 * 128 + 62


def test_what_has_no_rows_and_columns_is_refused():
    for tile in (sl.Swizzle(3, 3, 3), sl.Layout((2, 2, 2))):
        with pytest.raises(sl.LayoutError, match="coordinates|modes"):
            logical(tile)
    with pytest.raises(sl.LayoutError, match="offset, bank, chunk"):
        logical(sl.Layout(8), by="colour")
    with pytest.raises(sl.SimlayoutError, match="draw a part"):
        logical(sl.Layout((128, 128), (1, 129)))


# ---- accesses -----------------------------------------------------------------------------------------------------------

@st.composite
def loads(draw_):
    """A load of 4 to 16 bytes per lane of a row-major f32 tile of 64 x 32 with padding, in any order of its pieces."""
    wide = draw_(st.sampled_from([1, 2, 4]))
    pad = draw_(st.sampled_from([0, 4, 8]))
    pieces = draw_(st.lists(st.integers(0, 64 * 32 // wide - 1), min_size=32, max_size=32))
    place = np.array(pieces)
    tile = sl.Layout((64, 32), (32 + pad, 1))
    name = {1: "ld.shared.b32", 2: "ld.shared.b64", 4: "ld.shared.b128"}[wide]
    return sl.Access("load", name, tile, lambda tid: (place[tid] * wide // 32, place[tid] * wide % 32), dtype="f32",
                     excess=None), place, wide


@given_few(25, 60, loads())
def test_each_lane_of_an_access_has_its_elements_and_its_bytes(made):
    access, place, wide = made
    panel, stored = touched(access), in_memory(access)
    cells = {}
    for lane, piece in enumerate(place):
        cells.setdefault(int(piece), []).append(lane)
    assert len(panel.boxes) == len(stored.boxes) == len(cells)
    top, left = (min(int(p) * wide // 32 for p in place), min(int(p) * wide % 32 for p in place))
    for box in panel.boxes:
        piece = ((box.y + top) * 32 + box.x + left) // wide
        assert box.text == words(cells[piece]) and box.width == wide
    lines = [int(text) for _, text in stored.rows]
    for box in stored.boxes:
        byte = lines[int(box.y)] * 128 + box.x * 4
        lanes = [lane for lane, piece in enumerate(place)
                 if 4 * access.tile(int(piece) * wide // 32, int(piece) * wide % 32) == byte]
        assert box.text == words(lanes)


def words(lanes):
    return ", ".join(map(str, lanes)) if len(lanes) < 3 else f"{lanes[0]} +{len(lanes) - 1}"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 400), min_size=32, max_size=32))
def test_what_is_marked_are_the_words_beyond_the_first_of_their_bank(places):
    access = sl.Access("load", "ld.shared.b32", sl.Layout(401), lambda tid: (np.array(places)[tid],), dtype="f32")
    by_bank = {}
    for word in places:
        by_bank.setdefault(word % 32, set()).add(word)
    panel, most = in_memory(access), max(map(len, by_bank.values()))
    assert sum(b.marked for b in panel.boxes) == sum(len(found) - 1 for found in by_bank.values())
    assert panel.title.endswith(f"\n{most} wavefront{'s' * (most > 1)}, ideal 1")


@pytest.mark.parametrize("name", ["mma_base", "mma_padded", "mma_permuted", "mma_swizzled", "mma_blocks", "mma_crosswise"])
@pytest.mark.parametrize("leading", [4096, 4104])
def test_the_first_wavefront_of_a_line_that_a_copy_writes_is_not_marked_and_the_others_are(name, leading):
    access = KERNELS[name].fitted(Problem(512, 512, 512)).plan.access("copy A")
    panel, analysis = in_memory(access, [5], leading=leading), analyze_copies(access, leading)
    assert panel.title.endswith(f"\n{analysis.wavefronts[5]} wavefronts, ideal 4")
    numbers = wavefront_of(*(x[[5]] for x in (analysis.addresses, analysis.sources, analysis.active)))[0]
    first = {}
    for lane, number in enumerate(numbers.tolist()):
        first.setdefault(analysis.addresses[5, lane] // 128, number)
    assert len(set(numbers)) == analysis.wavefronts[5]
    marked = {int(box.text) for box in panel.boxes if box.marked}
    assert marked == {lane for lane in range(32) if numbers[lane] != first[analysis.addresses[5, lane] // 128]}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 60), min_size=32, max_size=32),
       st.sampled_from(["ldmatrix.x4", "stmatrix.x4", "ld.shared.b128"]))
def test_the_rows_of_a_phase_show_every_lane_once_and_its_wavefronts(rows, name):
    analysis = sl.analyze(name, 16 * np.array(rows))
    panel = phase_rows(analysis)
    found = phases(analysis)
    assert len(panel.rows) == sum(len(p.lanes) for p in found) == len(panel.boxes)
    tops = [f[1] for f in panel.frames]
    for top, phase in zip(tops, found):
        mine = [b for b in panel.boxes if top <= b.y < top + len(phase.lanes)]
        assert {int(b.text) for b in mine} == set(range(phase.wavefronts))
        assert all(b.marked == (b.text != "0") for b in mine)
        for box, lane in zip(sorted(mine, key=lambda b: b.y), phase.lanes):
            assert box.x == rows[lane] * 4 % 32


def test_the_index_of_an_instruction_is_its_row_of_the_addresses():
    access = sl.Access("copy", "st.shared.b128", sl.Layout((64, 8, 3), (8, 1, 512)),
                       lambda tid, i, s: (tid % 32 + 32 * (tid // 32 % 2), 0, s), {"tid": 64, "i": 2, "s": 3}, excess=None)
    for warp in range(2):
        for i in range(2):
            for s in range(3):
                point = access.point(index_of(access, warp, i=i, s=s), 0)
                assert point == {"tid": 32 * warp, "i": i, "s": s}


# ---- fragments ----------------------------------------------------------------------------------------------------------

WHOLE = [("m16n8k16.f32.f16.f16.f32", o) for o in "ABCD"] + [("m16n8k8.f32.tf32.tf32.f32", o) for o in "ABC"] + [
    ("m16n8k32.s32.s8.s8.s32", "A"), ("m8n8k4.f64.f64.f64.f64", "A"), ("m8n8k4.row.col.f32.f16.f16.f32", "D"),
    ("m16n8k64.s32.s4.s4.s32", "B"), ("wmma.m16n16k16.f16.row", "load.a"), ("ldmatrix.x2.trans", None)]


def named(text):
    """(threads, letters, first and last value) of "T0,T16:{a0,a1}"."""
    threads, values = re.fullmatch(r"((?:T\d+,?)+):\{(.*)\}", text).groups()
    return [int(t[1:]) for t in threads.split(",")], [int(v[1:]) for v in values.split(",") if v != ".."]


@pytest.mark.parametrize("name, operand", [*WHOLE, *((f"wgmma.m64n{n}k16.f32.f16.f16", "D") for n in (64, 256))])
def test_a_cell_of_a_fragment_names_who_holds_its_elements(name, operand):
    fragment = sl.fragment(name, operand)
    panel = table(fragment)
    columns = [text for _, text in panel.columns]
    rows = {place: text for place, text in panel.rows}
    named_elements = set()
    for box in panel.boxes:
        top = int(rows[box.y + 0.5].split("-")[0])
        left = int(columns[int(box.x)].split("-")[0])
        high, wide = (int(t.split("-")[-1]) - int(t.split("-")[0]) + 1 for t in (rows[box.y + 0.5], columns[int(box.x)]))
        threads, values = named(box.text)
        here = {(top + i, left + j) for i in range(high) for j in range(wide)}
        for value in values:
            row, column = (int(x) for x in fragment(threads[0], value))
            assert (row, column) in here
        assert len(values) == len(here) or ".." in box.text
        named_elements |= here
    if (name, operand) in WHOLE:
        assert named_elements == {(r, c) for r in range(fragment.shape[0]) for c in range(fragment.shape[1])}
        assert "in part" not in panel.title
    elif "n256" in name:
        assert "in part" in panel.title


@pytest.mark.parametrize("operand", "AB")
@pytest.mark.parametrize("major", ["K", "MN"])
def test_the_drawn_choice_of_ldmatrix_brings_the_fragment_of_the_mma(operand, major):
    mma = "m16n8k16.f32.f16.f16.f32"
    made = choose_ldmatrix(mma, operand, major=major)
    names = {int(b.text[1:]): b for b in choice(made).boxes}
    fragment = sl.fragment(mma, operand)
    for lane in range(32):
        for value in range(fragment.values):
            matrix, half = divmod(value, 2)
            if major == "K":                         # lane 8m + r names row r; lane l gets row l // 4, columns 2 (l % 4) ...
                box = names[8 * matrix + lane // 4]
                place = box.y, box.x + 2 * (lane % 4) + half
            else:                                    # .trans: it gets column l // 4 of what the lanes name
                box = names[8 * matrix + 2 * (lane % 4) + half]
                place = box.y + lane // 4, box.x
            row, column = fragment(lane, value)
            assert place == ((row, column) if operand == "A" else (column, row))
            assert box.colour == matrix


# ---- TMA and F2 ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_the_chunks_of_a_box_lie_where_the_bits_of_their_address_say(span):
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[span]
    row_bytes = span or 128
    boxes = {b.text: b for b in landing(atom(span)).boxes}
    assert len(boxes) == 64
    for row in range(1024 // row_bytes):
        for chunk in range(row_bytes // 16):
            address = row * row_bytes + 16 * chunk
            line, column = address // 128, address // 16 % 8
            box = boxes[f"{row}.{chunk}"]
            assert (box.y, box.x // 4) == (line, column ^ (line & mask))


@pytest.mark.parametrize("text", [*TILES[:2], "Sw<1,3,3> o Sw<3,3,5> o (16,256):(256,1)"])
def test_the_drawn_matrix_times_a_coordinate_is_the_offset(text):
    tile = sl.parse(text)
    panel = bit_matrix(tile)
    rows, columns = ([t for _, t in side] for side in (panel.rows, panel.columns))
    ones = {(int(rows[int(b.y)].split()[1]), columns[int(b.x)]) for b in panel.boxes if b.text}
    for row in range(0, 16, 3):
        for column in range(0, 64, 7):
            bits = {f"r{i}" for i in range(4) if row >> i & 1} | {f"c{i}" for i in range(8) if column >> i & 1}
            offset = 0
            for out, bit in ones:
                offset ^= (1 << out) * (bit in bits)
            assert offset == tile(row, column)


# ---- drawing ------------------------------------------------------------------------------------------------------------

def test_a_panel_is_drawn_with_every_box_and_text_of_its_data():
    from matplotlib.colors import to_rgba

    from simlayout.plots.style import colour_of

    panel = in_memory(sl.Access("load", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid: (tid, 0), dtype="f32"))
    ax = draw(panel)
    _, cells, _, marks, *_ = ax.collections              # behind them the frame; then hatches, and frames of the marked
    corners = [tuple(path.vertices[0]) for path in cells.get_paths()]
    assert corners == [(b.x, b.y) for b in panel.boxes]
    assert [tuple(c) for c in cells.get_facecolors()] == [to_rgba(colour_of(b.colour)) for b in panel.boxes]
    assert [tuple(path.vertices[0]) for path in marks.get_paths()] == [(b.x, b.y) for b in panel.boxes if b.marked]
    written = [text for label in ax.artists for *_, text in label.texts]
    around = [text for _, text in (*panel.rows, *panel.columns)]
    assert sorted(written) == sorted([*(b.text for b in panel.boxes), *around, panel.xlabel])


@pytest.mark.parametrize("ways", [2, 8, 32])
def test_every_mark_of_a_conflict_is_seen_however_many_there_are(ways):
    from simlayout.plots.style import BAR, COLOURS, MARK, NAMED

    load = sl.Access("load", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid: (tid % ways, tid // ways),
                     dtype="f32", excess=None)
    for ax in (draw(in_memory(load)), sl.plots.banks(load.analyze()), sl.plots.matrix_phases(load)):
        bars = next(c for c in ax.collections if len(c.get_facecolor()) and luminance(c.get_facecolor()[0]) < 0.1)
        points = 72 / ax.figure.dpi
        boxes = [path.get_extents(ax.transData) for path in bars.get_paths()]
        assert len(boxes) == 32 - 32 // ways
        assert all(box.width * points >= 5 and box.height * points >= BAR - 0.01 for box in boxes)
        sl.plots.close(ax)
    assert all(luminance(colour) > 3 * luminance(MARK) + 0.1 for colour in (*COLOURS, *NAMED.values()))


def luminance(colour):
    """Relative luminance of a colour, as WCAG defines it."""
    from matplotlib.colors import to_rgba

    if to_rgba(colour)[3] == 0:
        return 1
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgba(colour)[:3]]
    return sum(part * c for part, c in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("text", ["(128,64):(64,1)", "Sw<3,3,3> o (128,64):(64,1)", "(128,128):(128,1)"])
def test_a_large_layout_fits_a_slide(text):
    axes = sl.plots.layout_map(sl.parse(text))
    wide, high = axes[0].figure.get_size_inches()
    assert wide <= 13.34 and high <= 7.51
    sl.plots.close(axes)


def test_texts_of_a_panel_are_texts_in_svg(tmp_path):
    save(together([Panel("a $b$", 1, 1, [Box(0, 0, 1, 1, 0, "T0:{a0,a1}")])]), tmp_path / "a.svg")
    assert ">T0:{a0,a1}</text>" in (tmp_path / "a.svg").read_text() and ">a $b$</text>" in (tmp_path / "a.svg").read_text()


def rows_of_texts():
    """A panel whose texts stand out on the left and on the right of everything else."""
    boxes = [Box(0, y, 1, 1, y, str(y)) for y in range(2)]
    return together([Panel("p", 1, 2, boxes, rows=[(y + 0.5, "a long name") for y in range(2)],
                           sides=[(0.5, "more, and even more on the right than the title takes")])])[0]


def kernels_by_name():
    sheet = sl.plots.sheet_of(KERNELS["mma_base"].plan.predict(256, 128, 64).counts, "mma_base")
    return sl.plots.sheets([sheet, sheet])


@pytest.mark.parametrize("picture", [rows_of_texts, kernels_by_name])
def test_no_text_is_cut_where_a_picture_is_cut_to_size_as_in_a_notebook(picture):
    from io import BytesIO

    from matplotlib.image import imread

    ax, file = picture(), BytesIO()
    ax.figure.savefig(file, bbox_inches="tight", pad_inches=0.1)
    sl.plots.close(ax)
    pixels = imread(BytesIO(file.getvalue()))[..., :3]
    around = (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:])
    assert all((edge == 1).all() for edge in around) and (pixels != 1).any()


def test_objects_draw_themselves_into_given_axes():
    from matplotlib.figure import Figure

    from cuda_kernels import KERNELS

    tile = sl.Layout((8, 64), (64, 1))
    for thing in (tile, sl.Swizzle(3, 3, 3) @ tile, sl.F2Map((1, 2, 5)), atom(128), KERNELS["mma_base"].plan,
                  sl.fragment("m16n8k8.f32.f16.f16.f32", "A")):
        ax = Figure(figsize=(8, 6)).add_subplot()
        assert thing.plot(ax=ax) is ax and ax.get_title(loc="left")


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("dtype, major", [("f16", "K"), ("e4m3", "K"), ("tf32", "K"), ("bf16", "MN")])
def test_what_wgmma_reads_is_drawn_where_tma_puts_it_and_a_core_matrix_has_all_banks(dtype, major, swizzle):
    tile = OperandTile(64, {"e4m3": 256, "tf32": 64}.get(dtype, 128), dtype, major, swizzle)
    panel, put = operand_panel(tile, "A", 8), tile.put()
    assert len(panel.boxes) == 64 == len({b[:2] for b in panel.boxes})
    for box in panel.boxes:
        row, k = map(int, box.text.split(", "))
        assert put[row, k] == 128 * box.y + 4 * box.x and box.colour == k * tile.bytes // (64 * tile.depth) // 32
    assert sorted(int(x) + i for x, *_ in panel.frames for i in range(4)) == list(range(32))
