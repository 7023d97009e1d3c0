"""Rows of a table of instructions, written as the PTX ISA writes them: "add{.RND}{.ftz}{.sat}.f32"."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from types import SimpleNamespace

from simlayout.machine.arithmetic.carriers import width_of

_TYPE = re.compile(r"[a-z]+[0-9]+(m[0-9]+)?(x[0-9])?")
_SLOT = re.compile(r"\{\.([^}]+)\}|\.([^.{]+)")

SLOTS = {
    "RND": "rn rz rm rp",
    "BOOL": "and or xor",
    "INTEGER": "u16 u32 u64 s16 s32 s64",
    "SIGNED": "s16 s32 s64",
    "WORD": "u32 u64 s32 s64",
    "BITS": "b16 b32 b64",
    "ANY": "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64",
}
"""Name of a slot -> the modifiers that may fill it, where a row does not say otherwise."""


@dataclass(frozen=True)
class Form:
    """A row: an opcode and its modifiers, in PTX's order, and what they make of operands.

    text: as the PTX ISA writes it: {.x} may be absent; a name in capitals is a slot, filled from `slots` or SLOTS.
    results, sources: types of the operands, separated by spaces, with names of slots in them; "wide(T)" is the type of
    twice the width, "bits(T)" the .b type of the same, "unsigned(T)" the .u type. build: from what was found (a namespace:
    each slot's modifier, "" if it is absent, and of every other word whether it is there) to the function of carriers.
    section: of the PTX ISA. target: the least architecture, where sm_75 lacks it.
    """

    text: str
    results: str
    sources: str
    build: Callable
    section: str
    target: str = "sm_75"
    slots: dict = field(default_factory=dict, hash=False)

    @property
    def opcode(self) -> str:
        return re.split(r"[.{]", self.text)[0]

    @cached_property
    def places(self) -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
        """(name, whether it may be absent, the modifiers that fill it) of every modifier."""
        return tuple([(optional or fixed, bool(optional), self._choices(optional or fixed))
                      for optional, fixed in _SLOT.findall(self.text)])

    def _choices(self, name):
        return tuple((self.slots.get(name) or SLOTS[name]).split()) if name.isupper() else (name,)

    def match(self, modifiers: tuple[str, ...]) -> SimpleNamespace | None:
        """What fills the slots, or None if the modifiers are not of this form.

        >>> Form("add{.RND}{.ftz}.f32", "f32", "f32 f32", None, "").match(("rn", "f32"))
        namespace(RND='rn', ftz=False, f32=True)
        """
        found, rest = {}, list(modifiers)
        for name, optional, choices in self.places:
            there = bool(rest) and rest[0] in choices
            if not there and not optional:
                return None
            found[name] = (rest[0] if there else "") if name.isupper() else there
            if there:
                rest.pop(0)
        return None if rest else SimpleNamespace(**found)

    def in_order(self, modifiers: tuple[str, ...]) -> tuple[str, ...] | None:
        """The same modifiers as this form has them, or None if it has others. Types stay in their order, which says what is
        converted to what.

        >>> Form("add{.RND}{.ftz}.f32", "f32", "f32 f32", None, "").in_order(("f32", "ftz", "rn"))
        ('rn', 'ftz', 'f32')
        """
        made, rest = [], list(modifiers)
        for _, optional, choices in self.places:
            chosen = next((modifier for modifier in rest if modifier in choices), None)
            if chosen is not None:
                made.append(chosen)
                rest.remove(chosen)
            elif not optional:
                return None
        right = not rest and [*filter(_TYPE.fullmatch, made)] == [*filter(_TYPE.fullmatch, modifiers)]
        return tuple(made) if right else None

    def spelled(self) -> Iterator[tuple[str, ...]]:
        """Every tuple of modifiers of this form.

        >>> list(Form("dot{.ftz}.T", "T", "T", None, "", slots={"T": "f16 f32"}).spelled())
        [('f16',), ('f32',), ('ftz', 'f16'), ('ftz', 'f32')]
        """
        options = [(("",) if optional else ()) + choices for _, optional, choices in self.places]
        for chosen in product(*options):
            yield tuple([modifier for modifier in chosen if modifier])

    def types(self, spelled: str, found: SimpleNamespace) -> tuple[str, ...]:
        """The operand types of `results` or `sources`, with the slots filled."""
        return tuple([_type(word, found) for word in spelled.split()])


def _type(word, found):
    shape = re.fullmatch(r"(wide|bits|unsigned)\((\w+)\)", word)
    name = shape[2] if shape else word
    name = getattr(found, name) if name.isupper() else name
    if not shape:
        return name
    return f"{name[0]}{2 * width_of(name)}" if shape[1] == "wide" else f"{shape[1][0]}{width_of(name)}"


def of(function: Callable) -> Callable:
    """The `build` of a row whose function does not depend on modifiers."""
    return lambda found: function


def kind(name: str) -> tuple[int, bool]:
    """(width, whether it is signed) of an integer type.

    >>> kind("s16"), kind("b64")
    ((16, True), (64, False))
    """
    return width_of(name), name[0] == "s"
