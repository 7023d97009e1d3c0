"""A factor that corrects an estimate of `choose.model`, learned from measurements as a sum of regression trees.

The estimate covers what is understood. Among configurations within a few percent of each other its choice was right too
seldom, so the trees correct it; they see the same inputs as the estimate, and its result.
"""

import json
import lzma
from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from simlayout.errors import ParseError, SimlayoutError
from simlayout.files import write_record

PATH, OF_GROUPS = (Path(__file__).with_name(name) for name in ("trees.json", "trees_of_groups.json"))
"""Of plain products and of grouped ones, of which an estimate knows less."""

UNIT = 8e-5
"""The unit of the leaves in a file, which are whole numbers: they are logarithms of the factor, in steps of this. In half of
it the file would be an eighth larger."""

STORED = {"condition": "<u2", "feature": "<u1", "border": "<f4", "leaf": "<i2"}
"""The arrays of a file: of each node the number of its condition, of each condition the feature and the border, which
others share, and the leaves. They are of these types, as base64 of what `_packed` makes of them: a wheel cannot compress
base64 of the arrays themselves as well, and a megabyte of JSON's numbers takes twenty times as long to read."""

OPTIONS = ("tile_m", "tile_n", "stages", "resident", "cluster_m", "cluster_n", "slices", "consumers", "pingpong",
           "turned", "boxes", "promotes")
WORK = ("misalignment", "off_a", "off_b", "whole", "left", "parts", "waves", "busy", "busy_last", "usual", "most", "narrow",
        "c_bytes")
FEATURES = (*OPTIONS, *WORK, "group", "rows", "cols", "steps", "tall", "wide", "paired", "gathered", "requested", "padded",
            "memory", "time", "power", "c_off", "across", "beyond", "dram", "early")
"""The inputs of the trees: attributes of `model.Estimates` and of its `Work`, and what `features` computes from them."""

LINE, SECTOR = 64, 16
"""Elements of 16 bits in a line of L2, and in a sector of it."""


