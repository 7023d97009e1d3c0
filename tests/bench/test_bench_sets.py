"""What `simlayout bench` measures: the sets, and what leaves some of their products out."""

import sys

import pytest
from places import DATA

from cuda_kernels.bench import libraries, record
from cuda_kernels.bench.run import Choice
from cuda_kernels.bench.sets import SETS, TRITON, cases_of, default_variants
from cuda_kernels.kernels.hopper.config import HOPPER
from cuda_kernels.run import device as launch
from simlayout.cli import main
from simlayout.errors import DeviceError

MATMULS = record.read(DATA / "h200_matmul.json")


def test_the_sets_of_matmul_are_the_recorded_products():
    assert [(c.set, c.problem) for c in cases_of(())] == [(row.set, row.problem) for row in MATMULS.rows]


def test_the_kernels_are_those_of_the_readme_and_of_hopper_at_every_size():
    cases = cases_of(["kernels"], (512, 1024))
    labels = [label for label, _ in default_variants()] + list(HOPPER)
    assert [(c.problem.M, c.label) for c in cases] == [(n, label) for n in (512, 1024) for label in labels]


def test_triton_gets_a_row_behind_each_of_matmuls():
    cases = cases_of(["squares", "steps"], (512,), triton=True)
    assert [c.label for c in cases[:2]] == ["matmul", TRITON]
    assert TRITON not in [c.label for c in cases[2:]]


def test_only_keeps_the_rows_that_contain_a_text():
    assert [c.problem.N for c in cases_of(["layers"], only=["16 x 28672", "8192 x 28672"])] == [28672, 28672]
    assert {c.label for c in cases_of(["kernels"], only=["mma_padded", "wgmma_tma"])} == {
        "wgmma_tma", *(label for label, _ in default_variants() if "mma_padded" in label)}


@pytest.mark.parametrize("arguments, message", [
    (["cubes"], "no set 'cubes'"), (["square"], "did you mean squares?"),
    (["layers", "--sizes", "64"], "layers has shapes of its own"),
    (["few", "layers", "--seed", "3"], "--seed: few, layers have shapes of their own; it is for random, unseen"),
    (["squares", "--only", "nothing"], "no row contains that"), (["--rounds", "0"], "from 1"),
    (["--seconds", "0"], "more than 0"), (["--seconds", "nan"], "more than 0"), (["squares", "--sizes", "0"], "from 1"),
    (["squares", "--sizes", "big"], "from 1"), (["--json", "/nowhere/a.json"], "cannot write"),
    (["--plot", "a.pdf"], ".svg or .png"), ([], "no CUDA GPU")])
def test_what_cannot_be_measured_is_refused_in_one_line(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(launch, "gpu_problem", lambda: "no CUDA GPU (or no driver) on this machine")
    assert main(["bench", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("simlayout: ") and err.count("\n") == 1 and message in err


def test_a_machine_without_any_cublas_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(launch, "gpu_problem", lambda: None)
    for name in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DeviceError, match="pip install torch"):
        libraries.cublas_library()


def test_the_help_names_every_set_and_gives_examples(capsys):
    assert main(["bench", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in SETS) and "simlayout bench squares --rounds 2 --seconds 0.01" in out
    assert max(map(len, out.splitlines())) <= 125


@pytest.mark.parametrize("name, count", [("random", 60), ("unseen", 100), ("models", 20), ("unseen-fp8", 60),
                                         ("unseen-blocks", 60), ("unseen-orders", 60)])
def test_a_seed_draws_the_same_products_again_and_another_one_others(name, count):
    assert SETS[name].drawn
    drawn = [[case.problem for case in cases_of([name], seed=seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2] and {len(products) for products in drawn} == {count}


def test_unseen_sizes_are_of_64_to_16384():
    products = [case.problem for seed in range(20) for case in cases_of(["unseen"], seed=seed)]
    assert all(64 <= size <= 16384 and size % 8 == 0 for p in products for size in (p.M, p.N, p.K))
    assert min(p.K for p in products) < 80 and max(p.K for p in products) > 13000


@pytest.mark.parametrize("name, n, k", [("unseen-fp8", 16, 16), ("unseen-blocks", 128, 512)])
def test_unseen_eight_bit_sizes_are_such_as_torch_takes(name, n, k):
    products = [case.problem for seed in range(20) for case in cases_of([name], seed=seed)]
    assert all(p.dtype == "e4m3" and not (p.M % 16 or p.N % n or p.K % k) for p in products)


def test_the_command_names_the_seed_that_is_not_the_usual_one():
    assert Choice(("unseen",), seed=7).command() == "simlayout bench unseen --seed 7"
    assert Choice(("unseen",)).command() == "simlayout bench unseen"
