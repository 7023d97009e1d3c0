"""Nsight Compute as a function: a command line in, the counters of each of its kernel launches out."""

import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path

from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError


def problem():
    """Why Nsight Compute cannot be used here, as a sentence; None if it is installed."""
    if shutil.which("ncu") is None:
        return ("Nsight Compute (ncu) is not on the PATH: install it (it comes with the CUDA toolkit) or add its folder "
                "to PATH")
    return None


def version():
    """"Nsight Compute" and its version, as `ncu --version` says."""
    text = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout
    match = re.search(r"Version (\d+(?:\.\d+){1,2})", text)
    return f"Nsight Compute {match[1] if match else 'of unknown version'}"


def profile(arguments, metrics, kernels):
    """Runs `python ARGUMENTS` under ncu: one {metric: number} per launch of a kernel whose name matches, in their order.

    arguments: after the interpreter, for example ["-m", "cuda_kernels.conformance.probe", "job.npz"]. metrics: names with
    their suffix. kernels: a regular expression. Clocks and caches stay as they are. What the command itself writes to
    stderr is passed on. Raises DeviceError with the last lines of ncu's output if it fails.
    """
    missing = problem()
    if missing:
        raise DeviceError(missing)
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "--kernel-name", f"regex:{kernels}", "--metrics", ",".join(metrics), sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        text = running.stdout.read()
    if running.returncode:
        raise DeviceError(f"ncu failed: {_last_line(text)}")
    return parse(text)


def refuse():
    """Raises DeviceError where no GPU is there to be profiled, or no Nsight Compute."""
    missing = gpu_problem() or problem()
    if missing:
        raise DeviceError(missing)


@contextmanager
def folder(keep):
    """A folder for what ncu writes: `keep` (a Path), made where it is not there, or, for None, a temporary one."""
    with nullcontext(keep) if keep else tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.mkdir(exist_ok=True)
        yield path


def pages(folder, arguments, metrics, kernels):
    """Runs `python ARGUMENTS` under ncu: its source page and its raw page as CSV (`source_page` reads them), also kept in
    the folder (a Path) beside the report. metrics, kernels: as of `profile`. Raises DeviceError with the last lines of
    ncu's output."""
    missing = problem()
    if missing:
        raise DeviceError(missing)
    report = folder / "report.ncu-rep"
    _run(["ncu", "--force-overwrite", "--export", report, "--clock-control", "none", "--cache-control", "none",
          "--kernel-name", f"regex:{kernels}", "--section", "SourceCounters", "--metrics", ",".join(metrics), sys.executable,
          *arguments])
    texts = [_run(["ncu", "--import", report, "--csv", "--print-units", "base", "--page", *page])
             for page in (("source", "--print-source", "sass"), ("raw",))]
    for name, text in zip(("source.csv", "raw.csv"), texts):
        (folder / name).write_text(text)
    return texts


def _run(command):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if process.returncode:
        raise DeviceError(f"ncu failed: {_last_line(process.stdout + process.stderr)}")
    return process.stdout


def _last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed nothing"


def parse(text):
    """ncu's CSV -> one {metric: number} per launch, an int where ncu prints a whole number, and else a float, which it
    prints to two decimals; None for a counter that ncu could not read.

    >>> parse('==PROF== x\\n"ID","Metric Name","Metric Value"\\n"0","a.sum","1,024"\\n"1","b.pct","7.25"\\n')
    [{'a.sum': 1024}, {'b.pct': 7.25}]
    """
    start = text.find('"ID"')
    if start < 0:
        raise DeviceError(f"ncu printed no table: {_last_line(text)}")
    launches = {}
    for row in csv.DictReader(io.StringIO(text[start:])):
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = _number(row["Metric Value"])
    return [launches[i] for i in sorted(launches)]


def _number(text):
    if text in ("", "n/a"):
        return None
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value
