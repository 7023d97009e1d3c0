"""A layout as CuTe's C++ writes it: text that `parse` reads back, and that compiles with `using namespace cute`."""

from simlayout.algebra import Composed, Layout, Swizzle
from simlayout.algebra.aliases import IndexFunction
from simlayout.codegen.notations import text_of
from simlayout.errors import LayoutError


def cute_cpp(layout: IndexFunction) -> str:
    """A C++ expression whose value is the layout, with static sizes (CUTLASS 4.2, include/cute/layout.hpp and
    swizzle_layout.hpp). It counts elements, as the layout does.

    Raises LayoutError for what is neither a Layout nor Swizzles over one.

    >>> from simlayout.algebra import parse
    >>> print(cute_cpp(parse("Sw<3,3,3> o ((8,2),64):((64,512),1)")))
    composition(Swizzle<3,3,3>{}, Layout<Shape<Shape<Int<8>, Int<2>>, Int<64>>, Stride<Stride<Int<64>, Int<512>>, Int<1>>>{})
    >>> print(cute_cpp(parse("Sw<1,3,3> o 16 o 32:1")))
    composition(Swizzle<1,3,3>{}, Int<16>{}, Layout<Int<32>, Int<1>>{})
    """
    if isinstance(layout, Layout):
        return f"Layout<{_nested('Shape', layout.shape)}, {_nested('Stride', layout.stride)}>{{}}"
    if not isinstance(layout, Composed) or layout.layout is None or {type(layer) for layer in layout.layers} != {Swizzle}:
        raise LayoutError(f"{text_of(layout)} is neither a layout nor swizzles over one, which is what CuTe's C++ composes")
    text = cute_cpp(layout.layout)
    offset = layout.offset
    for swizzle in reversed(layout.layers):
        between = f", Int<{offset}>{{}}" if offset or text.startswith("composition") else ""
        text, offset = f"composition({swizzle_cpp(swizzle)}{between}, {text})", 0
    return text


def swizzle_cpp(swizzle: Swizzle) -> str:
    """A Swizzle by itself."""
    return f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}>{{}}"


def _nested(name, tree):
    """Shape<Int<8>, Shape<...>> or Stride<...> of a nested tuple."""
    return f"{name}<{', '.join(_nested(name, part) for part in tree)}>" if isinstance(tree, tuple) else f"Int<{tree}>"
