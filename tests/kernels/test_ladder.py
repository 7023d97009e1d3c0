"""The ladder: rungs are what they say, one change apart, and `simlayout ladder` tells it."""

from dataclasses import asdict

import pytest

from cuda_kernels import KERNELS
from cuda_kernels.bench import pictures, record, rungs, sets
from cuda_kernels.kernels import common
from cuda_kernels.kernels.kernel import STRIPE
from cuda_kernels.kernels.tutorial.tutorial import KERNELS as TUTORIALS
from simlayout.cli import main
from simlayout.errors import SimlayoutError
from simlayout.kernel import Problem

RUNGS = {r.name: r for r in rungs.rungs("MatmulTutorial")}


@pytest.mark.sweep
@pytest.mark.parametrize("label", [rung.label for rung in rungs.rungs()])
def test_no_rung_spills(label, tmp_path):
    from machine_code import ARCH, PTXAS, assembled, assert_in_registers

    from cuda_kernels.build.compile import ptx

    if PTXAS is None:
        pytest.skip("needs ptxas: pip install nvidia-cuda-nvcc")
    kernel = {rung.label: rung for rung in rungs.rungs()}[label].kernel
    said, _ = assembled(ptx(kernel, ARCH), tmp_path)
    assert_in_registers(said)


def changes(before, after):
    one, other = (asdict(RUNGS[name].kernel.options) | {"layout": RUNGS[name].kernel.name} for name in (before, after))
    return {option for option in one if one[option] != other[option]}


@pytest.mark.parametrize("before, after, changed", [
    ("v00", "v02", {"copies"}), ("v02", "v03", {"loads", "mma"}), ("v03", "v04", {"loads"}), ("v04", "v05", {"mma"}),
    ("v05", "v06", {"addresses", "loads"}), ("v05", "v07", {"addresses"}), ("v06", "v08", {"warps"}),
    ("v08", "v09", {"layout"}), ("v09", "v10", {"loads"}), ("v10", "v11", {"split_k"}), ("v10", "v12", {"warps", "loads"}),
    ("v12", "v12+", {"fragments"}), ("v12+", "v13", {"serpentine"}), ("v13", "v13+", {"loads"}),
])
def test_a_rung_changes_what_its_name_says(before, after, changed):
    assert changes(before, after) == changed


def test_every_rung_has_a_label_of_its_own_and_a_case_of_the_benchmark():
    labels = [r.label for r in rungs.rungs()]
    assert len(set(labels)) == len(labels) and [c.label for c in sets.cases_of(["ladder"])] == labels
    orders = [c.problem.order for name in ("steps", "ladder") for c in sets.cases_of([name])]
    assert orders[0] == "NN" and orders.count("NN") == 2 and set(orders) == {"NN", "NT"}     # warptile's B is row-major
    assert {r.seed for r in rungs.rungs()} == set(rungs.SEEDS)
    assert all(r.published is None or 0 < r.published < 1.1 and r.where for r in rungs.rungs())


def test_rungs_of_both_kinds_tell_their_excess_and_what_bounds_them():
    on_cuda_cores, first = rungs.rungs("fast.cu")[:2]
    assert on_cuda_cores.excess == {"store A": 3} and on_cuda_cores.bounds() == (928, 2048)
    assert first.excess == {} and first.bounds()[1] == 128 and first.kernel.options.dtype == "bf16"
    assert RUNGS["v09"].excess == {"copy A": 4, "copy B": 4}       # its rows are half a line long
    assert RUNGS["v09"].bounds()[0] == 512 and RUNGS["v02"].excess["load A"] == 4


@pytest.mark.parametrize("kernel", TUTORIALS.values(), ids=TUTORIALS)
def test_the_formulas_written_by_hand_are_the_layouts(kernel):
    assert all(kernel.ab_bytes(row, col, stage, operand) == 2 * kernel.ab_tile(row, col, stage, operand)
               for row in range(128) for col in range(0, 32, 3) for stage in range(4) for operand in range(2))
    assert all(kernel.c_bytes(row, col) == 4 * kernel.c_tile(row, col) for row in range(128) for col in range(0, 128, 5))


