"""The measurement of fragments, on the CPU machine: it finds the model's maps, and it finds what is wrong with them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tiers import sweep_but

from cuda_kernels.conformance.fragments.__main__ import compare, line, main, measure, probes
from cuda_kernels.conformance.fragments.bits import (
    from_memory,
    from_registers,
    one,
    to_memory,
    to_numbers,
    to_patterns,
    to_registers,
)
from cuda_kernels.conformance.fragments.memory import MatrixProbe, MovmatrixProbe, WmmaProbe
from cuda_kernels.conformance.fragments.mma import NOT_ONE, MmaProbe, SparseProbe, labels, meetings_of
from cuda_kernels.conformance.fragments.probe import on_machine, probe_kernel
from cuda_kernels.conformance.fragments.records import load, save
from cuda_kernels.run.device import gpu_problem
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError
from simlayout.hardware import FRAGMENTS, MMAS, fragment
from simlayout.hardware.matrix.wmma import WMMA_FRAGMENTS

MULTIPLIED = [
    MmaProbe("m16n8k8.f32.tf32.tf32.f32"), MmaProbe("m8n8k4.f64.f64.f64.f64"), MmaProbe("m8n8k4.row.col.f32.f16.f16.f16"),
    MmaProbe("m8n8k16.s32.s8.u8.s32.satfinite"),
    SparseProbe("mma.sp.m16n8k8.f32.tf32.tf32.f32", 1, lanes=(0, 1, 2, 3, 29)),
    SparseProbe("mma.sp.m16n8k16.f32.f16.f16.f32", 3, lanes=(3,)),
]
MOVED = [WmmaProbe(*key) for key in WMMA_FRAGMENTS] + [MovmatrixProbe()]
MOVED += [MatrixProbe(name) for name, operand in FRAGMENTS if operand is None]


def measured(probe):
    return probe.maps([on_machine(probe.form, tables) for tables in probe.launches()])


@pytest.fixture(scope="module")
def found():
    """The maps of a probe that multiplies, measured once, when they are asked for."""
    return cache(lambda number: measured(MULTIPLIED[number]))


SOME = pytest.mark.parametrize("number", sweep_but([0, 2, 4], range(len(MULTIPLIED))), ids=lambda n: MULTIPLIED[n].form.name)


@SOME
def test_what_is_measured_of_a_product_is_what_the_fragments_say(number, found):
    probe = MULTIPLIED[number]
    results = compare(probe.form.name, found(number), probe.expected())
    assert {"A", "B", "C", "D"} <= {r.operand for r in results}
    assert sum(r.wrong for r in results) == 0, line(probe.form.name, results)


@pytest.mark.parametrize("probe", MOVED, ids=lambda p: p.form.name)
def test_what_is_measured_of_a_move_is_what_the_fragment_says(probe):
    (result,) = compare(probe.form.name, measured(probe), probe.expected())
    assert result.wrong == 0 and result.elements == 32 * probe.frag.values, result


def planted(operand, formula):
    """A source of fragments in which those of one operand have another formula, given the true one."""
    def find(name, asked=None):
        f = fragment(name, asked)
        return replace(f, formula=formula(f)) if asked == operand else f

    return find


def swapped_registers(f):
    """The first two registers of every lane change places."""
    def formula(lane, value):
        other = np.where(value < 2 * f.per_register, (value + f.per_register) % (2 * f.per_register), value)
        return f(lane, other)

    return formula


def swapped_lanes(f):
    return lambda lane, value: f(lane ^ 1, value)


@SOME
@pytest.mark.parametrize("operand", "ABCD")
def test_a_wrong_formula_of_any_operand_is_found(number, operand, found):
    probe = MULTIPLIED[number]
    results = compare(probe.form.name, found(number), probe.expected(planted(operand, swapped_lanes)))
    wrong = [r for r in results if r.wrong]
    assert wrong and "measured" in wrong[0].first and "WRONG" in line(probe.form.name, results)


@pytest.mark.parametrize("probe", [MOVED[0], WmmaProbe("wmma.m8n32k16.s32.col", "store.d"), MatrixProbe("ldmatrix.x4.trans"),
                                   MatrixProbe("stmatrix.x2")], ids=lambda p: p.form.name)
def test_swapped_registers_of_a_move_are_found(probe):
    (result,) = compare(probe.form.name, measured(probe), probe.expected(planted(probe.operand, swapped_registers)))
    assert result.wrong >= 64 and result.first.startswith("at [0, 0] measured [")


def with_twin(probe, change):
    """The probe on hardware that differs: change(result registers) in place of what the twin leaves."""
    form = probe.form

    def twin(warp, shared, out, a, b, c):
        form.twin(warp, shared, out, a, b, c)
        change(warp, out)

    made = replace(probe)
    made.__dict__["form"] = replace(form, twin=twin)
    return made


def test_a_result_in_another_register_is_found():
    def swap(warp, out):
        first, second = out.read(warp.active, 4), (out + 4).read(warp.active, 4)
        out.write(warp.active, second)
        (out + 4).write(warp.active, first)

    probe = with_twin(MmaProbe("m8n8k16.s32.s8.s8.s32"), swap)
    results = {r.operand: r for r in compare("", measured(probe), probe.expected())}
    assert results["C"].wrong == 64 and results["B"].wrong == 128      # in D the columns are only called otherwise


def test_what_no_product_of_matrices_does_is_kept_whole():
    def leak(warp, out):
        sums = out.read(warp.active, 4).view(np.int32)
        sums[0] += sums[31]
        out.write(warp.active, sums.view(np.uint8))

    probe = with_twin(MmaProbe("m8n8k16.s32.s8.s8.s32"), leak)
    maps = measured(probe)
    assert maps["meetings"].shape == (128, 64) and "A" not in maps
    results = {r.operand: r for r in compare("", maps, probe.expected())}
    assert results["A"].wrong == results["A"].elements == 128 and "no product" in results["A"].first


def test_the_scan_of_metadata_names_the_elements_that_each_bit_moves():
    """Lane 4's register with selector 0 describes rows 1 and 9: bits 4g to 4g + 3 are the indices of group g."""
    probe = SparseProbe("mma.sp.m16n8k16.f32.f16.f16.f32", 0, lanes=(4, 5))
    scanned = probe.expected()["metadata"]
    for bit in range(32):
        row, stored, by = 1 + 8 * (bit // 16), bit % 16 // 2, 1 << bit % 2
        assert scanned[0, bit].tolist() == [row, stored, 1, by]
    assert (scanned[1] == -1).all()


def test_a_metadata_bit_that_moves_elements_of_two_rows_is_kept_whole():
    probe = SparseProbe("mma.sp.m16n8k16.f32.f16.f16.f32", 0, lanes=(4,))
    columns = np.broadcast_to(probe.expected()["codes"][2, 0], (6 + 32, 16, 8)).copy()
    columns[:6] = probe.expected()["codes"]
    columns[6:] = columns[[1, 2, 1, 0] * 8]
    columns[6, :2] += 1
    maps = probe._scanned(columns)
    assert maps["metadata"][0, 0].tolist() == [NOT_ONE] * 4 and (maps["metadata"][0, 1:] == -1).all()
    np.testing.assert_array_equal(maps["columns"], columns)


def test_labels_say_who_meets_whom_whatever_rows_and_columns_are_called():
    rng = np.random.default_rng(1)
    at = {"A": np.argwhere(np.ones((3, 4))), "B": np.argwhere(np.ones((4, 2))), "D": np.argwhere(np.ones((3, 2)))}
    at = {o: x[rng.permutation(len(x))] for o, x in at.items()}
    meets = np.zeros((12, 6), int)
    for i, (row, k) in enumerate(at["A"]):
        for j, (to, column) in enumerate(at["D"]):
            if row == to:
                meets[i, j] = 1 + at["B"].tolist().index([k, column])
    made = labels(meets, 8)
    np.testing.assert_array_equal(meetings_of(made), meets)
    renamed = labels(meets[:, :], 8)
    assert all((renamed[o] == made[o]).all() for o in "ABD")
    meets[0, np.flatnonzero(meets[0])[0]] = 0
    assert set(labels(meets, 8)) == {"meetings"}


@pytest.mark.parametrize("dtype", ["f64", "f32", "s32", "tf32", "f16", "bf16", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1"])
def test_elements_survive_registers_and_memory(dtype):
    top = 1 << min(TYPES[dtype].bits, 60)
    patterns = np.random.default_rng(0).integers(0, top, (2, 32, 32))
    np.testing.assert_array_equal(from_registers(to_registers(patterns, dtype), dtype), patterns)
    np.testing.assert_array_equal(from_memory(to_memory(patterns, dtype), dtype), patterns)
    assert to_numbers([0, one(dtype)], dtype).tolist() == [0, 1]
    if dtype in ("f16", "f32", "f64", "s32"):
        np.testing.assert_array_equal(to_numbers(to_patterns(np.arange(300), dtype), dtype), np.arange(300))


def test_a_record_gives_back_what_was_measured(tmp_path):
    maps = {"x": {"A": np.arange(6, dtype=np.int16).reshape(3, 2), "C": np.zeros(4, np.int16)},
            "y": {"A": np.arange(6, dtype=np.int16).reshape(3, 2)}, "z": {}}
    save(tmp_path / "r.npz", {"device": "none"}, maps)
    head, held = load(tmp_path / "r.npz")
    assert head == {"device": "none"} and set(held) == {"x", "y"}
    for form, operands in held.items():
        for operand, made in operands.items():
            np.testing.assert_array_equal(made, maps[form][operand])


def test_every_form_has_one_probe():
    names = {p.name for p in probes().values() if isinstance(p, MmaProbe)}
    assert set(MMAS) <= names and len(probes()) == len({p.form.text for p in probes().values()})


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU here")
def test_without_a_gpu_it_says_so():
    with pytest.raises(DeviceError):
        main(["--only", "ldmatrix.x1"])
    maps, (result,) = measure("ldmatrix.x1")
    assert not maps and result.wrong and result.first


SAMPLE = ["m16n8k256.s32.b1.b1.s32.xor.popc", "m8n8k4.col.col.f32.f16.f16.f16", "mma.sp.m16n8k16.f16.f16.f16.f16 selector 3",
          "wmma.m8n8k32.u4.col load.b", "wmma.m8n8k4.f64.col store.d", "stmatrix.x4.trans"]


def assembles(names, folder):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from machine_code import PTXAS, assembled

    from cuda_kernels.build.compile import ptx

    if not PTXAS:
        pytest.skip("needs ptxas: pip install nvidia-cuda-nvcc, or a CUDA toolkit on the PATH")
    for name in names:
        assembled(ptx(probe_kernel(probes()[name].form)), folder)


@pytest.mark.parametrize("name", sweep_but(SAMPLE[-2:], SAMPLE))
def test_a_form_assembles_for_sm_90a(name, tmp_path):
    assembles([name], tmp_path)


@pytest.mark.sweep
def test_every_form_assembles_for_sm_90a(tmp_path):
    assembles(probes(), tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [n for n, p in probes().items() if isinstance(p, MmaProbe | SparseProbe)])
def test_every_product_measured_on_the_cpu_machine_is_what_the_fragments_say(name):
    probe = probes()[name]
    if isinstance(probe, SparseProbe):
        probe = replace(probe, lanes=(0, 1, 6, 31))
    results = compare(name, measured(probe), probe.expected())
    assert sum(r.wrong for r in results) == 0, line(name, results)
