"""tensormap.replace of shared memory counts what ptxas makes of it: loads and stores of a map's words."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from machine_code import listed_each, needs_tools
from ptx_texts import module

from simlayout import ptx
from simlayout.errors import MachineError
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.map_fields import map_fields

HEAD = """.shared .align 128 .b8 s[256]; .reg .b32 %x<9>; .reg .b64 %y<9>;
ld.param.u64 %rd1, [kernel_param_0]; ld.global.u64 %y0, [%rd1]; ld.global.u32 %x0, [%rd1+8]; ld.global.u32 %x1, [%rd1+12];
ld.global.u32 %x2, [%rd1+16]; ld.global.u64 %y1, [%rd1+24]; bar.sync 0;
"""


def one(field, value, bits=32):
    return f"tensormap.replace.tile.{field}.shared::cta.b1024.b{bits} [s], {value}; "


ADDRESS, RANK = one("global_address", "%y0", 64), one("rank", 1)
BOX, DIM, STEP = ([one(field, f"{i}, %x{i % 3}") for i in range(5)] for field in ("box_dim", "global_dim", "element_stride"))
STRIDE = [one("global_stride", f"{i}, %y1", 64) for i in range(3)]
KINDS = [one("elemtype", 10), one("interleave_layout", 1), one("swizzle_mode", 3), one("fill_mode", 1)]
OTHERS = ["bar.sync 0; ", "st.global.u32 [%rd1], %x0; ", "add.u32 %x3, %x0, %x1; "]

ORDERED = {
    ADDRESS: {"STS.64": 1}, RANK: {"LDS": 1, "STS": 1}, DIM[0] + DIM[1]: {"STS.64": 1},
    "".join(DIM): {"STS.128": 1, "STS": 1},
    STRIDE[0]: {"LDS": 1, "STS": 2}, STRIDE[0] + STRIDE[1]: {"LDS": 2, "STS": 4},
    "".join(STEP): {"LDS": 1, "STS": 1}, "".join(KINDS): {"LDS": 1, "STS": 1}, RANK + KINDS[0]: {"LDS": 1, "STS": 1},
    BOX[0] + BOX[1] + BOX[2]: {"LDS": 2, "STS": 2}, BOX[0] + STEP[0]: {"LDS": 1, "STS": 1},
    RANK + ADDRESS + KINDS[0]: {"LDS": 2, "STS": 2, "STS.64": 1},
    RANK + STRIDE[0]: {"LDS": 2, "STS": 1, "STS.64": 1}, RANK + KINDS[0] + STRIDE[0]: {"LDS": 2, "STS": 2, "STS.64": 1},
    DIM[1] + DIM[2]: {"STS": 2}, DIM[0] + DIM[1].replace("[s]", "[s+128]"): {"STS": 2},
    RANK + RANK.replace("[s]", "[s+128]"): {"LDS": 2, "STS": 2},
    RANK.replace("shared::cta", "global").replace("[s]", "[%rd1]"): {},
    "mov.u32 %x4, s; " + (DIM[0] + "add.u32 %x4, %x4, %x0; " + DIM[1]).replace("[s]", "[%x4]"): {"STS": 2},
    "setp.eq.u32 %p1, %x0, %x1; @%p1 bra ON; " + RANK + "ON: " + KINDS[0]: {"LDS": 2, "STS": 2},
    RANK + OTHERS[0] + KINDS[0]: {"LDS": 2, "STS": 2}, RANK + OTHERS[1] + KINDS[0]: {"LDS": 1, "STS": 1},
    ADDRESS + RANK + BOX[0] + BOX[1] + DIM[0] + DIM[1] + STRIDE[0] + STEP[0] + STEP[1] + KINDS[0] + KINDS[2]:
        {"LDS": 6, "STS": 7, "STS.64": 2},
}
"""Lines -> what ptxas makes of them."""


def body(lines):
    return HEAD + lines + "bar.sync 0; ret;"


def counted(text):
    """{opcode of SASS: how many} of a kernel's body, as the pass has it."""
    function, = parse(module(text, ["u64", "u32"])).functions.values()
    accesses = [access for some in map_fields(function.body).values() for access in some]
    names = {"ld": "LDS", "st": "STS"}
    return Counter(names[a.opcode] + (f".{8 * a.bytes}" if a.bytes > 4 else "") for a in accesses)


@pytest.mark.parametrize("lines", ORDERED)
def test_fields_of_one_word_are_changed_together_and_neighbouring_words_stored_together(lines):
    assert counted(body(lines)) == ORDERED[lines]


def test_a_launch_counts_them():
    lines = RANK + KINDS[0] + "".join(DIM[:2])
    trace = ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 1, np.zeros(8, np.uint32), 1, hazards="off")
    assert [(a.instruction, a.instructions, a.wavefronts) for a in trace.by_instruction()] == [
        ("ld.shared.b32", 1, 1), ("st.shared.b32", 1, 1), ("st.shared.b64", 1, 1)]


def program(random):
    """Fields in the order in which compilers replace them: of all dimensions or of none, and some of the kinds."""
    dimensions = random.randint(1, 5)
    groups = [[RANK], BOX[:dimensions], DIM[:dimensions], STRIDE[:dimensions - 1], STEP[:dimensions],
              random.sample(KINDS, random.randint(0, 4))]
    return "".join("".join(group) + random.choice(["", "", *OTHERS]) for group in groups if random.random() < 0.7)


@needs_tools
def test_ptxas_makes_so_many_of_them(tmp_path):
    random = Random(0)
    some = {lines for lines in (*ORDERED, *(program(random) for _ in range(200))) if ADDRESS not in lines}   # 13.5: others
    for lines, opcodes in listed_each([*map(body, some)], tmp_path).items():
        assert Counter(opcode for opcode in opcodes if opcode.split(".")[0] in ("LDS", "STS")) == counted(lines), lines


@pytest.mark.parametrize("lines, said", [
    (one("box_dim", "0, 70000"), "tensormap.replace of .box_dim by 70000, which the field cannot hold"),
    (one("rank", 256), "tensormap.replace of .rank by 256, which the field cannot hold"),
    (one("box_dim", "5, 16"), r"tensormap.replace of .box_dim\[5\]: a tensor map has 5 of them"),
    (one("global_stride", "4, 16", 64), r"tensormap.replace of .global_stride\[4\]: a tensor map has 4 of them")])
def test_what_no_field_can_hold_is_refused_in_its_line(lines, said):
    with pytest.raises(MachineError, match=rf"<text>:\d+: .*{said}"):
        ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 1, np.zeros(8, np.uint32), 1)


@pytest.mark.parametrize("between, kinds", [("bar.sync 0;", []), ("", ["write after read"])])
def test_a_map_is_copied_to_global_memory_after_who_changes_it(between, kinds):
    lines = """mov.u32 %x4, %tid.x; setp.eq.u32 %p1, %x4, 32; setp.gt.u32 %p2, %x4, 31; shl.b32 %x5, %x4, 2;
    mov.u32 %x6, s; add.u32 %x6, %x6, %x5; @!%p2 st.shared.b32 [%x6], 0; bar.sync 0;
    @%p1 """ + RANK + between + """@%p2 bra OUT;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [s], 128; OUT:"""
    entry = ptx.load(module(body(lines), ["u64", "u32"])).entry()
    assert [hazard.kind for hazard in entry.run(1, 64, np.zeros(32, np.uint32), 1, hazards="report").hazards] == kinds
