"""The problems of the practical-swizzle tutorial: right in every layout, and their excess wavefronts as they are known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gemm_kit import normal
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few, sweep_but

import simlayout as sl
from cuda_kernels.conformance.practical import as_predicted, is_right, main
from cuda_kernels.intrinsics import (
    bar_sync,
    dynamic_shared,
    ld_global_b128,
    ldmatrix_x4,
    st_shared_b128,
    stmatrix_x4,
    tid_x,
    u64,
)
from cuda_kernels.kernels.practical import PROBLEMS, STORES, practical
from cuda_kernels.kernels.practical import power as problem_1_1
from cuda_kernels.kernels.practical.common import (
    exchange,
    exchange_transposed,
    indices,
    keep,
    ldmatrix_x4_trans,
    times_transposed,
)
from cuda_kernels.kernels.practical.problem import small_integers
from cuda_kernels.kernels.practical.tiles import KNOWN, PLAIN, TILES, accesses
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout import HazardError, SimlayoutError
from simlayout.hardware import fragment
from simlayout.machine import run as machine_run

F16 = "m16n8k16.f16.f16.f16.f16"
VARIANTS = [practical(problem, layout, store) for (problem, layout), store in product(PROBLEMS, STORES)]
needs_gpu = pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))


def label(variant):
    return variant.name.replace(" ", "-")


def power_of(variant):
    return 3 if variant.takes_power else 1


def chain(a, n):
    """A^n in f16 as the tensor core multiplies, one factor A after the other."""
    made = a
    for _ in range(n - 1):
        made = np.concatenate([sl.mma(F16, made, a[:, at:at + 8], np.zeros((16, 8), np.float16)) for at in (0, 8)], axis=1)
    return made


# ---- right, and as predicted ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("variant", sweep_but(VARIANTS[::5], VARIANTS), ids=label)
def test_every_variant_is_proved_right_and_executes_what_was_predicted(variant):
    assert set(variant.prove()) == {access.name for access in variant.accesses}
    n, matrices = power_of(variant), small_integers(variant.inputs, 1)
    solved = run(variant, *matrices, *(n,) * variant.takes_power, device="cpu")
    assert is_right(solved, variant, matrices, n)
    assert as_predicted(solved, variant.predict(n))
    assert not solved.trace.hazards and not solved.trace.notes


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([v for v in VARIANTS if v.problem == "1.1"]))
def test_powers_of_any_matrix_have_the_bits_of_the_tensor_core(n, seed, variant):
    (a,) = normal(variant.inputs, seed=seed)
    solved = run(variant, a, n, device="cpu")
    assert as_predicted(solved, variant.predict(n))
    assert np.array_equal(solved.results[0].view(np.uint16), chain(a, n).view(np.uint16))


@given_few(2, 80, st.integers(0, 2**32 - 1), st.sampled_from(["1.2", "2.1", "3.1"]))
def test_all_layouts_of_a_problem_give_the_same_bits(seed, problem):
    group = [v for v in VARIANTS if v.problem == problem]
    matrices = normal(group[0].inputs, seed=seed)
    first, *rest = ([x.tobytes() for x in run(v, *matrices, device="cpu", hazards="off").results] for v in group)
    assert all(other == first for other in rest)


def test_both_results_of_problem_2_1_are_there():
    variant = PROBLEMS["2.1", "xor"]
    a, b = small_integers(variant.inputs, 2)
    blocks, rows = run(variant, a, b, device="cpu").results
    for w in range(16):
        at = slice(16 * w, 16 * w + 16)
        assert np.array_equal(blocks[:, at], a[:, at] @ b[:, at].T)
        assert np.array_equal(rows[w].reshape(16, 16), a[w].reshape(16, 16) @ b[w].reshape(16, 16).T)
    assert not np.array_equal(blocks, rows)


# ---- the excess that the layouts are known for ----------------------------------------------------------------------

def excess(problem, layout, store="stmatrix", n=2):
    """{role: excess wavefronts} of what is not free of conflicts."""
    counts = practical(problem, layout, store).predict(n)
    return {c.name.split(" (")[0].removesuffix(" pairs"): c.excess for c in counts if c.excess}


FREE = [("1.1", "shift"), ("1.1", "xor"), ("1.1", "rearranged"), ("1.2", "shift"), ("1.2", "xor"),
        ("2.1", "shift"), ("2.1", "xor"), ("3.1", "shift"), ("3.1", "xor")]
PER_MATRIX = [
    ("1.1", "none", {"load left": 4, "load right": 4, "store": 4}),
    ("1.2", "none", {"load left": 12, "load right": 12, "store": 12, "read": 12}),
    ("2.1", "none", {"load rows": 2 * 64, "load blocks": 2 * 448, "store rows": 64, "store blocks": 448}),
    *(("2.1", f"{how} rows", {"load blocks": 2 * 448, "store blocks": 448}) for how in ("shift", "xor")),
    *(("2.1", f"{how} blocks", {"load rows": 2 * 64, "store rows": 64}) for how in ("shift", "xor")),
    ("3.1", "none", {"load rows": 2 * 64, "load blocks": 2 * 448, "store rows": 64, "store blocks": 448}),
    *(("3.1", f"{how} interleaved", {"store blocks": 448}) for how in ("shift", "xor")),
    *(("3.1", f"{how} interleaved wide", {"store blocks": 192}) for how in ("shift", "xor")),
    *((*key, {}) for key in FREE),
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("problem, layout, known", PER_MATRIX, ids=str)
def test_each_layout_has_the_excess_it_is_known_for(problem, layout, known, store):
    assert excess(problem, layout, store) == known


def test_the_table_names_every_problem_in_every_layout():
    assert {(problem, layout) for problem, layout, _ in PER_MATRIX} == set(PROBLEMS)
    assert set(KNOWN) == {(shape, layout) for shape, layouts in TILES.items() for layout in layouts}


def test_the_square_has_the_twelve_conflicts_of_the_tutorials_profile():
    trace = run(practical("1.1", "none", "pairs"), np.eye(16, dtype=np.float16), 2, device="cpu").trace
    of = {c.name: c.excess for c in trace.by_instruction()}
    assert (of["ldmatrix.x4"] + of["ldmatrix.x4.trans"], of["st.shared.b32"], trace.total().excess) == (8, 4, 12)


def test_two_matrices_in_a_16x32_have_the_tutorials_24_conflicts():
    assert sum(v for k, v in excess("1.2", "none").items() if k.startswith("load")) == 24


def patterns_excess(tile):
    """Excess of the loads of all rows, and of all blocks, of one 16x256 matrix."""
    roles = accesses("16x256", "none")
    return [int(roles[r].restricted(slot=1).with_tile(tile).analyze().excess.sum()) for r in ("load rows", "load blocks")]


def test_no_single_swizzle_serves_rows_and_blocks_and_two_do_in_either_order():
    single = {(bits, shift): patterns_excess(sl.Swizzle(bits, 3, shift) @ PLAIN["16x256"])
              for bits in range(1, 6) for shift in range(bits, 10 - bits)}
    assert not [s for s, both in single.items() if both == [0, 0]]
    assert {s for s, both in single.items() if both[0] == 0} == {(1, 3), (2, 3), (3, 3)}
    assert {s for s, both in single.items() if both[1] == 0} == {(3, 5), (4, 5)}
    rows, blocks = sl.Swizzle(1, 3, 3), sl.Swizzle(3, 3, 5)
    assert patterns_excess(rows @ blocks @ PLAIN["16x256"]) == patterns_excess(blocks @ rows @ PLAIN["16x256"]) == [0, 0]


# ---- addresses rearranged, registers exchanged ----------------------------------------------------------------------

def test_the_rearrangement_gives_ldmatrix_the_addresses_of_the_swizzle():
    for role in ("load left", "load right", "store", "store pairs"):
        assert np.array_equal(*(accesses("16x16", layout)[role].addresses() for layout in ("xor", "rearranged")))


def test_the_rearranged_addresses_without_the_exchange_multiply_other_matrices(monkeypatch):
    variant, matrices = PROBLEMS["1.1", "rearranged"], small_integers(((16, 16),), 3)
    monkeypatch.setattr(problem_1_1, "exchange", keep)
    forgetful = replace(variant)                             # a copy, whose body is not made yet
    assert not is_right(run(forgetful, *matrices, 2, device="cpu"), variant, matrices, 2)


def test_the_exchange_is_its_own_inverse():
    lanes, registers = np.arange(32), [100 * i + np.arange(32) for i in range(4)]

    def executed(function):
        seen = []
        function = np.vectorize(function)
        for _ in range(2):
            seen.append(function(lanes, *(seen[-1] if seen else registers)))
        return seen

    for function, moved in ((exchange, lanes >= 16), (exchange_transposed, lanes % 4 >= 2)):
        once, twice = executed(function)
        assert np.array_equal(once[0] != registers[0], moved) and np.array_equal(twice, registers)


def test_no_order_of_addresses_frees_a_16x32_of_conflicts():
    rows, cols = np.meshgrid(np.arange(16), 8 * np.arange(2), indexing="ij")
    groups = set((PLAIN["16x32"](rows, cols, 0) // 8 % 8).reshape(-1).tolist())
    assert len(groups) == 4                                  # of 8 sixteen-byte groups of banks: 8 rows meet in them


def test_ldmatrix_transposes_as_the_fragment_says():
    matrix = np.arange(256, dtype=np.uint16).reshape(16, 16)

    class Warp:
        def shared_rows(self, instruction, addresses):
            return np.concatenate([matrix.view(np.uint8).reshape(-1)[a:a + 16] for a in addresses]).reshape(32, 16)

    lanes = np.arange(32)
    registers = ldmatrix_x4_trans.twin(Warp(), 32 * (lanes % 16) + 16 * (lanes // 16))
    b = fragment(F16, "B")
    for half, (low, high) in enumerate((registers[:2], registers[2:])):
        for lane, value in product(range(32), range(4)):
            k, column = b(lane, value)
            word = int((low, high)[value // 2][lane])
            assert word >> 16 * (value % 2) & 0xFFFF == matrix[k, 8 * half + column]


# ---- the barrier that the tutorial asks for -------------------------------------------------------------------------

def make_hasty():
    """Problem 3.1's first step, interleaved, whose write-back does not wait until all blocks have been read."""
    copy, load_block = indices("16x256", "xor blocks", "copy", "load blocks")
    (store_block,) = indices("16x256", "xor rows", "store blocks")

    def hasty(a, b, c):
        tid, smem = tid_x(), dynamic_shared()
        v0, v1, v2, v3 = ld_global_b128(a + u64(16) * u64(tid), 1)
        st_shared_b128(smem + copy(tid, 0), v0, v1, v2, v3)
        bar_sync()
        a0, a1, a2, a3 = ldmatrix_x4(smem + load_block(tid, 0))
        c0, c1, c2, c3 = times_transposed(a0, a1, a2, a3, a0, a1, a2, a3)
        stmatrix_x4(smem + store_block(tid, 0), c0, c1, c2, c3)

    return hasty


