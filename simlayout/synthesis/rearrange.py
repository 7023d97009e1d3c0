"""Without moving the data: which lane gives which row to ldmatrix or stmatrix, and the register exchange that undoes it.

ldmatrix.x4 serves the rows that lanes 8 m to 8 m + 7 give in phase m, and deals row r of phase m to lanes 4 r to 4 r + 3,
register m. The rows of an instruction may be given in any order, as long as the registers are put right afterwards (before
a stmatrix). A phase takes one wavefront for each row in its fullest group of banks (8 groups of 16 bytes), so an order can
help where the rows as a whole are spread over the groups, and each phase's are not.

Rows that keep their r and only change their m come to their lanes in another register: the exchange is a selection between
a lane's own registers. Such orders are tried first.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from simlayout.errors import InstructionError, SimlayoutError, VerificationError, require
from simlayout.hardware import analyze, fragment
from simlayout.proofs import Access, Certificate, verify
from simlayout.shown import Shown
from simlayout.synthesis.row_orders import GROUPS, ROWS, best_order, by_masks, counted, least_wavefronts

ROW_BYTES = 16
"""Bytes of a row of a matrix, which fills a group of 4 banks."""


@dataclass(frozen=True, eq=False)
class Rearrangement(Shown):
    """The order that `rearrange` found.

    access: as given, but with the rows in that order. order: lane -> the lane whose row it gives now, 8 for each matrix.
    exchange: int64 [32, values, 2]: (lane, value) that holds what should be that lane's value, two values (b16) to a
    register; for stmatrix, (lane, value) before the exchange. before, after: wavefronts of the access as it was, and in
    that order. least: no order takes fewer; it is `after` where the order is known to be the best. reason: why.
    """

    access: Access
    order: tuple
    exchange: np.ndarray = field(repr=False)
    before: int
    after: int
    least: int
    reason: str

    @property
    def helps(self) -> bool:
        """Whether the order takes fewer wavefronts."""
        return self.after < self.before

    @property
    def conflict_free(self) -> bool:
        """Whether no wavefront is left beyond the ideal."""
        return self.after == self.access.instructions() * len(self.access.row.groups)

    @property
    def registers(self) -> np.ndarray | None:
        """int64 [32, registers]: the register of its own from which each lane takes each register; None where values must
        move between lanes, or halves of registers apart from one another."""
        lanes, values = self.exchange[..., 0], self.exchange[..., 1]
        own = (lanes == np.arange(32)[:, None]).all() and (values[:, 1::2] == values[:, ::2] + 1).all()
        return values[:, ::2] // 2 if own and (values[:, ::2] % 2 == 0).all() else None

    @cached_property
    def certificate(self) -> Certificate:
        """The Certificate of the access in its order, with the claim that the exchange puts every value right: checked by
        moving every element of the tile that the access names. Raises VerificationError."""
        certificate = verify(replace(self.access, excess=None))
        claims = (f"the exchange gives every lane the {self.exchange.shape[1]} values that it had in the order of the "
                  f"lanes, in each of {certificate.instructions} instructions",
                  f"wavefronts: {self.before} in the order of the lanes, no order below {self.least}: {self.reason}")
        return replace(certificate, claims=certificate.claims + claims)

    def __str__(self):
        verdict = "conflict-free" if self.conflict_free else f"no order takes fewer than {self.least}"
        if self.after > self.least:
            verdict += f", whether one takes fewer than {self.after} is not known"
        what = f"{self.access.name} ({self.access.instruction})"
        lines = [f"{what}: {self.before} wavefronts, rearranged {self.after}: {verdict}", self.reason,
                 f"lanes give the rows of lanes {', '.join(map(str, self.order))}"]
        if not self.helps:
            lines.append("exchange: nothing moves")
        elif self.registers is None:
            lines.append("exchange: registers move between lanes")
        else:
            lines += ["exchange: registers move within their lanes", *self._moves()]
        return "\n".join(lines)

    def _moves(self):
        """Which lanes take which registers, a line for each kind of lane."""
        kinds = {}
        for lane, registers in enumerate(self.registers.tolist()):
            kinds.setdefault(tuple(registers), []).append(lane)
        return [f"  lanes {_spans(lanes)}: R0.. = {', '.join(f'R{r}' for r in registers)}"
                for registers, lanes in kinds.items() if registers != tuple(range(len(registers)))]


def _spans(lanes):
    """"0-3, 8-11"."""
    starts = [lane for lane in lanes if lane - 1 not in lanes]
    ends = [lane for lane in lanes if lane + 1 not in lanes]
    return ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in zip(starts, ends))


def rearrange(access: Access) -> Rearrangement:
    """The Rearrangement of an access by ldmatrix or stmatrix: one order of rows for all its instructions.

    Of .x1 and .x2 it is the best order there is, of .x4 where `after` is `least`, which it always is for one instruction,
    and for several that are alike but for the numbers of their banks. For others it is the best that was found: none that
    deals the rows of two phases anew takes fewer wavefronts.

    The tile stays as it is. Raises InstructionError for other instructions; VerificationError for an access that `verify`
    refuses, such as lanes that leave the tile; SimlayoutError where an instruction is given a row twice.

    >>> import simlayout as sl
    >>> load = sl.Access("load A", "ldmatrix.x4", sl.Layout((16, 16), (16, 1)), lambda tid: (tid % 16, 8*(tid % 32 // 16)))
    >>> result = rearrange(load)
    >>> print(result)
    load A (ldmatrix.x4): 8 wavefronts, rearranged 4: conflict-free
    of 32 rows, 4 lie in the fullest of 8 groups of banks, and a wavefront takes one of them
    lanes give the rows of lanes 0, 1, 2, 3, 20, 21, 22, 23, 8, 9, 10, 11, 28, 29, 30, 31, 16, 17, 18, 19, 4, 5, 6, 7, 24, \
25, 26, 27, 12, 13, 14, 15
    exchange: registers move within their lanes
      lanes 16-31: R0.. = R2, R3, R0, R1
    >>> result.certificate.excess, sl.emit(result.access).source.splitlines()[-1].strip()
    (0, 'return ((tid & 15) << 4) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 3)')
    """
    require(Access, "rearrange", access)
    op = access.row
    if not op.is_matrix:
        raise InstructionError(f"{op} has no rows to rearrange: ldmatrix and stmatrix have")
    verify(replace(access, excess=None))                 # what leaves the tile, or is torn, would be ordered like rows of it
    matrices = len(op.groups)
    rows = access.addresses()[:, :ROWS * matrices] // ROW_BYTES
    if (np.diff(np.sort(rows, axis=1), axis=1) == 0).any():
        raise SimlayoutError(f"access {access.name!r} gives an instruction one row twice: that order has no inverse")
    groups = rows % GROUPS
    bounds = [least_wavefronts(tuple(sorted(np.bincount(g, minlength=GROUPS).tolist())), matrices) for g in groups]
    order, masks = best_order(groups, matrices, sum(bounds), op.name.endswith(".trans"))
    hardest, after = int(np.argmax(bounds)), counted(groups[:, order], matrices)
    least, reason = sum(bounds), _reason(groups[hardest], bounds[hardest], matrices)
    if after > least and matrices == 2:
        least, reason = after, f"all ways to deal out 16 rows to two phases were tried on all {len(groups)} instructions"
    rearrangement = Rearrangement(_reordered(access, order, masks), tuple(order), _exchange(op, order),
                                  counted(groups, matrices), after, least, reason)
    _check(access, rearrangement)
    return rearrangement


def _reason(groups, least, matrices):
    """Why no order of rows takes fewer wavefronts than `least`, for rows in these groups."""
    counts = np.bincount(groups, minlength=GROUPS)
    fullest = int(counts.max())
    if least == max(fullest, matrices):
        why = f"of {len(groups)} rows, {fullest} lie in the fullest of 8 groups of banks, and a wavefront takes one of them"
        return why if fullest >= matrices else f"{why}; {matrices} phases take one wavefront each"
    each = ", ".join(map(str, sorted(counts.tolist(), reverse=True)))
    return (f"the {len(groups)} rows lie {each} to a group of banks: no way to deal them out to {matrices} phases of 8 "
            f"takes fewer than {least} wavefronts")


# ---- the order and the exchange --------------------------------------------------------------------------------------

def _reordered(access, order, masks):
    """The access with its rows in an order; by masks as arithmetic, which can be emitted, else from a table."""
    matrices = len(order) // ROWS
    if masks is not None:
        move = by_masks(masks)
    else:
        table = np.concatenate([order, np.arange(ROWS * matrices, 32)])

        def move(tid):
            return tid // 32 * 32 + table[tid % 32]

    coordinate = access.coordinate
    lanes = coordinate if masks == (0, 0, 0) else lambda tid, *loops: coordinate(move(tid), *loops)
    return replace(access, lanes=lanes, excess=None)


def _places(op):
    """(lane, value) of every element [rows, 8] of an instruction's matrices, int64 [rows, 8, 2]."""
    elements = fragment(op.name).coordinates()
    lanes, values = np.indices(elements.shape[:2])
    places = np.zeros((ROWS * len(op.groups), 8, 2), np.int64)
    places[elements[..., 0], elements[..., 1]] = np.stack([lanes, values], axis=-1)
    return places


def _exchange(op, order):
    """int64 [32, values, 2]: as of Rearrangement."""
    places, order = _places(op), np.asarray(order)
    to, source = (places[order], places) if op.kind == "ldmatrix" else (places, places[order])
    exchange = np.zeros((32, 2 * len(op.groups), 2), np.int64)
    exchange[to[..., 0], to[..., 1]] = source
    return exchange


def _check(access, rearrangement):
    """Moves every element of every instruction both ways. Raises VerificationError where they do not agree."""
    op = access.row
    rows = ROWS * len(op.groups)
    places, take = _places(op), rearrangement.exchange
    before, after = (a.addresses()[:, :rows, None] + 2 * np.arange(8) for a in (access, rearrangement.access))
    if op.kind == "ldmatrix":                            # an element is its address; registers hold elements
        expected, loaded = (_dealt_out(places, element) for element in (before, after))
        wrong = expected != loaded[:, take[..., 0], take[..., 1]]
    else:                                                # an element is the (lane, value) that holds it, addresses get it
        numbers = np.arange(take[..., 0].size).reshape(take.shape[:2])
        at = numbers[take[..., 0], take[..., 1]][places[..., 0], places[..., 1]]
        first, second = (np.argsort(a.reshape(len(a), -1), axis=1) for a in (before, after))
        wrong = numbers[places[..., 0], places[..., 1]].ravel()[first] != at.ravel()[second]
    wavefronts = int(analyze(op, rearrangement.access.addresses()).wavefronts.sum())
    if wrong.any() or wavefronts != rearrangement.after:
        raise VerificationError(f"the rearrangement of {access.name!r} is wrong: {int(wrong.sum())} values go astray, "
                                f"{wavefronts} wavefronts instead of {rearrangement.after}")


def _dealt_out(places, elements):
    """int64 [n, 32, values]: what lanes hold after ldmatrix of elements [n, rows, 8]."""
    registers = np.zeros((len(elements), 32, elements.shape[1] // 4), np.int64)
    registers[:, places[..., 0], places[..., 1]] = elements
    return registers
