"""Lane-wise instructions beside a GPU's results: the kernels, the operands, the record."""

import ctypes
import json
import pickle

import numpy as np
import pytest
from fake_driver import FakeLibrary, view
from places import DATA
from tiers import sweep_but

from cuda_kernels.conformance.opcodes import again, device, forms, judge, record
from cuda_kernels.conformance.opcodes.__main__ import compared, main
from cuda_kernels.conformance.opcodes.operands import count_of, operands
from cuda_kernels.conformance.opcodes.text import module_of
from cuda_kernels.conformance.opcodes.together import CTA
from cuda_kernels.run import driver
from simlayout import ptx
from simlayout.errors import InstructionError, SimlayoutError
from simlayout.machine.ptx.opcodes import lanes_video
from simlayout.machine.ptx.opcodes.lanes import TABLES

EVERY = forms.chosen([])
CASES = [case for case in EVERY if isinstance(case, forms.Case)]
TOGETHER = [case for case in EVERY if not isinstance(case, forms.Case)]
RECORD = DATA / "h200_opcodes.json.xz"
BY_NAME = {case.name: case for case in EVERY}
VIDEO = {form.opcode for form in lanes_video.FORMS}
OF_VIDEO = {case.name for case in CASES if case.opcode in VIDEO}
"""Names of the cases, most of which a record of their own has: `h200_video.npz` (tests/ptx/test_lanes.py)."""
OTHERS = [case for case in EVERY if case.name not in OF_VIDEO]


def few(case, count):
    """Operands of a case, as far apart as they can be."""
    given = operands(case.roles, case.count, 1)
    apart = given.shape[1] // count if isinstance(case, forms.Case) else 1              # or else whole CTAs
    return np.ascontiguousarray(given[:, ::apart][:, :count])


def check_on_the_machine(cases):
    """Runs the kernels that the GPU is given."""
    for i in range(0, len(cases), device.PER_MODULE):
        group = cases[i:i + device.PER_MODULE]
        module = ptx.load(module_of(group, "sm_100a"))
        for j, case in enumerate(group):
            given = few(case, CTA)
            stored = np.zeros((len(case.results), CTA), np.uint64)
            module[f"k{j}"].run(1, CTA, given.copy(), stored, CTA)
            np.testing.assert_array_equal(judge.trimmed(case, stored), judge.expected(case, given), case.name)


def test_every_form_of_the_table_is_a_case_and_has_ten_thousand_operands():
    spelled = {".".join((form.opcode, *modifiers)) for form in TABLES for modifiers in form.spelled()}
    assert len(BY_NAME) == len(EVERY) > 5500
    assert {case.name.removesuffix(" crossed") for case in CASES} == spelled
    assert min(case.count for case in EVERY) > 10_000 and not any(case.count % CTA for case in EVERY)


@pytest.mark.parametrize("step", [50, pytest.param(1, marks=pytest.mark.sweep)])
def test_the_kernels_do_on_the_machine_what_the_table_says(step):
    check_on_the_machine(CASES[::step])


def runs(case):
    """Whether the machine can execute a case."""
    try:
        return case.compute(few(case, CTA))
    except InstructionError as error:
        assert "the machine cannot execute" in str(error) or "unknown shared-memory" in str(error)


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.sweep) for i in range(1, 10))])
def test_the_machine_executes_what_lanes_do_together_and_what_memory_does(part):
    cases = TOGETHER[part::10]
    assert sum(runs(case) is not None for case in cases) > 0.8 * len(cases)


def test_what_lanes_do_together_is_what_numpy_makes_of_a_warp():
    case = BY_NAME["redux.sync.add.u32"]
    given = few(case, CTA)
    values, masks = given.reshape(2, -1, 32)
    named = masks >> np.arange(32, dtype=np.uint64) & np.uint64(1)
    sums = (values * named).sum(axis=1, keepdims=True) * named & np.uint64(0xFFFFFFFF)
    np.testing.assert_array_equal(judge.expected(case, given), sums.reshape(1, -1))
    assert (masks == masks[:, :1]).all() and 0 < named.mean() < 1


def test_what_the_machine_cannot_execute_is_not_compared_and_says_so():
    case = forms.Together("nop.b32", ("b32",), ("b32",), ("suld.b.1d.b32.trap r0, [0, {r2}];",), count=CTA)
    verdict = judge.judge(case, 1, np.zeros((1, CTA), np.uint64))
    assert verdict.missing and verdict.results == judge.digest(np.zeros((1, CTA), np.uint64))
    assert "nop.b32: not compared" in record.summary([verdict], {})


ROLES = sorted({case.roles for case in EVERY})


