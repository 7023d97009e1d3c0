"""The contents of a Record in the form that `simlayout.plots.performance` draws."""

from functools import partial

from cuda_kernels.bench.rungs import H100, rungs
from cuda_kernels.bench.sets import MATMUL, TRITON
from cuda_kernels.bench.steps import SIZE, ladder
from simlayout.errors import SimlayoutError
from simlayout.plots import performance
from simlayout.plots.library import lone_figure
from simlayout.plots.performance import SLIDE, TALL, Bar, Dot, ladder_height

LAYOUTS = {"mma_base": "mma_base, rows as they are", "mma_padded": "mma_padded, 16 bytes after each row",
           "mma_permuted": "mma_permuted, chunks rotated", "mma_blocks": "mma_blocks, blocks of 16 x 16",
           "mma_crosswise": "mma_crosswise, chunks XORed"}
"""Name of a kernel -> how its tiles lie in shared memory."""


def by_size(record):
    """Dots of matmul's and Triton's rows by (M N K)**(1/3)."""
    return [_dot(row, (row.problem.flops / 2) ** (1 / 3)) for row in record.of(*MATMUL)]


def by_waves(record):
    """Dots of matmul's rows by the waves of its tiles."""
    return [_dot(row, row.waves(record.sms)) for row in record.of(*MATMUL) if row.waves(record.sms) and row.label != TRITON]


def _dot(row, x):
    p = row.problem
    series = f"{row.set}, Triton" if row.label == TRITON else row.set
    return Dot(x, row.share, series, f"{p.M} x {p.N} x {p.K}")


def sizes_of(record, name):
    """The sizes M = N = K that a set was measured at, in rising order."""
    return sorted({row.problem.M for row in record.of(name)})


def of_kernels(record, size):
    """A Bar for each kernel that was measured at a size, in the order of the record, in the group of its layout."""
    return [Bar(row.label, row.share, group=LAYOUTS.get(row.label.split(",")[0], ""))
            for row in record.of("kernels") if row.problem.M == size]


def of_steps(record, size):
    """A Bar for each step of the ladder; published shares only at the size they were published for."""
    shares = {row.label: row.share for row in record.of("steps") if row.problem.M == size}
    return [Bar(step.name, shares.get(step.name), step.published_share if size == SIZE else None, step.why,
                where=H100)
            for step, _ in ladder() if step.name in shares or step.why]


def of_ladder(record, size):
    """A Bar for each rung that was measured at a size, with the share that its authors published for their own GPU."""
    shares = {row.label: row.share for row in record.of("ladder") if row.problem.M == size}
    return [Bar(f"{rung.name}: {rung.changed}", shares[rung.label], rung.published, group=rung.seed, where=rung.where)
            for rung in rungs() if rung.label in shares]


def overview(record):
    """A Figure with what the record has: shares by size and by waves, and bars for each size of kernels, steps and rungs.

    Raises SimlayoutError for an empty record, or if Matplotlib is missing.
    """
    panels = [(TALL, draw, dots) for draw, dots in ((performance.share_by_size, by_size(record)),
                                                    (performance.share_by_waves, by_waves(record))) if dots]
    for name, bars_of in (("kernels", of_kernels), ("steps", of_steps), ("ladder", of_ladder)):
        for size in sizes_of(record, name):
            bars = bars_of(record, size)
            draw = partial(performance.ladder, title=f"{name} at {size} x {size} x {size}")
            panels.append((ladder_height(len(bars)), draw, bars))
    if not panels:
        raise SimlayoutError("the record has no rows to draw")
    heights = [height for height, *_ in panels]
    figure = lone_figure(figsize=(SLIDE, sum(heights)), layout="constrained")
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for ax, (_, draw, data) in zip(axes, panels, strict=True):
        draw(data, ax=ax)
    return figure
