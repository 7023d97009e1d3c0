"""Orders of the rows of ldmatrix and stmatrix: the best ones, and a bound that no order can beat.

A row of 16 bytes fills one of 8 groups of 4 banks. `groups` are arrays int [instructions, 8 * matrices] of the group of
each row; an order is a list: in place 8 m + r, row r of phase m, the number of the row that is given there.
"""

from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np

GROUPS, ROWS = 8, 8
"""Groups of banks; rows of a matrix."""

TRIALS = 1 << 14
"""Steps of the search for an order within lanes, at most."""

STARTS = 64
"""Orders of four matrices that are improved, times instructions that are not alike, at most: a second at the most."""


@lru_cache(None)
def least_wavefronts(counts, matrices):
    """The fewest wavefronts in which any order serves 8 * matrices different rows; counts: how many of them lie in each
    group of banks.

    A phase of 8 rows takes as many wavefronts as its fullest group has rows. All combinations of wavefronts per phase are
    tried; whether the rows can be dealt out to them is a flow problem.

    >>> [least_wavefronts(counts, 4) for counts in ((4,) * 8, (0, 0, 0, 0, 0, 0, 16, 16), (0, 2, 5, 5, 5, 5, 5, 5))]
    [4, 16, 8]
    """
    return sum(_best_deal(counts, matrices)[0])


def _best_deal(counts, matrices):
    """(wavefronts of each phase, `_dealt` of them): the fewest in all."""
    every = sorted(combinations_with_replacement(range(1, ROWS + 1), matrices), key=sum)
    enough = (phases for phases in every if sum(phases) >= max(counts))
    return next((phases, dealt) for phases in enough if (dealt := _dealt(counts, phases)) is not None)


def _dealt(counts, phases):
    """int [phases, groups]: rows of each group in each phase, 8 to a phase, none with more of a group than its wavefronts;
    None where that cannot be. Found by shifting rows along paths that end in a phase with room."""
    dealt = np.zeros((len(phases), len(counts)), np.int64)
    for group, count in enumerate(counts):
        for _ in range(count):
            path = _path(dealt, phases, group)
            if path is None:
                return None
            for phase, of_group, by in path:
                dealt[phase, of_group] += by
    return dealt


def _path(dealt, phases, group):
    """Steps (phase, group, +1 or -1) that put one more row of a group into the phases; None where there is no room."""
    todo, seen = [(group, ())], {group}
    while todo:
        here, steps = todo.pop(0)
        for phase, most in enumerate(phases):
            if dealt[phase, here] >= most:
                continue
            longer = (*steps, (phase, here, 1))
            if dealt[phase].sum() < ROWS:
                return longer
            for other in np.flatnonzero(dealt[phase]).tolist():
                if other not in seen:
                    seen.add(other)
                    todo.append((other, (*longer, (phase, other, -1))))
    return None


def counted(groups, matrices):
    """Wavefronts of all instructions whose rows, all different, lie in the groups of banks [n, 8 * matrices]."""
    inside = groups.reshape(len(groups), matrices, ROWS)
    return int((inside[..., None] == np.arange(GROUPS)).sum(axis=2).max(axis=2).sum())


def best_order(groups, matrices, least, trans):
    """(order, masks) with the fewest wavefronts that was found; masks as of `by_masks`, None for other orders.

    least: a lower bound of the wavefronts of all instructions together. trans: whether rows 2 c and 2 c + 1 share
    registers (.trans). Orders that leave rows in their place r come first: their exchange is within lanes. With two
    matrices no order has fewer wavefronts than the one that is found; with four, none that differs from it in two phases.
    """
    order, masks = _in_lanes_by_masks(groups, matrices, trans)
    fewest, others = counted(groups[:, order], matrices), []
    if fewest > least == matrices * len(groups):
        others += _in_lanes(groups, matrices, trans)
    if fewest > least:
        others += [_any_lanes(pattern, matrices) for pattern in np.unique(groups, axis=0)[:ROWS]]
    for other in others:
        if counted(groups[:, other], matrices) < fewest:
            order, masks, fewest = other, None, counted(groups[:, other], matrices)
    if fewest == least:
        return order, masks
    known, shuffled = _alike(groups), np.random.default_rng(0)
    starts = STARTS // len(known[0]) if matrices > 2 else 0        # with two matrices one is enough
    for start in (order, *(shuffled.permutation(ROWS * matrices).tolist() for _ in range(starts))):
        if fewest > least and counted(groups[:, other := _dealt_anew(known, start, matrices)], matrices) < fewest:
            order, masks, fewest = other, None, counted(groups[:, other], matrices)
    return order, masks


def _in_lanes_by_masks(groups, matrices, trans):
    """(order, masks) of the best order `by_masks`; among equally good ones, the one with the fewest bits."""
    orders = []
    for masks in product(range(matrices), repeat=3):
        if trans and masks[0]:                           # rows 2 c and 2 c + 1 are halves of one register
            continue
        order = by_masks(masks)(np.arange(ROWS * matrices))
        bits = sum(mask.bit_count() for mask in masks)
        orders.append((counted(groups[:, order], matrices), bits, masks, order.tolist()))
    _, _, masks, order = min(orders)
    return order, masks


