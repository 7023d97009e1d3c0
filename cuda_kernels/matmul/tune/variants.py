"""What is measured beside the likeliest configurations of a product: those that differ from the best of them in one option,
and the other ways to launch it."""

from dataclasses import fields, replace
from itertools import product

from cuda_kernels.kernels.hopper.config import widest_box
from cuda_kernels.matmul.choose.candidates import MANY, ORDERS, fitted
from cuda_kernels.matmul.choose.choice import suited, without_split
from simlayout.errors import SimlayoutError

CLUSTERS = *MANY, "2x2"
FITTED = "stages", "buffers", "box", "producer"
"""Options that `fitted` chooses."""


def variants(best, wanted, sms):
    """[Hopper configuration], on a GPU with so many SMs: tiles 8 columns wider and narrower, in all CLUSTERS, cut along K or
    not, by consumers in turns or not, and the same with C staged otherwise or a stage less.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> found = variants(Hopper(tile_n=112, stages=7), Wanted(376, 4288, 3720), 132)
    >>> sorted({c.tile_n for c in found}), max(c.sharing for c in found), min(c.stages for c in found)
    ([104, 112, 120], 8, 6)
    """
    other = [{"tile_n": best.tile_n + step} for step in (-8, 8) if 8 < best.tile_n + step <= 256]
    other += [dict(zip(("cluster_m", "cluster_n"), map(int, cluster.split("x")))) for cluster in CLUSTERS]
    other += [{"split": not best.split}, {"pingpong": not best.pingpong, "bands": 1 if best.pingpong else best.row_bands}]
    options = {f.name: getattr(best, f.name) for f in fields(best) if f.name not in FITTED}
    made = [fitted(**options | changes) for changes in other] + _staged(best)
    found = [without_split(c, wanted, sms) for c in made if c is not None]
    found = [suited(replace(c, group=best.group, early=best.early), wanted) for c in found]
    return [c for c in dict.fromkeys(found) if c is not None and c != best]


def _staged(best):
    """Configurations with C staged in each way, with as many stages as fit, and with a stage less than `best`."""
    made = [_or_none(best, stages=best.stages - 1)]
    for box, buffers in product((16, 32, 48, 64), (1, 2)):
        box = 0 if box == widest_box(best.tile_n, best.c_major) else box
        more = (_or_none(best, box=box, buffers=buffers, stages=best.stages + step) for step in (2, 1, 0, -1))
        made.append(next(filter(None, more), None))
    return made


def _or_none(config, **changes):
    """The configuration with other options; None where there is none."""
    try:
        return replace(config, **changes)
    except SimlayoutError:
        return None


def ways(best, wanted):
    """[Hopper configuration]: what is compiled for `best`, in each order of tiles and with the next kernel beginning early
    or not.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> [(c.group, c.early) for c in ways(Hopper(), Wanted(376, 4288, 3720))]
    [(1, False), (1, True), (2, False), (2, True), (3, False), (3, True)]
    """
    rows, cols = best.tile_grid(*best.turned(wanted.M, wanted.N))
    orders = dict.fromkeys(1 if cols == 1 else min(group, rows) for group in ORDERS)
    return [replace(best, group=group, early=early) for group, early in product(orders, (False, True))]
