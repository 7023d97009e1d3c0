"""Products by their sizes are what matmul looks for, and `simlayout tune` takes them from a command line or a file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fake_clock import TimedLibrary
from fake_driver import DTYPES
from host_kit import aligned, install
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cuda_kernels.matmul import steps
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.grouped import plan_grouped_matmul
from cuda_kernels.matmul.matmul import plan_matmul
from cuda_kernels.matmul.tune import command, entrants, kept, measure
from cuda_kernels.matmul.tune.asked import DTYPES as TAKEN
from cuda_kernels.matmul.tune.asked import ORDERS, Asked, asked_in
from cuda_kernels.run import driver, turns
from cuda_kernels.run.device import gpu_problem
from simlayout.cli import main
from simlayout.errors import SimlayoutError

USUAL = Asked(1, 1, 1)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """A machine with a TimedLibrary, on which the command measures few configurations."""
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(measure, "MOST", 3)
    monkeypatch.setattr(turns, "ROTATED", 1e5)
    monkeypatch.setattr(entrants, "BLOCK", 1009)
    monkeypatch.setattr(measure, "compile_ahead", lambda programs, version: len(programs))
    monkeypatch.setattr(command, "gpu_problem", lambda needs: None)
    library = TimedLibrary()
    library.torch = install(monkeypatch, library)[1]
    kept._read_once.cache_clear()
    return library


def laid(torch, letter, batch, rows, cols, dtype):
    """A tensor without gaps, N with contiguous rows, T transposed."""
    outer = (batch,) * (batch > 1)
    shape = (*outer, rows, cols) if letter == "N" else (*outer, cols, rows)
    array = aligned(np.zeros(shape, DTYPES[dtype]))
    return torch.Tensor(array if letter == "N" else array.swapaxes(-1, -2))


SIZES = st.sampled_from([1, 2, 8, 33, 64, 200])


def looked_for(M, N, K, call):
    """What a call with a torch of NumPy looks for on disk."""
    looked = []
    with pytest.MonkeyPatch.context() as patch:
        _, torch = install(patch)
        patch.setattr(steps, "kept", lambda cuda, device, wanted: looked.append(wanted))
        call(torch)
        return looked, driver.cuda()


@settings(max_examples=200, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(TAKEN), st.sampled_from([None, "f16", "f32"]), st.sampled_from(ORDERS),
       st.sampled_from([1, 1, 3]), st.sampled_from(["", "", "bias", "gelu bias", "silu multiply", "alpha relu residual"]))
def test_what_is_asked_for_by_sizes_is_what_matmul_looks_for(M, N, K, dtype, out, order, batch, epilogue):
    words, asked = epilogue.split(), Asked(M, N, K, dtype, out, order, batch, epilogue=epilogue)
    usual = {"f16": "f16", "s8": "bf16" if words else "s32", "u8": "bf16" if words else "s32"}

    def call(torch):
        a, b = (laid(torch, letter, batch, *shape, t)
                for letter, shape, t in zip(order, ((M, K), (K, N)), asked.types))
        c = laid(torch, "N", batch, M, N, out or usual.get(asked.types[0], "bf16"))
        named = {name: torch.Tensor(aligned(np.zeros((N,) if name == "bias" else c.array.shape, c.array.dtype)))
                 for name in ("bias", "residual", "multiply") if name in words}
        activation = next((word for word in words if word in ("gelu", "relu", "silu")), None)
        plan_matmul(a, b, c, alpha=0.5 if "alpha" in words else 1.0, activation=activation, **named)

    looked, cuda = looked_for(M, N, K, call)
    assert looked == [asked.wanted(cuda, 0)]


@settings(max_examples=60, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(TAKEN), st.sampled_from([None, "f16", "f32"]), st.sampled_from(ORDERS),
       st.integers(1, 5), st.sampled_from(["", "", "tensor", "lines"]))
def test_what_is_asked_for_in_groups_is_what_grouped_matmul_looks_for(M, N, K, dtype, out, order, groups, scaled):
    assume(scaled != "lines" or max(M, N) > 1)      # which one scale for each is, too
    asked = Asked(M, N, K, dtype, out, order, scaled=scaled, groups=groups)
    usual = {"f16": "f16", "s8": "bf16" if scaled else "s32", "u8": "bf16" if scaled else "s32"}

    def call(torch):
        a = laid(torch, order[0], 1, M, K, asked.types[0])
        b = torch.Tensor(laid(torch, order[1], groups + 1, K, N, asked.types[1]).array[:groups])
        c = laid(torch, "N", 1, M, N, out or usual.get(asked.types[0], "bf16"))
        shapes = {"lines": ((M,), (groups, N)), "tensor": ((1,), (1,)), "": ()}[scaled]
        scales = [torch.Tensor(aligned(np.ones(shape, np.float32))) for shape in shapes]
        offsets = torch.Tensor(aligned(np.zeros(groups, np.int32)))
        plan_grouped_matmul(a, b, offsets, c, **dict(zip(("scale_a", "scale_b"), scales)))

    looked, cuda = looked_for(M, N, K, call)
    assert looked == [asked.wanted(cuda, 0)] and looked[0].grouped and looked[0].matrices == groups


@given(st.lists(st.tuples(*[st.integers(1, 2**31 - 1)] * 3, st.sampled_from([None, *TAKEN])), min_size=1, max_size=5),
       st.sampled_from([" ", ",", ", ", "\t", ";"]), st.booleans(), st.booleans())
def test_a_file_gives_the_products_that_were_written_once_each(rows, between, header, commented):
    lines = [between.join(map(str, filter(None, row))) for row in rows]
    text = "\n".join(["M,N,K,dtype"] * header + [line + "  # why" * commented for line in lines]) + "\n\n"
    want = list(dict.fromkeys(Asked(*row[:3], row[3] or "f16") for row in rows))
    assert asked_in(text, "x", USUAL) == want
    assert asked_in(json.dumps([[x for x in row if x] for row in rows]), "x", USUAL) == want
    named = [{k: v for k, v in zip(("M", "N", "K", "dtype"), row) if v} for row in rows]
    assert asked_in(json.dumps(named), "x", USUAL) == want


@given(st.lists(st.fixed_dictionaries(
    {name: st.integers(1, 2**31 - 1) for name in "MNK"},
    optional=dict(dtype=st.sampled_from(TAKEN), out=st.sampled_from(["f16", "f32"]), order=st.sampled_from(ORDERS),
                  batch=st.integers(1, 9), scaled=st.sampled_from(["tensor", "lines"]), epilogue=st.just("bias gelu"),
                  groups=st.integers(1, 99))), min_size=1, max_size=4), st.sampled_from(ORDERS))
def test_an_object_of_a_file_may_name_whatever_is_asked_of_a_product(items, order):
    usual = replace(USUAL, order=order)
    try:
        want = list(dict.fromkeys(replace(usual, **item) for item in items))
    except SimlayoutError:
        with pytest.raises(SimlayoutError, match="^layers.json: item [1-4]: "):
            asked_in(json.dumps(items), "layers.json", usual)
    else:
        assert asked_in(json.dumps(items), "layers.json", usual) == want


@pytest.mark.parametrize("text, fault", [
    ("64 64 64\n64 64\n", "line 2: '64 64' is no product: write M N K"),
    ("1 2 3 f61", r"line 1: dtype 'f61' \(did you mean f16\?\): choose"),
    ("0 1 1", "line 1: sizes 0 1 1: give integers from 1"), ("a b c", "line 1: sizes a b c"),
    ("1 2 3 f16 9", "line 1: '1 2 3 f16 9'"),
    ('[{"M":1,"N":2,"K":3,"majors":"NT"}]', "item 1: .* give M, N, K and perhaps dtype, out, order, batch"),
    ('[{"M":1,"N":2,"K":3,"order":["NT"]}]', "item 1: order"), ('[{"M":1,"N":2,"K":3,"batch":"2"}]', "item 1: .*batch 2"),
    ('[{"M":1,"N":2,"K":3,"groups":-1}]', "item 1: .*groups -1"), ('[{"M":1,"N":2,"K":3,"epilogue":7}]', "item 1: epilogue"),
    ("1 -2 3", "line 1: sizes 1 -2 3"), ("1 2 ٣", "line 1: sizes"), ("9999999999 1 1", "line 1: sizes"),
    ("1\n2\n3\n4\n5", "line 3: '3' is no product.*and 2 more$"), ("", "names no product"), ("# all\n\n", "names no product"),
    ("[]", "names no product"), ("[[1,2,3]", "is no JSON"), ("[" * 99999, "is no JSON"), ('{"M": 1}', "no list of products"),
    ('[[1,2,3],[1,2]]', "item 2: .1, 2. is no product"), ('[{"M":1,"N":2}]', "item 1: .* give M, N, K"),
    ("[7]", "item 1: 7 is no"),
    ('[[1.5,2,3]]', "item 1: sizes 1.5"), ('[[true,2,3]]', "item 1: sizes True"), ('[[1,2,3,["f16"]]]', "item 1: dtype"),
    ('[[[1],2,3]]', "item 1: sizes"), ('[[NaN,2,3]]', "item 1: sizes")])
def test_lines_that_say_no_product_are_named_before_anything_runs(text, fault):
    with pytest.raises(SimlayoutError, match=f"layers.txt:? ?.*{fault}"):
        asked_in(text, "layers.txt", USUAL)


# ---- the command -----------------------------------------------------------------------------------------------------

def test_the_command_measures_a_file_lists_it_and_forgets_it(gpu, tmp_path, capsys):
    (tmp_path / "layers.csv").write_text("M,N,K\n64,72,64\n72,64,64,bf16\n64,72,64,f16\n")
    assert main(["tune", "--all-layers", str(tmp_path / "layers.csv"), "--seconds", "0.001"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Made-up GPU (132 SMs), driver 13.0, simlayout ") and said.count("kept in") == 2
    assert "64 x 72 x 64 f16 NT: 3 configurations" in said and "72 x 64 x 64 bf16 NT" in said
    assert main(["tune", "64", "64", "64", "--order", "NN", "--seconds", "0.001", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["kept"]
    assert found["wanted"]["b_major"] == "MN" and found["config"]["tile_m"] >= 64
    assert main(["tune", "--list"]) == 0 and capsys.readouterr().out.count("\n") == 4
    assert main(["tune", "64", "72", "64", "--forget"]) == 0 and capsys.readouterr().out == "2 deleted\n"
    assert main(["tune", "--list", "--json"]) == 0 and len(json.loads(capsys.readouterr().out)["kept"]) == 1


def test_the_command_measures_groups_of_rows_and_epilogues(gpu, capsys):
    assert main(["tune", "64", "72", "64", "--groups", "5", "--seconds", "0.001"]) == 0
    assert "64 x 72 x 64 f16 NT in 5 groups: 3 configurations" in capsys.readouterr().out
    assert main(["tune", "64", "72", "64", "--epilogue", "gelu bias", "--seconds", "0.001"]) == 0
    assert "64 x 72 x 64 f16 NT, then bias_n gelu: 3 configurations" in capsys.readouterr().out
    assert {(one.wanted.matrices, one.config.grouped, one.config.split) for one in kept.all_kept()} >= {(5, True, False)}
    assert main(["tune", "--list"]) == 0 and capsys.readouterr().out.count("64 x 72 x 64") == 2


def test_ctrl_c_ends_the_command_with_130_and_the_json_has_what_was_measured_whole(gpu, tmp_path, capsys, monkeypatch):
    (tmp_path / "layers.txt").write_text("64 64 64\n64 64 128\n64 64 192\n")

    def tune(cuda, device, wanted, seconds, say, of=measure.tune):
        if wanted.K > 64:
            raise KeyboardInterrupt
        return of(cuda, device, wanted, seconds, say)

    monkeypatch.setattr(measure, "tune", tune)
    target = tmp_path / "out.json"
    assert main(["tune", "--all-layers", str(tmp_path / "layers.txt"), "--seconds", "0.001", "--json", str(target)]) == 130
    assert "1 of 3 products were measured whole" in capsys.readouterr().out
    assert [one["wanted"]["K"] for one in json.loads(target.read_text())["kept"]] == [64]


@pytest.mark.parametrize("words, fault", [
    (["64", "64"], "64 64 is no product: give M, N and K"), ([], "one of them"), (["1", "2", "3", "--list"], "one of them"),
    (["--list", "--forget"], "one of them"), (["--forget", "--groups", "4"], "--groups: this says what to measure"),
    (["--list", "--dtype", "bf16", "--epilogue", "relu"], "--dtype, --epilogue: this says"),
    (["--forget", "--dtype", "f16"], "--dtype: this says"),
    (["--list", "--batch", "1", "--order", "NT"], "--order, --batch: "),
    (["0", "1", "2"], "not an integer"),
    (["1", "2", "3", "--seconds", "0"], "seconds"),
    (["1", "2", "3", "--dtype", "f32"], "dtype 'f32': choose f16"),
    (["1", "2", "3", "--dtype", "fp8"], "dtype 'fp8' (did you mean e4m3 or e5m2?): choose f16"),
    (["1", "2", "3", "--order", "XY"], "order 'XY'"),
    (["1", "2", "3", "--out", "s32"], "out is s32, of f16: an int32 has the sums of integers"),
    (["1", "2", "3", "--scaled", "1x128"], "a and b are f16 with scales for every 128 of K: only 8-bit operands"),
    (["--all-layers", "/nowhere"], "cannot read /nowhere"),
    (["1", "2", "3", "--scaled", "--batch", "2"], "only a product of two matrices is scaled"),
    (["1", "2", "3", "--epilogue", "bias gelo"], "epilogue 'bias gelo': 'gelo' is none of alpha, bias, multiply"),
    (["1", "2", "3", "--epilogue", "relu gelu"], "name each array once, and one activation"),
    (["1", "2", "3", "--epilogue", "bias bias"], "name each array once, and one activation"),
    (["1", "2", "3", "--epilogue", "gelu", "--dtype", "s8", "--out", "s32"], "out is s32, of s8 with gelu"),
    (["1", "2", "3", "--groups", "0"], "not an integer"), (["1", "2", "3", "--groups", "2", "--batch", "2"], "no batch"),
    (["1", "2", "3", "--groups", "2", "--epilogue", "bias"], "no epilogue: leave them out, or the groups"),
    (["1", "2", "3", "--groups", "2", "--dtype", "e4m3", "--scaled", "128x1"], "so each row has scales of its own")])
def test_what_cannot_be_tuned_is_refused_in_one_line(gpu, words, fault, capsys):
    assert main(["tune", *words]) == 2
    said = capsys.readouterr()
    assert fault in said.err and said.err.count("\n") == 1 and said.out == "" and not gpu.launches


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU")
def test_without_a_gpu_the_command_says_so(capsys):
    assert main(["tune", "64", "64", "64"]) == 2
    assert "; `simlayout tune` measures on the GPU that it tunes for" in capsys.readouterr().err


def test_where_nothing_can_be_kept_the_command_measures_nothing(gpu, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "file"))
    assert main(["tune", "64", "64", "64"]) == 2 and "cannot make the folder" in capsys.readouterr().err
    assert not gpu.launches


def test_a_scaled_product_is_asked_for_with_scales(gpu):
    assert Asked(64, 72, 128, "e4m3", scaled="lines").wanted(driver.cuda(), 0) == Wanted(
        64, 72, 128, types=("e4m3", "e4m3"), out="bf16", scaled="lines")
