"""Draws every figure of the gallery, as SVG and PNG beside this file: `python figures/draw.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import simlayout as sl  # noqa: E402 (after the choice of backend)
from cuda_kernels import KERNELS  # noqa: E402
from cuda_kernels.bench import pictures, record  # noqa: E402
from cuda_kernels.bench.steps import SIZE  # noqa: E402
from simlayout.plots import comparison, ladder, save, share_by_size, share_by_waves  # noqa: E402
from simlayout.proofs.natural import natural_access  # noqa: E402

HERE = Path(__file__).parent
DATA = HERE.parent / "tests" / "data"


def banks_16x64():
    """A 16x64 f16 tile read by ldmatrix.x4, without and with a swizzle."""
    tile = sl.Layout((16, 64), (64, 1))
    tiles = tile, sl.Swizzle(3, 3, 3) @ tile
    return comparison(*(natural_access(t, "ldmatrix.x4", "f16").analyze() for t in tiles),
                      titles=[f"ldmatrix.x4 of {t}, f16" for t in tiles])


def hgemm_load_a():
    """The loads of A in cuda_hgemm, without any measure against bank conflicts and with rotated chunks."""
    kernels = [KERNELS[name] for name in ("mma_base", "mma_permuted")]
    return comparison(*(kernel.plan.access("load A").analyze() for kernel in kernels),
                      titles=[f"load A of {kernel.name}, ldmatrix.x4" for kernel in kernels])


def matmul_by_size():
    """matmul beside cuBLAS by the size of the product, as recorded."""
    found = record.read(DATA / "h200_matmul.json")
    return share_by_size(pictures.by_size(found), title=f"matmul beside cuBLAS on one {found.head['device']}").figure


def matmul_by_waves():
    """The same by how often the tiles of C fill the GPU."""
    found = record.read(DATA / "h200_matmul.json")
    return share_by_waves(pictures.by_waves(found)).figure


def kernels():
    """Every recorded kernel beside cuBLAS, at the largest size."""
    found = record.read(DATA / "h200_bench.json")
    return _ladder(pictures.of_kernels, found, max(pictures.sizes_of(found, "kernels")))


def steps():
    """The ladder of fast.cu, as published and as recorded, at the size of the publication."""
    return _ladder(pictures.of_steps, record.read(DATA / "h200_steps.json"), SIZE)


def rungs():
    """The ladders of MatmulTutorial and cuda_hgemm, as published for an A100 and as recorded."""
    found = record.read(DATA / "h200_ladder.json")
    return _ladder(pictures.of_ladder, found, max(pictures.sizes_of(found, "ladder")))


def _ladder(bars_of, found, size):
    return ladder(bars_of(found, size), title=f"{size} x {size} x {size} on one {found.head['device']}").figure


FIGURES = (banks_16x64, hgemm_load_a, matmul_by_size, matmul_by_waves, kernels, rungs,
           *([steps] if (DATA / "h200_steps.json").exists() else []))


def main(folder=HERE):
    """Writes FIGURE.svg and FIGURE.png for each of FIGURES."""
    for draw in FIGURES:
        figure = draw()
        for kind in ("svg", "png"):
            save(figure, Path(folder) / f"{draw.__name__}.{kind}")
        matplotlib.pyplot.close(figure)


if __name__ == "__main__":
    main()
