"""Any kernel means on the machine what it means lane by lane: random kernels against plain Python."""

import itertools

import numpy as np
from hypothesis import strategies as st
from machine_kit import (
    Instruction,
    ld_shared,
    registers,
    st_global,
    st_shared,
    tid_x,
)
from tiers import given_few
from written_source import functions_of

from simlayout.machine import run


class Lane:
    """The twin's twin: the same instructions for one lane at a time, in plain Python."""

    current, memory = 0, None


class Scalar(Instruction):
    def __init__(self, twin, alone):
        super().__init__(twin)
        self.alone = alone

    def __call__(self, *args):
        return self.alone(*args)


probe = {
    "tid_x": Scalar(tid_x.twin, lambda: Lane.current),
    "load": Scalar(ld_shared.twin, lambda address: Lane.memory.get(address, 0)),
    "store": Scalar(st_shared.twin, lambda address, value: Lane.memory.__setitem__(address, value)),
    "put": Scalar(st_global.twin, lambda pointer, value: pointer[0].__setitem__(pointer[1] // 4, value)),
    "registers": Scalar(registers.twin, lambda shape, dtype: {}),
    "int64": np.int64,
}

NAMES = ["a", "b", "c"]
HELPERS = """
def pick(x, y, n):
    r = x
    if x > y and not n == 2:
        r = y - n
    elif y % 3 == 1:
        r += 2 * n
    return r


def kernel(out, base, n, m):
    tid = tid_x()
    r = registers((3,), int64)
    a = tid
    b = n
    c = tid ^ 5
    r[0] = tid
    r[1] = n
    r[2] = 0
"""


def expressions(depth):
    """Texts of integer expressions; products are of remainders, so that values stay within 64 bits."""
    leaf = st.sampled_from([*NAMES, "tid", "n", "m", "1", "2", "7", "r[0]", "r[1]", "r[tid % 3]", "load(4 * tid)"])
    if depth == 0:
        return leaf
    inner, test = expressions(depth - 1), conditions(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "&", "|", "^"]), inner),
        st.builds("({} % 97 * {} % 89)".format, inner, inner),
        st.builds("({} // {})".format, inner, st.sampled_from(["2", "3", "8"])),
        st.builds("({} if {} else {})".format, inner, test, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("pick({}, {}, {})".format, inner, inner, inner),
    )


def conditions(depth):
    inner = expressions(max(depth - 1, 0))
    simple = st.builds("({} {} {})".format, inner, st.sampled_from(["<", "<=", ">", "==", "!="]), inner)
    if depth == 0:
        return simple
    less = conditions(depth - 1)
    return st.one_of(
        simple,
        st.builds("({} and {})".format, less, less), st.builds("({} or {})".format, less, less),
        st.builds("(not {})".format, less), st.builds("({} <= {} < {})".format, inner, inner, inner),
    )


def indented(lines):
    return ["    " + line for line in lines]


def statements(depth):
    """Lists of lines: assignments, stores to the lane's own word, ifs, and loops that all lanes share."""
    value = expressions(2)
    target = st.sampled_from([*NAMES, "r[0]", "r[2]", "r[tid % 3]"])
    plain = st.one_of(
        st.builds("{} = {}".format, target, value),
        st.builds("{} {}= {}".format, target, st.sampled_from(["+", "-", "^"]), value),
        st.builds("{}, {} = {}, {}".format, st.just("a"), st.just("c"), value, value),
        st.builds("store(4 * tid, {} % 1000)".format, value),
    ).map(lambda line: [line])
    if depth == 0:
        return plain
    block = st.lists(statements(depth - 1), min_size=1, max_size=3).map(lambda b: list(itertools.chain(*b)))
    return st.one_of(
        plain,
        st.builds(lambda c, a: [f"if {c}:", *indented(a)], conditions(2), block),
        st.builds(lambda c, a, b: [f"if {c}:", *indented(a), "else:", *indented(b)], conditions(2), block, block),
        st.builds(lambda c, d, a, b: [f"if {c}:", *indented(a), f"elif {d}:", *indented(b)],
                  conditions(1), conditions(1), block, block),
        st.builds(lambda k, jump, a: [f"for i{depth} in range({k}):", f"    if i{depth} == 1: {jump}", *indented(a)],
                  st.sampled_from(["2", "n % 3", "m"]), st.sampled_from(["break", "continue", "pass"]), block),
        st.builds(lambda a: [f"w{depth} = 0", f"while w{depth} < m:", *indented([f"w{depth} += 1", *a])], block),
    )


KERNELS = st.lists(statements(2), min_size=1, max_size=6).map(lambda b: list(itertools.chain(*b)))


def written(body):
    """The kernel of a body."""
    ending = ["put(out + 4 * tid, (a ^ b ^ c) % 65536)", "put(out + 128 + 4 * tid, (r[0] + r[1] - r[2]) % 65536)"]
    return functions_of(HELPERS + "\n".join(indented([*body, *ending])) + "\n", dict(probe))["kernel"]


class Pointer(tuple):
    """(list, byte offset) of the lane-by-lane run."""

    def __add__(self, distance):
        return Pointer((self[0], self[1] + distance))


@given_few(10, 1_200, KERNELS, st.integers(0, 40), st.integers(0, 3))
def test_32_lanes_at_once_compute_what_each_lane_computes_alone(body, n, m):
    kernel = written(body)
    out = np.zeros(64, np.int32)

    def launch(out, n, m):
        st_shared(4 * tid_x(), 0)
        kernel(out, 0, n, m)

    run(launch, 1, 32, out, n, m, shared_bytes=128)
    alone = [0] * 64
    for lane in range(32):
        Lane.current, Lane.memory = lane, {}
        kernel(Pointer((alone, 0)), 0, n, m)
    assert out.tolist() == alone
