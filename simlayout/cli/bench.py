"""bench: kernels beside cuBLAS on this machine's GPU. `cuda_kernels` is imported when it is called."""

from simlayout.cli import registry
from simlayout.cli.options import add, add_own
from simlayout.cli.text import teller

EXAMPLES = """
    simlayout bench                                       # matmul beside cuBLAS: squares layers few transposes random
    simlayout bench squares --rounds 2 --seconds 0.01     # a quick look
    simlayout bench unseen models --seed 20261124         # shapes that nobody has tuned for
    simlayout bench layers --follow apart --json layers.json --plot layers.svg
    simlayout bench kernels --sizes 4096 --only wgmma mma_permuted
    simlayout bench steps --plot ladder.png
    simlayout bench squares transposes --triton           # with a row of Triton's matmul behind each
    """

NOTES = """
    Each row is measured in turns with cuBLAS (torch's, else CuPy's): CUDA graphs of calls that rotate over operands larger
    than L2, random normal data, medians. A row is printed when it is measured; Ctrl-C ends the run, prints what it came
    to and writes the files with what there is.
    --follow says how products follow one another:
{following}
    --seed draws the shapes of {drawn}.
    --sizes is for {sized}.
    --only takes '4096 x' or mma_base, say.
    --json holds the rows, and where and how they were measured.
    """


def describe(parser):
    """The parser of `simlayout bench`."""
    sets = registry.BENCH_SETS
    following = "\n".join(f"      {name:<9}{what}" for name, what in registry.BENCH_FOLLOWING.items())
    listed = "\n".join(f"      {name:<15}{bench_set.summary}" for name, bench_set in sets.items())
    parser.answer(bench, EXAMPLES, f"\n    sets:\n{listed}\n"
                     + NOTES.format(following=following,
                                    sized=", ".join(name for name, bench_set in sets.items() if bench_set.sizes),
                                    drawn=", ".join(name for name, bench_set in sets.items() if bench_set.drawn)))
    add_own(parser, "sets", nargs="*", metavar="SET", values=lambda: sets,
            help=f"see below (default: {' '.join(registry.BENCH_OF_MATMUL)})")
    add(parser, "--sizes", default=[])
    add(parser, "--only", "--rounds", "--seconds", of="bench")
    add(parser, "--seed", default=registry.BENCH_SEED)
    add_own(parser, "--follow", default="overlap", values=lambda: registry.BENCH_FOLLOWING, metavar="HOW",
            help="how products follow one another, see below (default: overlap)")
    parser.add_argument("--triton", action="store_true", help="measure Triton's matmul as well, where triton is installed")
    parser.add_argument("--untuned", action="store_true", help="leave aside what `simlayout tune` has kept")
    add(parser, "--plot", "--json")


def bench(options):
    """`simlayout bench`."""
    chosen = registry.BenchChoice(tuple(options.sets), tuple(options.sizes), tuple(options.only), options.rounds,
                                  options.seconds, options.follow, options.triton, options.untuned, options.json,
                                  options.plot, options.seed)
    registry.bench(chosen, teller(options.json))
    return 0
