"""How fast `analyze` is on this machine, beside tensor-layouts if that is installed (pip install tensor-layouts==0.3.2).

    python -m cuda_kernels.lab.counting [--accesses N] [--json FILE]

Random addresses in all of shared memory, counted through `analyze` with all its checks: in NumPy, in Numba on all cores,
and on the GPU if there is one (from NumPy arrays, and from arrays that are there). Rates are the best of several turns,
and Numba's compilation is not timed.
"""

import subprocess
import sys
import time
import tracemalloc

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.lab.computer import about, headline, installed, told
from simlayout.hardware import analyze
from simlayout.hardware.banks import analysis
from simlayout.hardware.banks.sweep import gpu_problem, wavefronts_on_gpu
from simlayout.hardware.tables.arch import ARCHES, DEFAULT_ARCH, LANES
from simlayout.hardware.tables.instructions import instruction

INSTRUCTIONS = ("ld.shared.b32", "ld.shared.b64", "ld.shared.b128", "ldmatrix.x4", "st.shared.b32", "red.shared.add.u32")
SINGLE = ("ld.shared.b32", "ld.shared.b128", "ldmatrix.x4")
PEER_BYTES = {"ld.shared.b32": 4, "ld.shared.b128": 16}


def random_addresses(name, n, dtype=np.int32):
    """[n, 32] byte addresses, aligned, in the shared memory of a CTA."""
    size = instruction(name).bytes
    units = ARCHES[DEFAULT_ARCH].shared_bytes_per_cta // size
    return np.random.default_rng(0).integers(0, units, (n, LANES), dtype) * dtype(size)


def best(action, turns=5):
    """Seconds of the fastest of some turns."""
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def on_path(many):
    """`analyze` that counts from `many` accesses on with Numba."""
    def call(*args):
        before = analysis.FAST_FROM, analysis.LOAD_FROM
        analysis.FAST_FROM = analysis.LOAD_FROM = many
        try:
            return analyze(*args)
        finally:
            analysis.FAST_FROM, analysis.LOAD_FROM = before
    return call


def bulk(n):
    """{path: {instruction: accesses per second}}."""
    paths = {"NumPy": (on_path(sys.maxsize), max(n // 10, 1))}
    if installed("numba"):
        paths["Numba"] = on_path(0), n
    if gpu_problem() is None:
        paths |= {"GPU, NumPy arrays": (wavefronts_on_gpu, n), "GPU, arrays there": (wavefronts_on_gpu, n)}
    rates = {}
    for path, (count, some) in paths.items():
        rates[path] = {}
        for name in INSTRUCTIONS:
            addresses = random_addresses(name, some)
            if path == "GPU, arrays there":
                from numba import cuda

                addresses = cuda.to_device(addresses)
            count(name, addresses[:5000])
            rates[path][name] = some / best(lambda: count(name, addresses))  # noqa: B023 (called at once)
    return rates


def single():
    """{instruction: (microseconds from an array [32], from a list)} of one access through `analyze`."""
    times = {}
    for name in SINGLE:
        array = random_addresses(name, 1, np.int64)[0]
        forms = array, array.tolist()
        times[name] = [1e6 / 50 * best(lambda: [analyze(name, one) for _ in range(50)], 100) for one in forms]  # noqa: B023
    return times


def peer(n=1000):
    """{instruction: accesses per second} of tensor-layouts' bank_conflicts, which takes layouts: random strides."""
    from tensor_layouts import Layout
    from tensor_layouts.analysis import bank_conflicts

    rates, rng = {}, np.random.default_rng(0)
    for name, size in PEER_BYTES.items():
        strides = [tuple(int(s) for s in row) for row in rng.integers(0, 512, (n, 5)) * (size // 2)]
        shape = (2,) * 5
        layouts = [Layout(shape, s) if size == 4 else Layout((shape, 8), (s, 1)) for s in strides]
        item = 4 if size == 4 else 2                     # 4 bytes at once; 16 as 8 halves
        rates[name] = n / best(lambda: [bank_conflicts(one, element_bytes=item) for one in layouts], 2)  # noqa: B023
    return rates


def importing():
    """{what: seconds of a fresh Python}, and of the interpreter alone."""
    codes = {"python": "pass", "numpy": "import numpy", "simlayout": "import simlayout",
             "simlayout.analyze": "import simlayout; simlayout.analyze"}
    return {what: best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 7)  # noqa: B023
            for what, code in codes.items()}


def room(n):
    """Bytes that `analyze` takes beside its results, at most, for n accesses and for half as many."""
    peaks = []
    for some in (n // 2, n):
        addresses = random_addresses("ld.shared.b128", some)
        tracemalloc.start()
        analysis = analyze("ld.shared.b128", addresses)
        peaks.append(tracemalloc.get_traced_memory()[1] - 3 * analysis.wavefronts.nbytes)
        tracemalloc.stop()
    return peaks


def measure(n):
    """All of it, as plain values."""
    report = about(f"python -m cuda_kernels.lab.counting --accesses {n}") | {"accesses": n, "bulk": bulk(n)}
    if installed("tensor-layouts"):
        report["tensor-layouts"] = peer()
    return report | {"single_us": single(), "import_s": importing(), "room_bytes": room(n)}


def table(report):
    """The measurement as lines of text."""
    lines = [headline(report), "",
             "million accesses a second, random addresses" + "".join(f"{path:>20}" for path in report["bulk"])]
    for name in INSTRUCTIONS:
        lines.append(f"  {name:41}" + "".join(f"{rates[name] / 1e6:20.1f}" for rates in report["bulk"].values()))
    for name, rate in report.get("tensor-layouts", {}).items():
        most = max(rates[name] for rates in report["bulk"].values())
        lines.append(f"  tensor-layouts, {PEER_BYTES[name]:2} bytes a lane: {rate:,.0f} a second; {name} here is "
                     f"{most / rate:,.0f} times as fast")
    lines += ["", "one access, microseconds: from an array, from a list"]
    lines += [f"  {name:20}{array:8.1f}{listed:8.1f}" for name, (array, listed) in report["single_us"].items()]
    lines += ["", "a fresh Python, seconds: " + ", ".join(f"{what} {s:.3f}" for what, s in report["import_s"].items())]
    half, full = report["room_bytes"]
    lines += [f"memory beside the results, MiB: {half / 2**20:.1f} for {report['accesses'] // 2:,} accesses, "
              f"{full / 2**20:.1f} for {report['accesses']:,}"]
    return "\n".join(lines)


def main(arguments=None):
    """The command."""
    parser = recording_parser_of("cuda_kernels.lab.counting", __doc__)
    parser.add_argument("--accesses", type=int, default=4_000_000, metavar="N", help="in bulk (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    told(measure(chosen.accesses), table, chosen.json)


if __name__ == "__main__":
    ended_by(main)
