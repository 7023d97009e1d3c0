"""The set `grouped` of `simlayout bench` without a GPU: its sizes, what it measures beside what, and what is kept."""

import types

import numpy as np
import pytest
from host_kit import install
from hypothesis import given
from hypothesis import strategies as st

from cuda_kernels.bench import grouped, libraries, record, timing
from cuda_kernels.bench.programs import programs, wanted_of
from cuda_kernels.bench.record import Product, Row
from cuda_kernels.bench.sets import cases_of
from cuda_kernels.run import driver
from simlayout.errors import DeviceError


@given(st.integers(0, 5000), st.integers(1, 300), st.integers(0, 5))
def test_sizes_are_those_of_their_seed_and_add_up_to_the_rows(rows, groups, seed):
    sizes = grouped.sizes_of(rows, groups, seed)
    assert sum(sizes) == rows and len(sizes) == groups and min(sizes) >= 0
    assert sizes == grouped.sizes_of.__wrapped__(rows, groups, seed)


def test_each_product_is_measured_beside_both_if_torch_knows_its_scales_and_compiled_once(monkeypatch):
    install(monkeypatch)
    cases = cases_of(["grouped"])
    beside = {p: [case.label for case in cases if case.problem == p] for p in grouped.PRODUCTS}
    assert all(labels == [grouped.LOOP] + [grouped.TORCH] * (p.scaled != "1x128") for p, labels in beside.items())
    assert {p.scaled for p in beside} == {"", "lines", "1x128"}
    assert {case.problem.groups for case in cases} == {8, 64, 256}
    made = programs(cases, driver.cuda())
    assert all(p.kernel.options.grouped for p in made) and len(made) == len(cases)
    assert wanted_of(grouped.PRODUCTS[0]).matrices == grouped.PRODUCTS[0].groups


def test_a_row_of_groups_is_kept_and_read_again(tmp_path):
    rows = [Row("grouped", grouped.TORCH, problem, None, 2.0, 3.0, 1.5) for problem in grouped.PRODUCTS]
    record.write(tmp_path / "kept.json", record.Record({"device": "none"}, tuple(rows)))
    assert list(record.read(tmp_path / "kept.json").rows) == rows
    problem = Product(64, 32, 16, "bf16", groups=4)
    assert problem.nbytes == 2 * (64 * 16 + 4 * 16 * 32 + 64 * 32) and str(problem) == "64 x 32 x 16 bf16 NT in 4 groups"


class Made:
    """A library over NumPy, whose torch knows what a grouped case asks for."""

    version, cublas, full = "torch 0", True, MemoryError

    def __init__(self):
        self.asked, self.torch = [], types.SimpleNamespace(
            _grouped_mm=lambda a, b, offs: self.asked.append(("grouped", offs)),
            _scaled_grouped_mm=lambda a, b, *scales, **options: self.asked.append(("scaled", scales, options)))

    def multiply(self, a, b, out, named=types.MappingProxyType({})):
        self.asked.append((len(a), *(len(named[name]) for name in ("scale_a", "scale_b") if named)))
        out[...] = a @ b


class Array(np.ndarray):
    """NumPy's, with what the loop asks of a tensor."""

    def clone(self):
        return self.copy()

    def t(self):
        return self.T

    @property
    def mT(self):
        return self.swapaxes(-1, -2)

    def data_ptr(self):
        return self.ctypes.data

    def view(self, *shape):
        return self.reshape(*shape) if shape == (-1,) else super().view(*shape)


def test_the_loop_multiplies_each_group_that_has_rows_by_its_own_matrix():
    library, problem = Made(), Product(50, 8, 16, "bf16", groups=6)
    sizes = grouped.sizes_of(50, 6)
    source = np.random.default_rng(0)
    a, b, out = source.random((50, 16)), source.random((6, 16, 8)), np.zeros((50, 8))
    grouped.Beside(library, problem, grouped.LOOP).multiply(a, b, out, None)
    ends = np.cumsum(sizes)
    wanted = np.concatenate([a[end - size:end] @ b[i] for i, (size, end) in enumerate(zip(sizes, ends))])
    np.testing.assert_array_equal(out, wanted)
    assert library.asked == [(size,) for size in sizes if size]


def test_scales_are_cut_to_each_group_once_and_torch_is_given_all():
    library, problem = Made(), Product(50, 8, 16, "e4m3", scaled="lines", groups=6)
    a, b, out = np.ones((50, 16)), np.ones((6, 16, 8)), np.zeros((50, 8), np.float32)
    scales = np.ones((50, 1)).view(Array), np.ones((6, 8)).view(Array)
    beside = grouped.Beside(library, problem, grouped.LOOP)
    for _ in range(2):
        beside.multiply(a, b, out, None, *scales)
    sizes = [size for size in grouped.sizes_of(50, 6) if size]
    assert library.asked == [(size, size, 1) for size in sizes] * 2 and len(beside._scales) == len(sizes)
    grouped.Beside(library, problem, grouped.TORCH).multiply(a, b, out, "offsets", *scales)
    (_, given_scales, options) = library.asked[-1]
    assert options["offs"] == "offsets" and given_scales[1] is scales[1]


def test_groups_with_scales_of_blocks_have_rows_and_scales_as_cublas_takes_them():
    library, problem = Made(), Product(320, 256, 640, "e4m3", scaled="1x128", groups=3)
    given = []
    library.multiply = lambda a, b, out, named: given.append((len(a), named["scale_a"], named["scale_b"]))
    library.torch.rand = lambda *shape, device: np.random.default_rng(0).random(shape).view(Array)
    scales = libraries.Torch.scales(library, problem)
    a, b, out = np.ones((320, 640)), np.ones((3, 640, 256)), np.zeros((320, 256), np.float32)
    grouped.Beside(library, problem, grouped.LOOP).multiply(a, b, out, None, *scales)
    ends = np.cumsum([0, *(rows for rows, *_ in given)])
    assert ends[-1] == 320 and all(rows % grouped.ROWS == 0 for rows, *_ in given)
    for i, (rows, of_rows, of_columns) in enumerate(given):
        np.testing.assert_array_equal(of_rows, scales[0][ends[i]:ends[i + 1]])
        assert of_rows.shape == (rows, 5) and of_rows.strides == (8, 8 * rows)
        assert of_columns.shape == (5, 2) and of_columns.strides == (8, 8 * 8)       # columns begin 8 scales apart, not 5


def test_groups_are_not_measured_without_torch():
    with pytest.raises(DeviceError, match="measured beside torch's, and here is CuPy 14"):
        grouped.Beside(types.SimpleNamespace(version="CuPy 14"), grouped.PRODUCTS[0], grouped.LOOP)


def test_a_case_of_groups_is_checked_by_the_loop_whatever_it_is_measured_beside(monkeypatch):
    seen = {}
    monkeypatch.setattr(timing, "_prepared", lambda case, library, *rest: ([()], [None]))
    monkeypatch.setattr(timing, "_check", lambda library, *rest: seen.update(checked=library._label))
    monkeypatch.setattr(timing, "_timed", lambda case, library, *rest: seen.update(timed=library._label))
    case = cases_of(["grouped"])[1]
    timing.compare(case, Made())
    assert seen == {"checked": grouped.LOOP, "timed": grouped.TORCH}
