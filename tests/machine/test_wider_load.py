"""A load that is wider than all there are needs its row alone: the machine's memory and the probes read the table."""

from dataclasses import replace

import numpy as np
import pytest

from cuda_kernels.conformance import forms
from simlayout.errors import AddressError
from simlayout.hardware import INSTRUCTIONS
from simlayout.machine.engine import memory
from simlayout.machine.hazards import rows as tables

EIGHTHS = tuple(tuple(range(4 * m, 4 * m + 4)) for m in range(8))
LOAD = replace(INSTRUCTIONS["ld.shared.b128"], name="ld.shared.b256", bytes=32, groups=EIGHTHS, paired_groups=None,
               since=(10, 0))


def test_shared_memory_moves_every_width_of_the_table_and_no_other():
    assert set(tables.WIDTHS) == {row.bytes for row in INSTRUCTIONS.values()}
    for width in tables.WIDTHS:
        assert memory.SharedMemory(1024).load(np.arange(2), width).shape == (2, width)
    with pytest.raises(AddressError, match="32 bytes per lane; shared memory moves 1, 2, 4, 8 or 16"):
        memory.SharedMemory(1024).rows("ld.shared.b256", 32 * np.arange(32), 32)


def test_a_wider_row_is_wider_rows_of_shared_memory_whatever_its_size(monkeypatch):
    monkeypatch.setattr(tables, "WIDTHS", (*tables.WIDTHS, LOAD.bytes))
    for size in (1000, 1008, 1024):
        held = memory.SharedMemory(size)
        held.bytes[:] = np.arange(size) % 251
        rows = held.rows(LOAD.name, 32 * np.arange(size // 32), 32)
        assert (held.load(rows, 32) == held.bytes[:size // 32 * 32].reshape(-1, 32)).all()
        with pytest.raises(AddressError, match="lane 0 touches bytes"):
            held.rows(LOAD.name, np.array([1024 - 32 if size < 1024 else 1024]), 32)


def test_a_wider_row_has_a_probe_for_each_way_to_load_it(monkeypatch):
    monkeypatch.setattr(forms, "INSTRUCTIONS", {**INSTRUCTIONS, LOAD.name: LOAD})
    made = [form for form in forms._loads() if form.row is LOAD]
    assert [form.name for form in made] == [f"ld{how}.shared.v8.b32" for how in ("", ".volatile", ".relaxed.cta")]
    for form in made:
        assert not form.generic and f"{form.name} {{v0, v1, v2, v3, v4, v5, v6, v7}}, [$1];" in form.text
    assert [form.name for form in forms._stores()] == [name for name in forms.FORMS if name.startswith("st.")]
