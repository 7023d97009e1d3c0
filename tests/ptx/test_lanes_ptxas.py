"""The table of lane-wise instructions against ptxas: it takes what the table has, and of cvt nothing else."""

from itertools import product

import pytest
from ptxas_says import complaints, needs_ptxas, spelled_out

from simlayout.errors import InstructionError
from simlayout.machine.ptx.opcodes.lanes import TABLES, lane_op

pytestmark = needs_ptxas
TYPES = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "bf16", "f16", "f32", "f64")


def _lines(forms):
    for form in forms:
        for modifiers in form.spelled():
            op = lane_op(form.opcode, modifiers)
            yield spelled_out(form.opcode, modifiers, op.results, op.sources)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
def test_ptxas_takes_every_instruction_of_the_table_with_its_operands(arch, tmp_path):
    lines = list(_lines(form for form in TABLES if int(form.target[3:]) <= int(arch.strip("sma_"))))
    refused = {line: said for line, said in zip(lines, complaints(lines, tmp_path, arch)) if said}
    assert not refused
    assert len(lines) > 2000


def test_the_table_has_every_cvt_between_scalars_that_ptxas_takes(tmp_path):
    spelled = [tuple(filter(None, words)) for words in
               product(("", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"), ("", "ftz"), ("", "sat"), TYPES, TYPES)]
    lines = [spelled_out("cvt", modifiers, modifiers[-2:-1], modifiers[-1:]) for modifiers in spelled]
    for modifiers, said in zip(spelled, complaints(lines, tmp_path)):
        try:
            lane_op("cvt", modifiers)
        except InstructionError:
            assert said, modifiers
        else:
            assert not said, modifiers
