"""Measures the likeliest configurations of a product on a GPU, in turns, and keeps the best.

They meet in HEATS, of which each goes on with the better half of the one before, in turns twice as long. A turn replays a
CUDA graph of calls that rotate over sets of operands, random normal; each round has another sequence, because a GPU that
draws much power slows down, and whatever runs late would look slow. A configuration's time is the median of its turns in a
heat.
"""

import random
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import date

from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.build.program import Program
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.matmul.choose.choice import likely
from cuda_kernels.matmul.choose.figures import figures_of
from cuda_kernels.matmul.tune.entrants import Operands, described, entrants
from cuda_kernels.matmul.tune.kept import Kept, keep, kept, place_of
from cuda_kernels.run.stopwatch import Stopwatch
from cuda_kernels.run.turns import turn
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.hardware.tables.arch import FEATURES, target_of

HEATS, ROUNDS = 3, 3

MOST = 32
"""Configurations of a product, of which some are measured in BOTH ways. At 446 products on an H100 the best of 24 likely
ones took 3.3 percent less than the likeliest, as it was estimated then, and the best of 12 still 0.3 percent more than that
of 24, at most 8 (geometric means, tests/data/h100_likely.json.xz)."""

BOTH = 8
"""So many of the likeliest are measured with Hopper's option `early` and without it."""

SECONDS = 3.0
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


def contenders(wanted, gpu):
    """[Hopper configuration] that are measured: the `likely` ones, of which the estimate chooses the first, and BOTH of them
    the other way. The latter are the same programs, called otherwise."""
    configs = likely(wanted, gpu, MOST)
    return configs + [replace(config, early=not config.early) for config in configs[:BOTH]]


def compile_likely(cuda, device, products):
    """Compiles what measuring some Wanteds takes, many kernels at a time."""
    gpu, arch = figures_of(cuda, device), target_of(cuda.capability(device))
    programs = [Program(kernel_of(config).compiled_as, arch) for wanted in products for config in likely(wanted, gpu, MOST)]
    compile_ahead(programs, cuda.version)


def tune_once(cuda, device, wanted, seconds, stream):
    """Measures what is wanted unless its best is kept; returns whether it did. wanted: None of kernels without a choice;
    stream: of the caller. Raises DeviceError, SimlayoutError."""
    if wanted is None:
        require_tunable(cuda, device)
    if kept(cuda, device, wanted):
        return False
    if cuda.capturing(stream):
        raise SimlayoutError("nothing can be measured while a CUDA graph is captured: make the same call once before")
    compile_likely(cuda, device, [wanted])
    tune(cuda, device, wanted, seconds)
    return True


def tune(cuda, device, wanted, seconds=SECONDS, say: Say = quiet) -> Kept | None:
    """Measures for about so many seconds, keeps the best configuration and returns it as Kept; None where none was right.

    Says a line per configuration, after its first turn, and the result. An interrupt is raised again once the best so far
    is kept. Where it cannot be written it is kept for this process, with a warning. Raises DeviceError where the GPU's
    memory is too small.
    """
    configs = contenders(wanted, figures_of(cuda, device))
    say(f"{wanted}: {len(configs)} configurations")
    with Stopwatch(cuda, device) as watch:
        ready, faults = entrants(cuda, device, watch, Operands(watch, wanted), configs)
        for text in faults:
            say(f"  left out: {text}")
        if not ready:
            say("  no configuration is right here: nothing is kept")
            return None
        try:
            run_heats(watch, ready, configs[0], seconds, say)
        except KeyboardInterrupt:
            if not any(one.times for one in ready):
                say("  interrupted before anything was measured: nothing is kept")
                raise
            say("  interrupted: the best so far is kept")
            _keep_best(cuda, device, wanted, ready, configs[0], say)
            raise
        return _keep_best(cuda, device, wanted, ready, configs[0], say)


def run_heats(watch, ready, chosen, seconds, say):
    """Takes the turns of all heats, whenever it is interrupted: each entrant has the times of the last heat that it went
    through. chosen: the configuration that the estimate chose, which is in all of them."""
    source, left, said = random.Random(0), list(ready), 0
    for heat in range(HEATS):
        turns = [(one, turn(watch, one.calls, seconds / HEATS / ROUNDS / len(left))) for one in left]
        fresh: dict = {id(one): [] for one in left}
        for _ in range(ROUNDS):
            for one, take in source.sample(turns, len(turns)):
                fresh[id(one)].append(1e6 * take())
                if heat == 0:
                    one.times = fresh[id(one)]           # an interrupt finds what there is
                    if len(one.times) == 1:
                        said += 1
                        say(f"{said:>4} of {len(ready)}{one.us:>10.2f} us  {described(one.config)}")
        for one in left:
            one.heat, one.times = heat, fresh[id(one)]
        ranked = sorted(left, key=lambda one: one.us)
        left = ranked[:max(2, len(ranked) // 2)]
        left += [one for one in ranked[len(left):] if one.config == chosen]


def _keep_best(cuda, device, wanted, ready, chosen, say):
    """Keeps the best of those entrants that came furthest: times of one heat alone can be compared."""
    last = max(one.heat for one in ready)
    best = min((one for one in ready if one.heat == last), key=lambda one: one.us)
    chosen_us = next((one.us for one in ready if one.config == chosen and one.times), 0.0)
    found = Kept(place_of(cuda, device), wanted, best.config, round(best.us, 3), round(chosen_us, 3),
                 sum(bool(one.times) for one in ready), date.today().isoformat())
    try:
        where = f"kept in {keep(found)}"
    except SimlayoutError as error:
        where = f"kept for this process alone: {error}"
        warnings.warn(f"what was measured for {wanted} is {where}", RuntimeWarning, stacklevel=2)
    say(f"  best: {found.result}: {described(best.config)}")
    say(f"  {where}")
    return found
