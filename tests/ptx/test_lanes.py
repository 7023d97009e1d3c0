"""Lane-wise instructions against a twin in Python's integers and fractions, and the table against ptxas."""

import hashlib
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lane_operands import defined, edges, operands
from lane_twin import expected, width
from places import DATA

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import reader, writer
from simlayout.machine.ptx.opcodes.forms import Form
from simlayout.machine.ptx.opcodes.lanes import TABLES, lane_op

ROWS = {f"{form.text} #{i}": form for i, form in enumerate(TABLES)}


def computed(op, rows):
    """The raw bits that a LaneOp makes of rows of raw bits: a list of tuples."""
    carriers = [reader(name)(np.array(column, np.uint64)) for name, column in zip(op.sources, zip(*rows))]
    with np.errstate(all="ignore"):
        made = op.function(*carriers)
    made = made if isinstance(made, tuple) else (made,)
    assert len(made) == len(op.results)
    return list(zip(*(writer(name)(x).tolist() for name, x in zip(op.results, made))))


def check(opcode, modifiers, rows):
    """Compares an instruction with its twin on rows of raw bits."""
    op = lane_op(opcode, modifiers)
    for row, ours in zip(rows, computed(op, rows)):
        theirs = expected(opcode, modifiers, list(row))
        for name, mine, right in zip(op.results, ours, theirs, strict=True):
            whole = opcode == "cvt" and name[0] in "us"
            mine = mine if whole else mine & (1 << width(name)) - 1
            good = right(mine) if callable(right) else mine == right
            assert good, (f"{opcode}.{'.'.join(modifiers)} of {[hex(x) for x in row]}: {mine:#x}"
                          f"{'' if callable(right) else f', not {right:#x}'}")


def check_row(form, forms, count):
    rng = np.random.default_rng(len(form.text) + count)
    spelled = list(form.spelled())
    for modifiers in spelled if forms is None else [spelled[i] for i in rng.permutation(len(spelled))[:forms]]:
        op = lane_op(form.opcode, modifiers)
        check(form.opcode, modifiers, operands(rng, form.opcode, op.sources, count))


@pytest.mark.parametrize("name", ROWS)
def test_every_row_computes_what_its_twin_does(name):
    check_row(ROWS[name], 3, 40)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_computed_of_one_lane_is_of_one_lane_and_numpy_has_nothing_to_say(name):
    form, rng = ROWS[name], np.random.default_rng(len(name))
    modifiers = next(iter(form.spelled()))
    op = lane_op(form.opcode, modifiers)
    rows = operands(rng, form.opcode, op.sources, 3)
    with warnings.catch_warnings(record=True) as said:   # as errors NumPy would swallow them, and go on as it should
        warnings.simplefilter("always")
        alone = [computed(op, [row]) for row in rows]
    assert [one for (one,) in alone] == computed(op, rows) and not said


@given(data=st.data())
def test_any_row_computes_what_its_twin_does_of_any_operands(data):
    form = data.draw(st.sampled_from(TABLES))
    modifiers = data.draw(st.sampled_from(list(form.spelled())))
    op = lane_op(form.opcode, modifiers)
    row = tuple(data.draw(st.sampled_from(edges(name)) | st.integers(0, (1 << width(name)) - 1)) for name in op.sources)
    check(form.opcode, modifiers, [defined(form.opcode, row)])


@pytest.mark.sweep
@pytest.mark.parametrize("name", ROWS)
def test_every_spelling_of_every_row_computes_what_its_twin_does(name):
    check_row(ROWS[name], None, 300)


