"""trace: one GEMM kernel on the CPU machine: its statements by their excess, counts beside every line, and its hazards."""

import numpy as np

from simlayout.cli import registry
from simlayout.cli.gemm import add_kernel, add_kernel_options, announce_cost, chosen_kernel, kernel_options, options_text
from simlayout.cli.options import add
from simlayout.cli.ranked import ranked
from simlayout.cli.text import cut, field, fit, paint, tell
from simlayout.progress import progress

STEPS = 3
"""K steps of the default problem, which is one tile of C."""


def describe(parser):
    """The parser of `simlayout trace`."""
    parser.answer(trace, """
        simlayout trace mma_permuted                          # one tile of C, three K steps
        simlayout trace mma_base --lines shared               # where the bank conflicts are
        simlayout trace mma_crosswise --loads mixed -M 256 -N 128 -K 64 --json trace.json
        simlayout trace wgmma_persistent --tile-n 64          # TMA, mbarriers and wgmma
        """, f"""
    M and N are those of one tile, K is {STEPS} steps, by default. Beside each line: how often a warp executed it,
    and the warp instructions, wavefronts and ideal wavefronts of the shared-memory accesses that begin there. Hazards
    (races, reads of what nothing wrote or waited for, ...) are listed with both their lines; with any the exit code is 1.
    With --lines shared the costliest line comes first; its bar is the ideal, and behind that, dark, the excess. CUDA is
    not needed.
    """)
    add_kernel(parser)
    add(parser, "-M", "-N", "-K")
    add_kernel_options(parser)
    add(parser, "--lines", "--json")


def trace(options):
    """`simlayout trace`: exit code 1 if hazards were found."""
    kernel = chosen_kernel(options)
    rows, columns, depth = kernel.plan.tile
    problem = options.M or rows, options.N or columns, options.K or STEPS * depth
    announce_cost(kernel, problem, "cpu")
    traced = _executed(kernel, problem, options.seed)
    tell(options.json, lambda: _report(kernel, problem, traced),
         lambda: _text(kernel, problem, traced, options.lines == "all"))
    return 1 if traced.hazards else 0


def _text(kernel, problem, traced, every_line):
    """What `trace` prints."""
    M, N, K = problem
    return "\n".join([
        field("problem", f"C ({M}, {N}) = A ({M}, {K}) times B ({N}, {K}) transposed, {kernel.dtypes[0]}"),
        field("kernel", f"{kernel.name}{options_text(kernel)}"),
        "", ranked(traced.source_lines()), "", fit(str(traced)), "", *_every(traced, every_line),
        paint(field("hazards", f"{len(traced.hazards)}, see above"), "red") if traced.hazards else field("hazards", "none")])


def _every(traced, every_line):
    """The listing of all executed lines in the order of the source, if it is wanted; hazards and notes in any case."""
    if every_line:
        return [*map(_line, traced.listing().splitlines()), ""]
    found = [f"{h.count} times " * (h.count > 1) + str(h) for h in traced.hazards]
    return [line for text in (*found, *traced.notes) for line in (fit(text), "")]


def _line(text):
    """A line of the listing: a row with source is cut, a hazard is not."""
    return cut(text) if text[:6].strip().isdigit() else fit(text)


def _executed(kernel, problem, seed):
    """The Trace of a kernel on random normal matrices; its loads are checked against the accesses of its plan."""
    M, N, K = problem
    generator = np.random.default_rng(seed)
    a, b = (registry.rounded(kernel.dtypes[0], generator.standard_normal(shape, np.float32)) for shape in ((M, K), (N, K)))
    with progress("CTAs") as moved:
        return registry.run(kernel, a, b.T, device="cpu", progress=moved, hazards="report").trace


def _report(kernel, problem, traced):
    """What `--json` holds."""
    from simlayout.machine.engine.patterns import worst_of

    worst = worst_of(traced.patterns)
    lines = [{**line.as_dict(), "worst": worst[place].as_dict() if (place := (line.file, line.line)) in worst else None}
             for line in traced.source_lines()]
    return {"kernel": kernel.name, "options": kernel_options(kernel), "problem": dict(zip("MNK", problem)),
            "lines": lines,
            "accesses": [c.as_dict() for c in traced.accesses], "total": traced.total().as_dict(),
            "hazards": [h.as_dict() for h in traced.hazards], "notes": traced.notes}
