"""Tensor maps as arguments of simlayout run: kernels with TMA from the command line."""

import numpy as np
import pytest
from commands import printed, refused
from foreign_faults import FAULTS
from hypothesis import strategies as st
from tiers import given_few

from simlayout.cli.fills import given as argument
from simlayout.cli.fills import related
from simlayout.cli.map_text import map_text
from simlayout.errors import SimlayoutError

LOADS, STORES = "box_not_awaited", "store_unfenced"     # (map of s32 [8, 16], out s32): one box of all of it


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder but for two modules."""
    monkeypatch.chdir(tmp_path)
    for name in (LOADS, STORES):
        (tmp_path / f"{name}.ptx").write_text(FAULTS[name].alone("good"))
    return tmp_path


def words(name, *arguments):
    return ["run", f"{name}.ptx", "--block", "64", *(w for a in arguments for w in ("--arg", a))]


def test_a_kernel_loads_by_a_map_of_an_array_of_its_own(capsys):
    command = words(LOADS, "A=map(s32[8,16]:arange, box=16x8)", "out=s32[64]")
    text = " ".join(printed(capsys, *command, "--save", "out").split())
    assert "A int32 [8, 16], 0 of 128 elements changed" in text and "hazards none" in text
    assert np.load("out/out.npy").tolist() == list(range(64))


def test_a_kernel_loads_and_stores_by_maps_of_the_array_of_another_argument(capsys):
    printed(capsys, *words(LOADS, "map(out, box=16x8)", "out=s32[8,16]:integers:5:9"))
    printed(capsys, *words(STORES, "map(C,box=16x8,swizzle=none)", "C=s32[8,16]"), "--save", "C=C.npy")
    assert np.load("C.npy").ravel().tolist() == [*range(64), *[1] * 64]
    assert "as expected" in printed(capsys, *words(STORES, "C=map(C.npy, box=16x8)", "null"), "--expect", "C=C.npy")


def test_options_are_those_of_a_tensor_map():
    generator = np.random.default_rng(0)
    made = argument("A=map( f32[64,32]:normal , box = 8x4, swizzle=32B, type=tf32,fill=nan)", generator)
    tensor = made.value
    assert made.name == "A" and tensor.array is made.array and (made.before == made.array).all()
    assert (tensor.box, tensor.swizzle, tensor.dtype, tensor.fill) == ((8, 4), 32, "tf32", "nan")
    assert map_text("map(A, box=4, swizzle=128)").swizzle == map_text("map(A, box=4, swizzle=128B)").swizzle == 128
    assert map_text("map(A, box=4)").swizzle == map_text("map(A, box=4, swizzle=0)").swizzle == 0


@pytest.mark.parametrize("text, told", [
    ("map", "write NAME=TYPE[SHAPE]"), ("map(", "write a tensor map as map(ARRAY"), ("map(A)", "needs its box"),
    ("map(A, swizzle=32B)", "needs its box"), ("map(A, box=)", "box=: write box=64x128"),
    ("map(A, box=16x)", "box=16x: write"), ("map(A, box=-1)", "box=-1: write"), ("map((A), box=1)", "write a tensor map as"),
    ("map(A, box=16,8)", "write a tensor map as"), ("map(A, box=16x8, box=16x8)", "box twice"),
    ("map(A, box=16x8, swizzle=16B)", "swizzle=16B: write swizzle=none, 32B"), ("map(A, box=16x8, boxes=2)", "has no boxes"),
    ("map(A, box=16x8, fill=one)", "fill=one: write fill=zero"), ("map(A, box=16x8", "write a tensor map as"),
    ("map(B, box=16x8)", "--arg map(B, ...): no array is called B; there are A"), ("map(3, box=16x8)", "a tensor map of 3"),
    ("map(null, box=16x8)", "no array is called null"), ("map(x.npy, box=16x8)", "cannot read x.npy"),
    ("map(A, box=16x8x1)", "3 box for 2 dimensions"), ("map(A, box=512x8)", "box of 512 elements along dimension 0"),
    ("map(A, box=16x8, swizzle=32B)", "make box[0] at most 8"), ("map(A, box=3x8)", "box rows of 12 bytes"),
    ("map(A, box=16x8, type=f16)", "f16 in an array of int32"), ("map(A, box=16x8, type=none)", "none"),
    ("map(A, box=16x8, fill=nan)", "\"nan\" for floating-point"), ("map(s32[8,3], box=16x8)", "stride 12 bytes"),
    ("map(s32[8,16]:normal, box=16x8)", "normal makes fractions"), ("map(A, box=__import__('os'))", "write a tensor map")])
def test_what_is_no_map_is_one_line_that_names_the_fault_and_nothing_runs(capsys, folder, text, told):
    assert told in refused(capsys, *words(LOADS, text, "A=s32[8,16]"), "--save", "out")
    assert not list(folder.glob("out/*"))


@given_few(75, 300, st.from_regex(
    r"map\((A|f16\[8,64\]|[a-z0-9,\[]{0,5})(, ?(box|swizzle|fill|type|x)=[0-9a-zBx]{0,6}){0,3}\)?", fullmatch=True))
def test_any_text_is_a_map_or_refused_in_one_line(text):
    generator = np.random.default_rng(0)
    try:
        related([argument("A=f32[8,64]", generator), argument(text, generator)])
    except SimlayoutError as error:
        assert "\n" not in str(error)
