"""Writes `rows.py`: python -m simlayout.machine.ptx.compiled.generate"""

from functools import cache
from pathlib import Path

from simlayout.files import write_whole
from simlayout.machine.ptx.compiled.names import NAMES
from simlayout.machine.ptx.opcodes.lanes import lane_op

HEAD = '''"""Arithmetic on whole rows, compiled: one branch per instruction.

Written by `generate`, from `names` and the table of instructions; do not edit.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.arithmetic.compiling import compile_scalar
from simlayout.machine.arithmetic.primitives import bits_f32, bits_f64, float_f32, float_f64
from simlayout.machine.ptx.opcodes.lanes import lane_op

U64, I64 = np.uint64, np.int64
bits_f32, bits_f64, float_f32, float_f64 = map(compile_scalar, (bits_f32, bits_f64, float_f32, float_f64))


def _compiled(opcode, *modifiers):
    return compile_scalar(lane_op(opcode, modifiers).function)


'''

_READ = {"s": "I64({}[i])", "f32": "float_f32({}[i])", "f64": "float_f64({}[i])", "u": "{}[i]"}
_WRITE = {"s": "U64({})", "f32": "bits_f32({})", "f64": "bits_f64({})", "u": "U64({})"}


def carrier(type: str) -> str:
    """Which of the carriers a type has: "s", "u", "f32" or "f64".

    >>> carrier("s16"), carrier("b64"), carrier("f16"), carrier("f32")
    ('s', 'u', 'u', 'f32')
    """
    if type in ("f32", "f64"):
        return type
    return "s" if type in ("s8", "s16", "s32", "s64") else "u"


def meaning(op) -> tuple:
    """What two instructions share that compute alike: the function, with what it encloses, and the carriers."""
    types = *map(carrier, op.sources), "to", *map(carrier, op.results[:1])
    return _identity(op.function), types


def _identity(function):
    closure = getattr(function, "__closure__", None)
    if closure is None:
        return function
    held = [cell.cell_contents for cell in closure]
    return function.__code__, tuple([_identity(value) if callable(value) else value for value in held])


@cache
def branches() -> dict:
    """{meaning: (code, name, LaneOp)} of NAMES, in order."""
    found = {}
    for name in NAMES:
        opcode, *modifiers = name.split(".")
        op = lane_op(opcode, tuple(modifiers))
        found.setdefault(meaning(op), (len(found), name, op))
    return found


def text() -> str:
    """The text of `rows.py`."""
    functions, lines = [], []
    for code, name, op in branches().values():
        opcode, *modifiers = name.split(".")
        functions.append(f"f{code} = _compiled({', '.join(map(repr, (opcode, *modifiers)))})".replace("'", '"'))
        arguments = ", ".join(_READ[carrier(type)].format(row) for type, row in zip(op.sources, "abcd"))
        value = _WRITE[carrier(op.results[0])].format(f"f{code}({arguments})" + "[0]" * (len(op.results) > 1))
        lines += [f"    {'el' * bool(code)}if code == {code}:  # {name}", "        for i in range(LANES):",
                  f"            r[i] = {value}"]
    compute = ["@within", "def compute(code, r, a, b, c, d):",
               '    """Row r = what instruction `code` makes of rows a to d, raw bits, for all lanes; rows are pointers."""',
               *lines, ""]
    return HEAD + "\n".join(functions) + "\n\n\n" + "\n".join(compute)


if __name__ == "__main__":
    write_whole(Path(__file__).with_name("rows.py"), text())
