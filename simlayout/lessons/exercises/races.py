"""Lesson 9: races and asynchronous copies."""

import numpy as np

from simlayout import plots
from simlayout.errors import AddressError, HazardError
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, integer
from simlayout.lessons.exercises.said import Said

THREADS, SHARED_BYTES, MOST_CHUNKS = 64, 4096, 6
"""Of the kernel of 9.2; it is run with 1 to so many chunks."""


def judge_pending(answer):
    """9.1: how many groups a pipeline's wait may leave under way."""
    if not callable(answer):
        raise Refused("a function of stages is asked for, not {}", repr(answer))
    for stages in range(2, 9):
        pending = integer(answer(stages), Said("pending({})", stages))
        if pending < 0:
            raise Refused("pending({}) is {}: wait_group takes 0 or more", stages, pending)
        begun = stages - 1                               # groups that are committed when step 0 waits
        if begun - pending < 1:
            groups = Said("{} groups", begun) if begun > 1 else Said("1 group")
            raise Refused("stages = {}, step 0: {} committed, and wait_group {} leaves {} of them under way: chunk 0 may be "
                          "one", stages, groups, pending, min(begun, pending))
        if begun - pending > 1:
            raise Refused("stages = {}, step 0: wait_group {} waits for chunks 0 to {}, and only chunk 0 is read: the "
                          "others could still be under way", stages, pending, begun - pending - 1)
    return Right()


def judge_pipeline(answer):
    """9.2: a kernel that adds up chunks through a pipeline of copies."""
    from simlayout import machine

    if not callable(answer):
        raise Refused("a kernel, a function of (a, c, chunks), is asked for, not {}", repr(answer))
    for chunks in range(1, MOST_CHUNKS + 1):
        a = np.random.default_rng(chunks).integers(-2**20, 2**20, (chunks, 4 * THREADS), np.int32)
        c = np.full(THREADS, -1, np.int32)
        try:
            trace = machine.run(answer, 1, THREADS, a, c, chunks, shared_bytes=SHARED_BYTES)
        except AddressError as error:
            raise Refused("with {}: {}", _chunks(chunks), error) from None
        except HazardError as error:
            raise Refused("with {}: {}", _chunks(chunks), Said("not defined on a GPU: {}", error)) from None
        wanted = a[:, ::4][:, ::-1].sum(axis=0, dtype=np.int32)
        wrong = np.flatnonzero(c != wanted)
        if wrong.size:
            thread = int(wrong[0])
            raise Refused("with {}: thread {} stores {}, and the words of thread {} add up to {}", _chunks(chunks), thread,
                          c[thread], THREADS - 1 - thread, wanted[thread])
        if not any(one.instruction.startswith("cp.async") for one in trace.lines):
            raise Refused("with {}: no line of the kernel copies with cp.async", _chunks(chunks))

    def run():
        a, c = np.zeros((4, 4 * THREADS), np.int32), np.zeros(THREADS, np.int32)
        return machine.run(answer, 1, THREADS, a, c, 4, shared_bytes=SHARED_BYTES, hazards="report")

    return Right(draw=lambda: plots.order(run, SHARED_BYTES // 4, "four chunks").plot())


def _chunks(count):
    return Said("{} chunks", count) if count > 1 else Said("1 chunk")


EXERCISES = {
    "9.1": Exercise(Said("a function of stages: how many groups wait_group may leave under way"), judge_pending),
    "9.2": Exercise(Said("a kernel (a, c, chunks) that adds up chunks, copied with cp.async"), judge_pipeline),
}
