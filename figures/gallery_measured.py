"""The gallery's pictures of measured speed, from the records in tests/data."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from picture import Picture, joined

from cuda_kernels.bench import pictures, record
from cuda_kernels.bench.steps import SIZE
from cuda_kernels.kernels.hopper.sectors import run_of
from cuda_kernels.lab import tuning_record
from cuda_kernels.lab.overlap import as_launched
from cuda_kernels.lab.tuning_fit import read
from cuda_kernels.matmul.choose.rates import RATES
from simlayout.plots import Bar, Box, Dot, Panel, ladder, share_by_size, share_by_waves

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
    numbers, _ = measured.choices(measured.corrected(measured.estimated(RATES)))
    dots, longer = [], []
    for i, (problem, cublas) in enumerate(zip(measured.problems, measured.cublas)):
        label, size = " x ".join(map(str, problem[:3])), float(np.prod(problem[:3], dtype=float)) ** (1 / 3)
        best, us = measured.least[i], measured.times[numbers[i]]
        dots += [Dot(size, float(cublas / best), "the best that was measured"),
                 Dot(size, float(cublas / us), "what is chosen, unmeasured", label)]
        longer.append(us / best)
    mean, most = 100 * (np.exp(np.mean(np.log(longer))) - 1), 100 * (max(longer) - 1)
    return tuple(dots), (f"{len(longer)} products, f16, on one NVIDIA H100: {mean:.0f} % longer than the best of up to 24 "
                         f"(geometric mean), at most {most:.0f} %")


def overlapping(file):
    """Beside cuBLAS products in a row in a CUDA graph, launched to overlap the one before, and once that has ended."""
    found = json.loads((DATA / file).read_text())
    dots = []
    for row in found["rows"]:
        wait, us, cublas = as_launched(row, "row")
        size = float(np.prod(row[0][:3], dtype=float)) ** (1 / 3)
        dots += [Dot(size, cublas / us, "launched to overlap the one before"),
                 Dot(size, cublas / wait, "launched once the one before has ended")]
    return tuple(dots), f"{len(found['rows'])} products in a row, in CUDA graphs, f16 and bf16, on one {found['device']}"


def grouped(file):
    """Products in groups beside a loop of a product for each group, and beside torch's grouped product."""
    found = record.read(DATA / file)
    rows = [row for name in ("grouped", "groups") for row in found.of(name)]
    dots = tuple(Dot(row.problem.M / row.problem.groups, row.share, row.label) for row in rows)
    return dots, (f"{len({row.problem for row in rows})} products of 5 to 256 groups, bf16 and e4m3, in CUDA graphs, on one "
                  f"{found.head['device']}")


def sectors(file, problem):
    """Which of two neighbouring tiles of 128 columns writes the sectors of 32 bytes near their edge, in lines of which every
    other one starts within a sector: side by side, and as `store="sectors"` cuts them; with the times of a record."""
    found = tuning_record.read(DATA / file)
    tried = next(one for one in found.products if (one.problem.M, one.problem.N, one.problem.K) == problem)
    by_rows = {found.configs[i].store == "sectors": us for i, us in sorted(tried.times, key=lambda one: -one[1])}
    what = f"{' x '.join(map(str, problem))}, f16, on one {found.device} (cuBLAS: {tried.beside[0]:.0f} us)"
    return tuple(_sectors(f"{title}\n{what}", problem[1], overlap) for title, overlap in (
        (f"tiles side by side: {by_rows[False]:.0f} us (best of 7)", False),
        (f"tiles that overlap by 8 columns: {by_rows[True]:.0f} us", True)))


