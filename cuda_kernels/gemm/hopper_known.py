"""Products of which it was measured which configuration is the best: what no estimate tells as well."""

import json
from functools import lru_cache
from pathlib import Path

from cuda_kernels.gemm.hopper import Hopper
from simlayout.errors import ParseError, SimlayoutError
from simlayout.files import write_record

PATH = Path(__file__).with_name("h200_known.json")


def known(M, N, K, matrices, sms, a_major, b_major):
    """The Hopper configuration that was the best at a product of row-major A (M, K) and column-major B (K, N), for f16; None
    where none was measured, or on another GPU than the H200 with its 132 SMs.

    >>> known(1000, 1000, 1000, 1, 132, "K", "K") is known(128, 4096, 14336, 1, 114, "K", "K") is None
    True
    """
    if (matrices, sms, a_major, b_major) != (1, 132, "K", "K"):
        return None
    return _of_file().get((M, N, K))


@lru_cache(None)
def _of_file():
    return read(PATH)


def read(path):
    """{(M, N, K): configuration} of a file that `write` wrote; ParseError for another one."""
    try:
        rows = json.loads(Path(path).read_text())["rows"]
        return {tuple(shape): Hopper(**options) for shape, options, *_ in rows}
    except (ValueError, KeyError, TypeError, SimlayoutError) as error:
        raise ParseError(f"{path} holds no products: {error}") from None


def write(path, head, found):
    """Writes a file that `read` reads. head: what goes before, {name: value}; found: [((M, N, K), configuration, its time
    over that of the configuration with the least estimate)]."""
    write_record(path, head, rows=[[list(shape), config.changes, round(ratio, 4)] for shape, config, ratio in found])
