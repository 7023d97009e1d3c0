"""`python -m cuda_kernels.conformance.practical` proves, runs and checks every practical problem in every layout."""

import numpy as np

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.kernels.practical import PROBLEMS, STORES, practical
from cuda_kernels.kernels.practical.problem import small_integers
from cuda_kernels.run.runner import run

FORM = "  {:<32} {:<18} {:>12} {:>10} {:>6} {:>7}"


def is_right(solved, variant, matrices, n):
    """Whether all of a run's results are NumPy's, to the last bit."""
    want = variant.reference(*matrices, *((n,) if variant.takes_power else ()))
    return all(np.array_equal(result, w) for result, w in zip(solved.results, want, strict=True))


def as_predicted(solved, counts):
    """Whether the CPU machine executed what was predicted; True if it did not run."""
    if solved.trace is None:
        return True
    fields = "instruction", "instructions", "wavefronts", "ideal"
    executed, predicted = ({c.name: [getattr(c, f) for f in fields] for c in x} for x in (solved.trace.accesses, counts))
    return executed == predicted


def report(variant, n, device):
    """Proves and runs one variant and prints it; returns whether it is right and as predicted."""
    variant.prove()
    matrices, counts = small_integers(variant.inputs), variant.predict(n)
    solved = run(variant, *matrices, *((n,) if variant.takes_power else ()), device=device)
    right, predicted = is_right(solved, variant, matrices, n), as_predicted(solved, counts)
    verdict = "right" if right else "WRONG"
    print(f"{variant.problem}, {variant.layout} ({variant.store}): {verdict} on {solved.device}"
          + ("" if predicted else "; executed OTHER accesses than predicted"))
    for c in counts:
        print(FORM.format(c.name, c.instruction, c.instructions, c.wavefronts, c.ideal, c.excess))
    print(FORM.format("total", "", *(sum(getattr(c, f) for c in counts)
                                     for f in ("instructions", "wavefronts", "ideal", "excess"))))
    return right and predicted


def main(arguments=None):
    """Runs and reports the chosen problems; returns the exit status: 1 if anything is wrong, 0 otherwise."""
    parser = parser_of("cuda_kernels.conformance.practical", __doc__)
    parser.add_argument("--device", choices=("auto", "gpu", "cpu"), default="auto", help="where to run (default: auto)")
    parser.add_argument("--problem", choices=sorted({problem for problem, _ in PROBLEMS}), help="only this one")
    parser.add_argument("--store", choices=STORES, help="only results stored so (default: both)")
    parser.add_argument("-n", type=int, choices=(1, 2, 3), default=2,
                        help="the power of problem 1.1 (default: 2); up to 3 its elements are exact in f16")
    options = parser.parse_args(arguments)
    print(FORM.format("access", "instruction", "instructions", "wavefronts", "ideal", "excess"))
    verdicts = [report(practical(problem, layout, store), options.n if problem == "1.1" else 1, options.device)
                for problem, layout in PROBLEMS if options.problem in (None, problem)
                for store in ((options.store,) if options.store else STORES)]
    print(f"{sum(verdicts)} of {len(verdicts)} right and as predicted")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    ended_by(main)
