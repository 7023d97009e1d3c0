"""The wgmma kernels on the command line: predicted, proved, run and counted like the others; and what is refused."""

import json

import pytest
from commands import printed, refused

from simlayout.cli import main

WGMMA = ("wgmma_tma", "wgmma_specialized", "wgmma_persistent")


@pytest.mark.parametrize("kernel", WGMMA)
def test_gemm_predicts_proves_and_checks_the_wgmma_kernels(capsys, kernel):
    out = printed(capsys, "gemm", "--kernel", kernel, "--cpu", "-M", "130", "-N", "72", "-K", "72", "--tile-n", "64")
    for part in ("problem ", kernel, "tile ", "threads", "bytes of shared memory", "clocks of wgmma", "bound by wgmma",
                 "verified   A, B: wgmma reads every element where the kernel's TMA loads put it", "correct ", "load A, B",
                 "wgmma.m64n64k16.f32.f16.f16", "TMA bytes", "CPU machine"):
        assert part in " ".join(out.split()) or part in out
    assert ("emitted    1 index function," in out) is ("stage C" in out) is (kernel == "wgmma_persistent")
    lines = out.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("access")) + 1:-2]
    assert len(table) == (4 if kernel == "wgmma_persistent" else 2) and all(row.endswith("  equal") for row in table)
    assert lines[-1].split() == ["result", "ok"]
    assert max(len(line) for line in [*table, *lines[:8]] if not line.startswith("correct")) <= 120


def test_gemm_of_wgmma_takes_its_options_and_prints_json(capsys):
    out = printed(capsys, "gemm", "--kernel", "wgmma_persistent", "--tile-m", "64", "--tile-n", "128", "--stages", "3",
                  "--cluster-m", "2", "--cpu", "--json", "-M", "100", "-N", "133", "-K", "70")
    found = json.loads(out)
    assert found["ok"] is True and found["options"]["cluster_m"] == 2 and found["options"]["stages"] == 3
    assert found["options"]["store"] == "direct", "rows of 133 halves do not start on 16 bytes"
    moved = 2 * 2 * 2 * (64 + 128) * 128                     # two CTAs, tiles and steps: A and B of each
    assert found["executed"]["load A, B"] == {"instructions": 2 * 2 * 2 * 2, "wavefronts": 0, "ideal": 0, "bytes": moved}
    assert found["prediction"]["mma_clocks_per_step"] == 4 * 64 and found["prediction"]["shared_clocks_per_step"] == 4 * 48
    assert any("4 wgmma read each where TMA put it" in check for check in found["checks"])


def test_a_count_of_tma_that_is_not_as_predicted_is_no_result(capsys, monkeypatch):
    import cuda_kernels.kernels.hopper.plan as tma_plan

    loads = tma_plan.loads_of
    monkeypatch.setattr(tma_plan, "loads_of", lambda *arguments: 2 * loads(*arguments))
    assert main(["gemm", "--kernel", "wgmma_tma", "--cpu", "-M", "64", "-N", "64", "-K", "64"]) == 1
    out = capsys.readouterr().out
    assert "2 / 0 / 16384" in out and "WRONG" in out.splitlines()[-1]


def test_a_load_that_wgmma_does_not_read_where_it_lands_is_not_verified(capsys, monkeypatch):
    import cuda_kernels.kernels.hopper.plan as tma_plan

    loads = tma_plan.loads_of
    monkeypatch.setattr(tma_plan, "loads_of", lambda *arguments: [(c, at + 1024) for c, at in loads(*arguments)])
    assert "element (row 0, k 0) lies at byte 1024 and is read at 0" in _last_error(capsys, "--kernel", "wgmma_tma", "--cpu")


def _last_error(capsys, *arguments):
    assert main(["gemm", *arguments]) == 2
    return capsys.readouterr().err


def test_a_gpu_without_wgmma_is_refused_unless_the_cpu_machine_is_asked_for(capsys, monkeypatch):
    import cuda_kernels.run.device as launch

    monkeypatch.setattr(launch.sweep, "gpu_problem", lambda feature: None)
    monkeypatch.setattr(launch, "numba_cuda_problem", lambda: None)
    monkeypatch.setattr(launch, "compute_capability", lambda: (8, 9))
    for where in ([], ["--gpu"]):
        err = refused(capsys, "gemm", "--kernel", "wgmma_persistent", *where)
        assert "compute capability 8.9; wgmma needs 9.0" in err and "--cpu" in err
    size = ["-M", "8", "-N", "8", "-K", "8"]
    assert "result" in printed(capsys, "gemm", "--kernel", "wgmma_tma", "--cpu", *size)


@pytest.mark.parametrize("arguments, expected", [
    (["--warps", "8"], "kernel wgmma_persistent has no option 'warps'; it has tile_m"),
    (["--stages", "1"], "stages = 1"), (["--stages", "9"], "use fewer stages"), (["--tile-n", "44"], "tile_n = 44"),
    (["--cluster-m", "3"], "cluster_m = 3")])
def test_options_that_no_wgmma_kernel_can_have_are_refused(capsys, arguments, expected):
    assert expected in refused(capsys, "gemm", "--kernel", "wgmma_persistent", "--cpu", *arguments)


def test_gemm_multiplies_with_wgmma_on_a_gpu(capsys):
    from cuda_kernels.kernels import named
    from cuda_kernels.run.device import gpu_problem

    if problem := gpu_problem(named("wgmma_tma").needs):
        pytest.skip(problem)
    for kernel in WGMMA:
        out = printed(capsys, "gemm", "--kernel", kernel, "--gpu", "--json", "-M", "300", "-N", "267", "-K", "131")
        found = json.loads(out)
        assert found["ok"] is True and found["device"] != "CPU machine" and found["tflops"] > 0


def test_trace_counts_along_the_source_of_a_wgmma_kernel(capsys, tmp_path):
    file = tmp_path / "trace.json"
    out = printed(capsys, "trace", "wgmma_persistent", "--tile-n", "64", "--lines", "shared", "--json", str(file))
    assert "problem       C (128, 64) = A (128, 192) times B (64, 192) transposed, f16" in out
    for part in ("hazards       none", "multiply(acc, a, b, added)", "cp.async.bulk.tensor", "store n64"):
        assert part in out
    found = json.loads(file.read_text())
    assert found["problem"] == {"M": 128, "N": 64, "K": 192} and found["options"]["tile_n"] == 64
    assert sum(row["bytes"] for row in found["accesses"] if row["instruction"] == "cp.async.bulk.tensor") == 3 * 192 * 128
