"""Kernels in CUDA C++, Triton and Numba, compiled to PTX, for judging the machine that executes PTX.

- `row`: one kernel and one launch of it (`Foreign`); `ROWS`: all of them, by subject in `rows_*`.
- `cuda/*.cu`, `triton_kernels`, `numba_kernels`: the sources. `build` compiles them into tests/data/foreign.
- `gpu`: runs the PTX on a GPU, keeps results and what Nsight Compute counts; `compare`: the machine beside that record.
"""

from cuda_kernels.conformance.foreign import (
    rows_arrays,
    rows_blocks,
    rows_cub,
    rows_cutlass,
    rows_hopper,
    rows_lanes,
    rows_numba,
    rows_numbers,
    rows_practice,
    rows_standard,
    rows_tensor,
    rows_triton,
)
from cuda_kernels.conformance.foreign.row import Foreign

ROWS: dict[str, Foreign] = {
    row.name: row
    for module in (rows_blocks, rows_cub, rows_arrays, rows_lanes, rows_numbers, rows_tensor, rows_hopper, rows_standard,
                   rows_practice, rows_cutlass, rows_triton, rows_numba)
    for row in module.ROWS
}
"""Name -> row."""

__all__ = ["ROWS", "Foreign"]
