"""How much a long sum of 8-bit products loses in the tensor core, and how much if every 128 of K are promoted to float32.

Computed, not measured: `simlayout.numerics` has the bits of the tensor core's sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.numerics import gemm
from simlayout.numerics.formats import exact, nearest
from simlayout.plots.aliases import Axes
from simlayout.plots.library import shown_figure
from simlayout.plots.performance import NOTE, TEXT, finished
from simlayout.plots.place import one_axes

PROMOTED = 128
"""Products of K that the tensor core adds up before an FMA adds the sum in float32."""

INSTRUCTION = "wgmma.m64n16k32.f32.e4m3.e4m3"

DEPTHS = tuple(PROMOTED << i for i in range(8))
"""K, 128 to 16384."""

COLOURS, STYLES = {False: "#CC3311", True: "#0077BB"}, {"positive numbers": "o-", "numbers of both signs": "s--"}
"""By whether sums are promoted, and by what is added up."""

BF16 = 2.0**-9
"""The most by which rounding to bfloat16 is off, relative to the number."""


@dataclass(frozen=True)
class Curve:
    """errors: of each of `depths`, K, the root mean square of what sums are off by, over that of the exact sums; of:
    which numbers are multiplied; promoted: whether each 128 of K are added up in float32."""

    of: str
    promoted: bool
    depths: tuple[int, ...]
    errors: tuple[float, ...]


@typed()
@lru_cache(None)
def accumulated(depths: tuple[int, ...] = DEPTHS) -> tuple[Curve, ...]:
    """The Curves of 64 x 16 sums of products of e4m3 numbers, random normal ones and their absolute values; depths:
    multiples of 128 that rise. Errors are rounded to three digits: sums of squares differ in the last ones between CPUs.

    >>> [(curve.of, curve.promoted, curve.errors) for curve in accumulated((128, 512))][:2]
    [('positive numbers', False, (0.000657, 0.00616)), ('positive numbers', True, (0.000657, 0.000626))]
    """
    if not depths or any(not isinstance(k, int) or k < 128 or k % 128 for k in depths):
        raise SimlayoutError(f"depths = {depths!r}: multiples of 128 that rise, as in (128, 256)")
    generator, curves = np.random.default_rng(0), []
    a, b = (generator.standard_normal(shape) for shape in ((64, depths[-1]), (depths[-1], 16)))
    for kind in STYLES:
        left, right = (nearest("e4m3", abs(x) if kind == "positive numbers" else x) for x in (a, b))
        rows, columns = exact("e4m3", left), exact("e4m3", right)
        for promoted in (False, True):
            sums = _sums(left, right, depths, PROMOTED if promoted else depths[-1])
            errors = tuple(_off(s, rows[:, :K] @ columns[:K]) for K, s in zip(depths, sums))
            curves.append(Curve(kind, promoted, depths, errors))
    return tuple(curves)


def _sums(a, b, depths, every):
    """[float32 sums of the first K products, for each of depths]: those of `every` K from zero in the tensor core, which
    are added in float32."""
    done, whole, part, made = 0, np.float32(0), None, []
    for K in depths:
        while done < K:
            step = min(every - done % every, K - done)
            part = gemm(INSTRUCTION, a[:, done:done + step], b[done:done + step], part)
            done += step
            if done % every == 0:
                whole, part = whole + part, None
        made.append(whole if part is None else whole + part)
    return made


def _off(sums, right):
    """The error of sums relative to what is right, which is exact in float64, to three digits."""
    return float(f"{np.sqrt(np.mean((sums - right) ** 2) / np.mean(right**2)):.3g}")


@typed()
def lost_by_depth(curves: Sequence[Curve], ax: Axes | None = None,
                  title: str = "What a sum of e4m3 products loses in the tensor core") -> Axes:
    """Draws errors against K, both logarithmic; returns the Axes. ax: where to draw; None makes a figure.

    Raises SimlayoutError without curves, or if Matplotlib is missing.

    >>> lost_by_depth(accumulated((128, 256))).get_xlabel()
    'K: products that are added up'
    """
    if not curves:
        raise SimlayoutError("no curves to draw: give those of `accumulated`")
    if (ax := one_axes(ax)) is None:
        ax = shown_figure(figsize=(13.33, 6.6), layout="constrained").add_subplot()
    for curve in curves:
        how = f"promoted to float32 every {PROMOTED} of K" if curve.promoted else "one sum in the tensor core"
        ax.plot(curve.depths, curve.errors, STYLES[curve.of], color=COLOURS[curve.promoted], linewidth=2.2, markersize=8)
        ax.annotate(f"{how},\n{curve.of}: {100 * curve.errors[-1]:.2g} %", (curve.depths[-1], curve.errors[-1]), (10, 0),
                    textcoords="offset points", fontsize=TEXT, va="center", color=COLOURS[curve.promoted])
    depths = sorted({K for curve in curves for K in curve.depths})
    ax.set(xscale="log", yscale="log", xlim=(depths[0] / 1.2, depths[-1] * 5))
    ax.axhline(BF16, color="0.45", linewidth=1.2, linestyle=":", zorder=1)
    ax.annotate(f"the most that rounding C to bfloat16 loses: {100 * BF16:.2g} %", (depths[-1] / 4, BF16), (0, 4),
                textcoords="offset points", fontsize=NOTE, color="0.35", ha="right")
    ax.set_xticks(depths, list(map(str, depths)))
    ax.minorticks_off()
    powers = range(-4, 0)
    ax.set_yticks([10.0**p for p in powers], [f"{100 * 10.0**p:g} %" for p in powers])
    ax.yaxis.grid(True, color="0.9", zorder=0)
    ax.set_xlabel("K: products that are added up", fontsize=TEXT)
    ax.set_ylabel("error of C (root mean square, relative); lower is better", fontsize=TEXT)
    finished(ax, title)
    return ax
