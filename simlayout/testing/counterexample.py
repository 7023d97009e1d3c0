"""What a failing assertion found: at most two places, each with its lane, its coordinate and where it lies in the banks."""

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap

from simlayout.hardware.banks.explain import WIDTH
from simlayout.hardware.banks.model import BANKS, WORD_BYTES

_CELL = {32: {1: 3, 2: 5, 4: 9}, 64: {2: 3, 4: 5}}
"""Banks -> words of a cell -> characters of its column: all columns fit a line beside a label of 4."""


@dataclass(frozen=True)
class Place:
    """One lane, or one coordinate, and what an index function makes of it.

    name: "lane 3", "left". at: {name: value}, the point of the domain. coordinate: what the tile takes there, a tuple, None
    where that is `at` itself or unknown. offset: in elements; address: in bytes; bytes: how many are touched from there on;
    lane: of the warp. Each is None where it is not known. of: the banks that there are.
    """

    name: str
    at: dict
    coordinate: tuple | None = None
    offset: int | None = None
    address: int | None = None
    bytes: int | None = None
    lane: int | None = None
    of: int = BANKS

    @property
    def words(self) -> range:
        """The numbers of the 4-byte words that it touches; empty where there is no address in shared memory."""
        if self.address is None or self.address < 0:
            return range(0)
        past = self.address + self.bytes             # type: ignore[operator]   # an address comes with its bytes
        return range(self.address // WORD_BYTES, (past - 1) // WORD_BYTES + 1)

    @property
    def banks(self) -> tuple[int, ...]:
        """The banks that it touches, a tuple."""
        return tuple(word % self.of for word in self.words)

    def __str__(self):
        at = ", ".join(f"{name} = {value}" for name, value in self.at.items())
        parts = [] if self.coordinate is None else [f"coordinate {self.coordinate}"]
        parts += [] if self.offset is None else [f"offset {self.offset}"]
        if self.address is not None:
            parts.append(_span("byte", self.address, self.address + self.bytes - 1))
        if self.words:
            parts += [_span("bank", self.banks[0], self.banks[-1]), _span("word", self.words[0], self.words[-1])]
        head = f"{self.name} at {at}" if at else self.name
        return f"{head}: {', '.join(parts)}"


def _span(what, first, last):
    """"bank 3" or "banks 12-15"."""
    return f"{what} {first}" if first == last else f"{what}s {first}-{last}"


@dataclass(frozen=True)
class Counterexample:
    """The smallest thing that shows a claim to be false. claim: it, as a sentence; places: at most two of them."""

    claim: str
    places: tuple = ()

    @property
    def lanes(self) -> tuple[int, ...]:
        """The lanes concerned, at most two; empty where the claim is about coordinates alone."""
        return tuple(dict.fromkeys(place.lane for place in self.places if place.lane is not None))


class CounterexampleError(AssertionError):
    """A property of a layout or an access that does not hold; `counterexample` shows it, the text draws it, and its last
    line says what would mend it, where that is known. found: the text without this line, which an exercise would give away
    by it. remedy: gives the line once somebody reads the text, because a failure that Hypothesis shrinks is raised hundreds
    of times."""

    def __init__(self, text: str, counterexample: Counterexample, remedy: Callable[[], str] | None = None):
        super().__init__(text)
        self.found, self.counterexample, self._remedy = text, counterexample, remedy

    def __str__(self):
        if self._remedy is not None:
            remedy, self._remedy = self._remedy(), None
            self.args = ("\n".join([*self.args, *wrapped(remedy)]),)
        return super().__str__()

    def __reduce__(self):
        return type(self), (str(self), self.counterexample)


def refuted(claim, reason, places=(), details=(), remedy=None):
    """The CounterexampleError of a claim: the claim, the reason, the places, then details (lines of at most 100 columns)."""
    lines = wrapped(claim) + wrapped(reason)
    for place in places:
        lines += wrapped(str(place), 2)
    return CounterexampleError("\n".join([*lines, *details]), Counterexample(claim, tuple(places)), remedy)


def wrapped(text, indent=0):
    """Lines of at most 100 columns, the later ones indented further."""
    return wrap(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4))


def grid(rows, width=1, banks=BANKS):
    """The lines of a picture of the banks: a header, then a line for each (label, {bank: text}); none if it is too wide.

    width: neighbouring banks that are one column: 1, 2 or 4. banks: how many there are, 32 or 64.

    >>> print("\\n".join(grid([("w0", {0: "0", 4: "1"}), ("w1", {4: "9"})], width=4)))
    bank        0        4        8       12       16       20       24       28
    w0          0        1        .        .        .        .        .        .
    w1          .        9        .        .        .        .        .        .
    """
    columns, cell = range(0, banks, width), _CELL[banks].get(width)
    if cell is None:
        return []
    table = [("bank", {bank: str(bank) for bank in columns}), *rows]
    return [f"{label:<4}" + "".join(f"{held.get(bank, '.'):>{cell}}" for bank in columns) for label, held in table]


def grid_of_places(places, labels):
    """`grid` with a line for each place that has an address; nothing where none has."""
    marked = [(label, {bank: "X" for bank in place.banks}) for place, label in zip(places, labels) if place.words]
    return grid(marked, banks=places[0].of) if marked else []
