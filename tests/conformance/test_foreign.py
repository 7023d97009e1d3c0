"""Kernels in other languages, kept as PTX: rows, PTX and sources agree, and what reads them says what is missing."""

import ctypes
import json
import re

import numpy as np
import pytest

from cuda_kernels.conformance.foreign import ROWS, build, compare, gpu, launch
from cuda_kernels.conformance.foreign.row import DATA, Foreign, Structure, arrays_of
from simlayout import ptx
from simlayout.errors import DeviceError

BY_LANGUAGE = {
    language: [row for row in ROWS.values() if row.language == language] for language in ("cuda", "triton", "numba")
}


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_a_row_has_the_parameters_of_its_entry_and_a_reference_of_the_shape_of_its_result(row):
    text, arguments = row.text(), row.arguments()
    types = launch.parameters_of(text, row.symbol(text))
    assert len(types) == len(arguments)
    for (kind, count), x in zip(types, arguments):
        assert (count == 128) == hasattr(x, "box") and (kind == "u64") >= isinstance(x, np.ndarray)
        assert (kind[0] == "f") == isinstance(x, float) and (count > 128) == isinstance(x, Structure)
        assert not isinstance(x, Structure) or count == sum(map(bytes_of, x))
    arrays = arrays_of(arguments)
    for i, wanted in (row.result(arguments) if row.result else {}).items():
        assert np.shape(wanted) == arrays[str(i)].shape


def bytes_of(field):
    """Of a field of a structure."""
    return len(field) if isinstance(field, bytes) else 128 if hasattr(field, "box") else 8


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.result], ids=lambda row: row.name)
def test_the_reference_accepts_itself_and_refuses_one_changed_element(row):
    before, after = row.arguments(), row.arguments()
    arrays, result = arrays_of(after), row.result(before)
    for i, wanted in result.items():
        arrays[str(i)][...] = np.asarray(wanted).astype(arrays[str(i)].dtype)
    assert row.wrong(before, after) == []
    array = arrays[str(next(iter(result)))]
    array[(0,) * array.ndim] = array[(0,) * array.ndim] + np.asarray(3).astype(array.dtype)
    assert len(row.wrong(before, after)) == 1


def test_every_kernel_of_every_source_is_a_row():
    assert {row.source for row in BY_LANGUAGE["cuda"]} == {path.stem for path in (build.HERE / "cuda").glob("*.cu")}
    for source in {row.source for row in BY_LANGUAGE["cuda"]}:
        rows = [row for row in BY_LANGUAGE["cuda"] if row.source == source]
        assert set(re.findall(r"\.entry (\w+)", rows[0].text())) == {row.entry for row in rows}
    for language in ("triton", "numba"):
        names = re.findall(r"^def (\w+)", (build.HERE / f"{language}_kernels.py").read_text(), re.M)
        assert sorted(names) == sorted({row.entry for row in BY_LANGUAGE[language]})


@pytest.mark.parametrize("row", {row.path(): row for row in ROWS.values()}.values(), ids=lambda row: row.path().name)
def test_every_kernel_of_a_kept_file_loads(row):
    assert ptx.load(row.text()).unsupported == ()


def test_there_is_ptx_of_three_compilers_small_and_without_paths_of_the_machine_that_compiled_it():
    assert {language: len(rows) >= 7 for language, rows in BY_LANGUAGE.items()} == dict.fromkeys(BY_LANGUAGE, True)
    versions = json.loads((DATA / "versions.json").read_text())
    assert versions["nvcc"]["nvcc"].startswith("13.0.") and set(versions) == {"nvcc", "cutlass", "triton", "numba"}
    for path in {row.path() for row in ROWS.values()}:
        text = next(row for row in ROWS.values() if row.path() == path).text()
        assert ".version 9.0" in text and re.search(r"\.loc\b", text)
        assert not re.findall(r'\.file\s+\d+\s+"/[^"]*"', text)
    assert sum(path.stat().st_size for path in DATA.rglob("*.xz")) < 1_500_000


def test_a_record_is_judged_array_by_array_and_class_by_class():
    row = ROWS["softmax"]
    arguments = row.arguments()
    arrays = {str(i): x for i, x in enumerate(arguments) if isinstance(x, np.ndarray)}
    made = gpu.record(row, arrays, {metric: 7 for metric in gpu.COUNTERS.values()})
    assert made["wrong"] and made["counters"]["ld"] == 7 and set(made["arrays"]) == {"0", "1"}
    near, far = arguments[1] + np.float32(1e-7), arguments[1] + np.float32(1)
    assert compare.unlike(arguments[1], made, "1") == "" and compare.unlike(near, made, "1") == ""
    assert "1800 of 1800" in compare.unlike(far, made, "1")
    counted = compare.counted(made)
    assert counted == dict.fromkeys((*compare.CLASSES, compare.ALL), 7)
    verdict = compare.Verdict("softmax", wavefronts={name: (6 if name in ("st", "all") else 7, 7) for name in counted})
    assert verdict.right and not verdict.explained and verdict.apart == ["st"]
    told = compare.report([verdict])
    assert "st 6 (GPU 7): unexplained" in told and "1 of 1 results equal\n4 of 6 classes" in told
    assert compare.Verdict("softmax", wavefronts={"ld": (7, 7), "all": (8, 7)}).apart == ["all"]


