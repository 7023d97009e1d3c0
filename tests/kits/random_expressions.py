"""Random expressions of kernels, evaluated by the CPU machine on lanes and by numba.njit one lane after the other.

An expression is generated with its type, so that it holds only what compiles. Floats are compared where the GPU and Numba's
CPU code do the same: without sums of products (`test_machine_products`) and without functions that libdevice approximates.
Signed integers wrap: Numba's promise to LLVM that they do not overflow (nsw) is taken away.
"""

import math
import warnings

import numpy as np
import pytest
from written_source import functions_of

from simlayout.errors import MachineError
from simlayout.machine import run
from simlayout.machine.python.numbers import ARITHMETIC, UNIFIED

EDGES = {
    "b1": [False, True],
    "s64": [0, 1, -1, 2, 3, -7, 31, 63, 64, 2**31 - 1, 2**31, -2**31, 2**32, 2**53 + 1, 2**63 - 1, -2**63, -2**63 + 1],
    "u32": [0, 1, 2, 5, 31, 2**31 - 1, 2**31, 2**32 - 1],
    "u64": [0, 1, 3, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
    "f32": [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1 / 3, -123.456, 3e38, 1e-40, 16777217.0, *map(float, ("inf", "-inf", "nan"))],
    "f64": [0.0, -0.0, 1.0, -2.5, 0.1, 0.5, 1 / 3, -123.456, 1e308, 5e-324, 2.0**53, *map(float, ("inf", "-inf", "nan"))],
}
DTYPES = {"b1": np.bool_, "s64": np.int64, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64}
LITERALS = [0, 1, 2, 3, 5, 7, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
ORDER = "<", "<=", ">", ">=", "==", "!="
CAST = {"u32": "np.uint32", "u64": "np.uint64", "f32": "np.float32", "f64": "np.float64", "s64": "np.int64", "b1": "bool"}
SIZE = 1000


class Parameter:
    """A lane-varying argument: an instruction without operands, whose values are set before each run."""

    def __init__(self, kind):
        self.kind, self.values = kind, None

    def twin(self, warp):
        return self.values


class Out:
    def __init__(self):
        self.values = []

    def twin(self, warp, value):
        self.values.append(value)


PARAMETERS = {f"{kind}_{i}": Parameter(kind) for kind in EDGES for i in range(2)}
OUT = Out()


def expression(rng, depth):
    """(text, type) of a random expression over the names of PARAMETERS."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.7:
            name = rng.choice(list(PARAMETERS))
            return name, PARAMETERS[name].kind
        if rng.random() < 0.2:
            return rng.choice(["True", "False"]), "b1"
        if rng.random() < 0.25:
            return rng.choice(["0.5", "1.5", "-2.0", "0.1"]), "f64"
        value = rng.choice(LITERALS)
        return str(value), "s64" if value < 2**63 else "u64"
    made = _RULES[rng.choice(list(_RULES))](rng, depth - 1)
    constant = made is None or not any(name in made[0] for name in PARAMETERS)     # Python works it out before Numba
    return expression(rng, depth) if constant else made


def _integer(rng, depth):
    text, kind = expression(rng, depth)
    return (text, kind) if kind[0] != "f" else (f"({text} > 0)", "b1")


def _arithmetic(rng, depth):
    (a, ka), (b, kb) = expression(rng, depth), expression(rng, depth)
    kind = ARITHMETIC[ka, kb]
    op = rng.choice(["+", "-", "*", "//", "%"] if kind[0] != "f" else ["+", "-", "*", "/"])
    if kind[0] == "f" and op == "*":
        return f"({a} * {b} / {CAST[kind]}(1))", kind        # what is no product any more cannot be fused
    return f"({a} {op} {b})", kind


def _divide(rng, depth):
    (a, ka), (b, kb) = expression(rng, depth), expression(rng, depth)
    kind = ARITHMETIC[ka, kb]
    return f"({a} / {b})", kind if kind[0] == "f" else "f64"


def _bits(rng, depth):
    (a, ka), (b, kb) = _integer(rng, depth), _integer(rng, depth)
    return f"({a} {rng.choice('&|^')} {b})", "b1" if ka == kb == "b1" else ARITHMETIC[ka, kb]


def _shift(rng, depth):
    a, kind = _integer(rng, depth)
    amount = rng.choice(["0", "1", "31", "63", f"({_integer(rng, depth)[0]} & 63)"])
    return f"({a} {rng.choice(['<<', '>>'])} {amount})", "u64" if kind[0] == "u" else "s64"


def _unary(rng, depth):
    a, kind = expression(rng, depth)
    op = rng.choice("-+~" if kind[0] != "f" else "-+")
    if op == "~" and kind == "b1":
        return f"(~{a})", "b1"
    return f"({op}{a})", {"b1": "s64", "u32": "u64"}.get(kind, kind)


def _compare(rng, depth):
    names = [expression(rng, depth)[0] for _ in range(rng.choice([2, 2, 2, 3]))]
    text = names[0]
    for name in names[1:]:
        text += f" {rng.choice(ORDER)} {name}"
    return f"({text})", "b1"


def _logic(rng, depth):
    (a, ka), (b, kb) = expression(rng, depth), expression(rng, depth)
    kind = UNIFIED[ka, kb]
    return f"{CAST[kind]}({a} {rng.choice(['and', 'or'])} {b})", kind


def _not(rng, depth):
    """Of another `not`, that one alone: from Python 3.13 on, Numba (0.68) takes `not not x` for x, a float if x is one."""
    of = expression(rng, depth)[0]
    return of if of.startswith("(not ") else f"(not {of})", "b1"


def _choice(rng, depth):
    (a, ka), (b, kb) = expression(rng, depth), expression(rng, depth)
    kind = UNIFIED[ka, kb]
    return f"{CAST[kind]}({a} if {expression(rng, depth)[0]} else {b})", kind


def _extreme(rng, depth):
    (a, ka), (b, kb) = expression(rng, depth), expression(rng, depth)
    if "b1" in (ka, kb) or ka[0] == kb[0] == "f":
        return None                                          # of NaN and -0, PTX's differ from the CPU's: tested apart
    return f"{rng.choice(['min', 'max'])}({a}, {b})", UNIFIED[ka, kb]


def _cast(rng, depth):
    a, kind = expression(rng, depth)
    to = rng.choice([k for k in CAST if kind[0] != "f" or k[0] in "fb"])
    return f"{CAST[to]}({a})", to


def _absolute(rng, depth):
    a, kind = expression(rng, depth)
    if kind == "s64" and rng.random() < 0.9:
        return f"abs({a} | 1)", "s64"
    return None if kind in ("b1", "s64") else (f"abs({a})", kind)


_RULES = {f.__name__: f for f in (_arithmetic, _divide, _bits, _shift, _unary, _compare, _logic, _not, _choice,
                                  _extreme, _cast, _absolute)}


def differences(rng, count, compiled=None):
    """[(text, lane, ours, Numba's)] of `count` random expressions on lanes with edge values; [] if there is none.

    compiled: of (expressions, {name: its values in all lanes}), the values of each, by default those of `by_njit`.

    An expression that Numba does not compile is none; one that the machine refuses (MachineError) is tested for nothing but
    that. Every other exception is a difference.
    """
    made = []
    while len(made) < count:
        text, kind = expression(rng, rng.choice([1, 2, 2, 3]))
        if len(text) < SIZE:
            made.append((text, kind))
    found = []
    for start in range(0, count, 40):
        found += compared(rng, made[start:start + 40], compiled or by_njit)
    return found


def written(expressions, head):
    """A function that computes all expressions of each lane: compute(all_b1_0, ..., r0, r1, ...); head: its first line."""
    parameters = [*(f"all_{n}" for n in PARAMETERS), *(f"r{i}" for i in range(len(expressions)))]
    lines = [f"def compute({', '.join(parameters)}):", head, *(f"        {n} = all_{n}[lane]" for n in PARAMETERS)]
    lines += [f"        r{i}[lane] = {text}" for i, (text, _) in enumerate(expressions)]
    return functions_of("\n".join([*lines, ""]), {"np": np, "math": math, "cuda": None})["compute"]


def by_njit(expressions, values):
    """What numba.njit computes: [32] of each expression."""
    from numba import njit
    from numba.cpython import numbers as lowering

    outputs = [np.zeros(32, DTYPES[kind]) for _, kind in expressions]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(lowering, "_int_arith_flags", lambda kind: [])
        njit(error_model="numpy")(written(expressions, "    for lane in range(32):"))(*values.values(), *outputs)
    return outputs


def by_the_gpu(expressions, values):
    """What numba-cuda's code computes on the GPU: [32] of each expression."""
    from numba import cuda
    from numba.cuda.cpython import numbers as lowering
    from numba.cuda.np.math import numbers as more

    function = written(expressions, "    lane = cuda.threadIdx.x\n    if lane < 32:")
    function.__globals__["cuda"] = cuda
    outputs = [cuda.to_device(np.zeros(32, DTYPES[kind])) for _, kind in expressions]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for module in (lowering, more):
            patch.setattr(module, "_int_arith_flags", lambda kind: [])
        cuda.jit(function)[1, 32](*map(cuda.to_device, values.values()), *outputs)
    return [out.copy_to_host() for out in outputs]


def compared(rng, expressions, compiled):
    """As `differences`, of the given [(text, type)]."""
    for parameter in PARAMETERS.values():
        parameter.values = np.array([rng.choice(EDGES[parameter.kind]) for _ in range(32)], DTYPES[parameter.kind])
    found, refused, ours = [], set(), []
    scope = {"np": np, "math": math, "OUT": OUT, **{f"P_{n}": p for n, p in PARAMETERS.items()}}
    for text, _ in expressions:
        names = [n for n in PARAMETERS if n in text]
        lines = ["def kernel(out):", *(f"    {n} = P_{n}()" for n in names), f"    OUT({text})"]
        kernel = functions_of("\n".join([*lines, ""]), scope)["kernel"]
        OUT.values = []
        try:
            run(kernel, 1, 32, np.zeros(1))
            ours.append(OUT.values[0])
        except MachineError as error:
            refused.add(text)
            ours.append(error)
        except Exception as error:
            found.append((text, repr(error)))
            ours.append(error)
    outputs = compiled(expressions, {name: parameter.values for name, parameter in PARAMETERS.items()})
    for (text, kind), mine, theirs in zip(expressions, ours, outputs, strict=True):
        if isinstance(mine, Exception):
            continue
        mine = np.broadcast_to(np.asarray(mine), (32,))
        if mine.dtype != DTYPES[kind]:
            found.append((text, mine.dtype, kind))
        same = (mine == theirs) & (np.signbit(mine) == np.signbit(theirs)) if kind[0] == "f" else mine == theirs
        for lane in np.flatnonzero(~(same | (mine != mine) & (theirs != theirs)))[:1]:
            given = {n: PARAMETERS[n].values[lane] for n in PARAMETERS if n in text}
            found.append((text, given, mine[lane], theirs[lane]))
    if len(refused) > len(expressions) // 4:
        found.append((f"{len(refused)} of {len(expressions)} refused", *sorted(refused)[:3]))
    return found
