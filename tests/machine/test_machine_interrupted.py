"""Ctrl-C while kernels run on the machine."""

import os
import signal
import threading
import time
import weakref
from functools import partial

import pytest
from machine_kit import bar_sync, ctaid_x, tid_x
from ptx_texts import module

from simlayout.machine import run
from simlayout.ptx import load


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_stops_a_kernel_that_never_ends():
    def kernel():
        while True:
            tid_x()

    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    before, other = set(threading.enumerate()), threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        other.start()
        run(kernel, 1, 32)
    other.join()
    assert set(threading.enumerate()) <= before


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_ends_warps_that_wait_for_one_another_without_a_word(monkeypatch):
    def kernel():
        while True:
            if tid_x() >= 224:                           # the interrupt meets the last warp, long before it waits again
                for _ in range(2000):
                    tid_x()
            bar_sync()

    before, told = set(threading.enumerate()), []
    monkeypatch.setattr(threading, "excepthook", told.append)
    other = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        other.start()
        run(kernel, 1, 256)
    other.join()
    assert not told and set(threading.enumerate()) <= before


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_while_the_thread_of_a_warp_begins_leaves_no_thread(monkeypatch):
    """Under load that takes long: the thread exists, and does not run yet."""
    def kernel():
        while True:
            bar_sync()

    wait, begin, before = threading.Event.wait, threading.Thread._bootstrap, set(threading.enumerate())

    def interrupted(event, timeout=None):
        monkeypatch.setattr(threading.Event, "wait", wait)
        signal.raise_signal(signal.SIGINT)
        return wait(event, timeout)

    def late(thread):
        time.sleep(0.1)
        begin(thread)

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    monkeypatch.setattr(threading.Thread, "_bootstrap", late)
    with pytest.raises(KeyboardInterrupt):
        run(kernel, 1, 64)
    time.sleep(0.3)
    assert set(threading.enumerate()) <= before


ENDLESS = module("""
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra END;
AGAIN:
bar.sync 0;
bra AGAIN;
END:
ret;""")
"""All CTAs but the first never end."""


def endless():
    while ctaid_x():
        bar_sync()


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("start", [partial(run, endless), load(ENDLESS).entry().run], ids=["Python", "PTX"])
def test_ctrl_c_in_what_a_weak_reference_calls_is_not_lost(start):
    """There Python prints an exception, and goes on."""
    def interrupt(*_):
        held = {1}
        known = weakref.ref(held, lambda _: signal.raise_signal(signal.SIGINT))
        del held
        assert known() is None

    start(1, 64)                                         # the first may compile the machine, for longer than the timer waits
    second = threading.Timer(20, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        second.start()
        start(2, 64, progress=interrupt)
    assert second.is_alive()
    second.cancel()
    second.join()


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_at_any_moment_is_ctrl_c_alone_and_leaves_no_thread():
    def kernel():
        while True:
            bar_sync()

    before = set(threading.enumerate())
    for i in range(25):                                  # of two warps, one is often about to take its turn
        other = threading.Timer(0.02 + 0.0007 * i, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            other.start()
            run(kernel, 1, 64)
        other.join()
    assert set(threading.enumerate()) <= before
