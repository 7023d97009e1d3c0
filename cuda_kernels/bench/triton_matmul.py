"""Triton's matmul, for a row beside ours: tiles by tl.dot, groups of rows, the best of a few configurations.

Needs triton, which comes with torch; without it only `require` is of use.
"""

from simlayout.errors import SimlayoutError

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

TILES = ((128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 4, 8),
         (128, 64, 64, 5, 4), (64, 128, 64, 5, 4), (64, 64, 64, 6, 4), (64, 256, 64, 4, 4))
"""Rows, columns and depth of a tile, stages, warps: what Triton's autotuner chooses among, for each M, N, K and order."""

GROUP = 8
"""Rows of tiles that are walked together."""


def require():
    """Raises SimlayoutError where triton is not installed."""
    if triton is None:
        raise SimlayoutError("--triton: triton is not installed: pip install triton, or leave --triton out")


class Matmul:
    """out = a @ b by Triton, to be called again and again; the first call of a problem chooses the configuration."""

    def __init__(self, a, b, out):
        require()
        (M, K), N = a.shape, b.shape[1]
        self._arguments = a, b, out, M, N, K, *a.stride(), *b.stride(), *out.stride()
        self._grid = lambda option: (triton.cdiv(M, option["ROWS"]) * triton.cdiv(N, option["COLS"]),)

    def __call__(self):
        gemm[self._grid](*self._arguments)

    @property
    def kernel(self):
        """The options that the last call used."""
        best = gemm.best_config
        return {**best.kwargs, "stages": best.num_stages, "warps": best.num_warps}


if triton is not None:
    @triton.autotune(
        configs=[triton.Config({"ROWS": rows, "COLS": cols, "DEPTH": depth, "GROUP": GROUP}, num_stages=stages,
                               num_warps=warps) for rows, cols, depth, stages, warps in TILES],
        key=["M", "N", "K", "a_row", "b_row"])
    @triton.jit
    def gemm(a, b, c, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
             ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
        """A tile of C = A B per program; strides in elements."""
        index, tiles_m, tiles_n = tl.program_id(0), tl.cdiv(M, ROWS), tl.cdiv(N, COLS)
        first = index // (GROUP * tiles_n) * GROUP
        height = min(tiles_m - first, GROUP)
        tile_m = first + index % (GROUP * tiles_n) % height
        tile_n = index % (GROUP * tiles_n) // height
        rows = (tile_m * ROWS + tl.arange(0, ROWS)) % M
        cols = (tile_n * COLS + tl.arange(0, COLS)) % N
        depth = tl.arange(0, DEPTH)
        at_a = a + rows[:, None] * a_row + depth[None, :] * a_col
        at_b = b + depth[:, None] * b_row + cols[None, :] * b_col
        total = tl.zeros((ROWS, COLS), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, DEPTH)):
            left = K - k * DEPTH
            x = tl.load(at_a, mask=depth[None, :] < left, other=0.0)
            y = tl.load(at_b, mask=depth[:, None] < left, other=0.0)
            total = tl.dot(x, y, total)
            at_a += DEPTH * a_col
            at_b += DEPTH * b_row
        row, col = tile_m * ROWS + tl.arange(0, ROWS), tile_n * COLS + tl.arange(0, COLS)
        inside = (row[:, None] < M) & (col[None, :] < N)
        tl.store(c + row[:, None] * c_row + col[None, :] * c_col, total.to(c.dtype.element_ty), mask=inside)
