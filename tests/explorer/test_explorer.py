"""The explorer without a browser: its answers are the model's, and its pages hold all they need."""

import base64
import json
import re
import statistics
import time
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.cli import main, registry
from simlayout.explorer.copies import copies
from simlayout.explorer.model import MAX_SHOWN, answer
from simlayout.explorer.pack import ints_of, packed
from simlayout.explorer.page import exported_page, served_page
from simlayout.explorer.presets import PRESETS
from simlayout.explorer.report import report_lines
from simlayout.explorer.sources import Sources, plan_rows
from simlayout.explorer.state import MAX_TEXT, Refusal, State, Use, access_of, single, state_of
from simlayout.explorer.worked import worked

TILE = "(16,64):(64,1)"


# ---- answers ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.title)
def test_every_element_has_the_offset_and_the_bank_that_the_layout_gives_it(preset):
    found, tile, size = answer(preset.state)["tile"], sl.parse(preset.state.layout), sl.dtype_of(preset.state.dtype).bytes
    offsets = [tile(r, c) for r in range(found["rows"]) for c in range(found["columns"])]
    assert ints_of(found["offsets"]) == offsets
    assert found["element_bytes"] == size


@pytest.mark.parametrize("preset", [p for p in PRESETS if p.state.arch == "sm_90"], ids=lambda p: p.title)
def test_counts_are_what_analyze_says_of_addresses_made_by_hand(preset):
    addresses = by_hand(preset.state)
    analysis, found = sl.analyze(preset.state.accesses[0].op, addresses), answer(preset.state)
    for name in ("wavefronts", "ideal", "excess", "conflicts"):
        assert found["counts"][name] == getattr(analysis, name).tolist()
        assert found["instruction"][name] == found["counts"][name][0]
    assert found["instruction"]["explanation"] == analysis.explain(0)


