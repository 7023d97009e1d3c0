"""The estimates of all candidates. To make and check 1,800 configurations takes a tenth of a second, so what is known of
them is kept on disk beside the kernels, and only those that are chosen are made again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cuda_kernels.build.cache import compiled
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import KK, candidates
from cuda_kernels.matmul.choose.model import Estimates, columns_of


@dataclass(frozen=True)
class Table:
    """The `candidates` for such operands and scales, as what `cache.compiled` keeps: JSON."""

    majors: tuple[str, str]
    scaled: str

    def compile(self):
        """("candidates", what differs from the default in each of them, and their columns)."""
        configs = candidates(self.majors, self.scaled)
        table = {"changes": [config.changes for config in configs], "columns": columns_of(configs)}
        return "candidates", json.dumps(table).encode()


class Listed(Sequence):
    """Configurations that differ from the default so much; each is made when it is indexed.

    >>> Listed([{}, {"tile_n": 128, "stages": 6}])[1].tile_n
    128
    """

    def __init__(self, changes):
        self._changes = changes

    def __len__(self):
        return len(self._changes)

    def __getitem__(self, i):
        return Hopper(**self._changes[i])


@lru_cache(None)
def programs_of(majors=KK, scaled=""):
    """The Estimates of all `candidates` for such operands and scales, in their usual order of tiles.
    A scale of a whole tensor needs no room, so that the candidates are those without scales."""
    table = json.loads(compiled(Table(majors, "" if scaled == "tensor" else scaled))[1])
    return Estimates(Listed(table["changes"]), columns=table["columns"])
