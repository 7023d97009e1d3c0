"""A page without Python counts what Python counts: every layout that its sliders lead to, in a real headless Chromium."""

import json
import random
from dataclasses import replace

import pytest
from explorer_pages import counts, element, settle, slid, typed
from tiers import sweep_but

from simlayout.cli import registry
from simlayout.explorer.model import answer
from simlayout.explorer.pack import ints_of
from simlayout.explorer.page import exported_page
from simlayout.explorer.report import report_lines
from simlayout.explorer.sources import NONE, Sources
from simlayout.explorer.state import Refusal, State, Use, state_of
from simlayout.hardware import INSTRUCTIONS

pytest.importorskip("selenium", reason="the browser tests need selenium")
from selenium.webdriver.common.by import By

KERNELS = Sources(registry.KERNELS)
TILE = "(16,64):(64,1)"
TAKE = """return arguments[0].map((wanted) => {
    Object.assign(state, wanted);
    return JSON.parse(JSON.stringify(storedAnswer())); });"""
WORDS = ("layout", "op", "dtype", "arch", "name", "swizzle", "tile", "counts", "accesses", "provenance")


def uses(*names, lanes="", domain=""):
    return tuple(Use(name, name, lanes, domain) for name in names)


BENCHES = {
    "matrices": State(f"Sw<3,3,3> o {TILE}", accesses=uses("ldmatrix.x4", "ldmatrix.x2", "stmatrix.x1.trans")),
    "plain": State("(32,64):(64,1)", accesses=uses("ld.shared.b16", "st.shared.b32", "ld.shared.b64", "ld.shared.b128")),
    "copies": State("(32,64):(64,1)", accesses=uses("cp.async.ca.4", "cp.async.ca.16", "cp.async.cg.16")),
    "scattered copies": State("(64,64):(64,1)", accesses=uses("cp.async.cg.16", lanes="tid, 8*(tid % 3)")),
    "copies into padded rows": State("(32,128):(136,1)", accesses=uses("cp.async.cg.16")),
    "atomics": State("(64,64):(64,1)", "f64", accesses=uses("atom.shared.cas.b64", "atom.shared.exch.b64")),
    "equal words": State("(64,64):(64,1)", "f32", accesses=uses(
        "ld.shared.b64", "ld.b64", "red.shared.add.u32", lanes="tid % 32 // 4, 2*(tid % 5) + 8*k", domain="k=4, tid=64")),
    "columns": State("(64,16):(1,64)", accesses=uses("ldmatrix.x4.trans", "ld.shared.b32")),
    "bytes": State("(32,64):(64,1)", "e4m3", accesses=uses("ldmatrix.x2", "ld.shared.b8", "st.shared.b128")),
    "odd rows": State("(32,33):(33,1)", "f32", accesses=uses("ld.shared.b32", lanes="tid, 3*k", domain="k=8")),
    "rotated": State("Rot<8,4,64,4> o (64,32):(32,1)"),
    "nested": State("((8,2),64):((64,512),1)", accesses=uses("ldmatrix.x4")),
    "one mode": State("1024:1", "f32", accesses=uses("ld.shared.b128", "st.shared.b32")),
    "wider than is drawn": State("(16,1024):(1024,1)"),
    "gfx942": State("(64,64):(64,1)", "f16", "gfx942", (*uses("ds_write_b64", "ds_read_u16"), Use(
        "MFMA", "ds_read_b128", "16*m + tid % 16, 32*k + 8*(tid // 16)", "m=4, k=2"))),
    "gfx950": State("(32,64):(64,1)", "f32", "gfx950", (
        Use("two waves", "ds_read_b128", "tid % 32, 16*(tid // 32)", "tid=128"), *uses("ds_read_b32", "ds_read_b64"),
        Use("disputed", "ds_read_b32", "k, 2*(tid % 32) + tid // 32", "k=32"))),
    "gfx1100": State("(32,64):(64,1)", "f16", "gfx1100", uses("ds_read_b128", "ds_write_b32")),
    "a kernel": State("", kernel="mma_permuted", part=1),
}


def opened(driver, page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page)
    driver.get("about:blank")
    driver.get(path.as_uri())
    settle(driver)
    return driver


def told(found):
    """Python's answer as the page has it: through JSON, its offsets as lists."""
    found = json.loads(json.dumps(found))
    for tile in [found["tile"]] + ([found["before"]["tile"]] if found["before"] else []):
        tile["offsets"] = ints_of(tile["offsets"])
    return found


def compared(driver, state, sources, layouts):
    """Compares the page's answers with Python's on layouts, with one of them pinned; returns how many were refused."""
    choose, refused = random.Random(0), 0
    asked = [{"layout": layout, "before": choose.choice(["", *layouts]), "index": choose.randrange(9),
              "shown": choose.randrange(len(driver.execute_script("return answer.accesses")))} for layout in layouts]
    for wanted, found in zip(asked, driver.execute_script(TAKE, asked), strict=True):
        try:
            right = told(answer(replace(state, **wanted), sources))
        except Refusal as refusal:
            refused += 1
            assert found["error"] and found["field"] == "layout", (wanted, str(refusal))
            continue
        assert "error" not in found, (wanted, found)
        assert [found[name] for name in WORDS] == [right[name] for name in WORDS], wanted
        for one, other in ((found, right), (found["before"], right["before"])):
            assert (one is None) == (other is None)
            if one:
                one["instruction"].pop("explanation"), other["instruction"].pop("explanation")
                assert one["instruction"] == other["instruction"] and one["tile"] == other["tile"], wanted
    return refused


