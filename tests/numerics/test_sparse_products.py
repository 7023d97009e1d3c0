"""Products with a sparse A: row by row a dense product of what is stored, for every mma.sp; and what is refused."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import sweep_but

from cuda_kernels.conformance.products.cases import stored_part, tiles
from cuda_kernels.conformance.products.common import raw
from simlayout import InstructionError
from simlayout.hardware import SPARSE_MMAS, compress, expand, sparse_mma, stored_columns
from simlayout.numerics import MEASURED, TENSOR_OPS, gemm, mma, rule, tensor_op, warp_mma

HALVES = "mma.sp.m16n8k32.f32.f16.f16.f32"
SPARSE = [name for name, op in TENSOR_OPS.items() if op.sparse]


def dense_of(name):
    """The dense instruction with as many products as one with a sparse A has stored elements; None where there is none."""
    family, _, rest = name.rpartition(".sp.")
    op = tensor_op(name)
    dense = f"{'' if family == 'mma' else 'wgmma.'}{rest.replace(f'k{op.k}', f'k{op.stored}')}"
    return dense if dense in TENSOR_OPS else None


@pytest.mark.parametrize("name", sweep_but(SPARSE[:44:3] + SPARSE[50::150], SPARSE))
def test_a_row_of_a_sparse_product_is_the_dense_product_of_its_stored_elements(name):
    op, dense = tensor_op(name), dense_of(name)
    a, b, c, _ = tiles(name, 2, seed=4)
    stored, metadata = stored_part(name, a, seed=4)
    d = mma(name, stored, b, c, metadata=metadata)
    for row in range(0, op.m, 5):
        columns = stored_columns(metadata, sparse_mma(name).pattern.name)[:, row]
        of_row = np.stack([tile[at] for tile, at in zip(b, columns)])
        of_a, of_c = (np.repeat(x[:, row:row + 1], op.m, axis=1) for x in (stored, c))
        expected = mma(dense, of_a, of_row, of_c)
        assert np.array_equal(raw(d[:, row].copy()), raw(expected[:, 0].copy())), (row, dense)


def test_every_sparse_product_has_a_dense_one_with_as_many_products_and_its_rule():
    for name in SPARSE:
        mine, dense = rule(name), rule(dense_of(name))
        assert (mine.kind, mine.step, mine.fraction_bits, mine.kept_bits) == (
            dense.kind, dense.step, dense.fraction_bits, dense.kept_bits), name
        elsewhere = "documented" if mine.kind == "integer" else "assumed"
        assert mine.provenance.kind == ("measured" if name in MEASURED else elsewhere)
    assert set(SPARSE_MMAS) <= set(MEASURED)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_a_whole_product_of_small_integers_is_exact_for_any_shape(rows, columns, groups, seed):
    generator = np.random.default_rng(seed)
    a = generator.integers(-8, 9, (rows, groups, 4)).astype(np.float16)
    a[:, :, 2:] = 0
    a = generator.permuted(a, axis=-1).reshape(rows, -1)
    b = generator.integers(-8, 9, (4 * groups, columns)).astype(np.float16)
    values, metadata = compress(a)
    exact = expand(values, metadata).astype(int) @ b.astype(int)
    assert np.array_equal(gemm(HALVES, values, b, metadata=metadata), exact)
    both = gemm(HALVES, np.stack([values, -values]), b, metadata=np.stack([metadata, metadata]))
    assert np.array_equal(both, [exact, -exact])


def test_rows_are_gathered_in_parts_that_change_nothing(monkeypatch):
    a, b, c, _ = tiles(HALVES, 4, seed=2)
    stored, metadata = stored_part(HALVES, a, seed=2)
    whole = mma(HALVES, stored, b, c, metadata=metadata)
    monkeypatch.setattr("simlayout.numerics.sparse.ELEMENTS", 5 * b[0].size)
    assert np.array_equal(raw(mma(HALVES, stored, b, c, metadata=metadata)), raw(whole))


VALUES, NIBBLES, B = np.zeros((16, 16), np.float16), np.full((16, 8), 0b0100, np.uint8), np.zeros((32, 8), np.float16)


@pytest.mark.parametrize("call, words", [
    (lambda: mma(HALVES, VALUES, B), "needs metadata, which says where the stored elements of A were: a, metadata = "),
    (lambda: mma(HALVES, VALUES, B, metadata=NIBBLES[:, :4]), "integers [16, 8], not [16, 4]"),
    (lambda: mma(HALVES, np.zeros((16, 32), np.float16), B, metadata=NIBBLES), "takes a [..., 16, 16] and b [..., 32, 8]"),
    (lambda: mma(HALVES, VALUES, B, np.zeros((16, 4), np.float32), metadata=NIBBLES), "does not broadcast to [..., 16, 8]"),
    (lambda: mma(HALVES, np.zeros((2, 16, 16), np.float16), np.zeros((3, 32, 8), np.float16),
                 metadata=np.stack([NIBBLES, NIBBLES])), "or the leading axes do not match"),
    (lambda: mma("m16n8k16.f32.f16.f16.f32", VALUES, B[:16], metadata=NIBBLES), "has a dense A: it takes no metadata"),
    (lambda: gemm(HALVES, VALUES, B[:16], metadata=NIBBLES), "a is [..., M, K / 2] and b [..., K, N]"),
    (lambda: warp_mma(HALVES, selector=2), "has sparsity selectors 0 to 1, not 2"),
    (lambda: rule("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", "sm_80"), "sm_80 has no mma.sp.m16n8k64.f32.e4m3.e4m3.f32"),
])
def test_what_does_not_go_together_is_refused_in_one_line(call, words):
    with pytest.raises(InstructionError, match=re.escape(words)) as caught:
        call()
    assert "\n" not in str(caught.value)
