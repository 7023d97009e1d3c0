"""Which programs a quick look understands (see `doubts`, `ordered`)."""

from simlayout.machine.arithmetic.carriers import width_of

_PLAIN = {"shfl", "vote", "match", "redux", "activemask", "elect", "nanosleep", "griddepcontrol", "mma", "movmatrix",
          "pmevent"}
"""Opcodes of what the lanes of a warp do together without touching memory, and of what does nothing here."""

_MATRICES = {"ldmatrix", "stmatrix"}

_COPIES = {"ca", "cg", "commit_group", "wait_group", "wait_all"}
"""What comes behind cp.async where copies are waited for by groups."""

_ENGINES = {"mbarrier", "wgmma", "setmaxnreg", "fence", "membar", "bar", "barrier", "prefetch", "prefetchu", "applypriority",
            "mapa", "getctarank"}
"""Opcodes that need nothing but clocks, and what is told of shared memory: see `ordered`."""


def is_plain(program):
    """Whether a quick look understands all that a Program does. Atomics of values of one size need no order among
    themselves."""
    return len({step.updates for step in program.steps} - {0}) < 2 and all(map(is_known, program.steps))


def is_known(step):
    """Whether a quick look understands what a Step does."""
    opcode, *modifiers = step.name.split(".")
    return (step.lanewise is not None or step.jump is not None or step.memory is not None or step.meets is not None
            or step.compute is not None or step.moves is not None or step.stops or step.updates > 0
            or opcode in _PLAIN | _MATRICES or opcode in ("bar", "barrier") and modifiers[0] == "warp"
            or opcode == "cp" and modifiers[1] in _COPIES)


def is_ordered(program):
    """Whether one that asks the clocks understands it."""
    return (len({step.updates for step in program.steps} - {0}) < 2
            and not any(step.updates and ".shared" in step.name for step in program.steps)
            and all(is_known(step) or step.is_plain_beneath or _is_of_engines(step.name) for step in program.steps))


def _is_of_engines(name):
    opcode, *modifiers = name.split(".")
    return opcode in _ENGINES or opcode == "cp" and ("bulk" in modifiers or "mbarrier" in modifiers)


def pieces_of(name):
    """The least bytes that a lane moves at once by an instruction of this name that is not compiled, 0 where it moves none.

    >>> pieces_of("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"), pieces_of("stmatrix.sync.aligned.m8n8.x1.trans.b16")
    (4, 2)
    """
    opcode, *modifiers = name.split(".")
    return 2 if opcode == "stmatrix" and "trans" in modifiers else 4 if opcode in _MATRICES | {"cp"} else 0


def pieces(program):
    """{bytes}: what lanes of a Program load, store or copy at once."""
    plain = {step.memory.size for step in program.steps if step.memory is not None and step.memory.space != "param"}
    of_mbarriers = {8} if any(step.name.startswith("mbarrier") for step in program.steps) else set()
    named = {pieces_of(step.name) for step in program.steps}
    beneath = {_beneath(step) for step in program.steps if step.is_plain_beneath}
    return (plain | of_mbarriers | named | beneath) - {0}


def _beneath(step):
    """The bytes that a lane loads or stores at once by a step that looks at accumulators first, 0 where it does neither."""
    opcode, *modifiers = step.name.split(".")
    return min(width_of(modifiers[-1]) // 8, 8) if opcode in ("ld", "st") else 0
