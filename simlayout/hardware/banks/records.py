"""Records: what a GPU counted, case by case, compared with the model.

A record file is an .npz that `simlayout conform --record` writes, or for AMD's chips a JSON file of the script that
`simlayout conform --rocm` writes: the addresses of every case beside its counters, and where, when and how they were read.
What the files say of each rule is kept in tables/measured/*.json, from which `tables.provenance` answers; `add_records`
adds a file of your own, of any architecture, for as long as the process lives.

    simlayout conform --check FILE.npz ... --json FILE     (compares records with the model; writes what measured/ keeps)
"""

import json
from dataclasses import dataclass, field, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from zipfile import BadZipFile, is_zipfile

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.files import NOT_OURS, fault_of, reading, write_whole
from simlayout.hardware.banks.analysis import analyze
from simlayout.hardware.tables.arch import DEFAULT_ARCH, LANES
from simlayout.hardware.tables.instructions import instruction as instruction_of
from simlayout.hardware.tables.provenance import Summary, add

NO_SIZE = -1
"""In `valid` of a record whose copies have no src-size."""

COUNTERS = ("wavefronts", "conflicts", "loads")
NOT_RECORDED = -1
"""In the counters of a record that did not read that one."""


@dataclass(frozen=True, eq=False)
class Cases:
    """Measured cases of one instruction in one PTX spelling.

    addresses: shared bytes, int64 [n, lanes]; active: bool [n, lanes]; sources: global bytes of copies, int64 [n, 32], or
    None; valid: their src-size in bytes, int64 [n, 32], or None; labels: str [n];
    wavefronts, conflicts, loads: what was counted, int64 [n].
    """

    form: str
    instruction: str
    addresses: np.ndarray
    active: np.ndarray
    sources: np.ndarray | None
    valid: np.ndarray | None
    labels: tuple
    wavefronts: np.ndarray
    conflicts: np.ndarray
    loads: np.ndarray


@dataclass(frozen=True, eq=False)
class Checked:
    """Cases against the model. wrong: bool [n], where a counter is outside what `analyze` says; analysis: its answer."""

    cases: Cases
    analysis: object
    wrong: np.ndarray = field(repr=False)

    def mismatch(self):
        """The first wrong case in words, or an empty text."""
        if not self.wrong.any():
            return ""
        i, a, c = int(np.argmax(self.wrong)), self.analysis, self.cases
        if c.wavefronts[i] == NOT_RECORDED:
            return (f"{c.form}, case {i} ({c.labels[i]}): {int(a.conflicts[i])} conflicts predicted, {int(c.conflicts[i])} "
                    f"measured\n{a.explain(i)}")
        low, high = int(a.at_least[i]), int(a.at_most[i])
        predicted = f"{low}" if low == high else f"{low} to {high}"
        return (f"{c.form}, case {i} ({c.labels[i]}): {predicted} wavefronts predicted, {int(c.wavefronts[i])} measured; "
                f"conflicts {int(a.conflicts[i])} and {int(c.conflicts[i])}, loads {int(a.loads[i])} and {int(c.loads[i])}\n"
                f"{a.explain(i)}")


def check(cases, arch=DEFAULT_ARCH):
    """Checked: wavefronts within the model's bounds; conflicts and loads equal where they were read and are exact. Of a
    rule that sources dispute, by the one of the two that more cases agree with."""
    row = instruction_of(cases.instruction, arch)
    if row.rival is not None:
        rules = replace(row, rival=None), row.rival
        return min((_checked(cases, rule, arch) for rule in rules), key=lambda checked: checked.wrong.sum())
    return _checked(cases, row, arch)


def _checked(cases, row, arch):
    """`check` by one rule."""
    a = analyze(row, cases.addresses, active=cases.active, arch=arch, sources=cases.sources, valid=cases.valid)
    wrong = (cases.wavefronts != NOT_RECORDED) & ((cases.wavefronts < a.at_least) | (cases.wavefronts > a.at_most))
    known = a.at_least == a.at_most
    if a.instruction.kind != "copy":                     # there the counter varies from run to run
        wrong |= known & (cases.conflicts != NOT_RECORDED) & (cases.conflicts != a.conflicts)
        if not a.instruction.caveat:
            wrong |= (cases.loads != NOT_RECORDED) & (cases.loads != a.loads)
    return Checked(cases, a, wrong)


_UNREADABLE = (*NOT_OURS, OSError, EOFError, BadZipFile)
"""What NumPy raises on a file that is damaged or another one's."""


