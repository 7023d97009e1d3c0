"""What tuning keeps on disk is found by those it is for, and ignored with a warning where it is not what it should be."""

import hashlib
import json
import pathlib
import warnings
from concurrent.futures import as_completed
from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import suited
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.tune import kept
from cuda_kernels.matmul.tune.command import listed
from cuda_kernels.matmul.tune.kept import Kept, Place
from simlayout.errors import SimlayoutError
from simlayout.workers import workers

PLACE = Place("Made-up GPU", 132, 13000, "0.1.0")
WANTED = Wanted(200, 136, 64)
FOUND = Kept(PLACE, WANTED, suited(candidates()[0], WANTED), 5.0, 6.0, 32, "2026-11-24")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    anew()
    yield tmp_path
    anew()


def anew():
    """As in a new process."""
    kept._here.clear()
    kept._read_once.cache_clear()


wanteds = st.builds(Wanted, *[st.integers(1, 20000)] * 3, st.integers(1, 9), st.sampled_from(["K", "MN"]),
                    st.sampled_from(["K", "MN"]), st.sampled_from([("f16", "f16"), ("bf16", "bf16")]),
                    st.sampled_from(["f16", "bf16", "f32"]), st.sampled_from(["", "tensor", "lines"]),
                    st.sampled_from(["tma", "direct"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(wanteds, st.sampled_from(candidates()), st.floats(0.1, 1e6), st.sampled_from(["NVIDIA H200", "Größer: GPU/\n"]))
def test_what_is_kept_is_found_again_by_another_process(folder, wanted, candidate, us, name):
    config = suited(candidate, wanted)
    if config is None:
        return
    found = Kept(replace(PLACE, gpu=name), wanted, config, us, 0.0, 3, "2026-11-24")
    path = kept.keep(found)
    anew()
    assert kept.parse(path, path.read_bytes()) == found and found in kept.all_kept()
    assert str(wanted) in listed([found]) and "is not right" in listed([found])


class Driver:
    """As much of a Cuda as a Place needs."""

    def __init__(self, gpu="Made-up GPU", sms=132, version=13000):
        self.name, self.multiprocessors, self.version = lambda device: gpu, lambda device: sms, version


@pytest.mark.parametrize("other", [Driver("NVIDIA H200"), Driver(sms=114), Driver(version=13010)])
def test_what_was_measured_elsewhere_is_not_used(folder, other, monkeypatch):
    kept.keep(FOUND)
    anew()
    assert kept.kept(Driver(), 0, WANTED) == FOUND.config and kept.kept(other, 0, WANTED) is None
    monkeypatch.setattr("simlayout.__version__", "0.2.0")
    assert kept.kept(Driver(), 0, WANTED) is None


@pytest.mark.parametrize("change", [dict(M=201), dict(N=8), dict(K=65), dict(matrices=2), dict(a_major="MN"),
                                    dict(b_major="MN"), dict(types=("bf16", "bf16")), dict(out="bf16"), dict(scaled="lines"),
                                    dict(store="direct")], ids=str)
def test_another_product_has_none(folder, change):
    kept.keep(FOUND)
    assert kept.kept(Driver(), 0, replace(WANTED, **change)) is None


def test_a_file_is_read_once_in_a_process_whether_it_is_there_or_not(folder, monkeypatch):
    reads, read = [], pathlib.Path.read_bytes
    monkeypatch.setattr(pathlib.Path, "read_bytes", lambda path: reads.append(path) or read(path))
    kept.keep(FOUND)
    anew()
    for _ in range(3):
        assert kept.kept(Driver(), 0, WANTED) == FOUND.config and kept.kept(Driver(), 0, Wanted(8, 8, 8)) is None
    assert len(reads) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans())
def test_a_damaged_file_is_ignored_with_a_warning_and_forgotten_on_demand(folder, at, bits, cut):
    path = kept.keep(FOUND)
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at] ^= bits
    path.write_bytes(data[:at] if cut else data)
    anew()
    with pytest.warns(RuntimeWarning, match=f"{path.name} is ignored: it is no record of `simlayout tune`, or damaged; "):
        assert kept.kept(Driver(), 0, WANTED) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept.kept(Driver(), 0, WANTED) is None                   # said once
    assert kept.forget() == 1 and not list(folder.iterdir())


def written(folder, change):
    """A file with the right checksum and name, whose record was changed."""
    record = asdict(FOUND)
    change(record)
    body = json.dumps(record).encode()
    path = folder / kept.file_of(PLACE, WANTED).name
    path.write_bytes(f"{kept._FIRST} {hashlib.sha256(body).hexdigest()}\n".encode() + body)
    return path


@pytest.mark.parametrize("change, fault", [
    (lambda r: r["config"].update(tile_n=320), "tile_n = 320: choose one of"),
    (lambda r: r["config"].update(stages=99), "of shared memory"),
    (lambda r: r["config"].update(tile_n="64"), "tile_n = '64' is no int"),
    (lambda r: r["config"].update(split=1), "split = 1 is no bool"),
    (lambda r: r["config"].update(group=True), "group = True is no int"),
    (lambda r: r["config"].update(group=0), "does not suit 200 x 136 x 64"),
    (lambda r: r["config"].update(buffers=-1), "does not suit|bytes"),
    (lambda r: r["config"].update(warp_speed=9), "there is no 'warp_speed' in Hopper"),
    (lambda r: r["config"].update(tile_n=float("nan")), "is no int"),
    (lambda r: r.update(us="fast"), "us = 'fast' is no float"),
    (lambda r: r.update(us=float("nan")), "us = nan"),
    (lambda r: r.pop("us"), "us"),
    (lambda r: r.pop("wanted"), "wanted"),
    (lambda r: r["wanted"].update(M=9), "of another product than its name says"),
    (lambda r: [r["wanted"].pop(name) for name in ("grouped", "epilogue")], "does not say epilogue, grouped: "),
    (lambda r: r["config"].pop("early"), "an older version kept it, which does not say early: measure it anew"),
    (lambda r: r["wanted"].update(types=3), "3|iterable"),
    (lambda r: r["place"].update(gpu="NVIDIA H200"), "of another product than its name says"),
    (lambda r: r.update(more=1), "there is no 'more' in Kept"),
])
def test_a_record_that_says_what_cannot_be_is_ignored_with_a_warning(folder, change, fault):
    written(folder, change)
    with pytest.warns(RuntimeWarning, match=fault):
        assert kept.kept(Driver(), 0, WANTED) is None
    assert kept.all_kept() == []


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[" * 100000, b"null", b"[]", b'{"place": 3}'])
def test_other_files_of_that_name_are_ignored_with_a_warning(folder, text):
    path = kept.file_of(PLACE, WANTED)
    for data in (text, f"{kept._FIRST} {hashlib.sha256(text).hexdigest()}\n".encode() + text):
        path.write_bytes(data)
        anew()
        with pytest.warns(RuntimeWarning, match="is ignored"):
            assert kept.kept(Driver(), 0, WANTED) is None


def test_a_configuration_without_options_that_came_later_has_their_defaults(folder):
    written(folder, lambda r: [r["config"].pop(name) for name in ("scaled", "pingpong", "b_dtype")])
    assert kept.kept(Driver(), 0, WANTED) == FOUND.config


def test_forgetting_takes_one_product_of_every_gpu_or_all(folder):
    for gpu in ("a", "b"):
        for wanted in (WANTED, replace(WANTED, M=136, N=200), Wanted(8, 8, 8)):
            kept.keep(replace(FOUND, place=replace(PLACE, gpu=gpu), wanted=wanted, config=suited(Hopper(), wanted)))
    assert len(listed(kept.all_kept()).splitlines()) == 2 + 6
    (folder / "a.kernel").touch()
    assert kept.forget((200, 136, 64)) == 4 and {one.wanted for one in kept.all_kept()} == {Wanted(8, 8, 8)}
    assert kept.forget((8, 8, 9)) == 0 and kept.forget() == 2 and kept.forget() == 0
    assert [path.name for path in folder.iterdir()] == ["a.kernel"] and "nothing is kept" in listed(kept.all_kept())


def test_a_user_without_a_home_keeps_in_the_process_alone(monkeypatch):
    def homeless(*_):
        raise RuntimeError("Could not determine home directory.")

    for name in ("SIMLAYOUT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pathlib.Path, "home", homeless)
    monkeypatch.setattr(kept, "_here", {})
    with pytest.raises(SimlayoutError, match="no home to keep results in: set SIMLAYOUT_CACHE"):
        kept.keep(FOUND)
    assert kept.kept(Driver(), 0, WANTED) == FOUND.config and kept.all_kept() == [] and kept.forget() == 0
    with pytest.raises(SimlayoutError, match="SIMLAYOUT_CACHE"):
        kept.check_room()


def keep_many(who):
    """For processes: keeps one product again and again, and one of its own; reads both back each time."""
    for i in range(30):
        for wanted in (WANTED, Wanted(8, 8, 8 + who)):
            path = kept.keep(replace(FOUND, wanted=wanted, us=float(1 + who), tried=i))
            assert kept.parse(path, path.read_bytes()).us in ((1.0, 2.0) if wanted == WANTED else (1.0 + who,))
    return who


def test_processes_that_keep_at_once_leave_whole_files(folder):
    with workers(2) as pool:
        for done in as_completed([pool.submit(keep_many, who) for who in range(2)]):
            done.result()
    assert sorted(one.us for one in kept.all_kept()) in ([1.0, 1.0, 2.0], [1.0, 2.0, 2.0])
    assert len(list(folder.iterdir())) == 3
