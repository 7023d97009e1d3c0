"""A report's launch by lines of its source, beside the prediction for the same kernel."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import reduce
from os.path import basename

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.excess import WithExcess
from simlayout.nsight.listing import listing
from simlayout.nsight.predicted import Place, Prediction, Sums
from simlayout.nsight.reports import COUNTERS, Launch, short
from simlayout.nsight.source_page import Counted
from simlayout.programs.report import SUMMED
from simlayout.shown import Shown
from simlayout.wording import by

EQUAL, DIFFERENT, NOT_COMPARED = "equal", "DIFFERENT", "not compared"

MISREAD = "Nsight Compute misreads an LDGSTS whose predicate is P0"

PAIRED = ("or Nsight Compute's: where lanes share words its source page counts LDS.64 and LDS.128 otherwise than the "
          "pipe, whose counter is l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld")
"""See tests/data/h200_apart.json: 90 of 800 such loads on an H200, of which the model has the pipe's number."""


@dataclass(frozen=True)
class LineCompared(WithExcess[int]):
    """A line of the source; where the report knows none a class of instructions, or all (file "", line 0, source: which).

    executions: warp instructions of all kinds; instructions: those of shared memory; wavefronts, ideal: theirs, measured;
    opcodes: of SASS; sectors, least: of global memory, asked for and the fewest that would do; predicted: Sums, None where
    there is no trace; verdict: EQUAL, DIFFERENT or NOT_COMPARED, "" without shared memory or trace; why: a sentence where it
    is not EQUAL, or only together with another line.
    """

    file: str
    line: int
    source: str
    executions: int = 0
    instructions: int = 0
    wavefronts: int = 0
    ideal: int = 0
    opcodes: tuple[str, ...] = ()
    sectors: int = 0
    least: int = 0
    predicted: Sums | None = None
    verdict: str = ""
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {**vars(self), "excess": self.excess, "predicted": None if self.predicted is None else vars(self.predicted)}


@dataclass(frozen=True)
class Causes:
    """Bank conflicts of an operation by the hardware's counter, and by cause. pattern: of the addresses, which is the excess
    that the source page has; other: the rest, of accesses that came in each other's way at L1."""

    operation: str
    counter: int
    pattern: int

    @property
    def other(self) -> int:
        """Conflicts that no address pattern makes."""
        return self.counter - self.pattern

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {**vars(self), "other": self.other}


@dataclass(frozen=True)
class Comparison(Shown):
    """A launch, line by line. prediction: None where there is no trace. It prints as a table of the lines that access shared
    memory."""

    launch: Launch
    prediction: Prediction | None
    lines: tuple[LineCompared, ...] = field(repr=False)

    def __str__(self):
        return "\n".join([str(self.launch), *listing(self)])

    def total(self) -> LineCompared:
        """The sums over the lines; without a verdict."""
        made = LineCompared("", 0, "", predicted=None if self.prediction is None else self.prediction.total())
        return replace(made, **{name: sum(getattr(line, name) for line in self.lines) for name in SUMMED})

    @typed()
    def with_verdict(self, verdict: str) -> tuple[LineCompared, ...]:
        """The lines that have it."""
        return tuple(line for line in self.lines if line.verdict == verdict)

    def causes(self) -> tuple[Causes, ...]:
        """Of each operation whose bank conflicts the hardware counted."""
        excess = defaultdict(int)
        for one in self.launch.accesses.values():
            excess[one.class_name] += one.excess
        return tuple(Causes(operation, counter, sum(excess[name] for name in COUNTERS[operation]))
                     for operation, counter in self.launch.conflicts.items())


# ---- which launch ------------------------------------------------------------------------------------------------------

