"""The ways to execute one launch of an entry: with the shadows, in a quick look, and again with other words where nothing is
defined. `in_two_steps` says which of them comes when."""

from math import prod

import numpy as np

from simlayout.errors import HazardError, SimlayoutError
from simlayout.interrupts import not_lost
from simlayout.machine.engine.launch import run_grid
from simlayout.machine.ptx.looks.doubts import TRIED, Before, Doubt, Doubts, TooLong
from simlayout.machine.ptx.looks.ordered import OrderedDoubts
from simlayout.machine.ptx.looks.told import Enough, UntilTold, told_of
from simlayout.machine.ptx.looks.understood import is_ordered, is_plain
from simlayout.machine.ptx.looks.unwritten import can_be_tried, judged, judged_quickly, noted
from simlayout.machine.ptx.running import Running
from simlayout.machine.ptx.warps.turns import PtxTurns
from simlayout.machine.ptx.warps.warp import PtxWarp


def in_two_steps(attempts, program, compiled):
    """The Trace of a launch, by one of its Attempts after the other. compiled: None where nothing is compiled; else whether
    the compiled loop is at hand."""
    if compiled is None or not (is_plain(program) or is_ordered(program)):
        return attempts.shadowed()
    if not compiled:
        try:
            return attempts.briefly()
        except TooLong:
            pass
    try:
        return attempts.quick()
    except Doubt as doubt:
        matters = doubt.matters
    return attempts.once() if matters else attempts.shadowed()      # outside: no doubt stands behind what this raises


class Attempts:
    """Executions of one launch. program: its Program; prepared: called with a HazardLog, or None for that of a Launch, gives
    (Launch, GlobalSpace, Shape) of it anew; traced: called with a Launch that has ended, gives its Trace; limit:
    instructions that a warp executes at most; progress: as of `Entry.run`; python: as of a HazardLog. Each begins with
    memory as the one before it has left it."""

    def __init__(self, program, prepared, traced, limit, progress, python):
        self._program, self._prepared, self._traced = program, prepared, traced
        self._limit, self._progress, self._python = limit, progress, python

    def once(self):
        """The Trace of one execution, as the Launch looks for hazards: all reads of what is not defined are hazards."""
        return self._execute(*self._prepared(None), self._limit, self._progress)

    def shadowed(self):
        """The Trace of it with the shadows. Of reads of what is not defined those are notes that make no difference."""
        return judged(self._program, self._tried)

    def briefly(self):
        """The same where that does not take long; else raises TooLong, with memory as before."""
        return judged(self._program, lambda trial: self._tried(trial) if trial.tried else self._for_a_while(trial))

    def quick(self):
        """The Trace as a quick look has it, with hazards where there may be some. Raises Doubt, with memory as before."""
        return judged_quickly(self._looked_at)

    def _begun(self, trial, log=None):
        """What `prepared` gives, which begins as a Trial says."""
        launch, space, shape = self._prepared(log)
        trial.begin(launch, space)
        return launch, space, shape

    def _asked(self, trial):
        """(limit, progress) of an execution: one of a Trial with other words ends soon, and nobody is told how far it is."""
        return (min(self._limit, TRIED), None) if trial.tried else (self._limit, self._progress)

    def _tried(self, trial, log=None, only=None):
        """With the shadows, as a Trial says. log: an UntilTold, or None; only: as of `run_grid`."""
        launch, space, shape = self._begun(trial, log)
        limit, progress = self._asked(trial)
        trace = self._execute(launch, space, shape, limit, progress if log is None else None, only=only)
        return noted(trace, launch.log.put_aside()) if trial.tried else trace

    def _for_a_while(self, trial):
        launch, space, shape = self._begun(trial)
        before = Before(space)
        try:
            return self._execute(launch, space, shape, self._limit, self._progress, before)
        except TooLong:
            before.give_back()
            raise

    def _looked_at(self, trial):
        """By a quick look, as a Trial says, which then knows what was kept aside."""
        launch, space, shape = self._begun(trial)
        if not trial.before.possible:
            raise Doubt
        can = can_be_tried(self._program)
        launch.look_quickly(Doubts(self._program, space, launch.log.reports, can, _look) if is_plain(self._program) else
                            OrderedDoubts(self._program, space, can, _look, _ordered()))
        try:
            trace = self._execute(launch, space, shape, *self._asked(trial))
            doubted = launch.doubts.doubted is not None and launch.doubts.doubted.any()
            trial.aside = launch.doubts.put_aside()
            if trial.aside and (doubted or not trial.before.complete):
                raise Doubt("reads of what is not defined beside something else")
        except Doubt:
            trial.before.give_back()
            raise
        except SimlayoutError as error:
            trial.before.give_back()
            raise Doubt(str(error)) from None
        return self._with_hazards(trace, launch.doubts.doubted, prod(shape.grid), trial.before) if doubted else trace

    def _with_hazards(self, trace, doubted, ctas, before):
        """The Trace of a quick run, as `told_of` gives it; what memory holds is as after the run that it is of."""
        after = [memory.copy() for memory, _ in before.kept]

        def look(some, lines):
            before.give_back()
            logs = []

            def seen(trial):
                logs.append(UntilTold(self._python, self._program, lines))
                return self._tried(trial, logs[-1], some)

            return judged(self._program, seen), logs[0]

        try:
            found, is_quick = told_of(self._program, trace, doubted, ctas, look)
        except Doubt:
            before.give_back()
            raise
        for (memory, _), held in zip(before.kept, after) if is_quick else ():
            memory[:] = held
        return found

    def _execute(self, launch, space, shape, limit, progress, anew=None, only=None):
        """Runs a Launch to its end; its Trace. anew: of `Running`; only: of `run_grid`."""
        self._program.executed = np.zeros(len(self._program.steps), np.int64)
        running = Running(self._program, launch, space, shape, limit, anew)
        try:
            with not_lost() as again:
                def begin(cta, index):
                    return running.begun(_Located(PtxWarp(cta, index, self._program, space, running), limit, again))

                def whole(first):
                    again()
                    return running.whole(first)

                run_grid(launch, shape, begin, progress, running.ahead, whole, only)
        except Enough:
            pass
        running.end()
        if launch.doubts is not None:
            launch.doubts.note_equal(launch.recorder)
        return self._traced(launch)


class _Located(PtxTurns):
    """The same, whose errors say where in the program they happened. again: as `interrupts.not_lost` gives it."""

    def __init__(self, warp, limit, again):
        super().__init__(warp, limit)
        self._again = again

    def resume(self):
        """As of PtxTurns."""
        self._again()
        try:
            super().resume()
        except HazardError:
            raise                                        # says so itself
        except SimlayoutError as error:
            where = f"{self.warp.standing()}: CTA {self.warp.index}, warp {self.warp.warp_index}"
            error.args = (f"{where}: {error}", *error.args[1:])
            raise


def _look(*of):
    """`compiled.look.found`, which few programs need: with it comes Numba."""
    from simlayout.machine.ptx.compiled.look import found

    return found(*of)


def _ordered():
    """The module `compiled.ordered`, likewise."""
    from simlayout.machine.ptx.compiled import ordered

    return ordered