def test_writing_back_in_another_layout_without_a_barrier_is_a_race():
    matrix = np.ones((16, 256), np.float16)
    with pytest.raises(HazardError, match="write after read: stmatrix.x4 .* which ldmatrix.x4 of warp 1"):
        machine_run(make_hasty(), 1, 512, matrix, matrix, matrix, shared_bytes=8192)


# ---- GPU code -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key", sweep_but([("1.2", "xor")], [
    ("1.1", "rearranged"), ("1.2", "xor"), ("2.1", "xor"), ("3.1", "xor interleaved")]), ids=str)
def test_kernels_compile_without_a_gpu_to_the_instructions_they_name(key):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from cuda_kernels.build.compile import ptx

    for store in STORES:
        variant = practical(*key, store)
        text = ptx(variant)
        by_matrix = store == "stmatrix"
        assert ("stmatrix.sync" in text) is by_matrix and ("st.shared.b32" in text) is not by_matrix
        assert text.count("ldmatrix.sync") >= 2 and text.count("mma.sync") >= 2
        assert ".local" not in text and "call" not in text.replace(".callprototype", "")


@needs_gpu
@pytest.mark.parametrize("variant", VARIANTS, ids=label)
def test_the_gpu_solves_every_variant_with_the_bits_of_the_cpu_machine(variant):
    n = power_of(variant)
    integers, reals = small_integers(variant.inputs, 4), normal(variant.inputs, seed=5)
    assert is_right(run(variant, *integers, *(n,) * variant.takes_power, device="gpu"), variant, integers, n)
    on_gpu, on_cpu = (run(variant, *reals, *(n,) * variant.takes_power, device=device).results for device in ("gpu", "cpu"))
    assert [x.tobytes() for x in on_gpu] == [x.tobytes() for x in on_cpu]


