"""Shared memory that is there before the CTA begins."""

import numpy as np
from machine_kit import Instruction

from simlayout.machine import run
from simlayout.machine.hazards.touches import Touch


@Instruction
def given_and_read_by_the_engine(warp):
    warp.cta.give_zeros(0, 64)
    rows = np.arange(4)
    warp.cta.shadow.check_async_read(Touch(warp, "cp.async.bulk", rows, 16, np.zeros(4, np.int64)))


def test_an_engine_reads_what_was_given_without_a_fence():
    def kernel():
        given_and_read_by_the_engine()

    run(kernel, 1, 32, shared_bytes=64)
