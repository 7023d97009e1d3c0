"""The command line: what it prints, its exit codes, and that every refusal is one line."""

import io
import json
import subprocess
import sys
import time

import pytest
from commands import printed, refused
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.cli import main
from simlayout.proofs.natural import natural_access

TILE = "(16,64):(64,1)"
SWIZZLED = f"Sw<3,3,3> o {TILE}"


# ---- check --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("layout, excess", [
    ("(16,16):(16,1)", 4), ("(16,32):(32,1)", 24), ("(16,64):(64,1)", 112), ("Sw<1,3,3> o (16,16):(16,1)", 0),
    ("Sw<2,3,3> o (16,32):(32,1)", 0), ("Sw<3,3,3> o (16,64):(64,1)", 0)])
def test_check_gives_the_tutorials_counts(capsys, layout, excess):
    found = json.loads(printed(capsys, "check", layout, "--dtype", "f16", "--op", "ldmatrix.x4", "--json"))
    assert found["excess"] == found["conflicts"] == excess
    assert found["conflict_free"] is (excess == 0)
    assert (found["first_conflict"] is None) is (excess == 0)


def test_check_prints_its_table_within_100_columns(capsys):
    out = printed(capsys, "check", TILE)
    fields = dict(line.split(None, 1) for line in out.splitlines() if line[0] != " ")
    assert fields["layout"] == TILE
    counts = [fields[name] for name in ("instructions", "wavefronts", "ideal", "excess", "conflicts")]
    assert counts == ["4", "128", "16", "112", "112"]
    assert fields["conflict-free"] == "no"
    assert fields["first"] == ("instruction 0 (k = 0): lanes 0-7 want 8 words of banks 0-3: 0-3, 32-35, ..., 224-227")
    assert fields["exact"] == "yes" and fields["provenance"].startswith("measured: ")
    long = f"(({'1,' * 60}32),32):(({'0,' * 60}32),1)"
    layers = " o ".join(f"Sw<1,3,{shift}>" for shift in range(3, 16))
    for layout in (TILE, long, f"{layers} o (384,32):(32,1)"):
        out = printed(capsys, "check", layout, "--op", "ld.shared.b32")
        assert max(map(len, out.splitlines())) <= 100


def test_check_json_has_its_keys_sorted_and_totals_that_add_up(capsys):
    found = json.loads(printed(capsys, "check", "(16,64):(72,1)", "--json"), object_pairs_hook=list)
    keys = [key for key, _ in found]
    assert keys == sorted(keys)
    found = json.loads(printed(capsys, "check", "(16,64):(72,1)", "--json"))
    assert set(found) == {
        "layout", "one_to_one", "size", "wasted_elements", "dtype", "op", "arch", "domain", "accesses", "wavefronts",
        "ideal", "excess", "conflicts", "conflict_free", "first_conflict", "exact", "caveat", "provenance", "claims",
        "digest", "each", "better"}
    assert found["wasted_elements"] == 15 * 8 and found["domain"] == {"tid": 32, "k": 4} and found["accesses"] == 4
    assert all(sum(found["each"][name]) == found[name] for name in ("wavefronts", "ideal", "excess", "conflicts"))


def test_conflicts_are_an_answer_unless_strict(capsys):
    assert main(["check", TILE]) == 0
    assert main(["check", TILE, "--strict"]) == 1
    assert main(["check", SWIZZLED, "--strict", "--json"]) == 0


def test_what_is_not_known_exactly_says_so(capsys):
    assert "not known exactly" in printed(capsys, "check", SWIZZLED, "--op", "cp.async.cg.16")
    assert "assumed" in printed(capsys, "check", SWIZZLED, "--arch", "sm_80")


def test_lanes_and_domain_name_any_other_access(capsys):
    arguments = ["check", "(32,32):(32,1)", "--dtype", "f32", "--op", "ld.shared.b32", "--lanes", "tid, k"]
    found = json.loads(printed(capsys, *arguments, "--domain", "k=32", "--json"))
    assert found["excess"] == 31 * 32 and found["domain"] == {"tid": 32, "k": 32}
    assert found["first_conflict"].startswith("instruction 0 (k = 0): lanes 0-31 want 32 words of bank 0: 0, 32, ")
    padded = [*arguments, "--domain", "k=32", "--strict"]
    padded[1] = "(32,32):(33,1)"
    assert main(padded) == 0


