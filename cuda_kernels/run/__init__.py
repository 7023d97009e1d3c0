"""Runs kernels on the GPU or on the CPU machine, with the same arguments and results."""