def by_masks(masks):
    """Lane -> the lane whose row it gives: bit i of the row's place in its matrix, where set, XORs masks[i] onto the
    matrix's number. Takes ints, arrays and symbols.

    Bit by bit where bits change, so that a symbol's other bits stay together.

    >>> [by_masks((0, 0, 2))(lane) for lane in (3, 4, 12, 20, 36)]
    [3, 20, 28, 4, 52]
    """
    changed = [3 + bit for bit in range(2) if any(mask >> bit & 1 for mask in masks)]

    def move(lane):
        total, start = 0, 0
        for bit in changed:
            flipped = (lane >> bit) & 1
            for i, mask in enumerate(masks):
                if mask >> bit - 3 & 1:
                    flipped = flipped ^ (lane >> i) & 1
            total = total + ((lane >> start) % (1 << bit - start) << start) + (flipped << bit)
            start = bit + 1
        return total + (lane >> start << start)

    return move


def _in_lanes(groups, matrices, trans):
    """[order] without any conflict in which rows keep their place r, or []: row after row (with .trans pair after pair) gets
    a permutation of the matrices, until one does not fit."""
    at = groups.reshape(len(groups), matrices, ROWS)
    step, trials = 2 if trans else 1, iter(range(TRIALS))

    def extended(row, used, chosen):
        if row == ROWS:
            return chosen
        for matrix_order in permutations(range(matrices)):
            if next(trials, None) is None:
                return None
            bits, fits = used, True
            for r in range(row, row + step):
                more = 1 << at[:, matrix_order, r]
                fits = fits and not (bits & more).any()
                bits = bits | more
            lanes = extended(row + step, bits, [*chosen, *[matrix_order] * step]) if fits else None
            if lanes is not None:
                return lanes
        return None

    lanes = extended(0, np.zeros((len(groups), matrices), np.int64), [])
    return [] if lanes is None else [[ROWS * lanes[r][m] + r for m in range(matrices) for r in range(ROWS)]]


def _any_lanes(groups, matrices):
    """The best order of one instruction's rows [8 * matrices], whichever lanes they come to; as many as can keep their r."""
    _, dealt = _best_deal(tuple(np.bincount(groups, minlength=GROUPS).tolist()), matrices)
    rows_of = [np.flatnonzero(groups == g).tolist() for g in range(GROUPS)]
    return _in_places([rows_of[g].pop(0) for g in range(GROUPS) for _ in range(phase[g])] for phase in dealt)


def _in_places(phases):
    """The order of some rows to a phase; as many as can keep their r."""
    order = []
    for chosen in phases:
        slots = [next((row for row in chosen if row % ROWS == r), None) for r in range(ROWS)]
        rest = iter([row for row in chosen if row not in slots])
        order += [next(rest) if row is None else row for row in slots]
    return order


def _alike(groups):
    """(instructions [n, rows], how many are like each) of which no two are alike but for the numbers of the groups."""
    first = np.stack([(groups == group).argmax(axis=1) for group in range(GROUPS)], axis=1)      # row that lies in it
    _, at, times = np.unique(np.take_along_axis(first, groups, axis=1), axis=0, return_index=True, return_counts=True)
    return groups[at], times


def _dealt_anew(known, order, matrices):
    """An order that grows out of another: the rows of two of its phases are dealt out to them in the best way, until no two
    are left that this would mend. known: as of `_alike`."""
    phases = [list(order[at:at + ROWS]) for at in range(0, ROWS * matrices, ROWS)]
    todo = list(combinations(range(matrices), 2))
    while todo:
        pair = todo.pop(0)
        rows = sorted(phases[pair[0]] + phases[pair[1]])
        half, saved = _halved(known, rows, phases[pair[0]])
        if saved:
            phases[pair[0]], phases[pair[1]] = half, [row for row in rows if row not in half]
            todo += [other for other in combinations(range(matrices), 2) if other != pair and other not in todo
                     and set(other) & set(pair)]
    return _in_places(phases)


@lru_cache(1)
def _halves():
    """float [16, 6435]: 1 for row 0 and the seven rows that lie with it, in every way to choose them."""
    halves = np.zeros((2 * ROWS, 6435), np.float32)
    halves[0] = 1
    halves[np.transpose([*combinations(range(1, 2 * ROWS), ROWS - 1)]), np.arange(6435)] = 1
    return halves


def _halved(known, rows, before):
    """(8 of 16 rows, how many wavefronts are saved) if they are one phase and the others another, instead of those of
    before: no other way takes fewer."""
    total = 0
    for at in range(0, len(known[0]), 4):                 # instructions together: their counts fill the cache, not memory
        groups, times = (part[at:at + 4] for part in known)
        members = (groups[:, rows] == np.arange(GROUPS)[:, None, None]).astype(np.float32)
        one = members @ _halves()                          # [groups, instructions, ways]
        total = total + times @ (one.max(axis=0) + (members.sum(axis=2)[..., None] - one).max(axis=0))
    kept = np.array([row in before for row in rows])
    now = int(np.argmax((_halves().T == (kept == kept[0])).all(axis=1)))
    best = int(np.argmin(total))
    return [row for row, chosen in zip(rows, _halves()[:, best]) if chosen], int(total[now] - total[best])
