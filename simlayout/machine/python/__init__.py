"""Kernels as Python source: rewritten so that 32 lanes run at once, and run by the engine.

    rewrite, statements, syntax        the source, rewritten; inference: the types of its names
    divergence, flow                   what rewritten code calls where lanes part and meet
    numbers, operators, functions      what a kernel computes with, as Numba types it; products, contraction: sums that a GPU
                                       rounds once
    registers                          arrays in registers
    run, warp, turns                   a launch and its warps; work: that of a kernel that knows its arguments
"""
