"""simlayout.ptx.load: from text or a file to entries that are found by name; what the machine lacks is told at once."""

import re
from pathlib import Path

import numpy as np
import pytest
from ptx_texts import TRANSPOSE, WRITE, module

import simlayout as sl
from simlayout.errors import InstructionError, MachineError, ParseError
from simlayout.machine.ptx import entry

TWICE = module(WRITE, ["u64"], "_Z9transposePfS_i") + module(WRITE, ["u64"], "_Z13transpose_padPfS_i").split("64\n", 1)[1]


def test_text_a_path_and_its_name_are_the_same_module(tmp_path):
    (tmp_path / "k.ptx").write_text(TRANSPOSE)
    for source in (TRANSPOSE, tmp_path / "k.ptx", str(tmp_path / "k.ptx")):
        a, c = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
        trace = sl.ptx.load(source).entry().run(1, 32, a, c)
        assert (c == a.T).all() and [n.wavefronts for n in trace.by_instruction()] == [32, 1024]


def test_a_source_that_lies_beside_the_ptx_is_found_from_anywhere(tmp_path, monkeypatch):
    guide = Path(sl.__file__).parent / "guide"
    (tmp_path / "elsewhere").mkdir()
    for name in ("transpose.ptx", "transpose.cu"):
        (tmp_path / name).write_text((guide / name).read_text())
    monkeypatch.chdir(tmp_path / "elsewhere")
    a = np.zeros((32, 32), np.float32)
    trace = sl.ptx.load(tmp_path / "transpose.ptx").entry().run(1, (32, 8), a, a.copy(), 32)
    assert "c[(y + i) * n + x] = tile[threadIdx.x]" in trace.listing()
    Path("transpose.cu").write_text("\n" * 8 + "// another one, in the current folder\n")
    trace = sl.ptx.load(tmp_path / "transpose.ptx").entry().run(1, (32, 8), a, a.copy(), 32)
    assert "// another one" in trace.listing()


@pytest.mark.parametrize("source, told", [
    ("none.ptx", "cannot read 'none.ptx': No such file or directory"), ("a\0.ptx", "cannot read"), (7, "not int"),
    (b".version 9.0", "not bytes"), (None, "not NoneType")])
def test_what_cannot_be_read_is_one_line(source, told):
    with pytest.raises(MachineError, match=re.escape(told)) as refused:
        sl.ptx.load(source)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "k.ptx").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MachineError, match=r"cannot read .*k\.ptx"):
        sl.ptx.load(tmp_path / "k.ptx")


@pytest.mark.parametrize("name", ["k.cu", "k.ipynb", "k.py"])
def test_the_name_of_a_file_that_is_no_ptx_is_not_taken_for_its_text(name):
    with pytest.raises(ParseError, match=f"^{name} is .*, not PTX: "):
        sl.ptx.load(name)


def test_what_is_no_ptx_is_refused_with_line_and_column():
    with pytest.raises(ParseError, match=r"^<text>:9:\d+: "):
        sl.ptx.load(module("add.s32 %r1 %r2;"))


UNKNOWN = module("""suld.b.1d.b32.trap %r1, [0, {%r2}];
add.s32 %r1, %r2;
suld.b.1d.b32.trap %r1, [0, {%r3}];
add.nonsense.s32 %r1, %r2, %r3;
call helper;
ret;""", before=""".func never() { .reg .b32 %r<3>; vset.u32.u32.eq %r1, %r2, %r2, %r2; ret; }
.func helper() { .reg .b32 %r<3>; frobnicate.b32 %r1, %r2; ret; }""")


def test_all_that_the_machine_does_not_have_is_told_at_once_with_first_line_and_how_often():
    with pytest.raises(InstructionError) as refused:
        sl.ptx.load(UNKNOWN)
    said = str(refused.value)
    assert said.startswith("<text>: 4 instructions that the machine cannot execute: frobnicate.b32 (line 5): ")
    assert "suld.b.1d.b32.trap (line 10, 2 times)" in said and "add.nonsense.s32 (line 13)" in said
    assert "add.s32 (line 11): " in said and "never" not in said and "vset" not in said and "\n" not in said


