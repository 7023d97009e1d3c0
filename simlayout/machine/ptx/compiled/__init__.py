"""Straight-line pieces of a PTX program, executed by a loop that Numba compiles once: `rows` has the arithmetic, as text
that `generate` writes from the same table that NumPy executes; `executor` the loop; `encode` makes its numbers of a
Program."""
