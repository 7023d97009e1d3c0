"""Many accesses at once, for the tests of those who count them: crowded, paired, masked, and in every form of array."""

import numpy as np
from hypothesis import strategies as st

from simlayout.errors import AddressError
from simlayout.hardware import INSTRUCTIONS

LANE = np.arange(32)
BANKED = sorted(name for name, row in INSTRUCTIONS.items() if row.rule == "banks")
FORMS = {
    "int64": lambda a: a, "int32": lambda a: a.astype(np.int32), "uint32": lambda a: a.astype(np.uint32),
    "uint64": lambda a: a.astype(np.uint64), "uint16": lambda a: (a % 2**16).astype(np.uint16),
    "int16": lambda a: (a % 2**15).astype(np.int16), "swapped": lambda a: a.astype(">i4"), "columns": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2], "reversed": lambda a: a[::-1].copy()[::-1],
}
"""What an array of addresses may look like; uint16 and int16 hold other addresses, still aligned."""


def crowd(rng, row, n):
    """Addresses int64 [n, 32]: from few words to all of shared memory, some shared with lane ^ 1, 2, 3 or 4, some of these
    but for one lane."""
    span, stride = rng.choice([1, 2, 8, 32, 256, 4096], (n, 1)), rng.choice([1, 1, 4, 8, 32], (n, 1))
    units = rng.integers(0, span, (n, 32)) * stride % (227 * 1024 // row.bytes)
    step = rng.choice([0, 0, 1, 1, 2, 2, 3, 4], (n, 1))
    units = np.take_along_axis(units, np.minimum(LANE, LANE ^ step), axis=1)
    odd = rng.random(n) < 0.2
    units[odd, rng.integers(0, 32, odd.sum())] = 0
    return row.bytes * units


@st.composite
def many_accesses(draw, most, forms=tuple(FORMS)):
    """(instruction, addresses [n, 32] in one of the forms, active: None, bool [32] or bool [n, 32])."""
    name = draw(st.sampled_from(BANKED))
    row, n = INSTRUCTIONS[name], draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    addresses = FORMS[draw(st.sampled_from(forms))](crowd(rng, row, n))
    kind = "none" if row.needs_whole_warp else draw(st.sampled_from(("none", "one", "many")))
    active = {"none": None, "one": rng.random(32) < 0.7, "many": rng.random((n, 32)) < rng.random((n, 1))}[kind]
    return name, addresses, active


@st.composite
def faulty_accesses(draw, most):
    """As `many_accesses`, with wrong addresses in some lanes, of which the masks hide a few."""
    name, addresses, active = draw(many_accesses(most, ("int64", "int32", "uint32", "uint64")))
    wide = addresses.dtype.itemsize == 8
    wrong = draw(st.lists(st.tuples(
        st.integers(0, max(len(addresses) - 1, 0)), st.integers(0, 31),
        st.sampled_from((-16, -1, 1, 3, 8, 24, 227 * 1024, 2**31 - 16, *((2**40, -2**63, 2**63 - 1) if wide else ())))),
        max_size=3))
    for access, lane, address in wrong if len(addresses) else ():
        addresses[access, lane] = np.array(address).astype(addresses.dtype)
    return name, addresses, active


def counted(function, *args):
    """(wavefronts, ideal) as lists, or the text of the AddressError."""
    try:
        made = function(*args)
        return [x.tolist() for x in (made if isinstance(made, tuple) else (made.wavefronts, made.ideal))]
    except AddressError as error:
        return str(error)
