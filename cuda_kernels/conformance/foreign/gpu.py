"""What a GPU computes and counts for the kernels of ROWS.

    python -m cuda_kernels.conformance.foreign.gpu --json FILE [--rows NAME ...] [--no-counters] [--data FOLDER]

Launches every kernel once, under Nsight Compute unless told not to, compares the results with NumPy's, and keeps per kernel
the SHA-256 of every array, the arrays themselves where the kernel uses approximate functions, and the counters of COUNTERS.
Kernels whose lanes wait for one another come last, and those that a GPU refuses. A kernel that fails is recorded as such;
the others run on in a new process.
"""

import argparse
import base64
import hashlib
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.foreign import ROWS
from cuda_kernels.conformance.foreign.row import DATA, arrays_of
from cuda_kernels.conformance.measure import SASS_WAVEFRONTS
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError
from simlayout.files import write_whole

COUNTERS = {
    **{
        name: SASS_WAVEFRONTS.format(op)
        for name, op in {"ld": "ld", "ldmatrix": "ldsm", "st": "st", "copy": "ldgsts", "atom": "atom"}.items()
    },
    "shared": "memory_l1_wavefronts_shared",
    "instructions": "smsp__inst_executed.sum",
}
"""Name in the record -> counter of Nsight Compute. "shared": wavefronts of all instructions, wgmma among them. The pipe's
(l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st) has other clients, too: in cutlass_plain 2477 for 1536 of stmatrix."""
KEPT_BYTES = 20_000
"""Arrays of approximate kernels are kept up to this size."""


def child(folder, names, data):
    """Launches the kernels in order; the arrays of each go to a file of the folder."""
    from cuda_kernels.conformance.foreign.launch import launch

    for name in names:
        row = ROWS[name]
        text, arguments = row.text(data), row.arguments()
        launch(text, row.symbol(text), row.grid, row.block, arguments, row.shared_bytes, row.cluster)
        held = {i: np.frombuffer(x.tobytes(), np.uint8) for i, x in arrays_of(arguments).items()}
        np.savez(folder / f"{name}.npz", **held)                   # as bytes: NumPy's files know none of ml_dtypes' types


def run(names, data, counted):
    """[record of a kernel], in the order of the names. A kernel that fails takes its process with it: the others run again
    in processes of their own, and its record says only how it failed."""
    with tempfile.TemporaryDirectory() as scratch:
        kept = [Path(scratch) / f"{name}.npz" for name in names]
        try:
            counters = launched(names, data, counted, scratch)
            return [record(ROWS[name], np.load(path), seen) for name, path, seen in zip(names, kept, counters)]
        except DeviceError as error:
            ended = sum(path.exists() for path in kept)
            if ended == len(names):
                raise
            told = str(error)
    if len(names) == 1:
        return [{"name": names[0], "failed": failure(names[0], data) if counted else told}]
    parts = names[:ended], names[ended : ended + 1], names[ended + 1 :]
    return [made for part in parts if part for made in run(part, data, counted)]


def launched(names, data, counted, folder):
    """[counters of a kernel, or None] of the kernels, whose arrays go to the folder. Raises DeviceError if one fails."""
    module = __spec__.name if __spec__ else "cuda_kernels.conformance.foreign.gpu"
    command = ["-m", module, "--child", str(folder), "--data", str(data), "--rows", *names]
    if counted:
        counters = ncu.profile(command, list(COUNTERS.values()), ".")
        if len(counters) != len(names):
            raise DeviceError(f"ncu saw {len(counters)} launches of {len(names)}")
        return counters
    ran = subprocess.run([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        raise DeviceError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit code {ran.returncode}")
    return [None] * len(names)


def failure(name, data):
    """How a kernel fails without Nsight Compute, which hides what the driver says."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            launched([name], data, False, scratch)
        except DeviceError as error:
            return str(error)
    return "under Nsight Compute only"


def record(row, arrays, seen):
    """What is kept of one kernel. arrays: {key: bytes of the array as the kernel left it}; seen: counters or None."""
    after = row.arguments()
    kept = {i: x for i, x in arrays_of(after).items() if i in arrays}
    for i, target in kept.items():
        target[...] = arrays[i].view(target.dtype).reshape(target.shape)
    made = {"name": row.name, "wrong": row.wrong(row.arguments(), after), "sha256": {i: digest(x) for i, x in kept.items()}}
    if row.approximate:
        made["arrays"] = {i: packed(x) for i, x in kept.items() if x.nbytes <= KEPT_BYTES}
    if seen is not None:
        made["counters"] = {name: seen.get(metric) for name, metric in COUNTERS.items()}
    return made


def digest(array):
    """The SHA-256 of an array's bytes.

    >>> digest(np.zeros(2, np.int32))[:8]
    'af5570f5'
    """
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def packed(array):
    """The bytes of an array as text; `unpacked` reads them.

    >>> unpacked(packed(np.arange(3, dtype=np.int16)), np.zeros(3, np.int16)).tolist()
    [0, 1, 2]
    """
    return base64.b64encode(lzma.compress(np.ascontiguousarray(array).tobytes())).decode()


def unpacked(text, like):
    """The array that `packed` made text of, with the type and shape of another."""
    return np.frombuffer(lzma.decompress(base64.b64decode(text)), like.dtype).reshape(like.shape)


def in_order(names):
    """The names, without surprises first: then those that wait, and those that a GPU refuses."""
    return sorted(names, key=lambda name: (bool(ROWS[name].refused), ROWS[name].waits))


def verdict(made):
    """What a record of one kernel says, in words.

    >>> verdict({"name": "softmax", "wrong": []}), verdict({"name": "softmax", "failed": "illegal instruction"})
    ('right', 'failed: illegal instruction')
    """
    if ROWS[made["name"]].refused:
        return "refused, as it must be" if "failed" in made else "ran, although a GPU should refuse it"
    return f"failed: {made['failed']}" if "failed" in made else "; ".join(made["wrong"]) or "right"


def main(arguments=None):
    """As the module says; returns 1 if a result is wrong."""
    parser = recording_parser_of("cuda_kernels.conformance.foreign.gpu", __doc__)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), metavar="NAME", default=in_order(ROWS))
    parser.add_argument("--no-counters", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        return child(options.child, options.rows, options.data)
    missing = gpu_problem() or (None if options.no_counters else ncu.problem())
    if missing:
        raise DeviceError(missing)
    made = run(options.rows, options.data, not options.no_counters)
    for row in made:
        print(f"{row['name']:<26}{verdict(row)}")
    if options.json:
        about = where_and_when("cuda_kernels.conformance.foreign.gpu", arguments)
        about["tool"] = None if options.no_counters else ncu.version()
        write_whole(options.json, json.dumps({**about, "kernels": made}, indent=1) + "\n")
    return int(any(verdict(row) not in ("right", "refused, as it must be") for row in made))


if __name__ == "__main__":
    ended_by(main)