def chosen(launches: list[Launch], predictions: list[Prediction] | None = None, kernel: str | None = None,
           number: int | None = None) -> tuple[Launch, Prediction | None]:
    """The launch that is meant, and its prediction.

    kernel: its name, or a part of that; number: in the report. Several launches of one kernel are added up where the
    prediction adds up as many of the same shapes. Raises SimlayoutError where none, or more than one, can be meant.
    """
    some = [one for one in launches if kernel is None or one.is_called(kernel)]
    some = some or [one for one in launches if kernel is not None and kernel in one.name]
    if not some:
        raise SimlayoutError(f"--kernel {kernel}: the report has no such kernel; it has {_names(launches)}")
    if number is not None:
        some = [one for one in some if one.number == number]
        if not some:
            raise SimlayoutError(f"--launch {number}: the report has {_listed(launches)}")
    prediction = None
    if predictions is not None:
        prediction = _predicted(predictions, some)
        some = [one for one in some if one.is_called(prediction.name)]
    if len({short(one.name) for one in some}) > 1:
        raise SimlayoutError(f"the report has several kernels, choose one with --kernel: {_names(some)}")
    if prediction is not None and len(some) == prediction.launches:
        _check_shapes(some, prediction)
        return reduce(Launch.plus, some), prediction
    if len(some) > 1:
        raise SimlayoutError(f"the report has several launches of {short(some[0].name)}, choose one with --launch N: "
                             f"{_listed(some)}")
    if prediction is not None:
        raise SimlayoutError(f"the trace adds up {prediction.launches} launches of {prediction.name}, and 1 of the report "
                             "is meant: profile all of them, or trace a program that launches it once")
    return some[0], None


def _predicted(predictions, launches):
    found = [p for p in predictions if any(one.is_called(p.name) for one in launches)]
    if len(found) == 1:
        return found[0]
    if found:
        raise SimlayoutError("the trace and the report have several kernels in common, choose one with --kernel: "
                             + ", ".join(p.name for p in found))
    raise SimlayoutError(f"the trace is of another kernel: it has {', '.join(p.name for p in predictions)}; the report has "
                         f"{_names(launches)}")


def _check_shapes(launches, prediction):
    left = {(grid, block): times for grid, block, times in prediction.shapes}
    for one in launches:
        shape = one.grid, one.block
        if None in shape:
            continue
        if not left.get(shape):
            traced = "; ".join(f"grid {by(g)}, block {by(b)}" for g, b, _ in prediction.shapes)
            raise SimlayoutError(f"the trace is of another launch of {prediction.name}: {traced}; the report's launch "
                                 f"{one.number} has grid {by(one.grid)}, block {by(one.block)}")
        left[shape] -= 1


def _names(launches):
    return ", ".join(dict.fromkeys(short(one.name) for one in launches))


def _listed(launches):
    return "; ".join(f"{one.number}: {short(one.name)}" + (f", grid {by(one.grid)}, block {by(one.block)}"
                                                         if one.grid and one.block else "") for one in launches)


# ---- line by line ------------------------------------------------------------------------------------------------------

@typed()
def compare(launch: Launch, prediction: Prediction | None = None) -> Comparison:
    """The Comparison of a launch with a prediction for the same kernel (see `chosen`).

    >>> from simlayout.nsight import Counted
    >>> launch = Launch("transpose", 0, {0: Counted("LDS.32 R4, [R2]", 32, wavefronts=32, ideal=1, file="t.cu", line=9)})
    >>> line = compare(launch).lines[0]
    >>> line.file, line.line, line.wavefronts, line.ideal
    ('t.cu', 9, 32, 1)
    """
    if not launch.has_lines:
        return Comparison(launch, prediction, _by_class(launch, prediction))
    measured = defaultdict(list)
    for one in launch.counted.values():
        measured[one.file, one.line].append(one)
    accessed = {place for place, some in measured.items() if any(one.accesses_shared for one in some)}
    sources, predicted, inlined = {}, {}, []
    if prediction is not None:
        names = _same_files({file for file, _ in measured}, prediction)
        sources = {(names[file], line): text for (file, line), text in prediction.sources.items()}
        for chain, sums in prediction.lines.items():
            places = [(names[file], line) for file, line in chain]
            predicted.setdefault(next((p for p in places if p in accessed), places[0]), Sums()).add(sums)
            inlined.append([place for place in places if place in accessed])
    lines = {place: _line(place, measured.get(place, []), None if prediction is None else predicted.get(place, Sums()),
                          launch.source(*place) or sources.get(place, "")) for place in sorted({*measured, *predicted})}
    for places in inlined:
        _join(lines, [place for place in dict.fromkeys(places) if lines[place].verdict == DIFFERENT])
    return Comparison(launch, prediction, tuple(lines.values()))


