"""`simlayout conform` from the patterns to the verdict, with a GPU played by the CPU machine."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import refused
from places import DATA
from tiers import sweep_but

from cuda_kernels.conformance import cases, clocks, forms, measure, ncu, probe, suite
from cuda_kernels.conformance.cases import FAMILIES, STRIDES, WINDOW, generate
from cuda_kernels.conformance.forms import FORMS
from simlayout import machine
from simlayout.cli import main
from simlayout.errors import DeviceError, InstructionError, SimlayoutError
from simlayout.hardware import INSTRUCTIONS, analyze
from simlayout.hardware.banks import model as banks
from simlayout.hardware.banks import records
from simlayout.hardware.tables import provenance
from simlayout.machine.engine.memory import lane_addresses

LANE = np.arange(32)
PAIRED = banks.paired
OF_EVERY_KIND = (
    "ld.shared.v2.b32", "ld.volatile.v4.b32", "ld.relaxed.cta.shared.b8", "st.shared.v4.b16", "st.b32", "ldmatrix.x2.trans",
    "stmatrix.x4", "cp.async.ca.4.L2::128B", "cp.async.ca.16.src-size", "cp.async.cg.16.src-size", "red.add.u32",
    "atom.shared.exch.b128", "atom.shared.cas.b64", "red.shared.add.noftz.f16x2", "atom.shared.max.s64")


# ---- patterns -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_patterns_are_aligned_inside_the_window_and_the_same_for_the_same_seed(name):
    row, sized = INSTRUCTIONS[name], INSTRUCTIONS[name].kind == "copy"
    made, again = (generate(name, 60, 5, sized) for _ in range(2))
    assert len(made) == 60 and made.addresses.shape == made.active.shape == (60, 32)
    assert (made.addresses % row.bytes == 0).all()
    assert made.addresses.min() >= 0 and made.addresses.max() + row.bytes <= WINDOW
    for field in ("addresses", "active", "labels", "sources", "valid"):
        np.testing.assert_equal(getattr(made, field), getattr(again, field))
    assert (made.addresses[STRIDES:] != generate(name, 60, 6).addresses[STRIDES:]).any()
    assert made.active.all() if row.needs_whole_warp else not made.active.all()
    if row.kind == "copy":
        assert (made.sources % row.bytes == 0).all()
        assert made.sources.min() >= 0 and made.sources.max() + row.bytes <= cases.SOURCE_WINDOW
        assert made.valid.min() >= 0 and made.valid.max() == row.bytes and (made.valid % 2 == 0).all()
    else:
        assert made.sources is None and made.valid is None


def test_the_first_patterns_are_the_strides_and_then_every_family_comes():
    made = generate("ld.shared.b32", 130, 1)
    assert made.labels[:STRIDES] == tuple(f"stride {i}" for i in range(STRIDES))
    for stride in range(STRIDES):
        assert made.addresses[stride].tolist() == (4 * stride * LANE).tolist() and made.active[stride].all()
    assert set(made.labels[STRIDES:]) == {family.__name__ for family in FAMILIES}


def test_patterns_tell_the_rules_apart():
    """A suite that could not see a wrong rule would pass for ever: each of these must change some count."""
    made = generate("ld.shared.b64", 130, 1)
    right = analyze("ld.shared.b64", made.addresses, made.active)
    for other in ("ld.b64", "st.shared.b64", "red.shared.add.u64", "atom.shared.exch.b64", "atom.shared.cas.b64"):
        assert (analyze(other, made.addresses, made.active).wavefronts != right.wavefronts).sum() > 10, other
    assert len(np.unique(right.wavefronts)) > 10


def test_cases_are_taken_by_slice_index_or_mask():
    made = generate("cp.async.cg.16", 40, 0, sized=True)
    for rows in (slice(3, 5), np.array([3, 4]), (np.arange(40) // 2 == 2) | (np.arange(40) == 3)):
        some = made[rows]
        assert some.labels[:2] == made.labels[3:5] and (some.valid[:2] == made.valid[3:5]).all()


# ---- a GPU that is the CPU machine --------------------------------------------------------------------------------

class PlayedGpu:
    """Runs a job file as ncu would have it run, on the CPU machine, and counts what the twins are told.

    noise: added to the counters of a launch that holds several cases. runs: the forms of each run of ncu. Pairs of lanes
    merge as they do, whatever the model has been made to believe.
    """

    def __init__(self, monkeypatch):
        self.monkeypatch, self.noise, self.runs = monkeypatch, 0, []

    def profile(self, arguments, metrics, kernels):
        assert arguments[:2] == ["-m", "cuda_kernels.conformance.probe"] and kernels == "probe"
        jobs = probe.load(arguments[2])
        self.runs.append([job.form for job in jobs])
        return [self.launch(job, first, count, metrics) for job in jobs for first, count in job.launches()]

    def launch(self, job, first, count, metrics):
        row, seen = forms.form(job.form).row, []

        def record(warp, name, addresses, lanes=None, origin=None):
            seen.append((name, lane_addresses(addresses, name), warp.active.copy(), origin))

        with self.monkeypatch.context() as patched:
            patched.setattr(machine.Warp, "record", record)
            run_probe(job, first, count)
        with self.monkeypatch.context() as patched:
            patched.setattr(banks, "paired", PAIRED)
            counted = self.counted(row, seen)
        busy = self.noise if count > 1 else 0
        return {name: counted[name] + busy for name in metrics}

    def counted(self, row, seen):
        names, addresses, active, origins = zip(*seen) if seen else ((row.name,), (0 * LANE,), (LANE < 0,), (None,))
        assert set(names) == {row.name}
        sources = valid = None
        if row.kind == "copy":
            origins = [o if o is not None else (0 * LANE, None) for o in origins]
            sources = np.stack([o[0] for o in origins])
            valid = None if origins[0][1] is None else np.stack([o[1] for o in origins])
        a = analyze(row, np.stack(addresses), np.stack(active), sources=sources, valid=valid)
        used, conflicts, loads = (int(x.sum()) for x in (a.wavefronts, a.conflicts, a.loads))
        of = {"load": "ld", "ldmatrix": "ld", "store": "st", "stmatrix": "st"}.get(row.kind, "atom")
        return {measure.WAVEFRONTS.format("ld"): loads, measure.WAVEFRONTS.format(of): used,
                measure.CONFLICTS.format(of): conflicts, measure.SASS_WAVEFRONTS.format("ldgsts"): used}


def run_probe(job, first, count):
    """The Trace of one launch of a job's kernel."""
    tables = (job.addresses.astype(np.int32), job.sources.astype(np.uint64), records.lane_masks(job.active),
              job.repetitions.astype(np.int32), np.zeros(32, np.uint64))
    return machine.run(probe.make_probe(forms.form(job.form)), 1, 32, *tables, first, count, 0, shared_bytes=WINDOW,
                       hazards="off")


