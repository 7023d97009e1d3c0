"""The explorer on AMD's chips: waves of 64 lanes, banks that depend on the instruction, and who says so in every answer."""

import json
import shlex

import pytest
from explorer_pages import counts, element, lit, settle

import simlayout as sl
from simlayout.cli import main, registry
from simlayout.explorer.copies import copies
from simlayout.explorer.fix import fix
from simlayout.explorer.model import answer
from simlayout.explorer.sources import Sources
from simlayout.explorer.state import Refusal, State, Use, single
from simlayout.hardware.tables.arch import AMD, ARCHES

TILE = "(64,64):(64,1)"
MFMA = (Use("store", "ds_write_b128"), Use("load A", "ds_read_b128", "16*m + tid % 16, 32*k + 8*(tid // 16)", "m=4, k=2"))
DISPUTED = single("(16,64):(64,1)", "f32", "ds_read_b32", "k, 2*(tid % 32) + tid // 32", "k=16", "gfx950")
ROWS = [(chip.name, row.name) for chip in ARCHES.values() if chip.vendor is AMD for row in chip.instructions]


@pytest.mark.parametrize("chip, row", ROWS, ids=str)
def test_an_instruction_is_answered_as_analyze_counts_it_with_who_says_so(chip, row):
    chip, row = ARCHES[chip], sl.instruction(row, chip)
    size = min(row.bytes, 2)
    lanes = f"tid % 32, {row.bytes // size}*(tid // 32) + 32*k"
    found = answer(single(TILE, {1: "s8", 2: "f16"}[size], row.name, lanes, "k=2", chip.name))
    right = sl.analyze(row, [[64 * size * (tid % 32) + row.bytes * (tid // 32) + 32 * size * k for tid in range(chip.lanes)]
                             for k in range(2)], arch=chip)
    for name, counted in (("wavefronts", right.wavefronts), ("excess", right.excess), ("conflicts", right.conflicts),
                          ("least", right.at_least), ("most", right.at_most)):
        assert found["counts"][name] == counted.tolist()
    shown = found["instruction"]
    assert found["provenance"] == str(right.provenance) and shown["exact"] == right.exact
    assert len(shown["lanes"]) == chip.lanes and shown["banks"] == right.row(0).banks
    assert sorted(lane for phase in shown["phases"] for lane in phase["lanes"]) == list(range(chip.lanes))
    assert tuple(phase["lanes"] for phase in shown["phases"]) == right.row(0).groups
    assert all(cell["bank"] < shown["banks"] for phase in shown["phases"] for cell in phase["served"])


def test_what_sources_dispute_has_the_bounds_of_both():
    found = answer(DISPUTED)
    assert [(row["least"], row["most"], row["excess"], row["exact"]) for row in found["accesses"]] == [(16, 64, 32, False)]
    assert found["provenance"].startswith("disputed: ") and "sources disagree" in found["instruction"]["caveat"]
    other = "by the other rule (1 phase of 64 lanes, 64 banks): 1 pass, ideal 1, excess 0"
    assert other in found["instruction"]["explanation"]


def test_fix_it_finds_the_layout_of_a_matrix_product_with_its_proof():
    found = fix(State(TILE, "f16", "gfx942", MFMA))
    assert found["now"] == 192 and found["rows"][0]["layout"] == f"Sw<3,3,3> o {TILE}"
    assert "load A (ds_read_b128): 64 passes, ideal 64" in found["rows"][0]["claims"]
    narrow = fix(State("(64,2):(2,1)", "f32", "gfx942", (Use("rows", "ds_read_b64"), Use("same", "ds_read_b32", "tid, 0"))))
    assert all("passes" in why or "pass" in why for why in narrow["why"]) and "wavefront" not in "".join(narrow["why"])


def test_it_is_copied_as_hip_and_as_python_that_runs(capsys):
    for chip, uses in (("gfx942", MFMA), ("gfx1100", MFMA[:1])):
        for shown in range(len(uses)):
            found = copies(State(TILE, "f16", chip, uses, shown=shown))
            assert [name for name, copied in found.items() if "error" in copied] == []
            assert found["cuda"]["title"] == "HIP C++" and "__device__" in found["cuda"]["text"]
            exec(compile(found["python"]["text"], "copied", "exec"), {})
            assert f"{uses[shown].op}, f16, {chip}" in capsys.readouterr().out


def test_the_command_of_an_answer_prints_the_same_counts(capsys):
    state = State(TILE, "f16", "gfx942", MFMA, shown=1)
    _, *words = shlex.split(answer(state)["command"])
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["each"]["excess"] == answer(state)["counts"]["excess"]


@pytest.mark.parametrize("state, field, said", [
    (single(TILE, arch="gfx942"), "op", "gfx942 has no ldmatrix.x4"),
    (single(TILE, op="ds_read_b128"), "op", "is an instruction of gfx90a"),
    (single(TILE, op="ds_read_b96", arch="gfx942"), "op", "not modelled"),
    (State("", kernel="mma_base", arch="gfx942"), "arch", "a chip of AMD's"),
    (State("(1,32):(32,1)", "f32", "gfx1100", (Use("x", "ds_read_b32", addresses="0 " * 32),)), "arch", "a chip of AMD's"),
    (single(TILE, op="ds_read_b128", lanes="tid, k", domain="k=300000", arch="gfx942"), "domain", "instructions of a wave")])
def test_what_a_chip_has_not_is_refused_in_its_field(state, field, said):
    with pytest.raises(Refusal, match=said) as refused:
        answer(state, Sources(registry.KERNELS))
    assert refused.value.field == field


def test_explore_begins_with_the_widest_load_of_a_chip(tmp_path):
    path = tmp_path / "page.html"
    assert main(["explore", TILE, "--arch", "gfx1201", "-o", str(path)]) == 0 and path.exists()


@pytest.mark.slow
def test_the_bench_moves_to_another_vendor_and_back(page, explorer):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait

    def visible(kind):
        return len([key for key in page.find_elements(By.CSS_SELECTOR, f"#{kind}-keys button") if key.is_displayed()])

    def until(script):
        return WebDriverWait(page, 120).until(lambda d: d.execute_script(f"return {script}"))

    def chip(name):
        Select(element(page, "arch")).select_by_value(name)
        settle(page)

    assert "Rule measured" in element(page, "provenance").text and (visible("lane"), visible("bank")) == (32, 32)
    chip("gfx942")
    assert element(page, "op").get_property("value") == "ds_read_b128" and counts(page) == [8, 8, 0, 0]
    assert "ldmatrix.x4 became ds_read_b128" in element(page, "told").text
    assert "Rule measured elsewhere: by nod-ai" in element(page, "provenance").text and visible("lane") == 64
    assert "passes" in element(page, "counts").text and "wavefront" not in element(page, "pictures").text
    assert "lanes 0–3, 20–23" in element(page, "grid").text
    assert element(page, "op-what").text == "each lane reads 16 bytes, 8 phases of 8 lanes, 32 banks"
    groups = page.find_elements(By.CSS_SELECTOR, "#ops optgroup")
    assert [group.get_dom_attribute("label") for group in groups] == ["loads", "stores"]
    ActionChains(page).move_to_element(page.find_element(By.CSS_SELECTOR, "[data-lane='63']")).perform()
    assert lit(page, "lane")[0] == {63} and "phase 6, pass 6" in element(page, "about").text
    page.get(f"{explorer.url}#layout={TILE}&dtype=f16&arch=gfx942&op=ds_read_b128&domain=m=4, k=2"
             "&lanes=16*m %2B tid %25 16, 32*k %2B 8*(tid // 16)")
    settle(page)
    until("answer.arch === 'gfx942' && answer.instruction.excess === 24")
    element(page, "fix").click()
    until("Number(document.body.dataset.fixed || 0)")
    page.find_element(By.CSS_SELECTOR, "[data-fix='0']").click()
    until("answer.instruction.excess === 0")
    assert counts(page) == [8, 8, 0, 0] and "Sw<3,3,3>" in element(page, "layout").get_property("value")
    chip("gfx950")
    assert visible("bank") == 64 and len(page.find_elements(By.CSS_SELECTOR, "#grid [data-bank]")) == 64
    chip("sm_90")
    assert element(page, "op").get_property("value") == "ld.shared.b128" and (visible("lane"), visible("bank")) == (32, 32)
    assert "wavefronts" in element(page, "counts").text
