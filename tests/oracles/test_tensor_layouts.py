"""Our layouts, swizzles and fragments against tensor-layouts 0.3.2: `pip install -e ".[test,oracles]"`."""

import re

import numpy as np
import pytest

tl = pytest.importorskip("tensor_layouts")

import algebra_oracle as oracle  # noqa: E402 (nothing here without tensor-layouts)
from algebra_kit import checked, layouts, swizzles  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tensor_layouts import analysis, atoms_nv  # noqa: E402

import simlayout as sl  # noqa: E402
from simlayout.errors import LayoutError  # noqa: E402

layout = oracle.library("tensor_layouts").layout


@checked
@given(swizzles, swizzles, layouts())
def test_swizzles_agree_in_one_layer_and_in_two(outer, inner, made):
    one, two = (tl.Swizzle(s.bits, s.base, s.shift) for s in (inner, outer))
    over = tl.compose(one, layout(made))
    assert [over(i) for i in range(made.size)] == [(inner @ made)(i) for i in range(made.size)]
    assert [two(over(i)) for i in range(made.size)] == [(outer @ inner @ made)(i) for i in range(made.size)]


# ---- fragments ---------------------------------------------------------------------------------------------------------

TYPES = re.compile("BF16|TF32|F16|F32|F64|S8|S32|E4M3|E5M2")


def name_of(atom):
    """Our name of one of their dense atoms, None for the others."""
    found = re.fullmatch(r"SM(?!100)\d+_(\d+)x(\d+)x(\d+)_((?:BF16|TF32|F16|F32|F64|S8|S32|E4M3|E5M2)+)_(TN|SS)", atom)
    if found is None:
        return None
    types = [t.lower() for t in TYPES.findall(found[4])]
    prefix, types = ("wgmma.", types[:3]) if found[5] == "SS" else ("", types)
    return f"{prefix}m{found[1]}n{found[2]}k{found[3]}.{'.'.join(types)}"


def known(name):
    """Whether we have the instruction."""
    try:
        return sl.fragment(name, "D") is not None
    except sl.InstructionError:
        return False


ATOMS = {atom: name_of(atom) for atom in dir(atoms_nv) if name_of(atom) and name_of(atom).count(".") > 2}
WARP = [atom for atom, name in ATOMS.items() if not name.startswith("wgmma") and known(name)]
GROUP = [atom for atom, name in ATOMS.items() if name.startswith("wgmma") and known(name)]


def held(fragment, their_layout, rows, transposed=False):
    """Compares all (lane, value) of a fragment with a layout into a column-major operand of so many rows."""
    for lane in range(fragment.lanes):
        for value in range(fragment.values):
            at = int(their_layout(lane, value))
            want = (at % rows, at // rows)
            assert tuple(map(int, fragment(lane, value))) == (want[::-1] if transposed else want), (lane, value)


@pytest.mark.parametrize("atom", WARP)
def test_fragments_of_mma_agree(atom):
    name, made = ATOMS[atom], getattr(atoms_nv, atom)
    m, n, _ = made.shape_mnk
    held(sl.fragment(name, "A"), made.a_layout, m)
    held(sl.fragment(name, "B"), made.b_layout, n, transposed=True)        # CuTe's B is (n, k), PTX's (k, n)
    held(sl.fragment(name, "C"), made.c_layout, m)


@pytest.mark.parametrize("atom", GROUP)
def test_accumulators_of_wgmma_agree(atom):
    held(sl.fragment(ATOMS[atom], "D"), getattr(atoms_nv, atom).c_layout, 64)


def test_there_are_as_many_fragments_as_were_counted():
    assert (len(WARP), len(GROUP)) == (27, 37)


# ---- conflicts, where theirs is a count of ways -------------------------------------------------------------------------

@checked
@given(st.lists(st.integers(0, 255), min_size=5, max_size=5))
def test_the_ways_of_four_byte_accesses_are_our_wavefronts(strides):
    lanes = sl.Layout((2,) * 5, tuple(strides))
    addresses = [4 * int(lanes(lane)) for lane in range(32)]
    ways = analysis.bank_conflicts(tl.Layout((2,) * 5, tuple(strides)), element_bytes=4)["max_ways"]
    assert ways == int(sl.analyze("ld.shared.b32", addresses).wavefronts[0])


# ---- where tensor-layouts 0.3.2 differs: each fails here when it is mended ----------------------------------------------

def test_sixteen_bytes_per_lane_are_counted_as_one_group_of_lanes():
    consecutive = tl.Layout((32, 8), (8, 1))
    found = analysis.bank_conflicts(consecutive, element_bytes=2)
    assert (found["max_ways"], found["conflict_free"]) == (4, False)
    assert sl.analyze("ld.shared.b128", [16 * lane for lane in range(32)]).excess.tolist() == [0]


def test_a_padded_layout_is_given_an_f2_matrix_that_it_does_not_have():
    padded = sl.Layout((8, 8), (9, 1))
    matrix = np.array(analysis.to_F2_matrix(layout(padded)))
    bits = matrix @ ((np.arange(64) >> np.arange(6)[:, None]) & 1) % 2
    theirs = (bits << np.arange(len(bits))[:, None]).sum(axis=0)
    assert int((theirs != padded(np.arange(64))).sum()) == 37
    with pytest.raises(LayoutError, match="is no F2 map"):
        sl.F2Map.of(padded)


@pytest.mark.parametrize("parameters", [(3, 0, 1), (2, 0, -1)])
def test_overlapping_swizzles_are_made_and_do_not_undo_themselves(parameters):
    swizzle = tl.Swizzle(*parameters)
    assert any(swizzle(swizzle(x)) != x for x in range(64))
    with pytest.raises(LayoutError, match="not bijective"):
        sl.Swizzle(*parameters)