def test_a_module_is_read_also_with_what_the_machine_lacks_and_its_entry_refuses_to_run():
    found = sl.ptx.read(UNKNOWN)
    assert [(u.name, u.line, u.times) for u in found.unsupported] == [
        ("frobnicate.b32", 5, 1), ("suld.b.1d.b32.trap", 10, 2), ("add.s32", 11, 1), ("add.nonsense.s32", 13, 1)]
    with pytest.raises(InstructionError, match="4 instructions that the machine cannot execute"):
        found.entry().run(1, 32)


def test_a_refusal_names_the_kernels_that_run_all_the_same():
    text = UNKNOWN + TWICE.split("64\n", 1)[1]
    with pytest.raises(InstructionError, match="; simlayout.ptx.read takes .* all the same, for transpose, transpose_pad"):
        sl.ptx.load(text)


@pytest.mark.parametrize("target, line, least", [
    ("sm_90a", "add.f32.f16 %f1, %h1, %f2;", "sm_100"), ("sm_90", "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;", "sm_100"),
    ("sm_80", "add.bf16 %h1, %h1, %h2;", "sm_90"), ("sm_75", "cvt.rn.bf16.f32 %h1, %f1;", "sm_80"), ("sm_75", "ret;", None),
    ("sm_20", "add.f32 %f1, %f1, %f2;", None), ("sm_52", "add.bf16 %h1, %h1, %h2;", "sm_90"),
    ("sm_100a", "sub.f32.f16 %f1, %h1, %f2;", None), ("sm_120", "add.f32.bf16 %f1, %h1, %f2;", None),
])
def test_arithmetic_that_the_architecture_of_the_module_lacks_is_refused_as_the_driver_does(target, line, least):
    text = f""".version 9.0
.target {target}
.address_size 64
.entry k() {{ .reg .b16 %h<3>; .reg .f32 %f<3>;
{line}
ret; }}"""
    said = [fault.reason for fault in sl.ptx.read(text).unsupported]
    assert bool(said) == bool(least)
    assert not said or f"needs {least} or newer, and .target is {target}: compile for {target}, or write .target" in said[0]


@pytest.mark.parametrize("chain", [["f", "f"], ["f", "g", "f"]])
def test_recursion_is_refused_when_the_module_is_loaded(chain):
    declared = "".join(f".func {name};\n" for name in sorted(set(chain)))
    bodies = "".join(f".func {a} {{ call {b}; ret; }}\n" for a, b in zip(chain, chain[1:]))
    text = module("call f;\nret;", before=declared + bodies)
    line = text[:text.index(f".func {chain[-2]} {{")].count("\n") + 1
    with pytest.raises(InstructionError, match=rf"call \(line {line}\): <text>:{line}: f calls itself.*write a loop"):
        sl.ptx.load(text)


def test_a_kernel_beside_one_that_recurs_runs_all_the_same():
    recurs = ".func f;\n.func f { call f; ret; }\n.visible .entry recurs() { call f; ret; }\n"
    read = sl.ptx.read(module(WRITE, ["u64"], before=recurs))
    out = np.zeros(32, np.int32)
    read["kernel"].run(1, 32, out)
    assert out.any() and read["kernel"].faults == ()
    with pytest.raises(InstructionError, match="f calls itself"):
        read["recurs"].run(1, 32)


def test_a_kernel_is_prepared_when_it_is_asked_for(monkeypatch):
    made = []
    monkeypatch.setattr(entry, "Lowering", lambda module, name, addresses, make=entry.Lowering: (
        made.append(name), make(module, name, addresses))[1])
    read = sl.ptx.read(TWICE)
    assert made == [] and len(read.entries) == 2 and "_Z9transposePfS_i" in read.entries
    read["transpose_pad"].run(1, 8, np.zeros(8, np.int32))
    assert made == ["_Z13transpose_padPfS_i"]
    assert len(read.unsupported) == 0 and sorted(made) == sorted(read.entries)


VARIABLES = """
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .u32 first = 3;
.global .align 4 .u32 other = 5;
.global .align 4 .u32 behind = 7;
.global .align 8 .u64 pointer = behind;
.func (.reg .b32 %o) get() { .reg .b64 %rd; mov.u64 %rd, pointer; ld.global.u64 %rd, [%rd]; ld.global.u32 %o, [%rd]; ret; }
.visible .entry plain(.param .u64 plain_param_0)
{ .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [plain_param_0]; ld.global.u32 %r, [first]; st.global.u32 [%rd], %r; ret; }
.visible .entry calls(.param .u64 calls_param_0)
{ .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [calls_param_0]; call (%r), get; st.global.u32 [%rd], %r; ret; }
"""


