"""The model against the hardware.

One instruction at a time, with Nsight Compute: `cases` makes the address patterns, `forms` the instructions, `probe` runs
them, `ncu` reads the counters, `measure` puts the numbers back to their cases, `suite` is the command; `clocks` times them
instead. Whole kernels: `gemms`. Arithmetic: `products`. Fragments: `fragments` and its parts. Instructions of PTX on
registers: `opcodes`. Kernels that other compilers made: `foreign`; programs and tests of others: `programs`. The problems of
the practical tutorial: `practical`. AMD: `rocm`.
"""
