"""simlayout ptx, and what `simlayout run` has in common with it: kernels of any compiler from the command line."""

import io
import shlex

import numpy as np
import pytest
from commands import answered, printed, refused
from ptx_folder import filled
from ptx_texts import TRANSPOSE, WRITE, module


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return filled(tmp_path)


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
