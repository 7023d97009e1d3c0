"""rearrange finds the tutorial's order of rows for 16x16 and proves where no order helps."""

import json
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.cli import main
from simlayout.errors import InstructionError, SimlayoutError, VerificationError
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import rearrange
from simlayout.synthesis.rearrange import _check
from simlayout.synthesis.row_orders import counted, least_wavefronts

LANES = np.arange(32)


def square(columns, instruction="ldmatrix.x4", rows=16):
    return natural_access(sl.Layout((rows, columns), (columns, 1)), instruction, "f16", "load")


def rows_at(instruction, groups):
    """The Access whose lane l gives a row of its own in group of banks groups[l]."""
    tile = sl.Layout(64 * len(groups))
    offsets = 64 * np.arange(len(groups)) + 8 * np.asarray(groups)
    table = np.concatenate([offsets, np.zeros(32 - len(offsets), np.int64)])
    return sl.Access("rows", instruction, tile, lambda tid: table[tid], excess=None)


# ---- the tutorial's -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("instruction", ["ldmatrix.x4", "ldmatrix.x4.trans", "stmatrix.x4", "stmatrix.x4.trans"])
def test_a_16x16_tile_needs_no_other_layout_but_another_order_and_an_exchange_of_registers(instruction):
    made = rearrange(square(16, instruction))
    assert (made.before, made.after, made.least) == (8, 4, 4) and made.conflict_free and made.helps
    moved = LANES % 4 >= 2 if instruction.endswith("trans") else LANES >= 16
    assert made.registers.tolist() == [[2, 3, 0, 1] if m else [0, 1, 2, 3] for m in moved]
    assert made.certificate.excess == 0 and "wavefronts: 8 in the order of the lanes, no order below 4" in \
        made.certificate.claims[-1]


def test_the_order_and_the_exchange_are_those_of_the_kernel_that_runs():
    from cuda_kernels.kernels.practical.common import exchange, exchange_transposed
    from cuda_kernels.kernels.practical.tiles import accesses

    plain, other = accesses("16x16", "none"), accesses("16x16", "rearranged")
    for role, function in (("load left", exchange), ("load right", exchange_transposed), ("store", exchange)):
        made = rearrange(plain[role])
        assert np.array_equal(made.access.addresses(), other[role].addresses())
        held = [100 * r + LANES for r in range(4)]
        wanted = np.stack(np.vectorize(function)(LANES, *held), axis=1)
        assert np.array_equal(100 * made.registers + LANES[:, None], wanted)


def test_the_order_is_arithmetic_that_can_be_emitted():
    made = rearrange(square(16))
    source = sl.emit(made.access).source.splitlines()[-1].strip()
    assert source == "return ((tid & 15) << 4) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 3)"


@pytest.mark.parametrize("columns, before, after, fullest", [(32, 16, 8, 8), (64, 32, 16, 16), (128, 32, 16, 16)])
def test_in_wider_tiles_no_order_is_free_of_conflicts(columns, before, after, fullest):
    """16x64: each row of a 16x16 block conflicts with the next. Half of the wavefronts can be had, none of the rest."""
    made = rearrange(square(columns))
    n = made.access.instructions()
    assert (made.before, made.after, made.least) == (n * before, n * after, n * after) and not made.conflict_free
    assert made.reason == f"of 32 rows, {fullest} lie in the fullest of 8 groups of banks, and a wavefront takes one of them"


def test_of_rows_one_above_the_other_no_order_saves_anything():
    made = rearrange(square(64, "ldmatrix.x2"))
    assert (made.before, made.after, made.least) == (128, 128, 128) and not made.helps
    assert made.order == tuple(range(16)) and "nothing moves" in str(made)
    assert made.access.addresses().tolist() == square(64, "ldmatrix.x2").addresses().tolist()


def test_several_warps_and_loops_have_one_order():
    tile = sl.Layout((64, 16, 4), (16, 1, 1024))
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, s: (tid // 32 * 16 + tid % 16, 8 * (tid % 32 // 16), s),
                     {"tid": 128, "s": 4})
    made = rearrange(load)
    assert made.conflict_free and (made.before, made.after) == (128, 64) and made.certificate.instructions == 16


# ---- against slow twins -------------------------------------------------------------------------------------------------

@lru_cache(None)
def by_recursion(counts, matrices):
    """The fewest wavefronts of so many rows to a group, by trying what the first phase may hold."""
    if matrices == 0:
        return 0
    choices = (n for n in product(*(range(c + 1) for c in counts)) if sum(n) == 8)
    return min(max(n) + by_recursion(tuple(sorted(c - k for c, k in zip(counts, n))), matrices - 1) for n in choices)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 2, 4]), st.data())