@pytest.fixture
def gpu(monkeypatch):
    played = PlayedGpu(monkeypatch)
    monkeypatch.setattr(suite, "gpu_problem", lambda: None)
    monkeypatch.setattr(suite, "compute_capability", lambda: (9, 0))
    monkeypatch.setattr(ncu, "problem", lambda: None)
    monkeypatch.setattr(ncu, "profile", played.profile)
    monkeypatch.setattr(suite, "about", lambda options: {
        "arch": "sm_90", "device": "CPU machine", "driver": "none", "cuda": "none", "tool": "twins", "date": "2026-01-01"})
    monkeypatch.setattr(cases, "STRIDES", 2)             # two strides, then the families
    return played


@pytest.fixture
def two_per_launch(monkeypatch):
    """A fourth case would be run 33**3 times, which takes the CPU machine a second."""
    monkeypatch.setattr(measure, "PACKING", {rule: (base, 2) for rule, (base, _) in measure.PACKING.items()})


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_the_probe_runs_every_case_as_often_as_its_table_says(name):
    form = forms.form(name)
    made = generate(form.row.name, 5, 2, form.sized)[3:]
    job = replace(measure.job_of(form, made), repetitions=np.array([2, 5]), per_launch=2)
    trace = run_probe(job, 0, 2)
    expected = analyze(form.row, made.addresses, made.active, sources=made.sources, valid=made.valid)
    total = trace.total()
    assert total.instructions == sum(n for n, live in zip((2, 5), made.active.any(axis=1)) if live)
    assert total.wavefronts == (expected.wavefronts * (2, 5)).sum() and total.ideal == (expected.ideal * (2, 5)).sum()


