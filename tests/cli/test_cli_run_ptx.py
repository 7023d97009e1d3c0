"""simlayout run FILE.ptx: what it prints, compares and saves, and what it refuses."""

import json
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from commands import answered, printed, refused
from ptx_folder import GUIDE, files, filled
from ptx_texts import TRANSPOSE, compile_loop, module

from simlayout.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return filled(tmp_path)


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