def _sectors(title, pitch, overlap, lines=6, first=88, last=168, edge=128):
    boxes = []
    for row in range(lines):
        end = run_of(2 * pitch * row, 0, edge, pitch)[1] if overlap else edge
        starts = range(first + 8 * (row % 2 != first // 8 % 2), last - 15, 16)
        for start in starts:
            owners = sorted({int(column >= end) for column in range(start, start + 16)})
            text = " and ".join("12"[owner] for owner in owners)
            boxes.append(Box((start - first) / 8, row, 2, 1, owners[0], text, len(owners) > 1))
    return Panel(title, (last - first) // 8, lines, boxes, [((c - first) / 8 + 0.5, str(c)) for c in range(first, last, 8)],
                 [(row + 0.5, str(row)) for row in range(lines)], xlabel="column of C", ylabel="line", low=0.3,
                 legend=[((0,), "sectors of 32 bytes that tile 1 writes"), ((1,), "that tile 2 writes")],
                 marked="a sector of which both write a half: L2 reads the rest from DRAM")


def promoting(file):
    """cuBLAS's clocks over those of tiles whose consumers promote, in turns and as the kernel has it now; of each tile with
    the cluster that takes least."""
    found, tiles = json.loads((DATA / file).read_text()), {}
    for tile, _, clocks, way in found["rows"]:
        if clocks[0] is not None and clocks[way] < tiles.get(tile, (np.inf,))[0]:
            tiles[tile] = clocks[way], clocks[0]
    made = tuple(Bar(f"tile {tile.replace('x', ' x ')}, {way}", found["cublas"] / clocks[i], group=way + more)
                 for tile, clocks in tiles.items()
                 for i, way, more in ((1, "in turns", ""), (0, "in no order", ", the next stage awaited ahead")))
    M, N, K, dtype, scaled = found["shape"]
    gpu = " ".join(found["device"].split()[:2])
    return made, f"{M} x {N} x {K}, {dtype}, scales of {scaled}, by clocks; one {gpu}"


def bars(of, file, kind):
    """Bars of a record, at its largest size, and their title. kind: of its rows, or None for the size of the publication."""
    found = record.read(DATA / file)
    size = SIZE if kind is None else max(pictures.sizes_of(found, kind))
    dtype = next(row.problem.dtype for row in found.rows if row.problem.M == size)
    return tuple(of(found, size)), f"{size} x {size} x {size}, {dtype}, on one {found.head['device']}"


def _scatter(draw, made, says):
    return draw(list(made[0]), title=f"{says}\n{made[1]}")


def _pairs(made, says):
    """Dots, each two of one product joined by a line: neighbours in the data."""
    ax, dots = _scatter(share_by_size, made, says), made[0]
    ax.vlines([dot.x for dot in dots[::2]], [dot.share for dot in dots[1::2]], [dot.share for dot in dots[::2]], color="0.6",
              linewidth=2, zorder=1)
    return ax


def _by_rows(made, says):
    """Shares by the rows of a group."""
    ax = _scatter(share_by_size, made, says)
    for axis, name, ticks in (("x", "rows of a group, on average", [4**i for i in range(1, 7)]),
                              ("y", "speed (the other way = 1)", (1, 1.5, 2, 3, 4, 6))):
        ax.set(**{f"{axis}scale": "log", f"{axis}label": name})
        getattr(ax, f"set_{axis}ticks")(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        getattr(ax, f"set_{axis}ticks")([], minor=True)
    ax.set_ylim(0.9, 1.2 * max(dot.share for dot in made[0]))
    return ax


def _ladder(made, says):
    return ladder(list(made[0]), title=f"{says}\n{made[1]}")


PICTURES = (
    Picture("matmul_by_size", "matmul is as fast as cuBLAS or faster for most products, small and large",
            by_size, partial(_scatter, share_by_size)),
    Picture("matmul_by_waves", "matmul keeps up with cuBLAS whether its tiles fill the GPU in part, once or fifty times",
            by_waves, partial(_scatter, share_by_waves)),
    Picture("chosen", "What matmul chooses without measuring anything is near the best that measuring would find",
            partial(chosen, "h100_unseen.json.xz"), _pairs),
    Picture("overlapping", "Small products in a row take less time if each is launched before the one ahead has ended",
            partial(overlapping, "h100_overlap.json"), _pairs),
    Picture("grouped", "Products in groups take less time in one kernel than one by one, or in torch's grouped product",
            partial(grouped, "h200_grouped_bench.json"), _by_rows),
    Picture("sectors", "Where two tiles share sectors of C, L2 reads these from DRAM; tiles that overlap write whole ones",
            partial(sectors, "h100_sectors.json", (20000, 4104, 128)), joined(2)),
    Picture("promoting", "Consumers that promote are faster in no order than in turns",
            partial(promoting, "promoting.json"), _ladder),
    Picture("kernels", "With 3 or 4 stages, padding or rotating rows makes mma_base about twice as fast",
            partial(bars, pictures.of_kernels, "h200_bench.json", "kernels"), _ladder),
    Picture("rungs", "Two tutorials' ladders climbed on an H200, and two rungs more",
            partial(bars, pictures.of_ladder, "h200_ladder.json", "ladder"), _ladder),
    Picture("steps", "fast.cu's ladder rebuilt: C through shared memory reaches cuBLAS",
            partial(bars, pictures.of_steps, "h200_steps.json", None), _ladder),
)