def features(estimates, work, times, gpu):
    """float32 [FEATURES, configurations] of Estimates, their Work, and their times in microseconds on a GPU with Figures.

    Four say what the formula does not know: c_off, whether C's lines or what tiles store of them start off L2's lines (1),
    off their halves (2), or off sectors (3), so that two tiles share what lies at their edge; across: whether lines of A
    (1), of B (2) or of both (3) run across the tile instead of along K; beyond: how many columns a tile has of the last 64
    of such a B that it loads; dram: of the GPU, in bytes per nanosecond. One says what it leaves out: early, whether the
    next kernel may begin early, of several such products in a row."""
    tall = -(-work.rows // (estimates.tile_m * estimates.cluster_m))
    wide = -(-work.cols // (estimates.tile_n * estimates.cluster_n))
    tile = estimates.tile_m * estimates.tile_n
    line, part = np.where(estimates.turned, (work.rows, estimates.tile_m), (work.cols, estimates.tile_n))
    c_off = sum(((line % whole > 0) | (part % whole > 0)).astype(int) for whole in (LINE, LINE // 2, SECTOR))
    of_a, of_b = estimates.across
    derived = dict(group=np.minimum(estimates.group, tall), rows=work.rows, cols=work.cols, steps=work.steps, tall=tall,
                   wide=wide, paired=work.paired / work.requested, gathered=work.gathered / work.requested,
                   requested=work.requested / tile, padded=work.flops / (work.rows * work.cols * work.steps),
                   memory=work.memory / times, time=times, power=work.flops / times, c_off=c_off,
                   across=of_a + 2 * of_b, beyond=np.where(of_b, estimates.tile_n % 64, 0), dram=gpu.dram,
                   early=estimates.early)
    columns = [getattr(estimates, name) for name in OPTIONS] + [getattr(work, name) for name in WORK]
    columns += derived.values()
    table = np.empty((len(FEATURES), len(times)), np.float32)
    for row, column in zip(table, columns):
        row[:] = column
    return table


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees in which all nodes of a depth compare the same feature with the same border.

    feature [trees, depth]: its number in FEATURES; border [trees, depth], float32: the bit of this depth is set where the
    feature is larger; leaf [trees, 2**depth], float64: what is added to the logarithm of the factor, by the number that
    these bits make, the first depth being the lowest bit."""

    feature: np.ndarray
    border: np.ndarray
    leaf: np.ndarray

    def __call__(self, table):
        """float64 [configurations]: the factors for a table of `features`.

        >>> one = Trees(np.array([[1]]), np.array([[100]], np.float32), np.log([[1, 1.5]]))
        >>> table = np.zeros((len(FEATURES), 2), np.float32)
        >>> table[1] = 64, 128                           # tile_n
        >>> one(table).tolist()
        [1.0, 1.5]
        """
        trees, depth = self.feature.shape
        more = table[self.feature.ravel()] > self.border.reshape(-1, 1)
        leaves = (more.reshape(trees, depth, -1) << np.arange(depth, dtype=np.uint8)[:, None]).sum(1, dtype=np.uint8)
        return np.exp(np.take_along_axis(self.leaf, leaves.astype(np.intp), 1).sum(0))

    def write(self, path, head):
        """Writes a file that `read` reads; head: {name: value} at its beginning."""
        steps = np.rint(self.leaf / UNIT)
        if np.abs(steps).max() >= 1 << 15:
            raise SimlayoutError(f"a leaf adds {steps.max() * UNIT:.3f} to a logarithm: a file holds less than "
                                 f"{UNIT * (1 << 15):.5f}")
        every = np.rec.fromarrays([self.feature.ravel(), self.border.ravel()], names="feature, border")
        conditions, number = np.unique(every, return_inverse=True)
        arrays = {"condition": number, "feature": conditions.feature, "border": conditions.border, "leaf": steps}
        kept = {name: b64encode(_packed(_planes(arrays[name].astype(kind)))).decode() for name, kind in STORED.items()}
        write_record(path, {**head, "features": FEATURES, "depth": self.feature.shape[1], **kept})


def _planes(array):
    """An array of 16-bit numbers as bytes, all upper ones ahead of all lower ones, of numbers that are twice as large, or of
    2 * -n - 1 where one is negative: most upper ones are 0, which saves a twentieth. Other arrays stay."""
    if array.dtype != "<i2":
        return array
    numbers = array.ravel().astype(np.int32)
    folded = numbers << 1 ^ numbers >> 15
    return np.concatenate([folded >> 8, folded & 255]).astype(np.uint8)


def _of_planes(data, kind):
    """The array of a type that `_planes` made bytes of."""
    if kind != "<i2":
        return np.frombuffer(data, kind)
    upper, lower = np.frombuffer(data, np.uint8).reshape(2, -1).astype(np.int32)
    folded = upper << 8 | lower
    return (folded >> 1 ^ -(folded & 1)).astype(kind)


def _packed(array):
    """What lzma makes of an array. That it is told the size of a number saves a tenth; that leaves of even and odd numbers
    differ, a hundredth."""
    aligned = array.itemsize.bit_length() - 1
    how = {"id": lzma.FILTER_LZMA1, "preset": 6 | lzma.PRESET_EXTREME, "lc": 1, "lp": max(aligned, 1), "pb": aligned}
    return lzma.compress(array.tobytes(), lzma.FORMAT_ALONE, filters=[how])


def read(path=PATH):
    """The Trees of a file that `Trees.write` wrote. Raises ParseError for any other file, and for other FEATURES."""
    try:
        record = json.loads(Path(path).read_text())
        depth = record["depth"]
        arrays = (_of_planes(lzma.decompress(b64decode(record[name], validate=True)), kind)
                  for name, kind in STORED.items())
        condition, feature, border, leaf = arrays
        condition, leaf = condition.reshape(-1, depth), leaf.reshape(-1, 2 ** depth)
        if (tuple(record["features"]) != FEATURES or len(condition) != len(leaf) or len(feature) != len(border) or depth > 8
                or feature.max(initial=0) >= len(FEATURES)):
            raise ValueError("its features or shapes are others")
        return Trees(feature[condition], border[condition].astype(np.float32), leaf * UNIT)
    except (ValueError, KeyError, TypeError, IndexError, lzma.LZMAError, EOFError) as error:
        raise ParseError(f"{path} holds no trees: {error}") from None


@lru_cache(None)
def learned(path=PATH):
    """The trees of a file, read once."""
    return read(path)
