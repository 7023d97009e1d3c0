"""run PROGRAM.py: a program whose kernels run on the CPU machine, and what is told at its end."""

import os
import re
import sys
import time
from contextlib import contextmanager

from simlayout.cli.text import fit, json_text
from simlayout.errors import SimlayoutError
from simlayout.files import STDIO, check_ending, check_writable, flush_stdout, write_whole
from simlayout.progress import progress

NOTES = """
    A program is a Python file that launches kernels of Numba (numba-cuda); it runs unchanged, as `python PROGRAM.py` would
    run it, and every launch goes to the machine. Options before its path are simlayout's, all that follows is the
    program's. At the end stderr tells, of each kernel, what its lines cost: wavefronts of shared memory, sectors of global
    memory, hazards, and the edit that would mend an array; stdout is the program's alone. --json and --html write the same
    to files (`simlayout guide numba` describes them). The exit code is the program's, or with --strict 1 where it is 0 and
    there are hazards or excess.
    """

OWN = {"--hazards", "--json", "--arch", "--html", "--quiet", "--strict", "--together"}
"""Options that stand before the program's path: behind it they are told of, because they may be meant for simlayout."""

PATIENCE = 1.0
"""Seconds of a launch before a terminal is told how far it is."""


def add_options(group):
    """Adds the options that only programs take to a group of a parser; returns their names."""
    known = list(group._group_actions)
    group.add_argument("-m", dest="module", action="store_true", help="FILE is the name of a module, as of `python -m`")
    group.add_argument("--html", metavar="FILE", help="write the report as one page for a browser")
    group.add_argument("--quiet", action="store_true", help="no report on stderr")
    return [action for action in group._group_actions if action not in known]


def run(options):
    """`simlayout run PROGRAM.py`: the exit code is the program's."""
    from simlayout.hardware.tables.arch import DEFAULT_ARCH
    from simlayout.programs.children import inherited
    from simlayout.programs.device import SimulatedDevice
    from simlayout.programs.execute import executed
    from simlayout.programs.numba_cuda import NumbaOnDevice
    from simlayout.programs.report import Report

    if not options.module:
        _check_readable(options.file)
    if options.json == STDIO:
        raise SimlayoutError("--json: stdout is the program's: name a file, as in --json report.json")
    if options.html is not None:
        check_ending(options.html, ".html", ".htm")
        check_writable(options.html)
    options.json, options.html = (path and os.path.abspath(path) for path in (options.json, options.html))   # it may chdir
    report = Report(options.arch or DEFAULT_ARCH, options.hazards != "off")

    def told(launched):
        report.add(launched)
        device.launches.clear()                          # a program may launch for hours

    device = SimulatedDevice(report.arch, options.hazards, told, _progress, report.give_up, options.together)
    with _other_compiler(options.file):
        numba = NumbaOnDevice(device)
    numba.__enter__()                                    # for good: what ends the program may still use the device
    with inherited(report.arch, options.hazards, options.together):
        code = executed(options.file, options.arguments, options.module)
    _tell(options, report, code, device.memory.seen)
    return code or int(options.strict and bool(report.hazards or report.excess))


def _check_readable(path):
    if not os.path.isfile(path):
        raise SimlayoutError(f"{path} is a folder, not a program" if os.path.isdir(path) else
                             f"{path}: there is no such program")
    if not os.access(path, os.R_OK):
        raise SimlayoutError(f"cannot read {path}: Permission denied")


NO_LAUNCH = ": only launches of Numba's kernels are counted, kernel[grid, block](...), and those of this process"
"""Behind the sentence that no kernel was launched, where the program did not fail."""

OF_OTHERS = (": only launches of Numba are redirected here; write simlayout.simulate(kernel)[grid](...) for kernels of {}, "
             "and start the program with python (`simlayout guide ci`)")
"""Behind the same sentence, where the program uses another compiler."""


UNSEEN = ("nothing was copied back from the GPU, so the program has seen nothing of what its kernels wrote: copy_to_host(), "
          "or pass arrays of the host")


@contextmanager
def _other_compiler(path):
    """Without numba-cuda, a program that imports another compiler is told what to do with that one."""
    try:
        yield
    except SimlayoutError:
        if not os.path.isfile(path):                     # the name of a module
            raise
        with open(path, "rb") as file:
            found = re.search(rb"^\s*(?:import|from)\s+(triton|cupy)\b", file.read(), re.MULTILINE)
        if found is None:
            raise
        raise SimlayoutError(f"{path}{OF_OTHERS.format(found[1].decode())}") from None


def _tell(options, report, code, seen):
    from simlayout.programs.page import page
    from simlayout.programs.report import text

    if options.json is not None:
        write_whole(options.json, json_text(report.as_dict()) + "\n")
    if options.html is not None:
        write_whole(options.html, page(report, os.path.basename(options.file)))
    if not options.quiet and not getattr(sys.stderr, "closed", sys.stderr is None):
        flush_stdout()
        told = text(report)
        if not report.kernels and not report.unfinished:
            others = [name for name in ("triton", "cupy") if name in sys.modules]
            told += OF_OTHERS.format(others[0]) if others else "" if code else NO_LAUNCH
        elif report.kernels and not seen and not code:
            told += f"\n{UNSEEN}"
        print(f"\nsimlayout: {fit(told)}", file=sys.stderr, flush=True)
        if behind := [word for word in options.arguments if word.partition("=")[0] in OWN]:
            print(fit(f"{' '.join(behind)} stands behind the program's path, so it is the program's: simlayout's options "
                      "stand before the path"), file=sys.stderr, flush=True)


@contextmanager
def _progress(name):
    """How far a launch is, once it takes long."""
    started = time.monotonic()
    with progress(f"CTAs of {name}") as moved:
        yield lambda done, total: moved(done, total) if time.monotonic() - started > PATIENCE else None
