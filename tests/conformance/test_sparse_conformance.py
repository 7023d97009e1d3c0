"""Products with a sparse A beside the GPU: what was recorded of mma.sp and wgmma.sp, and the kernels that recorded it."""

import json

import numpy as np
import pytest
from places import DATA
from tiers import sweep_but

from cuda_kernels.conformance.products import mma as check
from cuda_kernels.conformance.products import wgmma_sp
from cuda_kernels.conformance.products.cases import classes, stored_part, tiles
from cuda_kernels.conformance.products.common import raw
from cuda_kernels.intrinsics import mma_sp
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.hardware import SPARSE_MMAS, operand_wavefronts
from simlayout.numerics import mma, tensor_op
from simlayout.numerics.rules import SPARSE_WGMMA

HALVES = "wgmma.sp.m64n8k32.f32.f16.f16"


@pytest.mark.parametrize("name", sweep_but([*SPARSE_MMAS][::4], SPARSE_MMAS))
def test_every_twin_of_mma_sp_returns_the_bits_of_mma(name):
    a, b, c, labels = tiles(name, len(classes(name)), seed=1)
    a, metadata = stored_part(name, a, seed=1)
    row = check.compare(name, a, b, c, labels, check.run_probe(name, a, b, c, metadata, gpu=False), metadata)
    assert (row.wrong, row.first) == (0, "") and row.outputs == c.size


def test_the_last_selector_is_used_and_one_that_there_is_not_is_refused():
    assert mma_sp("mma.sp.m16n8k16.f32.f16.f16.f32", 3).text.endswith("$12, 3;")
    with pytest.raises(InstructionError, match="sparsity selectors 0 to 0, not 1"):
        mma_sp("mma.sp.m16n8k64.s32.s8.s8.s32", 1)


def test_a_wrong_bit_of_a_sparse_product_is_shown_with_its_metadata():
    name = "mma.sp.m16n8k32.f32.f16.f16.f32"
    a, b, c, labels = tiles(name, 2, seed=1)
    a, metadata = stored_part(name, a, seed=1)
    d = mma(name, a, b, c, metadata=metadata)
    d.view(np.uint32)[1, 2, 3] ^= 1
    row = check.compare(name, a, b, c, labels, d, metadata)
    shown = " ".join(f"{nibble:x}" for nibble in metadata[1, 2])
    assert row.wrong == 1 and row.first.endswith(f"; metadata {shown}")


def test_every_recorded_result_of_wgmma_sp_is_predicted_bit_for_bit():
    outputs = 0
    with np.load(DATA / "h200_wgmma_sp.npz") as data:
        names = list(dict.fromkeys(key.rsplit("/", 1)[0] for key in data.files))
        for name in names:
            op = tensor_op(name)
            a, b, c, metadata, d = (data[f"{name}/{word}"] for word in ("a", "b", "c", "metadata", "d"))
            a, b, c = (x.view(TYPES[kind].plain) for x, kind in ((a, op.a), (b, op.b), (c, op.c)))
            assert np.array_equal(raw(mma(name, a, b, c, metadata=metadata)), d), name
            outputs += d.size
    assert names == [name for name in SPARSE_WGMMA if tensor_op(name).n == 8] and outputs > 15_000


def test_the_record_of_wgmma_sp_has_every_way_none_wrong_and_the_wavefronts_that_are_predicted():
    record = json.loads((DATA / "h200_wgmma_sp.json").read_text())
    ways = [(name, *way) for name in SPARSE_WGMMA for way in wgmma_sp.ways(name)]
    assert [(r["instruction"], r["selector"], r["a"]) for r in record["rows"]] == ways
    assert sum(r["wrong"] for r in record["rows"]) == 0 and sum(r["outputs"] for r in record["rows"]) > 10_000_000
    assert {(r["instruction"], r["a"]) for r in record["gmma"]} == {(name, a) for name, _, a in ways if "n256" not in name or
                                                                    "k32.f32.f16" in name}
    for r in record["gmma"]:
        assert r["wavefronts"] == r["ctas"] * operand_wavefronts(r["instruction"], r["a"])[0], r


def test_the_check_of_wgmma_sp_prints_records_and_succeeds(tmp_path, capsys):
    table, golden = tmp_path / "wgmma_sp.json", tmp_path / "wgmma_sp.npz"
    status = wgmma_sp.main(["--cpu", "--tiles", "1", "--only", "n8k16", "n8k64.s32.s8", "--json", str(table),
                            "--record", str(golden)])
    lines = capsys.readouterr().out.splitlines()
    assert status == 0 and lines[-1] == "6 ways, 45,056 outputs, 0 wrong"
    assert [row["a"] for row in json.loads(table.read_text())["rows"]] == 3 * ["shared", "registers"]
    with np.load(golden) as data:
        assert data["wgmma.sp.m64n8k16.f32.tf32.tf32/metadata"].shape == (5, 64, 8)


def test_a_wrong_bit_of_wgmma_sp_is_found(monkeypatch, capsys):
    right = wgmma_sp.run_probe

    def flipped(*arguments):
        d = right(*arguments)
        d.view(np.uint32)[0, 2, 1] ^= 1
        return d

    monkeypatch.setattr(wgmma_sp, "run_probe", flipped)
    assert wgmma_sp.main(["--cpu", "--tiles", "1", "--only", HALVES]) == 1
    assert capsys.readouterr().out.splitlines()[0].split()[-2:] == ["1", "normal"]
