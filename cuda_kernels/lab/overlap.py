"""What a product costs or saves that is launched to overlap the kernel ahead of it: what `cuda_kernels.run.driver.Launch`
goes by, and the trees that choose Hopper's option `early` have learned from, too.

    python -m cuda_kernels.lab.overlap --json FILE [--sets unseen models] [--seed 2026] [--seconds 0.01]
    python -m cuda_kernels.lab.overlap --json FILE --by-size [--sets unseen] [--situations row]

Of each product it times what `matmul` chooses (--by-size: the likeliest configurations that keep at most half of the SMs
busy, at most three quarters, and more), each launch once the kernel ahead has ended (wait), launched to overlap while
what follows may not begin early (late) or may (early), and torch's cuBLAS, in turns: product behind product in a CUDA graph
(row), each behind a kernel of torch's that adds 1 to a million numbers in a graph (graph), and the same in a stream to which
all was launched while the GPU slept (stream). Times of the latter two are of both kernels.
"""

import statistics
from dataclasses import replace

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.libraries import torch_library
from cuda_kernels.bench.programs import wanted_of
from cuda_kernels.bench.sets import cases_of
from cuda_kernels.bench.timing import alternate, by_cublas, prepared, rotated
from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.lab.tuning import as_f16, programs
from cuda_kernels.matmul.choose.choice import choose, likely
from cuda_kernels.matmul.choose.figures import figures_of
from cuda_kernels.matmul.tune.groups import SEED
from cuda_kernels.run.turns import turn
from simlayout.files import write_record

WAYS = {"wait": (False, False), "late": (True, False), "early": (True, True)}
"""(whether a launch overlaps, Hopper's option `early`)."""

SITUATIONS = "row", "graph", "stream"
ROUNDS = 3

SIZES = 1 / 2, 3 / 4
"""Parts of the SMs that configurations of a size keep busy at most; others keep more."""

QUEUED, ASLEEP = 40, 4_000_000
"""Calls that are launched while the GPU sleeps, and for how many clocks: at least twice as long as launching takes."""


def chosen(problem, gpu):
    """[the Hopper configuration that `matmul` has for a Product]."""
    return [choose(wanted_of(problem), gpu)]


def by_size(problem, gpu):
    """[Hopper configuration] for a Product: the likeliest that keep at most each of SIZES of the SMs busy, and more.

    >>> from cuda_kernels.bench.record import Product
    >>> from cuda_kernels.matmul.choose.figures import H200
    >>> p = Product(184, 2240, 1816)
    >>> sorted(config.grid(*config.turned(p.M, p.N), p.K) for config in by_size(p, H200))
    [60, 72, 112]
    """
    found = {}
    for config in likely(wanted_of(problem), gpu, None):
        ctas = config.grid(*config.turned(problem.M, problem.N), problem.K, 1, gpu.sms)
        found.setdefault(sum(ctas > part * gpu.sms for part in SIZES), config)
    return list(found.values())


def measure(library, problem, config, seconds, situations=SITUATIONS):
    """[microseconds of each of WAYS and of cuBLAS] in each of the situations, of a Product and a configuration."""
    sets = rotated(library, problem)
    calls = [[_always(library, prepared(replace(config, early=early), *operands, overlap=overlap)) for operands in sets]
             for overlap, early in WAYS.values()]
    calls.append(by_cublas(library, sets))
    return [[round(1e6 * statistics.median(of), 2) for of in alternate(_takers(library, calls, situation, seconds), ROUNDS)]
            for situation in situations]


def _takers(library, calls, situation, seconds):
    """What takes the seconds of one of each of some lists of calls, in one of SITUATIONS."""
    if situation == "row":
        return [turn(library, each, seconds) for each in calls]
    behind = [library.apart(each) for each in calls]
    if situation == "graph":
        return [turn(library, each, seconds) for each in behind]
    return [lambda each=each: _queued(library, each) for each in behind]


def _always(library, plan):
    """A call of what `plan_matmul` has prepared that overlaps wherever it is captured, too."""
    def call():
        stream = library.torch.cuda.current_stream().cuda_stream
        for launch in plan.launches:
            launch.bare(stream)()

    return call


def _queued(library, calls):
    """Seconds of one of some calls on a stream, launched so far ahead that the host does not count."""
    start, end = library.event(), library.event()
    library.torch.cuda.synchronize()
    library.torch.cuda._sleep(ASLEEP)
    start.record()
    for i in range(QUEUED):
        calls[i % len(calls)]()
    end.record()
    end.synchronize()
    return library.milliseconds(start, end) / 1e3 / QUEUED


def as_launched(row, situation):
    """(microseconds that wait, those that overlap as `matmul` launches it, cuBLAS's) of a row of the record.

    >>> as_launched([[64, 72, 128, "f16"], {"early": True}, [4.0, 3.75, 3.0, 4.5]], "row")
    (4.0, 3.0, 4.5)
    """
    wait, late, early, cublas = row[2 + SITUATIONS.index(situation)]
    return wait, early if row[1].get("early", False) else late, cublas


def row_text(row, situations=SITUATIONS):
    """A row of the record as a line: of each situation the microseconds that wait, and what the others take more.

    >>> row_text([[64, 72, 128, "f16"], {}, [4.0, 3.75, 3.0, 4.5], [6.0, 6.25, 6.25, 6.5]])
    '    64 x    72 x   128 f16   row    4.00 -0.25 -1.00 +0.50; graph    6.00 +0.25 +0.25 +0.50'
    """
    (M, N, K, dtype), _, *of_each = row
    said = (f"{name} {wait:>7.2f} {late - wait:+.2f} {early - wait:+.2f} {cublas - wait:+.2f}"
            for name, (wait, late, early, cublas) in zip(situations, of_each))
    return f"{M:>6} x{N:>6} x{K:>6} {dtype:<5} " + "; ".join(said)


def main(arguments=None):
    """Measures, prints a line per product and configuration, and writes the record with all so far after each product."""
    from cuda_kernels.run import driver

    parser = recording_parser_of("cuda_kernels.lab.overlap", __doc__)
    parser.add_argument("--sets", nargs="+", default=("unseen", "models"), metavar="SET",
                        help="of simlayout bench, as far as they are f16 or bf16, without groups and epilogues")
    parser.add_argument("--by-size", action="store_const", const=by_size, default=chosen, dest="configs",
                        help="of each product several configurations, by how many SMs they keep busy")
    parser.add_argument("--situations", nargs="+", choices=SITUATIONS, default=SITUATIONS, help="(default: all three)")
    parser.add_argument("--seed", type=int, default=SEED, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a turn (default: %(default)s)")
    options = parser.parse_args(arguments)
    library, rows = torch_library("cuBLAS is torch's"), []
    gpu = figures_of(driver.cuda(), 0)
    problems = dict.fromkeys(case.problem for case in cases_of(options.sets, seed=options.seed))
    work = [(p, options.configs(p, gpu)) for p in problems
            if p.dtype in ("f16", "bf16") and not p.groups and not p.epilogue]
    head = {**where_and_when("cuda_kernels.lab.overlap", arguments), "library": library.version,
            "times": options.situations, "of each": [*WAYS, "cublas"]}
    compile_ahead(programs(work), driver.cuda().version)
    for p, configs in work:
        for config in configs:
            times = measure(library, p, config, options.seconds, options.situations)
            rows.append([[p.M, p.N, p.K, p.dtype], as_f16(config).changes, *times])
            print(row_text(rows[-1], options.situations), flush=True)
        if options.json:
            write_record(options.json, head, rows=rows)
        library.free()
    return 0


if __name__ == "__main__":
    ended_by(main)
