"""What an estimate of `hopper_model` still lacks, by kinds of configurations: factors, as measured."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simlayout.errors import ParseError
from simlayout.files import write_record

ORDERS = (1, 2, 4, 8, 16)
"""Rows of tiles in the groups that are walked together, of which each candidate may have any."""

PATH = Path(__file__).with_name("h200_corrections.json")


@dataclass(frozen=True)
class Corrections:
    """Measured times over estimated ones. programs: {`kind_of`: factor}; orders: {(cluster_m, cluster_n): factors of the
    ORDERS}. What is not there needs no correction, as far as is known."""

    programs: dict = field(default_factory=dict)
    orders: dict = field(default_factory=dict)

    def of_programs(self, configs):
        """float64 [configurations]."""
        return np.array([self.programs.get(kind_of(c), 1.0) for c in configs])

    def of_orders(self, configs):
        """float64 [configurations, orders]."""
        return np.array([self.orders.get((c.cluster_m, c.cluster_n), (1.0,) * len(ORDERS)) for c in configs])

    def write(self, path, head):
        """Writes a file that `read` reads; head: what goes before, {name: value}."""
        write_record(path, head, programs=[[*kind, round(x, 4)] for kind, x in sorted(self.programs.items())],
                     orders=[[*cluster, *(round(x, 4) for x in found)] for cluster, found in sorted(self.orders.items())])


def kind_of(config):
    """What configurations with one factor have in common: tile_m, tile_n, bands, cluster_m, cluster_n, slices, resident,
    c_major."""
    return (config.tile_m, config.tile_n, config.bands, config.cluster_m, config.cluster_n, config.slices, config.resident,
            config.c_major)


def order_index(group):
    """int64: which of the ORDERS groups of so many rows are most like, the largest that is not larger.

    >>> order_index(np.array([1, 3, 10, 16])).tolist()
    [0, 1, 3, 4]
    """
    return np.searchsorted(ORDERS, group, "right") - 1


def read(path=PATH):
    """The Corrections of a file that `Corrections.write` wrote; ParseError for another one."""
    try:
        record = json.loads(Path(path).read_text())
        return Corrections({tuple(row[:-1]): row[-1] for row in record["programs"]},
                           {tuple(row[:2]): tuple(row[2:]) for row in record["orders"]})
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ParseError(f"{path} holds no corrections: {error}") from None
