"""`simlayout search`: what it prints, what it proves, and what it refuses."""

import json

import pytest

from simlayout.cli import main
from simlayout.hardware import INSTRUCTIONS


def test_the_command_shows_the_best_layouts_and_whether_all_were_tried(capsys):
    assert main(["search", "(16,64):(64,1)", "--op", "ldmatrix.x4", "st.shared.b128", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "all 12 layouts: 1 conflict-free, least excess 0" and len(lines) == 3
    assert lines[1].startswith("Sw<3,3,3> o (16,64):(64,1): excess 0, 0 bytes wasted,")


def test_the_command_prints_json_and_tells_by_its_exit_code_that_none_is_free_of_conflicts(capsys):
    words = ["(32,32):(32,1)", "--dtype", "f32", "--op", "ld.shared.b32", "--families", "rotation", "--json"]
    assert main(["search", *words]) == 0
    assert json.loads(capsys.readouterr().out)["conflict_free"] > 0
    assert main(["search", "(16,64):(64,1)", "--families", "pad", "--budget", "2048"]) == 1
    assert "no layout was tried: the smallest takes 2288 bytes: give --budget 2288 or more" in capsys.readouterr().out


def test_of_a_tile_that_needs_no_mending_the_command_says_so_and_tests_it(capsys):
    assert main(["search", "(16,64):(72,1)", "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "better as it is: (16,64):(72,1): excess 0, 0 bytes wasted, 7 operations" and len(lines) == 3
    assert main(["search", "(16,64):(72,1)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["given"]["layout"] == "(16,64):(72,1)"
    assert found["given"]["operations"] < found["candidates"][0]["operations"]
    assert main(["search", "(16,64):(72,1)", "--test"]) == 0
    assert "TILE = sl.tile('(16,64):(72,1)')" in capsys.readouterr().out
    assert main(["search", "(16,64):(64,1)", "--json"]) == 0
    assert "given" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("op", [name for name, row in INSTRUCTIONS.items() if row.rule == "retry"])
def test_atomics_that_are_loops_are_checked_and_searched_and_told_by_their_rounds(capsys, op):
    dtype, rounds = {4: ("f32", 32), 8: ("f64", 16)}[INSTRUCTIONS[op].bytes]
    words = ["(32,32):(32,1)", "--dtype", dtype, "--op", op]
    assert main(["check", *words, "--lanes", "tid, 0"]) == 0
    assert f"a loop of {rounds} rounds: lanes of one bank" in " ".join(capsys.readouterr().out.split())
    assert main(["search", *words, "--lanes", "tid % 32, 0"]) == 1
    assert "one round is the least that any layout takes" in " ".join(capsys.readouterr().out.split())


# ---- several accesses, proofs, orders of rows ---------------------------------------------------------------------------

PROBLEM = ["(16,256):(256,1)", "--access", "ldmatrix.x4: i, 16*(tid % 16) + 8*(tid // 16) for i<16",
           "--access", "ldmatrix.x4: tid % 16, 16*k + 8*(tid // 16) for k<16"]


def test_the_command_takes_accesses_with_their_own_lanes(capsys):
    assert main(["search", *PROBLEM]) == 1
    assert capsys.readouterr().out.startswith("all 20 layouts: 0 conflict-free, least excess 64\n")
    assert main(["search", *PROBLEM, "--layers", "2", "--limit", "1", "--prove"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "all 400 layouts: 19 conflict-free, least excess 0"
    assert lines[2] == "swizzle: 400 of 400 examined, 19 conflict-free, least excess 0"
    assert "- one-to-one on its 4096 coordinates" in lines


def test_the_command_searches_f2_maps_in_two_processes(capsys):
    assert main(["search", *PROBLEM, "--families", "f2", "--limit", "1", "--jobs", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["candidates"][0]["layout"] == "Sw<1,3,3> o Sw<3,3,5> o (16,256):(256,1)" and told["exhausted"]
    assert told["families"] == [{"family": "f2", "conflict_free": 86016, "examined": 788035, "total": 788035, "least": 0,
                                 "bound": 0}]


def test_the_command_has_constraints(capsys):
    assert main(["search", "(64,128):(128,1)", "--families", "tma", "--limit", "1"]) == 0
    assert "(64,(8,16)):(8,(1,512)): excess 0" in capsys.readouterr().out
    assert main(["search", "(16,64):(64,1)", "--base", "512"]) == 1
    assert capsys.readouterr().out.startswith("all 6 layouts: 0 conflict-free, least excess 16\n")


@pytest.mark.parametrize("words, fault", [
    (["(16,64"], "column 7"), (["(16,64):(64,1)", "--op", "ldmatrix.x3"], "ldmatrix.x3"),
    (["(16,64):(64,1)", "--families", "magic"], "magic"), (["Sw<3,3,3>"], "no coordinates"),
    (["(4096,4096):(4096,1)"], "use a smaller tile"), ([], "give a LAYOUT or --kernel NAME"),
    (["(16,64):(64,1)", "--kernel", "mma_base"], "and not both"),
    (["(16,64):(64,1)", "--access", "ldmatrix.x4"], "is no access"),
    (["(16,64):(64,1)", "--access", "ldmatrix.x4: tid ** 2, 0"], "a power is no integer arithmetic"),
    (["(16,64):(64,1)", "--access", "ldmatrix.x4: tid, k for k<0"], "is no loop"),
    (["(16,64):(64,1)", "--access", "ldmatrix.x4: tid, k for k<4, k<5"], "comes twice"),
    (["(16,64):(64,1)", "--access", "ldmatrix.x4: tid, k for k<99999"], "at most 65536"),
    (["(16,64):(64,1)", "--set", "stages=3"], "give --kernel NAME"), (["--kernel", "mma_bse"], "unknown kernel"),
    (["--kernel", "mma_base", "--set", "stages"], "write OPTION=VALUE"),
    (["--kernel", "mma_base", "--op", "ldmatrix.x4"], "brings its own accesses"),
    (["(16,64):(64,1)", "--families", "tma", "--layers", "2"], "of tma none is a swizzle: name that family too"),
    (["(16,64):(64,1)", "--families", "pad", "f2", "--layers", "2"], "of pad, f2 none is a swizzle: name that family too"),
    (["(16,64):(64,1)", "--rearrange", "--layers", "2"], "leaves the layout as it is"),
    (["(16,64):(64,1)", "--rearrange", "--families", "tma"], "leaves the layout as it is")])
def test_the_command_refuses_what_it_cannot_search(capsys, words, fault):
    assert main(["search", *words]) == 2
    assert fault in capsys.readouterr().err
