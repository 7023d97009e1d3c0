"""How long many configurations take at many products: what a cost model can be fitted to.

    python -m cuda_kernels.lab.tuning --json FILE [--shapes 150] [--seed 2026] [--seconds 0.0015] [--orders 2]
    python -m cuda_kernels.lab.tuning --json FILE --sets unseen models --seed 11 --most 16
    python -m cuda_kernels.lab.tuning --json FILE --sets unseen --seed 12 --most 8 --orders 1 --row
    python -m cuda_kernels.lab.tuning --json FILE --products 1x28672x8192 --repeat 3 --seconds 0.03
    python -m cuda_kernels.lab.tuning --json FILE --products 2392x280x4016 --most 12 --stages 0.9 0.75 0.6
    python -m cuda_kernels.lab.tuning --json FILE --shapes 20 --dtype e4m3 --scaled 1x128
    python -m cuda_kernels.lab.tuning --json FILE --sets unseen-fp8 unseen-blocks --seed 11 --most 32
    python -m cuda_kernels.lab.tuning --json FILE --sets grouped groups --most 12
    python -m cuda_kernels.lab.tuning --json FILE --again tests/data/h200_groups.json.xz --seconds 0.015

For each product it times the configurations that may be good there, with their tiles in several orders, and torch's cuBLAS,
in turns; of groups of rows a loop over cuBLAS, and torch's grouped product. Each round has another sequence, because a GPU
that draws much power slows down, and whatever runs late would look slow. A turn is a replayed CUDA graph of calls that
rotate over operands of at least 150 MB, random normal. None overlaps the one before it, unless --row has it so: each then
begins as the one before it ends, and every configuration is measured with and without `early`. Ahead of each turn there is
one that is not measured: with turns of 30 ms a configuration then has the clock that its own power allows, and the record
says "settled"; in turns of a few milliseconds all have that of what they draw together, and times repeat better. The record
is written after each product, so an interrupt (Ctrl-C) keeps those that were measured whole; the cache keeps the kernels
that were compiled.
"""

import argparse
import random
import statistics
import sys
from dataclasses import replace
from functools import partial

from cuda_kernels.bench import grouped
from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.libraries import torch_library
from cuda_kernels.bench.programs import wanted_of
from cuda_kernels.bench.record import Product
from cuda_kernels.bench.sets import FEW_TILES, LAYERS, SQUARES, cases_of, random_problems, squares
from cuda_kernels.bench.timing import by_cublas, fault, prepared, rotated
from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.build.program import Program
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.lab.tuning_record import SETTLES, Tried, as_f16, read, write
from cuda_kernels.matmul.choose.choice import likely
from cuda_kernels.matmul.choose.figures import figures_of
from cuda_kernels.matmul.recipe import RESULTS
from cuda_kernels.matmul.tune.groups import SEED
from cuda_kernels.run.turns import turn
from simlayout.hardware.tables.arch import DEFAULT_TARGET

MOST, IN_ORDERS = 60, 2
"""At most so many configurations of a product are measured, each program in so many orders of tiles, the likeliest."""

ROUNDS = 3