def load_records(path):
    """(about, [Cases]) of a record file. Raises SimlayoutError if it is none."""
    with reading(path):
        held = Path(path).read_bytes()
    try:
        if held[:1] == b"{":
            return _of_json(json.loads(held))
        if not is_zipfile(BytesIO(held)):
            raise ValueError("it is not an .npz file")
        with np.load(BytesIO(held)) as archive:
            data = dict(archive)                             # which reads an array each time that it is asked for one
            about = json.loads(str(data["about"]))
            str(Summary(about["arch"], about, {}))           # has it everything that a Provenance names?
            active = (data["active"][:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
            all_cases = []
            for number, (form, name) in enumerate(zip(data["forms"], data["instructions"], strict=True)):
                rows = np.flatnonzero(data["form"] == number)
                where = np.searchsorted(data["source_of"], rows)
                sources, valid = (data[k][where].astype(np.int64) if instruction_of(name).kind == "copy" else None
                                  for k in ("sources", "valid"))
                valid = None if valid is None or (valid == NO_SIZE).all() else valid
                addresses = data["addresses"][rows].astype(np.int64)
                labels = tuple(str(data["labels"][i]) for i in data["label"][rows])
                all_cases.append(Cases(str(form), str(name), addresses, active[rows], sources, valid, labels,
                                       *(data[k][rows].astype(np.int64) for k in COUNTERS)))
            return about, all_cases
    except _UNREADABLE as error:
        raise SimlayoutError(f"{path} is no record of `simlayout conform`: {fault_of(error)}") from error


def _of_json(record):
    """`load_records` of what the script for AMD's GPUs writes, which counts conflicts alone."""
    about, all_cases = record["about"], []
    str(Summary(about["arch"], about, {}))
    for name, found in record["cases"].items():
        conflicts = np.array(found["conflicts"], np.int64)
        unread = np.full(len(conflicts), NOT_RECORDED)
        addresses, active = np.array(found["addresses"], np.int64), np.array(found["active"], bool)
        if not len(conflicts) == len(addresses) == len(active) == len(found["labels"]):
            raise ValueError(f"the lists of {name} differ in length")
        all_cases.append(Cases(name, name, addresses, active, None, None, tuple(found["labels"]), unread, conflicts, unread))
    return about, all_cases


def lane_masks(active):
    """bool [n, 32] -> uint32 [n], bit l for lane l."""
    return (active.astype(np.uint64) << np.arange(LANES, dtype=np.uint64)).sum(axis=1).astype(np.uint32)


def save_records(path, about, records):
    """Writes [Cases] and where they come from (about: a dict of plain values) as one compressed .npz, whole or not."""
    labels = sorted({label for c in records for label in c.labels})
    place = {label: i for i, label in enumerate(labels)}
    copies = [c for c in records if c.sources is not None]
    starts = np.cumsum([0, *(len(c.wavefronts) for c in records)])
    source_of = [np.arange(i, i + len(c.wavefronts)) for i, c in zip(starts, records) if c.sources is not None]
    sizes = [np.full(c.sources.shape, NO_SIZE) if c.valid is None else c.valid for c in copies]
    none = np.zeros((0, LANES))
    arrays = {
        "about": np.array(json.dumps(about)),
        "forms": np.array([c.form for c in records]), "instructions": np.array([c.instruction for c in records]),
        "form": np.concatenate([np.full(len(c.wavefronts), i, np.uint16) for i, c in enumerate(records)]),
        "addresses": np.concatenate([np.where(c.active, c.addresses, 0) for c in records]).astype(np.int32),
        "active": np.concatenate([lane_masks(c.active) for c in records]),
        "sources": np.concatenate([none, *(np.where(c.active, c.sources, 0) for c in copies)]).astype(np.int32),
        "valid": np.concatenate([none, *sizes]).astype(np.int8),
        "source_of": np.concatenate(source_of or [np.zeros(0)]).astype(np.int32),
        "labels": np.array(labels), "label": np.array([place[x] for c in records for x in c.labels], np.uint16),
        **{k: np.concatenate([getattr(c, k) for c in records]).astype(np.int32) for k in COUNTERS},
    }
    room = BytesIO()
    np.savez_compressed(room, **arrays)
    write_whole(path, room.getvalue())


def check_file(path):
    """(Summary, [Checked]) of a record file, every case compared with the model."""
    about, records = load_records(path)
    checked = [check(one, about["arch"]) for one in records]
    cases = {}
    for one in checked:
        before, wrong = cases.get(one.cases.instruction, (0, 0))
        cases[one.cases.instruction] = (before + len(one.wrong), wrong + int(one.wrong.sum()))
    return Summary(about["arch"], about, cases), checked


def summaries_text(summaries):
    """The JSON text of Summaries, as measured/ keeps it."""
    return json.dumps([{"arch": s.arch, "about": s.about, "cases": s.cases} for s in summaries], indent=1) + "\n"


@typed()
def add_records(path: str | PathLike) -> Summary:
    """Adds a record file to what `provenance` knows, for this process. Returns its Summary; raises SimlayoutError."""
    summary, _ = check_file(path)
    add(summary)
    return summary