@pytest.mark.parametrize("name", sweep_but(OF_EVERY_KIND[4::5], OF_EVERY_KIND))
def test_every_case_gets_its_own_counts_back_out_of_the_shared_launches(gpu, name):
    form = forms.form(name)
    made = generate(form.row.name, 4, 3, form.sized)
    (counted,) = measure.measure([(form, made)])
    (alone,) = measure.measure([(form, made)], alone=True)
    expected = analyze(form.row, made.addresses, made.active, sources=made.sources, valid=made.valid)
    for found in (counted, alone):
        assert found.form == name and found.instruction == form.row.name and found.labels == made.labels
        assert found.wavefronts.tolist() == expected.wavefronts.tolist()
        assert not records.check(found).wrong.any()
    assert (counted.conflicts >= 0).all() == (counted.loads >= 0).all() or form.row.kind not in ("atomic", "reduction")


@pytest.mark.parametrize("name", sweep_but(sorted(FORMS)[::3], sorted(FORMS)))
def test_no_count_of_a_form_reaches_the_base_that_tells_its_cases_apart(name):
    form = FORMS[name]
    base, per_launch = measure.packing(form)
    made = generate(form.row.name, 130, 1, form.sized)
    said = analyze(form.row, made.addresses, made.active, sources=made.sources, valid=made.valid)
    assert max(said.at_most.max(), said.loads.max(), said.conflicts.max()) < base
    assert base ** (per_launch - 1) < 2**31


def conform(*arguments):
    return main(["conform", *arguments])


def test_the_whole_suite_finds_the_model_right_and_keeps_what_it_read(gpu, two_per_launch, tmp_path, capsys):
    record, totals, kept = (tmp_path / name for name in ("cases.npz", "totals.json", "kept.json"))
    names = ("ld.shared.v4.b32", "stmatrix.x1.trans", "cp.async.ca.8.src-size", "red.shared.add.u32", "red.add.u32")
    assert conform(*names, "--cases", "3", "--seed", "4", "--record", str(record), "--json", str(totals)) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [line.split() for line in lines[1:6]] == [[name, "3", "3", "0"] for name in names]
    assert lines[6].split() == ["all", "15", "15", "0"] and "6 cases, 2 forms, 4 launches" in err
    said = json.loads(totals.read_text())
    assert said["evidence"] == "counters" and said["forms"][0] == {"form": names[0], "cases": 3, "wrong": 0}
    about, read = records.load_records(record)
    assert about["device"] == "CPU machine" and [c.form for c in read] == list(names)

    assert conform("--check", str(record), "--json", str(kept)) == 0
    out, err = capsys.readouterr()
    assert err == "" and str(record) in out and "measured on one CPU machine" in out and "exact" in out
    (summary,) = json.loads(kept.read_text())
    assert summary["cases"]["cp.async.ca.8"] == [3, 0] and summary["about"] == about


def test_a_wrong_rule_is_reported_wrong_and_explained(gpu, two_per_launch, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(banks, "paired", lambda keys: np.zeros(len(keys), bool))
    record = tmp_path / "cases.npz"
    assert conform("ld.shared.v2.b32", "st.shared.v2.b32", "--cases", "16", "--seed", "1", "--record", str(record)) == 1
    out, _ = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line[:3] in ("ld.", "st.")
            and len(line.split()) == 4}
    assert int(rows["ld.shared.v2.b32"][2]) > 0 and rows["st.shared.v2.b32"][2] == "0"
    assert out.count(" wavefronts predicted, ") == 1 and "\nld.shared.v2.b32, case " in out and "\n  phase 0, lanes " in out
    assert conform("--check", str(record)) == 1                      # what was kept is the hardware, not the model
    monkeypatch.setattr(banks, "paired", PAIRED)
    assert conform("--check", str(record)) == 0


