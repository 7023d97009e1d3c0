"""One run of `simlayout bench`: its cases, a line for each as it is measured, summaries, and the files with the
results."""

import shlex
import statistics
from dataclasses import dataclass

from cuda_kernels.bench import record
from cuda_kernels.bench.command import where_and_when
from cuda_kernels.bench.libraries import cublas_library
from cuda_kernels.bench.programs import programs
from cuda_kernels.bench.sets import MATMUL, MATMUL_ROW, SETS, TRITON, cases_of
from cuda_kernels.bench.timing import FOLLOWING, compare
from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.matmul.tune.groups import SEED
from simlayout.errors import SimlayoutError
from simlayout.files import STDIO, check_writable


@dataclass(frozen=True)
class Choice:
    """What a command line asks for. sets: names, () for the five of matmul; sizes: M = N = K, () for each set's own; only:
    texts; rounds; seconds: of a turn, None for each set's own; follow: of FOLLOWING; triton, untuned: bool; json, plot: file
    names or None; seed: of the sets that are drawn."""

    sets: tuple = ()
    sizes: tuple = ()
    only: tuple = ()
    rounds: int = 5
    seconds: float | None = None
    follow: str = "overlap"
    triton: bool = False
    untuned: bool = False
    json: str | None = None
    plot: str | None = None
    seed: int = SEED

    def __post_init__(self):
        if self.rounds < 1:
            raise SimlayoutError(f"--rounds {self.rounds}: give at least 1")
        if self.seconds is not None and not 0 < self.seconds < 60:
            raise SimlayoutError(f"--seconds {self.seconds:g}: a turn lasts more than 0 and less than 60 seconds")
        if self.follow not in FOLLOWING:
            raise SimlayoutError(f"--follow {self.follow}: choose {', '.join(FOLLOWING)}")
        if any(not 0 < size < 1 << 17 for size in self.sizes):
            raise SimlayoutError(f"--sizes {' '.join(map(str, self.sizes))}: give numbers from 1 to {(1 << 17) - 1}")

    def command(self):
        """The command line that asks for it.

        >>> Choice(("squares",), sizes=(4096,), follow="wait", json="a.json").command()
        'simlayout bench squares --sizes 4096 --follow wait --json a.json'
        """
        words = ["simlayout", "bench", *self.sets]
        for name in ("sizes", "only"):
            if value := getattr(self, name):
                words += [f"--{name}", *map(str, value)]
        for name in ("rounds", "seed", "seconds", "follow"):
            if (value := getattr(self, name)) != getattr(Choice, name):
                words += [f"--{name}", f"{value:g}" if name == "seconds" else str(value)]
        words += [f"--{name}" for name in ("triton", "untuned") if getattr(self, name)]
        for name in ("json", "plot"):
            if value := getattr(self, name):
                words += [f"--{name}", str(value)]
        return shlex.join(words)


def bench(choice, say=lambda line: print(line, flush=True)):
    """Measures what a Choice asks for and returns the Record; says a line per row and what each set comes to.

    If it is interrupted or a kernel fails, it prints and writes what it has, and raises the exception again. Raises
    SimlayoutError or DeviceError before anything is measured where something is missing.
    """
    cases = cases_of(choice.sets, choice.sizes, choice.only, choice.triton, choice.seed)
    _check_files(choice)
    library = cublas_library()
    if choice.triton:
        _check_triton(library)
    cases = _possible(cases, library, say)
    compile_cases(cases, not choice.untuned)
    head, rows = {**about(choice), "library": library.version, "how": library.how}, []
    try:
        for case in cases:
            seconds = choice.seconds or SETS[case.set].seconds
            rows.append(compare(case, library, choice.rounds, seconds, choice.follow,
                                "off" if choice.untuned else "kept"))
            library.free()
            say(line(rows[-1]))
    except BaseException as error:
        head["ended early by"] = type(error).__name__
        raise
    finally:
        if rows:
            measured = record.Record(head, tuple(rows))
            _keep(choice, measured, say)
    return measured


def _check_files(choice):
    """Raises SimlayoutError where a file could not be written in the end."""
    for path in filter(None, (choice.json, choice.plot)):
        if path != STDIO:
            check_writable(path)
    if choice.plot:
        from simlayout.plots.files import format_of
        from simlayout.plots.library import matplotlib

        format_of(choice.plot)
        matplotlib()


