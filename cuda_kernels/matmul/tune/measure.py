"""Measures configurations of a product on a GPU, in turns, and keeps the best: the likeliest, then `variants` of the best of
these, then the `ways` to launch what is the best then.

They meet in HEATS, of which each goes on with the better half of the one before, in turns twice as long. A turn replays a
CUDA graph of calls that rotate over sets of operands, random normal; each round has another sequence, because a GPU that
draws much power slows down, and whatever runs late would look slow. A configuration's time is the median of its turns in a
heat.
"""

import random
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial

from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.build.program import Program
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.matmul.choose.choice import likely
from cuda_kernels.matmul.choose.figures import figures_of
from cuda_kernels.matmul.tune.entrants import Entrant, Operands, described, entrants
from cuda_kernels.matmul.tune.kept import Kept, keep, kept, place_of
from cuda_kernels.matmul.tune.variants import variants, ways
from cuda_kernels.run.stopwatch import Stopwatch
from cuda_kernels.run.turns import turn
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.hardware.tables.arch import FEATURES, target_of

HEATS, ROUNDS = 3, 3

MOST = 32
"""Of the likeliest. At 446 products on an H100 the best of 24 likely ones took 3.3 percent less than the likeliest, as it
was estimated then, and the best of 12 still 0.3 percent more than that of 24, at most 8 (geometric means,
tests/data/h100_likely.json.xz)."""

PARTS = 0.5, 0.3, 0.2
"""Of the time that measuring takes: for the likeliest, for the variants, for the ways."""

SECONDS = 5.0
"""What measuring a product takes, unless asked otherwise; compiling is not counted."""

Say = Callable[[str], None]


def quiet(text: str) -> None:
    """Says nothing."""


def require_tunable(cuda, device):
    """Raises DeviceError where the GPU has nothing to tune."""
    capability = cuda.capability(device)
    if not FEATURES["wgmma"].on(capability):
        raise DeviceError(f"GPU {device} has compute capability {capability[0]}.{capability[1]}: there is nothing to tune, "
                          "because only kernels for 9.0 have configurations to choose from")


def compile_likely(cuda, device, products):
    """Compiles the likeliest configurations of some Wanteds, many kernels at a time."""
    gpu = figures_of(cuda, device)
    _compile(cuda, device, [config for wanted in products for config in likely(wanted, gpu, MOST)])


def _compile(cuda, device, configs):
    arch = target_of(cuda.capability(device))
    compile_ahead([Program(kernel_of(config).compiled_as, arch) for config in configs], cuda.version)


def tune_once(cuda, device, wanted, seconds, stream):
    """Measures what is wanted unless its best is kept; returns whether it did. wanted: None of kernels without a choice;
    stream: of the caller. Raises DeviceError, SimlayoutError."""
    if wanted is None:
        require_tunable(cuda, device)
    if kept(cuda, device, wanted):
        return False
    if cuda.capturing(stream):
        raise SimlayoutError("nothing can be measured while a CUDA graph is captured: make the same call once before")
    tune(cuda, device, wanted, seconds)
    return True


def tune(cuda, device, wanted, seconds=SECONDS, say: Say = quiet) -> Kept | None:
    """Measures for about so many seconds, keeps the best configuration and returns it as Kept; None where none was right.

    Says a line per configuration, after its first turn, and the result. An interrupt is raised again once the best so far
    is kept. Where it cannot be written it is kept for this process, with a warning. Raises DeviceError where the GPU's
    memory is too small.
    """
    gpu = figures_of(cuda, device)
    stages = ((f"{wanted}: {{}} configurations", lambda _: likely(wanted, gpu, MOST)),
              ("  {} that differ from the best of these in one option", lambda best: variants(best, wanted, gpu.sms)),
              ("  {} ways to launch what is the best now", lambda best: ways(best, wanted)))
    with Stopwatch(cuda, device) as watch:
        contest = Contest(cuda, device, watch, Operands(watch, wanted), say)
        try:
            for part, (said, rivals_of) in zip(PARTS, stages):
                rivals = rivals_of(contest.best and contest.best.config)
                say(said.format(len(rivals)))
                contest.meet(rivals, part * seconds)
                if contest.best is None:
                    say("  no configuration is right here: nothing is kept")
                    return None
        except KeyboardInterrupt:
            if contest.best is None:
                say("  interrupted before anything was measured: nothing is kept")
                raise
            say("  interrupted: the best so far is kept")
            _keep_best(cuda, device, wanted, contest, say)
            raise
        return _keep_best(cuda, device, wanted, contest, say)


