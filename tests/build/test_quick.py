"""Numba in a hurry makes the same code, and leaves everything as it was."""

import copy
import gc
import re
from contextlib import nullcontext

import pytest

pytest.importorskip("numba.cuda")

from numba.cuda.core import inline_closurecall

from cuda_kernels.build import quick
from cuda_kernels.build.compile import bound_kernel, text_of
from cuda_kernels.matmul.repack import SIGNATURE, Copy


def test_the_ptx_is_the_same_as_without_it(monkeypatch):
    function = Copy(2, "sm_90a").python
    found = text_of(bound_kernel(function), SIGNATURE, (256, 1))
    monkeypatch.setattr("cuda_kernels.build.compile.quick_numba", nullcontext)
    slowly = text_of(bound_kernel(function), SIGNATURE, (256, 1))
    assert re.sub(r"B\d+v\d+B", "", found) == re.sub(r"B\d+v\d+B", "", slowly)    # functions are numbered


@pytest.mark.parametrize("collected", [True, False])
def test_afterwards_the_collector_and_numba_are_as_they_were_also_after_an_error(collected, monkeypatch):
    (gc.enable if collected else gc.disable)()
    try:
        with pytest.raises(KeyError), quick.quick_numba():
            assert not gc.isenabled() and isinstance(inline_closurecall.copy, quick.ScopeOnce)
            raise KeyError
        assert gc.isenabled() == collected and inline_closurecall.copy is copy
    finally:
        gc.enable()


class Scope:
    pass


class Block:
    def __init__(self, scope):
        self.scope, self.body = scope, [[]]


def test_blocks_of_one_function_are_copied_with_one_scope_and_of_each_copy_with_its_own():
    scope, once = Scope(), quick.ScopeOnce()
    blocks = [Block(scope), Block(scope)]
    first, second = ([once.deepcopy(b) for b in blocks] for _ in range(2))
    assert first[0].scope is first[1].scope is not scope and second[0].scope is second[1].scope is not first[0].scope
    assert first[0].body[0] is not blocks[0].body[0] and once.copy is copy.copy


def test_a_numba_without_that_module_is_left_alone(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "numba.cuda.core.inline_closurecall", None)
    monkeypatch.delattr("numba.cuda.core.inline_closurecall", raising=False)
    with quick.quick_numba():
        assert not gc.isenabled()
    assert gc.isenabled() and inline_closurecall.copy is copy