@pytest.mark.parametrize("roles", sweep_but(ROLES[::4], ROLES), ids=" ".join)
def test_operands_are_as_many_as_asked_within_their_width_the_same_again_and_others_of_another_seed(roles):
    made = operands(roles, count_of(roles), 1)
    assert made.shape == (len(roles), count_of(roles)) and made.dtype == np.uint64
    operands.cache_clear()
    np.testing.assert_array_equal(made, operands(roles, count_of(roles), 1))
    if set(roles) - {"pred"} and roles != ("b16",):
        assert (made != operands(roles, count_of(roles), 2)).any()


def test_operands_have_every_selector_every_table_of_lop3_and_all_numbers_of_16_bits():
    assert np.unique(operands(("b32", "b32", "selector"), 65536, 1)[2] & 0xFFFF).size == 65536
    luts = np.unique(operands(("b32", "b32", "b32", "lut"), 16384, 1)[3], return_counts=True)
    assert luts[0].tolist() == list(range(256)) and min(luts[1]) == 64
    for roles in (("b16",), ("f16x2",)):
        assert np.unique(operands(roles, 65536, 1)[0] & 0xFFFF).size == 65536
    assert np.unique(operands(("f16x2",), 65536, 1)[0] >> 16).size == 65536


def test_operands_of_f32_have_infinities_nan_of_both_kinds_subnormals_and_products_that_cancel():
    a, b, c = operands(("f32", "f32", "f32"), 16384, 1)
    size = a & 0x7FFFFFFF
    assert (size == 0x7F800000).sum() > 20 and ((size > 0x7F800000) & (size < 0x7FC00000)).sum() > 50
    assert (size >= 0x7FC00000).sum() > 50 and ((size > 0) & (size < 0x800000)).sum() > 300
    with np.errstate(all="ignore"):
        near = -(a.astype(np.uint32).view("f4") * b.astype(np.uint32).view("f4"))
    assert (near.view(np.uint32).astype(np.int64) - c.astype(np.int64) == 1).sum() > 150


def test_a_verdict_counts_results_that_differ_and_shows_their_operands():
    case = BY_NAME["setp.lt.f32"]
    given = operands(case.roles, case.count, 1)
    right = judge.expected(case, given)
    assert judge.judge(case, 1, right).as_dict() == {"cases": case.count, "different": 0, "results": judge.digest(right)}
    right[1, 5] ^= np.uint64(1)
    verdict = judge.judge(case, 1, right)
    assert verdict.different == 1 and verdict.results != judge.digest(judge.expected(case, given))
    theirs, ours = right[:, 5], judge.expected(case, given)[:, 5]
    shown = [" ".join(f"{int(x):x}" for x in column) for column in (given[:, 5], theirs, ours)]
    assert verdict.examples == [shown] and pickle.loads(pickle.dumps(case)) == case


def test_a_record_is_read_as_it_was_written_and_its_summary_names_what_differs(tmp_path):
    verdict = judge.Verdict("add.s32", 4, 1, "00", [["1 2", "4", "3"]])
    refused = {"add.f32.f16": "line 3; error : not for sm_90"}
    for name in ("a.json", "a.json.xz"):
        record.write(tmp_path / name, {"device": "none"}, [verdict], refused)
        wanted = {"device": "none", "refused": refused, "forms": {"add.s32": verdict.as_dict()}}
        assert record.read(tmp_path / name) == wanted
    said = record.summary([verdict], refused)
    assert "add.s32: 1 of 4 differ: of 1 2 the GPU makes 4, the table 3" in said and "not for sm_90: 1" in said


class MachineLibrary(FakeLibrary):
    """A CUDA driver whose GPU is the machine; it refuses what `refuses` matches."""

    refuses, broken = "ftz", False

    def cuDeviceGetName(self, name, size, device):
        name.value = b"the machine"
        return 0

    def cuModuleLoadDataEx(self, at, code, count, options, values):
        text = code.rstrip(b"\0").decode()
        assert list(options) == [device.ERROR_LOG, device.ERROR_LOG_BYTES] and count == 2 and self.contexts
        if self.refuses in text:
            ctypes.memmove(values[0], b"ptxas application\nline 9; error : no ftz\n\0", 40)
            return 1
        self.programs[len(self.programs) + 1] = ptx.load(text)
        ctypes.c_void_p.from_address(at).value = len(self.programs)
        return 0

    def cuModuleGetFunction(self, at, module, name):
        self.programs[number := len(self.programs) + 1] = self.programs[module.value], name.decode()
        ctypes.c_void_p.from_address(at).value = number
        return 0

    def cuMemcpyHtoD_v2(self, address, array, nbytes):
        ctypes.memmove(address, array, nbytes)
        return 0

    def cuMemcpyDtoH_v2(self, array, address, nbytes):
        ctypes.memmove(array, address, nbytes)
        return 0

    def cuLaunchKernelEx(self, config, kernel, parameters, extra):
        module, name = self.programs[kernel.value]
        if self.broken:
            return 1
        places = (ctypes.c_void_p * 3).from_address(parameters.value)
        sources, results = (ctypes.c_uint64.from_address(place).value for place in places[:2])
        count = ctypes.c_uint32.from_address(places[2]).value
        arrays = [view(at, np.dtype(np.uint64), (4, count), (8 * count, 8)) for at in (sources, results)]
        module[name].run(tuple(config._obj.grid), tuple(config._obj.block), *arrays, count)
        return 0