def _check_triton(library):
    from cuda_kernels.bench import triton_matmul

    triton_matmul.require()
    if not library.version.startswith("torch"):
        raise SimlayoutError(f"--triton takes torch's arrays, and here is {library.version}: pip install torch")


def _possible(cases, library, say):
    """The cases that the library and the GPU can do; says which it leaves out."""
    from cuda_kernels.kernels import as_kernel
    from cuda_kernels.run.device import compute_capability

    capability = compute_capability()
    of_types = [c for c in cases if c.problem.dtype in library.dtypes]
    if len(of_types) < len(cases):
        left_out = [c.problem.dtype for c in cases if c.problem.dtype not in library.dtypes]
        types, taken = ", ".join(dict.fromkeys(left_out)), ", ".join(library.dtypes)
        say(f"note: {len(left_out)} products of {types} are left out: {library.version} multiplies {taken} only")
    fitting = [c for c in of_types if c.kernel in ("auto", TRITON) or as_kernel(c.kernel).needs.on(capability)]
    if len(fitting) < len(of_types):
        missing = len(of_types) - len(fitting)
        say(f"note: {missing} rows of kernels for Hopper are left out: they need compute capability 9.0")
    if not fitting:
        raise SimlayoutError("nothing is left to measure: see the notes above, or name other sets")
    return fitting


def compile_cases(cases, use_kept=True):
    """Compiles what the cases need, many kernels at a time. use_kept: whether what tuning has kept is used."""
    from cuda_kernels.run import driver

    cuda = driver.cuda()
    compile_ahead(programs(cases, cuda, use_kept), cuda.version)


def about(choice):
    """Where, when and how: the head of a record."""
    from cuda_kernels.run import driver

    cuda = driver.cuda()
    return {**where_and_when("simlayout", []), "command": choice.command(),
            "cuda": f"{cuda.version // 1000}.{cuda.version % 1000 // 10}", "sms": cuda.attribute(0, driver.MULTIPROCESSORS),
            "rounds": choice.rounds, "seconds": choice.seconds or {s: SETS[s].seconds for s in choice.sets or MATMUL},
            "follow": choice.follow, "untuned": choice.untuned, "seed": choice.seed}


def line(row):
    """A row as text, at most 100 columns."""
    p = row.problem
    title = f"{row.set:<11}{p.M:>6} x{p.N:>6} x{p.K:>6} {p.dtype:<5}{p.order}"
    if p.groups:
        title = f"{p.groups:>4} groups {p.M:>6} x{p.N:>6} x{p.K:>5} {p.dtype}"
        return f"{title:<42}{row.us:>9.1f} us{row.tflops:>6.0f} TFLOP/s{row.share:>7.3f} {row.label}"
    if row.label not in (MATMUL_ROW, TRITON):
        title = f"{p.M:>5} {row.label}"
    elif p.epilogue or row.label == TRITON:
        title += f" {p.epilogue or 'Triton'}"
    return f"{title:<56}{row.us:>9.1f} us{row.tflops:>6.0f} TFLOP/s{row.share:>7.3f} of cuBLAS"


def summary(rows):
    """(geometric mean, least) of the shares of some rows."""
    return statistics.geometric_mean(row.share for row in rows), min(row.share for row in rows)


def summaries(rows):
    """A line for each set of matmul's choices, and for Triton's rows in it: what their shares come to."""
    lines = []
    for name in dict.fromkeys(row.set for row in rows):
        for label in (MATMUL_ROW, TRITON):
            of_set = [row for row in rows if (row.set, row.label) == (name, label)]
            if of_set:
                mean, least = summary(of_set)
                who = name if label == MATMUL_ROW else f"{name}, Triton"
                lines.append(f"{who}: geometric mean {mean:.3f}, least {least:.3f} of cuBLAS in {len(of_set)} rows")
    return lines


def _keep(choice, measured, say):
    """Writes the files, then prints the summaries: in this order, because stdout may be closed by then."""
    if choice.json:
        record.write(choice.json, measured)
    if choice.plot:
        from cuda_kernels.bench.pictures import overview
        from simlayout.plots import save

        save(overview(measured), choice.plot)
    for text in summaries(measured.rows):
        say(text)
