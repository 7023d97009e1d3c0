"""Every lane-wise instruction on the GPU beside the table.

    python -m cuda_kernels.conformance.opcodes --json FILE [--only PATTERN ...] [--seed N] [--keep FOLDER]

PATTERN: of names of cases, as of files ("cvt.*.f16.*"). Prints what differs and what the driver refuses; returns 1 if an
instruction differs. FOLDER: gets the operands and the GPU's results of every chosen case, .npz.
"""

import os
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.conformance.opcodes.device import Device, loaded
from cuda_kernels.conformance.opcodes.forms import chosen
from cuda_kernels.conformance.opcodes.judge import judge, trimmed
from cuda_kernels.conformance.opcodes.operands import operands
from cuda_kernels.conformance.opcodes.record import summary, write
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.workers import workers


def _keep(folder, case, seed, stored):
    name = case.name.replace(" ", "_")
    given = operands(case.roles, case.count, seed)
    np.savez_compressed(folder / f"{name}.npz", operands=given, results=trimmed(case, stored))


def compared(cases, seed, keep=None):
    """([Verdict], {name: why the driver refused it}) of cases on the GPU. The table's side is computed by all cores."""
    with workers(os.cpu_count()) as pool:
        device, waiting, refused = Device(), [], {}
        broken = ""
        for case, kernel, reason in loaded(device, cases):
            reason = reason or broken
            if not reason:
                try:
                    stored = device.run(kernel, case, seed)
                except DeviceError as error:                         # after which the driver runs nothing more
                    reason, broken = f"{error}", f"not run: {case.name} failed"
            if reason:
                refused[case.name] = reason
                continue
            if keep:
                _keep(keep, case, seed, stored)
            waiting.append(pool.submit(judge, case, seed, stored))
        return [one.result() for one in waiting], refused, device.about()


def main(arguments=None):
    """As the module says."""
    parser = recording_parser_of("cuda_kernels.conformance.opcodes", __doc__)
    parser.add_argument("--only", nargs="+", metavar="PATTERN", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    cases = chosen(options.only)
    if not cases:
        raise SimlayoutError(f"no instruction of the table is named like {' or '.join(options.only)}")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    verdicts, refused, about = compared(cases, options.seed, options.keep)
    print(summary(verdicts, refused))
    print(f"{len(cases)} cases in {time.perf_counter() - start:.0f} s")
    if options.json:
        given = sys.argv[1:] if arguments is None else arguments
        about["command"] = " ".join(["python -m cuda_kernels.conformance.opcodes", *given])
        write(Path(options.json), {**about, "date": str(date.today()), "seed": options.seed}, verdicts, refused)
    return int(any(verdict.different for verdict in verdicts))


if __name__ == "__main__":
    ended_by(main)
