"""Runs the samples on the CPU machine and on a GPU, and compares the digests of their results.

    python -m tests.programs.samples [--record FILE.json] [NAME ...]

The exit code is 1 if a sample fails somewhere, or its results differ; without a GPU it is 2.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from cuda_kernels.bench.command import where_and_when
from simlayout.files import write_whole

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


def digest(*words):
    """What a process prints after "digest", or the last line of what it complains about."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("digest ")]
    return found[0] if done.returncode == 0 and found else f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--record", metavar="FILE", help="write what the GPU gave, and where and when, as JSON")
    options = parser.parse_args()
    available = "import sys; from numba import cuda; sys.exit(not cuda.is_available())"
    if subprocess.run([sys.executable, "-c", available]).returncode:
        print("there is no GPU here")
        return 2
    there, equal = {}, True
    for name in options.names or NAMES:
        path = str(FOLDER / f"{name}.py")
        here, there[name] = digest("-m", "simlayout", "run", "--quiet", path), digest(path)
        same = here == there[name] and not here.startswith("failed")
        equal &= same
        print(f"{name:16} {'the same bits' if same else f'DIFFERENT: machine {here}, GPU {there[name]}'}", flush=True)
    if options.record:
        what = "digests of the results of tests/programs/samples on a GPU"
        made = {"what": what, **where_and_when("tests.programs.samples", None), "digests": there}
        write_whole(Path(options.record), json.dumps(made, indent=1) + "\n")
    return int(not equal)


if __name__ == "__main__":
    sys.exit(main())
