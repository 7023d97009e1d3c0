"""Clusters that extend along any axis of the grid (PTX ISA: %cluster_ctaid and its kin, .reqnctapercluster, mapa)."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import HazardError, MachineError

GRID = 4, 2, 6

TILE = ".shared .align 4 .b8 tile[4];"
OF_THE_NEIGHBOUR = """mov.u32 %r2, %cluster_ctarank;
        xor.b32 %r2, %r2, 1;
        mov.u32 %r3, tile;
        mapa.shared::cluster.u32 %r3, %r3, %r2;
        ld.shared::cluster.u32 %r4, [%r3];
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;"""
"""Reads the `tile` of the CTA beside this one into %r4, and lets none end before."""


def told(special, **launch):
    """int [z, y, x]: what a special register holds in each CTA of GRID."""
    body = f"""ld.param.u64 %rd1, [kernel_param_0];
        mov.u32 %r1, %ctaid.z; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.x;
        mad.lo.u32 %r1, %r1, {GRID[1]}, %r2;
        mad.lo.u32 %r1, %r1, {GRID[0]}, %r3;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd1, %rd1, %rd2;
        mov.u32 %r1, {special};
        st.global.u32 [%rd1], %r1;
        ret;"""
    out = np.full(GRID[::-1], -1, np.int32)
    sl.ptx.load(module(body, ["u64"])).entry().run(GRID, 1, out, **launch)
    return out


@pytest.mark.parametrize("cluster", [(2, 1, 3), (1, 2, 1), (4, 2, 1), 2])
def test_a_cta_is_told_its_place_in_a_cluster_and_that_of_the_cluster_along_each_axis(cluster):
    size = (*cluster, 1, 1)[:3] if isinstance(cluster, tuple) else (cluster, 1, 1)
    place = np.indices(GRID[::-1])[::-1]                                        # x, y, z of each CTA
    for axis, name in enumerate("xyz"):
        assert (told(f"%cluster_ctaid.{name}", cluster=cluster) == place[axis] % size[axis]).all()
        assert (told(f"%clusterid.{name}", cluster=cluster) == place[axis] // size[axis]).all()
        assert (told(f"%cluster_nctaid.{name}", cluster=cluster) == size[axis]).all()
        assert (told(f"%nclusterid.{name}", cluster=cluster) == GRID[axis] // size[axis]).all()
    within = [p % n for p, n in zip(place, size)]
    assert (told("%cluster_ctarank", cluster=cluster) == within[0] + size[0] * (within[1] + size[1] * within[2])).all()
    assert (told("%cluster_ctarank", cluster=cluster, together=True) == told("%cluster_ctarank", cluster=cluster)).all()


def test_a_cta_reads_the_shared_memory_of_the_neighbour_along_y_that_its_cluster_names():
    body = f"""mov.u32 %r1, %ctaid.y;
        st.shared.u32 [tile], %r1;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        {OF_THE_NEIGHBOUR}
        ld.param.u64 %rd1, [kernel_param_0];
        mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r1, %r1, 2, %r2;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd1, %rd1, %rd2;
        st.global.u32 [%rd1], %r4;
        ret;"""
    text = module(body, ["u64"], directives=".reqnctapercluster 1, 2, 1", before=TILE)
    out = np.full((4, 2), -1, np.int32)
    entry = sl.ptx.load(text).entry()
    entry.run((2, 4), 1, out)
    assert (out == [[1, 1], [0, 0], [3, 3], [2, 2]]).all()
    assert entry.required_cluster == (1, 2, 1)
    with pytest.raises(MachineError, match=r"requires clusters of \(1, 2, 1\) CTAs .*, not \(2, 1, 1\)"):
        entry.run((2, 4), 1, out, cluster=2)


@pytest.mark.parametrize("cluster", [(2, 3, 1), (1, 1, 4), (1, 3), 32, (4, 2, 3)])
def test_a_cluster_that_does_not_divide_the_grid_along_an_axis_or_is_too_large_is_refused(cluster):
    with pytest.raises(MachineError, match=r"cluster \(.*\) in a grid of \(4, 2, 6\) CTAs: give 1 to 16 CTAs"):
        told("%ctaid.x", cluster=cluster)


@pytest.mark.parametrize("fence, ordered", [("fence.acq_rel.cluster;", True), ("fence.sc.gpu;", True),
                                            ("fence.acq_rel.gpu; fence.acq_rel.cta;", True), ("fence.acq_rel.cta;", False),
                                            ("fence.proxy.async;", False), ("", False)])
def test_a_relaxed_arrival_hands_on_what_a_fence_before_it_has_released_to_the_cluster(fence, ordered):
    body = f"""mov.u32 %r1, %cluster_ctarank;
        st.shared.u32 [tile], %r1;
        {fence}
        barrier.cluster.arrive.relaxed.aligned;
        barrier.cluster.wait.aligned;
        {OF_THE_NEIGHBOUR}
        nanosleep.u32 %r4;
        ret;"""
    entry = sl.ptx.load(module(body, before=TILE)).entry()
    assert bool(entry.run(2, 1, cluster=2, hazards="report").hazards) != ordered


NEIGHBOURS = """mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1; mov.u32 %r3, tile;
mapa.shared::cluster.u32 %r4, %r3, %r2; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p3, %r1, 32; setp.eq.u32 %p4, %r1, 32;
@%p1 mbarrier.init.shared.b64 [%r3], 1;
{fence}
barrier.cluster.arrive.relaxed;
@!%p3 bra MEET;
barrier.cluster.wait;
MEET: {meet}
@%p4 mbarrier.arrive.shared::cluster.b64 _, [%r4];
W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra W;
@%p3 bra LAST;
barrier.cluster.wait;
LAST: barrier.cluster.arrive; barrier.cluster.wait;
ret;"""
"""The first of two warps waits for the other CTA's init; the second one arrives there before it waits itself."""


