"""Kernels as Python source: rewritten so that 32 lanes run at once, and run by the engine."""
