"""What held a rung up: ncu's counters become shares, a table, a record and cells of the README."""

import csv
import io
import json
import sys
from types import SimpleNamespace

import pytest
from places import DATA

from cuda_kernels.bench.rungs import rungs
from cuda_kernels.conformance import ncu
from cuda_kernels.lab import stalls
from cuda_kernels.lab.stalls import METRICS, REASONS, WAITS, cells, chosen, main, recorded, seen, table
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError

RECORD = DATA / "h200_stalls.json"
V10 = next(rung for rung in rungs("MatmulTutorial") if rung.name == "v10")
PREDICTION = V10.kernel.plan.predict(8192, 8192, 8192)

RATIOS = {"barrier": "0.59", "branch_resolving": "0.05", "dispatch_stall": "0.11", "lg_throttle": "0.01",
          "mio_throttle": "1.69", "long_scoreboard": "0.46", "math_pipe_throttle": "0.78", "not_selected": "0.45",
          "selected": "1", "short_scoreboard": "0.38", "wait": "1.93"}
PRINTED = {"ns": "3,669,536", "active": "6,376,150.28", "active_sum": "841,651,837", "elapsed": "6,591,421.38",
           "mma": "47.84", "shared": "51.17", "issue": "26.85", "l2": "36.90", "l2_hits": "85.20",
           "dram_bytes": "1,731,549,952", **dict.fromkeys(REASONS, "0"), **RATIOS}
"""A launch of v10 as ncu printed it, by the names of METRICS."""


def page(*launches):
    """ncu's CSV of some launches, {name: text} each."""
    made = io.StringIO()
    rows = csv.writer(made, quoting=csv.QUOTE_ALL)
    rows.writerow(["ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"])
    for i, launch in enumerate(launches):
        rows.writerows([i, "gemm", METRICS[name], "", text] for name, text in launch.items())
    return "==PROF== Connected\n" + made.getvalue()


def seen_of(**changed):
    (counters,) = ncu.parse(page(PRINTED | changed))
    return seen(V10.label, PREDICTION, counters)


def test_counters_become_clocks_and_shares():
    row = seen_of()
    assert (row.ns, row.clocks, row.dram_bytes) == (3669536, 6376150, 1731549952)
    assert row.ghz == pytest.approx(1.7963, abs=1e-4) and row.mma == 0.4784 and row.issue == 0.2685
    assert (row.l2, row.l2_hits) == (0.369, 0.852)


def test_the_pipe_of_shared_memory_is_a_share_of_the_clocks_with_warps_too():
    assert seen_of().shared == pytest.approx(0.5117 * 6591421 / 6376150, abs=1e-4)