def test_a_launch_has_the_variables_that_its_kernel_can_reach_and_no_others():
    read, out = sl.ptx.load(VARIABLES), np.zeros(1, np.uint32)
    assert read["plain"].variables == ("first",) and set(read["calls"].variables) == {"pointer", "behind"}
    for name, value in (("plain", 3), ("calls", 7), ("plain", 3)):
        read[name].run(1, 1, out)
        assert out[0] == value
    read["plain"].run(1, 1, read.variable("behind"))             # as an argument a variable has its own address
    read["calls"].run(1, 1, out)
    assert out[0] == 3


@pytest.mark.parametrize(("line", "instead"), [
    ("tex.1d.v4.f32.s32 {%f, %f, %f, %f}, [%rd1, {%r1}];", "textures (tex): read the array through a pointer"),
    ("suld.b.1d.b32.trap %r1, [%rd1, {%r2}];", "surfaces (suld): read and write the array through a pointer"),
    ("alloca.u64 %rd1, 64;", "(alloca): give the array a constant size"),
    ("multimem.red.relaxed.sys.global.add.f32 [%rd1], %f;", "(multimem): add in the memory of one GPU"),
    ("max.f32 %f1, %f2, %f3, %f4;", "three sources need sm_100 or newer, and the machine is an sm_90: compile for sm_90a"),
    ("vmad.u32.u32.u32 %r1, %r2, %r3, %r4;", "(vmad): write it in plain C"),
    ("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4}], "
     "[%r1], {%rs1};", "load tiles (.tile)")])
def test_what_the_machine_lacks_is_refused_in_one_line_that_says_what_to_do(line, instead):
    with pytest.raises(InstructionError) as refused:
        sl.ptx.load(module(".reg .f32 %f;\n" + line + "\nret;"))
    said = str(refused.value)
    assert instead in said and "\n" not in said and said.startswith("<text>: 1 instruction that the machine cannot ")


# ---- entries -----------------------------------------------------------------------------------------------------------

def test_an_entry_is_found_by_its_name_its_cpp_name_or_a_part_that_no_other_has():
    found = sl.ptx.load(TWICE)
    assert found["_Z9transposePfS_i"] is found["transpose"] is found.entries["_Z9transposePfS_i"]
    assert found["transpose_pad"] is found["_pad"] is found.entries["_Z13transpose_padPfS_i"]


@pytest.mark.parametrize("name, told", [
    ("trans", "'trans' is a part of 2 entries' names: give more of one of transpose, transpose_pad"),
    ("reduce", "no entry 'reduce' in <text>; it has transpose, transpose_pad"), ("", "no entry ''")])
def test_a_name_that_fits_none_or_several_lists_what_there_is(name, told):
    with pytest.raises(MachineError, match=re.escape(told)):
        sl.ptx.load(TWICE)[name]


def test_the_only_entry_needs_no_name_and_of_several_one_must_be_chosen():
    assert sl.ptx.load(TRANSPOSE).entry().name == "kernel"
    with pytest.raises(MachineError, match=r"2 entries, and one is wanted: choose by module\[name\] from transpose, tra"):
        sl.ptx.load(TWICE).entry()
    with pytest.raises(MachineError, match="0 entries"):
        sl.ptx.load(".version 9.0\n.target sm_90\n").entry()


def test_entries_say_what_they_take():
    text = module("mov.u32 %r1, fixed;\nmov.u32 %r1, dynamic;\n" + WRITE,
                  ["u64", ".param .align 8 .b8 kernel_param_1[24]", "f32"], directives=".reqntid 64, 2",
                  before=".extern .shared .align 16 .b8 dynamic[];\n.shared .b8 fixed[100];")
    (entry,) = sl.ptx.load(text).entries.values()
    assert repr(entry) == ("<entry kernel(param_0: .u64, param_1: 24 bytes, param_2: .f32), block (64, 2, 1), "
                           "shared memory: 100 bytes and dynamic>")
    assert (entry.required_block, entry.static_shared, entry.has_dynamic_shared) == ((64, 2, 1), 100, True)
    assert repr(sl.ptx.load(text)) == "<module <text>, sm_90a: kernel>"
    assert repr(sl.ptx.load(text).entries) == "<entries: kernel>"


