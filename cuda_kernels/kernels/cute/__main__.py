"""`python -m cuda_kernels.kernels.cute`: every case, on a GPU or the CPU machine: is C exact, and what do its accesses cost?

Exits with 1 if any case is wrong, or executes other wavefronts than predicted, or if one that CuTe rejects is accepted.
"""

import argparse
import json
import sys

from cuda_kernels.kernels.cute.atoms import CASES, REJECTED, rejection
from cuda_kernels.kernels.cute.verified import verified
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.ldmatrix import TOO_FEW_VALUES


def main(arguments=None):
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.kernels.cute", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", choices=("auto", "gpu", "cpu"), default="auto")
    parser.add_argument("--shape", nargs=3, type=int, metavar=("M", "N", "K"), default=(40, 72, 72))
    parser.add_argument("--only", default="", metavar="TEXT", help='cases whose description holds this, as "swizzled"')
    parser.add_argument("--case", type=int, metavar="NUMBER", help="this case alone, for a profiler")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile and run cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    numbers = [i for i, case in enumerate(CASES) if options.only in str(case) and options.case in (None, i)]
    if not numbers or options.jobs < 1 or min(options.shape) < 1:
        parser.error(f"nothing to do: --case is 0 to {len(CASES) - 1}, --only part of a description like {str(CASES[0])!r}, "
                     "--jobs and M, N and K at least 1")
    device = ("cpu" if gpu_problem() else "gpu") if options.device == "auto" else options.device
    try:
        made = []
        for one in verified(numbers, tuple(options.shape), device, options.jobs):
            made.append(one)
            if not options.json:
                print(one, flush=True)
    except SimlayoutError as error:
        print(f"python -m cuda_kernels.kernels.cute: {error}", file=sys.stderr)
        return 2
    rejected = [{**arguments, "message": rejection(arguments) or ""} for arguments in REJECTED]
    wrong = sum(not one.exact or one.as_predicted is False for one in made)
    accepted = sum(not one["message"].startswith(TOO_FEW_VALUES) for one in rejected)
    if options.json:
        print(json.dumps({"shape": options.shape, "cases": [vars(one) for one in made], "rejected": rejected}))
    else:
        for one in rejected:
            print(f"rejected  {one['message']}")
        shape = " ".join(map(str, options.shape))
        print(f"{len(made)} cases on {made[0].device}, M N K = {shape}: {wrong} wrong; excess per instruction of "
              f"{', '.join(made[0].excess)}; {len(rejected) - accepted} of {len(rejected)} rejected as by CuTe")
    return 1 if wrong or accepted else 0


if __name__ == "__main__":
    sys.exit(main())
