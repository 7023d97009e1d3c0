"""The PTX of a configuration for Hopper: what Numba cannot say is put into its text."""

import re
from functools import lru_cache

from cuda_kernels.build.assembler import entry_of, program
from simlayout.errors import SimlayoutError

SIGNATURE = "u64 u64 u64 u64 s32 s32 s32 s32 s32 s32 s32 u64 s32 s32 u64 u64 s32 u64 u64 u64 u64 u64 u64"
"""Tensor maps of A, B and C; the address of C; M, N, K; matrices; whether A and B have one each; elements from row to row
and bytes from matrix to matrix of C; whole tiles, parts of the others, their workspace and counters; `Hopper.order`."""

MAPS = 3
"""So many parameters are tensor maps: 128 bytes by value."""


def ptx(config):
    """The PTX text of a configuration, its tensor maps as parameters by value."""
    from cuda_kernels.build.compile import bound_kernel, text_of

    text = maps_by_value(text_of(bound_kernel(config.python), SIGNATURE, (config.block, config.resident)), MAPS)
    return text if config.cluster_ctas == 1 else in_clusters(text, config.cluster_ctas)


def in_clusters(text, size):
    """PTX whose kernel is launched in clusters of `size` CTAs, as `__cluster_dims__` says in CUDA C++."""
    return re.sub(r"(\.maxntid [^\n]*\n)", rf"\1.reqnctapercluster {size}, 1, 1\n", text, count=1)


def maps_by_value(text, count):
    """PTX in which the first `count` parameters, 64-bit addresses, become 128-byte values whose address the kernel takes.

    That is what `const __grid_constant__ CUtensorMap` is in CUDA C++; Numba has no such parameter. The kernel then needs no
    copy of a map in global memory.
    """
    entry = entry_of(text)
    for i in range(count):
        name = re.escape(f"{entry}_param_{i}")
        text, declared = re.subn(rf"\.param \.u64 ({name})\b", r".param .align 64 .b8 \1[128]", text)
        text = re.sub(rf"ld\.param\.u64\s+(%\w+), \[({name})\];", r"mov.b64 \1, \2; cvta.param.u64 \1, \1;", text)
        if declared != 1:
            raise SimlayoutError(f"the kernel's parameter {i} is not one 64-bit address: maps_by_value cannot replace it")
    return text


@lru_cache(256)
def compiled(config):
    """(name of the entry, machine code for sm_90a) of a configuration."""
    return program(ptx(config))
