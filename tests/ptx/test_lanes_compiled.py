"""Lane-wise instructions that Numba compiles for scalars equal the NumPy arrays, bit for bit."""

import numpy as np
import pytest
from lane_operands import operands

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import reader, writer
from simlayout.machine.arithmetic.compiling import compile_scalar
from simlayout.machine.ptx.opcodes.lanes import TABLES, lane_op

numba = pytest.importorskip("numba", reason="needs Numba: pip install 'simlayout[fast]'")
ROWS = {f"{form.text} #{i}": form for i, form in enumerate(TABLES)}
ON_ARRAYS_ALONE = {f"{name}.{mode}.f64" for name in ("add", "sub", "mul", "div", "rcp", "sqrt", "fma", "mad")
                   for mode in ("rz", "rm", "rp")}
COMMON = [("add", ("s32",)), ("mad", ("wide", "u32")), ("mul", ("hi", "s64")), ("div", ("s64",)), ("addc", ("cc", "u32")),
          ("shr", ("s32",)), ("prmt", ("b32",)), ("setp", ("lt", "and", "f32")), ("fma", ("rn", "f32")),
          ("fma", ("rn", "f64")), ("add", ("rz", "ftz", "f32")), ("cvt", ("rzi", "u64", "f64")),
          ("cvt", ("rn", "f16", "f32")), ("fma", ("rn", "f16x2")), ("ex2", ("approx", "f32"))]


def check(opcode, modifiers, count=60):
    """Compares a compiled instruction with that on arrays."""
    op = lane_op(opcode, modifiers)
    rows = operands(np.random.default_rng(count), opcode, op.sources, count)
    columns = [reader(name)(np.array(column, np.uint64)) for name, column in zip(op.sources, zip(*rows))]
    with np.errstate(all="ignore"):
        expected = op.function(*columns)
    inside = compile_scalar(op.function)
    function = numba.njit(lambda *lane: inside(*lane))
    single = len(op.results) == 1
    expected = (expected,) if single else expected
    made = [function(*lane) for lane in zip(*columns)]
    made = [(one,) if single else one for one in made]
    for name, right, ours in zip(op.results, expected, zip(*made)):
        write, ours = writer(name), np.array(ours, right.dtype)
        wrong = np.flatnonzero(write(ours) != write(right))
        assert not wrong.size, (f"{opcode}.{'.'.join(modifiers)} of {[hex(x) for x in rows[wrong[0]]]}: "
                                f"{write(ours)[wrong[0]]:#x}, not {write(right)[wrong[0]]:#x}")


@pytest.mark.parametrize("opcode, modifiers", COMMON, ids=lambda part: part if isinstance(part, str) else ".".join(part))
def test_a_compiled_instruction_equals_that_on_arrays(opcode, modifiers):
    check(opcode, modifiers)


def spelled(form):
    return [modifiers for modifiers in form.spelled() if f"{form.opcode}.{'.'.join(modifiers)}" not in ON_ARRAYS_ALONE]


@pytest.mark.sweep
@pytest.mark.parametrize("name", ROWS)
def test_every_compiled_instruction_equals_that_on_arrays(name):
    for modifiers in spelled(ROWS[name]):
        check(ROWS[name].opcode, modifiers)


@pytest.mark.parametrize("name", sorted(ON_ARRAYS_ALONE))
def test_f64_in_directed_rounding_is_not_compiled_and_says_so(name):
    opcode, *modifiers = name.split(".")
    with pytest.raises(InstructionError, match="directed rounding"):
        compile_scalar(lane_op(opcode, tuple(modifiers)).function)