@pytest.mark.parametrize("directives, block, cluster, told", [
    (".reqntid 64", 32, 1, r"kernel requires blocks of \(64, 1, 1\) threads \(.reqntid\), not \(32, 1, 1\)"),
    (".maxntid 16, 2", 64, 1, r"kernel takes blocks of at most 32 threads \(.maxntid\), not 64"),
    (".reqnctapercluster 2", 32, 4,
     r"kernel requires clusters of \(2, 1, 1\) CTAs \(.reqnctapercluster\), not \(4, 1, 1\)")])
def test_a_launch_that_the_entry_forbids_is_refused(directives, block, cluster, told):
    entry = sl.ptx.load(module(WRITE, ["u64"], directives=directives)).entry()
    with pytest.raises(MachineError, match=told):
        entry.run(4, block, np.zeros(64, np.int32), cluster=cluster)


@pytest.mark.parametrize("shared, said", [
    (0, "300000 bytes of shared memory (300000 that the kernel declares, 0 by shared_bytes"),
    (16, "300016 bytes of shared memory (300000 that the kernel declares, 16 by shared_bytes")])
def test_too_much_shared_memory_is_told_by_what_the_kernel_declares_and_what_the_launch_adds(shared, said):
    entry = sl.ptx.load(module("st.shared.u32 [fixed], %r1;\nret;", before=".shared .align 16 .b8 fixed[300000];")).entry()
    with pytest.raises(MachineError, match=re.escape(said)):
        entry.run(1, 32, shared_bytes=shared)


@pytest.mark.parametrize("instruction", [
    "ld.shared.f33 %f1, [tile]", "st.shared.f33 [tile], %f1", "ld.f32.shared %f1, [tile]",
    "ld.shared.v2.x {%f1, %f2}, [tile]", "ld.global.f33 %f1, [%rd1]"])
def test_a_type_of_memory_that_ptx_lacks_is_told_with_its_line(instruction):
    read = sl.ptx.read(module(f"{instruction};\nret;", before=".shared .b8 tile[16];"))
    assert [one.name for one in read.unsupported] == [instruction.split()[0]] and read.unsupported[0].line > 1


def test_a_cluster_that_the_entry_requires_need_not_be_given():
    body = WRITE.replace("%tid.x;", "%tid.x; mov.u32 %r2, %cluster_nctarank;").replace("], %r1", "], %r2")
    out = np.zeros(32, np.int32)
    sl.ptx.load(module(body, ["u64"], directives=".reqnctapercluster 2")).entry().run(2, 32, out, hazards="off")
    assert out.tolist() == [2] * 32


def test_a_label_behind_the_last_instruction_is_where_the_entry_ends():
    sl.ptx.load(module("bra END;\ntrap;\nEND:")).entry().run(1, 32)
    sl.ptx.load(module("setp.eq.u32 %p1, %tid.x, 0;\n@%p1 bra END;\nret;\nEND:")).entry().run(1, 32)


@pytest.mark.parametrize("call, told", [("f, (%r1);", "f has 0 arguments, and the call has 1"),
                                        ("(%r1), f;", "f has 0 results, and the call has 1")])
def test_a_call_with_another_number_of_arguments_is_refused(call, told):
    with pytest.raises(InstructionError, match=f"call.*{told}"):
        sl.ptx.load(module(f"call {call}\nret;", before=".func f() { ret; }"))


@pytest.mark.parametrize("callee, told", [
    ("__cudaCDP2LaunchDeviceV2", r"no launches of kernels by kernels \(__cudaCDP2LaunchDeviceV2\): launch both"),
    ("missing", r"missing has no body in this module: link it \(nvcc -rdc=false\)")])
def test_a_function_that_is_not_there_is_refused_with_what_to_do(callee, told):
    with pytest.raises(InstructionError, match=told):
        sl.ptx.load(module(f"call {callee}, ();\nret;", before=f".extern .func {callee}();"))
