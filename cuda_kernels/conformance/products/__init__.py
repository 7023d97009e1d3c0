"""What a GPU's tensor cores make of matrices, bit for bit against `simlayout.mma` and `gemm`: `mma` and `wgmma_sp`, by the
random operands of `cases`; `common` has what both commands share."""