def by_hand(state):
    """Byte addresses [n, 32] of a preset: blocks of 16 x 16 along the columns, then down; or row tid of column k."""
    tile, size = sl.parse(state.layout), sl.dtype_of(state.dtype).bytes
    rows, columns = tile.shape
    if state.accesses[0].lanes:
        return [[tile(tid, k) * size for tid in range(32)] for k in range(columns)]
    return [[tile(i + lane % 16, k + 8 * (lane // 16)) * size for lane in range(32)]
            for i in range(0, rows, 16) for k in range(0, columns, 16)]


@pytest.mark.parametrize("state", [
    single(TILE), single("Sw<3,3,3> o (32,64):(64,1)", index=5),
    single("(32,33):(33,1)", "f32", "ld.shared.b32", "tid, 3*k", "k=8"),
    single("(32,64):(72,1)", "f16", "st.shared.v4.b32"), single("(64,64):(64,1)", "f64", "ld.shared.b64", index=9),
    single("(16,64):(64,1)", "f16", "ldmatrix.x2", index=3), single("(32,32):(32,1)", "f32", "atom.shared.cas.b32"),
    single("(32,64):(64,1)", "f16", "cp.async.cg.16"), single("(32,64):(64,1)", "f16", "cp.async.ca.8")])
def test_every_lane_is_served_where_its_elements_are_and_no_bank_twice_in_a_wavefront(state):
    found = answer(state)
    tile, shown, lanes = found["tile"], found["instruction"], found["instruction"]["lanes"]
    addresses = access_of(state).addresses()[state.index]
    width, served, busy = sl.instruction(state.accesses[0].op).bytes, {}, set()
    for phase in shown["phases"]:
        for cell in phase["served"]:
            for bank in range(cell["bank"], cell["bank"] + cell["width"]):
                assert (where := (phase["first"] + cell["wavefront"], bank)) not in busy
                busy.add(where)
            for lane in cell["lanes"]:
                served[lane] = served.get(lane, 0) + 1
                assert lane in phase["lanes"] and cell["word"] == addresses[lane] // 4 and cell["bank"] == cell["word"] % 32
    times = sl.instruction(state.accesses[0].op).times
    assert served == {lane: times for lane in range(32) if lanes[lane]}
    assert sum(phase["wavefronts"] for phase in shown["phases"]) == shown["wavefronts"]
    lies = ints_of(tile["offsets"])
    for lane, elements in enumerate(lanes):
        offsets = sorted(lies[e] * tile["element_bytes"] for e in elements)
        assert not elements or offsets == list(range(addresses[lane], addresses[lane] + width, tile["element_bytes"]))


def test_an_index_beyond_the_last_instruction_means_the_last():
    assert answer(single(TILE, index=99))["instruction"]["index"] == 3
    assert answer(single(TILE, index=99))["state"]["index"] == 3


def test_tiles_of_one_mode_and_of_nested_modes_are_drawn_by_rows_and_columns():
    line = answer(single("1024", "f32", "ld.shared.b32"))["tile"]
    assert (line["rows"], line["columns"], ints_of(line["offsets"])) == (1, MAX_SHOWN * 2, list(range(MAX_SHOWN)))
    nested = answer(single("((8,2),64):((64,512),1)"))["tile"]
    assert (nested["rows"], nested["columns"], ints_of(nested["offsets"])) == (16, 64, list(range(1024)))


@given_few(25, 60, st.integers(0, 5), st.integers(0, 6), st.integers(-7, 7),
           st.sampled_from([TILE, f"Sw<1,3,4> o {TILE}", "(64,16):(1,64)"]))
def test_the_sliders_read_back_the_swizzle_that_they_wrote(b, m, s, base):
    text = f"Sw<{b},{m},{s}> o {base}"
    try:
        found = answer(single(text, "f16", "ld.shared.b16"))["swizzle"]
    except Refusal as refusal:
        assert refusal.field == "layout"
    else:
        assert sl.parse(text)(np.arange(1024)).tolist() == rebuilt(found)(np.arange(1024)).tolist()


def rebuilt(found):
    base = sl.parse(found["base"])
    return sl.Swizzle(found["b"], found["m"], found["s"]) @ base if found["b"] else base


def test_the_command_of_an_answer_prints_the_same_counts(capsys):
    import shlex

    for state in (single(TILE), single("(32,32):(32,1)", "f32", "ld.shared.b32", "tid, k", "k=32, tid=32", "sm_80")):
        found = answer(state)
        name, *words = shlex.split(found["command"])
        assert name == "simlayout" and main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["each"]["excess"] == found["counts"]["excess"]


@pytest.mark.parametrize("layout", ["(512,256):(256,1)", "Sw<3,4,3> o (512,256):(256,1)"])
@pytest.mark.parametrize("op", ["ldmatrix.x4", "st.shared.b128", "cp.async.cg.16"])
def test_the_largest_tile_is_answered_within_100_ms_of_a_processor(layout, op):
    def spent():
        worked.cache_clear()
        began = time.thread_time()                       # waiting while others compute is not the answer's
        json.dumps(answer(single(layout, "s8", op)), separators=(",", ":"))
        return time.thread_time() - began

    assert statistics.median(spent() for _ in range(9)) < 0.1


# ---- refusals -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("change, field, column, caret", [
    ({"layout": "(16,64"}, "layout", 7, "(16,64\n      ^"), ({"layout": "(16;64)"}, "layout", 4, "(16;64)\n   ^"),
    ({"layout": "x" * 9000}, "layout", 1, "x" * 12 + "\n^"),
    ({"layout": f"({'1,' * 40}x)"}, "layout", 82, "1," * 12 + "x)\n" + " " * 24 + "^"),
    ({"layout": "Sw<3,3,2> o (16,64)"}, "layout", 1, "Sw<3,3,2> o \n^"), ({"layout": "(16,64):(65,1)"}, "layout", None, ""),
    ({"layout": "(16,64):(0,1)"}, "layout", None, ""), ({"layout": "Sw<3,3,3>"}, "layout", None, ""),
    ({"layout": "(4096,4096)"}, "layout", None, ""), ({"dtype": "f17"}, "dtype", None, ""),
    ({"dtype": "b128", "op": "ld.shared.b32"}, "op", None, ""), ({"op": "ldmatrix.x3"}, "op", None, ""),
    ({"arch": "sm_1"}, "arch", None, ""), ({"lanes": "tid ** 2"}, "lanes", 5, "tid ** 2\n    ^"),
    ({"lanes": "tid % 16, q"}, "lanes", 11, "tid % 16, q\n          ^"),
    ({"lanes": "tid, 8 // (tid - tid)"}, "lanes", None, ""),
    ({"lanes": "tid, k", "domain": "k=4 j"}, "domain", 5, "k=4 j\n    ^"), ({"domain": "k=4"}, "domain", None, ""),
    ({"lanes": "tid, k", "domain": "k=999999"}, "domain", None, "")])
def test_a_fault_is_told_in_its_field_with_the_column_of_the_parser(change, field, column, caret):
    with pytest.raises(Refusal) as refused:
        answer(state_of({"layout": TILE, **change}))
    found = refused.value.as_dict()
    assert (found["field"], found["column"]) == (field, column)
    assert "\n".join(filter(None, (found["shown"], found["caret"]))) == caret
    assert found["error"] and "\n" not in found["error"] and "Traceback" not in found["error"]


def test_the_message_of_a_fault_is_the_parsers_own():
    for text in ("(16,64", "Sw<3>", "o", ""):
        with pytest.raises(sl.ParseError) as wanted:
            sl.parse(text)
        with pytest.raises(Refusal) as found:
            answer(single(text))
        assert str(found.value) == str(wanted.value).splitlines()[0]


@pytest.mark.parametrize("value", [
    [], "x", 3, None, {"layot": TILE}, {"layout": 3}, {"layout": None}, {"index": True}, {"index": -1}, {"index": 2**31},
    {"index": 1.0}, {"index": "1"}, {"lanes": ["tid"]}, {"layout": "1" * (MAX_TEXT + 1)}, {"__class__": "x"}])
def test_json_that_is_no_state_is_refused(value):
    with pytest.raises(Refusal):
        state_of(value)


# ---- the page -----------------------------------------------------------------------------------------------------

class Outside(HTMLParser):
    """Collects whatever a page would load, and the ids of its elements."""

    def __init__(self):
        super().__init__()
        self.loaded, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        self.loaded += [value for name, value in attributes if name in ("src", "href", "action", "data", "poster", "srcset")]
        self.ids += [value for name, value in attributes if name == "id"]


THREE = State("(128,64):(64,1)", accesses=(Use(op="st.shared.b128"), Use(), Use(op="ldmatrix.x4.trans")),
              before="Sw<3,3,3> o (128,64):(64,1)")


@pytest.mark.parametrize("state", [single("Sw<3,3,3> o (128,64):(64,1)"), THREE, State("", "f16", kernel="mma_base")],
                         ids=("one access", "three", "a kernel"))
def test_the_page_weighs_under_120_kB_with_and_without_its_answers_and_loads_nothing(state):
    sources = Sources(registry.KERNELS)
    served, policy = served_page(state, sources)
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe" not in policy
    for page in (served, exported_page(state, sources)):
        reader = Outside()
        reader.feed(page)
        assert set(reader.loaded) == {"data:,"} and len(page.encode()) < 120_000
        assert len(set(reader.ids)) == len(reader.ids)


def unfolded(value):
    """What `unfold` of link.js makes of packed JSON."""
    if isinstance(value, list):
        return [unfolded(part) for part in value]
    if not isinstance(value, dict):
        return value
    value = {key: unfolded(part) for key, part in value.items()}
    if "+" in value:
        return list(accumulate(value["+"]))
    if "#" in value:
        return [value["of"][at:at + value["#"]] for at in range(0, len(value["of"]), value["#"])]
    return [dict(zip(value["*"], row)) for row in zip(*value["*"].values())] if "*" in value else value


NUMBERS = st.integers(-2**40, 2**40)
LISTS = st.lists(NUMBERS) | st.integers(0, 3).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n)))
JSON = st.recursive(st.none() | st.booleans() | NUMBERS | st.text() | LISTS, lambda inner: st.lists(inner) | st.dictionaries(
    st.text("ab"), inner) | st.lists(st.fixed_dictionaries({"a": inner, "b": NUMBERS})), max_leaves=20)


