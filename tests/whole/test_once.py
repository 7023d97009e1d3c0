"""What one worker makes for all."""

import threading
from types import SimpleNamespace

import pytest
from once import made_once


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Two factories of folders, as two workers of one run have them."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    return [SimpleNamespace(getbasetemp=lambda i=i: tmp_path / f"popen-gw{i}") for i in range(2)]


def test_one_worker_makes_it_while_the_others_wait_and_all_get_it_whole(workers):
    begun, may_end, calls, found = threading.Event(), threading.Event(), [], []

    def make(folder):
        calls.append(folder)
        (folder / "first").write_text("1")
        begun.set()
        may_end.wait(60)
        (folder / "last").write_text("2")

    def ask(worker):
        found.append(sorted(path.name for path in made_once(worker, "made", make).iterdir()))

    first, second = (threading.Thread(target=ask, args=[worker]) for worker in workers)
    first.start()
    assert begun.wait(60)
    second.start()
    second.join(0.3)
    assert second.is_alive() and not found
    may_end.set()
    first.join(60)
    second.join(60)
    assert len(calls) == 1 and found == [["first", "last"]] * 2


def test_what_could_not_be_made_fails_in_all_of_them_with_the_fault(workers):
    def make(folder):
        raise ValueError("no compiler")

    with pytest.raises(ValueError, match="no compiler"):
        made_once(workers[0], "made", make)
    for worker in workers:
        with pytest.raises(RuntimeError, match="another worker could not make .*made: ValueError: no compiler"):
            made_once(worker, "made", make)
