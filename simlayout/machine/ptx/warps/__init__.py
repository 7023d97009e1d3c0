"""Warps of PTX in NumPy: each `warp` has its `turns`; its lanes run in `parts` where they have parted, and exchange
something in `meetings`; `circles`: launches that go round for ever."""
