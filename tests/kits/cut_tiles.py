"""Tests of tiles that are cut along K: what cuts small ones too, and what says that they are cut."""

from contextlib import contextmanager
from unittest.mock import patch

from cuda_kernels.kernels.hopper import kernel

SMS = 32
"""So many that every tile of a small product is cut whose configuration cuts any."""


@contextmanager
def cut_small_tiles():
    """A decorator of a test, in which adding parts up is taken to cost nothing, so that what is small is cut too."""
    with patch("cuda_kernels.kernels.hopper.last_wave.REDUCE_STEPS", 0):
        kernel._cut.cache_clear()
        try:
            yield
        finally:
            kernel._cut.cache_clear()


def assert_cut(config, M, N, K, sms=SMS):
    """Asserts that all tiles are cut where the configuration and the steps along K allow it; returns the parts of each."""
    steps, (whole, parts) = -(-K // config.depth), config.cut(M, N, K, 1, sms)
    may = 1 < config.slices <= steps or (config.split and steps > 1)
    assert (parts > 1) == may and (whole == 0 or not may), (config.changes, whole, parts)
    return parts