@pytest.mark.parametrize("M, N", [(256, 128), (1000, 5000), (257, 4097)])
def test_stripes_walked_back_and_forth_visit_every_tile_once_and_turn_where_they_are(M, N, monkeypatch):
    x, y, z = KERNELS["mma_permuted"].launch_shape(Problem(M, N, 8)).grid
    order = []
    for stripe in range(z):
        for row in range(y):
            for col in range(x):
                for name, value in (("ctaid_x", col), ("ctaid_y", row), ("ctaid_z", stripe)):
                    monkeypatch.setattr(common, name, lambda value=value: value)
                order.append((common.cta_row_back_and_forth(256, M), common.cta_col(128)))
    wanted = {(256 * row, 128 * col) for row in range(y) for col in range(z * STRIPE)}
    assert set(order) == wanted and len(order) == len(wanted) and max(r for r, _ in order) < M
    ends = [order[i * x * y - 1][0] == order[i * x * y][0] for i in range(1, z)]
    assert all(ends)


@pytest.mark.parametrize("options, complaint", [
    ({"split_k": True}, "split_k needs warps=8"), ({"split_k": True, "warps": 8}, "split_k needs warps=8, fragments=1"),
    ({"mma": "m16n8k8", "accumulate": "f16"}, "m16n8k8. needs accumulate"), ({"mma": "m16n8k4"}, "mma = 'm16n8k4'"),
    ({"mma": "m16n8k8", "loads": "wmma"}, "m16n8k8. needs"), ({"copies": "bytes"}, "copies = 'bytes'"),
    ({"fragments": 3}, "fragments = 3: choose one of 1, 2"), ({"addresses": "guessed"}, "addresses = 'guessed'"),
])
def test_options_that_do_not_go_together_are_refused(options, complaint):
    with pytest.raises(SimlayoutError, match=complaint):
        KERNELS["mma_blocks"].variant(**options)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.sweep)])
def test_the_command_predicts_runs_and_compares_a_ladder_on_the_cpu_machine(step, monkeypatch, capsys):
    made = rungs.rungs("cuda_hgemm")[::step]
    monkeypatch.setitem(rungs.SEEDS, "cuda_hgemm", lambda: made)
    assert main(["ladder", "cuda_hgemm", "--cpu"]) == 0
    out, err = capsys.readouterr()
    assert err == f"simlayout: {len(rungs.rungs('cuda_hgemm'))} rungs, each multiplies one tile on the CPU machine\n"
    lines = [line.split("  ") for line in out.splitlines()]
    first, second = ([part.strip() for part in line if part] for line in (lines[1], lines[1 + 3 // step]))
    assert first[1:] == ["2240", "834", "load A 12, load B 6, store C 7"]
    assert second[1:] == ["704", "834", "copy A 8, copy B 8"]
    column = out.index("shared") + len("shared")
    assert all(line[column - 1].isdigit() and line[column] == " " for line in out.splitlines()[1:1 + len(made)])
    assert out.count("right, counts as predicted") == len(rungs.rungs("cuda_hgemm"))


def test_the_command_refuses_unknown_ladders(capsys):
    assert main(["ladder", "nobody"]) == 2
    assert "choose MatmulTutorial, cuda_hgemm, simlayout, fast.cu" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["--sizes 64", "--rounds 3", "--plot x.svg", "--sizes 64 --rounds 5"])
def test_what_only_a_measurement_takes_is_refused_on_the_cpu_machine(given, capsys):
    assert main(["ladder", "fast.cu", "--json", "--cpu", *given.split()]) == 2
    names = " and ".join(word for word in given.split() if word.startswith("--"))
    assert f"each rung multiplies one tile: leave out {names}\n" in capsys.readouterr().err


def test_a_picture_of_a_ladder_has_a_bar_for_each_measured_rung():
    row = record.Row("ladder", RUNGS["v02"].label, record.Product(8192, 8192, 8192), None, 4900.0, 1750.0, 0.36)
    (bar,) = pictures.of_ladder(record.Record({}, (row,)), 8192)
    assert (bar.share, round(bar.published, 2)) == (0.36, 0.65) and bar.label.startswith("v02: four stages")
