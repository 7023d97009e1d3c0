"""The conformance check of mma.sync, as far as it goes without a GPU: cases, registers, kernels, twins, verdicts."""

import json

import numpy as np
import pytest
from tiers import sweep_but

from cuda_kernels.conformance.products import mma as check
from cuda_kernels.conformance.products.cases import FLOAT_CLASSES, INTEGER_CLASSES, classes, decode, encode, tiles
from cuda_kernels.conformance.products.common import raw
from cuda_kernels.intrinsics.mma import mma_sync
from cuda_kernels.run.device import gpu_problem
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, InstructionError, SimlayoutError
from simlayout.hardware import MMAS
from simlayout.hardware.tables.mma import FAMILIES
from simlayout.numerics import mma, tensor_op

F16 = "m16n8k16.f32.f16.f16.f32"
LAST_OF_A_FAMILY = [f"m{m}n{n}k{depths[-1]}.{d[-1]}.{ab[-1][0]}.{ab[-1][1]}.{d[-1]}{suffixes[-1]}"
                    for m, n, depths, d, ab, suffixes in FAMILIES]


# ---- twins -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", sweep_but([*MMAS][::3], MMAS))
def test_every_twin_returns_the_bits_of_mma(name):
    a, b, c, labels = tiles(name, len(classes(name)), seed=1)
    row = check.compare(name, a, b, c, labels, check.run_probe(name, a, b, c, gpu=False))
    assert (row.wrong, row.payloads, row.first) == (0, 0, "") and row.outputs == c.size


def test_twins_take_uniform_and_signed_registers():
    one, register = 0x01010101, np.full(32, -1, np.int64)
    d = mma_sync("m16n8k32.s32.s8.u8.s32").twin(None, register, -1, register, 0xFFFFFFFF, one, one, 5, -6, register, 0)
    assert [set(x.tolist()) for x in d] == [{-27}, {-38}, {-33}, {-32}]


def test_an_unknown_mma_is_refused_when_it_is_made():
    with pytest.raises(InstructionError, match="unknown mma 'm16n8k16.f32.f16.f16'; did you mean"):
        mma_sync("m16n8k16.f32.f16.f16")


# ---- cases -----------------------------------------------------------------------------------------------------------

