"""Arguments of a kernel as text: types, shapes, fills and files."""

from contextlib import suppress

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

from simlayout.cli.fills import FILLS, element_type
from simlayout.cli.fills import given as argument
from simlayout.errors import SimlayoutError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text, name, dtype", [
    ("A=bf16[2,2]:normal", "A", ml_dtypes.bfloat16), ("e4m3[4]:uniform", None, ml_dtypes.float8_e4m3fn),
    ("x_1=s64[3]:integers:-9:9", "x_1", np.int64), ("bool[4]:ones", None, np.bool_),
    ("complex64[2]:normal", None, np.complex64)])
def test_an_array_has_the_name_type_and_shape_that_it_is_given(text, name, dtype):
    made = argument(text, np.random.default_rng(0))
    assert made.name == name and made.value.dtype == dtype and made.value.size in (2, 3, 4) and made.value.any()


@pytest.mark.parametrize("fill", [f for f in FILLS if f.islower()])
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "e5m2"])
def test_every_fill_is_of_the_type_of_its_array(fill, name):
    made = argument(f"{name}[64]:{fill}", np.random.default_rng(3)).value
    assert made.dtype == element_type(name) and made.shape == (64,)
    spread = made.astype(float)
    assert {"zeros": (spread == 0).all(), "ones": (spread == 1).all(), "arange": spread[1] == 1 and spread[16] == 16,
            "normal": spread.min() < -0.5 and 0.5 < spread.max(),
            "uniform": spread.min() >= 0 and 0.5 < spread.max() <= 1}[fill]


def test_an_array_of_a_file_is_taken_as_it_is_and_bf16_survives_it(folder):
    made = argument("bf16[8]:normal", np.random.default_rng(1)).value
    np.save("b.npy", made)
    again = argument("A=bf16[8]:b.npy", np.random.default_rng(2)).value
    assert again.dtype == made.dtype and (again == made).all()
    np.save("f.npy", np.arange(6.0).reshape(2, 3))
    assert argument("f.npy", np.random.default_rng(2)).value.tolist() == [[0, 1, 2], [3, 4, 5]]
    np.save("o.npy", np.array([print], object), allow_pickle=True)
    for text, told in (("o.npy", "cannot read o.npy"), ("f32[2,3]:f.npy", "has float64"), ("f64[3,2]:f.npy", "(2, 3)")):
        with pytest.raises(SimlayoutError, match=f".*{told}".replace("(", r"\(").replace(")", r"\)")):
            argument(text, np.random.default_rng(0))


@given_few(75, 300, st.text(max_size=40) | st.from_regex(
    r"[A-C]?=?(f16|s8|x)?\[?[0-9,]{0,4}\]?:?(normal|integers:[0-9]:-?[0-9])?", fullmatch=True))
def test_any_text_is_an_argument_or_refused_in_one_line(text):
    with suppress(SimlayoutError):
        made = argument(text, np.random.default_rng(0)).value
        assert made is None or isinstance(made, int | float | bytes | np.ndarray)