@pytest.mark.parametrize("arguments, expected", [
    (["check"], "the following arguments are required: LAYOUT"),
    ([], "COMMAND"),
    (["chekc", TILE], "invalid choice: 'chekc' (did you mean check?)"),
    (["check", TILE, "--jsn"], "unrecognized arguments"),
    (["check", TILE, "\n--x\ny"], "unrecognized arguments"),
    (["check", "(16,64"], "column 7: expected"),
    (["check", "(16,64):(64,1) \x1b[31m"], "unexpected character"),
    (["check", "\ud800"], "unexpected character"),
    (["check", ""], "expected a layout"),
    (["check", "(" * 100_000], "100000 characters"),
    (["check", "(" * 5000], "nesting"),
    (["check", "__import__('os')"], "unexpected character"),
    (["check", "(4,4):(1,1)", "--op", "ld.shared.b16"], "no whole number of warps"),
    (["check", "(16,16):(0,1)"], "(0, 0) and (1, 0) both map to offset 0"),
    (["check", "(999999999,999999999):(999999999,1)"], "use a smaller tile"),
    (["check", "(2,32):(4611686018427387904,1)", "--op", "ld.shared.b16"], "use smaller strides"),
    (["check", "(2,32):(200000,1)", "--op", "ld.shared.b16"], "out of range"),
    (["check", "Sw<3,3,3>"], "compose it with a layout"),
    (["check", "Sw<3,3,3>", "--lanes", "tid"], "compose it with a layout"),
    (["check", "Sw<3,3,2> o (16,64):(64,1)"], "perhaps not bijective"),
    (["check", "Sw<3,2,3> o (16,64):(64,1)"], "16-byte chunks"),
    (["check", "(4,4,16):(64,16,1)"], "3 modes"),
    (["check", "ty*256 + i*64 + k", "--domain", "ty=16", "i=4", "k=64"],
     "over rows and columns: say which coordinate each lane gives (an Access's lanes, or --lanes)"),
    (["check", "(16,24):(24,1)"], "use ldmatrix.x2 (16 x 8)"),
    (["check", "(16,64)"], "write (16,64):(64,1) for one row after another"),
    (["search", "((4,4),64)"], "write (16,64):(64,1) for one row after another"),
    (["check", "(16,64):(1,24)"], "has its columns so: use ldmatrix.x4.trans"),
    (["check", "SWIZZLE_100B"], "swizzle mode 100: TMA has 0, 32, 64 and 128 bytes"),
    (["check", TILE, "--op", ""], "--op '': name an instruction"),
    (["check", TILE, "--json", "x.txt"], "--json x.txt: name a file that ends in .json"),
    (["check", TILE, "--json", "/no/such/folder/x.json"], "there is no folder /no/such/folder: make it first"),
    (["explore", TILE, "-o", "page.pdf"], "name a file that ends in .html or .htm"),
    (["explore", TILE, "-o", ""], "name a file that ends in .html or .htm"),
    (["explore", TILE, "-o", "page.html", "--port", "8000"], "nobody serves then: leave out --port"),
    (["conform", "--rocm", "script.txt"], "name a file that ends in .py"),
    (["conform", "--record", "cases.json"], "name a file that ends in .npz"),
    (["translate", TILE, "--dtype", "f17"], "unknown dtype 'f17'"),
    (["equal", TILE, TILE, "--dtype", "f17"], "unknown dtype 'f17'"),
    (["lesson", "--to", "made"], "--to is for the copy of a lesson: give its number too"),
    (["lesson", "theory", "--force"], "--force is for the copy of a lesson: give its number too"),
    (["check", TILE, "--op", "ld.shared.b16", "--dtype", "f32"], "use a wider instruction"),
    (["check", TILE, "--op", "ldmatrix.x3"], "did you mean"),
    (["check", TILE, "--op", "wgmma.m64n256k16"], "not modelled"),
    (["check", TILE, "--op", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "--arch", "sm_100"], "8 bits and fewer"),
    (["check", TILE, "--op", "ld.shared::cluster.b32"], "of the CTA's own write ld.shared"),
    (["check", TILE, "--op", "ld.shared.v8.f32"], "two ld.shared.v4"),
    (["check", TILE, "--op", "ld.global.v4.f32"], "global memory has no banks; did you mean ld.shared?"),
    (["check", TILE, "--op", "ld.shared.v4"], "write ld.shared.v4.f32"),
    (["check", TILE, "--op", "ldmatrix.x4", "--op", "st.shared.b128"], "one command takes one"),
    (["emit", TILE, "--op", "st.shared.b128", "ldmatrix.x4"], "quote the LAYOUT for the shell, and give one --op"),
    (["check", "64x64"], "a layout is written as '(16,64):(64,1)'"),
    (["check", "rwo * 64 + col", "--domain", "row=64", "col=64"], "which has rwo, col"),
    (["lesson", "1", "--to", "one.ipynb"], "give the folder"),
    (["check", TILE, "--op", "stmatrix.x4", "--arch", "sm_80"], "sm_90 or newer"),
    (["check", TILE, "--dtype", "f17"], "unknown dtype 'f17'"),
    (["check", TILE, "--arch", "sm_12"], "unknown architecture"),
    (["check", TILE, "--arch", "mi300x"], "unknown architecture 'mi300x' (did you mean gfx942?)"),
    (["check", TILE, "--lanes", "tid, k"], "known: tid; any other has its size in the domain, as in k=4"),
    (["check", TILE, "--lanes", "tid, 0", "--lanes", "tid, 1"], "--lanes 'tid, 0' is given, and one access has one"),
    (["check", TILE, "--dtype", "half"], "did you mean f16?"),
    (["check", TILE, "--lanes", "tid, 8*k", "--domain", "k=4"], "leaves the tile"),
    (["check", TILE, "--lanes", "tid % 16 - 1, 0"], "leaves the tile"),
    (["check", TILE, "--lanes", "tid % 16"], "not neighbours"),
    (["check", TILE, "--lanes", "tid % 16, 0, 0"], "gives (0, 0, 0) to"),
    (["check", TILE, "--lanes", "tid // (tid - tid), 0"], "divides by zero"),
    (["check", TILE, "--lanes", "1 << (2147483647*tid), 0"], "shifts by"),
    (["check", TILE, "--lanes", "().__class__"], "unexpected character"),
    (["check", TILE, "--domain", "k=4"], "give both or neither"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "k"], "NAME=TRIPS"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "k=0"], "NAME=TRIPS"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "k=2", "k=2"], "given twice"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "if=2"], "cannot be a name"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "k=999999", "i=999999"], "at most 65536"),
    (["check", TILE, "--lanes", "tid % 16, 0", "--domain", "tid=48"], "multiple of 32"),
    (["check", TILE, "--op", "st.shared.b128", "--lanes", "0, 0"], "store to the same bytes"),
    (["explain", TILE, "--index", "4"], "0 to 3"),
    (["explain", TILE, "--index", "-1"], "not an integer from 0"),
    (["explain", TILE, "--index", "x"], "not an integer from 0"),
    (["plot", TILE], "-o/--output"),
    (["plot", TILE, "-o", "x.pdf"], ".svg or .png"),
    (["plot", TILE, "-o", "/no/such/folder/x.svg"], "cannot write"),
    (["emit", TILE], "`simlayout search` finds a layout without, and --allow-conflicts emits this one"),
    (["emit", TILE, "--unit", "bits"], "invalid choice"),
    (["emit", "(16,16):(0,1)", "--allow-conflicts"], "not one-to-one"),
    (["gemm", "--kernel", "nope"], "unknown kernel 'nope'; known: mma_base"),
    (["gemm", "--kernel", "mma_permuted", "--warps", "8", "--cpu"], "has no option 'warps'"),
    (["gemm", "--kernel", "mma_permuted", "--stages", "9", "--cpu"], "choose one of"),
    (["gemm", "-M", "0"], "not an integer from 1"),
    (["gemm", "-M", "99999999999"], "not an integer from 1"),
    (["gemm", "--seed", "-1"], "seed"),
    (["gemm", "--cpu", "--gpu"], "not allowed with"),
])
def test_every_refusal_is_one_line_that_names_the_fault(capsys, arguments, expected):
    started = time.process_time()  # not the wall's: tests run side by side
    assert expected in refused(capsys, *arguments)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("words", [["check"], ["explain"], ["emit"], ["explore"], ["search"], ["plot", "-o", "a.svg"],
                                   ["translate"], ["equal", "(4,4):(4,1)"]])
