"""The PTX of a configuration for Hopper: what Numba cannot say is put into its `Entry`."""

from functools import lru_cache

from cuda_kernels.build.assembler import program
from cuda_kernels.build.entry import Entry

SIGNATURE = "u64 u64 u64 u64 s32 s32 s32 s32 s32 s32 s32 u64 s32 s32 u64 u64 s32 u64 u64 u64 u64 u64 u64"
"""Tensor maps of A, B and C; the address of C; M, N, K; matrices; whether A and B have one each; elements from row to row
and bytes from matrix to matrix of C; whole tiles, parts of the others, their workspace and counters; `Hopper.order`."""

MAPS = 3
"""So many parameters are tensor maps: 128 bytes by value."""


def ptx(config):
    """The PTX text of a configuration, its tensor maps as parameters by value."""
    from cuda_kernels.build.compile import bound_kernel, text_of

    entry = Entry.of(text_of(bound_kernel(config.python), SIGNATURE, (config.block, config.resident))).with_values(MAPS)
    return str(entry if config.cluster_ctas == 1 else entry.in_clusters(config.cluster_ctas))


@lru_cache(256)
def compiled(config):
    """(name of the entry, machine code for sm_90a) of a configuration."""
    return program(ptx(config))
