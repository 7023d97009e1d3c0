"""What it takes that products in a row overlap: what the choice of Hopper's option `early` was fitted to.

    python -m cuda_kernels.lab.overlap --json FILE [--sets unseen models] [--seed 2026] [--seconds 0.01]

Of each product it times what `matmul` chooses, each launch once the one before it has ended (wait), launched to overlap
while the next may not begin early (late) or may (early), and torch's cuBLAS: all four in turns, first product behind
product, then each product behind a kernel of torch's own (`cuda_kernels.bench.timing`).
"""

import statistics
import sys

from cuda_kernels.bench.libraries import torch_library
from cuda_kernels.bench.record import parser_of, where_and_when
from cuda_kernels.bench.run import compile_cases
from cuda_kernels.bench.sets import cases_of
from cuda_kernels.bench.timing import alternate, by_cublas, prepared, rotated
from cuda_kernels.lab.tuning import as_f16
from cuda_kernels.matmul.tune.groups import SEED
from cuda_kernels.run.turns import turn
from simlayout.errors import SimlayoutError
from simlayout.files import write_record

WAYS = {"wait": (False, False), "late": (True, False), "early": (True, True)}
"""(whether launches overlap, Hopper's option `early`)."""

ROUNDS = 3


def measure(library, case, seconds):
    """([microseconds of each of WAYS and of cuBLAS, product behind product], [the same, each behind another kernel], the
    configuration) of a Case."""
    sets = rotated(library, case.problem)
    kernel = prepared("auto", *sets[0], tune="off").kernel
    calls = [[prepared(kernel.variant(early=early), *operands, overlap=overlap) for operands in sets]
             for overlap, early in WAYS.values()]
    calls.append(by_cublas(library, sets))
    return *(_times(library, each, seconds) for each in (calls, [library.apart(c) for c in calls])), kernel.options


def _times(library, calls, seconds):
    turns = [turn(library, each, seconds) for each in calls]
    return [round(1e6 * statistics.median(times), 2) for times in alternate(turns, ROUNDS)]


def row_text(row):
    """A row of the record as a line.

    >>> row_text([[64, 72, 128, "f16"], {}, [4.0, 3.6, 3.0, 4.4], [6.0, 5.7, 5.7, 6.6]])
    '    64 x    72 x   128 f16        4.00 us, late 0.900, early 0.750, cuBLAS 1.100; apart 0.950, 0.950, 1.100'
    """
    (M, N, K, dtype), _, row, apart = row
    late, early, cublas = (us / row[0] for us in row[1:])
    between = ", ".join(f"{us / apart[0]:.3f}" for us in apart[1:])
    return (f"{M:>6} x{N:>6} x{K:>6} {dtype:<5}{row[0]:>10.2f} us, late {late:.3f}, early {early:.3f}, cuBLAS {cublas:.3f}; "
            f"apart {between}")


def main(arguments=None):
    """Measures, prints a line per product, and writes the record. If it is interrupted, it writes what it has."""
    parser = parser_of("cuda_kernels.lab.overlap", __doc__)
    parser.add_argument("--sets", nargs="+", default=("unseen", "models"), metavar="SET",
                        help="of simlayout bench, as far as they are f16 or bf16")
    parser.add_argument("--seed", type=int, default=SEED, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a turn (default: %(default)s)")
    options = parser.parse_args(arguments)
    library, rows = torch_library("cuBLAS is torch's"), []
    cases = [case for case in cases_of(options.sets, seed=options.seed) if case.problem.dtype in ("f16", "bf16")]
    compile_cases(cases, use_kept=False)
    head = {**where_and_when("cuda_kernels.lab.overlap", arguments), "library": library.version, "ways": [*WAYS, "cublas"]}
    try:
        for case in cases:
            p, (in_row, apart, config) = case.problem, measure(library, case, options.seconds)
            rows.append([[p.M, p.N, p.K, p.dtype], as_f16(config).changes, in_row, apart])
            library.free()
            print(row_text(rows[-1]), flush=True)
    except KeyboardInterrupt:
        print(f"interrupted after {len(rows)} of {len(cases)} products", file=sys.stderr)
    if options.json and rows:
        write_record(options.json, head, rows=rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SimlayoutError as error:
        sys.exit(f"cuda_kernels.lab.overlap: {error}")