def test_approximate_complex_numbers_may_be_a_little_apart_in_each_part_and_bytes_may_not():
    pairs, text = np.full(4, 1 + 2j), np.arange(4, dtype=np.uint8)
    made = {"sha256": {"0": "", "1": ""}, "arrays": {"0": gpu.packed(pairs), "1": gpu.packed(text)}}
    assert compare.unlike(pairs + 1e-9j, made, "0") == ""
    assert "4 of 8 elements" in compare.unlike(pairs + 1j, made, "0")
    assert compare.unlike(text + np.uint8(1), made, "1") == "argument 1: other bytes than the GPU's"


def test_all_wavefronts_have_the_loads_of_atomics_that_are_loops():
    row = ROWS["numba_bins_of_halves"]
    trace = compare.ran(row, row.text(), row.arguments(), "off")
    assert trace.total().loads and compare.wavefronts(trace, {"counters": {"shared": 869}}) == {
        "all": (sum(trace.totals().values()), 869)}


def test_without_a_gpu_the_runner_says_so_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "gpu_problem", lambda: "there is no GPU")
    with pytest.raises(DeviceError, match="^there is no GPU$"):
        gpu.main(["--json", str(tmp_path / "x.json")])
    assert not list(tmp_path.iterdir())


def test_a_row_is_plain_data():
    assert isinstance(ROWS["compact"], Foreign) and ROWS["compact"].path().name == "scan.ptx.xz"
    assert (
        ROWS["numba_total"].path().name == "numba_total.ptx.xz"
        and ROWS["numba_total"].symbol(ROWS["numba_total"].text()) != "total"
    )


@pytest.mark.parametrize("of", [lambda whole: whole, lambda whole: whole[1:, 2:]], ids=["whole", "part"])
def test_an_array_in_fortrans_order_is_copied_to_the_gpu_as_it_lies_and_back(of, monkeypatch):
    cuda = pytest.importorskip("numba.cuda")
    copies = []

    class Copy:
        def __init__(self, held):
            self.there = held.copy()
            self.__cuda_array_interface__ = self.there.__array_interface__
            copies.append(self.there)

        def copy_to_host(self, held):
            held[:] = self.there

    monkeypatch.setattr(cuda, "to_device", Copy)
    array = of(np.array(np.arange(20, dtype=np.float32).reshape(4, 5), order="F"))
    held = launch.Arguments(None, None, [("u64", 1)], [array])
    passed = ctypes.cast(held.pointer, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)))[0][0]
    assert ctypes.c_float.from_address(passed).value == array[0, 0]
    copies[0].view(np.float32)[:] = -1
    held.fetch()
    assert (array == -1).all()


def test_an_empty_class_of_cpp_is_a_parameter_of_one_byte():
    text = ".version 9.0 .target sm_90 .address_size 64 .entry f(.param .align 1 .b8 a[1], .param .u32 b) { ret; }"
    types = launch.parameters_of(text, "f")                  # however many stand on a line
    held = launch.Arguments(None, None, types, [b"\7", 9])
    places = ctypes.cast(held.pointer, ctypes.POINTER(ctypes.c_void_p))
    assert (ctypes.c_uint8.from_address(places[0]).value, ctypes.c_uint32.from_address(places[1]).value) == (7, 9)


def test_a_kernel_that_fails_on_the_gpu_does_not_take_the_others_with_it(monkeypatch):
    launches = []

    def launched(names, data, counted, folder):
        launches.append(names)
        for name in names:
            if name == "softmax":
                raise DeviceError("CUDA_ERROR_ILLEGAL_INSTRUCTION")
            np.savez(f"{folder}/{name}.npz", **arrays_of(ROWS[name].arguments()))
        return [dict.fromkeys(gpu.COUNTERS.values(), 1) if counted else None] * len(names)

    monkeypatch.setattr(gpu, "launched", launched)
    made = gpu.run(["compact", "softmax", "votes", "bits"], DATA, True)
    assert [row["name"] for row in made] == ["compact", "softmax", "votes", "bits"]
    assert made[1] == {"name": "softmax", "failed": "CUDA_ERROR_ILLEGAL_INSTRUCTION"}
    assert made[3]["counters"]["ld"] == 1 and launches[1:3] == [["compact"], ["softmax"]]
    assert gpu.verdict(made[1]) == "failed: CUDA_ERROR_ILLEGAL_INSTRUCTION" and "not" in gpu.verdict(made[3])


def test_what_the_gpu_refuses_comes_last_and_the_machine_refuses_it_too():
    refused = [row.name for row in ROWS.values() if row.refused]
    assert refused == gpu.in_order(ROWS)[-len(refused) :] == ["tma_negative"]
    for name in refused:
        assert compare.judge(ROWS[name], {"name": name, "failed": "CUDA_ERROR_ILLEGAL_INSTRUCTION"}).right
        assert not compare.judge(ROWS[name], {"name": name, "sha256": {}}).right
        assert gpu.verdict({"name": name, "failed": "x"}) == "refused, as it must be"
