"""ladder: every rung of the tutorials, predicted and, on a GPU, measured. `cuda_kernels` is imported when it is called."""

from simlayout.errors import SimlayoutError

EXAMPLES = """
    simlayout ladder                                      # all rungs; beside cuBLAS where there is a GPU
    simlayout ladder --seed MatmulTutorial --json ladder.json
    simlayout ladder --seed cuda_hgemm --cpu              # on the CPU machine: what is executed is what is predicted
    """

NOTES = """
    A line per rung: what changed; excess wavefronts per warp instruction of each access that has any; clocks of one K step
    for the shared memory and for mma, the larger of which bounds the kernel; the share of cuBLAS that its authors published
    for their GPU. On a GPU then a line per rung with TFLOP/s and the share of cuBLAS here; on the CPU machine each rung
    multiplies one tile and its counts are compared.
    """

CPU_DEPTH = 96
"""K of the products on the CPU machine: three chunks."""


def add_command(commands, command):
    """Adds `ladder` to the commands; command: the function that makes a parser with examples."""
    parser = command(commands, "ladder", ladder, "walk the tutorials' ladders, rung by rung", EXAMPLES, NOTES)
    parser.add_argument("--seed", metavar="NAME", help="MatmulTutorial, cuda_hgemm, simlayout or fast.cu (default: all)")
    parser.add_argument("--size", type=int, default=8192, metavar="N", help="M = N = K on a GPU (default: %(default)s)")
    parser.add_argument("--cpu", action="store_true", help="on the CPU machine")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the measured rows (on a GPU)")
    parser.add_argument("--plot", metavar="FILE", help="draw them into FILE.svg or FILE.png (on a GPU)")


def ladder(options):
    """`simlayout ladder`: exit code 0 if every rung is right, 1 if not."""
    from cuda_kernels.bench.rungs import SEEDS, rungs
    from cuda_kernels.launch import gpu_problem

    if options.seed not in (None, *SEEDS):
        raise SimlayoutError(f"--seed {options.seed}: choose {', '.join(SEEDS)}")
    found = rungs(options.seed)
    for rung in found:
        print(line(rung), flush=True)
    if not options.cpu and gpu_problem() is None:
        return _measure(options)
    if options.json or options.plot:
        raise SimlayoutError("--json and --plot keep measured times, and there is no GPU to measure on")
    return 0 if all([_on_cpu(rung) for rung in found]) else 1


def line(rung):
    """A rung as predicted."""
    published = "" if rung.published is None else f"   published {rung.published:.0%} of cuBLAS"
    shared, mma = rung.bounds()
    excess = ", ".join(f"{name} {value:g}" for name, value in rung.excess.items()) or "none"
    return f"{rung.label}\n    excess: {excess}; a K step: shared memory {shared}, mma {mma:.0f} clocks{published}"


def _measure(options):
    from cuda_kernels.bench.run import Choice, bench

    bench(Choice(("ladder",), (options.size,), (options.seed,) if options.seed else (), options.rounds, json=options.json,
                 plot=options.plot))
    return 0


def _on_cpu(rung):
    """Whether a rung multiplies one tile right on the CPU machine, with the counts of its plan; says so."""
    from cuda_kernels.job import main_job

    rows, cols, _ = rung.runnable.plan.tile
    report = main_job(rung.runnable, rows, cols, CPU_DEPTH, device="cpu")
    right, rest = report.error <= 1, "as predicted" if report.ok else "NOT as predicted"
    print(f"{rung.label}: {'right' if right else 'WRONG'}{', counts ' + rest if right else ''}", flush=True)
    return report.ok