def _join(lines, places):
    """Lines of an inlined function and of its calls, between which the report divides the function's instructions: equal
    where their sums are."""
    apart = [lines[place] for place in places]
    if len(apart) > 1 and all(sum(getattr(one, name) for one in apart) == sum(getattr(one.predicted, name) for one in apart)
                              for name in ("wavefronts", "ideal")):
        told = " and ".join(f"{basename(file)}:{line}" for file, line in places)
        for place in places:
            lines[place] = replace(lines[place], verdict=EQUAL, why=f"{told} together, because one is inlined in the other")


def _by_class(launch, prediction):
    """Of a launch without lines: one LineCompared per class of instructions, or one of all where the prediction does not
    know classes."""
    counted = list(launch.counted.values())
    if prediction is not None and not prediction.classes:
        return (_line(("", 0), counted, prediction.total(), "all"),)
    classes = defaultdict(list)
    for one in counted:
        classes[one.class_name if one.accesses_shared else ""].append(one)
    predicted = {} if prediction is None else prediction.classes
    return tuple(_line(("", 0), classes[name], None if prediction is None else predicted.get(name, Sums()), name or "others")
                 for name in sorted({*classes, *predicted}, reverse=True))


def _same_files(measured: set[str], prediction: Prediction) -> dict[str, str]:
    """{file of the prediction: the same file in the report}: of the same path, or the only one of the same name.

    >>> one = Prediction("f", (), {(("f.cu", 1),): Sums()}, sources={("g.cu", 2): "x"})
    >>> _same_files({"/home/a/f.cu"}, one) == {"f.cu": "/home/a/f.cu", "g.cu": "g.cu"}
    True
    """
    files = {file for chain in prediction.lines for file, _ in chain} | {file for file, _ in prediction.sources}
    made = {}
    for file in files:
        alike = [one for one in measured if basename(one) == basename(file)]
        made[file] = alike[0] if file not in measured and len(alike) == 1 else file
    return made


def _line(place: Place, counted: list[Counted], predicted: Sums | None, source: str) -> LineCompared:
    accesses = [one for one in counted if one.accesses_shared]
    made = LineCompared(*place, source, instructions=sum(one.executions for one in accesses),
                        opcodes=tuple(dict.fromkeys(one.opcode for one in accesses)), predicted=predicted)
    made = replace(made, **{name: sum(getattr(one, name) for one in counted)
                            for name in ("executions", "wavefronts", "ideal", "sectors", "least")})
    if predicted is None or not (accesses or predicted.ideal or predicted.wavefronts):
        return made
    verdict, why = _judged(accesses, made.wavefronts, made.ideal, predicted)
    return replace(made, verdict=verdict, why=why)


def _judged(accesses, wavefronts, ideal, predicted):
    """(verdict, why) of a line that accesses shared memory, measured or predicted."""
    if any(one.misread for one in accesses):
        return NOT_COMPARED, MISREAD
    if (wavefronts, ideal) == (predicted.wavefronts, predicted.ideal):
        return EQUAL, ""
    if predicted.doubt:
        return NOT_COMPARED, predicted.doubt
    if not accesses:
        return DIFFERENT, "the GPU executed no access of shared memory here: ptxas moved it to another line, or left it out"
    if not predicted.ideal:
        return DIFFERENT, "the trace has no access of shared memory here: ptxas moved it here, or the source is another"
    if ideal != predicted.ideal:
        return DIFFERENT, (f"ideal {ideal}, predicted {predicted.ideal}: other instructions were executed ("
                           f"{', '.join(dict.fromkeys(one.opcode for one in accesses))}); ptxas joined or repeated them, or "
                           "the data are others")
    told = "as many instructions at other addresses: the data or the source are others, or the model is wrong"
    wide = any(one.opcode.startswith(("LDS.64", "LDS.128")) for one in accesses)
    return DIFFERENT, f"{told}, {PAIRED}" if wide else told