def test_planned_clocks_are_those_of_every_step_of_every_cta():
    row, (_, mma) = seen_of(), V10.bounds()
    assert row.planned == pytest.approx(mma * (8192 // 32) * (8192 // 128) ** 2 / 841651837, abs=1e-4)
    assert row.mma < row.planned < 1


def test_stalls_are_shares_that_add_up_to_one():
    row = seen_of()
    assert set(row.stalls) == set(REASONS) and sum(row.stalls.values()) == pytest.approx(1, abs=1e-3)
    assert row.stalls["wait"] == pytest.approx(1.93 / 7.45, abs=1e-4) and row.stalls["membar"] == 0
    assert row.waits["shared memory"] == pytest.approx((1.69 + 0.38) / 7.45, abs=1e-3)


def test_the_largest_stalls_come_first_and_an_issued_instruction_is_none():
    assert [reason for reason, _ in seen_of().largest()] == ["wait", "mio_throttle", "math_pipe_throttle"]
    assert [reason for reason, _ in seen_of(selected="9", barrier="5").largest(2)] == ["barrier", "wait"]


def test_what_warps_wait_for_are_states_of_their_own():
    named = [reason for reasons in WAITS.values() for reason in reasons]
    assert set(named) <= set(REASONS) - {"selected"} and len(set(named)) == len(named)


def test_every_metric_is_asked_for_once():
    assert len(set(METRICS.values())) == len(METRICS)
    assert METRICS["wait"] == "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"


def test_a_counter_that_ncu_could_not_read_is_named():
    with pytest.raises(DeviceError, match="did not read dram__bytes_read.sum of MatmulTutorial v10"):
        seen_of(dram_bytes="n/a")


def test_no_line_of_the_table_is_wider_than_110_columns():
    longest = {reason: str(100 - i) for i, reason in enumerate(sorted(REASONS, key=len, reverse=True))}
    rows = [seen(rung.label, PREDICTION, ncu.parse(page(PRINTED | longest | {"ns": "33,462,550", "mma": "100"}))[0])
            for rung in chosen()]
    lines = table(rows).splitlines()
    assert len(lines) == 1 + len(rows) and max(map(len, lines)) <= 110
    assert [line.split()[0] for line in lines[1:]] == [rung.name for rung in chosen()]


def test_a_seed_names_its_rungs_alone():
    assert chosen(["cuda_hgemm"]) == rungs("cuda_hgemm") and chosen(["simlayout"]) == rungs("simlayout")
    assert {rung.seed for rung in chosen()} == {"MatmulTutorial", "cuda_hgemm", "simlayout"}


# ---- from the command line -------------------------------------------------------------------------------------------

@pytest.fixture
def gpu(monkeypatch):
    """In the place of a GPU and of ncu: every launch is PRINTED. The test gets a list of what ncu was asked for."""
    asked = []

    def profile(arguments, metrics, kernels):
        asked.append((arguments, list(metrics), kernels))
        seeds = arguments[arguments.index("--seed") + 1:] if "--seed" in arguments else ()
        return ncu.parse(page(*[PRINTED] * len(chosen(seeds))))

    monkeypatch.setattr(stalls, "compile_all", lambda found, size: None)
    monkeypatch.setattr(stalls, "where_and_when", lambda module, arguments: {"device": "none", "command": module})
    for name, instead in {"refuse": lambda: None, "profile": profile, "version": lambda: "ncu 0"}.items():
        monkeypatch.setattr(ncu, name, instead)
    return asked


def test_a_run_prints_and_records_every_rung_and_the_record_reads_back(gpu, capsys, tmp_path):
    kept = tmp_path / "stalls.json"
    assert main(["--seed", "cuda_hgemm", "--json", str(kept)]) == 0
    ((arguments, metrics, kernels),) = gpu
    assert arguments[:3] == ["-m", "cuda_kernels.lab.stalls", "--launch"] and metrics == list(METRICS.values())
    assert kernels == "gemm" and arguments[3:] == ["--size", "8192", "--seed", "cuda_hgemm"]
    record = json.loads(kept.read_text())
    assert record["size"] == 8192 and record["ncu"] == "ncu 0"
    rows = recorded(record)
    assert [row.rung for row in rows] == [rung.label for rung in rungs("cuda_hgemm")]
    assert table(rows) + "\n" == capsys.readouterr().out


def test_cells_of_a_record_are_per_cent_under_the_head(gpu, tmp_path):
    kept = tmp_path / "stalls.json"
    main(["--seed", "MatmulTutorial", "--json", str(kept)])
    rows = list(cells(json.loads(kept.read_text())))
    assert [row[0] for row in rows] == [rung.name for rung in rungs("MatmulTutorial")]
    assert {len(row) for row in rows} == {len(stalls.HEAD)}
    assert rows[0][1:] == ["48%", "53%", "27%", "8%", "6%", "28%", "10%", "26%"]


def test_every_rung_is_launched_once_and_must_write_all_of_c(monkeypatch):
    launched = []

    def matmul(a, b, c, kernel):
        launched.append((kernel, a.shape, b.__cuda_array_interface__["strides"]))
        if kernel != found[2].kernel:
            c.array[:] = 0

    class OnDevice:
        def __init__(self, array):
            self.array, self.dtype, self.shape, self.strides = array, array.dtype, array.shape, array.strides
            self.__cuda_array_interface__ = {"shape": array.shape, "strides": array.strides}

        def copy_to_host(self):
            return self.array

    found = chosen(["simlayout", "cuda_hgemm"])
    monkeypatch.setitem(sys.modules, "numba.cuda", SimpleNamespace(to_device=OnDevice, synchronize=lambda: None))
    monkeypatch.setattr("numba.cuda", sys.modules["numba.cuda"], raising=False)
    monkeypatch.setattr("cuda_kernels.matmul", matmul)
    with pytest.raises(DeviceError, match=f"{found[2].label} did not write all of C"):
        main(["--launch", "--size", "64", "--seed", "simlayout", "cuda_hgemm"])
    assert launched == [(rung.kernel, (64, 64), (2, 128)) for rung in found[:3]]


def test_a_launch_too_few_is_refused(gpu, monkeypatch):
    monkeypatch.setattr(ncu, "profile", lambda *_: [])
    with pytest.raises(DeviceError, match="ncu profiled 0 kernels of 7"):
        main(["--seed", "cuda_hgemm"])


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(gpu, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--json", str(tmp_path / "no" / "stalls.json")])
    assert not gpu and "cannot write" in capsys.readouterr().err


def test_an_unknown_seed_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--seed", "fast.cu"])                      # whose rungs are wgmma kernels
    assert "invalid choice: 'fast.cu'" in capsys.readouterr().err


@pytest.mark.skipif(gpu_problem() is None, reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured():
    with pytest.raises(DeviceError):
        main([])


def test_without_nsight_compute_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(ncu, "gpu_problem", lambda: None)
    monkeypatch.setattr(ncu.shutil, "which", lambda name: None)
    with pytest.raises(DeviceError, match="is not on the PATH"):
        main([])


@pytest.mark.skipif(not RECORD.exists(), reason="not measured yet")
def test_the_record_holds_every_rung_and_its_shares_add_up_to_one():
    record = json.loads(RECORD.read_text())
    rows = recorded(record)
    assert [row.rung for row in rows] == [rung.label for rung in chosen()] and len(list(cells(record))) == len(rows)
    for row in rows:
        assert sum(row.stalls.values()) == pytest.approx(1, abs=1e-3)
        assert 0 < row.mma < row.planned < 1 and 0 < row.shared < 1 and 0 < row.issue < 1
