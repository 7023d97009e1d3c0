"""What every library of CuTe's layout algebra must agree with us on, given its names.

Each check draws nothing itself: the tests hand it layouts. Where we refuse and they answer, their answer must be wrong: no
refusal of ours is for a thing that exists.
"""

from functools import lru_cache
from types import SimpleNamespace

from oracle_kit import one_to_one, ours, text, theirs, values

import simlayout as sl


@lru_cache(None)
def library(name):
    """The names of a library, "pycute" or "tensor_layouts", that the checks use. layout: ours as theirs."""
    if name == "pycute":
        import pycute as module

        composition = module.composition
    else:
        import tensor_layouts as module

        composition = module.compose
    return SimpleNamespace(module=module, layout=lambda made: module.Layout(made.shape, made.stride), size=module.size,
                           cosize=module.cosize, coalesce=module.coalesce, composition=composition,
                           complement=module.complement)


def same_function(library, layout):
    """Evaluation, size and cosize."""
    made = library.layout(layout)
    assert values(made, layout.size) == values(layout, layout.size)
    assert library.size(made) == layout.size and library.cosize(made) == layout.cosize
    assert text(library.coalesce(made)) == str(sl.coalesce(layout))


def same_composition(library, outer, inner):
    """outer o inner, where inner stays inside outer's domain."""
    want = [int(outer(int(inner(i)))) for i in range(inner.size)]
    mine = ours(sl.composition, outer, inner)
    other = theirs(library.composition, library.layout(outer), library.layout(inner))
    if mine is not None:
        assert values(mine, inner.size) == want
    if other is not None:
        right = library.size(other) == inner.size and values(other, inner.size) == want
        assert right == (mine is not None)


def same_complement(library, layout, cotarget):
    """The complement below a cotarget that the layout does not pass."""
    mine = ours(sl.complement, layout, cotarget)
    other = theirs(library.complement, library.layout(layout), cotarget)
    if mine is not None:
        assert text(other) == str(mine)
    elif other is not None:
        both = [int(layout(i)) + int(other(j)) for i in range(layout.size) for j in range(library.size(other))]
        assert not one_to_one(both) or not set(both) >= set(range(cotarget))


def same_division(library, name, layout, tiler):
    """logical_divide and the like by a tiler inside the layout."""
    mine = ours(getattr(sl, name), layout, tiler)
    other = theirs(getattr(library.module, name), library.layout(layout), library.layout(tiler))
    if other is None:
        return
    if mine is None:
        assert library.size(other) != layout.size                 # theirs goes on beyond the layout
    else:
        assert library.size(other) == mine.size and values(other, mine.size) == values(mine, mine.size)


def same_product(library, block, tiler):
    """logical_product of one-to-one layouts."""
    mine = ours(sl.logical_product, block, tiler)
    other = theirs(library.module.logical_product, library.layout(block), library.layout(tiler))
    if other is None:
        return
    size = block.size * tiler.size
    if mine is None:
        assert library.size(other) != size or not one_to_one(values(other, size))
    else:
        assert library.size(other) == size and values(other, size) == values(mine, size)


def same_inverses(library, layout):
    """The right inverse is one text; a left inverse of theirs may differ where nothing maps to."""
    made = library.layout(layout)
    assert text(library.module.right_inverse(made)) == str(sl.algebra.right_inverse(layout))
    back = library.module.left_inverse(made)
    assert [int(back(int(layout(i)))) for i in range(layout.size)] == list(range(layout.size))
