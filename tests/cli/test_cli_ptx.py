"""simlayout ptx and simlayout run: kernels of any compiler from the command line."""

import io
import json
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from commands import answered, printed, refused
from hypothesis import strategies as st
from ptx_texts import TRANSPOSE, WRITE, compile_loop, module
from tiers import given_few

import simlayout.guide
from simlayout.cli import main
from simlayout.cli.fills import FILLS, element_type
from simlayout.cli.fills import given as argument
from simlayout.errors import SimlayoutError

GUIDE = Path(simlayout.guide.__file__).parent


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder but for transpose.cu, what nvcc made of it, and one.ptx."""
    monkeypatch.chdir(tmp_path)
    for name in ("transpose.cu", "transpose.ptx"):
        (tmp_path / name).write_text((GUIDE / name).read_text())
    (tmp_path / "one.ptx").write_text(module(WRITE, ["u64"]))
    return tmp_path


def files(folder):
    return {path.name for path in folder.iterdir()} - {"transpose.cu", "transpose.ptx", "one.ptx"}


def examples(capsys, command, count):
    """The first command lines on PTX that a help shows, as words."""
    shown = printed(capsys, command, "--help").split("examples:")[1].replace("\\\n", " ")
    lines = [line for line in shown.splitlines() if line.startswith("  simlayout ") and ".ptx" in line]
    return [shlex.split(line, comments=True)[1:] for line in lines][:count]


@pytest.mark.parametrize("command", ["ptx", "run"])
def test_the_first_two_examples_on_ptx_of_the_help_run_as_they_stand(capsys, command):
    for words in examples(capsys, command, 2):
        text = printed(capsys, *words)
        assert "transpose" in text
    if command == "run":
        assert "4096 of 4096" not in text and "1023 of 1024 elements changed" in text and "// transpose.cu:9" in text


# ---- ptx ---------------------------------------------------------------------------------------------------------------

def test_ptx_tells_entries_parameters_instructions_and_shared_memory_by_line(capsys):
    text = printed(capsys, "ptx", "transpose.ptx")
    for part in ("transpose.ptx: PTX 9.0, sm_90a", "param_0: .u64, param_1: .u64, param_2: .u32", "4096 bytes",
                 "56: add.s32 8, add.s64 8", "transpose.cu:5: 4 x st.shared.f32", "transpose.cu:9: 4 x ld.shared.f32",
                 "nothing: the machine can execute all of it"):
        assert part in text
    found = answered(capsys, "ptx", "transpose.ptx")
    (entry,) = found["entries"]
    assert sum(entry["instructions"].values()) == 56 and entry["shared_bytes"] == 4096 and found["unsupported"] == []
    assert entry["shared"] == [
        {"file": "transpose.cu", "line": 5, "instruction": "st.shared.f32", "count": 4},
        {"file": "transpose.cu", "line": 9, "instruction": "ld.shared.f32", "count": 4}]
    assert [p["type"] for p in entry["parameters"]] == ["u64", "u64", "u32"]


def test_ptx_tells_what_a_launch_must_be_and_which_functions_are_called(capsys, folder):
    helper = ".func helper() { .reg .b32 %r<2>; st.shared.b32 [dynamic], %r1; ret; }"
    text = module("call helper;\nret;", [".param .align 8 .b8 kernel_param_0[24]"], directives=".reqntid 64, 2",
                  before=f".extern .shared .b8 dynamic[];\n{helper}")
    (folder / "k.ptx").write_text(text)
    (entry,) = answered(capsys, "ptx", "k.ptx")["entries"]
    assert (entry["required_block"], entry["dynamic_shared"], entry["functions"]) == ([64, 2, 1], True, ["helper"])
    assert entry["parameters"][0]["bytes"] == 24 and entry["shared"][0]["file"] == "k.ptx"
    said = printed(capsys, "ptx", "k.ptx")
    assert "64 x 2 x 1, required" in said and "0 bytes, and dynamic" in said and "helper" in said


def test_ptx_lists_what_the_machine_cannot_execute_and_exits_with_1(capsys, folder):
    (folder / "k.ptx").write_text(module("frobnicate.b32 %r1, %r2;\nfrobnicate.b32 %r1, %r2;\nret;"))
    said = printed(capsys, "ptx", "k.ptx", code=1)
    assert "what the machine cannot execute (1 instruction)" in said and "line 9         2 x  frobnicate.b32:" in said
    assert answered(capsys, "ptx", "k.ptx", code=1)["unsupported"][0]["times"] == 2
    assert "frobnicate.b32 (line 9, 2 times)" in refused(capsys, "run", "k.ptx", "--block", "32")


def test_a_kernel_of_cxx_is_shown_as_its_source_has_it_and_what_its_parameters_are(capsys, folder):
    (folder / "k.ptx").write_text(module("ret;", ["u64", "u64", "u32"], "_Z4rowsI6__halfEvPKT_PS1_i"))
    parameters = "param_0: const __half*, param_1: __half*, param_2: int"
    said = printed(capsys, "ptx", "k.ptx")
    assert "rows<__half>, which is _Z4rowsI6__halfEvPKT_PS1_i" in said and f"parameters    {parameters}\n" in said
    assert answered(capsys, "ptx", "k.ptx")["entries"][0]["called"] == "rows<__half>"
    told = refused(capsys, "run", "k.ptx", "--block", "32", "--arg", "A=f16[64]")
    assert f"rows<__half> takes 3 arguments ({parameters}), and 1 is given: give an --arg for each, in this order" in told
    given = "--arg f16[64] --arg f16[64] --arg 64".split()
    assert "rows<__half> does not tell its block: give --block, as in --block 256" in refused(capsys, "run", "k.ptx", *given)
    assert printed(capsys, "run", "k.ptx", "--block", "32", *given).startswith("entry         rows<__half>\n")


def test_of_a_parameter_whose_type_is_a_long_template_the_size_is_told(capsys, folder):
    long = "N4mine6ParamsI" + "4Tile" * 12 + "EE"
    (folder / "k.ptx").write_text(module("ret;", [".param .align 8 .b8 kernel_param_0[24]"], f"_Z1k{long}"))
    said = printed(capsys, "ptx", "k.ptx").split("parameters")[1]
    assert ": 24 bytes\n" in said and "Tile" not in said


@pytest.mark.parametrize("columns", range(40, 120, 7))
def test_ptx_never_parts_the_name_of_an_instruction_from_its_number(capsys, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = printed(capsys, "ptx", "transpose.ptx").split("instructions  ")[1].split("shared memory")[0]
    assert all(not line.strip() or line.rstrip(" ,")[-1].isdigit() for line in said.splitlines())


def test_of_a_file_with_a_kernel_that_cannot_be_executed_another_one_runs(capsys, folder):
    other = module("frobnicate.b32 %r1, %r2;\nret;", name="strange").partition(".visible")
    (folder / "k.ptx").write_text(module("ret;", name="plain") + other[1] + other[2])
    assert "entry         plain" in printed(capsys, "run", "k.ptx", "--entry", "plain", "--block", "32")
    assert "frobnicate.b32" in refused(capsys, "run", "k.ptx", "--entry", "strange", "--block", "32", "--save", "made")
    assert not (folder / "made").exists()


def test_errors_about_shared_memory_name_the_option_of_the_command_line_and_the_argument_in_python(capsys, folder):
    (folder / "k.ptx").write_text(module("mov.u32 %r1, 4096;\nst.shared.u32 [%r1], %r1;\nret;"))
    told = printed(capsys, "run", "k.ptx", "--block", "32", code=1)
    assert "(ask for more by shared_bytes, or --shared of `simlayout run`)" in told
    told = refused(capsys, "run", "k.ptx", "--block", "32", "--shared", "999999")
    assert "(shared_bytes, or --shared of `simlayout run`)" in told


def test_a_variable_of_constant_memory_is_listed_and_holds_what_an_option_says(capsys, folder):
    body = WRITE.replace("mov.u32", "ld.const.u32 %r2, [most+4];\nmov.u32").replace("[%rd1], %r1", "[%rd1], %r2")
    (folder / "k.ptx").write_text(module(body, ["u64"], before=".const .align 4 .b8 most[8];"))
    assert "variables     most: 8 bytes of .const" in printed(capsys, "ptx", "k.ptx")
    of = "run", "k.ptx", "--block", "32", "--arg", "C=u32[32]", "--save", "made"
    assert "most          uint32 [2], 0 of 2" in printed(capsys, *of, "--variable", "most=u32[2]:integers:7:8")
    assert np.load("made/C.npy").tolist() == 32 * [7]
    for given, told in (("most=u32[3]", "most has 8 bytes, and these are 12"), ("least=u32[2]", "this module has most"),
                        ("8", "write NAME=TYPE[SHAPE]:FILL"), ("most=f99[2]", "--variable most=f99[2]: unknown type 'f99'")):
        assert told in refused(capsys, *of, "--variable", given)


def test_a_line_that_wastes_sectors_of_global_memory_is_named(capsys, folder):
    (folder / "k.ptx").write_text(module(WRITE.replace("%r1, 4", "%r1, 32"), ["u64"]))
    told = answered(capsys, "run", "k.ptx", "--block", "32", "--arg", "C=u32[256]", "--json")
    assert [(one["sectors"], one["least"]) for one in told["sectors"]] == [(32, 4)]
    assert "touches 8.0 times the sectors that its bytes fill" in printed(capsys, "run", "k.ptx", "--block", "32", "--arg",
                                                                          "C=u32[256]")
    assert "sectors" not in printed(capsys, "run", "one.ptx", "--block", "32", "--arg", "C=u32[32]")


def test_a_dash_reads_ptx_from_stdin(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(TRANSPOSE))
    assert "<text>: PTX 9.0" in printed(capsys, "ptx", "-")


@pytest.mark.parametrize("command", ["ptx", "run"])
@pytest.mark.parametrize("text, told", [(None, "cannot read"), (" \n", "bad.ptx is empty"), ("a\nb", "1:1: expected"),
                                        (".version 9.0\n.target sm_90\n.visible", "3:"), (b"\xff\xfe", "cannot read")])
def test_what_is_no_ptx_is_one_line(capsys, folder, command, text, told):
    if text is not None:
        (folder / "bad.ptx").write_bytes(text.encode() if isinstance(text, str) else text)
    assert told in refused(capsys, command, "bad.ptx")


@pytest.mark.parametrize("command", ["ptx", "run"])
@pytest.mark.parametrize("name, told", [
    ("x.ipynb", "x.ipynb is a notebook, not PTX: make a program of it, `jupyter nbconvert --to script x.ipynb`"),
    ("k.cu", "k.cu is source of CUDA C++, not PTX: compile it, `nvcc -arch=sm_90a -O3 -lineinfo -ptx k.cu -o k.ptx`"),
    ("x.txt", "x.txt does not begin with '.version', as PTX does: name a file of PTX, or for `simlayout run` a program"),
    ("k.cubin", "k.cubin is compiled code, not PTX: `cuobjdump -ptx k.cubin` prints the PTX in it"),
    ("made", "made is a folder: name a file in it"), ("", "the name of the file is empty")])
def test_a_file_of_another_kind_is_told_what_it_is_and_what_to_do(capsys, folder, command, name, told):
    if name == "made":
        (folder / name).mkdir()
    elif name:
        (folder / name).write_bytes(b"\xff\xfe" if name == "k.cubin" else b"{}\n")
    assert told in refused(capsys, command, name)


def test_a_program_in_python_is_no_ptx(capsys, folder):
    (folder / "a.py").write_text("x = 1\n")
    assert "a.py is a program in Python, not PTX: `simlayout run a.py` runs it" in refused(capsys, "ptx", "a.py")


def test_ptx_under_any_name_is_ptx(capsys, folder):
    (folder / "made.txt").write_text(TRANSPOSE)
    assert "made.txt: PTX 9.0" in printed(capsys, "ptx", "made.txt")


# ---- run ---------------------------------------------------------------------------------------------------------------

TRANSPOSED = ["run", "transpose.ptx", "--grid", "2,2", "--block", "32,8", "--arg", "A=f32[64,64]:normal",
              "--arg", "C=f32[64,64]", "--arg", "64"]


def test_of_several_entries_one_is_chosen_by_an_option(capsys, folder):
    (folder / "two.ptx").write_text(TRANSPOSE + TRANSPOSE[TRANSPOSE.index(".visible"):].replace("kernel", "other"))
    told = refused(capsys, "run", "two.ptx")
    assert "two.ptx has 2 entries: choose one with --entry, as in --entry kernel; there are kernel, other" in told


def test_an_array_without_elements_is_an_argument_as_others_are(capsys):
    arrays = "--arg", "A=f32[4,0]", "--arg", "C=f32[0]:arange"
    assert main(["run", "transpose.ptx", "--grid", "1", "--block", "32,8", *arrays, "--arg", "0"]) == 1
    text = capsys.readouterr().out
    assert "behind the end of the float32 array" in text and "A             float32 [4, 0], 0 of 0 elements changed" in text


def test_arrays_that_all_stayed_zero_are_said_to_be_worth_a_fill(capsys):
    words = [word.partition(":")[0] if word.startswith("A=") else word for word in TRANSPOSED]
    assert "fill what the kernel reads" in " ".join(printed(capsys, *words).split())
    assert "fill what the kernel reads" not in " ".join(printed(capsys, *TRANSPOSED).split())


def test_run_prints_the_listing_the_wavefronts_and_what_changed(capsys):
    text = " ".join(printed(capsys, *TRANSPOSED).split())
    for part in ("grid 2 x 2, block 32 x 8", "5 672 128 128 128 0 tile[threadIdx.y + i][threadIdx.x]",
                 "9 576 128 4096 128 3968 c[(y + i)", "wavefronts ld 4096, st 128", "A float32 [64, 64], 0 of 4096",
                 "C float32 [64, 64], 4096 of 4096 elements changed", "hazards none"):
        assert part in text


def test_a_kernel_with_excess_exits_with_1_if_strict_as_a_program_does(capsys):
    assert main([*TRANSPOSED, "--strict"]) == 1 and "hazards       none" in capsys.readouterr().out
    assert main(["run", "one.ptx", "--strict", "--block", "4", "--arg", "x=u32[4]"]) == 0


def test_run_proposes_the_edit_that_mends_an_array_of_the_source(capsys, folder):
    assert ("transpose.cu:2: excess 3968 of tile; this makes it 0, 128 bytes more:\n"
            "  line 2: __shared__ float tile[32][32 + 1];\n\nwavefronts") in printed(capsys, *TRANSPOSED)
    (mend,) = answered(capsys, *TRANSPOSED)["mends"]
    assert (mend["name"], mend["excess"], mend["left"], mend["edits"][0]["line"]) == ("tile", 3968, 0, 2)


def test_ptx_that_names_no_lines_is_told_what_an_edit_needs(capsys, folder):
    text = (GUIDE / "transpose.ptx").read_text()
    (folder / "bare.ptx").write_text("\n".join(line for line in text.splitlines() if not line.strip().startswith(".loc")))
    words = [word.replace("transpose.ptx", "bare.ptx") for word in TRANSPOSED]
    sentence = "no edit is proposed: this PTX does not name the lines of its source (nvcc -lineinfo)"
    assert sentence in printed(capsys, *words) and sentence not in printed(capsys, *TRANSPOSED)


def test_excess_of_arrays_that_are_not_declared_in_sight_is_told_to_get_no_edit(capsys, folder):
    sentence = "excess 3968 of tile; no edit is proposed: its source is not at hand"
    assert sentence not in printed(capsys, *TRANSPOSED)
    (folder / "transpose.cu").unlink()
    assert sentence in printed(capsys, *TRANSPOSED)


def test_what_functions_of_headers_cost_stands_beside_the_calls_in_the_kernel(capsys, folder):
    store = ".loc 2 7 1, function_name $L, inlined_at {}\nst.shared.b32 [tile+{}], %r1;"
    nested = ".loc 2 9 1, function_name $L, inlined_at 1 4 1"
    calls = [store.format("1 4 1", 0), nested, store.format("2 9 1", 128), store.format("1 3 1", 256), ".loc 1 5 1"]
    text = module("\n".join([*calls, "st.shared.b32 [tile+384], %r1;\nret;"]), before=".shared .align 4 .b8 tile[512];")
    (folder / "k.ptx").write_text(f'{text}\n.file 1 "kernel.cu"\n.file 2 "header.h"\n')
    (folder / "kernel.cu").write_text("1\n2\nthird();\nfourth();\n")
    said = printed(capsys, "run", "k.ptx", "--block", "32")
    table = said.partition("counted above, by the calls in ")[2].partition("\n\n")[0].splitlines()
    assert table[0].endswith("kernel.cu") and [line.split() for line in table[2:]] == [
        ["3", "1", "1", "1", "0", "third();"], ["4", "2", "2", "2", "0", "fourth();"]]
    assert "by the calls" not in printed(capsys, "run", "k.ptx", "--block", "32", "--lines", "ptx")
    assert "by the calls" not in printed(capsys, *TRANSPOSED)


def test_run_answers_the_same_as_json_beside_the_text_or_in_its_place(capsys, folder):
    found = answered(capsys, *TRANSPOSED)
    printed(capsys, *TRANSPOSED, "--json", "answer.json")
    assert json.loads((folder / "answer.json").read_text()) == found and files(folder) == {"answer.json"}
    assert found["totals"] == {"ld": 4096, "ldmatrix": 0, "st": 128, "stmatrix": 0, "copy": 0, "atom": 0}
    assert found["total"]["excess"] == 3968 and found["arrays"]["C"]["changed"] == 4096 and found["hazards"] == []
    assert {line["line"]: line["wavefronts"] for line in found["lines"]}[9] == 4096


def test_what_is_saved_is_what_is_expected_and_one_other_number_is_not(capsys, folder):
    printed(capsys, *TRANSPOSED, "--save", "out", "--save", "A=A.npy")
    assert {path.name for path in (folder / "out").iterdir()} == {"C.npy"}
    a, c = np.load("A.npy"), np.load("out/C.npy")
    assert (c == a.T).all() and c.dtype == np.float32
    assert "as expected" in printed(capsys, *TRANSPOSED, "--expect", "C=out/C.npy")
    c[3, 4] += 0.25
    np.save("C.npy", c)
    assert "1 of 4096 elements differ; the first is [3, 4]: " in printed(capsys, *TRANSPOSED, "--expect", "C=C.npy", code=1)
    assert "as expected" in printed(capsys, *TRANSPOSED, "--expect", "C=C.npy", "--tolerance", "0.5")
    assert "differ" in printed(capsys, *TRANSPOSED, "--seed", "1", "--expect", "C=C.npy", code=1)


def test_an_argument_does_not_change_the_numbers_of_another(capsys, folder):
    for more in ([], ["--save", "x"]):
        printed(capsys, *TRANSPOSED, "--save", "A=a.npy", *more)
    other = [word.replace("C=f32[64,64]", "C=f32[64,64]:normal") for word in TRANSPOSED]
    printed(capsys, *other, "--save", "A=b.npy")
    assert (np.load("a.npy") == np.load("b.npy")).all()


def test_hazards_are_listed_and_the_exit_code_is_1(capsys, folder):
    racy = TRANSPOSE.replace("bar.sync 0;", "").replace("%tid.x", "%laneid")
    (folder / "racy.ptx").write_text(racy)
    words = ["run", "racy.ptx", "--block", "64", "--arg", "A=f32[32,32]:normal", "--arg", "C=f32[32,32]"]
    text = printed(capsys, *words, code=1)
    assert "transpose.cu:5" in text and "see above" in text
    assert answered(capsys, *words, code=1)["hazards"]
    assert "not looked for" in printed(capsys, *words, "--hazards", "off")
    assert "hazard        " in printed(capsys, *words, "--hazards", "raise", code=1)
    assert len(answered(capsys, *words, "--hazards", "raise", code=1)["hazards"]) == 1


def greeting(ending):
    """A module whose threads print "hi" and then do something."""
    return module("""{ .local .align 8 .b8 none[8]; .param .b64 f; .param .b64 a; .param .b32 r;
        mov.u64 %rd1, hello; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, none; cvta.local.u64 %rd2, %rd2;
        st.param.b64 [f], %rd1; st.param.b64 [a], %rd2; call.uni (r), vprintf, (f, a); }
        """ + ending, before=""".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 hello[4] = {104, 105, 10, 0};""")


def test_what_the_kernel_prints_does_not_end_up_in_the_json(capsys, folder):
    (folder / "hello.ptx").write_text(greeting("ret;"))
    assert printed(capsys, "run", "hello.ptx", "--block", "2").startswith("hi\nhi\n")
    assert main(["run", "hello.ptx", "--block", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["entry"] == "kernel" and err.startswith("hi\nhi\n")


ARRAY = "--block 32 --arg A=f32[32] "


@pytest.mark.parametrize("words, told", [
    ("--arg f32[32]", "--block"), ("--grid x", "positive integers"),
    ("--block 0 --arg f32[32]", "write one to three positive integers"),
    ("--block 32", "kernel takes 1 argument (param_0: .u64), and 0 are given"),
    ("--block 2048 --arg f32[32]", "a CTA has at most 1024"),
    ("--block 32 --arg f99[32]", "--arg f99[32]: "),
    ("--block 32 --arg f32[32]:chaos", "no fill 'chaos'"),
    ("--block 32 --arg i64[32]", "unknown type 'i64' (did you mean s64?); known: f16 "),
    ("--block 32 --arg f128[32]", "b64 b128, bool, and NumPy's names such as int64 or complex64"),
    ("--block 32 --arg 'f32(32)'", "write NAME=TYPE[SHAPE]:FILL"),
    ("--block 32 --arg Ä=f32[32]", "a NAME is of English letters, digits and underscores"),
    ("--block 32 --arg ''", "write NAME="),
    ("--block 32 --arg '__import__(1)'", "write NAME="),
    ("--block 32 --arg s8[4]:normal", "has none"),
    ("--block 32 --arg f32[99999999999]", "bytes; an array has at most"),
    ("--block 32 --arg u8[4]:integers:0:300", "uint8 holds 0 to 255"),
    ("--block 32 --arg u8[4]:integers:5:5", "LOW below HIGH"),
    ("--block 32 --arg none.npy", "No such file"),
    ("--block 32 --arg f32[8]:one.npy", "No such file"),
    ("--block 32 --arg f32[8]:bad.npy", "cannot read bad.npy"),
    ("--block 32 --arg hex:0", "pairs of hexadecimal"),
    ("--block 32 --arg '{f32[4], 5}'", "5 is of no size: write its type, as in s32:5"),
    ("--block 32 --arg '{f32[4], u8:256}'", "u8 does not hold 256"), ("--block 32 --arg '{f32[4]'", "ends with '}'"),
    ("--block 32 --arg '{f32[4], }'", "write NAME=TYPE[SHAPE]"),
    ("--block 32 --arg 1.5", "1.5 is no integer"),
    (ARRAY + "--arg A=f32[32]", "two arguments are called A"),
    (ARRAY + "--expect B=x.npy", "no array is called B; there are A"),
    (ARRAY + "--expect A", "write NAME=FILE.npy"),
    (ARRAY + "--expect A=none.npy", "cannot read none.npy"),
    (ARRAY + "--save B=x.npy", "no array is called B"),
    (ARRAY + "--save A=x.txt", "write NAME=FILE.npy"),
    (ARRAY + "--save x.npy", "--save x.npy: write NAME=x.npy"),
    (ARRAY + "--save A=none/x.npy", "cannot write"),
    (ARRAY + "--save one.ptx/x", "cannot make the folder"),
    (ARRAY + "--save made --limit 3", "the warp has executed 3"),
    (ARRAY + "--json none/x.json", "cannot write"),
    (ARRAY + "--entry nope", "no entry 'nope'"),
    (ARRAY + "--arch sm_1", "sm_1"),
    (ARRAY + "--tolerance 2", "not a number from 0 to 1"),
    (ARRAY + "--limit 3", "one.ptx:12: CTA (0, 0, 0), warp 0: the warp has executed 3"),
    (ARRAY + "--shared 999999999", "bytes of shared memory")])
def test_what_cannot_be_run_is_one_line_and_no_file_is_written(capsys, folder, words, told):
    (folder / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00" + b"x" * 99)
    assert told in refused(capsys, "run", "one.ptx", *shlex.split(words))
    assert files(folder) == {"bad.npy"}


def test_ctrl_c_ends_an_endless_kernel_with_one_line_and_no_file(folder):
    compile_loop()
    (folder / "loop.ptx").write_text(greeting("AGAIN: add.u64 %rd1, %rd1, 1; setp.ne.u64 %p1, %rd1, 0; @%p1 bra AGAIN;"))
    words = [sys.executable, "-u", "-m", "simlayout", "run", "loop.ptx", "--block", "1", "--json", "a.json"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"hi\n"          # it runs
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"simlayout: interrupted\n")
    assert files(folder) == {"loop.ptx"}


def test_an_array_among_the_fields_of_a_struct_is_a_pointer_and_is_saved_and_compared_as_any(capsys, folder):
    body = """ld.param.u64 %rd1, [kernel_param_0];
        ld.param.u32 %r1, [kernel_param_0+8];
        ld.param.u64 %rd2, [kernel_param_0+16];
        ld.global.u32 %r2, [%rd2]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret;"""
    (folder / "s.ptx").write_text(module(body, [".param .align 8 .b8 kernel_param_0[24]"]))
    np.save(folder / "seven.npy", np.array([7], np.int32))
    words = "--block 1 --arg '{x=s32[1], s32:3, u32[1]:integers:4:5}' --expect x=seven.npy --save ."
    out = printed(capsys, "run", "s.ptx", *shlex.split(words))
    assert "x             int32 [1], 1 of 1 elements changed" in out and "field_2       uint32 [1], 0 of 1" in out
    assert np.load(folder / "x.npy").tolist() == [7]


# ---- arguments as text -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, name, dtype", [
    ("A=bf16[2,2]:normal", "A", ml_dtypes.bfloat16), ("e4m3[4]:uniform", None, ml_dtypes.float8_e4m3fn),
    ("x_1=s64[3]:integers:-9:9", "x_1", np.int64), ("bool[4]:ones", None, np.bool_),
    ("complex64[2]:normal", None, np.complex64)])
def test_an_array_has_the_name_type_and_shape_that_it_is_given(text, name, dtype):
    made = argument(text, np.random.default_rng(0))
    assert made.name == name and made.value.dtype == dtype and made.value.size in (2, 3, 4) and made.value.any()


@pytest.mark.parametrize("fill", [f for f in FILLS if f.islower()])
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "e5m2"])
def test_every_fill_is_of_the_type_of_its_array(fill, name):
    made = argument(f"{name}[64]:{fill}", np.random.default_rng(3)).value
    assert made.dtype == element_type(name) and made.shape == (64,)
    spread = made.astype(float)
    assert {"zeros": (spread == 0).all(), "ones": (spread == 1).all(), "arange": spread[1] == 1 and spread[16] == 16,
            "normal": spread.min() < -0.5 and 0.5 < spread.max(),
            "uniform": spread.min() >= 0 and 0.5 < spread.max() <= 1}[fill]


def test_an_array_of_a_file_is_taken_as_it_is_and_bf16_survives_it(folder):
    made = argument("bf16[8]:normal", np.random.default_rng(1)).value
    np.save("b.npy", made)
    again = argument("A=bf16[8]:b.npy", np.random.default_rng(2)).value
    assert again.dtype == made.dtype and (again == made).all()
    np.save("f.npy", np.arange(6.0).reshape(2, 3))
    assert argument("f.npy", np.random.default_rng(2)).value.tolist() == [[0, 1, 2], [3, 4, 5]]
    np.save("o.npy", np.array([print], object), allow_pickle=True)
    for text, told in (("o.npy", "cannot read o.npy"), ("f32[2,3]:f.npy", "has float64"), ("f64[3,2]:f.npy", "(2, 3)")):
        with pytest.raises(SimlayoutError, match=f".*{told}".replace("(", r"\(").replace(")", r"\)")):
            argument(text, np.random.default_rng(0))


@given_few(75, 300, st.text(max_size=40) | st.from_regex(
    r"[A-C]?=?(f16|s8|x)?\[?[0-9,]{0,4}\]?:?(normal|integers:[0-9]:-?[0-9])?", fullmatch=True))
def test_any_text_is_an_argument_or_refused_in_one_line(text):
    with suppress(SimlayoutError):
        made = argument(text, np.random.default_rng(0)).value
        assert made is None or isinstance(made, int | float | bytes | np.ndarray)
