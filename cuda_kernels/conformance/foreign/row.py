"""One kernel that was not written for simlayout: where its PTX is, how it is launched, what it must compute."""

import lzma
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[3] / "tests" / "data" / "foreign"
"""Where the PTX lies in a checkout; `--data` names another folder."""


@dataclass(frozen=True)
class Foreign:
    """A kernel in CUDA C++, Triton or Numba, compiled to PTX, and one launch of it.

    name: of the row. language: "cuda", "triton" or "numba". source: the file's stem ("reduce": cuda/reduce.cu,
    reduce.ptx.xz); of Triton and Numba each kernel has its own PTX. entry: the kernel's name in the source, by default that
    of the row. grid, block, shared_bytes (dynamic, per CTA), cluster (CTAs, or along each axis): the launch. make: a NumPy
    Generator -> arguments, in the order of the .params: arrays for pointers (they are changed), numbers, TensorMaps,
    Structures. result: arguments before the launch -> {key of `arrays_of`: what that array must become}; None where nothing
    is computed. tolerance: None where the result is exact, or (relative, absolute) for how far a NumPy reference may be from
    it. approximate: the kernel uses functions that PTX does not define to the bit, so that GPUs need not agree to the bit
    either. maps: keys of the arrays into which it writes tensor maps, whose bytes PTX leaves open. compile: what the
    compiler must know (Triton: signature, constants, warps, stages; Numba: types). waits: lanes or CTAs wait for one
    another, which only a fair machine ends. refused: the GPU ends the kernel with an error; a word of the message with which
    the machine refuses it.
    """

    name: str
    language: str
    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    make: Callable[[np.random.Generator], list]
    result: Callable[[list], dict] | None
    entry: str = ""
    shared_bytes: int = 0
    cluster: int | tuple[int, int, int] = 1
    tolerance: tuple[float, float] | None = None
    approximate: bool = False
    compile: dict[str, Any] = field(default_factory=dict)
    waits: bool = False
    refused: str = ""
    maps: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "entry", self.entry or self.name)

    def path(self, data: Path = DATA) -> Path:
        """The PTX."""
        return data / f"{self.source if self.language == 'cuda' else self.name}.ptx.xz"

    def text(self, data: Path = DATA) -> str:
        """The PTX's text."""
        return lzma.decompress(self.path(data).read_bytes()).decode()

    def symbol(self, text: str) -> str:
        """The name of the entry in that text: Triton's and Numba's PTX have one entry, whose name they make."""
        found = re.findall(r"\.entry\s+([\w$]+)", text)
        return self.entry if self.entry in found else found[0]

    def arguments(self, seed: int = 0) -> list:
        """The arguments, new arrays each time."""
        return self.make(np.random.default_rng(seed))

    def wrong(self, before: list, after: list) -> list[str]:
        """What differs from the reference, one sentence per argument; empty if nothing does."""
        found = []
        arrays = arrays_of(after)
        for i, wanted in (self.result(before) if self.result else {}).items():
            got, wanted = arrays[str(i)], np.asarray(wanted)
            if got.shape != wanted.shape:
                found.append(f"argument {i}: shape {got.shape}, not {wanted.shape}")
                continue
            off = differing(got, wanted, self.tolerance)
            if off.any():
                at = tuple(int(v) for v in np.argwhere(off)[0])
                found.append(
                    f"argument {i}: {int(off.sum())} of {off.size} elements differ, first {list(at)}: {got[at]}, "
                    f"not {wanted[at]}"
                )
        return found


def differing(got: np.ndarray, wanted: np.ndarray, tolerance: tuple[float, float] | None) -> np.ndarray:
    """Where two arrays differ, bool of their shape: at all (NaN equals NaN), or by more than (relative, absolute).

    >>> differing(np.array([1.0, np.nan, 2.0]), np.array([1.0, np.nan, 2.1]), None).tolist()
    [False, False, True]
    """
    g, w = (x if x.dtype.kind in "iubc" else x.astype(np.float64) for x in (got, wanted))
    if g.dtype.kind in "iub" and w.dtype.kind in "iub":
        return g != w
    if tolerance is None:
        return ~((g == w) | (np.isnan(g) & np.isnan(w)))
    return ~np.isclose(g, w, *tolerance, equal_nan=True)


class Structure(list):
    """An argument that is a structure: its fields, as `simlayout.ptx` has them, and {name: array} of what they point to."""

    def __init__(self, fields: list, arrays: dict[str, np.ndarray]):
        super().__init__(fields)
        self.arrays = arrays


def arrays_of(arguments: list) -> dict[str, np.ndarray]:
    """{key: array} of what arguments point to. The key is the number of the argument, with the array's name in a structure;
    a TensorMap has its own array, and a number none.

    >>> x = np.zeros(2)
    >>> list(arrays_of([7, x, Structure([b"", x], {"A": x})]))
    ['1', '2.A']
    """
    found = {}
    for i, argument in enumerate(arguments):
        if isinstance(argument, Structure):
            found |= {f"{i}.{name}": array for name, array in argument.arrays.items()}
        elif isinstance(argument, np.ndarray) or hasattr(argument, "array"):
            found[str(i)] = argument if isinstance(argument, np.ndarray) else argument.array
    return found


def flat(array: np.ndarray) -> list:
    """The .params that Numba makes of an array: meminfo, parent, items, bytes of an item, data, shape, strides.

    >>> flat(np.zeros((2, 3), np.int32))[:4], flat(np.zeros((2, 3), np.int32))[5:]
    ([0, 0, 6, 4], [2, 3, 12, 4])
    """
    return [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]