def test_the_least_wavefronts_are_those_of_every_way_to_deal_rows_out(matrices, data):
    most = 8 if matrices == 1 else 5 if matrices == 2 else 3       # groups of banks with rows: the twin is slow
    groups = data.draw(st.lists(st.integers(0, most - 1), min_size=8 * matrices, max_size=8 * matrices))
    counts = tuple(sorted(np.bincount(groups, minlength=most).tolist()))
    assert least_wavefronts((0,) * (8 - most) + counts, matrices) == by_recursion(counts, matrices)


@given_few(15, 40, st.sampled_from(["ldmatrix.x4", "ldmatrix.x2", "ldmatrix.x4.trans", "stmatrix.x4", "stmatrix.x2.trans",
                                    "ldmatrix.x1"]), st.data())
def test_the_exchange_undoes_the_order_whatever_the_rows_are(instruction, data):
    """Moved by hand: every lane's registers after ldmatrix by the new order and the exchange, or before stmatrix."""
    rows = 8 * len(sl.instruction(instruction).groups)
    access = rows_at(instruction, data.draw(st.lists(st.integers(0, 7), min_size=rows, max_size=rows)))
    made = rearrange(access)
    assert made.least <= made.after <= made.before == int(access.analyze().wavefronts.sum())
    assert made.after == int(made.access.analyze().wavefronts.sum()) and sorted(made.order) == list(range(rows))
    trans, count = instruction.endswith("trans"), rows // 8

    def element(lane, value):                             # (row, column) of the matrices that a lane's value is
        r, c = (2 * (lane % 4) + value % 2, lane // 4) if trans else (lane // 4, 2 * (lane % 4) + value % 2)
        return 8 * (value // 2) + r, c

    memory = {}
    first, second = access.offsets().reshape(-1), made.access.offsets().reshape(-1)
    if instruction.startswith("ldmatrix"):
        for lane, value in product(range(32), range(2 * count)):
            (r, c), (l2, v2) = element(lane, value), made.exchange[lane, value].tolist()
            r2, c2 = element(l2, v2)
            assert first[r] + c == second[r2] + c2
    else:
        for lane, value in product(range(32), range(2 * count)):
            r, c = element(lane, value)
            memory[first[r] + c] = (lane, value)
        for lane, value in product(range(32), range(2 * count)):
            r, c = element(lane, value)
            assert memory[second[r] + c] == tuple(made.exchange[lane, value].tolist())


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(32)), st.permutations(range(32)))
def test_no_order_of_a_tiles_rows_is_below_the_least(given_order, tried):
    access = rows_at("ldmatrix.x4", [lane % 8 for lane in given_order])
    made = rearrange(access)
    assert made.after == made.least == 4 and made.conflict_free
    table = np.array(tried)
    other = sl.Access("other", "ldmatrix.x4", access.tile, lambda tid: access.lanes(table[tid]), excess=None)
    assert int(other.analyze().wavefronts.sum()) >= made.least


def rows_at_all(instruction, groups):
    """`rows_at` with a loop: instruction i's lane l gives a row of its own in group of banks groups[i, l]."""
    groups = np.asarray(groups)
    offsets = 64 * np.arange(groups.size).reshape(groups.shape) + 8 * groups
    table = np.concatenate([offsets, np.zeros((len(groups), 32 - groups.shape[1]), np.int64)], axis=1)
    return sl.Access("rows", instruction, sl.Layout(64 * groups.size), lambda tid, i: table[i, tid],
                     {"tid": 32, "i": len(groups)}, excess=None)


def several(matrices):
    """Groups of banks of several instructions: any, or such as differ from the first one's by a shift and here and there."""
    def shifted(first, shifts, seed):
        moved = np.random.default_rng(seed).integers(0, 40, (len(shifts), len(first)))
        return (np.array(first) + np.array(shifts)[:, None] + moved * (moved < 8)) % 8

    rows = st.lists(st.integers(0, 7), min_size=8 * matrices, max_size=8 * matrices)
    return st.one_of(st.lists(rows, min_size=2, max_size=4).map(np.array),
                     st.builds(shifted, rows, st.lists(st.integers(0, 7), min_size=2, max_size=4), st.integers(0, 99)))


@given_few(20, 300, st.sampled_from(["ldmatrix.x2", "stmatrix.x2", "ldmatrix.x2.trans"]), several(2))
def test_of_two_matrices_no_order_of_all_instructions_together_takes_fewer(instruction, groups):
    made = rearrange(rows_at_all(instruction, groups))
    members = groups[:, :, None] == np.arange(8)
    fewest = min(int(one.max(1).sum() + (members.sum(1) - one).max(1).sum()) for others in combinations(range(1, 16), 7)
                 for one in [members[:, [0, *others]].sum(1)])
    assert made.after == made.least == fewest and made.conflict_free == ("conflict-free" in str(made))


