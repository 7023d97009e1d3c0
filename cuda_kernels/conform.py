"""Predictions against Nsight Compute: whole kernels, every shared-memory instruction class.

    python -m cuda_kernels.conform [-M 1000 -N 1384 -K 520] [--kernels mma_permuted ...] [--json FILE]

Runs each kernel variant once under ncu (which must be on the PATH, and may read the GPU's counters) and compares
instructions, wavefronts and conflicts with `plan.predict`. cp.async is shown, not compared: its rule is not exact.
"""

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys

import numpy as np

from cuda_kernels.bench import default_variants, where_and_when
from cuda_kernels.run import run
from simlayout.errors import DeviceError

WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
INSTRUCTIONS = "smsp__sass_inst_executed_op_{}.sum"
CLASSES = {"LDSM": ("ldsm", "ldsm"), "LDS": ("ld", "shared_ld"), "STS": ("st", "shared_st"), "LDGSTS": ("ldgsts", "ldgsts")}
"""SASS class -> the suffix of its wavefront and of its instruction counter (Nsight Compute, sm_90)."""

HARDWARE = {"l1tex ld": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex st": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}
"""The pipe's own counters: `ld` holds LDS and LDSM, `st` STS and STSM. They also count what other clients of the pipe
cost: where a kernel loads global memory through L1 meanwhile they run a few percent above, so they are shown only."""


def is_exact(sass, what):
    """Whether a row of `compare` must agree: not cp.async's wavefronts, nor the pipe's own counters."""
    return sass not in HARDWARE and (sass != "LDGSTS" or what == "instructions")


def metrics():
    """Every metric that the comparison reads."""
    names = [WAVEFRONTS.format(w) for w, _ in CLASSES.values()] + [INSTRUCTIONS.format(i) for _, i in CLASSES.values()]
    return names + list(HARDWARE.values())


def variants(kernels):
    """The (label, Kernel) pairs to run: those of the benchmark whose kernel is named, or all."""
    return [(label, k) for label, k in default_variants() if not kernels or k.name in kernels]


def launch_all(kernels, M, N, K):
    """Runs every variant once on the GPU: what ncu watches."""
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(s, np.float32).astype(np.float16) for s in ((M, K), (N, K)))
    for _, kernel in variants(kernels):
        run(kernel, a, b, device="gpu")


def measure(kernels, M, N, K):
    """Counters of every variant: a list of {metric: value}, in the order of `variants`."""
    if shutil.which("ncu") is None:
        raise DeviceError("Nsight Compute (ncu) is not on the PATH: install it, or add its folder to PATH")
    command = ["ncu", "--csv", "--clock-control", "none", "--cache-control", "none", "--kernel-name", "regex:gemm",
               "--metrics", ",".join(metrics()), sys.executable, "-m", "cuda_kernels.conform", "--launch",
               "-M", str(M), "-N", str(N), "-K", str(K), *(["--kernels", *kernels] if kernels else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise DeviceError(f"ncu failed: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return parse(done.stdout)


def parse(text):
    """ncu's CSV -> one {metric: int} per kernel launch.

    >>> parse('==PROF== x\\n"ID","Metric Name","Metric Value"\\n"0","a.sum","1,024"\\n"1","a.sum","7"\\n')
    [{'a.sum': 1024}, {'a.sum': 7}]
    """
    start = text.find('"ID"')
    if start < 0:
        raise DeviceError(f"ncu printed no table: {text.strip().splitlines()[-1] if text.strip() else 'nothing'}")
    launches = {}
    for row in csv.DictReader(io.StringIO(text[start:])):
        value = row["Metric Value"].replace(",", "")
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = int(float(value)) if value not in ("", "n/a") else None
    return [launches[i] for i in sorted(launches)]


def compare(counters, prediction):
    """Rows (class, what, predicted, measured) of one kernel."""
    said = prediction.by_instruction()
    rows = []
    for sass, (waves, instructions) in CLASSES.items():
        count, wavefronts, _ = said.get(sass, (0, 0, 0))
        rows.append((sass, "instructions", count, counters.get(INSTRUCTIONS.format(instructions))))
        rows.append((sass, "wavefronts", wavefronts, counters.get(WAVEFRONTS.format(waves))))
    for label, metric in HARDWARE.items():
        wanted = ("LDS", "LDSM") if label.endswith("ld") else ("STS", "STSM")
        rows.append((label, "wavefronts", sum(said.get(c, (0, 0, 0))[1] for c in wanted), counters.get(metric)))
    return rows


def main(arguments=None):
    """Prints the comparison; exit status 1 if an exact prediction differs."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.conform", description=__doc__.split("\n")[0])
    for name, size in (("M", 1000), ("N", 1384), ("K", 520)):
        parser.add_argument(f"-{name}", type=int, default=size)
    parser.add_argument("--kernels", nargs="+", default=[], help="kernel names (default: all)")
    parser.add_argument("--json", help="write predictions and counters to this file")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        launch_all(options.kernels, options.M, options.N, options.K)
        return 0
    counters = measure(options.kernels, options.M, options.N, options.K)
    record, wrong, compared = [], 0, 0
    for (label, kernel), counted in zip(variants(options.kernels), counters, strict=True):
        fitted = kernel.fitted(options.M, options.N, options.K)
        rows = compare(counted, fitted.plan.predict(options.M, options.N, options.K))
        record.append({"variant": label, "rows": [list(r) for r in rows]})
        print(label)
        for sass, what, said, found in rows:
            exact = is_exact(sass, what)
            verdict = "equal" if said == found else ("DIFFERENT" if exact else "(shown only)")
            wrong, compared = wrong + (exact and said != found), compared + exact
            print(f"  {sass:<9}{what:<14}predicted {said:>12}   measured {found!s:>12}   {verdict}")
    print(f"{compared} exact predictions, {wrong} wrong")
    if options.json:
        from simlayout.files import write_whole

        head = {**where_and_when("cuda_kernels.conform", arguments), "problem": [options.M, options.N, options.K],
                "ncu": ncu_version()}
        write_whole(options.json, json.dumps({**head, "variants": record}, indent=1))
    return 1 if wrong else 0


def ncu_version():
    """Nsight Compute's version line."""
    lines = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()
    return lines[-1] if lines else "unknown"


if __name__ == "__main__":
    sys.exit(main())