class Contest:
    """Entrants for Operands that meet in heats. entrants: all so far; chosen: of the first one that is named, which the
    estimate chose and which is in all heats, if it is right; else None."""

    def __init__(self, cuda, device, watch, operands, say):
        self.entrants: list[Entrant] = []
        self.chosen: Entrant | None = None
        self._watch, self._say, self._heats, self._source = watch, say, 0, random.Random(0)
        self._compile = partial(_compile, cuda, device)
        self._enter = partial(entrants, cuda, device, watch, operands)

    @property
    def best(self):
        """The fastest of the Entrants that came furthest: times of one heat alone can be compared. None before the first."""
        measured = [one for one in self.entrants if one.times]
        last = max((one.heat for one in measured), default=0)
        return min((one for one in measured if one.heat == last), key=lambda one: one.us, default=None)

    def meet(self, configs, seconds):
        """Those of some configurations that have not met before, the best so far and the one that the estimate chose take
        the turns of HEATS heats, whenever it is interrupted."""
        known, first = {one.config for one in self.entrants}, not self.entrants
        new = [config for config in configs if config not in known]
        self._compile(new)
        fresh, faults = self._enter(new)
        for text in faults:
            self._say(f"  left out: {text}")
        if first and fresh and fresh[0].config == configs[0]:
            self.chosen = fresh[0]
        left = list({id(one): one for one in (self.chosen, self.best, *fresh) if one is not None}.values())
        self.entrants += fresh
        for heat in range(HEATS if fresh else 0):
            self._run(left, seconds / HEATS, told=heat == 0)
            ranked = sorted(left, key=lambda one: one.us)
            left = ranked[:max(2, len(ranked) // 2)]
            left += [one for one in ranked[len(left):] if one is self.chosen]

    def _run(self, field, seconds, told):
        """A heat: each entrant has the times of the last one that it went through. told: whether a line is said of each."""
        turns = [(one, turn(self._watch, one.calls, seconds / ROUNDS / len(field))) for one in field]
        taken: dict = {id(one): [] for one in field}
        said = 0
        for _ in range(ROUNDS):
            for one, take in self._source.sample(turns, len(turns)):
                times = taken[id(one)]
                times.append(1e6 * take())
                if not one.heat:
                    one.times = times                    # an interrupt finds what there is
                if told and len(times) == 1:
                    said += 1
                    self._say(f"{said:>4} of {len(field)}{times[0]:>10.2f} us  {described(one.config)}")
        self._heats += 1
        for one in field:
            one.heat, one.times = self._heats, taken[id(one)]


def _keep_best(cuda, device, wanted, contest, say):
    """Keeps the best of a Contest."""
    best, chosen_us = contest.best, contest.chosen.us if contest.chosen and contest.chosen.times else 0.0
    found = Kept(place_of(cuda, device), wanted, best.config, round(best.us, 3), round(chosen_us, 3),
                 sum(bool(one.times) for one in contest.entrants), date.today().isoformat())
    try:
        where = f"kept in {keep(found)}"
    except SimlayoutError as error:
        where = f"kept for this process alone: {error}"
        warnings.warn(f"what was measured for {wanted} is {where}", RuntimeWarning, stacklevel=2)
    say(f"  best: {found.result}: {described(best.config)}")
    say(f"  {where}")
    return found
