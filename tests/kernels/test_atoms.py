"""CuTe's choice of ldmatrix as a kernel: C is exact, and its accesses cost what the notes and the plan say."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import sweep_but

from cuda_kernels.conformance.gemms.cute import executes_what_is_predicted, main, matrices
from cuda_kernels.intrinsics.matrices import FORMS, ldmatrix_sync
from cuda_kernels.kernels.cute import CASES, REJECTED, Atoms
from cuda_kernels.kernels.cute.atoms import LAYOUTS, rejection
from cuda_kernels.kernels.cute.plan import SIDE, operand
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout import SimlayoutError, machine
from simlayout.errors import HazardError, InstructionError, VerificationError
from simlayout.kernel import Problem

EDGES = [(1, 1, 8), (16, 8, 16), (65, 72, 40), (40, 33, 72), (70, 5, 31)]
"""Less than a tile; the smallest; two tiles; odd lines of B, then of everything."""


def one_case_per_load():
    """As few cases as hold every ldmatrix of A and of B from every layout."""
    seen, made = set(), []
    for case in CASES:
        if {case.a, case.b} - seen:
            seen |= {case.a, case.b}
            made.append(case)
    return made


def assert_exact_and_as_predicted(case, M, N, K):
    a, b = matrices(M, N, K, seed=M + N + K)
    done = run(case, a, b.T, device="cpu")
    np.testing.assert_array_equal(done.c, a.astype(np.float32) @ b.astype(np.float32).T)
    assert executes_what_is_predicted(case.fitted(Problem(M, N, K)), done.trace, M, N, K)


# ---- the cases ------------------------------------------------------------------------------------------------------

def test_the_cases_are_all_that_the_choices_allow():
    assert len(CASES) == len(set(CASES)) == 252
    assert {(c.a_major, c.b_major) for c in CASES} == {("K", "K"), ("K", "N"), ("M", "K"), ("M", "N")}
    assert {o.choice.instruction for c in CASES for o in (c.a, c.b)} == set(FORMS)
    for layout in LAYOUTS:
        assert sum(c.layout == layout for c in CASES) == 84
    pairs = Counter((c.mma, c.val_layout, c.want_a, c.want_b) for c in CASES)
    assert set(pairs.values()) == {4 * 3}
    assert {(m[4:], v, a, b) for m, v, a, b in pairs if m == "m16n8k8"} == {
        ("8k8", (1, 1, 1), "x1", "x1"), ("8k8", (1, 1, 1), "x2", "x1"),
        *(("8k8", (1, 2, 1), a, b) for a in ("x1", "x2") for b in ("x1", "x2"))}


def test_without_a_wish_a_case_loads_as_cute_advises():
    assert [Atoms(mma, values).b.choice.instruction for mma in ("m16n8k8", "m16n8k16")
            for values in ((1, 1, 1), (1, 2, 1))] == ["ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x2", "ldmatrix.x4"]
    assert Atoms("m16n8k16", (1, 2, 1), "M", "N").a.choice.atom == "SM75_U16x8_LDSM_T"


REFUSED = [("m16n8k8", (1, 1, 1), "A", "x4"), ("m16n8k8", (1, 1, 1), "B", "x2"), ("m16n8k8", (1, 1, 1), "B", "x4"),
           ("m16n8k8", (1, 2, 1), "A", "x4"), ("m16n8k8", (1, 2, 1), "B", "x4"), ("m16n8k16", (1, 1, 1), "B", "x4")]


@pytest.mark.parametrize("mma, values, name, want", REFUSED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_cute_rejects_is_rejected_in_its_words_before_anything_runs(mma, values, name, want, layout):
    for major in ("K", "N" if name == "B" else "M"):
        with pytest.raises(InstructionError, match="^TiledCopy uses too few vals for selected CopyAtom: operand "
                           f"{name} of {mma}.* ldmatrix.{want} loads") as caught:
            Atoms(mma, values, **{f"{name.lower()}_major": major, f"want_{name.lower()}": want}, layout=layout)
        assert "\n" not in str(caught.value)


def test_all_that_cute_rejects_is_listed():
    assert {(r["mma"], r["val_layout"], *(("A", r["want_a"]) if "want_a" in r else ("B", r["want_b"])))
            for r in REJECTED} == set(REFUSED)
    assert all(rejection(r).startswith("TiledCopy") for r in REJECTED) and rejection({"want_a": "x4"}) is None


def test_a_wider_value_layout_makes_room_for_more_matrices():
    case = Atoms("m16n8k8", (1, 4, 1), b_major="N", want_b="x4", layout="packed")
    assert case.b.choice.instruction == "ldmatrix.x4.trans" and case.b.load.excess == 12       # 64-byte rows: 4-way
    assert_exact_and_as_predicted(case, 33, 72, 24)


@pytest.mark.parametrize("arguments, words", [
    ({"mma": "m16n8k4"}, "mma = 'm16n8k4': choose one of 'm16n8k8', 'm16n8k16'"),
    ({"val_layout": (2, 1, 1)}, r"val_layout = \(2, 1, 1\): choose one of \(1, 1, 1\)"),
    ({"val_layout": [1, 1, 1]}, r"val_layout = \[1, 1, 1\]: choose one of"),
    ({"a_major": "N"}, "a_major = 'N': choose one of 'K', 'M'"),
    ({"b_major": "MN"}, "b_major = 'MN': choose one of 'K', 'N'"),
    ({"layout": "padded"}, "layout = 'padded': choose one of 'packed', 'lines', 'swizzled'"),
    ({"want_a": 4}, "want is 'x1', 'x2' or 'x4', not 4"),
])
def test_other_choices_are_refused_in_one_line(arguments, words):
    with pytest.raises(SimlayoutError, match=words) as caught:
        Atoms(**arguments)
    assert "\n" not in str(caught.value)


# ---- bank conflicts -------------------------------------------------------------------------------------------------

NOTED = [
    # Excess wavefronts per ldmatrix; source: the notes on CuTe's ldmatrix, checked by counting. tile: (m or n, k).
    ("A", "m16n8k8", (1, 1, 1), "K", "x2", "packed", (16, 8), 0),
    ("A", "m16n8k8", (1, 1, 1), "MN", "x2", "packed", (16, 8), 2),
    ("B", "m16n8k8", (1, 2, 1), "K", "x2", "packed", (16, 8), 0),
    ("B", "m16n8k8", (1, 2, 1), "MN", "x2", "packed", (16, 8), 2),
    ("B", "m16n8k8", (1, 1, 1), "K", "x1", "packed", (8, 8), 0),
    ("B", "m16n8k8", (1, 1, 1), "MN", "x1", "packed", (8, 8), 0),
    ("A", "m16n8k16", (1, 1, 1), "K", "x4", "packed", (16, 16), 4),
    ("A", "m16n8k16", (1, 1, 1), "MN", "x4", "packed", (16, 16), 4),
    ("B", "m16n8k16", (1, 2, 1), "K", "x4", "packed", (16, 16), 4),
    ("B", "m16n8k16", (1, 2, 1), "MN", "x4", "packed", (16, 16), 4),
    ("A", "m16n8k8", (1, 1, 1), "K", "x2", "lines", (16, 8), 14),
    ("A", "m16n8k8", (1, 1, 1), "MN", "x2", "lines", (16, 8), 14),
    ("A", "m16n8k8", (1, 1, 1), "K", "x2", "swizzled", (16, 8), 0),
    ("A", "m16n8k8", (1, 1, 1), "MN", "x2", "swizzled", (16, 8), 0),
    ("B", "m16n8k16", (1, 1, 1), "K", "x2", "lines", (8, 16), 14),
    ("B", "m16n8k16", (1, 1, 1), "K", "x2", "swizzled", (8, 16), 0),
]


@pytest.mark.parametrize("name, mma, values, major, want, layout, tile, excess", NOTED)
def test_an_ldmatrix_has_the_conflicts_of_the_notes(name, mma, values, major, want, layout, tile, excess):
    made = operand(name, mma, values, major, want, layout)
    assert made.choice.tile == tile
    assert set(made.load.analyze().excess.tolist()) == {excess}


def test_the_swizzle_parts_every_bank_conflict_and_lines_have_eight_ways():
    for case in CASES:
        for one in (case.a, case.b):
            found = set(one.load.analyze().excess.tolist())
            if case.layout == "swizzled":
                assert found == {0} == set(one.copy.analyze().excess.tolist())
            if case.layout == "lines":
                assert found == {7 * one.choice.matrices}


@pytest.mark.parametrize("case", sweep_but(one_case_per_load()[::5], one_case_per_load()), ids=str)
def test_every_plan_is_proved_and_its_index_functions_are_its_own(case):
    certificates = case.plan.verify()
    assert set(certificates) == {"copy A", "copy B", "load A", "load B"}
    assert all(case.plan.access(name).excess is not None for name in certificates)
    for one in (case.a, case.b):
        for access, function in zip((one.copy, one.load), one.index, strict=True):
            assert function.access_name == access.name
            assert (function(*access.points()) == 2 * access.offsets()).all()


def test_a_layout_that_moves_half_a_piece_is_not_emitted():
    from simlayout.algebra import Layout, Swizzle
    from simlayout.codegen import emit

    load = Atoms().a.load
    with pytest.raises(VerificationError, match="must keep 16-byte chunks whole"):
        emit(load.with_tile(Swizzle(3, 2, 4) @ Layout((SIDE, SIDE, 2), (SIDE, 1, SIDE * SIDE))))


# ---- on the CPU machine ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", sweep_but(one_case_per_load()[::9], one_case_per_load()), ids=str)
def test_every_load_gives_the_exact_product_and_costs_what_was_predicted(case):
    assert_exact_and_as_predicted(case, 24, 40, 24)


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_case_gives_the_exact_product_and_costs_what_was_predicted(case):
    assert_exact_and_as_predicted(case, 40, 72, 72)
    assert_exact_and_as_predicted(case, 33, 9, 21)


@pytest.mark.parametrize("shape", sweep_but([EDGES[0], EDGES[4]], EDGES), ids=str)
@pytest.mark.parametrize("a_major, b_major", ["KK", "KN", "MK", "MN"])
def test_edges_are_right_in_every_storage_order(a_major, b_major, shape):
    assert_exact_and_as_predicted(Atoms("m16n8k16", (1, 2, 1), a_major, b_major), *shape)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(CASES), st.integers(1, 70), st.integers(1, 70), st.integers(1, 70))
def test_any_case_is_exact_at_any_shape(case, M, N, K):
    assert_exact_and_as_predicted(case, M, N, K)


def test_the_plan_predicts_the_same_where_it_knows_the_mma():
    case = Atoms()
    assert case.predict(Problem(100, 129, 72)) == case.plan.predict(100, 129, 72)


def test_strides_do_not_matter():
    a, b = matrices(40, 48, 24)
    want = a.astype(np.float32) @ b.astype(np.float32).T
    for x, y in ((np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[::-1][::-1], b)):
        np.testing.assert_array_equal(run(Atoms(a_major="M", layout="lines"), x, y.T, device="cpu").c, want)


def test_a_load_of_the_other_storage_order_meets_other_elements():
    meant, other = Atoms(), Atoms(a_major="M")                   # A copied and loaded as if m were contiguous
    a, b = matrices(64, 64, 64)
    with pytest.raises(HazardError, match="wrong element"):
        machine.run(other.body, 1, meant.block, a, b, np.zeros((64, 64), np.float32), *[64] * 6,
                    shared_bytes=meant.shared_bytes, accesses=meant.plan.accesses)


HALF = np.ones((16, 32), np.float16)


@pytest.mark.parametrize("a, b, complaint", [
    (HALF[0], HALF, r"a must be a matrix, not \(32,\)"),
    (HALF.tolist(), HALF, "a must be a matrix, not list"),
    (HALF, HALF.astype(np.float32), "b is float32; this kernel multiplies float16"),
    (HALF, HALF[:, :16], "they have no product"),
    (HALF[:0], HALF.T, "M = 0: a GEMM needs"),
])
def test_other_input_is_refused(a, b, complaint):
    with pytest.raises(SimlayoutError, match=complaint):
        run(Atoms(), a, b, device="cpu")


def test_too_many_rows_are_refused():
    with pytest.raises(SimlayoutError, match="at most 65535 CTAs along y.* in parts of 4194240 rows"):
        Atoms().launch_shape(Problem(64 * 65535 + 1, 8, 8))
    assert Atoms().launch_shape(Problem(64 * 65535, 65, 8)).grid == (2, 65535, 1)


def test_the_command_verifies_what_is_asked_for(capsys):
    assert main(["--device", "cpu", "--shape", *"16 8 8".split(), "--only", "k8 1x2x1, A M-major x2.trans, B N-major"]) == 0
    said = capsys.readouterr().out
    assert said.count("exact as predicted") == 6 and said.count("rejected  TiledCopy uses too few vals") == 6
    assert "6 cases on CPU machine, M N K = 16 8 8: 0 wrong" in said
    with pytest.raises(SystemExit):
        main(["--case", "252"])


# ---- ldmatrix of every form -----------------------------------------------------------------------------------------

class Warp:
    """As much of a warp as an ldmatrix looks at."""

    def shared_rows(self, name, address):
        return np.arange(8 * 8 * int(name.split(".")[1][1]), dtype=np.uint16).reshape(-1, 8).view(np.uint8)


@pytest.mark.parametrize("name", FORMS)
def test_each_ldmatrix_deals_out_two_neighbours_of_a_row_or_of_a_column(name):
    count, trans = int(name.split(".")[1][1]), name.endswith("trans")
    made = ldmatrix_sync(name).twin(Warp(), 0)
    registers = [made] if count == 1 else made
    assert len(registers) == count
    for m, register in enumerate(registers):
        for lane in range(32):
            pair = [64 * m + (8 * col + row if trans else 8 * row + col)
                    for row, col in ((lane // 4, 2 * (lane % 4) + e) for e in range(2))]
            assert int(register[lane]) == pair[0] | pair[1] << 16


def test_an_unknown_ldmatrix_is_refused():
    with pytest.raises(InstructionError, match="'ldmatrix.x3' is not an ldmatrix of b16 matrices: choose one of "):
        ldmatrix_sync("ldmatrix.x3")


def test_every_choice_names_an_instruction_that_kernels_have():
    for case in CASES:
        for one in (case.a, case.b):
            assert ldmatrix_sync(one.choice.instruction).name == one.choice.instruction.replace(".", "_")


# ---- as machine code ------------------------------------------------------------------------------------------------

COMPILED = [Atoms("m16n8k8", want_a="x1", layout="packed"), Atoms("m16n8k16", (1, 2, 1), "M", "N"),
            Atoms("m16n8k16", (1, 1, 1), "M", "K", "x2", "x1", "lines", aligned=False),
            Atoms("m16n8k8", (1, 2, 1), "K", "N")]


@pytest.mark.parametrize("case", sweep_but(COMPILED[:1], COMPILED), ids=str)
def test_a_case_compiles_to_its_own_instructions_and_keeps_its_values_in_registers(case, tmp_path):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from machine_code import CUOBJDUMP, PTXAS, assembled, assert_in_registers

    from cuda_kernels.build.compile import ptx

    text = ptx(case)
    named = Counter(re.findall(r"ldmatrix\.sync\.aligned\.m8n8\.(x\d(?:\.trans)?)\.shared\.b16", text))
    assert set(named) == {o.choice.instruction.removeprefix("ldmatrix.") for o in (case.a, case.b)}
    assert set(re.findall(r"mma\.sync\.aligned\.(\w+)", text)) == {case.mma} and ".local" not in text
    if not (PTXAS and CUOBJDUMP):
        pytest.skip("needs ptxas and cuobjdump: pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump")
    assert_in_registers(assembled(text, tmp_path)[0])


# ---- on a GPU -------------------------------------------------------------------------------------------------------

needs_gpu = pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))


@needs_gpu
@pytest.mark.parametrize("case", one_case_per_load(), ids=str)
def test_every_load_gives_the_exact_product_on_the_gpu(case):
    for shape in ((72, 136, 200), (65, 9, 31)):
        a, b = matrices(*shape)
        np.testing.assert_array_equal(run(case, a, b.T, device="gpu").c, a.astype(np.float32) @ b.astype(np.float32).T)


@needs_gpu
@pytest.mark.parametrize("case", COMPILED, ids=str)
def test_the_gpu_returns_the_bits_of_the_cpu_machine(case):
    generator = np.random.default_rng(7)
    a, b = (generator.standard_normal(s, np.float32).astype(np.float16) for s in ((40, 72), (33, 72)))
    on_gpu, on_cpu = (run(case, a, b.T, device=device).c for device in ("gpu", "cpu"))
    np.testing.assert_array_equal(on_gpu.view(np.uint32), on_cpu.view(np.uint32))
