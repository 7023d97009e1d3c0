"""Lesson 9: races and asynchronous copies."""

import numpy as np

from simlayout.errors import AddressError, HazardError
from simlayout.lessons.exercises.asking import Exercise, Refused, Right, integer

THREADS, SHARED_BYTES, MOST_CHUNKS = 64, 4096, 6
"""Of the kernel of 9.2; it is run with 1 to so many chunks."""


def judge_pending(answer):
    """9.1: how many groups a pipeline's wait may leave under way."""
    if not callable(answer):
        raise Refused(f"a function of stages is asked for, not {answer!r}")
    for stages in range(2, 9):
        pending = integer(answer(stages), f"pending({stages})")
        if pending < 0:
            raise Refused(f"pending({stages}) is {pending}: wait_group takes 0 or more")
        begun = stages - 1                               # groups that are committed when step 0 waits
        if begun - pending < 1:
            raise Refused(f"stages = {stages}, step 0: {begun} group{'s' * (begun > 1)} committed, and wait_group {pending} "
                          f"leaves {min(begun, pending)} of them under way: chunk 0 may be one")
        if begun - pending > 1:
            raise Refused(f"stages = {stages}, step 0: wait_group {pending} waits for chunks 0 to {begun - pending - 1}, "
                          "and only chunk 0 is read: the others could still be under way")
    return Right()


def judge_pipeline(answer):
    """9.2: a kernel that adds up chunks through a pipeline of copies."""
    from simlayout import machine

    if not callable(answer):
        raise Refused(f"a kernel, a function of (a, c, chunks), is asked for, not {answer!r}")
    for chunks in range(1, MOST_CHUNKS + 1):
        a = np.random.default_rng(chunks).integers(-2**20, 2**20, (chunks, 4 * THREADS), np.int32)
        c = np.full(THREADS, -1, np.int32)
        try:
            trace = machine.run(answer, 1, THREADS, a, c, chunks, shared_bytes=SHARED_BYTES)
        except AddressError as error:
            raise Refused(f"with {_chunks(chunks)}: {error}") from None
        except HazardError as error:
            raise Refused(f"with {_chunks(chunks)}: not defined on a GPU: {error}") from None
        wanted = a[:, ::4][:, ::-1].sum(axis=0, dtype=np.int32)
        wrong = np.flatnonzero(c != wanted)
        if wrong.size:
            thread = int(wrong[0])
            raise Refused(f"with {_chunks(chunks)}: thread {thread} stores {c[thread]}, and the words of thread "
                          f"{THREADS - 1 - thread} add up to {wanted[thread]}")
        if not any(one.instruction.startswith("cp.async") for one in trace.lines):
            raise Refused(f"with {_chunks(chunks)}: no line of the kernel copies with cp.async")
    return Right()


def _chunks(count):
    return f"{count} chunk{'s' * (count > 1)}"


EXERCISES = {
    "9.1": Exercise("a function of stages: how many groups wait_group may leave under way", judge_pending),
    "9.2": Exercise("a kernel (a, c, chunks) that adds up chunks, copied with cp.async", judge_pipeline),
}
