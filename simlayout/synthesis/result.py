"""What a search comes to: candidates with their certificates, and what is proved of each family."""

from dataclasses import dataclass, replace
from functools import cached_property

from simlayout.algebra.aliases import IndexFunction
from simlayout.codegen.emit import trace
from simlayout.codegen.printer import count_instructions
from simlayout.codegen.symbols import symbol
from simlayout.proofs import Access, Certificate, verify
from simlayout.shown import Shown
from simlayout.wording import counted


@dataclass(frozen=True)
class Candidate(Shown):
    """A layout for all accesses.

    family: of `search`, or "own" (the one given), "plain"; layout: of the tile; excess: wavefronts beyond
    the ideal, over the domains of all accesses; wasted_bytes: by which it is larger than the tile; accesses: those of the
    search, with this layout.
    """

    family: str
    layout: IndexFunction
    excess: int
    wasted_bytes: int
    accesses: tuple[Access, ...]

    @cached_property
    def ops(self) -> int:
        """Integer instructions of the emitted addresses of all accesses together (`count_instructions`: a mask goes with the
        xor that takes it); of one whose lanes are no integer arithmetic (a table, say), those of the layout alone."""
        return sum(_operations(access) for access in self.accesses)

    @cached_property
    def certificates(self) -> dict[str, Certificate]:
        """{access: Certificate}: each proved with this layout, its excess as it is. Raises VerificationError."""
        return {access.name: verify(replace(access, excess=None)) for access in self.accesses}

    @cached_property
    def certificate(self) -> Certificate:
        """The Certificate of the layout: one-to-one, in bounds, and what each access costs. Raises VerificationError."""
        each = self.certificates
        certificate = verify(self.layout)
        costs = tuple(f"{c.name} ({c.instruction}): {c.cost}" for c in each.values())
        chips = ", ".join(dict.fromkeys(c.arch for c in each.values()))
        return replace(certificate, claims=certificate.claims + costs, arch=chips,
                       instructions=sum(c.instructions for c in each.values()),
                       wavefronts=sum(c.wavefronts for c in each.values()), ideal=sum(c.ideal for c in each.values()))

    def __str__(self):
        return (f"{self.layout}: excess {self.excess}, {counted(self.wasted_bytes, 'byte')} wasted, "
                f"{counted(self.ops, 'operation')}")


def _operations(access):
    """Integer instructions of an access's emitted address."""
    try:
        expression = trace(access)
    except (TypeError, ValueError, ArithmeticError, LookupError):
        tile = getattr(access.tile, "layout", access.tile)
        expression = access.tile(*(symbol(f"c{i}", mode.size) for i, mode in enumerate(tile)))
    return count_instructions(expression)


@dataclass(frozen=True)
class Share:
    """What a search says of one family.

    conflict_free: layouts without excess; examined, total: layouts tried, or excluded without a trial, and all of the
    family. Of f2 these are the kernels of `f2_banks`: layouts that are alike in which chunks share banks count as one.
    least: the least excess of a layout that was tried, None where none was; bound: no layout of the family has less.
    """

    family: str
    conflict_free: int
    examined: int
    total: int
    least: int | None
    bound: int

    def __str__(self):
        if not self.total:
            return f"{self.family}: no layout of the family is allowed"
        least = f"least excess {self.least}" if self.least is not None else "no excess known"
        proved = "" if self.bound == self.least else f", proved: none below {self.bound}"
        examined = f"{self.examined} of {self.total} examined"
        return f"{self.family}: {examined}, {self.conflict_free} conflict-free, {least}{proved}"


@dataclass(frozen=True)
class SearchResult(Shown):
    """What a search came to: a sequence of its candidates.

    candidates: best first, by excess, wasted bytes and operations, at most as many as were asked for. shares: what is known
    of each family. Over all families: conflict_free, how many layouts have no excess; examined and total, layouts tried (or
    excluded) and all of them; least, the least excess that was reached, None where nothing was tried; bound: the proof that
    goes with it, no layout of the families has less excess. least_bytes: what the smallest layout takes, where the budget is
    below it, so that none was tried; else None. given: the tile of the accesses as it is, where the constraints allow it.
    """

    candidates: tuple[Candidate, ...]
    shares: tuple[Share, ...]
    least_bytes: int | None = None
    given: Candidate | None = None

    def __repr__(self):
        return f"<SearchResult of {counted(len(self), 'candidate')}: {str(self).splitlines()[0]}>"

    def __iter__(self):
        return iter(self.candidates)

    def __len__(self):
        return len(self.candidates)

    def __getitem__(self, index):
        return self.candidates[index]

    @property
    def conflict_free(self) -> int:
        """Layouts without excess."""
        return sum(s.conflict_free for s in self.shares)

    @property
    def examined(self) -> int:
        """Layouts tried or excluded."""
        return sum(s.examined for s in self.shares)

    @property
    def total(self) -> int:
        """Layouts of the families."""
        return sum(s.total for s in self.shares)

    @property
    def exhausted(self) -> bool:
        """Whether no layout of the families is left."""
        return self.examined == self.total

    @property
    def least(self) -> int | None:
        """The least excess that was reached."""
        return min((s.least for s in self.shares if s.least is not None), default=None)

    @property
    def bound(self) -> int:
        """What no layout of the families is below: the least excess, where that is proved."""
        return min((s.bound for s in self.shares if s.total), default=0)

    @property
    def best(self) -> Candidate | None:
        """The first of the candidates, or the tile as it is, where that is no worse; None if there is neither."""
        return self.given if self._as_it_is or not self.candidates else self.candidates[0]

    @property
    def _as_it_is(self):
        """How the tile as it is compares with the first of the candidates, "" where it is worse or itself the first."""
        if self.given is None or not self.candidates or self.given.layout == self.candidates[0].layout:
            return ""
        ours, theirs = ((c.excess, c.wasted_bytes) for c in (self.given, self.candidates[0]))
        if ours == theirs:                               # operations are counted where they decide
            ours, theirs = ((c.ops, 0) for c in (self.given, self.candidates[0]))
        return "better" if ours < theirs else "as good" if ours == theirs else ""

    @property
    def proof(self) -> str:
        """What is proved, a line for each family."""
        return "\n".join(map(str, self.shares))

    def __str__(self):
        if self.least_bytes is not None:
            return (f"no layout was tried: the budget is too small, the smallest takes {self.least_bytes} bytes: pass "
                    f"budget={self.least_bytes} or more")
        if not self.total:
            return ("no layout was tried: the families have none that is allowed here: pass others, a smaller tile or "
                    "another base")
        what = "all" if self.exhausted else f"{self.examined} of"
        head = f"{what} {counted(self.total, 'layout')}: {self.conflict_free} conflict-free"
        if self.least is not None:
            head += f", least excess {self.least}"
            if self.exhausted and self.bound < self.least:
                head += f", proved: none below {self.bound}"
        as_it_is = [f"{self._as_it_is} as it is: {self.given}"] if self._as_it_is else []
        return "\n".join([head, *as_it_is, *map(str, self.candidates)])