@given_few(20, 500, JSON)
def test_what_is_packed_unfolds_to_itself(value):
    text = zlib.decompress(base64.b64decode(packed(value)), -zlib.MAX_WBITS)
    assert unfolded(json.loads(text)) == value


def data_of(page):
    """What an exported page holds beside its script."""
    text = re.search(r'<script type="text/plain" id="data">(.*?)</script>', page)[1]
    return unfolded(json.loads(zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS)))[1]


def test_the_exported_page_of_a_kernel_holds_its_plan_with_what_has_no_lanes():
    kernels = Sources(registry.KERNELS)
    held = data_of(exported_page(State("", "f16", kernel="wgmma_persistent"), kernels))
    assert held["plan"] == json.loads(json.dumps(plan_rows("wgmma_persistent", kernels)))
    assert [len(row["pictures"]) for row in held["plan"] if row["part"] is None] == [2, 2, 1]


@pytest.mark.parametrize("state", [single(TILE, index=2), replace(THREE, layout="(16,64):(64,1)", before="(16,64):(72,1)")],
                         ids=("one access", "three"))
def test_an_exported_page_holds_what_python_writes_of_each_layout_and_may_ask_nobody(state):
    page = exported_page(state)
    assert "connect-src 'none'" in page and "connect-src 'self'" not in page
    held = data_of(page)["stored"]
    bench, = held["benches"]
    assert {state.layout, state.before} - {""} <= bench["names"].keys()
    assert set(bench["names"].values()) == set(bench["layouts"])
    assert bench["fix"]["rows"][0]["excess"] == 0
    assert {row["layout"] for row in bench["fix"]["rows"]} <= bench["layouts"].keys()
    for layout, place in bench["layouts"].items():
        swizzle = sl.Swizzle(place["b"], place["m"], place["s"])
        tile, offsets = bench["tiles"][place["tile"]], sl.parse(layout)
        assert [swizzle(offset) for offset in tile["offsets"]] == [offsets(r, c) for r in range(tile["rows"])
                                                                   for c in range(tile["columns"])]
        for shown, texts in enumerate(place["texts"]):
            found = json.loads(json.dumps(answer(replace(state, layout=layout, before="", shown=shown, index=0))))
            assert all(texts[name] == found[name] for name in ("claims", "command"))
            assert texts["copies"] == copies(replace(state, layout=layout, before="", shown=shown, index=0))
            asked = bench["asked"][tile["accesses"][shown]["asked"]][0]
            assert [[e] if e >= 0 else [] for e in asked] == [its[:1] for its in found["instruction"]["lanes"]]