@pytest.mark.parametrize("meet", ["bar.sync 0;", "barrier.sync 1, 64;"])
@pytest.mark.parametrize("fence, ordered", [("@%p1 fence.mbarrier_init.release.cluster;", True), ("", False)])
def test_who_meets_those_that_left_a_cluster_barrier_comes_after_the_mbarriers_that_it_handed_on(meet, fence, ordered):
    entry = sl.ptx.load(module(NEIGHBOURS.format(meet=meet, fence=fence), before=".shared .align 8 .b8 tile[8];")).entry()
    hazards = entry.run(2, 64, cluster=2, hazards="report").hazards
    assert (not hazards) == ordered and all("only if a fence.mbarrier_init comes" in hazard.text for hazard in hazards)


REMOTE = """mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r3, tile; add.u32 %r5, %r3, 8;
mapa.shared::cluster.u32 %r4, %r3, %r2; mapa.shared::cluster.u32 %r6, %r5, %r2;
mbarrier.init.shared.b64 [%r3], 1;
barrier.cluster.arrive; barrier.cluster.wait;
st.shared::cluster.u32 [%r6], %r1;
{fence}
mbarrier.arrive{arrive}.shared::cluster.b64 _, [%r4];
W: mbarrier.try_wait.parity{wait}.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
ld.shared.u32 %r7, [%r5]; st.shared.u32 [%r5+4], %r7;
barrier.cluster.arrive; barrier.cluster.wait;
ret;"""
"""Each of two threads writes to the other's memory, arrives there, waits at home, and reads."""


@pytest.mark.parametrize("arrive, fence, ordered", [
    ("", "", True), (".release.cluster", "", True), (".release.cta", "", False),
    (".release.cta", "fence.acq_rel.cluster;", False),
    (".relaxed.cluster", "", False), (".relaxed.cluster", "fence.acq_rel.cluster;", True),
    (".relaxed.cta", "fence.acq_rel.cluster;", False)])
def test_an_arrival_in_another_cta_that_names_its_own_as_scope_hands_on_nothing(arrive, fence, ordered):
    text = REMOTE.format(arrive=arrive, fence=fence, wait=".acquire.cluster")
    entry = sl.ptx.load(module(text, before=".shared .align 8 .b8 tile[16];")).entry()
    assert [one.kind for one in entry.run(2, 1, cluster=2, hazards="report").hazards] == ["read after write"] * (not ordered)


@pytest.mark.parametrize("access", ["ld.shared::cluster.u32 %r4, [%r3]; nanosleep.u32 %r4;",
                                    "st.shared::cluster.u32 [%r3+4], %r1;", "atom.shared::cluster.add.u32 %r4, [%r3], 0;"])
@pytest.mark.parametrize("steps", [0, 99])
def test_a_cta_that_ends_while_others_may_still_come_to_its_shared_memory_is_told(access, steps):
    """However far apart the two run: one may have ended when the other comes, or not."""
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    body = f"""mov.u32 %r1, %cluster_ctarank;
        st.shared.u32 [tile], %r1;
        {meet}
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra DONE;
        {"add.u32 %r5, %r5, 1; " * steps}
        {OF_THE_NEIGHBOUR.partition("ld")[0]} {access}
        DONE: {{last}}
        ret;"""
    wide = TILE.replace("4]", "8]")
    for last, kinds in ((meet, []), ("", ["early exit"])):
        trace = sl.ptx.load(module(body.replace("{last}", last), before=wide)).entry().run(2, 1, cluster=2, hazards="report")
        assert [hazard.kind for hazard in trace.hazards] == kinds


def test_a_cta_that_comes_to_another_one_which_has_ended_goes_on():
    body = f"""mov.u32 %r1, %cluster_ctarank;
        st.shared.u32 [tile], %r1;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 ret;
        {"add.u32 %r5, %r5, 1; " * 99}
        {OF_THE_NEIGHBOUR.partition("barrier")[0]}
        ld.param.u64 %rd1, [kernel_param_0];
        st.global.u32 [%rd1], %r4;
        ret;"""
    entry, out = sl.ptx.load(module(body, ["u64"], before=TILE)).entry(), np.full(1, -1, np.int32)
    trace = entry.run(2, 1, out, cluster=2, hazards="report")
    assert [hazard.kind for hazard in trace.hazards] == ["early exit"] and out[0] == 0
    for hazards in ("raise", "off"):
        with pytest.raises(HazardError, match="early exit: .* ends"):
            entry.run(2, 1, out, cluster=2, hazards=hazards)