def problems(count, seed):
    """What to measure, in f16: `count` random Problems, a third of them small, and the named ones of the benchmark."""
    small = [replace(p, **{size: -(-getattr(p, size) // 96) * 8 for size in "MNK"})
             for p in random_problems(count // 3, seed + 1)]
    named = [replace(p, dtype="f16") for p in LAYERS + FEW_TILES + squares(SQUARES[:-1])]
    return random_problems(count - count // 3, seed) + small + named


def product(text):
    """The Product, in f16, of a text MxNxK; ArgumentTypeError for another one.

    >>> str(product("16x28672x8192"))
    '16 x 28672 x 8192 f16 NT'
    """
    sizes = text.split("x")
    if len(sizes) != 3 or not all(size.isdecimal() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is no product: give M, N and K, such as 16x28672x8192")
    return Product(*map(int, sizes))


def part(text):
    """The number more than 0 and less than 1 of a text; ArgumentTypeError for another one.

    >>> part("0.75")
    0.75
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no part: give a number between 0 and 1, such as 0.75")
    return number


def with_fewer_stages(configs, parts):
    """Configurations, each followed by those with these parts of its stages, at least 2, rounded down.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> [c.stages for c in with_fewer_stages([Hopper(stages=4)], (0.75, 0.7, 0.5))]
    [4, 3, 2]
    """
    return list(dict.fromkeys(replace(config, stages=max(2, int(config.stages * share)))
                              for config in configs for share in (1, *parts)))


def worth_measuring(problem, gpu, most=MOST, in_orders=IN_ORDERS, row=False):
    """The `likely` configurations for a Product without `early`, and in a row with it, too.

    >>> from cuda_kernels.matmul.choose.figures import H200
    >>> [c.early for c in worth_measuring(product("512x512x512"), H200, most=2, row=True)]
    [False, True, False, True]
    """
    found = [replace(config, early=False) for config in likely(wanted_of(problem), gpu, most, in_orders)]
    return [replace(c, early=early) for c in found for early in (False, True)[:1 + row]]


def programs(work):
    """The Programs of [(Product, configurations)], each once.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> [program.kernel.name for program in programs([(product("64x64x64"), [Hopper(), Hopper(group=2)])])]
    ['wgmma_persistent']
    """
    return list(dict.fromkeys(Program(kernel_of(config).compiled_as, DEFAULT_TARGET) for _, configs in work
                              for config in configs))


def measure(library, problem, configs, seconds, source, row=False):
    """([microseconds of each of what it is `beside`], [(configuration, microseconds)], [what was wrong]) of a Product;
    medians over the rounds."""
    others = beside(library, problem)
    sets, prepare = rotated(others[0], problem), grouped.prepared if problem.groups else prepared
    turns, plans_in_use, right, faults = [turn(library, by_cublas(other, sets), seconds) for other in others], [], [], []
    for config in configs:
        plans = [prepare(config, *operands, overlap=row) for operands in sets]
        wrong = fault(others[0], problem, plans[0], sets[0])
        if wrong is None:
            turns.append(turn(library, plans, seconds))
            plans_in_use.append(plans)                           # graphs use the workspaces of their plans
            right.append(config)
        else:
            faults.append(f"{problem}: {config} and cuBLAS differ by {wrong}")
    times = [[] for _ in turns]
    for _ in range(ROUNDS):
        for i in source.sample(range(len(turns)), len(turns)):
            turns[i]()                                           # until the clock is what this one's power allows
            times[i].append(1e6 * turns[i]())
    medians = [round(statistics.median(of_turn), 2) for of_turn in times]
    return medians[:len(others)], list(zip(right, medians[len(others):])), faults


def beside(library, problem):
    """What a Product is measured beside: a library's cuBLAS, or of groups a loop over that, and the library's grouped
    product."""
    return [grouped.Beside(library, problem, label) for label in grouped.labels(problem)] if problem.groups else [library]


def measure_all(library, work, seconds, source, save, row=False):
    """Whether all was right at [(Product, configurations)]; prints a line per product and per fault, and calls
    save(configurations, products) with all so far, as a record has them, so that what ends the run takes nothing along."""
    numbers, products, right = {}, [], True              # configuration -> its number in the record
    for problem, configs in work:
        theirs, measured, faults = measure(library, problem, configs, seconds, source, row)
        times = tuple((numbers.setdefault(as_f16(config), len(numbers)), us) for config, us in measured)
        products.append(Tried(problem, tuple(theirs), times))
        save(list(numbers), products)
        best = min(measured, key=lambda one: one[1], default=None)
        print(f"{len(products):>4} {products[-1]}: {best[0].changes if best else 'none right'}", flush=True)
        for text in faults:
            print(text, file=sys.stderr)
        right = right and not faults
        library.free()
    return right


def once_more(path):
    """[(Product, configurations)] of a record: what it tried."""
    record = read(path)
    return [(tried.problem, list(record.times_of(tried))) for tried in record.products]


def likely_work(options, gpu):
    """[(Product, the likeliest configurations)] that the options of the command ask for."""
    of_sets = dict.fromkeys(case.problem for case in cases_of(options.sets, seed=options.seed)) if options.sets else ()
    products = [p if p.groups or p.scaled else replace(p, dtype=options.dtype, scaled=options.scaled)
                for p in options.products or of_sets or problems(options.shapes, options.seed)]
    return [(p, worth_measuring(p, gpu, options.most, options.orders, options.row)) for p in products]


def main(arguments=None):
    """Measures, prints a line per product, and writes the record after each."""
    from cuda_kernels.run import driver

    parser = recording_parser_of("cuda_kernels.lab.tuning", __doc__, required=True)
    parser.add_argument("--shapes", type=int, default=150, help="random products")
    parser.add_argument("--seed", type=int, default=SEED, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.0015, help="of a turn; a configuration has three")
    parser.add_argument("--products", type=product, nargs="+", metavar="MxNxK", help="instead of random and named ones")
    parser.add_argument("--sets", nargs="+", default=(), metavar="SET", help="those of simlayout bench instead")
    parser.add_argument("--again", metavar="RECORD", help="the products and configurations of such a file instead")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="measure all of them so many times")
    parser.add_argument("--most", type=int, default=MOST, metavar="N",
                        help="configurations of a product (default: %(default)s)")
    parser.add_argument("--orders", type=int, default=IN_ORDERS, metavar="N",
                        help="orders of tiles of a kernel (default: %(default)s)")
    parser.add_argument("--row", action="store_true", help="each begins as the one before it ends, early and not")
    parser.add_argument("--stages", type=part, nargs="+", default=(), metavar="PART",
                        help="each configuration with these parts of its stages, too, such as 0.75")
    parser.add_argument("--dtype", choices=RESULTS, default="f16", help="of A and B (default: %(default)s)")
    parser.add_argument("--scaled", choices=("tensor", "lines", "1x128"), default="", help="scales of 8-bit floats")
    options = parser.parse_args(arguments)
    library = torch_library("cuBLAS is torch's")
    gpu = figures_of(driver.cuda(), 0)
    source = random.Random(options.seed)
    work = once_more(options.again) if options.again else likely_work(options, gpu)
    work = options.repeat * [(p, with_fewer_stages(configs, options.stages)) for p, configs in work]
    head = {**where_and_when("cuda_kernels.lab.tuning", arguments), "library": library.version,
            "settled": options.seconds >= SETTLES}
    compile_ahead(programs(work), driver.cuda().version)
    save = partial(write, options.json, head)
    return 0 if measure_all(library, work, options.seconds, source, save, options.row) else 1


if __name__ == "__main__":
    ended_by(main)