def test_a_file_where_a_layout_is_asked_for_is_told_so(capsys, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.ipynb").write_text("{}")
    assert "x.ipynb is a file: give the text of a layout, such as '(16,64):(64,1)'" in refused(capsys, *words, "x.ipynb")


def test_a_file_where_a_kernel_is_asked_for_is_sent_to_run(capsys):
    assert refused(capsys, "trace", "prog.py").endswith("; files are run by `simlayout run`\n")
    assert "simlayout run" not in refused(capsys, "trace", "prog")


@pytest.mark.parametrize("name", ["lesson", "lessons", "lesson-2", "2"])
def test_who_asks_the_guide_for_a_lesson_is_told_where_they_are(capsys, name):
    assert "the lessons are notebooks: `simlayout lesson` lists them" in refused(capsys, "guide", name)
    assert "notebooks" not in refused(capsys, "guide", "nope")


def test_a_search_with_nothing_allowed_names_the_option_that_allows_nothing(capsys):
    assert main(["search", TILE, "--budget", "5"]) == 1
    assert "give --budget 2048 or more" in capsys.readouterr().out
    found = json.loads(printed(capsys, "search", TILE, "--budget", "5", "--json", code=1))
    assert found["reason"].endswith("the smallest takes 2048 bytes: give --budget 2048 or more") and not found["candidates"]
    assert json.loads(printed(capsys, "search", TILE, "--json"))["reason"] is None


@given_few(35, 100, st.text(alphabet="()<>,:0123456789SwRot@ o_-", max_size=40) | st.text(max_size=20))
def test_hostile_layouts_end_in_an_answer_or_in_one_line(text):
    out, err = io.StringIO(), io.StringIO()
    old = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = main(["check", "--op", "ld.shared.b16", "--", text])
    finally:
        sys.stdout, sys.stderr = old
    assert code in (0, 2)
    assert err.getvalue().count("\n") == (1 if code == 2 else 0)
    assert bool(out.getvalue()) is (code == 0)


# ---- explain, plot, emit --------------------------------------------------------------------------------------------

def test_explain_prints_the_analysis_own_words(capsys):
    analysis = natural_access(sl.parse(TILE), "ldmatrix.x4", "f16").analyze()
    out = printed(capsys, "explain", TILE, "--index", "2")
    assert out.split("\n", 1)[1] == analysis.explain(2) + "\n"
    found = json.loads(printed(capsys, "explain", TILE, "--index", "2", "--json"))
    assert found["explanation"] == analysis.explain(2) and found["excess"] == 28 and found["index"] == 2


@pytest.mark.parametrize("name", ["a.svg", "a.png", "A.SVG"])
def test_plot_writes_its_file_whole(capsys, tmp_path, name):
    out = printed(capsys, "plot", TILE, "-o", str(tmp_path / name))
    assert "32 wavefronts, ideal 4" in out
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes()[:5] in (b"<?xml", b"\x89PNG\r")


def test_what_is_refused_writes_no_file(capsys, tmp_path):
    refused(capsys, "plot", "(16,16):(0,1)", "-o", str(tmp_path / "a.svg"))
    refused(capsys, "plot", TILE, "--index", "9", "-o", str(tmp_path / "a.svg"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unit, scale", [("elements", 1), ("bytes", 2)])
def test_emitted_source_is_the_layout(capsys, unit, scale):
    source = printed(capsys, "emit", SWIZZLED, "--unit", unit)
    assert "conflict-free" in source
    function = sl.codegen.compile_source(source)["tile"]
    tile = sl.parse(SWIZZLED)
    for tid in range(32):
        for k in range(4):
            assert function(tid, k) == scale * tile(tid % 16, 16 * k + 8 * (tid // 16))
    assert "__device__" in printed(capsys, "emit", SWIZZLED, "--cuda", "--unit", unit)


def test_emit_takes_lanes_and_allows_conflicts_when_told(capsys):
    lanes = "tid % 16, 16*k + 8*(tid // 16)"
    source = printed(capsys, "emit", TILE, "--allow-conflicts", "--lanes", lanes, "--domain", "k=4")
    assert sl.codegen.compile_source(source)["tile"](17, 1) == 64 + 24


def test_emit_refuses_what_the_symbols_cannot_trace_in_one_line(capsys):
    for lanes in ("tid % 16, 8 * (k % (k + 1))", "tid % 16, 8 * ((tid - 16) & 0)", "(tid % 16) >> (tid - tid), 0"):
        code = main(["emit", SWIZZLED, "--lanes", lanes, "--domain", "k=2", "--allow-conflicts"])
        err = capsys.readouterr().err
        assert code == 0 or code == 2 and err.count("\n") == 1


# ---- gemm, kernels ------------------------------------------------------------------------------------------------

def test_gemm_prints_the_problem_the_bounds_the_table_and_the_verdict(capsys):
    out = printed(capsys, "gemm", "--cpu", "-M", "64", "-N", "64", "-K", "32")
    for part in ("problem ", "mma_permuted", "clocks of shared memory", "verified ", "emitted ", "correct ", "load A",
                 "CPU machine", "equal"):
        assert part in out
    assert out.splitlines()[-1].split() == ["result", "ok"]


def test_gemm_passes_the_options_that_are_given_and_prints_json(capsys):
    out = printed(capsys, "gemm", "--kernel", "mma_blocks", "--loads", "lds", "--c-store", "scalar", "--cpu", "--json",
                  "-M", "40", "-N", "24", "-K", "16", "--seed", "3")
    found = json.loads(out)
    assert found["ok"] is True and found["options"]["loads"] == "lds" and found["options"]["c_store"] == "scalar"
    assert found["problem"] == {"M": 40, "N": 24, "K": 16} and found["device"] == "CPU machine"


def test_gemm_exits_with_1_when_the_product_is_wrong(capsys, monkeypatch):
    import cuda_kernels.job as job

    monkeypatch.setattr(job, "compare", lambda *_: (float("inf"), "nothing is right"))
    monkeypatch.setattr(job, "emit_again", lambda kernel: "emitted")
    assert main(["gemm", "--cpu", "-M", "16", "-N", "16", "-K", "16"]) == 1
    assert "WRONG" in capsys.readouterr().out
    assert main(["gemm", "--cpu", "-M", "16", "-N", "16", "-K", "16", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error_over_bound"] is None


def test_gemm_on_a_gpu_that_is_not_there_is_refused(capsys, monkeypatch):
    import cuda_kernels.run.device as launch

    monkeypatch.setattr(launch, "gpu_problem", lambda: "no CUDA GPU here")
    assert refused(capsys, "gemm", "--gpu") == "simlayout: no CUDA GPU here\n"


def test_kernels_lists_each_kernel_with_its_summary(capsys):
    from cuda_kernels.kernels import KERNELS

    known, out = KERNELS, printed(capsys, "kernels")
    told = " ".join(out.split())
    assert {"mma_base", "wgmma_persistent"} < set(known)
    assert all(name in told and kernel.summary in told for name, kernel in known.items())
    assert "--tile-m 128 --tile-n 256 --stages 4 --cluster-m 1 --cluster-n 1" in told and "\n\n" not in out
    assert "()" not in printed(capsys, "kernels", "warptile")          # which has no options
    assert set(json.loads(printed(capsys, "kernels", "--json"))) == set(known)


@pytest.mark.parametrize("name, tile", [("mma_permuted", "tile 256x128x32"), ("wgmma_persistent", "tile 128x256x64")])
def test_kernels_with_a_name_gives_the_plan_of_that_kernel(capsys, name, tile):
    out = printed(capsys, "kernels", name)
    assert tile in out and "bound by" in out and f"`simlayout gemm {name}` runs it" in out
    found = json.loads(printed(capsys, "kernels", name, "--json"))
    assert list(found) == [name] and found[name]["plan"].startswith(tile) and found[name]["options"]["stages"] == 4
    assert "known: mma_base" in refused(capsys, "kernels", "nobody")


# ---- the process ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command", ["", "check", "explain", "plot", "emit", "gemm", "kernels"])
def test_every_help_teaches_by_example(capsys, command):
    out = printed(capsys, *command.split(), "--help")
    assert f"  simlayout {command}" in out.split("examples:")[1]


def test_an_interrupt_is_one_line_and_130(capsys, monkeypatch):
    import simlayout.cli.layouts as layouts

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(layouts, "verify", interrupted)
    assert main(["check", TILE]) == 130
    assert capsys.readouterr().err == "simlayout: interrupted\n"


def test_too_large_a_problem_is_one_line(capsys, monkeypatch):
    import cuda_kernels.job as job

    def too_large(*_, **__):
        raise MemoryError("Unable to allocate 1 EiB")

    monkeypatch.setattr(job, "main_job", too_large)
    assert main(["gemm", "--cpu"]) == 2
    assert "not enough memory: Unable to allocate 1 EiB" in capsys.readouterr().err


def test_on_a_terminal_a_parse_error_shows_its_caret(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["check", "(16,64"]) == 2
    assert capsys.readouterr().err.splitlines()[1:] == ["    (16,64", "          ^"]


def test_the_module_runs_as_a_program_and_survives_a_closed_pipe():
    command = [sys.executable, "-m", "simlayout", "check", TILE, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and json.loads(done.stdout)["excess"] == 112
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.close()
    assert program.stderr.read() == b"" and program.wait(600) == 141
    program.stderr.close()
    code = "import sys, simlayout.cli; sys.exit(bool({'numba', 'matplotlib', 'cuda_kernels'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0


@pytest.mark.parametrize("command", ["check", "explain", "emit"])
def test_an_error_about_the_instruction_that_is_taken_without_op_says_so(capsys, command):
    of = command, "(32,32):(33,1)", "--dtype", "f32"
    assert "without --op this is about ldmatrix.x4" in refused(capsys, *of)
    assert "without --op" not in refused(capsys, *of, "--op", "ldmatrix.x4")
