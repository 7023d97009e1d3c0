"""Learns the trees that correct the estimates (`cuda_kernels.matmul.choose.trees`). Needs CatBoost, but no GPU.

    python -m cuda_kernels.lab.tuning_learn RECORD [RECORD ...] [--write FILE]
    python -m cuda_kernels.lab.tuning_learn RECORD [RECORD ...] --kept

Prints what choosing by the estimates costs without trees, and with trees that never saw the product in question: the
products are split into FOLDS parts, and each part is estimated by trees learned from the others. --write learns from all
of them. Records may be of several GPUs; one that is named twice counts twice. Products in groups have trees of their own, so
their records are learned from alone. --kept learns nothing, needs no CatBoost, and prints what choosing by the trees that
`matmul` and `grouped_matmul` have now costs at these records.
"""

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.lab.tuning_fit import read_each, summary
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.matmul.choose.trees import Trees, features
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import check_writable

FOLDS = 5
SETTINGS = dict(depth=7, learning_rate=0.2, l2_leaf_reg=20, loss_function="RMSE", random_seed=1,
                thread_count=1, allow_writing_files=False, verbose=False)
"""Of CatBoost. At 715 products in a row of an H200 that trees had not seen choosing costs 1.7 percent with a rate of 0.15,
1.6 with 0.25 and with 1000 of depth 8 at 0.1, three times as large; with 0.2 it costs less than with 0.25 at eight of eleven
kinds of products of an H100 and an H200. Leaves of 1.15 times the size, which cost 0.1 percent less across folds, and 1000
trees of depth 8 with such leaves, whose file is 2.8 times as large, chose otherwise for 147 and 708 of 1,207 fresh products:
these took 0.4 and 0.7 percent less on an H200, but of the 782 where not all choose alike 10 and 9 instead of 10 were below
0.95 of cuBLAS's speed (`tests/data/h200_trees_pairs.json.xz`). Trees that had learned from `h200_multicast_row.json.xz`,
too, took 0.9985 of the time at 131 products where they chose otherwise, and 0.970 at 30 shallow ones
(`h200_learned_pairs.json.xz`). They are left out: its configurations were measured early or late, not both, and by such
trees one product of an H100 begins late that takes 23 percent longer so (`tests/data/h100_ahead.json`)."""

TREES = {False: 560, True: 200}
"""How many, by whether products are grouped. Of groups 150 chose worse: choosing costs 2.6 percent instead of 2.2 at 90
products of an H100, and 1.7 instead of 1.6 at 96 of an H200, by trees that had not seen the product. Trees that had learned
from `tests/data/h200_groups_many.json.xz`, too, which has what those of today hold for likely, chose another configuration
for 40 of 80 fresh products, and these took 1.002 times as long (0.79 to 1.29, `h200_groups_pairs.json.xz`)."""


def target(measured, plain):
    """float64 [measurements]: logarithms of the errors of the estimates without trees, less the mean of its product."""
    off = np.log(measured.times / plain)
    mean = np.bincount(measured.product, measured.weights * off) / np.bincount(measured.product, measured.weights)
    return off - mean[measured.product]


def table_of(measured, plain):
    """`features` of each measurement, whose estimates without trees are `plain`."""
    return features(*measured.of_each, plain, measured.gpu)


@dataclass(frozen=True)
class Lesson:
    """What so many trees learn from the Measured of several GPUs, behind one another: table: of `features`; logarithms: as
    `learn` takes them; weights, problem: of each measurement, how much it counts and of which product."""

    many: int
    table: np.ndarray
    logarithms: np.ndarray
    weights: np.ndarray
    problem: np.ndarray

    def of(self, measurements):
        """The Lesson of some of the measurements alone."""
        return Lesson(self.many, self.table[:, measurements], self.logarithms[measurements], self.weights[measurements],
                      self.problem[measurements])

    @property
    def trees(self):
        """The Trees that it teaches."""
        return learn(self.many, self.table, self.logarithms, self.weights)