def test_the_command_runs_on_a_driver_and_names_what_differs_and_what_was_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(forms, "count_of", lambda roles, approximate: 64)
    monkeypatch.setattr(driver, "cuda", lambda: driver.Cuda(MachineLibrary()))
    target = tmp_path / "record.json"
    patterns = ["min.f32", "min.ftz.f32", "addc.cc.u32*", "sin.approx.f32"]
    assert main(["--json", str(target), "--only", *patterns, "--keep", str(tmp_path / "kept")]) == 0
    data = record.read(target)
    assert data["device"] == "the machine" and data["target"] == "sm_90a" and data["cuda"] == "13.0"
    assert data["refused"] == {"min.ftz.f32": "line 9; error : no ftz"}
    assert set(data["forms"]) == {"min.f32", "addc.cc.u32", "addc.cc.u32 crossed", "sin.approx.f32"}
    assert all(row["cases"] == 64 and row["different"] == 0 for row in data["forms"].values())
    with np.load(tmp_path / "kept" / "addc.cc.u32_crossed.npz") as kept:
        assert kept["operands"].shape == (3, 64) and kept["results"].shape == (2, 64)
    assert "4 forms on 256 operands: 0 differ" in capsys.readouterr().out


def test_after_a_launch_that_fails_the_rest_is_named_as_not_run(monkeypatch):
    monkeypatch.setattr(forms, "count_of", lambda roles, approximate: 64)
    monkeypatch.setattr(driver, "cuda", lambda: driver.Cuda(MachineLibrary()))
    monkeypatch.setattr(MachineLibrary, "broken", True)
    verdicts, refused, _ = compared(forms.chosen(["min.s*", "max.s32"]), 1)
    first, *rest = refused.values()
    assert not verdicts and "refused to launch" in first and len(rest) > 2
    assert set(rest) == {f"not run: {next(iter(refused))} failed"}


def test_a_pattern_that_names_nothing_is_refused():
    with pytest.raises(SimlayoutError, match="named like nonsense"):
        main(["--only", "nonsense"])


def test_the_record_has_every_form_of_the_table_or_names_what_the_driver_refused():
    data = record.read(RECORD)
    recorded = data["forms"].keys() | data["refused"].keys()
    assert recorded <= BY_NAME.keys() and BY_NAME.keys() - recorded <= OF_VIDEO
    assert {BY_NAME[name].target for name in data["refused"]} == {"sm_100"}
    assert all(row["results"] and not row.get("missing") for row in data["forms"].values())


def differing(cases):
    """The names of cases of which the table makes other results than the GPU."""
    data = record.read(RECORD)
    there = [case for case in cases if data["forms"].get(case.name, {}).get("results")]
    assert len(there) > 0.9 * len(cases)
    return [case.name for case in there if not again.agrees(case, data["seed"], data["forms"][case.name]["results"])]


def test_the_table_and_the_machine_compute_what_the_gpu_did():
    assert differing(OTHERS[::200]) == []


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.sweep)])
def test_of_several_nan_the_one_is_left_that_the_gpu_leaves(step):
    cases = [case for case in EVERY if case.name.endswith(" of NaN")]
    assert len(cases) == 9 and differing(cases[::step]) == []


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(60))
def test_the_whole_table_computes_what_the_gpu_did(part):
    assert differing(OTHERS[part::60]) == []


def test_a_result_that_is_not_the_gpu_s_is_found(tmp_path, capsys):
    data = record.read(RECORD)
    assert data["forms"]["add.u32"]["results"] != data["forms"]["sub.u32"]["results"]
    data["forms"]["add.u32"]["results"] = data["forms"]["sub.u32"]["results"]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(data))
    assert again.main([str(path), "--only", "add.u32", "sub.u32", "tanh.approx.bf16"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("1 instructions differ from the NVIDIA H200 of ") and printed.endswith(": add.u32\n")
    assert again.main([str(RECORD), "--only", "add.u32", "sub.u32"]) == 0


@pytest.mark.parametrize("case", [case for case in CASES if {"approx", "full"} & set(case.modifiers)],
                         ids=lambda case: case.name)
def test_functions_that_ptx_calls_approximate_have_the_bits_of_the_gpu(case):
    assert differing([case]) == []
