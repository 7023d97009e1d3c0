"""Warp tiling in bf16 on CUDA cores."""
