"""mbarrier (PTX ISA: Parallel Synchronization and Communication Instructions: mbarrier)."""

import numpy as np

from simlayout.errors import InstructionError
from simlayout.machine.engine.barriers import Arrival
from simlayout.machine.engine.mbarriers import OF_STATE, STATE_BITS
from simlayout.machine.hazards.scopes import CLUSTER, CTA
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.groups import address, number, put, results

BYTES = 8
"""Of an mbarrier."""

IGNORED = "whose result nothing reads: it may be false, and then nothing is known of what came before the phase"
"""What is noted of a wait."""


def mbarrier(instruction, names):
    """All of mbarrier."""
    kind = instruction.modifiers[0]
    if kind not in _KINDS:
        raise InstructionError(f"the machine has mbarrier {', '.join(_KINDS)}")
    return _KINDS[kind](instruction, names)


class _At:
    """Where an mbarrier is: in this CTA, or (.shared::cluster) in one of its cluster."""

    def __init__(self, instruction, operand, names):
        self._where, self._name = address(operand, names), instruction.name
        self._generic = not instruction.spaces
        self.remote = "shared::cluster" in instruction.spaces

    def here(self, warp):
        """int64 [32], in this CTA; leaves out the lanes that give no place for one, and tells of them."""
        where = warp.in_shared(self._where(warp), self._generic, self._name)
        warp.keeps_within(where, BYTES, "uses")
        return where

    def there(self, warp):
        """(int64 [32] in a CTA, int64 [32] the rank of that CTA)."""
        return warp.in_cluster(self._where(warp))


def _init(instruction, names):
    at, count = _At(instruction, instruction.operands[0], names), number(instruction.operands[1], names, "u32")
    return {"run": lambda warp: warp.mbarrier_init(at.here(warp), count(warp).astype(np.int64))}


def _inval(instruction, names):
    at = _At(instruction, instruction.operands[0], names)
    return {"run": lambda warp: warp.mbarrier_inval(at.here(warp))}


def _arrive(instruction, names):
    modifiers, (state, place, *given) = instruction.modifiers, instruction.operands
    at, wanted = _At(instruction, place, names), results(state, "b64", names)
    announces, drop = "expect_tx" in modifiers, modifiers[0] == "arrive_drop"
    how = {"drop": drop, "incomplete": "noComplete" in modifiers, "relaxed": "relaxed" in modifiers,
           "reach": CTA if "cta" in modifiers else CLUSTER}            # CUTLASS leaves out the scope, and means the cluster
    amount = number(given[0], names, "u32") if given else None

    def run(warp):
        value = None if amount is None else amount(warp).astype(np.int64)
        arrival = Arrival(1 if value is None or announces else value, **how)
        expect = value if announces else 0
        if at.remote:
            where, ranks = at.there(warp)
            warp.mbarrier_arrive_remote(where, ranks, expect=expect, arrival=arrival)
        else:
            put(warp, wanted, [warp.mbarrier_arrive(at.here(warp), expect=expect, arrival=arrival)])

    if at.remote and state is not syntax.SINK:
        raise InstructionError("an arrival in another CTA gives no state: write _")
    return {"run": run}


def _transactions(instruction, names):
    at, bytes = _At(instruction, instruction.operands[0], names), number(instruction.operands[1], names, "u32")
    sign = -1 if instruction.modifiers[0] == "complete_tx" else 1

    def run(warp):
        amount = sign * bytes(warp).astype(np.int64)
        if not at.remote:
            warp.mbarrier_expect(at.here(warp), amount)
            return
        where, ranks = at.there(warp)
        for rank in np.unique(ranks[warp.active]).tolist():
            outer = warp.active
            warp.narrow(outer & (ranks == rank))
            warp.mbarrier_expect(where, amount, rank)
            warp.narrow(outer)

    return {"run": run}


def _wait(instruction, names):
    modifiers, (target, place, phase, *_) = instruction.modifiers, instruction.operands
    kind, by_parity = modifiers[0], "parity" in modifiers
    at, wanted = _At(instruction, place, names), results(target, "pred", names)
    asked = number(phase, names, "u32" if by_parity else "b64")
    name, relaxed = f"mbarrier.{kind}{'.parity' * by_parity}", "relaxed" in modifiers
    once = names.function.entry and id(instruction) not in names.asked_again        # a caller may ask a function again
    polls = kind == "test_wait" or once
    ignored = names.known.unread(target)

    def run(warp):
        if ignored:
            warp.cta.launch.recorder.note_once(warp.site, f"{name} {IGNORED}")
        given = asked(warp)
        parity = (given if by_parity else given >> np.uint64(STATE_BITS)).astype(np.int64) & 1
        asking, where = warp.active, at.here(warp)
        lost = asking & ~warp.active                     # who waits for nothing goes on
        timed = polls or warp.program.reads_clocks       # else try_wait fails as often as it is asked again
        done = yield from warp.mbarrier_try(name, where, parity, timed, relaxed or ignored)
        warp.narrow(asking)
        put(warp, wanted, [done | lost])

    return {"run": run}


def _pending(instruction, names):
    target, state = instruction.operands
    wanted, given = results(target, "u32", names), number(state, names, "b64")
    return {"run": lambda warp: put(warp, wanted, [given(warp) & OF_STATE])}


_KINDS = {"init": _init, "inval": _inval, "arrive": _arrive, "arrive_drop": _arrive, "expect_tx": _transactions,
          "complete_tx": _transactions, "test_wait": _wait, "try_wait": _wait, "pending_count": _pending}

MBARRIERS = {"mbarrier": mbarrier}
