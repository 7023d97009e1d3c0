"""ladder: every rung of the tutorials, predicted and, on a GPU, measured. `cuda_kernels` is imported when it is called."""

import sys

from simlayout.cli import registry
from simlayout.cli.options import add, add_own
from simlayout.cli.text import json_text, teller
from simlayout.errors import SimlayoutError
from simlayout.files import deliver
from simlayout.progress import progress
from simlayout.wording import counted, meant

EXAMPLES = """
    simlayout ladder                                      # all rungs; beside cuBLAS where there is a GPU
    simlayout ladder MatmulTutorial --json ladder.json
    simlayout ladder cuda_hgemm --cpu                    # on the CPU machine: what is executed is what is predicted
    """

NOTES = """
    A line per rung: what changed; clocks of one K step for the shared memory and for mma, the larger of which bounds the
    kernel; the share of cuBLAS that its authors published for their GPU; excess wavefronts per warp instruction of each
    access that has any. On a GPU then a line per rung with TFLOP/s and the share of cuBLAS here; on the CPU machine each
    rung multiplies one tile and its counts are compared. --json holds the rungs: as measured on a GPU, else as predicted
    and as the CPU machine found them. --sizes are of a GPU's products (default: 8192).
    """

SIZES = (8192,)
ROUNDS = 5
"""The defaults, of products on a GPU."""

CPU_DEPTH = 96
"""K of the products on the CPU machine: three chunks."""


def describe(parser):
    """The parser of `simlayout ladder`."""
    parser.answer(ladder, EXAMPLES, NOTES)
    add_own(parser, "tutorial", nargs="?", metavar="NAME", values=_tutorials,
            help="MatmulTutorial, cuda_hgemm, simlayout or fast.cu (default: all)")
    add(parser, "--sizes")
    add(parser, "--rounds", default=None)
    add(parser, "--cpu", "--plot", "--json")


def _tutorials():
    return registry.LADDERS


def ladder(options):
    """`simlayout ladder`: exit code 0 if every rung is right, 1 if not."""
    if options.tutorial not in (None, *_tutorials()):
        raise SimlayoutError(f"no ladder {options.tutorial!r}{meant(options.tutorial, _tutorials())}: choose "
                             f"{', '.join(_tutorials())}")
    on_gpu = options.device != "cpu" and registry.gpu_problem() is None
    if not on_gpu:
        _refuse_times(options)
    say = teller(options.json)
    rungs = registry.rungs(options.tutorial)
    column = max(map(len, (head(0).split("  ")[0], *(rung.label for rung in rungs))))
    say("\n".join([head(column), *(line(rung, column) for rung in rungs)]))
    if on_gpu:
        return _measure(options, say)
    print(f"simlayout: {counted(len(rungs), 'rung')}, each multiplies one tile on the CPU machine", file=sys.stderr,
          flush=True)
    rows = []
    with progress("rungs") as moved:
        for rung in rungs:
            moved(len(rows), len(rungs))
            rows.append(_on_cpu(rung, say, column))
    if options.json:
        deliver(options.json, json_text({"device": "CPU machine", "rungs": rows}) + "\n")
    return 0 if all(row["right"] and row["as_predicted"] for row in rows) else 1


FORM = "{:{}}  {:>7}  {:>7}  {:>9}  {}"
HEAD = "shared", "mma", "published", "excess"


def head(column):
    """The heading of the lines of rungs. column: letters of their labels."""
    return FORM.format("rung (clocks of a K step, share of cuBLAS)", column, *HEAD)


def line(rung, column):
    """A rung as predicted: clocks of shared memory and of mma in a K step, the published share, excess per instruction."""
    published = "" if rung.published is None else f"{rung.published:.0%}"
    shared, mma = rung.bounds()
    excess = ", ".join(f"{name} {value:g}" for name, value in rung.excess.items()) or "none"
    return FORM.format(rung.label, column, shared, f"{mma:.0f}", published, excess)


def _refuse_times(options):
    """SimlayoutError for an option of what only a GPU does."""
    given = {"--sizes": options.sizes, "--rounds": options.rounds, "--plot": options.plot}
    if names := [name for name, value in given.items() if value]:
        raise SimlayoutError("only what is measured on a GPU has sizes, rounds and a picture of its times, and on the CPU "
                             f"machine each rung multiplies one tile: leave out {' and '.join(names)}")


def _measure(options, say):
    only = (options.tutorial,) if options.tutorial else ()
    chosen = registry.BenchChoice(("ladder",), tuple(options.sizes or SIZES), only, options.rounds or ROUNDS,
                                  json=options.json, plot=options.plot)
    registry.bench(chosen, say)
    return 0


def _on_cpu(rung, say, column):
    """A rung multiplies one tile on the CPU machine: what it predicts, whether it is right, and with the counts of its plan;
    a dict, for JSON. Says so."""
    rows, cols, _ = rung.kernel.plan.tile
    report = registry.main_job(rung.kernel, rows, cols, CPU_DEPTH, device="cpu")
    right = report.error <= 1
    verdict = ("right, counts as predicted" if report.ok else "right, counts NOT as predicted") if right else "WRONG"
    say(f"{rung.label:{column}}  {verdict}", None if report.ok and right else "red")
    shared, mma = rung.bounds()
    return {"label": rung.label, "published": rung.published, "excess_per_instruction": rung.excess,
            "shared_clocks_per_step": shared, "mma_clocks_per_step": mma, "right": right, "as_predicted": report.ok}