@given_few(15, 200, st.sampled_from(["ldmatrix.x4", "stmatrix.x4.trans"]), several(4), st.permutations(range(32)),
           st.permutations(range(4)))
def test_of_four_matrices_no_order_that_deals_two_phases_anew_takes_fewer(instruction, groups, shuffled, phases):
    made = rearrange(rows_at_all(instruction, groups))
    other = np.reshape(made.order, (4, 8))
    one, two = phases[:2]
    both = np.concatenate([other[one], other[two]])[[lane for lane in shuffled if lane < 16]]
    other[one], other[two] = both[:8], both[8:]
    assert counted(groups[:, other.ravel()], 4) >= made.after == counted(groups[:, made.order], 4) >= made.least
    assert (made.after > made.least) == ("is not known" in str(made))


@given_few(15, 200, st.lists(st.integers(0, 7), min_size=32, max_size=32), st.lists(st.permutations(range(8)), max_size=3))
def test_instructions_that_are_alike_but_for_the_numbers_of_their_banks_get_the_best_order(row, numbers):
    groups = np.array([row, *(np.array(number)[row] for number in numbers)])
    made = rearrange(rows_at_all("ldmatrix.x4", groups))
    assert made.after == made.least


def test_where_rows_cannot_keep_their_places_registers_move_between_lanes():
    groups = [g for g in (0, 0, 1, 1, 2, 2, 3, 3) for _ in range(4)]   # row r of every matrix must leave its phase or place
    lanes = np.arange(32).reshape(4, 8)
    table = np.empty(32, int)
    table[lanes.T.ravel()] = groups
    made = rearrange(rows_at("ldmatrix.x4", table.tolist()))
    assert (made.after, made.least) == (8, 8)
    made = rearrange(rows_at("ldmatrix.x2.trans", [0, 1, 2, 3, 4, 5, 6, 6, 0, 1, 2, 3, 4, 5, 7, 7]))
    assert (made.before, made.after, made.least) == (4, 2, 2) and made.registers is None
    assert "registers move between lanes" in str(made) and made.certificate.excess == 0


def test_a_wrong_exchange_is_noticed():
    for instruction in ("ldmatrix.x4", "stmatrix.x4"):
        forgotten = replace(rearrange(square(16, instruction)), exchange=np.stack(np.indices((32, 8)), axis=-1))
        with pytest.raises(VerificationError, match="128 values go astray"):
            _check(square(16, instruction), forgotten)


def test_what_has_no_rows_or_gives_one_twice_is_refused():
    with pytest.raises(InstructionError, match="has no rows to rearrange"):
        rearrange(natural_access(sl.Layout((16, 64), (64, 1)), "ld.shared.b128", "f16"))
    with pytest.raises(SimlayoutError, match="one row twice"):
        rearrange(sl.Access("twice", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), lambda tid: (tid % 16, 0 * tid)))


@pytest.mark.parametrize("lanes, fault", [
    (lambda tid: (tid % 16 + 8, 8 * (tid // 16)), "leaves the tile .*coordinate 0 is 16 .*under 16"),
    (lambda tid: (tid % 16, 8 * (tid // 16) - 8), "coordinate 1 is -8"),
    (lambda tid: (tid % 16, 8 * (tid // 16) + 4), "multiples of 8 f16 elements"),
    (lambda tid: (tid, 0), "leaves the tile")])
def test_lanes_that_leave_the_tile_or_tear_its_rows_are_refused(lanes, fault):
    for instruction in ("ldmatrix.x4", "stmatrix.x4"):
        with pytest.raises(VerificationError, match=fault):
            rearrange(sl.Access("lost", instruction, sl.Layout((16, 64), (64, 1)), lanes))


# ---- from the command line ----------------------------------------------------------------------------------------------

def test_the_command_rearranges_and_tells_by_its_exit_code_that_no_order_is_free(capsys):
    assert main(["search", "(16,16):(16,1)", "--rearrange", "--prove"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ldmatrix.x4 (ldmatrix.x4): 8 wavefronts, rearranged 4: conflict-free"
    assert lines[4] == "  lanes 16-31: R0.. = R2, R3, R0, R1"
    assert main(["search", "(16,64):(64,1)", "--rearrange", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["accesses"]
    assert (told["before"], told["after"], told["least"], told["conflict_free"]) == (128, 64, 64, False)
