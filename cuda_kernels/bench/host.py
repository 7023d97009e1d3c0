"""How long matmul occupies the host, beside torch.matmul: microseconds per call, and seconds of the first call in a
process.

    python -m cuda_kernels.bench.host [--json FILE] [--size 64] [--rounds 30]

The products are so small that the host is slower than the GPU. A time per call is a median of rounds of 50 calls, by
`time.perf_counter`, the ways to call in turns. A first call multiplies 1024 x 1024 f16 in a new process that has already
initialised torch, and is timed until its result is there: once with an empty cache of kernels on disk, then with the
cache that this left (the median of three processes). Python keeps the bytecode of modules, as an installation has it.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.libraries import torch_library
from cuda_kernels.bench.record import Product
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import write_record

CALLS, PROCESSES = 50, 3

FIRST = """
import time, torch
x = torch.randn(1024, 1024, device="cuda").half()
y = torch.empty_like(x)
torch.cuda.synchronize()
began = time.perf_counter()
from cuda_kernels import matmul
matmul(x, x, y)
torch.cuda.synchronize()
print(time.perf_counter() - began)
"""


def ways(library, size):
    """{name: a function without arguments}: the ways to multiply size x size f16 matrices, the driver's launch alone
    first, then matmul's and torch's."""
    from cuda_kernels import matmul, plan_matmul

    a, b, out = library.operands(Product(size, size, size))
    torch = library.torch
    prepared = plan_matmul(a, b, out)
    launch = prepared.launches[-1]
    return {"cuLaunchKernelEx": launch.bare(0), "prepared": prepared,
            "matmul with out": lambda: matmul(a, b, out), "matmul": lambda: matmul(a, b),
            "torch.matmul with out": lambda: torch.matmul(a, b, out=out), "torch.matmul": lambda: torch.matmul(a, b)}


def per_call(calls, rounds, synchronize, clock=time.perf_counter):
    """{name: microseconds of the host per call}, medians over rounds in which each of {name: function} has its turn."""
    times = {name: [] for name in calls}
    for turn in range(rounds + 1):                       # the first warms up
        for name, call in calls.items():
            synchronize()
            began = clock()
            for _ in range(CALLS):
                call()
            if turn:
                times[name].append((clock() - began) / CALLS * 1e6)
    return {name: statistics.median(measured) for name, measured in times.items()}


def first_calls():
    """Seconds of the first call in a process: (with an empty cache, with what that process left there)."""
    with tempfile.TemporaryDirectory() as folder:
        return _first_call(folder), statistics.median(_first_call(folder) for _ in range(PROCESSES))


def _first_call(folder):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST], capture_output=True, text=True,
                             env={**environment, "SIMLAYOUT_CACHE": folder})
    if process.returncode:
        last = (process.stderr.strip() or "no message").splitlines()[-1]
        raise DeviceError(f"the first call in a new process failed: {last}")
    return float(process.stdout)


def main(arguments=None):
    """Prints the times, and writes them where asked."""
    parser = recording_parser_of("cuda_kernels.bench.host", __doc__)
    parser.add_argument("--size", type=int, default=64, help="M = N = K of the calls that are repeated")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args(arguments)
    if options.size < 1 or options.rounds < 1:
        raise SimlayoutError(f"--size {options.size}, --rounds {options.rounds}: both are at least 1")
    library = torch_library("torch is what matmul is compared with here")
    times = per_call(ways(library, options.size), options.rounds, library.torch.cuda.synchronize)
    for name, microseconds in times.items():
        print(f"{name:<24}{microseconds:>7.2f} us of the host per call", flush=True)
    cold, cached = first_calls()
    print(f"{'first call':<24}{cold:>7.2f} s, {cached:.2f} s with its kernels on disk")
    if options.json:
        head = {**where_and_when("cuda_kernels.bench.host", arguments), "library": library.version, "size": options.size}
        rows = [{"call": name, "us": round(us, 2)} for name, us in times.items()]
        write_record(options.json, {**head, "first call s": round(cold, 2), "cached s": round(cached, 2)}, rows=rows)
    return 0


if __name__ == "__main__":
    ended_by(main)
