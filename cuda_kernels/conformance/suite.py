"""The conformance suite: generate, run, count, compare, keep.

    simlayout conform [--cases N] [--seed S] [--record FILE.npz] [--json [FILE]]
"""

import json
import shlex
import sys

import numpy as np

from cuda_kernels.bench.command import where_and_when
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.cases import generate
from cuda_kernels.conformance.clocks import KINDS, time_cases
from cuda_kernels.conformance.forms import FORMS, form
from cuda_kernels.conformance.measure import measure
from cuda_kernels.run.device import compute_capability, gpu_problem
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import STDIO, check_writable, deliver
from simlayout.hardware import analyze
from simlayout.hardware.banks.records import COUNTERS, check, save_records
from simlayout.progress import progress

CASES = 130
"""Cases of each form, by default: more than 20,000 in all."""


def chosen(names):
    """The Forms that the names mean: PTX spellings, rows ("ld.shared.b128": all its spellings), prefixes; all for none."""
    if not names:
        return list(FORMS.values())
    forms = {}
    for name in names:
        matching = [f for f in FORMS.values() if name in (f.name, f.row.name) or f.name.startswith(name + ".")]
        forms.update((f.name, f) for f in matching or [form(name)])
    return list(forms.values())


def run_counters(forms, count, seed, report, keep=None):
    """[Checked] of `count` cases of each form, read by Nsight Compute. keep: called with the [records.Cases] when read.

    Cases share launches, told apart by repetition; those that disagree are therefore measured again, each by itself.
    """
    if problem := gpu_problem():
        raise DeviceError(f"{problem}; `simlayout conform --check FILE.npz` needs none")
    if problem := ncu.problem():
        raise DeviceError(f"{problem}; `simlayout conform --clock` needs no Nsight Compute")
    forms = on_this_gpu(forms, report)
    work = [(f, generate(f.row.name, count, seed, f.sized)) for f in forms]
    measured = measure(work, report=report)
    if keep:
        keep(measured)
    checked = [check(c) for c in measured]
    wrong = [np.flatnonzero(c.wrong) for c in checked]
    suspects = [(f, cases[rows]) for (f, cases), rows in zip(work, wrong, strict=True) if len(rows)]
    again = iter(measure(suspects, report=report, alone=True))
    for i, (cases, rows) in enumerate(zip(measured, wrong, strict=True)):
        if len(rows):
            alone = next(again)
            for name in COUNTERS:
                getattr(cases, name)[rows] = getattr(alone, name)
            checked[i] = check(cases)
    if keep and suspects:
        keep(measured)
    return checked


def on_this_gpu(forms, report):
    """The Forms that the current GPU has; tells which it has not. Raises SimlayoutError if there is none."""
    capability = compute_capability()
    missing = [f.name for f in forms if f.row.since > capability]
    if len(missing) == len(forms):
        raise SimlayoutError(f"this GPU (compute capability {'.'.join(map(str, capability))}) has no {', '.join(missing)}")
    if missing:
        report(f"not on this GPU: {', '.join(missing)}")
    return [f for f in forms if f.name not in missing]


def run_clocks(forms, count, seed, report):
    """[Timed] of the forms whose time is their wavefronts."""
    problem = gpu_problem()
    if problem:
        raise DeviceError(problem)
    results = []
    timed = [f for f in on_this_gpu(forms, report) if f.row.kind in KINDS and not f.generic]
    with progress("instructions timed") as moved:
        for number, f in enumerate(timed):
            moved(number, len(timed))
            cases = generate(f.row.name, count, seed)
            keep = cases.active.any(axis=1)
            predicted = analyze(f.row, cases.addresses[keep], active=cases.active[keep]).wavefronts
            results.append(time_cases(f, cases[keep], predicted))
    if not results:
        raise SimlayoutError(f"--clock tells nothing about {forms[0].name}: it times {', '.join(KINDS)}, not with generic "
                             "addresses")
    return results


def table(checked):
    """The result as text: one line per form, then the first mismatch of each wrong one, explained."""
    lines, total = [f"{'instruction':<32}{'cases':>7}{'exact':>7}{'wrong':>7}"], [0, 0, 0]
    for c in checked:
        known = int((c.analysis.at_least == c.analysis.at_most).sum())
        lines.append(f"{c.cases.form:<32}{len(c.wrong):>7}{known:>7}{int(c.wrong.sum()):>7}")
        total = [t + n for t, n in zip(total, (len(c.wrong), known, int(c.wrong.sum())), strict=True)]
    lines.append("{:<32}{:>7}{:>7}{:>7}".format("all", *total))
    lines.append("exact: predicted as one number, the others as bounds. wrong: wavefronts outside, or other counters differ")
    return "\n".join(lines + [c.mismatch() for c in checked if c.wrong.any()])


def clock_table(timed):
    """The result of the clock mode as text."""
    lines = ["by the clock: weaker evidence than counters (8 warps of one SM; clocks per instruction against wavefronts)",
             f"{'instruction':<32}{'cases':>7}{'agree':>7}"]
    for t in timed:
        lines.append(f"{t.form:<32}{len(t.clocks):>7}{int(t.agree.sum()):>7}")
        for i in np.flatnonzero(~t.agree)[:1]:
            lines.append(f"  first that does not: {t.clocks[i]:.2f} clocks, {t.predicted[i]} wavefronts predicted")
    return "\n".join(lines)


def conform(options, report=lambda line: print(line, file=sys.stderr, flush=True)):
    """Runs the suite as the options say; prints the table; returns 1 if anything is wrong."""
    forms = chosen(options.instructions)
    if options.record:
        check_writable(options.record)
    if options.clock:
        timed = run_clocks(forms, options.cases, options.seed, report)
        rows = [{"form": t.form, "cases": len(t.clocks), "agree": int(t.agree.sum())} for t in timed]
        _tell(options, clock_table(timed), {"evidence": "clocks", "forms": rows})
        return int(not all(t.agree.all() for t in timed))
    keep = (lambda cases: save_records(options.record, about(options), cases)) if options.record else None
    checked = run_counters(forms, options.cases, options.seed, report, keep)
    rows = [{"form": c.cases.form, "cases": len(c.wrong), "wrong": int(c.wrong.sum())} for c in checked]
    _tell(options, table(checked), {"evidence": "counters", "forms": rows})
    return int(any(c.wrong.any() for c in checked))


def _tell(options, text, results):
    """Prints the text, and writes the results to the file of --json. If that is stdout, they replace the text."""
    if options.json != STDIO:
        print(text)
    if options.json:
        deliver(options.json, json.dumps({**about(options), **results}, indent=1) + "\n")


def about(options):
    """Where, when and how the numbers were read: a dict of plain values."""
    from numba import cuda

    given = ["--cases", str(options.cases), "--seed", str(options.seed), *(["--clock"] if options.clock else [])]
    major, minor = compute_capability()
    return {**where_and_when("simlayout", []), "arch": f"sm_{major}{minor}",
            "cuda": "{}.{}".format(*cuda.runtime.get_version()), "tool": "SM clocks" if options.clock else ncu.version(),
            "command": shlex.join(["simlayout", "conform", *options.instructions, *given])}
