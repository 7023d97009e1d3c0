"""The GPU architectures the model knows, as a table."""

from dataclasses import dataclass

from simlayout.errors import InstructionError

_GUIDE = "CUDA C++ Programming Guide, table of technical specifications per compute capability"


@dataclass(frozen=True)
class Arch:
    """shared_bytes_per_cta: the most shared memory, in bytes, that one CTA may have (opt-in maximum)."""

    name: str
    capability: tuple
    shared_bytes_per_cta: int
    source: str


ARCHES = {a.name: a for a in (
    Arch("sm_75", (7, 5), 64 * 1024, _GUIDE),
    Arch("sm_80", (8, 0), 163 * 1024, _GUIDE),
    Arch("sm_86", (8, 6), 99 * 1024, _GUIDE),
    Arch("sm_89", (8, 9), 99 * 1024, _GUIDE),
    Arch("sm_90", (9, 0), 227 * 1024, _GUIDE),
    Arch("sm_100", (10, 0), 227 * 1024, _GUIDE),
)}


def arch_of(name):
    """The row of an architecture; "sm_90a" and "sm_100a" name the same chips, and an Arch is returned as it is.

    Raises InstructionError for a name that is not in the table.

    >>> arch_of("sm_90a").shared_bytes_per_cta
    232448
    """
    if isinstance(name, Arch):
        return name
    row = ARCHES.get(str(name).removesuffix("a"))
    if row is None:
        raise InstructionError(f"unknown architecture {name!r}; use one of {', '.join(ARCHES)}")
    return row
