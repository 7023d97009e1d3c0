"""The command line on AMD's chips: the commands that take --arch, and `chips`."""

import json

import pytest
from commands import printed, refused

from simlayout.cli import main
from simlayout.hardware import ARCHES
from simlayout.hardware.tables.instructions import instructions_of
from simlayout.sources import statements

TILE = "(64,64):(64,1)"
OPERANDS = ["--op", "ds_read_b128", "--arch", "gfx942", "--lanes", "tid % 16, 8*(tid // 16) + 32*k", "--domain", "k=2"]


def test_check_counts_passes_and_proposes_a_layout(capsys):
    text = printed(capsys, "check", TILE, *OPERANDS)
    assert "passes        64" in text and "excess        48" in text and "wavefront" not in text
    assert "measured elsewhere: by nod-ai on an Instinct MI300X" in text
    assert "better        Sw<3,3,3> o (64,64):(64,1): excess 0" in text
    found = json.loads(printed(capsys, "check", "Sw<3,3,3> o (64,64):(64,1)", *OPERANDS, "--json"))
    assert found["arch"] == "gfx942" and found["conflict_free"] and found["provenance"]["kind"] == "measured elsewhere"
    assert found["domain"] == {"tid": 64, "k": 2} and found["wavefronts"] == 16


def test_explain_names_the_lanes_of_a_phase(capsys):
    text = printed(capsys, "explain", TILE, *OPERANDS)
    assert "phase 0, lanes 0-3, 20-23: 4 passes" in text and "32 passes, ideal 8, excess 24, conflicts 24" in text


def test_a_disputed_rule_is_told(capsys):
    text = printed(capsys, "check", "(64,64):(64,1)", "--dtype", "f32", "--op", "ds_read_b32", "--arch", "gfx950")
    assert "exact         not known exactly: sources disagree" in text and "provenance    disputed" in text


@pytest.mark.parametrize("words, language", [(["--hip"], "HIP C++"), (["--cuda"], "CUDA C++"), ([], "Python")])
def test_emit_writes_what_hip_compiles(capsys, words, language):
    given = ["emit", "Sw<3,3,3> o (64,64):(64,1)", *OPERANDS, "--unit", "bytes", *words]
    found = json.loads(printed(capsys, *given, "--json"))
    assert found["language"] == language
    if words:
        assert "__device__ __forceinline__ unsigned tile(unsigned tid, unsigned k) {" in found["source"]
        assert "// tile: ds_read_b128, f16, gfx942: proved for every tid < 64, k < 2" in found["source"]
        assert "passes" in found["source"] and "at all points" in found["compared"]


def test_search_finds_one_layout_for_two_vendors(capsys):
    text = printed(capsys, "search", TILE, "--op", "ldmatrix.x4", "ds_write_b128 on gfx942", "--access",
                   "ds_read_b128 on gfx942: tid % 16 + 16*m, 8*(tid // 16) + 32*k for m<4, k<2", "--prove")
    assert "all 20 layouts: 1 conflict-free" in text
    assert "ds_write_b128 on gfx942 (ds_write_b128): 64 passes, ideal 64" in text
    assert "ldmatrix.x4 (ldmatrix.x4): 64 wavefronts, ideal 64" in text
    found = printed(capsys, "search", TILE, "--op", "ldmatrix.x4 on sm_90", "--access",
                    "ds_read_b64 on gfx942: tid % 16, 4*(tid // 16) + 16*k for k<4", "--families", "swizzle", "f2", code=1)
    assert "0 conflict-free, least excess 16" in found and "excess 16 of 32 passes" in found


@pytest.mark.parametrize("words", [["check", TILE], ["explain", TILE], ["search", TILE], ["emit", TILE]])
@pytest.mark.parametrize("chip, load", [("gfx942", "ds_read_b128"), ("gfx1201", "ds_read_b128"), ("sm_90", "ldmatrix.x4")])
def test_who_names_no_instruction_asks_for_the_widest_load_of_the_chip(capsys, words, chip, load):
    extra = ["--prove"] if words[0] == "search" else ["--allow-conflicts"] if words[0] == "emit" else []
    assert main([*words, "--arch", chip, *extra]) in (0, 1)
    assert load in capsys.readouterr().out


@pytest.mark.parametrize("words, reason", [
    (["check", TILE, "--op", "ldmatrix.x4", "--arch", "gfx942"], "gfx942 has no ldmatrix.x4"),
    (["check", TILE, "--op", "ds_read_b128"], "sm_90 has no ds_read_b128, which is an instruction of gfx90a"),
    (["check", TILE, "--op", "ds_read_b128", "--arch", "gfx999"], "unknown architecture 'gfx999'"),
    (["search", TILE, "--op", "ds_read_b128 on sm_90"], "sm_90 has no ds_read_b128"),
    (["emit", TILE, *OPERANDS, "--hip", "--cuda"], "not allowed with"),
    (["chips", "gfx906"], "unknown architecture"),
])
def test_refusals_name_the_chip(capsys, words, reason):
    assert reason in refused(capsys, *words)


# ---- chips ---------------------------------------------------------------------------------------------------------------

def test_chips_lists_every_architecture_and_how_sure_its_rules_are(capsys):
    found = json.loads(printed(capsys, "chips", "--json"))
    assert set(found) == set(ARCHES)
    for name, chip in found.items():
        assert sum(chip["sure"].values()) == len(instructions_of(name)) and chip["lanes"] == ARCHES[name].lanes
    assert found["sm_90"]["sure"].keys() == {"measured"} and found["sm_80"]["sure"].keys() == {"assumed"}
    assert found["gfx950"]["sure"]["disputed"] == 1 and found["gfx950"]["banks"] == [32, 64]
    text = printed(capsys, "chips")
    assert len(text.splitlines()) == 1 + len(ARCHES) and "3 measured elsewhere" in text


@pytest.mark.parametrize("name", ARCHES)
def test_chips_tells_every_rule_of_a_chip_once_with_its_source(capsys, name):
    text = printed(capsys, "chips", name)
    _, rules, *parts, notes = text.split("\n\n")
    assert [line.split("  ")[0].strip() for line in rules.splitlines()] == list(instructions_of(name))
    assert [part.splitlines()[0] for part in parts] == list(dict.fromkeys(s.part for s in statements(name)))
    lines = [*rules.splitlines(), *(line for part in parts for line in part.splitlines()[1:])]
    numbers = {line.split("[")[1].rstrip("]") for line in lines}
    assert numbers == {line.split("]")[0][1:] for line in notes.splitlines() if line.startswith("[")} and len(numbers) < 30
    found = json.loads(printed(capsys, "chips", name, "--json"))
    for rule in found["rules"]:
        assert rule["kind"] in found["sure"] and sum(map(len, rule["phases"])) <= found["lanes"]
    assert [(s["what"], s["kind"]) for s in found["statements"]] == [(s.what, s.said.kind) for s in statements(name)]
