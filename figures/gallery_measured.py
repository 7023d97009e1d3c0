"""The gallery's pictures of measured speed, from the records in tests/data."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from picture import Picture

from cuda_kernels.bench import pictures, record
from cuda_kernels.bench.steps import SIZE
from cuda_kernels.lab.tuning_fit import START, read
from simlayout.plots import Dot, ladder, share_by_size, share_by_waves

DATA = Path(__file__).parent.parent / "tests" / "data"


SERIES = {"layers": "transformer layers", "few": "few tiles", "transposes": "transposed operands", "random": "random sizes"}
"""Set of `cuda_kernels.bench.sets` -> what a legend calls it."""


def _named(dots):
    return tuple(replace(dot, series=SERIES.get(dot.series, dot.series)) for dot in dots)


def by_size():
    """matmul beside cuBLAS by the size of the product, as recorded."""
    found = record.read(DATA / "h200_matmul.json")
    return _named(pictures.by_size(found)), f"matmul beside cuBLAS on one {found.head['device']}, f16 and bf16"


def by_waves():
    """The same by how often the tiles of C fill the GPU."""
    found = record.read(DATA / "h200_matmul.json")
    return _named(pictures.by_waves(found)), f"matmul beside cuBLAS on one {found.head['device']}, f16 and bf16"


def chosen(file):
    """Beside cuBLAS the configuration that the estimate chooses among those that were measured, and the best of them."""
    measured = read(DATA / file)
    estimates, work = measured.of_each
    numbers, _ = measured.choices(estimates.corrected(work, measured.estimated(START)))
    dots = []
    for i, (problem, cublas) in enumerate(zip(measured.problems, measured.cublas)):
        label, times = " x ".join(map(str, problem)), measured.times[measured.product == i]
        for series, us in (("the best of those measured", times.min()),
                           ("what the estimate chooses", measured.times[numbers[i]])):
            dots.append(Dot(float(np.prod(problem, dtype=float)) ** (1 / 3), float(cublas / us), series, label))
    return tuple(dots), "24 configurations of each of 49 products, f16, on one NVIDIA H100"


def bars(of, file, kind):
    """Bars of a record, at its largest size, and their title. kind: of its rows, or None for the size of the publication."""
    found = record.read(DATA / file)
    size = SIZE if kind is None else max(pictures.sizes_of(found, kind))
    dtype = next(row.problem.dtype for row in found.rows if row.problem.M == size)
    return tuple(of(found, size)), f"{size} x {size} x {size}, {dtype}, on one {found.head['device']}"


def _scatter(draw, made, says):
    return draw(list(made[0]), title=f"{says}\n{made[1]}")


def _ladder(made, says):
    return ladder(list(made[0]), title=f"{says}\n{made[1]}")


PICTURES = (
    Picture("matmul_by_size", "matmul is as fast as cuBLAS or faster for most products, small and large",
            by_size, partial(_scatter, share_by_size)),
    Picture("matmul_by_waves", "matmul keeps up with cuBLAS whether its tiles fill the GPU in part, once or fifty times",
            by_waves, partial(_scatter, share_by_waves)),
    Picture("chosen", "What the estimate chooses is mostly the best of what it thinks likely, or near it",
            partial(chosen, "h100_unseen.json.xz"), partial(_scatter, share_by_size)),
    Picture("kernels", "With 3 or 4 stages, padding or rotating rows makes mma_base about twice as fast",
            partial(bars, pictures.of_kernels, "h200_bench.json", "kernels"), _ladder),
    Picture("rungs", "Two tutorials' ladders climbed on an H200, and two rungs more",
            partial(bars, pictures.of_ladder, "h200_ladder.json", "ladder"), _ladder),
    Picture("steps", "fast.cu's ladder rebuilt: C through shared memory reaches cuBLAS",
            partial(bars, pictures.of_steps, "h200_steps.json", None), _ladder),
)
