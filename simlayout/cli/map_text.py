"""Tensor maps as text, for kernels that use TMA. Read by a grammar, never evaluated.

    A=map(f16[256,64]:normal, box=64x128, swizzle=128B)      of an array of its own, which is called A
    map(C, box=64x64)                                        of the array of another argument
"""

import re
from dataclasses import dataclass

import numpy as np

from simlayout.errors import SimlayoutError
from simlayout.hardware import TensorMap

FORM = "map(ARRAY, box=64x128, swizzle=128B)"
_MAP = re.compile(r"map\(\s*((?:[^,()\[\]]|\[[0-9,]*\])+?)\s*((?:,\s*[a-z]+\s*=[^,=()]*)*)\)", re.S)
_OPTIONS = {"box": r"[0-9]{1,6}(?:x[0-9]{1,6}){0,4}", "swizzle": "none|(?:0|32|64|128)B?", "fill": "zero|nan",
            "type": "[a-z][a-z0-9]{1,8}"}


@dataclass(frozen=True)
class MapText:
    """A tensor map as text says it. of: the text of an array, or the name of an argument that is one; box: elements,
    innermost first; swizzle: bytes; fill: what the outside reads as; type: of the elements, None for that of the array."""

    of: str
    box: tuple[int, ...]
    swizzle: int = 0
    fill: str = "zero"
    type: str | None = None

    def map(self, array: np.ndarray) -> TensorMap:
        """The TensorMap of an array. Raises LayoutError for what TMA does not take."""
        return TensorMap.of(array, self.box, self.swizzle, self.type, self.fill)


def map_text(text: str) -> MapText | None:
    """The MapText of a text, None for one that is no map. Raises SimlayoutError that names what is wrong in one.

    >>> map_text("map(f16[256,64]:normal, box=64x128, swizzle=128B)")
    MapText(of='f16[256,64]:normal', box=(64, 128), swizzle=128, fill='zero', type=None)
    >>> map_text("f16[256,64]")
    """
    if not re.match(r"map\s*\(", text):
        return None
    found = _MAP.fullmatch(text)
    if not found:
        raise SimlayoutError(f"write a tensor map as {FORM}, ARRAY as TYPE[SHAPE]:FILL, FILE.npy or the name of an argument")
    options: dict[str, str] = {}
    for each in found[2].split(",")[1:]:
        name, value = (part.strip() for part in each.split("="))
        if name not in _OPTIONS:
            raise SimlayoutError(f"a tensor map has no {name}: it takes {', '.join(_OPTIONS)}")
        if name in options:
            raise SimlayoutError(f"{name} twice in a tensor map: give it once")
        if not re.fullmatch(_OPTIONS[name], value):
            raise SimlayoutError(f"{name}={value}: write {_EXAMPLES[name]}")
        options[name] = value
    if "box" not in options:
        raise SimlayoutError(f"a tensor map needs its box, innermost dimension first: {FORM}")
    swizzle = options.get("swizzle", "none").rstrip("B")
    return MapText(found[1], tuple(map(int, options["box"].split("x"))), 0 if swizzle == "none" else int(swizzle),
                   options.get("fill", "zero"), options.get("type"))


_EXAMPLES = {"box": "box=64x128, elements of one to five dimensions, innermost first",
             "swizzle": "swizzle=none, 32B, 64B or 128B", "fill": "fill=zero or fill=nan", "type": "a type, as in type=tf32"}