def test_an_exported_report_keeps_its_costliest_lines_and_what_can_be_counted_of_them():
    worst = {"instruction": "ld.shared.b32", "wavefronts": 32, "addresses": [128 * lane for lane in range(32)]}
    line = {"file": "a.py", "source": "x", "instructions": 1, "ideal": 1, "worst": worst}
    lines = [{**line, "line": n, "wavefronts": n % 97, "source": f"{n ** 9} {n ** 7}"} for n in range(1, 1900)]
    lines[0]["worst"] = {**worst, "instruction": "red.shared.add.f32"}
    sources = Sources({}, report_lines({"lines": lines}), "big.json")
    page = exported_page(state_of(sources.lines[0]["state"]), sources)
    held = data_of(page)
    assert len(page.encode()) < 120_000 and len(held["lines"]) < 1899
    assert held["report"] == f"big.json: the {len(held['lines'])} costliest of 1899 lines"
    assert [line["line"] for line in held["lines"]] == sorted(line["line"] for line in held["lines"])
    left = {line["line"] for line in sources.lines} - {line["line"] for line in held["lines"]}
    assert max(n % 97 for n in left) <= min(line["wavefronts"] for line in held["lines"])
    assert held["state"]["accesses"][0]["op"] == "ld.shared.b32" and held["stored"]["rules"].keys() == {"ld.shared.b32"}


def test_what_an_exported_page_cannot_count_of_a_report_is_refused():
    use = Use("x", "red.shared.add.f32", addresses=" ".join(str(4 * lane) for lane in range(32)))
    with pytest.raises(Refusal, match="is a loop, whose rounds an exported page does not count"):
        exported_page(State("(1,32):(32,1)", "f32", accesses=(use,)))
    with pytest.raises(Refusal, match="a line of a report alone"):
        exported_page(State("(1,32):(32,1)", "f32", accesses=(use, Use())))
    with pytest.raises(Refusal, match="addresses are 32 numbers"):
        exported_page(State("(1,32):(32,1)", "f32", accesses=(replace(use, addresses="1 2"),)))


def test_no_text_of_a_state_ends_the_script_that_holds_it():
    state = single("</script><script>alert(1)</script><!-- @SCRIPT@ @DATA@")
    page = served_page(state)[0]
    assert page.count("</script>") == 2 and page.count("<script") == 2
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["state"]["layout"] == state.layout


# ---- the command --------------------------------------------------------------------------------------------------

def test_explore_writes_a_page_whole_or_not_at_all(tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", TILE, "-o", str(path)]) == 0
    assert path.read_text() == exported_page(single(TILE)) and "wrote" in capsys.readouterr().out
    assert main(["explore", "(16,64", "-o", str(tmp_path / "no.html")]) == 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("words", [["(16,64"], [TILE, "--op", "x"], ["--port", "65536"], ["--port", "-1"],
                                   ["--dtype", "f17"]])
def test_explore_refuses_in_one_line_before_it_serves(words, capsys):
    assert main(["explore", *words, "--no-browser"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