def test_the_same_seed_gives_the_same_tiles_and_another_seed_others():
    first, again, other = (tiles(F16, 60, seed)[0] for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()


@pytest.mark.parametrize("element", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_elements_are_encoded_as_the_nearest(element):
    values = np.random.default_rng(0).standard_normal(500) * 4
    made = encode(element, values)
    around = [decode(element, (raw(made).astype(np.int64) + step).astype(raw(made).dtype).view(made.dtype))
              for step in (1, -1)]
    if element != "tf32":                                     # stored in an f32, of which `decode` drops the low bits
        assert all((abs(decode(element, made) - values) <= abs(x - values)).all() for x in around)
    assert decode(element, encode(element, [0.0, -0.0, 1.0, -1.5])).tolist() == [0, 0, 1, -1.5]
    assert np.isnan(decode(element, encode(element, [np.nan]))).all()


@pytest.mark.parametrize("name", [F16, "m16n8k16.f32.bf16.bf16.f32", "m16n8k32.f32.e4m3.e5m2.f32",
                                  "m16n8k8.f32.tf32.tf32.f32", "m16n8k16.f16.f16.f16.f16", "m8n8k4.f64.f64.f64.f64"])
def test_classes_hold_what_their_names_say(name):
    op = tensor_op(name)
    a, b, c, labels = tiles(name, 10 * len(FLOAT_CLASSES), seed=0)
    of = {label: [x[labels == label] for x in (a, b, c)] for label in FLOAT_CLASSES}
    values = {label: [decode(t, x) for t, x in zip((op.a, op.b, op.c), of[label], strict=True)] for label in of}
    d = {label: mma(name, *of[label]).astype(np.float64) for label in of}
    assert {label for label, xs in values.items() if not all(np.isfinite(x).all() for x in xs)} == {
        "infinities and nan", "any bits"}
    assert {"signed zeros", "mostly zeros", "one hot", "near underflow"} <= {
        label for label, (x, _, _) in values.items() if (x == 0).mean() > 0.1}
    assert np.isnan(d["infinities and nan"]).any() and np.isinf(d["infinities and nan"]).any()
    assert (values["one hot"][0] != 0).sum(axis=-1).max() == 1
    smallest_normal = 2.0 ** TYPES[op.a].exponents[0]
    assert (abs(values["subnormals"][0]) < smallest_normal).any() and (values["subnormals"][0] != 0).any()
    if op.c == "f16" or op.a in ("bf16", "tf32", "f64"):
        assert np.isinf(d["near overflow"]).any() and np.isfinite(d["near overflow"]).any()
        tiny = 2.0 ** (TYPES[op.c].exponents[0] - TYPES[op.c].fraction)
        assert (abs(d["near underflow"]) < 2.0 ** TYPES[op.c].exponents[0]).any() and (d["near underflow"] >= tiny).any()
    x, y, z = values["cancelled by c"]
    assert np.median(abs(d["cancelled by c"])) < 0.05 * np.median(abs(z))


def test_integer_classes_saturate_and_wrap():
    a, b, c, _ = tiles("m16n8k32.s32.s8.s8.s32.satfinite", 40 * len(INTEGER_CLASSES), seed=0)
    clamped, wrapped = (mma(n, a, b, c) for n in ("m16n8k32.s32.s8.s8.s32.satfinite", "m16n8k32.s32.s8.s8.s32"))
    assert {-2**31, 2**31 - 1} <= set(clamped.reshape(-1).tolist()) and (clamped != wrapped).any()


def test_every_instruction_gets_all_classes_and_together_they_give_what_was_asked():
    made = check.counts(list(MMAS), 1_000_000)
    outputs = {n: count * MMAS[n].m * MMAS[n].n for n, count in made.items()}
    assert sum(outputs.values()) >= 1_000_000 and all(count >= len(classes(n)) for n, count in made.items())
    assert all(outputs[n] >= 100_000 for n in MMAS if MMAS[n].types[1] in ("f16", "bf16", "tf32"))


# ---- the command -----------------------------------------------------------------------------------------------------

def test_the_check_prints_records_and_succeeds(tmp_path, capsys):
    table, golden = tmp_path / "mma.json", tmp_path / "mma.npz"
    status = check.main(["--cpu", "--outputs", "500", "--only", F16, "m8n8k4.f64", "--json", str(table),
                         "--record", str(golden)])
    lines = capsys.readouterr().out.splitlines()
    assert status == 0 and lines[-1] == "3 instructions, 6,400 outputs, 0 wrong"
    assert lines[1].split()== [F16, "2560", "0", "0", "measured"]
    rows = json.loads(table.read_text())["rows"]
    assert [(r["instruction"], r["wrong"]) for r in rows] == [
        (F16, 0), ("m8n8k4.f64.f64.f64.f64", 0), (f"mma.sp.{F16}", 0)]
    with np.load(golden) as data:
        a, b, c, d = (data[f"{F16}/{letter}"] for letter in "abcd")
        assert a.shape == (len(FLOAT_CLASSES), 16, 16) and (b.dtype, c.dtype, d.dtype) == (np.uint16, np.uint32, np.uint32)
        said = mma(F16, a.view(np.float16), b.view(np.float16), c.view(np.float32))
        assert np.array_equal(said.view(np.uint32), d)


def test_a_wrong_bit_is_found_and_shown(monkeypatch, capsys):
    right = check.run_probe

    def flipped(*arguments, **named):
        found = right(*arguments, **named)
        found.view(np.uint32)[3, 2, 1] ^= 1
        return found

    monkeypatch.setattr(check, "run_probe", flipped)
    assert check.main(["--cpu", "--outputs", "500", "--only", F16]) == 1
    line = capsys.readouterr().out.splitlines()[1]
    assert line.split()[2] == "1" and "large c: measured " in line and "; a " in line


def test_only_the_payloads_of_f64_nan_may_differ():
    nan = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    assert not check.different(nan[:1], nan[1:]).any() and check.different(nan[:1], np.array([1.0])).all()
    assert check.different(np.array([0.0]), np.array([-0.0])).all()
    assert check.different(*np.array([[0x7FFFFFFF], [0x7FC00000]], np.uint32).view(np.float32)).all()


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU here")
def test_without_a_gpu_the_check_says_so():
    with pytest.raises(DeviceError, match="--cpu runs the same kernels on the CPU machine"):
        check.main(["--only", F16])


def test_a_selection_of_nothing_is_refused():
    with pytest.raises(SimlayoutError, match="no mma has m17 in its name"):
        check.main(["--cpu", "--only", "m17"])


# ---- machine code ----------------------------------------------------------------------------------------------------

def opcodes(name, folder):
    """The SASS opcodes of the probe of an instruction for sm_90a."""
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from machine_code import ARCH, assembled
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    text, _ = cuda.compile_ptx(bound_kernel(check.make_probe(name)), signature(check.SIGNATURE), cc=(9, 0, "a"))
    assert text.count(MMAS[name].opcode + " ") == 1 and ARCH == "sm_90a"
    return assembled(text, folder)[1]


def needs_tools(test):
    from machine_code import needs_tools as skip

    return skip(test)


@needs_tools
@pytest.mark.parametrize("name", sweep_but(LAST_OF_A_FAMILY[::6], LAST_OF_A_FAMILY))
def test_one_instruction_of_every_family_compiles(name, tmp_path):
    made = opcodes(name, tmp_path)
    kind = {"f64": "DMMA", "u8": "IMMA", "u4": "IMMA", "b1": "BMMA"}.get(MMAS[name].types[1], "HMMA")
    assert sum(n for opcode, n in made.items() if opcode.startswith(kind)) >= 1, made


@needs_tools
@pytest.mark.parametrize("name, add", [("m16n8k32.f32.e4m3.e5m2.f32", "FADD"), ("m16n8k16.f16.e5m2.e5m2.f16", "HADD2")])
def test_fp8_is_made_of_two_f16_products_and_an_addition(name, add, tmp_path):
    made = opcodes(name, tmp_path)
    assert sum(n for opcode, n in made.items() if opcode.startswith("HMMA")) == 2
    assert sum(n for opcode, n in made.items() if opcode.split(".")[0] == add) == {"FADD": 4, "HADD2": 2}[add]


@pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))
def test_the_gpu_returns_the_bits_of_mma():
    assert check.main(["--outputs", "200000", "--seed", "7"]) == 0
