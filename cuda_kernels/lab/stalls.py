"""Why a rung of the ladder is as fast as it is: which pipe was busy and what its warps waited for, by Nsight Compute.

    python -m cuda_kernels.lab.stalls [--seed MatmulTutorial ...] [--size 8192] [--json FILE]

Runs every rung that multiplies by mma.sync once at M = N = K under ncu (which must be on the PATH, and may read the GPU's
counters).
"""

import argparse
from dataclasses import asdict, dataclass

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.record import Product
from cuda_kernels.bench.run import compile_cases
from cuda_kernels.bench.rungs import rungs
from cuda_kernels.bench.sets import Case
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.gemms.hopper import Transposed
from cuda_kernels.kernels import MMA_KERNELS
from simlayout.errors import DeviceError
from simlayout.files import write_record

REASONS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
           "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
           "short_scoreboard", "sleeping", "tex_throttle", "wait")
"""Every state of a warp in a kernel without wgmma (Nsight Compute's Kernel Profiling Guide, "Warp Stall Reasons"); in
"selected" it issues an instruction."""

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
"""Warps of a scheduler in that state, per instruction that it issues: over all states, how many warps share an issue."""

METRICS = {
    "ns": "gpu__time_duration.sum",
    "active": "sm__cycles_active.avg",
    "active_sum": "sm__cycles_active.sum",
    "elapsed": "sm__cycles_elapsed.avg",
    "mma": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "shared": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_hits": "lts__t_sector_op_read_hit_rate.pct",
    "dram_bytes": "dram__bytes_read.sum",
} | {reason: STALL.format(reason) for reason in REASONS}
"""The metrics that ncu measures: all of them are in `ncu --query-metrics --chip gh100` of Nsight Compute 2025.3.1."""

WAITS = {"barrier": ("barrier",), "global memory": ("long_scoreboard",),
         "shared memory": ("short_scoreboard", "mio_throttle"),
         "mma pipe": ("math_pipe_throttle",), "fixed latency": ("wait",)}
"""What a warp waits for, and the states in which it does."""

HEAD = ["rung", "mma pipe", "shared-memory pipe", "issue", *(f"waits for: {what}" for what in WAITS)]
"""The columns of `cells`."""


@dataclass(frozen=True)
class Seen:
    """One launch of a rung, as ncu saw it.

    rung: its label; ns: nanoseconds; clocks: in which an SM had a warp, on average; ghz: clocks per nanosecond.
    Shares of these clocks, 0 to 1: mma, in which the tensor pipe was active; planned, what the plan's mma instructions take
    at their measured rate (at which m16n8k16 has the pipe active for 92 percent of them: planned is the share of what
    mma.sync can reach); shared, of the pipe through which shared memory is read (it counts little of what cp.async writes);
    issue, of a scheduler. l2: share of the peak throughput of L2; l2_hits: of the sectors read there; dram_bytes: read from
    DRAM. stalls: {reason: share of the time of all warps}; they add up to 1, each known to 0.002.
    """

    rung: str
    ns: int
    clocks: int
    ghz: float
    mma: float
    planned: float
    shared: float
    issue: float
    l2: float
    l2_hits: float
    dram_bytes: int
    stalls: dict

    @property
    def name(self):
        """The rung's name alone, without its seed and what changed.

        >>> Seen("cuda_hgemm mma_padded: 8 halves of padding", *[0] * 11).name
        'mma_padded'
        """
        return self.rung.partition(": ")[0].partition(" ")[2]

    @property
    def waits(self):
        """{what a warp waits for: share of the time of all warps}, for WAITS."""
        return {what: sum(self.stalls[reason] for reason in reasons) for what, reasons in WAITS.items()}

    def largest(self, count=3):
        """The (reason, share) pairs that cost most, in falling order, without "selected", in which nothing is lost."""
        lost = [(reason, share) for reason, share in self.stalls.items() if reason != "selected"]
        return sorted(lost, key=lambda pair: -pair[1])[:count]


def seen(label, prediction, counters):
    """The Seen of a rung: its plan's Prediction, and {metric: number} of its launch. DeviceError if a number is missing."""
    missing = [metric for metric in METRICS.values() if counters.get(metric) is None]
    if missing:
        raise DeviceError(f"ncu did not read {', '.join(missing)} of {label}")
    read = {name: counters[metric] for name, metric in METRICS.items()}
    warps = sum(read[reason] for reason in REASONS)
    planned = prediction.mma_clocks * prediction.steps * prediction.ctas / read["active_sum"]
    # Here ncu divides by all clocks, also those in which an SM had no warp yet, or no more.
    shared = read["shared"] / 100 * read["elapsed"] / read["active"]
    shares = {"mma": read["mma"] / 100, "planned": planned, "shared": shared,
              **{name: read[name] / 100 for name in ("issue", "l2", "l2_hits")}}
    return Seen(label, read["ns"], round(read["active"]), round(read["elapsed"] / read["ns"], 4),
                **{name: round(share, 4) for name, share in shares.items()}, dram_bytes=read["dram_bytes"],
                stalls={reason: round(read[reason] / warps, 4) for reason in REASONS})