def lesson_of(each, plains):
    """The Lesson of some Measured, whose estimates without trees are `plains`."""
    return Lesson(TREES[each[0].grouped],
                  np.concatenate([table_of(m, plain) for m, plain in zip(each, plains)], 1),
                  np.concatenate([target(m, plain) for m, plain in zip(each, plains)]),
                  np.concatenate([m.weights for m in each]),
                  np.concatenate([np.array(m.problems)[m.product] for m in each]))


def learn(many, table, logarithms, weights):
    """So many Trees fitted to `logarithms`, float64 [measurements], over a table of `features`; weights: how much each
    measurement counts. Raises DeviceError without CatBoost."""
    try:
        from catboost import CatBoostRegressor
    except ImportError:
        raise DeviceError("learning needs CatBoost: pip install 'simlayout[tuning]'") from None
    model = CatBoostRegressor(iterations=many, **SETTINGS)
    model.fit(table.T, logarithms, sample_weight=weights)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return trees_of(json.loads(path.read_text()))


def trees_of(model):
    """The Trees of what CatBoost writes as JSON. A tree that is less deep than the others gets further conditions that
    are never true.

    >>> trees = trees_of({"oblivious_trees": [{"splits": [{"float_feature_index": 1, "border": 100}],
    ...                                        "leaf_values": [0, 0.5]}], "scale_and_bias": [2, [0.25]]})
    >>> trees.feature.tolist(), trees.border.tolist(), trees.leaf.tolist()
    ([[1]], [[100.0]], [[0.25, 1.25]])
    """
    scale, (bias,) = model["scale_and_bias"]
    trees = model["oblivious_trees"]
    depth = max(len(tree["splits"]) for tree in trees)
    feature, border = np.zeros((len(trees), depth), int), np.full((len(trees), depth), 1e30, np.float32)
    leaf = np.zeros((len(trees), 2 ** depth))
    for i, tree in enumerate(trees):
        splits, values = tree["splits"], tree["leaf_values"]
        feature[i, :len(splits)] = [split["float_feature_index"] for split in splits]
        border[i, :len(splits)] = [split["border"] for split in splits]
        leaf[i, :len(values)] = values
    return Trees(feature, border, scale * leaf + bias / len(trees))


def foreseen(lesson):
    """float64 [measurements]: the factor of each by trees that did not see its product, on any GPU."""
    _, shape = np.unique(lesson.problem, axis=0, return_inverse=True)
    fold, factors = shape.ravel() % FOLDS, np.empty(len(lesson.logarithms))
    for i in range(FOLDS):
        factors[fold == i] = lesson.of(fold != i).trees(lesson.table[:, fold == i])
    return factors


def main(arguments=None):
    """Prints what the trees are worth; writes them with --write."""
    parser = parser_of("cuda_kernels.lab.tuning_learn", __doc__)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="files that cuda_kernels.lab.tuning wrote")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", metavar="FILE", help="learn from all products, and write the trees")
    group.add_argument("--kept", action="store_true", help="learn nothing: what the trees that matmul has now are worth")
    options = parser.parse_args(arguments)
    if options.write:
        check_writable(options.write)
    each = read_each(*options.records)
    if len({measured.grouped for measured in each}) > 1 and not options.kept:
        raise SimlayoutError("these are records of products in groups and of others: learn from them one after the other")
    plains = [measured.estimated(RATES) for measured in each]
    _print("without trees", each, plains)
    if options.kept:
        _print("kept", each, [measured.corrected(plain) for measured, plain in zip(each, plains)])
        return 0
    lesson = lesson_of(each, plains)
    ends = np.cumsum([len(plain) for plain in plains])[:-1]
    _print("foreseen", each, [p * f for p, f in zip(plains, np.split(foreseen(lesson), ends))])
    if options.write:
        trees = lesson.trees
        _print("learned", each, [p * f for p, f in zip(plains, np.split(trees(lesson.table), ends))])
        trees.write(options.write, {"records": Counter(path.name for path in options.records)})
    return 0


def _print(title, each, estimated):
    """Prints the `summary` of each Measured with some estimates, by GPU and width of A and B."""
    for measured, times in zip(each, estimated):
        print(f"{title}, {measured}: {summary(measured, times)}", flush=True)


if __name__ == "__main__":
    ended_by(main)
