"""Random kernels with branches, loops and jumps on which lanes disagree, and what each lane alone computes.

A program is a tree of statements over the integer variables a, b, c, d of a lane, its number t and a uniform n. The kernel
runs on the machine, 32 lanes at once; its twin is the same text as plain Python, once per lane. Loops end by construction:
a `while` counts its trips in a variable of its own.
"""

import numpy as np
from hypothesis import strategies as st
from machine_kit import st_global, tid_x
from written_source import functions_of

from simlayout.machine import run

NAMES = "abcd"
MODULUS = 89

atoms = st.sampled_from([*NAMES, "t", "n", "t % 3", "t // 8"]) | st.integers(-3, 7).map(str)
operators = st.sampled_from(["+", "-", "*", "&", "|", "^"])
expressions = st.recursive(atoms, lambda inner: st.builds("({} {} {})".format, inner, operators, inner)
                           | st.builds("({} if {} < {} else {})".format, inner, inner, inner, inner)
                           | st.builds("helper({}, {})".format, inner, inner), max_leaves=4)
comparisons = st.builds("{} {} {}".format, expressions, st.sampled_from(["<", "<=", "==", "!=", ">"]), expressions)
conditions = comparisons | st.builds("({}) and {}".format, comparisons, comparisons) | st.builds(
    "({}) or not {}".format, comparisons, comparisons)
small = st.sampled_from(["0", "2", "3", "t % 4", "t // 11", "(t ^ n) % 5", "n % 3", "4 - t % 6"])


@st.composite
def blocks(draw, depth=3, loop=False, function=True):
    """Lines of a block. loop: whether it stands in a loop; function: whether it may return."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        made += draw(statements(depth, loop, function))
    return made


def _indented(lines):
    return ["    " + line for line in lines]


@st.composite
def statements(draw, depth, loop, function):
    """The lines of one statement."""
    kinds = ["assign"] * 3 + ["if", "if else", "for", "while"] * bool(depth) + ["break", "continue"] * loop
    kind = draw(st.sampled_from(kinds + ["return"] * (function and depth < 3)))
    if kind == "assign":
        name = draw(st.sampled_from(NAMES))
        if draw(st.booleans()):
            return [f"{name} = ({draw(expressions)}) % {MODULUS}"]
        return [f"{name} += {draw(expressions)}", f"{name} = {name} % {MODULUS}"]
    if kind in ("break", "continue"):
        return [f"if {draw(conditions)}:", f"    {kind}"] if draw(st.booleans()) else [kind]
    if kind == "return":
        return [f"return {draw(st.sampled_from(NAMES))} + 100 * {draw(atoms)}"]
    inside = dict(depth=depth - 1, function=function)
    if kind.startswith("if"):
        made = [f"if {draw(conditions)}:", *_indented(draw(blocks(loop=loop, **inside)))]
        return made + (["else:", *_indented(draw(blocks(loop=loop, **inside)))] if kind == "if else" else [])
    made = _indented(draw(blocks(loop=True, **inside)))
    if kind == "for":
        step = draw(st.sampled_from(["", ", 2", ", t % 2 + 1", ", -1", ", 1 - t % 3 * 2"]))
        if step:
            bounds = f"{draw(small)}, {draw(small)}{step}"
            made = [f"for {draw(st.sampled_from(NAMES))} in range({bounds}):", *made]
        else:
            made = [f"for {draw(st.sampled_from(NAMES))} in range({draw(small)}):", *made]
    else:
        counter = f"w{depth}"
        made = [f"{counter} = 0", f"while {counter} < {draw(small)} and ({draw(conditions)}):", f"    {counter} += 1", *made]
    if draw(st.integers(0, 3)) == 0:
        made += ["else:", *_indented(draw(blocks(loop=loop, **inside)))]
    return made


@st.composite
def programs(draw):
    """The text of a module: helper(x, y) and program(t, n), which return integers."""
    helper = ["def helper(x, y):", "    a = x", "    b = y", "    c = 1", "    d = 0", "    t = x", "    n = y",
              *_indented(line.replace("helper(", "max(") for line in draw(blocks(depth=2))),
              f"    return (a - b) % {MODULUS}"]
    body = ["def program(t, n):", "    a = t", "    b = n", "    c = t % 5", "    d = 3", *_indented(draw(blocks())),
            "    return a + 100 * b + 10000 * c + 1000000 * d"]
    return "\n".join([*helper, "", *body, ""])


def on_the_machine(text, n, block=32):
    """int32 [block]: what each thread's program returns, 32 lanes at once."""
    program = functions_of(text)["program"]

    def kernel(out, n):
        t = tid_x()
        st_global(out + 4 * t, program(t, n))

    out = np.full(block, -1, np.int32)
    run(kernel, 1, block, out, n)
    return out


def lane_by_lane(text, n, block=32):
    """The same by Python, one thread at a time."""
    program = functions_of(text)["program"]
    return np.array([program(t, n) for t in range(block)], np.int64).astype(np.int32)


def by_numba(text, n, block=32):
    """The same as numba.njit compiles it."""
    from numba import njit

    scope = functions_of(text)
    scope["helper"] = njit(scope["helper"])
    program = njit("int64(int64, int64)")(scope["program"])
    return np.array([program(t, n) for t in range(block)], np.int64).astype(np.int32)
