"""Emitted index functions, one module per kernel layout; `python -m cuda_kernels.emitted` writes them."""