def test_a_case_that_disagrees_only_in_company_is_measured_again_by_itself(gpu, two_per_launch, capsys):
    gpu.noise = 33                                       # the second case of every launch seems to cost one more
    assert conform("ld.shared.v2.b32", "st.shared.v2.b32", "--cases", "4") == 0
    assert gpu.runs == [["ld.shared.v2.b32"], ["st.shared.v2.b32"]] * 2
    assert capsys.readouterr()[0].splitlines()[3].split() == ["all", "8", "8", "0"]


# ---- what cannot be done is said in one line ----------------------------------------------------------------------

def test_without_a_gpu_or_nsight_compute_one_line_says_so(monkeypatch, capsys):
    monkeypatch.setattr(suite, "gpu_problem", lambda: "no GPU here")
    assert "no GPU here; `simlayout conform --check FILE.npz` needs none" in refused(capsys, "conform")
    assert "no GPU here" in refused(capsys, "conform", "--clock")
    monkeypatch.setattr(suite, "gpu_problem", lambda: None)
    monkeypatch.setattr(suite, "compute_capability", lambda: (9, 0))
    monkeypatch.setattr(ncu.shutil, "which", lambda name: None)
    said = refused(capsys, "conform")
    assert "ncu) is not on the PATH" in said and "`simlayout conform --clock` needs no" in said
    with pytest.raises(DeviceError, match="is not on the PATH"):
        ncu.profile([], [], "")


