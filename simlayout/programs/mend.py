"""What would mend bank conflicts of a program: an array in shared memory that is padded, or whose indices are swizzled.

The elements that the lanes asked for are known (`uses`). Where they would lie in an array of another shape is arithmetic,
and the bank model says what that costs. So each candidate is judged by all accesses that were seen, and the simplest of the
best is proposed, as an edit of the source.
"""

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np

from simlayout.hardware import analyze
from simlayout.hardware.tables.arch import MOST_STATIC
from simlayout.machine.engine.patterns import MOST
from simlayout.machine.ptx.declared.declarations import Edit, NoEdit, Replacement, edits
from simlayout.machine.ptx.declared.shared_arrays import declaration_at
from simlayout.programs.uses import Use, Uses
from simlayout.wording import counted

WORTH = 0.25
"""An edit is proposed if it saves so much of an array's excess: lines that become harder to read should pay."""

CYCLE = 128
"""Bytes after which the banks begin again: further padding repeats what less of it does."""


@dataclass(frozen=True)
class Candidate:
    """Another place for the elements of an array. kind: "pad" (by more elements along dimension dim), "skew" (an array of
    one dimension: `more` elements after every `by`) or "swizzle" (last index x ^ (index before >> by))."""

    kind: str
    by: int
    dim: int = 0
    more: int = 1

    def place(self, index: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Where elements lie, int64, of their flat indices in C order.

        >>> Candidate("pad", 1, 1).place(np.array([0, 7, 8]), (4, 8)), Candidate("swizzle", 0).place(np.array([9]), (4, 8))
        (array([0, 7, 9]), array([8]))
        >>> Candidate("skew", 4).place(np.array([3, 4]), (8,))
        array([3, 5])
        """
        if self.kind == "skew":
            return index + index // self.by * self.more
        if self.kind == "swizzle":
            return index ^ ((index // shape[-1] % shape[-2] >> self.by) & (shape[-1] - 1))
        inner = prod(shape[self.dim:])
        return index + index // inner * self.by * (inner // shape[self.dim])

    def elements(self, shape: tuple[int, ...]) -> int:
        """How many the array then has."""
        if self.kind == "pad":
            return prod(shape) // shape[self.dim] * (shape[self.dim] + self.by)
        return prod(shape) + ((shape[0] - 1) // self.by * self.more if self.kind == "skew" else 0)

    def text(self, shape: tuple[int, ...]) -> str:
        """What it does, in words.

        >>> Candidate("pad", 1, 1).text((4, 8)), Candidate("skew", 32, more=4).text((64,))
        ('9 elements for 8 in dimension 1', '4 elements more after every 32')
        """
        if self.kind == "pad":
            return f"{shape[self.dim] + self.by} elements for {shape[self.dim]} in dimension {self.dim}"
        return "a swizzle of its last index" if self.kind == "swizzle" else (
            f"{counted(self.more, 'element')} more after every {self.by}")


def candidates(shape: tuple[int, ...], itemsize: int, aligned: int = 1) -> Iterator[Candidate]:
    """All that are tried for an array, the simple ones first. aligned: as of a Use."""
    most = max(CYCLE // itemsize, 2)
    if len(shape) == 1:
        for more in {1, max(aligned // itemsize, 1)}:
            yield from (Candidate("skew", 1 << i, more=more) for i in range(2, 12) if more < 1 << i < shape[0])
        return
    yield from (Candidate("pad", by, dim) for dim in range(len(shape) - 1, 0, -1) for by in range(1, most))
    if shape[-1] & (shape[-1] - 1) == 0:
        yield from (Candidate("swizzle", shift) for shift in range(6) if shape[-2] >> shift > 1)


@dataclass(frozen=True)
class Mend:
    """What would mend an array, or why nothing is proposed.

    file, line: of its declaration, "" and 0 where it is not known; name: of the array, "" where it is not known; kernels:
    that use it; excess: wavefronts beyond the ideal of all accesses that were seen, and left: of those after the edit;
    bytes: that the array grows by; edits: lines to change, with `replacements` for `declarations.replaced`; why: a sentence
    where there is no edit, or that belongs to it, else "".
    """

    file: str
    line: int
    name: str
    kernels: tuple[str, ...]
    excess: int
    left: int
    bytes: int = 0
    edits: tuple[Edit, ...] = ()
    why: str = ""
    replacements: tuple[Replacement, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        made = {key: value for key, value in vars(self).items() if key != "replacements"}
        return {**made, "edits": [vars(edit) for edit in self.edits]}


def mends(uses: Uses, arch: str) -> tuple[Mend, ...]:
    """A Mend for each array that has excess, the worst first. A line that several of them change has all changes."""
    places: dict[tuple[str, int, str], list[Use]] = {}
    for use in uses.found.values():
        places.setdefault((use.file, use.line, use.name), []).append(use)
    made = [found for group in places.values() if (found := _mend(group, arch)) is not None]
    return tuple(sorted(map(partial(_with_others, made), made), key=lambda m: -m.excess))


def _with_others(every, mend):
    """A Mend whose edits have what others change on its lines, unless an index of one array is an element of another."""
    lines = {edit.line for edit in mend.edits}
    group = [one for one in every if one.file == mend.file and lines & {edit.line for edit in one.edits}]
    made = [replacement for one in group for replacement in one.replacements]
    if len(group) < 2 or any(re.search(rf"\b{re.escape(one.name)}\b", each.text) for one in group for each in made):
        return mend
    found = {edit.line: edit for edit in edits("".join(linecache.getlines(mend.file)), tuple(made))}
    return replace(mend, edits=tuple(found[edit.line] for edit in mend.edits))


def _mend(group, arch):
    """The Mend of the uses of one declaration, which may have had several shapes."""
    now = sum(cost(use, None, arch)[0] for use in group)
    if not now:
        return None
    first = group[0]
    kernels = tuple(dict.fromkeys(name for use in group for name in use.kernels))
    about = first.file, first.line
    if first.untold:
        return Mend(*about, first.name, kernels, now, now, why=first.untold)
    seen = f"judged by the first {MOST} patterns of addresses of a line" if any(use.others for use in group) else ""
    try:
        declaration = declaration_at(first.file, first.line, first.name)
    except NoEdit as error:
        return Mend(*about, "", kernels, now, now, why=str(error))
    aligned = 1 if declaration.by_elements(first.shape) else max(use.aligned for use in group)
    tried = [one for one in candidates(first.shape, first.itemsize, aligned)
             if all(_fits(one, use, aligned) for use in group)]
    why = ""
    for saved, _, left, one in sorted(((*_judged(one, group, arch), one) for one in tried), key=lambda found: found[:2]):
        if saved > -WORTH * now:
            break
        try:
            replacements, *others = {_replacements(declaration, one, use.shape) for use in group}
            if others:
                raise NoEdit("it is made in several shapes, so no number is right for all")
        except NoEdit as error:
            why = why or f"{one.text(first.shape)} would leave {left}, but {error}"
            continue
        told = "; ".join(filter(None, (_stands_for(declaration, one, first.shape), seen, first.unseen)))
        grown = max((one.elements(use.shape) - prod(use.shape)) * use.itemsize for use in group)
        return Mend(*about, declaration.name, kernels, now, left, grown, edits(declaration.source, replacements), told,
                    replacements)
    which = f"keeps pieces of {aligned} bytes whole" if aligned > first.itemsize else "was tried"
    why = why or f"no padding and no swizzle that {which} saves {WORTH:.0%} of it"
    apart = _apart(group, arch)
    if apart <= (1 - WORTH) * now:
        why = f"an array for each part of its elements (the fields of a record) would have {apart}"
    return Mend(*about, declaration.name, kernels, now, now, why="; ".join(filter(None, (why, seen))))


def _apart(group, arch):
    """The excess if each part of the elements that is accessed at once were an array of its own."""
    total = 0
    for use in group:
        whole = -(-prod(use.shape) // CYCLE) * CYCLE         # each begins at the first bank
        for instruction in use.seen:
            addresses, active, times = use.patterns(instruction)
            nbytes = _bytes(instruction, use.itemsize)
            if nbytes < use.itemsize:
                index, part = np.divmod(addresses, use.itemsize)
                addresses = whole * part + nbytes * index
            found = analyze(instruction, addresses, active=active, arch=arch)
            total += int((times * (found.wavefronts - found.ideal)).sum())
    return total


def _judged(one, group, arch):
    """(wavefronts more than now, (kind, bytes, dimensions from the last), excess) of a candidate: the least is the best.
    Where accesses of several elements become several, wavefronts that are no excess any more are not saved."""
    excess, wavefronts = np.sum([cost(use, one, arch) for use in group], axis=0).tolist()
    now = sum(cost(use, None, arch)[1] for use in group)
    grown = sum((one.elements(use.shape) - prod(use.shape)) * use.itemsize for use in group)
    return wavefronts - now, (one.kind == "swizzle", grown, -one.dim, one.by), excess


def _fits(one, use, aligned):
    if one.kind == "pad" and one.dim >= len(use.shape) or (one.kind == "skew") != (len(use.shape) == 1):
        return False
    if one.kind == "swizzle" and use.shape[-1] & (use.shape[-1] - 1):
        return False
    if aligned > use.itemsize and _step(one, use) % aligned:
        return False
    grown = one.elements(use.shape) - prod(use.shape)
    return not grown or (prod(use.shape) + grown) * use.itemsize + use.beside <= MOST_STATIC


def _step(one, use):
    """Bytes by whose multiples elements move: what a compiler knows of their alignment."""
    return use.itemsize * (one.by * prod(use.shape[one.dim + 1:]) if one.kind == "pad" else one.more)


def _replacements(declaration, one, shape):
    if one.kind == "pad":
        return declaration.padded(shape, one.dim, one.by)
    return declaration.skewed(shape, one.by, one.more) if one.kind == "skew" else declaration.swizzled(shape, one.by)


def _stands_for(declaration, one, shape):
    """What the number in an edit is made of, or ""."""
    if one.kind == "swizzle":
        return ""
    return declaration.stands_for(shape, one.dim, one.by if one.kind == "pad" else (shape[0] - 1) // one.by * one.more)


def cost(use: Use, one: Candidate | None, arch: str) -> tuple[int, int]:
    """(excess, wavefronts) of all accesses of an array, where its elements lie as a Candidate says, or as they did (None).

    An access of several elements counts as one access of each where a compiler does not know any more that they lie together
    and are aligned.
    """
    total = np.zeros(2, np.int64)
    for instruction in use.seen:
        addresses, active, times = use.patterns(instruction)
        for name, where in _moved(instruction, addresses, use, one):
            found = analyze(name, where, active=active, arch=arch)
            total += (int((times * (found.wavefronts - found.ideal)).sum()), int((times * found.wavefronts).sum()))
    return int(total[0]), int(total[1])


def _moved(instruction, addresses, use, one):
    """[(instruction, addresses)] of what an access becomes."""
    if one is None:
        return [(instruction, addresses)]
    index, rest = np.divmod(addresses, use.itemsize)
    placed = use.itemsize * one.place(index, use.shape) + rest
    nbytes = _bytes(instruction, use.itemsize)
    count = nbytes // use.itemsize
    if count < 2:
        return [(instruction, placed)]
    each = [use.itemsize * one.place(index + i, use.shape) for i in range(count)]
    together = one.kind != "swizzle" and _step(one, use) % nbytes == 0
    name = f"{instruction.rsplit('.b', 1)[0]}.b{8 * use.itemsize}"
    return [(instruction, placed)] if together else [(name, where) for where in each]


def _bytes(instruction, otherwise):
    """That an instruction moves for a lane."""
    bits = instruction.rsplit(".b", 1)
    return int(bits[1]) // 8 if len(bits) == 2 and bits[1].isdigit() else otherwise
