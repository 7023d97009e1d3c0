"""What users come with, each done in one or two commands that the help of the command shows, or shows the like of."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from commands import answered, printed, refused

import simlayout as sl
from simlayout.cli import main

PADDED = "(128,32):(40,1)"
FORMULA = "r * 64 + (c ^ ((r & 7) << 3));"
STORED_AND_READ = ["search", "(64,64):(64,1)", "--op", "st.shared.b128", "ldmatrix.x4.trans", "--op", "ld.shared.b32",
                   "--lanes", "tid + 32*i, 2*k", "--domain", "i=2", "k=32"]


def examples(capsys, command):
    """The commands that a help shows, as words."""
    shown = printed(capsys, command, "--help").split("examples:")[1].replace("\\\n", " ")
    lines = [line for line in shown.splitlines() if line.startswith("  simlayout ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.parametrize("op", ["ldmatrix.x4", "ldmatrix.x4.trans"])
def test_a_padded_tile_read_by_ldmatrix_both_ways(capsys, op):
    found = answered(capsys, "check", PADDED, "--op", op)
    assert found["excess"] == 0 and found["accesses"] == 16 and found["better"] is None


def test_a_formula_of_cpp_against_a_swizzle_of_cute_and_what_its_64_bit_stores_cost(capsys):
    assert answered(capsys, "equal", FORMULA, "Swizzle<3,3,3>{}", "--domain", "r=64", "c=64")["equal"] is True
    found = answered(capsys, "check", FORMULA, "--domain", "r=64", "c=64", "--op", "st.shared.b64")
    assert found["excess"] == 0 and found["wavefronts"] == found["ideal"] == 64 and found["accesses"] == 32


def test_the_best_layout_for_rows_blocks_and_columns_or_why_there_is_none(capsys):
    found = answered(capsys, *STORED_AND_READ, code=1)
    assert found["candidates"][0]["layout"] == "Sw<3,3,3> o (64,64):(64,1)" and found["least_excess"] == 192
    assert [(c["op"], c["excess"], c["least_excess"]) for c in found["costs"]] == [
        ("st.shared.b128", 0, 0), ("ldmatrix.x4.trans", 0, 0), ("ld.shared.b32", 192, 192)]
    text = " ".join(printed(capsys, *STORED_AND_READ, code=1).split())
    assert "none is free of conflicts" in text and "keeps chunks of 16 bytes whole, as st.shared.b128 needs" in text


def test_its_cuda_cpp_has_the_name_that_is_asked_for(capsys):
    found = answered(capsys, "emit", "Sw<3,3,3> o (64,64):(64,1)", "--op", "st.shared.b128", "--cuda", "--name", "storeTile")
    assert "unsigned storeTile(unsigned tid, unsigned i) {" in found["source"] and found["name"] == "storeTile"
    function = sl.codegen.compile_source(printed(capsys, "emit", "SWIZZLE_128B for row<16, col<64", "--name", "at"))["at"]
    assert function(17, 1) == sl.parse("Sw<3,3,3> o (16,64):(64,1)")(1, 24)
    for name in ("a b", "for", "int", "_at", "t3", "1st", "", "\u00e9", "x;y"):
        assert "cannot be the name" in refused(capsys, "emit", "Sw<3,3,3> o (16,64):(64,1)", "--name", name)


def test_the_same_as_a_property_test_that_pytest_runs(capsys, tmp_path):
    written = printed(capsys, *STORED_AND_READ, "--test", code=1)
    (tmp_path / "test_tile.py").write_text(written)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)],
                          capture_output=True, text=True, cwd=tmp_path, timeout=300,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout
    one = answered(capsys, "check", "row * 64 + col", "--domain", "row=16", "col=64", "--test")["source"]
    assert "excess=None), 128)," in one


def test_a_written_test_fails_for_a_layout_with_more_conflicts_or_one_that_is_not_one_to_one(capsys):
    written = printed(capsys, "check", "Sw<3,3,3> o (16,64):(64,1)", "--test")

    def failing(text):
        """Names of the tests that fail."""
        scope, found = {}, set()
        exec(text, scope)
        for name in [n for n in scope if n.startswith("test_")]:
            try:
                scope[name]()
            except (AssertionError, sl.SimlayoutError):
                found.add(name)
        return found

    assert failing(written) == set()
    assert failing(written.replace("Sw<3,3,3> o ", "")) == {
        "test_no_access_has_bank_conflicts_beyond_those_that_are_known",
        "test_accesses_are_in_bounds_aligned_and_of_neighbours"}
    crowded = written.replace("Sw<3,3,3> o (16,64):(64,1)", "(16,64):(8,1)")
    assert "test_every_element_has_a_place_of_its_own" in failing(crowded)


def test_a_column_major_tile(capsys):
    found = answered(capsys, "check", "(64,64):(1,64)", "--op", "ldmatrix.x4.trans")
    better = found["better"]
    assert found["excess"] > 0 and better["layout"] == "Sw<3,3,3> o (64,64):(1,64)" and better["excess"] == 0
    assert "use ldmatrix.x4.trans, which reads columns" in refused(capsys, "check", "(64,64):(1,64)")
    assert answered(capsys, "check", "c * 64 + r", "--domain", "r=64", "c=64", "--op", "ld.shared.b128")["excess"] == 0


# ---- found by --help alone ----------------------------------------------------------------------------------------------

def test_the_help_shows_each_task(capsys):
    shown = {command: [" ".join(words) for words in examples(capsys, command)] for command in
             ("check", "equal", "search", "emit")}
    assert any(PADDED in line and ".trans" in line for line in shown["check"])
    assert any("(64,64):(1,64)" in line for line in shown["check"]) and any("--test" in line for line in shown["check"])
    assert any("--op st.shared.b64" in line and "row *" in line for line in shown["check"])
    assert any("Swizzle<3,3,3>{}" in line and ";" in line for line in shown["equal"])
    assert " ".join(STORED_AND_READ) in shown["search"] and any("--test" in line for line in shown["search"])
    assert any("--cuda --name" in line for line in shown["emit"])


@pytest.mark.parametrize("command", ["check", "explain", "emit", "equal", "translate"])
def test_every_example_of_the_help_is_answered(capsys, command):
    for words in examples(capsys, command):
        assert main(words) in (0, 1), words
        assert capsys.readouterr().err == ""


# ---- what does not go together --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, fault", [
    (["check", "row * 64 + col"], "add --domain row=64 col=64"), (["check", "SWIZZLE_128B"], "add --domain row=64 col=64"),
    (["check", "Sw<3,3,3>"], "or add --domain row=16 col=64"),
    (["check", "row * 64 + col", "--domain", "row=16"], "unknown name 'col'"),
    (["check", "row * 64 + col", "--domain", "row=16", "col=64", "k=4"], "give both or neither"),
    (["check", "r * 64 + c", "--domain", "r=16", "c=64", "--lanes", "r, tid"], "rename one of them"),
    (["check", "(16,64):(64,1)", "--domain", "row=16", "col=32"], "its own sizes, 16 x 64"),
    (["check", "smem[row * 64 + col]", "--domain", "row=16", "col=64"], "without the array's name"),
    (["check", "row * 64 + col ? 1 : 0", "--domain", "row=16", "col=64"], "no branches"),
    (["check", "row * 1000000000 + col", "--domain", "row=16", "col=64"], "out of range"),
    (["check", "row * 64 + col", "--domain", "row=100000", "col=64"], "use a smaller tile"),
    (["check", "(row - 8) / 2 * 64 + col", "--domain", "row=16", "col=64"], "C and Python do differently"),
    (["search", "(16,64):(64,1)", "--lanes", "tid, 0"], "--lanes goes behind the --op"),
    (["search", "(16,64):(64,1)", "--op", "ld.shared.b32", "--lanes", "0, 0", "--lanes", "1, 1"], "name the --op again"),
    (["search", "(16,64):(64,1)", "--op", "ld.shared.b32", "--lanes", "tid, 0", "--domain", "k=4"], "no --lanes has this"),
    (["search", "(16,64):(64,1)", "--domain", "k=4"], "give both or neither"),
    (["search", "(64,64):(64,1)", "--op", "ld.shared.b32", "--lanes", "tid, 5000"], "leaves the tile"),
    (["search", "(64,64):(64,1)", "--op", "st.shared.b32", "--lanes", "0, 0"], "store to the same bytes"),
    (["search", "(64,64):(64,1)", "--op", "ldmatrix.x4", "--rearrange", "--test"], "use one of them"),
    (["search", "--kernel", "mma_base", "--test"], "brings its own accesses"),
    (["check", "row * 64 + col / row", "--domain", "row=16", "col=64"], "divides by zero"),
    (["plot", "row * 64 + col", "-o", "x.svg", "--kind", "layout"], "add --domain"),
    (["explore", "row * 64 + col"], "add --domain")])
def test_what_is_missing_is_told_with_what_to_add(capsys, words, fault):
    assert fault in refused(capsys, *words)


def test_the_sizes_of_a_layout_may_be_repeated_and_the_names_of_domain_tell_apart(capsys):
    assert answered(capsys, "check", "(16,64):(64,1)", "--domain", "row=16", "col=64")["excess"] == 112
    found = answered(capsys, "check", "row * 64 + col", "--domain", "k=4", "col=64", "row=16", "--lanes",
                     "tid % 16, 16*k + 8*(tid // 16)")
    assert found["domain"] == {"tid": 32, "k": 4} and found["excess"] == 112
    assert found["layout"] == "row * 64 + col for row<16, col<64"


def test_a_lone_name_is_a_formula_where_its_size_is_known(capsys):
    assert answered(capsys, "check", "x", "--domain", "x=512", "--op", "ld.shared.b32")["excess"] == 0
    assert answered(capsys, "equal", "x", "x ^ 0", "--domain", "x=3")["equal"] is True


def test_one_instruction_twice_with_different_lanes_are_two_accesses(capsys):
    found = answered(capsys, "search", "(64,64):(64,1)", "--op", "ld.shared.b32", "--lanes", "tid, 2*k", "--op",
                     "ld.shared.b32", "--lanes", "k, 2*tid", "--domain", "k=32")
    assert found["conflict_free"] > 0 and [c["op"] for c in found["costs"]] == ["ld.shared.b32"] * 2
    assert len({c["access"] for c in found["costs"]}) == 2


def test_the_explorer_takes_a_formula(capsys):
    from simlayout.explorer.model import answer as explored
    from simlayout.explorer.state import State, Use

    plain = explored(State("(16,64):(64,1)"))
    for state in (State("row * 64 + col", accesses=(Use(domain="row=16, col=64"),)),
                  State("row * 64 + col; for row<16, col<64")):
        found = explored(state)
        assert found["counts"] == plain["counts"] and found["tile"] == plain["tile"]
        assert main([*shlex.split(found["command"])[1:], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["each"]["excess"] == plain["counts"]["excess"]