def test_help_and_check_need_no_numba_and_the_rest_says_what_it_lacks():
    copies = str(DATA / "h200_copies.npz")
    code = ("import sys; sys.modules['numba'] = None; from simlayout.cli import main; "
            f"print([main(['conform', *more]) for more in (['--help'], ['--check', {copies!r}], [])])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 2]" and "numba-cuda is not installed" in done.stderr


def test_commands_that_mean_nothing_are_refused(capsys, monkeypatch):
    monkeypatch.setattr(suite, "gpu_problem", lambda: None)
    monkeypatch.setattr(suite, "compute_capability", lambda: (9, 0))
    assert "did you mean ld.b8" in refused(capsys, "conform", "ldq")
    assert "is not an integer from 1" in refused(capsys, "conform", "--cases", "0")
    assert "is not an integer from 0" in refused(capsys, "conform", "--seed", "-1")
    assert "leave out an instruction" in refused(capsys, "conform", "ld.b8", "--check", "x.npz")
    assert "leave out --clock" in refused(capsys, "conform", "--clock", "--check", "x.npz")
    assert "leave out --record" in refused(capsys, "conform", "--record", "y.npz", "--check", "x.npz")
    assert "leave out --cases" in refused(capsys, "conform", "--cases", "7", "--check", "x.npz")
    assert "--clock reads no counters" in refused(capsys, "conform", "--clock", "--record", "x.npz")
    assert "cannot read x.npz: No such file" in refused(capsys, "conform", "--check", "x.npz")
    assert "is no record" in refused(capsys, "conform", "--check", str(DATA / "README.md"))
    assert "--clock tells nothing about red.shared.add.u32" in refused(capsys, "conform", "--clock", "red.shared.add.u32")


@pytest.mark.parametrize("words", [["--cases", "5"], ["--seed", "1"], ["ld.b8"], ["--clock"], ["--json"],
                                   ["--record", "x.npz"]])
def test_a_script_for_amd_takes_no_other_option(capsys, tmp_path, words):
    path = tmp_path / "count.py"
    told = refused(capsys, "conform", "--rocm", str(path), *words)
    assert "--rocm writes a script that is always the same: leave out" in told and not path.exists()


def test_the_recorded_cases_pass_the_check_of_the_command_line(capsys, tmp_path):
    kept = tmp_path / "kept.json"
    assert conform("--check", str(DATA / "h200_wavefronts.npz"), "--json", str(kept)) == 0
    out, _ = capsys.readouterr()
    assert [line.split() for line in out.splitlines() if line.startswith("all")] == [["all", "6039", "6039", "0"]]
    assert json.loads(kept.read_text()) == json.loads((provenance.FOLDER / "h200.json").read_text())[:1]


def test_help_teaches_by_example(capsys):
    assert conform("--help") == 0
    out = capsys.readouterr()[0]
    assert "simlayout conform --check cases.npz" in out and "--record FILE.npz" in out and "exit code is 1" in out


def test_what_ncu_prints_becomes_one_dict_per_launch():
    text = ('==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
            '"0","probe","a.sum","","1,234"\n"0","probe","b.sum","","n/a"\n"1","probe","a.sum","","5"\n')
    assert ncu.parse(text) == [{"a.sum": 1234, "b.sum": None}, {"a.sum": 5}]
    with pytest.raises(DeviceError, match="ncu printed no table: ERR_NVGPUCTRPERM"):
        ncu.parse("==PROF== Connected\nERR_NVGPUCTRPERM\n")


def test_names_choose_forms_by_spelling_by_row_or_by_prefix():
    assert [f.name for f in suite.chosen(["ld.shared.v4.b32"])] == ["ld.shared.v4.b32"]
    assert {f.row.name for f in suite.chosen(["st.shared.b128"])} == {"st.shared.b128"}
    assert {f.row.kind for f in suite.chosen(["cp.async"])} == {"copy"}
    assert suite.chosen([]) == list(FORMS.values())
    with pytest.raises(InstructionError, match="unknown"):
        suite.chosen(["mov.b32"])


# ---- by the clock -------------------------------------------------------------------------------------------------

def test_the_clock_agrees_from_the_wavefronts_to_a_margin_above():
    timed = clocks.Timed("ld.shared.b32", np.array([10, 9.21, 9.19, 10 + clocks.MARGIN, 10.01 + clocks.MARGIN, 1.5]),
                         np.array([10, 10, 10, 10, 10, 1]))
    assert timed.agree.tolist() == [True, True, False, True, False, True]


def test_the_clock_tells_two_wavefronts_from_a_correct_prediction():
    wavefronts = np.arange(1, 33)
    for measured in (wavefronts, wavefronts + 1.1):
        right, high, low = (clocks.Timed("x", measured, wavefronts + n) for n in (0, 2, -2))
        assert right.agree.all() and not high.agree.any() and not low.agree[2:].any()


def test_the_clock_mode_prints_its_verdict_and_says_that_it_is_weaker(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(suite, "gpu_problem", lambda: None)
    monkeypatch.setattr(suite, "compute_capability", lambda: (9, 0))
    monkeypatch.setattr(suite, "about", lambda options: {"device": "none"})
    for extra, code in ((0.5, 0), (3, 1)):
        monkeypatch.setattr(suite, "time_cases", lambda form, made, said: clocks.Timed(form.name, said + extra, said))  # noqa: B023
        assert conform("ld.shared.v2.b32", "--clock", "--cases", "40", "--json", str(tmp_path / "x.json")) == code
        out, _ = capsys.readouterr()
        assert "weaker evidence" in out and ("first that does not: " in out) is bool(code)
        said = json.loads((tmp_path / "x.json").read_text())
        assert said["evidence"] == "clocks" and said["forms"][0]["agree"] == (0 if code else 40)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    from cuda_kernels.conformance import suite

    monkeypatch.setattr(suite, "run_counters", lambda *_: pytest.fail("measured first"))
    for path in (tmp_path / "no folder" / "x.npz", tmp_path):
        assert main(["conform", "ld.shared.b32", "--record", str(path)]) == 2
        assert "cannot write" in capsys.readouterr().err


def test_what_an_older_gpu_has_not_is_told_and_left_out(monkeypatch):
    told = []
    monkeypatch.setattr(suite, "compute_capability", lambda: (8, 0))
    kept = suite.on_this_gpu(suite.chosen(["ldmatrix.x1", "stmatrix.x1"]), told.append)
    assert {f.row.kind for f in kept} == {"ldmatrix"} and "stmatrix.x1" in told[0]
    with pytest.raises(SimlayoutError, match="has no stmatrix.x1"):
        suite.on_this_gpu(suite.chosen(["stmatrix.x1"]), told.append)
