"""Learns the trees that correct the estimates (`cuda_kernels.matmul.choose.trees`). Needs CatBoost, but no GPU.

    python -m cuda_kernels.lab.tuning_learn RECORD [RECORD ...] [--write FILE]
    python -m cuda_kernels.lab.tuning_learn RECORD [RECORD ...] --kept

Prints what choosing by the estimates costs without trees, and with trees that never saw the product in question: the
products are split into FOLDS parts, and each part is estimated by trees learned from the others. --write learns from all
of them. A record that is named twice counts twice. --kept learns nothing, needs no CatBoost, and prints what choosing by
the trees that `matmul` has now costs at these records.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from cuda_kernels.lab.tuning_fit import START, read, summary
from cuda_kernels.matmul.choose.trees import Trees, features
from simlayout.errors import DeviceError
from simlayout.files import check_writable

FOLDS = 5
SETTINGS = dict(iterations=1000, depth=8, learning_rate=0.1, l2_leaf_reg=20, loss_function="RMSE", random_seed=1,
                thread_count=1, allow_writing_files=False, verbose=False)
"""Of CatBoost. Of trees that never saw the product, those of depth 7 chose 0.1 percent worse, 2000 of these no better than
1000 of depth 8."""


def target(measured, plain):
    """float64 [measurements]: logarithms of the errors of the estimates without trees, less the mean of its product."""
    off = np.log(measured.times / plain)
    mean = np.bincount(measured.product, measured.weights * off) / np.bincount(measured.product, measured.weights)
    return off - mean[measured.product]


def table_of(measured, plain):
    """`features` of each measurement, whose estimates without trees are `plain`."""
    return features(*measured.of_each, plain)


def learn(table, logarithms, weights):
    """Trees fitted to `logarithms`, float64 [measurements], over a table of `features`; weights: how much each measurement
    counts. Raises DeviceError without CatBoost."""
    try:
        from catboost import CatBoostRegressor
    except ImportError:
        raise DeviceError("learning needs CatBoost: pip install 'simlayout[tuning]'") from None
    model = CatBoostRegressor(**SETTINGS)
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


def foreseen(measured, table, logarithms, folds=FOLDS):
    """float64 [measurements]: the factor of each by trees that did not see its product. table, logarithms: as in `learn`."""
    shapes = {shape: i for i, shape in enumerate(dict.fromkeys(measured.problems))}
    fold = np.array([shapes[shape] % folds for shape in measured.problems])[measured.product]
    factors = np.empty(len(logarithms))
    for i in range(folds):
        rest = fold != i
        factors[~rest] = learn(table[:, rest], logarithms[rest], measured.weights[rest])(table[:, ~rest])
    return factors


def main(arguments=None):
    """Prints what the trees are worth; writes them with --write."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.lab.tuning_learn", description=__doc__.split("\n\n")[0])
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="files that cuda_kernels.lab.tuning wrote")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", metavar="FILE", help="learn from all products, and write the trees")
    group.add_argument("--kept", action="store_true", help="learn nothing: what the trees that matmul has now are worth")
    options = parser.parse_args(arguments)
    if options.write:
        check_writable(options.write)
    measured = read(*options.records)
    plain = measured.estimated(START)
    print("without trees:", summary(measured, plain))
    if options.kept:
        estimates, work = measured.of_each
        print("kept:", summary(measured, estimates.corrected(work, plain)))
        return 0
    table, logarithms = table_of(measured, plain), target(measured, plain)
    print("foreseen:", summary(measured, plain * foreseen(measured, table, logarithms)), flush=True)
    if options.write:
        trees = learn(table, logarithms, measured.weights)
        print("learned:", summary(measured, plain * trees(table)))
        trees.write(options.write, {"records": [path.name for path in options.records]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