@pytest.mark.parametrize("opcode, modifiers, says", [
    ("ad", ("s32",), "the machine has no ad"),
    ("add", ("s8",), r"add\.s8 is not an instruction that is known here; add is: add\.INTEGER, add\.sat\.s32"),
    ("fma", ("f32",), r"fma\.f32 is not .* fma is: fma\.RND\{\.ftz\}\{\.sat\}\.f32"),
    ("cvt", ("rn", "s32", "f32"), r"cvt\.rn\.s32\.f32 is not an instruction"),
    ("add", ("s32", "s32"), r"add\.s32\.s32 is not an instruction"),
    ("cvt", ("u8", "ftz", "f16"), r"cvt\.u8\.ftz\.f16 is not an instruction"),
    ("add", (), "add is not an instruction"),
    ("fma", ("rn", "ftz", "f32x2"), r"fma\.rn\.ftz\.f32x2 needs sm_100 or newer, and the machine is an sm_90: compile for"),
])
def test_what_ptx_lacks_is_refused_by_name(opcode, modifiers, says):
    with pytest.raises(InstructionError, match=says):
        lane_op(opcode, modifiers)


@pytest.mark.parametrize("as_ptxas_takes_it", ["min.s32.relu", "max.s16x2.relu", "add.s32.sat", "fma.f32.rn", "setp.u32.lt",
                                               "cvt.f32.s32.rn", "min.f32.NaN", "abs.f32.ftz", "prmt.f4e.b32",
                                               "ex2.f32.approx"])
def test_modifiers_stand_in_any_order_as_cudas_headers_have_them(as_ptxas_takes_it):
    opcode, *modifiers = as_ptxas_takes_it.split(".")
    form = next(form for form in TABLES if form.opcode == opcode and form.in_order(tuple(modifiers)))
    written = form.in_order(tuple(modifiers))
    assert written != tuple(modifiers) and sorted(written) == sorted(modifiers)
    one, other = lane_op(opcode, written), lane_op(opcode, tuple(modifiers))
    assert (one.results, one.sources) == (other.results, other.sources)
    rows = operands(np.random.default_rng(0), opcode, one.sources, 40)
    assert computed(one, rows) == computed(other, rows)


@given(data=st.data())
def test_an_order_of_modifiers_that_leaves_the_types_in_theirs_never_means_another_instruction(data):
    form = data.draw(st.sampled_from(TABLES))
    modifiers = data.draw(st.sampled_from(list(form.spelled())))
    types = [modifier for modifier in modifiers if modifier[-1].isdigit()]
    mixed, left = list(data.draw(st.permutations(modifiers))), iter(types)
    mixed = tuple(next(left) if modifier[-1].isdigit() else modifier for modifier in mixed)
    one, other = lane_op(form.opcode, modifiers), lane_op(form.opcode, mixed)
    assert (one.results, one.sources, one.section) == (other.results, other.sources, other.section)


def test_modifiers_in_ptxs_order_are_put_into_no_other(monkeypatch):
    monkeypatch.delattr(Form, "in_order")
    assert lane_op.__wrapped__("min", ("f32",)).results == ("f32",)
    with pytest.raises(AttributeError, match="in_order"):
        lane_op.__wrapped__("min", ("f32", "ftz"))


def test_no_instruction_stands_in_two_rows():
    twice = {}
    for form in TABLES:
        for modifiers in form.spelled():
            twice.setdefault((form.opcode, modifiers), []).append(form.text)
    assert not {key: rows for key, rows in twice.items() if len(rows) > 1}


def test_a_function_stands_once_for_every_spelling_that_means_the_same():
    assert lane_op("add", ("f32",)).function is lane_op("add", ("rn", "f32")).function
    assert lane_op("mad", ("rn", "f32")).function is lane_op("fma", ("rn", "f32")).function


def test_video_instructions_and_their_twin_compute_what_an_h200_does():
    with np.load(DATA / "h200_video.npz") as file:
        head, instructions, operands_of, digests = (file[name] for name in ("head", "instructions", "operands", "digests"))
    assert "H200" in json.loads(str(head))["device"] and len(instructions) == len(digests) == 247
    for text, digest in zip(instructions.tolist(), digests.tolist()):
        opcode, *modifiers = text.decode().split(".")
        op = lane_op(opcode, tuple(modifiers))
        rows = list(zip(*operands_of[:len(op.sources)].tolist()))
        twin = [expected(opcode, modifiers, list(row)) for row in rows]
        for made in computed(op, rows), twin:
            words = np.array(made, np.uint64).astype("<u4")
            assert hashlib.sha256(words.tobytes()).digest()[:8] == digest.to_bytes(8, "little"), text
