"""What a product costs or saves that is launched to overlap the kernel ahead of it: what `cuda_kernels.run.driver.Launch`
and the choice of Hopper's option `early` go by.

    python -m cuda_kernels.lab.overlap --json FILE [--sets unseen models] [--seed 2026] [--seconds 0.01]

Of each product it times what `matmul` chooses, each launch once the kernel ahead has ended (wait), launched to overlap while
what follows may not begin early (late) or may (early), and torch's cuBLAS, in turns: product behind product in a CUDA graph
(row), each behind a kernel of torch's that adds 1 to a million numbers in a graph (graph), and the same in a stream to which
all was launched while the GPU slept (stream). Times of the latter two are of both kernels.
"""

import statistics

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.libraries import torch_library
from cuda_kernels.bench.run import compile_cases
from cuda_kernels.bench.sets import cases_of
from cuda_kernels.bench.timing import alternate, by_cublas, prepared, rotated
from cuda_kernels.lab.tuning import as_f16
from cuda_kernels.matmul.tune.groups import SEED
from cuda_kernels.run.turns import turn
from simlayout.files import write_record

WAYS = {"wait": (False, False), "late": (True, False), "early": (True, True)}
"""(whether a launch overlaps, Hopper's option `early`)."""

SITUATIONS = "row", "graph", "stream"
ROUNDS = 3

QUEUED, ASLEEP = 40, 4_000_000
"""Calls that are launched while the GPU sleeps, and for how many clocks: at least twice as long as launching takes."""


def measure(library, case, seconds):
    """([microseconds of each of WAYS and of cuBLAS] in each of SITUATIONS, the configuration) of a Case."""
    sets = rotated(library, case.problem)
    kernel = prepared("auto", *sets[0], tune="off").kernel
    calls = [[_always(library, prepared(kernel.variant(early=early), *operands, overlap=overlap)) for operands in sets]
             for overlap, early in WAYS.values()]
    calls.append(by_cublas(library, sets))
    behind = [library.apart(each) for each in calls]
    takers = ([turn(library, each, seconds) for each in calls], [turn(library, each, seconds) for each in behind],
              [lambda each=each: _queued(library, each) for each in behind])
    times = [[round(1e6 * statistics.median(of), 2) for of in alternate(of_all, ROUNDS)] for of_all in takers]
    return times, kernel.options


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


def row_text(row):
    """A row of the record as a line: of each situation the microseconds that wait, and what the others take more.

    >>> row_text([[64, 72, 128, "f16"], {}, [4.0, 3.75, 3.0, 4.5], [6.0, 6.25, 6.25, 6.5]])
    '    64 x    72 x   128 f16   row    4.00 -0.25 -1.00 +0.50; graph    6.00 +0.25 +0.25 +0.50'
    """
    (M, N, K, dtype), _, *situations = row
    said = (f"{name} {wait:>7.2f} {late - wait:+.2f} {early - wait:+.2f} {cublas - wait:+.2f}"
            for name, (wait, late, early, cublas) in zip(SITUATIONS, situations))
    return f"{M:>6} x{N:>6} x{K:>6} {dtype:<5} " + "; ".join(said)


def main(arguments=None):
    """Measures, prints a line per product, and writes the record with all so far after each."""
    parser = recording_parser_of("cuda_kernels.lab.overlap", __doc__)
    parser.add_argument("--sets", nargs="+", default=("unseen", "models"), metavar="SET",
                        help="of simlayout bench, as far as they are f16 or bf16")
    parser.add_argument("--seed", type=int, default=SEED, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a turn (default: %(default)s)")
    options = parser.parse_args(arguments)
    library, rows = torch_library("cuBLAS is torch's"), []
    cases = [case for case in cases_of(options.sets, seed=options.seed) if case.problem.dtype in ("f16", "bf16")]
    head = {**where_and_when("cuda_kernels.lab.overlap", arguments), "library": library.version, "times": SITUATIONS,
            "of each": [*WAYS, "cublas"]}
    compile_cases(cases, use_kept=False)
    for case in cases:
        p, (times, config) = case.problem, measure(library, case, options.seconds)
        rows.append([[p.M, p.N, p.K, p.dtype], as_f16(config).changes, *times])
        if options.json:
            write_record(options.json, head, rows=rows)
        print(row_text(rows[-1]), flush=True)
        library.free()
    return 0


if __name__ == "__main__":
    ended_by(main)