MANY = 40          # layouts


@pytest.mark.parametrize("bench", sweep_but(["matrices"], BENCHES))
def test_the_page_counts_what_python_counts_wherever_the_sliders_stand(bench, driver, tmp_path):
    state = BENCHES[bench]
    sources = KERNELS if state.kernel else NONE
    page = opened(driver, exported_page(state, sources), tmp_path)
    base = page.execute_script("return answer.swizzle.base")
    ranges = [range(int(low), int(high) + 1) for low, high in page.execute_script(
        "return ['b', 'm', 's'].map((name) => [byId(name).min, byId(name).max])")]
    every = [f"Sw<{b},{m},{s}> o {base}" if b else base for b in ranges[0] for m in ranges[1] for s in ranges[2]]
    named = page.execute_script("return Object.keys(benchOf(state).layouts)")
    layouts = random.Random(bench).sample(sorted({*every}), MANY) + (named[1:] if state.kernel else named)
    assert 0 < compared(page, state, sources, layouts) < MANY


RECORDED = [name for name, row in INSTRUCTIONS.items() if row.rule != "retry" and row.kind != "copy"]


def test_the_lines_of_a_report_are_counted_without_python(driver, tmp_path):
    choose, lines = random.Random(2), []
    for number, name in enumerate(RECORDED, 1):
        size, whole = INSTRUCTIONS[name].bytes, INSTRUCTIONS[name].needs_whole_warp
        addresses = [None if not whole and choose.random() < 0.1 else size * choose.randrange(64) for _ in range(31)] + [0]
        lines.append({"file": "p.py", "line": number, "source": name, "instructions": 1, "wavefronts": 8, "ideal": 1,
                      "worst": {"instruction": name, "wavefronts": 8, "addresses": addresses}})
    sources = Sources({}, report_lines({"kernels": [{"name": "k", "lines": lines}]}), "report.json")
    page = opened(driver, exported_page(state_of(sources.lines[0]["state"]), sources), tmp_path)
    assert len(page.find_elements(By.CSS_SELECTOR, "[data-line]")) == len(RECORDED)
    assert page.execute_script("return view.tab") == "report"
    for line in sources.lines:
        found, = page.execute_script(TAKE, [line["state"]])
        right = told(answer(state_of(line["state"])))
        assert [found[name] for name in WORDS] == [right[name] for name in WORDS]
        found["instruction"].pop("explanation"), right["instruction"].pop("explanation")
        assert found["instruction"] == right["instruction"]
    page.find_element(By.CSS_SELECTOR, "[data-line='3']").click()
    assert page.execute_script("return answer.op") == RECORDED[2] and not element(page, "b").is_enabled()
    link = page.current_url
    page.get("about:blank")
    page.get(link)
    settle(page)
    assert page.execute_script("return [answer.op, state.accesses[0].name]") == [RECORDED[2], "p.py:3"]


@pytest.mark.slow
def test_every_access_of_a_kernel_opens_without_python(driver, tmp_path):
    state = State("(384,32,4):(32,1,12288)", kernel="mma_permuted")                      # another layout than its own
    page = opened(driver, exported_page(state, KERNELS), tmp_path)
    assert counts(page)[2] == 0 and element(page, "layout").get_property("value") == state.layout
    for name in ("copy B", "load B", "copy A"):
        element(page, "tab-plan").click()
        next(b for b in page.find_elements(By.CSS_SELECTOR, "[data-plan]") if b.text == name).click()
        assert page.execute_script("return answer.name") == name and element(page, "error-layout").text == ""
        assert page.execute_script("return answer.layout").startswith("Rot<8,4,64,4> o ")
    page.execute_script("history.back()")
    settle(page)
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.slow
def test_what_the_page_counted_itself_says_what_needs_python(driver, tmp_path):
    page = opened(driver, exported_page(State(TILE)), tmp_path)
    typed(page, "layout", f"Sw<2,3,3> o {TILE}")
    assert counts(page)[2] == 4
    typed(page, "layout", f"Sw<2,3,4> o {TILE}")
    assert counts(page) == [8, 4, 4, 4]
    element(page, "tab-code").click()
    assert f"simlayout check 'Sw<2,3,4> o {TILE}'" in element(page, "codes").get_property("textContent")
    assert "not proved" in element(page, "claims").get_property("textContent")
    assert "phase 0, lanes 0–7: 2 wavefronts" in element(page, "explanation").get_property("textContent")
    slid(page, "b", 3)
    assert element(page, "layout").get_property("value") == f"Sw<3,3,4> o {TILE}" and counts(page)[2] == 4
    typed(page, "layout", "(16,64):(65,1)")
    assert "more needs Python: simlayout explore" in element(page, "error-layout").text
