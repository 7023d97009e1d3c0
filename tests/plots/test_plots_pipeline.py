"""The stages that TMA fills, in time: what a run tells who watches it, and what is drawn of it."""

from itertools import pairwise

import hopper_faults as faults
import numpy as np
import pytest
from hopper_kernels import SHARED
from hypothesis import strategies as st
from machine_kit import st_shared, tid_x
from on_machine import on_machine
from readable import overlapping, texts
from tiers import given_few, sweep_but

from cuda_kernels.kernels import named
from simlayout.cli import main
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import EVENTS, Event, run, watching
from simlayout.plots import of_kernel, pipeline
from simlayout.plots.pipeline_tma import tma_timeline
from simlayout.plots.timelines import Span, Timeline

FIRST = (0, 0, 0)
OF_WGMMA = [("wgmma_tma", {}), ("wgmma_specialized", {}), ("wgmma_specialized", {"stages": 2}),
            ("wgmma_persistent", {}), ("wgmma_persistent", {"stages": 3, "cluster_m": 2, "cluster_n": 2})]
ALL = [*OF_WGMMA, ("mma_tma", {"cluster_m": 1})]
FEW = [OF_WGMMA[0], OF_WGMMA[-1]]
"""One stage, and a ring of stages in a cluster."""


def events_of(name, options, steps):
    """The Events of one tile of C, or one per CTA of a cluster, by one of the kernels in any order of memory."""
    kernel, events = named(name).variant(**options), []
    rows, columns, depth = kernel.plan.tile
    a, b = (np.zeros((size, steps * depth), np.float16, "C" if major == "K" else "F")
            for size, major in ((rows, kernel.options.a_major), (columns, kernel.options.b_major)))
    with watching(events.append):
        on_machine(kernel.options, a, b.T, hazards="off")
    return events


def by_stage(made, kind=None):
    """[the Spans of each stage, of one kind or all]."""
    return [[s for s in made.spans if s.stage == i and kind in (None, s.kind)] for i in range(made.stages)]


def asked_or_written(made):
    """[(stage, from the clock at which TMA is asked for a chunk, to that at which it is there)]."""
    for stage, spans in enumerate(by_stage(made)):
        for before, span in pairwise([None, *spans]):
            if span.kind == "copy":
                yield stage, before.start if before and before.kind == "wait" else span.start, span.end


# ---- what a run tells --------------------------------------------------------------------------------------------------

def test_a_run_tells_the_inner_one_of_those_who_watch():
    def kernel():
        st_shared(4 * tid_x(), 0)

    outer, inner = [], []
    with watching(outer.append):
        run(kernel, 1, 32, shared_bytes=128)
        with watching(inner.append):
            run(kernel, 1, 64, shared_bytes=256)
        run(kernel, 1, 32, shared_bytes=128)
    run(kernel, 1, 32, shared_bytes=128)
    assert (len(outer), len(inner)) == (2, 2)
    assert [(e.kind, e.warp) for e in inner] == [("access", (FIRST, 0)), ("access", (FIRST, 1))]


