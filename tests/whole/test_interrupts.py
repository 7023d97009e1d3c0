"""Work apart from the main thread: its results and errors come back, an interrupt ends the wait and not the work."""

import _thread
import threading

import pytest

from simlayout.interrupts import apart, busy


def test_what_the_work_returns_or_raises_comes_back_and_nothing_is_left_behind():
    threads = set(threading.enumerate())
    assert apart(lambda a, b: a - b, 5, b=3) == 2
    with pytest.raises(ZeroDivisionError):
        apart(divmod, 1, 0)
    assert set(threading.enumerate()) <= threads and not busy()


def test_work_of_another_thread_is_done_there():
    found = []
    thread = threading.Thread(target=lambda: found.append(apart(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread] and apart(threading.current_thread) is not threading.main_thread()


def test_an_interrupt_ends_the_wait_and_the_work_goes_on_to_its_end():
    go_on, ended = threading.Event(), threading.Event()

    def work():
        _thread.interrupt_main()
        go_on.wait()
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        apart(work)
    assert busy() and not ended.is_set()
    go_on.set()
    assert ended.wait(60)
    for thread in threading.enumerate():
        if thread.name.startswith("simlayout: "):
            thread.join()
    assert not busy()
