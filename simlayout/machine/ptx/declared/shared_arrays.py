"""Arrays in shared memory as a program declares them, and hazards in their words: which elements of which array the bytes
are."""

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from simlayout.errors import HazardError
from simlayout.machine.hazards.kinds import Hazard
from simlayout.machine.hazards.units import in_shared
from simlayout.machine.ptx.declared.cxx_declarations import CxxDeclaration, declarations, symbol_name
from simlayout.machine.ptx.declared.declarations import Declaration, NoEdit
from simlayout.wording import counted

DYNAMIC = "its shape is in the index expressions"
"""Why nothing can be proposed for dynamic shared memory that no line declares as an array."""


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory: its PTX symbol, where it begins, in bytes, and how many they are; file, line and shape (of
    elements) that its source declares, "", 0 and () where nothing tells them; aligned: bytes at whose multiples its rows
    have to begin, because instructions of that width access them; unseen: what is not among the accesses that a Trace keeps
    addresses of, as words; untold: why no other place for its elements can be proposed, "" where one can."""

    symbol: str
    offset: int
    bytes: int
    file: str = ""
    line: int = 0
    shape: tuple[int, ...] = ()
    aligned: int = 1
    unseen: str = ""
    untold: str = ""

    @property
    def name(self) -> str:
        """As CUDA C++ declares it, "" in Python, where a line declares one array."""
        if self.untold == DYNAMIC:
            return "dynamic shared memory"
        return "" if self.file.endswith(".py") else symbol_name(self.symbol)


def with_elements(hazard: Hazard, arrays: Sequence[SharedArray]) -> Hazard:
    """The Hazard, whose text says after bytes of shared memory which elements they are, if one array that is declared with
    a name holds all of them, and has such names in the place of the symbols of PTX."""
    hazard = replace(hazard, text=_MBARRIER.sub(lambda found: _mbarrier(found, arrays), hazard.text))
    for array in arrays:
        if array.symbol in hazard.text and (name := name_of(array.file, array.line, array.name)):
            hazard = replace(hazard, text=re.sub(rf"\b{re.escape(array.symbol)}\b", name, hazard.text))
    if not hazard.bytes or hazard.text.count(said := in_shared(hazard.bytes)) != 1:
        return hazard
    first, last = hazard.bytes[0], hazard.bytes[-1]
    for array in arrays:
        if array.shape and array.offset <= first and last < array.offset + array.bytes:
            name = name_of(array.file, array.line, array.name)
            found = f"{said.removesuffix(')')}, {_elements(name, array, hazard.bytes)})"
            return replace(hazard, text=hazard.text.replace(said, found)) if name else hazard
    return hazard


_MBARRIER = re.compile(r"\bmbarrier (at shared address )?([0-9]+)\b")
"""How hazards name an mbarrier."""


def _mbarrier(found, arrays):
    """What is found of that in a text, by the variable and element that it is, where one is known."""
    at, name = int(found[2]), ""
    for array in arrays:
        if array.offset <= at < array.offset + array.bytes:
            name = name_of(array.file, array.line, array.name) or array.name
            if array.shape and array.bytes == 8 * prod(array.shape):
                name = _elements(name, array, [at])
            elif name and array.bytes > 8:
                name = f"at byte {at - array.offset} of {name}"
    return found[0] if not name else f"{found[0]} ({name})" if found[1] else f"mbarrier {name}"


def name_elements(error: HazardError, arrays: Sequence[SharedArray]) -> None:
    """Gives a HazardError, and the Hazards before it, such texts."""
    every = [one for one in (*error.before, error.hazard) if isinstance(one, Hazard)]
    named, text = [with_elements(one, arrays) for one in every], str(error)
    for before, after in zip(every, named, strict=True):
        text = text.replace(before.text, after.text)
    error.args = (text,)
    if every and isinstance(error.hazard, Hazard):
        error.before, error.hazard = tuple(named[:-1]), named[-1]


def _elements(name, array, bytes):
    """"tile[0, 3]", or "tile[0, 3] and 2 more elements"."""
    which = np.unique((np.array(bytes) - array.offset) // (array.bytes // prod(array.shape)))
    index = (", " if array.file.endswith(".py") else "][").join(map(str, np.unravel_index(which[0], array.shape)))
    more = f" and {counted(len(which) - 1, 'more element')}" if len(which) > 1 else ""
    return f"{name}[{index}]{more}"


@lru_cache(256)
def name_of(file: str, line: int, name: str = "") -> str:
    """The name of the array that a line of a source declares in shared memory, "" where that is not to be seen."""
    try:
        return declaration_at(file, line, name).name
    except NoEdit:
        return ""


def declaration_at(file: str, line: int, name: str = "") -> Declaration | CxxDeclaration:
    """What a line of a source declares in shared memory, in CUDA C++ by this name. Raises NoEdit where that is not one
    array."""
    source = "".join(linecache.getlines(file))
    if file.endswith(".py"):
        return Declaration(source, line)
    found = [one for one in declarations(source) if (one.line, one.name) == (line, name)]
    if len(found) != 1:
        raise NoEdit(f"line {line} does not declare one array in shared memory")
    return found[0]