# ---- launching, measuring ----------------------------------------------------------------------------------------------

def chosen(seeds=()):
    """The Rungs of some seeds, or all, that multiply by mma.sync: with operands by cp.async, or by TMA."""
    suited = [rung for rung in rungs() if rung.kernel.name == "mma_tma" or rung.kernel.name in MMA_KERNELS]
    return [rung for rung in suited if not seeds or rung.seed in seeds]


def compile_all(chosen_rungs, size):
    """Compiles the rungs, many at a time."""
    compile_cases([Case("ladder", rung.label, Product(size, size, size), rung.kernel) for rung in chosen_rungs])


def launch_all(chosen_rungs, size):
    """Runs every rung once: what ncu watches. Random normal matrices, because zeros would take less power."""
    import numpy as np
    from numba import cuda

    from cuda_kernels import matmul

    generator = np.random.default_rng(0)
    a, b = (cuda.to_device(generator.standard_normal((size, size), np.float32).astype(np.float16)) for _ in range(2))
    for rung in chosen_rungs:
        c = cuda.to_device(np.full((size, size), np.nan, np.float16))
        matmul(a, Transposed(b), c, kernel=rung.kernel)
        cuda.synchronize()
        if np.isnan(c.copy_to_host()).any():             # as C was before
            raise DeviceError(f"{rung.label} did not write all of C")


def measure(seeds, size):
    """One Seen per rung, on this machine's GPU, in the ladder's order."""
    ncu.refuse()
    chosen_rungs = chosen(seeds)
    compile_all(chosen_rungs, size)
    arguments = ["-m", "cuda_kernels.lab.stalls", "--launch", "--size", str(size)]
    launches = ncu.profile([*arguments, *(["--seed", *seeds] if seeds else [])], METRICS.values(), "gemm")
    if len(launches) != len(chosen_rungs):
        raise DeviceError(f"ncu profiled {len(launches)} kernels of {len(chosen_rungs)}")
    predictions = [rung.kernel.plan.predict(size, size, size) for rung in chosen_rungs]
    return [seen(rung.label, *read) for rung, *read in zip(chosen_rungs, predictions, launches)]


# ---- what is printed and recorded ------------------------------------------------------------------------------------

def table(rows):
    """Some Seen as text, at most 110 columns: microseconds, the pipes, and what the warps waited for most."""
    lines = [f"{'rung':<17}{'us':>7}{'mma':>5}{'shared':>7}{'issue':>6}  warps waited most for"]
    for row in rows:
        most = ", ".join(f"{reason} {share:.0%}" for reason, share in row.largest())
        lines.append(f"{row.name:<17}{row.ns / 1000:>7.0f}{row.mma:>5.0%}{row.shared:>7.0%}{row.issue:>6.0%}  {most}")
    return "\n".join(lines)


def recorded(record):
    """The Seen of a record, as json.loads makes it of the file."""
    return [Seen(**row) for row in record["rows"]]


def cells(record):
    """One list of cells per rung of a record, under HEAD: shares of the clocks, then of the time of all warps."""
    for row in recorded(record):
        yield [row.name, *(f"{share:.0%}" for share in (row.mma, row.shared, row.issue, *row.waits.values()))]


def main(arguments=None):
    """Prints a line per rung."""
    seeds = list(dict.fromkeys(rung.seed for rung in chosen()))
    parser = recording_parser_of("cuda_kernels.lab.stalls", __doc__)
    parser.add_argument("--seed", nargs="+", default=[], choices=seeds, help="whose rungs (default: all)")
    parser.add_argument("--size", type=int, default=8192, help="M = N = K (default: 8192, as in the README's table)")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        launch_all(chosen(options.seed), options.size)
        return 0
    rows = measure(options.seed, options.size)
    print(table(rows))
    if options.json:
        head = {**where_and_when("cuda_kernels.lab.stalls", arguments), "size": options.size, "ncu": ncu.version()}
        write_record(options.json, head, rows=[asdict(row) for row in rows])
    return 0


if __name__ == "__main__":
    ended_by(main)
