"""Tests written down: the pytest file that holds a tile and its accesses to what was found of them."""

from dataclasses import replace

from simlayout.algebra.nested import mode_sizes
from simlayout.codegen.printer import expression_text
from simlayout.codegen.symbols import Expr, symbol
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.proofs import verify

_FILE = '''"""Property tests of a tile of shared memory: run them with pytest, put them beside the kernel's own.

Written by simlayout; needs pip install pytest hypothesis.
"""

from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.testing import assert_bijective, assert_conflict_free, assert_wavefronts

TILE = sl.tile({tile!r})

CONFLICT_FREE = [{free}]
"""Accesses that take no wavefront too many."""

OTHERS = [{others}]
"""(an access with bank conflicts, the wavefronts that it takes)."""

COORDINATES = st.tuples({coordinates})


def test_every_element_has_a_place_of_its_own():
    assert_bijective(TILE, size={cosize}, dtype={dtype!r})


@given(COORDINATES, COORDINATES)
def test_no_two_elements_share_an_offset(one, other):
    assert one == other or TILE(*one) != TILE(*other)


def test_accesses_are_in_bounds_aligned_and_of_neighbours():
    for access in [*CONFLICT_FREE, *(access for access, _ in OTHERS)]:
        sl.verify(access)


def test_no_access_has_bank_conflicts_beyond_those_that_are_known():
    for access in CONFLICT_FREE:
        assert_conflict_free(access)
    for access, wavefronts in OTHERS:
        assert_wavefronts(access, wavefronts)
'''


def test_source(accesses):
    """The text of a pytest file for accesses to one tile: it is one-to-one, they are in bounds, aligned and contiguous, and
    take the wavefronts that they take today.

    Raises SimlayoutError for lanes that are no integer arithmetic, VerificationError for what does not hold.
    """
    for access in accesses:
        verify(replace(access, excess=None))
    tile, dtype = accesses[0].tile, accesses[0].dtype
    sizes = mode_sizes(tile)
    free, others = [], []
    for access in accesses:
        analysis = access.analyze()
        if analysis.excess.any():
            others.append(f"({_access(access, ', excess=None')}, {int(analysis.wavefronts.sum())})")
        else:
            free.append(_access(access))
    return _FILE.format(tile=str(tile), dtype=dtype, cosize=tile.cosize, free=_listed(free), others=_listed(others),
                        coordinates=", ".join(f"st.integers(0, {size - 1})" for size in sizes))


test_source.__test__ = False        # type: ignore[attr-defined]   # a name that pytest would collect


def _listed(items):
    return "".join(f"\n    {item}," for item in items) + "\n" * bool(items)


def _access(access, more=""):
    """The text of an Access."""
    domain = {str(name): int(size) for name, size in access.domain.items()}
    chip = "" if access.arch == DEFAULT_ARCH else f", arch={access.arch!r}"
    return (f"sl.Access({access.name!r}, {access.instruction!r}, TILE,\n              lambda {', '.join(domain)}: "
            f"{_coordinate(access)},\n              {domain}, {access.dtype!r}{more}{chip})")


def _coordinate(access):
    """What the lanes give, as text of a tuple."""
    try:
        given = access.coordinate(*(symbol(name, size) for name, size in access.domain.items()))
        texts = [expression_text(x if isinstance(x, Expr) else int(x)) for x in given]
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise SimlayoutError(f"access {access.name!r} cannot be written down: {error}") from error
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
