"""Figures of AMD's accesses: as many banks as the instruction sees, its phases by their lanes, and AMD's word for a pass."""

import pytest

import simlayout as sl
from simlayout import plots
from simlayout.plots.copies import in_memory, touched
from simlayout.plots.fragments import table
from simlayout.plots.lanes import phase_rows


def load(arch):
    tile = sl.Layout((64, 64), (64, 1))
    return sl.Access("load", "ds_read_b128", tile, lambda tid, k: (tid % 16, 32 * k + 8 * (tid // 16)), {"tid": 64, "k": 2},
                     arch=arch)


@pytest.mark.parametrize(("arch", "banks", "total", "lanes"), [
    ("gfx942", 32, "32 passes,\nideal 8", "lanes 0–3, 20–23\n4 passes"),
    ("gfx950", 64, "16 passes,\nideal 4", "0–3, 12–15, 20–27\n4 passes"),
])
def test_the_grid_is_as_wide_as_the_instruction_sees_banks(arch, banks, total, lanes):
    ax = plots.banks(load(arch).analyze())
    texts = [text.get_text() for text in ax.texts]
    assert ax.get_xlim() == (0, banks) and ax.get_ylabel() == "pass" and {total, lanes} <= set(texts)
    plots.close(ax)


def test_panels_have_the_lanes_and_banks_of_the_chip():
    access = load("gfx950")
    panel = phase_rows(access.analyze(), 0)
    assert panel.width == 64 and len({box.y for box in panel.boxes}) == 64 and "16 passes, ideal 4" in panel.title
    memory = in_memory(access)
    assert memory.width == 64 and sum(box.marked for box in memory.boxes) == 48
    assert len(touched(access, [0, 1]).boxes) == 128
    held = table(sl.fragment("v_mfma_f32_16x16x16_f16", "D"))
    assert "T48:{d0}" in {box.text for box in held.boxes} and held.width == 16
