"""Arithmetic on whole rows, compiled: one branch per instruction."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.arithmetic.compiling import compile_scalar
from simlayout.machine.arithmetic.primitives import bits_f32, bits_f64, float_f32, float_f64
from simlayout.machine.ptx.compiled.instructions import branches, carrier

_READ = {"s": "I64({}[i])", "f32": "float_f32({}[i])", "f64": "float_f64({}[i])", "u": "{}[i]"}
_WRITE = {"s": "U64({})", "f32": "bits_f32({})", "f64": "bits_f64({})", "u": "U64({})"}


def _compute():
    """`compute`, of a text that is made here and now of the table that NumPy executes, too."""
    names = {"LANES": LANES, "U64": np.uint64, "I64": np.int64, "__name__": __name__}
    names |= {each.__name__: compile_scalar(each) for each in (bits_f32, bits_f64, float_f32, float_f64)}
    lines = ["def compute(code, r, a, b, c, d):"]
    for code, name, op in branches().values():
        names[f"f{code}"] = compile_scalar(op.function)
        arguments = ", ".join(_READ[carrier(type)].format(row) for type, row in zip(op.sources, "abcd"))
        value = _WRITE[carrier(op.results[0])].format(f"f{code}({arguments})" + "[0]" * (len(op.results) > 1))
        lines += [f"    {'el' * bool(code)}if code == {code}:  # {name}", "        for i in range(LANES):",
                  f"            r[i] = {value}"]
    exec("\n".join(lines), names)
    return names["compute"]


compute = within(_compute())
"""compute(code, r, a, b, c, d): row r = what instruction `code` makes of rows a to d, raw bits, for all lanes; rows are
pointers."""
