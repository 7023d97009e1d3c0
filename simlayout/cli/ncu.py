"""ncu: what Nsight Compute counted on each line of a kernel, beside the prediction for it."""

from os.path import basename

from simlayout.cli.options import add, add_own, integer
from simlayout.cli.text import cut, field, fit, tell
from simlayout.wording import counted

EXAMPLES = """
    simlayout ncu report.ncu-rep
    simlayout ncu report.ncu-rep --kernel transpose --lines shared
    simlayout ncu report.ncu-rep --kernel transpose --launch 3 --lines sass
    simlayout ncu report.ncu-rep --trace run.json         # run.json: simlayout run program.py --json run.json
    simlayout ncu page.csv --trace run.json --json        # page.csv: ncu --import REPORT --page source --csv
    """

NOTES = """
    The report needs counters of single instructions, and lines of the source:

      ncu --set full --import-source yes -o report python program.py      # or --section SourceCounters
      nvcc -lineinfo ..., @cuda.jit(lineinfo=True)

    A .ncu-rep is read by NVIDIA's package ncu-report (pip install "simlayout[ncu]"), the CSV by simlayout alone; it has no
    lines, so that it is told by classes of instructions. Of each line: warp instructions of all kinds, measured wavefronts,
    ideal and excess of shared memory, and the sectors of global memory that were asked for, with the fewest that would do.
    The excess is what the addresses cost. What the hardware's counters of bank conflicts have on top, where the report has
    them, is of other causes: accesses that came in each other's way at L1.

    --trace is what `simlayout run` wrote of the same kernel, grid and block, with its --json FILE. Each line then gets its
    prediction and a verdict, and with a program's trace the edit that mends the excess. The exit code is 1 if a prediction
    is not what was measured. Not compared are lines that the model only bounds, and those of which ncu is known to count
    wrong.
    """

MOST_TOLD = 10
"""Lines whose verdict is explained in the text; JSON has all."""


def describe(parser):
    """The parser of `simlayout ncu`."""
    parser.answer(ncu, EXAMPLES, NOTES)
    parser.add_argument("report", metavar="REPORT", help="a .ncu-rep, or the CSV of ncu's source page")
    add(parser, "--kernel", of="ncu")
    add_own(parser, "--launch", type=integer(0), metavar="N",
            help="the report's launch N, from 0, where a kernel has several")
    add_own(parser, "--trace", metavar="FILE", help="the prediction: what `simlayout run ... --json FILE` wrote")
    add(parser, "--lines", of="ncu", choices=("all", "shared", "sass"))
    add(parser, "--json")


def ncu(options):
    """`simlayout ncu`: exit code 1 if a prediction is not what was measured."""
    from simlayout.nsight.compared import DIFFERENT, chosen, compare
    from simlayout.nsight.predicted import predictions
    from simlayout.nsight.reports import launches

    traced = None if options.trace is None else predictions(options.trace)
    launch, prediction = chosen(launches(options.report), traced, options.kernel, options.launch)
    found = compare(launch, prediction)
    tell(options.json, lambda: _report(found, options.lines), lambda: _text(found, options.lines))
    return 1 if found.with_verdict(DIFFERENT) else 0


def _report(found, lines):
    """What `--json` holds."""
    launch = found.launch
    made = {"kernel": launch.name, "mangled": launch.mangled, "launch": launch.number, "launches": launch.times,
            "grid": launch.grid, "block": launch.block, "device": launch.device, "has_lines": launch.has_lines,
            "lines": [line.as_dict() for line in found.lines], "total": found.total().as_dict(),
            "conflicts": [cause.as_dict() for cause in found.causes()],
            "mends": [mend.as_dict() for mend in found.prediction.mends] if found.prediction else []}
    if lines == "sass":
        made["instructions"] = [{"offset": offset, **vars(one)} for offset, one in launch.counted.items()]
    return made


# ---- as text -----------------------------------------------------------------------------------------------------------

def _text(found, lines):
    from simlayout.nsight.listing import listing

    launch = found.launch
    told = [field("kernel", launch.title), field("launch", launch.which)]
    if not launch.has_lines:
        told.append(field("lines", "the CSV has none" if not launch.mangled else
                          "the report knows none: compile with -lineinfo, @cuda.jit(lineinfo=True)"))
    told += ["", *(_sass(found) if lines == "sass" else map(cut, listing(found, lines == "all"))), ""]
    told += [field("conflicts", _cause(cause)) for cause in found.causes()]
    told += [field("cp.async", text) for text in _copies(found)]
    told += list(_verdict(found))
    return "\n".join(told)


def _sass(found):
    """The listing by instructions of SASS that access shared memory."""
    form = "{:>6}  {:>8}  {:>10}  {:>10}  {:>8}  {:>8}  {}"
    yield form.format("line", "offset", "executions", "wavefronts", "ideal", "excess", "instruction")
    for offset, one in found.launch.accesses.items():
        note = "   * misread" if one.misread else ""
        yield cut(form.format(one.line or "", f"{offset:#x}", one.executions, one.wavefronts, one.ideal,
                              one.excess, one.text + note))
    if any(one.misread for one in found.launch.accesses.values()):
        yield "* Nsight Compute counts an LDGSTS wrong whose predicate is P0"


def _cause(cause):
    return (f"{cause.operation}: {cause.counter} by the hardware's counter, {cause.pattern} of the addresses and "
            f"{cause.other} of other causes")


def _copies(found):
    """What is known of the excess of cp.async."""
    copies = [one for one in found.launch.accesses.values() if one.class_name == "copy"]
    excess = sum(one.excess for one in copies)
    if excess:
        yield (f"excess {excess}, of the addresses in shared memory and of scattered sources in global memory alike: Nsight "
               "Compute does not tell them apart")


def _verdict(found):
    """Where the excess is, or what became of the prediction, and what would mend it."""
    from simlayout.nsight.compared import DIFFERENT, EQUAL, NOT_COMPARED

    if found.prediction is None:
        worst = sorted((line for line in found.lines if line.excess > 0), key=lambda line: -line.excess)[:3]
        yield field("excess", ", ".join(f"{line.excess} on {_place(line)}" for line in worst) or
                    str(max(found.total().excess, 0)))
        return
    equal, different, left = (found.with_verdict(verdict) for verdict in (EQUAL, DIFFERENT, NOT_COMPARED))
    what = counted(len(equal) + len(different), "line" if found.launch.has_lines else "class")
    yield field("verdict", f"predicted = measured: {what} of shared memory" if not different else
                f"predicted != measured: {len(different)} of {what} of shared memory")
    joined = [line for line in equal if line.why]
    for line in [*different, *left, *joined][:MOST_TOLD]:
        yield fit(f"  {_place(line)}: {line.why}")
    from simlayout.programs.report import mend_lines

    for mend in found.prediction.mends:
        yield from map(fit, mend_lines(mend))


def _place(line):
    return f"{basename(line.file)}:{line.line}" if line.line else line.source
