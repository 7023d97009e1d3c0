"""How accesses are counted: by name, by line, by instruction, and under masks."""

import pytest
from machine_kit import ld_shared, line_of, st_shared, tid_x

from simlayout.errors import SimlayoutError
from simlayout.machine import run


def row_major(tid, k):
    return 128 * tid + 4 * k


row_major.access_name = "load rows"


def test_accesses_are_counted_per_name_and_per_line_and_equal_the_model():
    def kernel(n):
        tid = tid_x()
        for k in range(n):
            ld_shared(64 + row_major(tid, k) - 64)       # tagged once
        ld_shared(row_major(tid, 0))                     # tagged twice
        st_shared(4 * tid, tid)                          # untagged
        if tid < 16:
            ld_shared(8 * tid)                           # half of the lanes

    trace = run(kernel, 2, 64, 1500, shared_bytes=64 * 128 + 8000, hazards="off")
    rows = trace.count("load rows")
    assert (rows.instructions, rows.wavefronts, rows.ideal) == (1501 * 4, 1501 * 4 * 32, 1501 * 4)
    assert rows.excess == rows.wavefronts - rows.ideal and rows.instruction == "ld.shared.b32"
    store = trace.count(f"test_machine_counts.py:{line_of('untagged')}")
    assert (store.instructions, store.wavefronts, store.ideal) == (4, 4, 4)
    by_line = {c.line: c.instructions for c in trace.lines}
    assert by_line == {line_of("tagged once"): 6000, line_of("tagged twice"): 4, line_of("untagged"): 4,
                       line_of("half of the lanes"): 2}
    totals = {c.name: c.instructions for c in trace.by_instruction()}
    assert totals == {"ld.shared.b32": 6006, "st.shared.b32": 4}
    assert trace.total().wavefronts == sum(c.wavefronts for c in trace.lines)
    assert "load rows" in str(trace) and "test_machine_counts.py:" in str(trace)
    with pytest.raises(SimlayoutError, match="'load rows'"):
        trace.count("load columns")


def test_masks_are_counted_over_any_number_of_instructions():
    def kernel():
        tid = tid_x()
        for k in range(1030):
            if tid < (16 if k < 1027 else 32):
                ld_shared(row_major(tid, 0))

    rows = run(kernel, 1, 32, shared_bytes=4096, hazards="off").count("load rows")
    assert (rows.instructions, rows.wavefronts, rows.ideal) == (1030, 1027 * 16 + 3 * 32, 1030)


def test_a_uniform_index_and_a_merged_one_keep_their_names():
    def uniform(k):
        return 4 * k

    uniform.access_name = "broadcast"

    def kernel():
        tid = tid_x()
        ld_shared(uniform(3))
        address = row_major(tid, 0) if tid < 4 else row_major(tid - 4, 1)
        ld_shared(address)

    trace = run(kernel, 1, 32, shared_bytes=32 * 128, hazards="off")
    assert trace.count("broadcast").wavefronts == 1
    assert trace.count("load rows").instructions == 1
