"""Record files: written and read back, compared with the model, and what they do to the provenance of an answer."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from simlayout.errors import SimlayoutError
from simlayout.hardware import INSTRUCTIONS, add_records, analyze, arch_of
from simlayout.hardware.banks import records
from simlayout.hardware.tables import provenance

LANE = np.arange(32)
ABOUT = {"arch": "sm_89", "device": "Made Up 4090", "driver": "1.2", "cuda": "13.0", "tool": "Nsight Compute 2025.3.1",
         "date": "2026-01-02", "command": "simlayout conform"}


def made(name, addresses, sources=None, valid=None, active=None, form=None):
    """The Cases of a GPU that is what the model says."""
    active = np.full(addresses.shape, True) if active is None else active
    a = analyze(name, addresses, active, arch="sm_89", sources=sources, valid=valid)
    others = (a.conflicts, a.loads) if sources is None else [np.full(len(a), records.NOT_RECORDED)] * 2
    labels = tuple(f"pattern {i % 2}" for i in range(len(a)))
    return records.Cases(form or name, name, np.where(active, addresses, 0), active, sources, valid, labels, a.wavefronts,
                         *others)


@pytest.fixture
def some():
    """Cases with masks, with and without sources and src-sizes, of loops, of two spellings."""
    rng = np.random.default_rng(3)
    units = rng.integers(0, 64, (6, 32))
    active = rng.random((6, 32)) < 0.7
    sources = np.where(active, 16 * units[::-1], 0)
    return [
        made("ld.shared.b64", 8 * units, active=active, form="ld.shared.v2.b32"), made("ld.shared.b64", 8 * units[:3]),
        made("cp.async.ca.16", 16 * units, sources, active=active), made("red.shared.add.f32", 4 * units),
        made("cp.async.ca.16", 16 * units, sources, np.where(active, 16 * (units % 2), 0), active),
    ]


@pytest.fixture
def forgetful():
    """Whatever a test adds to the records is forgotten after it."""
    kept = len(provenance._added)
    yield
    del provenance._added[kept:]


def test_records_are_read_as_they_were_written(tmp_path, some):
    path = tmp_path / "some.npz"
    records.save_records(path, ABOUT, some)
    about, again = records.load_records(path)
    assert about == ABOUT and len(again) == len(some)
    for before, after in zip(some, again, strict=True):
        for name in (f.name for f in fields(records.Cases)):
            first, second = getattr(before, name), getattr(after, name)
            if name == "valid" and first is not None:        # of idle lanes nothing is kept
                first, second = np.where(before.active, first, 0), np.where(before.active, second, 0)
            np.testing.assert_equal(second, first, err_msg=f"{before.form}, {name}")


def test_records_without_copies_are_read_as_they_were_written(tmp_path):
    records.save_records(tmp_path / "one.npz", ABOUT, [made("st.shared.b8", 3 * LANE[None])])
    _, (one,) = records.load_records(tmp_path / "one.npz")
    assert one.sources is None and one.valid is None and one.addresses.tolist() == (3 * LANE[None]).tolist()


def test_what_the_model_says_is_right_and_a_counter_off_by_one_is_wrong(some):
    for cases in some:
        assert not records.check(cases, "sm_89").wrong.any() and records.check(cases, "sm_89").mismatch() == ""
        for name in records.COUNTERS:
            counted = getattr(cases, name).copy()
            if counted[1] == records.NOT_RECORDED:
                continue
            counted[1] += 1
            checked = records.check(replace(cases, **{name: counted}), "sm_89")
            assert np.flatnonzero(checked.wrong).tolist() == [1], (cases.form, name)
            first, *others = checked.mismatch().splitlines()
            assert first.startswith(f"{cases.form}, case 1 (pattern 1): ")
            assert others == checked.analysis.explain(1).splitlines()


def test_a_counter_that_was_not_read_is_not_compared(some):
    unread = np.full(6, records.NOT_RECORDED)
    assert not records.check(replace(some[0], conflicts=unread, loads=unread), "sm_89").wrong.any()


def test_within_its_bounds_a_case_is_right_and_outside_them_wrong():
    cases = made("red.shared.max.u64", np.stack([8 * LANE] * 4))
    cases = replace(cases, wavefronts=np.array([0, 2, 4, 5]), conflicts=np.array([3, 3, 3, 0]))
    assert records.check(cases).wrong.tolist() == [False, False, False, True]
    assert "0 to 4 wavefronts predicted, 5 measured" in records.check(cases).mismatch()


def test_added_records_make_a_rule_measured_on_their_architecture_in_this_process(tmp_path, some, forgetful):
    row, there = INSTRUCTIONS["ld.shared.b64"], arch_of("sm_89")
    before = provenance.provenance(row, there)
    assert (before.kind, before.cases) == ("assumed", 0) and "the rule of sm_90, taken to hold on sm_89" in before.text
    records.save_records(tmp_path / "mine.npz", ABOUT, some)
    summary = add_records(tmp_path / "mine.npz")
    assert summary.cases == {"ld.shared.b64": (9, 0), "cp.async.ca.16": (12, 0), "red.shared.add.f32": (6, 0)}
    after = analyze("ld.shared.b64", 8 * LANE, arch="sm_89").provenance
    assert (after.kind, after.cases) == ("measured", 9)
    assert after.text.startswith("explains 9 of 9 cases; measured on one Made Up 4090 (driver 1.2, CUDA 13.0) with Nsight")
    for other, chip in ((INSTRUCTIONS["st.shared.b64"], there), (row, arch_of("sm_80"))):
        assert provenance.provenance(other, chip).kind == "assumed"


def test_added_records_that_disagree_are_counted_as_they_are(tmp_path, forgetful):
    cases = made("st.shared.b32", np.stack([4 * LANE] * 5))
    cases = replace(cases, wavefronts=np.array([1, 1, 2, 1, 3]))
    records.save_records(tmp_path / "mine.npz", ABOUT, [cases])
    add_records(tmp_path / "mine.npz")
    found = provenance.provenance(INSTRUCTIONS["st.shared.b32"], arch_of("sm_89"))
    assert (found.kind, found.cases) == ("measured", 3) and found.text.startswith("explains 3 of 5 cases; ")


def test_added_records_of_sm_90_join_those_that_are_kept(tmp_path, forgetful):
    row, here = INSTRUCTIONS["st.shared.b32"], arch_of("sm_90")
    before = provenance.provenance(row, here).cases
    records.save_records(tmp_path / "mine.npz", {**ABOUT, "arch": "sm_90"}, [made("st.shared.b32", 4 * LANE[None])])
    add_records(tmp_path / "mine.npz")
    after = provenance.provenance(row, here)
    assert after.cases == before + 1 and "NVIDIA H200" in after.text and "Made Up 4090" in after.text


def test_what_is_kept_beside_the_model_is_packaged_and_names_its_device():
    for path in sorted(provenance.FOLDER.glob("*.json")):
        for entry in json.loads(path.read_text()):
            summary = provenance.Summary(**entry)
            assert set(summary.cases) <= set(INSTRUCTIONS) and "measured on one NVIDIA H200 (driver" in str(summary)


def without(name):
    return lambda arrays: {k: v for k, v in arrays.items() if k != name}


DAMAGE = {
    "text": b"no zip at all", "empty": b"", "half a file": None,
    "no addresses": without("addresses"), "no architecture": lambda a: {**a, "about": np.array('{"device": "x"}')},
    "about is no JSON": lambda a: {**a, "about": np.array("x")}, "about is a list": lambda a: {**a, "about": np.array("[]")},
    "an instruction of another time": lambda a: {**a, "instructions": np.full(len(a["forms"]), "mov.b32")},
    "too few counts": lambda a: {**a, "wavefronts": a["wavefronts"][:2]},
    "too few labels": lambda a: {**a, "labels": a["labels"][:0]},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_is_no_record_is_refused_in_one_line(tmp_path, some, damage):
    path = Path(tmp_path / "bad.npz")
    records.save_records(path, ABOUT, some)
    if callable(damage):
        with np.load(path) as data:
            np.savez(path, **damage(dict(data)))
    else:
        path.write_bytes(path.read_bytes()[:900] if damage is None else damage)
    with pytest.raises(SimlayoutError, match="bad.npz is no record of `simlayout conform`: ") as caught:
        add_records(path)
    assert "\n" not in str(caught.value)


def test_a_record_without_a_part_is_told_which(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("{}")
    with pytest.raises(SimlayoutError, match="empty.json is no record of `simlayout conform`: it has no 'about'"):
        add_records(path)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(SimlayoutError, match="^cannot read .*nowhere.npz: No such file or directory$"):
        add_records(tmp_path / "nowhere.npz")
