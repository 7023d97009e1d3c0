"""Warps of PTX in NumPy: their lanes run in `parts` where they have parted, and each warp has its `turns`."""
