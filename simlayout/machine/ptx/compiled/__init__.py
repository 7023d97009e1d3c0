"""Straight-line pieces of a PTX program, executed by a loop that Numba compiles once: `instructions` says which are
compiled, `rows` makes their arithmetic of the same table that NumPy executes; `executor` has the loop; `encode` makes its
numbers of a Program."""