@pytest.mark.parametrize("of", sweep_but(FEW, OF_WGMMA), ids=str)
def test_wgmma_reads_every_byte_of_each_chunk_of_k_that_tma_brought_and_no_other(of):
    steps, k_of, brought, read = 5, {}, {}, {}           # of addresses, of chunks of K
    for e in events_of(*of, steps):
        assert e.kind in EVENTS
        if e.cta == FIRST and e.kind == "land":
            k_of |= dict.fromkeys(e.addresses.tolist(), e.coords[0] // 64)
            brought.setdefault(e.coords[0] // 64, set()).update(e.addresses.tolist())
        if e.cta == FIRST and e.kind == "read":
            chunk, = {k_of[address] for address in e.addresses.tolist()}
            read.setdefault(chunk, set()).update(e.addresses.tolist())
    assert list(read) == list(range(steps)) and read == brought


@pytest.mark.parametrize("of", sweep_but([*FEW, ALL[-1]], ALL), ids=str)
def test_a_box_is_asked_for_before_it_lands_and_its_phase_completes_after(of):
    loads = {}
    for e in events_of(*of, 3):
        if e.kind == "load":
            loads.setdefault((e.cta, e.mbarrier), []).append(e.coords)
        elif e.kind == "land":
            loads[e.cta, e.mbarrier].remove(e.coords)
        elif e.kind == "phase":
            assert not loads.get((e.cta, e.mbarrier))
    assert loads and not any(loads.values())


def test_a_wgmma_is_read_after_its_issue_and_as_often():
    events = [e for e in events_of("wgmma_specialized", {}, 3) if e.kind in ("multiply", "read")]
    open_products = []
    for e in events:
        what = e.instruction, e.addresses.tobytes()
        open_products.append(what) if e.kind == "multiply" else open_products.remove(what)
    assert len(events) == 2 * 2 * 4 * 3 and not open_products


# ---- Timelines ---------------------------------------------------------------------------------------------------------

def check(made, chunks):
    """Every chunk is in its stage, in order, and no stage is asked for again before it was released."""
    for kind in ("copy", "read"):
        assert sorted(s.chunk for s in made.spans if s.kind == kind) == list(range(chunks))
    for stage, spans in enumerate(by_stage(made)):
        chunks_here = list(range(stage, chunks, made.stages))
        kinds = [(s.kind, s.chunk) for s in spans if s.kind in ("copy", "read")]
        assert kinds == [(kind, chunk) for chunk in chunks_here for kind in ("copy", "read")]
        assert [s.chunk for s in spans] == sorted(s.chunk for s in spans)
        assert all(a.end <= b.start for a, b in pairwise(spans)), stage
    assert 0 <= min(s.start for s in made.spans) and max(s.end for s in made.spans) <= made.clocks


@given_few(2, 250, st.sampled_from(["wgmma_specialized", "wgmma_persistent"]), st.integers(2, 4), st.integers(1, 9),
           st.sampled_from([64, 128]), st.sampled_from([1, 2]))
def test_a_stage_holds_its_chunks_in_order_and_is_not_refilled_before_its_release(name, stages, steps, cols, beside):
    made = of_kernel(named(name).variant(stages=stages, tile_n=cols, cluster_n=beside), steps)
    tiles = 2 if name == "wgmma_persistent" else 1
    assert made.stages == min(stages, tiles * steps) and made.steps == steps
    check(made, tiles * steps)


@pytest.mark.parametrize("majors", sweep_but([("MN", "MN")], [("K", "MN"), ("MN", "K"), ("MN", "MN")]), ids="-".join)
def test_the_order_of_the_operands_changes_no_span(majors):
    def made(a, b):
        return tma_timeline(events_of("wgmma_specialized", {"stages": 3, "a_major": a, "b_major": b}, 5), 5)

    check(made(*majors), 5)
    assert made(*majors) == made("K", "K")


@pytest.mark.parametrize("options", sweep_but([{"cluster_m": 1, "stages": 3}], [{}, {"cluster_m": 1, "stages": 3}]), ids=str)
def test_ldmatrix_reads_the_chunks_that_tma_brings_and_c_takes_their_place(options):
    made = of_kernel(named("mma_tma").variant(**options), 5)
    check(made, 5)
    assert made.reader == "ldmatrix" and made.rows[-1] == "C"
    last = max(s.end for s in made.spans if s.kind == "read")
    assert all(s.start >= last for s in made.spans if s.kind == "store")


@pytest.mark.parametrize("of", sweep_but([OF_WGMMA[0], OF_WGMMA[2]], ALL), ids=str)
def test_with_one_stage_nothing_overlaps_and_with_more_a_copy_is_under_way_while_another_stage_is_read(of):
    name, options = of
    made = of_kernel(named(name).variant(**options), 4)
    both = [(stage, s.stage) for stage, start, end in asked_or_written(made) for s in made.spans
            if s.kind == "read" and start < s.end and s.start < end]
    assert bool(both) == (made.stages > 1)
    assert all(a != b for a, b in both)


def test_a_stage_that_is_released_too_early_is_asked_for_while_it_is_read():
    events, source = [], TensorMap.of(np.zeros((64, 64), np.float16), (64, 64))
    with watching(events.append):
        run(faults.stage_released_before_its_products, 1, 256, source, shared_bytes=SHARED, hazards="off")
    made = tma_timeline(events)
    first = next(s for s in made.spans if s.kind == "read")
    assert any(s.chunk == 1 and s.start < first.end for s in made.spans)
    with pytest.raises(AssertionError):
        check(made, 2)


def test_a_stage_that_is_asked_for_between_its_reading_and_its_release_is_seen_to_overlap():
    cells, warp, tma, of = 16 * np.arange(64), (FIRST, 4), "cp.async.bulk.tensor", "wgmma.m64n8k16.f32.f16.f16"
    free, load = Event("wait", "", FIRST, warp=warp, mbarrier=8), Event("load", tma, FIRST, cells, warp, mbarrier=0)
    full, read = Event("phase", "", FIRST, mbarrier=0), Event("read", of, FIRST, cells, wavefronts=18)
    land, release = Event("land", tma, FIRST, cells, mbarrier=0), Event("phase", "", FIRST, mbarrier=8)
    other = Event("access", "ld.shared.b32", FIRST, 4096 + 4 * np.arange(32))
    good, early = ([free, load, land, full, read, *between, land, full, read, release]
                   for between in ([other, release, other, load], [other, load, other, release]))
    check(tma_timeline(good), 2)
    assert Span(0, "held", 0, 26, 27) in tma_timeline(good).spans
    with pytest.raises(AssertionError):
        check(tma_timeline(early), 2)


def test_the_stages_of_the_next_tile_fill_while_c_is_stored():
    made = of_kernel(named("wgmma_persistent"), 6)
    stored = next(s for s in made.spans if s.kind == "store")
    asked = [s for s in made.spans if s.kind == "wait" and s.chunk >= 6 and s.start < stored.end and stored.start < s.end]
    assert {s.stage for s in asked} == set(range(made.stages))
    assert [made.label(s) for s in made.spans if s.kind == "read"] == [str(i % 6) for i in range(12)]


@pytest.mark.parametrize("name, options, tiles", [("wgmma_tma", {}, 1), ("wgmma_specialized", {}, 1),
                                                  ("wgmma_persistent", {}, 4), ("mma_tma", {"cluster_m": 1}, 1)])
def test_the_clocks_are_the_wavefronts_and_the_bytes_that_the_plan_predicts(name, options, tiles):
    kernel = named(name).variant(**options)
    rows, columns, depth = kernel.plan.tile
    said = kernel.plan.predict(tiles * rows, columns, 3 * depth)
    bytes = sum(getattr(count, "bytes", 0) for count in said.counts)
    assert said.ctas * of_kernel(kernel, 3).clocks == sum(c.wavefronts for c in said.counts) + bytes // 128


def test_where_tma_loads_nothing_there_is_no_timeline():
    with pytest.raises(SimlayoutError, match="TMA loads nothing"):
        tma_timeline([])
    with pytest.raises(SimlayoutError, match=r"of CTA \(7, 0, 0\)"):
        tma_timeline(events_of("wgmma_tma", {}, 2), cta=(7, 0, 0))


# ---- drawn -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", sweep_but(ALL[:2], ALL), ids=str)
def test_no_text_of_a_pipeline_is_cut_or_overlaps_another(case):
    name, options = case
    made = of_kernel(named(name).variant(**options), 6)
    ax = pipeline(made)
    found, (wide, high) = texts(ax.figure), ax.figure.get_size_inches()
    for text, x0, y0, x1, y1 in found:
        assert -0.01 <= x0 and x1 <= wide + 0.01 and -0.01 <= y0 and y1 <= high + 0.01, text
    assert overlapping(found) == []
    shown = {text for text, *_ in found}
    assert {*made.rows, made.axis, made.title, *(made.meaning[s.kind] for s in made.spans)} <= shown
    assert made.axis != Timeline.axis and "CPU machine" in made.axis


def test_plot_draws_a_kernel_whose_stages_tma_fills(capsys, tmp_path):
    file = tmp_path / "a.svg"
    assert main(["plot", "wgmma_specialized", "--kind", "pipeline", "--stages", "2", "--steps", "3", "-o", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {file}: 2 stages, ")
    assert "wgmma reads it" in file.read_text()