@needs_gpu
@pytest.mark.parametrize("shape", TILES)
def test_emitted_index_functions_run_on_the_gpu_as_the_model_says(shape):
    from on_device import on_device

    for layout in TILES[shape]:
        for role, access in accesses(shape, layout).items():
            assert np.array_equal(on_device(*indices(shape, layout, role), access), 2 * access.offsets()), access.name


# ---- what is refused, and the command -------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, complaint", [
    (("1.3", "none"), "no problem '1.3': choose one of 1.1, 1.2, 2.1, 3.1"),
    (("1.2", "rearranged"), "problem 1.2 has no layout 'rearranged': choose one of none, shift, xor"),
    (("1.1", "xor", "tma"), "store 'tma': choose one of stmatrix, pairs"),
])
def test_what_there_is_not_is_refused_with_what_there_is(arguments, complaint):
    with pytest.raises(SimlayoutError) as caught:
        practical(*arguments)
    assert str(caught.value) == complaint


SQUARE, WIDE = np.eye(16, dtype=np.float16), np.ones((16, 32), np.float16)


@pytest.mark.parametrize("problem, matrices, options, complaint", [
    ("1.1", (SQUARE, 2, 2), {}, "problem 1.1 takes 1 matrix and a power, not 3 inputs"),
    ("1.1", (WIDE,), {}, r"takes float16 matrices \(16, 16\), not float16 \(16, 32\)"),
    ("1.1", (SQUARE.astype(np.float32),), {}, r"not float32 \(16, 16\)"),
    ("1.2", ([1],), {}, "not list"),
    ("1.1", (SQUARE, 0), {}, "n = 0: the power is an integer of at least 1"),
    ("1.1", (SQUARE, 1.5), {}, "n = 1.5: the power"),
    ("1.2", (WIDE, 2), {}, "problem 1.2 takes 1 matrix, not 2 inputs"),
])
def test_other_input_is_refused_in_one_line(problem, matrices, options, complaint):
    with pytest.raises(SimlayoutError, match=complaint) as caught:
        run(PROBLEMS[problem, "xor"], *matrices, **options)
    assert "\n" not in str(caught.value)


def test_the_command_prints_each_access_and_what_it_costs(capsys):
    assert main(["--device", "cpu", "--problem", "1.1", "--store", "pairs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "1.1, none (pairs): right on CPU machine" and lines[-1] == "4 of 4 right and as predicted"
    assert [line.split()[-1] for line in lines if "total" in line] == ["12", "0", "0", "0"]


def test_the_command_fails_where_a_result_is_wrong(capsys, monkeypatch):
    import cuda_kernels.conformance.practical as command

    monkeypatch.setattr(command, "is_right", lambda *_: False)
    assert main(["--device", "cpu", "--problem", "1.2", "--store", "pairs"]) == 1
    assert "WRONG" in capsys.readouterr().out
