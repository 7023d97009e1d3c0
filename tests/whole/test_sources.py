"""One table of who says what: it has every source that any table of the package names."""

import importlib
import pkgutil
from dataclasses import fields, is_dataclass

import pytest
from ptxas_says import complaints, needs_ptxas

from simlayout.errors import InstructionError
from simlayout.hardware import ARCHES
from simlayout.hardware.tables.instructions import instructions_of
from simlayout.hardware.tables.mma import per_register
from simlayout.hardware.tables.mma_sp import SPARSE_MMAS, SparseMma
from simlayout.hardware.tables.provenance import Provenance, provenance
from simlayout.numerics import rule
from simlayout.sources import PARTS, statements

ROOMS = "simlayout.algebra", "simlayout.hardware", "simlayout.numerics"
"""Where tables of rules are; those above only use them, which a test holds."""


def modules(package):
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def named_in(value, seen):
    """Every Provenance in a value: in tuples, lists, sets, dicts and the fields of dataclasses, however deep."""
    if id(value) in seen:
        return
    seen[id(value)] = value                                  # kept, so that no other takes its id
    if isinstance(value, Provenance):
        yield value
    elif isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from named_in(one, seen)
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from named_in(one, seen)
    elif is_dataclass(value):
        for field in fields(value):
            yield from named_in(getattr(value, field.name, None), seen)


def test_every_source_that_a_table_names_stands_in_the_table_of_some_chip():
    told = {s.said.text for name in ARCHES for s in statements(name)}
    told |= {provenance(row, chip).text for chip in ARCHES.values() for row in instructions_of(chip).values()}
    told |= {row.rival.said.text for name in ARCHES for row in instructions_of(name).values() if row.rival}
    seen, found = {}, {}
    for package in ROOMS:
        for module in modules(package):
            found |= {said.text: module.__name__ for said in named_in(vars(module), seen)}
    assert len(found) > 40
    assert {text: where for text, where in found.items() if text not in told} == {}


def test_no_room_above_has_sources_of_its_own():
    seen = {}
    below = {said.text for package in ROOMS for module in modules(package) for said in named_in(vars(module), seen)}
    for module in modules("simlayout"):
        assert {value.text for value in vars(module).values() if isinstance(value, Provenance)} <= below, module.__name__


@pytest.mark.parametrize("arch", ARCHES)
def test_a_statement_is_told_once_and_of_what_the_chip_has(arch):
    found = statements(arch)
    assert [s.part for s in found] == sorted((s.part for s in found), key=PARTS.index)
    assert len({(s.part, s.what, s.said) for s in found}) == len(found)
    for s in found:
        assert s.names and len(set(s.names)) == len(s.names) and s.said.text
        if s.part == "arithmetic" and not s.names[0].startswith("kind::"):
            assert all(rule(name, arch).provenance == s.said for name in s.names)
    measured = {s.part for s in found if s.said.kind == "measured"}
    assert measured == ({"fragments", "operands in shared memory", "arithmetic", "time"} if arch == "sm_90" else set())


def test_an_unknown_chip_is_refused():
    with pytest.raises(InstructionError, match="unknown architecture"):
        statements("sm_42")


def _sparse(mma: SparseMma):
    """A line of PTX with registers enough."""
    def of(operand):
        rows, columns, dtype = mma.operands()[operand]
        return "{" + ", ".join(f"r{i}" for i in range(rows * columns // 32 // per_register(dtype))) + "}"

    return f"{mma.opcode} {', '.join(map(of, 'DABC'))}, r1, 0x0;"


@needs_ptxas
@pytest.mark.parametrize("arch", [name for name, chip in ARCHES.items() if chip.capability])
def test_ptxas_takes_the_sparse_products_of_which_a_chip_has_fragments(arch, tmp_path):
    own = {name for s in statements(arch) if s.what == "mma.sp" for name in s.names}
    target = f"{arch}a" if ARCHES[arch].capability >= (9, 0) else arch
    refused = complaints(list(map(_sparse, SPARSE_MMAS.values())), tmp_path, target, "9.0")
    assert own == {name for name, why in zip(SPARSE_MMAS, refused) if why is None}, refused
