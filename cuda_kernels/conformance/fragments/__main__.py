"""Every fragment of mma, mma.sp, wmma, ldmatrix, stmatrix and movmatrix, measured on the GPU, beside the model's.

    python -m cuda_kernels.conformance.fragments [--record FILE.npz] [--json FILE] [--only TEXT ...]

Prints one line per instruction, and every operand whose measured map is not the model's; exit status 1 if there is one.
"""

import json
import os
from dataclasses import dataclass
from functools import cache

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.conformance.fragments.memory import MatrixProbe, MovmatrixProbe, WmmaProbe
from cuda_kernels.conformance.fragments.mma import MmaProbe, SparseProbe
from cuda_kernels.conformance.fragments.probe import on_gpu
from cuda_kernels.conformance.fragments.records import save
from simlayout.errors import DeviceError
from simlayout.files import write_whole
from simlayout.hardware.matrix.fragments import FRAGMENTS
from simlayout.hardware.matrix.wmma import WMMA_FRAGMENTS
from simlayout.hardware.tables.mma import MMAS, QUAD_PAIR_MMAS
from simlayout.hardware.tables.mma_sp import SPARSE_MMAS
from simlayout.workers import workers

WORKERS = 16


@cache
def probes():
    """Every probe, by the name of its form."""
    all_probes = [MmaProbe(name) for name in (*MMAS, *QUAD_PAIR_MMAS)]
    all_probes += [SparseProbe(name, selector) for name, mma in SPARSE_MMAS.items() for selector in range(mma.selectors)]
    all_probes += [WmmaProbe(name, operand) for name, operand in WMMA_FRAGMENTS]
    all_probes += [MatrixProbe(name) for name, operand in FRAGMENTS if operand is None]
    return {p.form.name: p for p in [*all_probes, MovmatrixProbe()]}


@dataclass(frozen=True)
class Result:
    """One operand of one form: how many elements its map has, how many are wrong, and the first of them as text."""

    form: str
    operand: str
    elements: int
    wrong: int
    first: str = ""


def compare(form, measured, expected):
    """[Result] of the maps of a form, {operand: array} as measured and as the model has them."""
    return [_compared(form, operand, measured.get(operand), array) for operand, array in expected.items()]


def _compared(form, operand, measured, expected):
    elements = expected.size if operand in ("C", "codes") else expected.size // expected.shape[-1]
    if measured is None:
        return Result(form, operand, elements, elements, "what meets what is that of no product of matrices")
    if measured.shape != expected.shape:
        return Result(form, operand, elements, elements, f"measured {measured.shape}, expected {expected.shape}")
    differs = measured != expected
    if elements < expected.size:
        differs = differs.any(axis=-1)
    if not differs.any():
        return Result(form, operand, elements, 0)
    at = tuple(np.argwhere(differs)[0].tolist())
    return Result(form, operand, elements, int(differs.sum()),
                  f"at {list(at)} measured {measured[at].tolist()}, expected {expected[at].tolist()}")


def measure(name):
    """(maps, [Result]) of one form on the GPU; where it cannot run, no maps and one Result that says why."""
    probe = probes()[name]
    try:
        maps = probe.maps([on_gpu(probe.form, tables) for tables in probe.launches()])
    except Exception as error:                       # the driver's and the compiler's own classes differ by version
        return {}, [Result(name, "run", 1, 1, " ".join(f"{type(error).__name__}: {error}".split())[:300])]
    return maps, compare(name, maps, probe.expected())


def measure_all(names, processes):
    """Yields (name, maps, [Result]) in the order of the names; compiled and run by several processes on one GPU."""
    with workers(processes) as pool:
        for name, (maps, results) in zip(names, pool.map(measure, names)):
            yield name, maps, results


def line(name, results):
    """What is printed of one form."""
    operands = " ".join(f"{r.operand} {r.elements}" for r in results)
    wrong = [r for r in results if r.wrong]
    first = f"{name:<52}{operands:<58}" + ("equal" if not wrong else "WRONG")
    details = (f"    {r.operand}: {r.wrong} of {r.elements} wrong, {r.first}" for r in wrong)
    return "\n".join([first, *details])


def main(arguments=None):
    """Prints the comparison, writes the files; exit status 1 if a map is not the model's."""
    parser = recording_parser_of("cuda_kernels.conformance.fragments", __doc__)
    parser.add_argument("--record", help="write the measured maps to this .npz file")
    parser.add_argument("--only", nargs="+", default=[""], help="only forms whose name contains one of these")
    parser.add_argument("--workers", type=int, default=min(WORKERS, os.cpu_count() or 1), help="processes on the one GPU")
    options = parser.parse_args(arguments)
    from cuda_kernels.run.device import gpu_problem

    problem = gpu_problem()
    if problem:
        raise DeviceError(problem)
    names = [name for name in probes() if any(o in name for o in options.only)]
    maps, results = {}, []
    for name, measured, compared in measure_all(names, options.workers):
        maps[name] = measured
        results += compared
        print(line(name, compared), flush=True)
    wrong = sorted({r.form for r in results if r.wrong})
    print(f"{len(names)} forms, {sum(r.elements for r in results)} elements; {len(wrong)} forms differ from the model"
          + (f": {', '.join(wrong)}" if wrong else ""))
    _write(options, arguments, maps, results)
    return 1 if wrong else 0


def _write(options, arguments, maps, results):
    if not (options.record or options.json):
        return
    head = where_and_when("cuda_kernels.conformance.fragments", arguments)
    if options.record:
        save(options.record, head, maps)
    if options.json:
        write_whole(options.json, json.dumps({**head, "results": [vars(r) for r in results]}, indent=1))


if __name__ == "__main__":
    ended_by(main)
