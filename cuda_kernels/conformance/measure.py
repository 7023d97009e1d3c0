"""Cases in, counters out. Several cases share a launch, told apart by how often each is repeated.

A launch under ncu costs milliseconds, an instruction nanoseconds. Case j of a launch runs BASE**j times, so the sum
that the counter shows is a number in base BASE whose digits are the cases' own counts, as long as each is below BASE.
"""

import tempfile
from pathlib import Path

import numpy as np

from cuda_kernels.conformance import ncu, probe
from simlayout.hardware.banks import records
from simlayout.nsight.reports import CONFLICTS

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
SASS_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
"""Counters of Nsight Compute: of the pipe, by what goes through it; and of the instructions of one opcode of SASS alone."""

COUNTERS = {
    "load": (WAVEFRONTS.format("ld"), CONFLICTS.format("ld")),
    "ldmatrix": (WAVEFRONTS.format("ld"), CONFLICTS.format("ld")),
    "store": (WAVEFRONTS.format("st"), CONFLICTS.format("st")),
    "stmatrix": (WAVEFRONTS.format("st"), CONFLICTS.format("st")),
    "reduction": (WAVEFRONTS.format("atom"), CONFLICTS.format("atom"), WAVEFRONTS.format("ld")),
    "atomic": (WAVEFRONTS.format("atom"), CONFLICTS.format("atom"), WAVEFRONTS.format("ld")),
    "copy": (SASS_WAVEFRONTS.format("ldgsts"),),
}
"""Kind of instruction -> counters of wavefronts, of conflicts and, for atomics that are loops, of the loop's loads.

The l1tex counter of cp.async shows nothing for .cg, so its wavefronts are read per SASS class; its conflicts vary from run
to run (the fills of the cache take part), so they are not read."""

PACKING = {"banks": (33, 4), "twice": (65, 3), "retry": (1057, 2), "copy": (33, 3), "bypass": (65, 2)}
"""Rule -> (base: more than any count can be; cases of a launch). "twice" is an exchange that passes the banks twice."""


def measure(work, report=None, alone=False):
    """[(Form, Cases)] -> [records.Cases], in order, by one ncu run per set of counters.

    report: called with a line of text before each run. alone: one case per launch.
    """
    results = {}
    for counters in dict.fromkeys(COUNTERS.values()):
        mine = [(i, f, c) for i, (f, c) in enumerate(work) if COUNTERS[f.row.kind] == counters]
        if mine:
            jobs = [job_of(f, c, alone) for _, f, c in mine]
            if report:
                launches = sum(len(j.launches()) for j in jobs)
                report(f"{sum(len(c) for _, _, c in mine):,} cases, {len(mine)} forms, {launches:,} launches: "
                       f"{', '.join(counters)}")
            for (i, f, c), digits in zip(mine, _run(jobs, counters), strict=True):
                results[i] = _recorded(f, c, digits)
    return [results[i] for i in range(len(work))]


def _recorded(form, cases, digits):
    """The records.Cases of a form."""
    digits = [*digits, *[np.full(len(cases), records.NOT_RECORDED)] * (3 - len(digits))]
    sources, valid = (None if x is None else x.astype(np.int64) for x in (cases.sources, cases.valid))
    return records.Cases(form.name, form.row.name, cases.addresses.astype(np.int64), cases.active, sources, valid,
                         cases.labels, *digits)


def packing(form):
    """(base, cases per launch) of a Form."""
    return PACKING["twice" if form.row.rule == "banks" and form.row.times > 1 else form.row.rule]


def job_of(form, cases, alone=False):
    """The Job that measures cases of one form."""
    base, per_launch = (1, 1) if alone else packing(form)
    sources = np.zeros_like(cases.addresses) if cases.sources is None else cases.sources
    if cases.valid is not None:
        sources = sources | cases.valid // 2
    repetitions = base ** (np.arange(len(cases)) % per_launch)
    return probe.Job(form.name, cases.addresses, sources, cases.active, repetitions, per_launch)


def _run(jobs, counters):
    """For each job, int64 [counters, cases]."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.npz"
        probe.save(path, jobs)
        launches = iter(ncu.profile(["-m", "cuda_kernels.conformance.probe", str(path)], counters, "probe"))
        return [decoded(job, [next(launches) for _ in job.launches()], counters) for job in jobs]


def decoded(job, launches, counters):
    """The digits of every launch's sums: int64 [counters, cases].

    >>> job = probe.Job("", np.zeros((3, 32)), None, None, 33 ** np.arange(3) , 3)
    >>> decoded(job, [{"w": 4 + 33 * 1 + 33**2 * 32}], ["w"]).tolist()
    [[4, 1, 32]]
    """
    base = int(job.repetitions[1]) if job.per_launch > 1 and len(job.repetitions) > 1 else 0
    rows = []
    for name in counters:
        digits = []
        for (_, count), seen in zip(job.launches(), launches, strict=True):
            total = seen[name] or 0
            for _ in range(count - 1):
                total, digit = divmod(total, base)
                digits.append(digit)
            digits.append(total)
        rows.append(digits)
    return np.array(rows, np.int64)
