"""What PTX stores, reduces and copies in the memory of another CTA, and when it is there."""

import pytest
from ptx_copies import FETCH, INIT, WAIT, numbers, run

from simlayout.errors import AddressError, HazardError, InstructionError, MachineError

RANKS = ".reg .b32 %rank, %peer, %far, %farmb; mov.u32 %rank, %cluster_ctarank; xor.b32 %peer, %rank, 1;"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


def test_a_cta_stores_and_adds_in_the_memory_of_its_peer():
    body = RANKS + """
mad.lo.u32 %out, %lane, 4, %at; st.shared.b32 [%out], 100;
mapa.shared::cluster.u32 %far, %out, %peer;
getctarank.shared::cluster.u32 %word, %far;
""" + MEET + """
add.u32 %word, %word, 1;
red.shared::cluster.add.u32 [%far], %word;
ld.shared::cluster.u32 %word, [%far];
""" + MEET + """
mul.wide.u32 %off, %rank, 128; add.s64 %to, %to, %off;
ld.shared.b32 %word, [%out]; st.global.b32 [%to], %word;
""" + MEET
    out, trace = run(body, numbers(1), 64, grid=2, cluster=2)
    assert out.tolist() == [101] * 32 + [102] * 32
    made = {c.instruction: c.bytes for c in trace.by_instruction()}
    assert made["red.shared::cluster.add.u32"] == made["ld.shared::cluster.b32"] == 256


@pytest.mark.parametrize(("send", "wanted", "counted"), [
    ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32", 9, "st.async.b32"),
    ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32", 109, "red.async")])
def test_a_store_that_completes_on_the_peers_mbarrier_is_there_behind_its_phase(send, wanted, counted):
    body = RANKS + INIT + """
mad.lo.u32 %out, %lane, 4, %at; st.shared.b32 [%out], 100;
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], 128;
mapa.shared::cluster.u32 %far, %out, %peer; mapa.shared::cluster.u32 %farmb, %mb, %peer;
mov.u32 %word, 9;
""" + MEET + f"{send} [%far], %word, [%farmb];" + WAIT.format(n=1, parity=0) + """
mul.wide.u32 %off, %rank, 128; add.s64 %to, %to, %off;
ld.shared.b32 %word, [%out]; st.global.b32 [%to], %word;
""" + MEET
    out, trace = run(body, numbers(1), 64, grid=2, cluster=2)
    assert out.tolist() == [wanted] * 64 and {c.instruction: c.bytes for c in trace.by_instruction()}[counted] == 256
    with pytest.raises(HazardError):
        run(body.replace(WAIT.format(n=1, parity=0), ""), numbers(1), 64, grid=2, cluster=2)


SUM = RANKS + INIT + """
mad.lo.u32 %out, %lane, 4, %at; st.shared.b32 [%out], 5; st.shared.b32 [%out+128], 7;
fence.proxy.async.shared::cta;
setp.eq.u32 %p3, %rank, 0; and.pred %p3, %p3, %p1;
@%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], 256;
mov.u32 %peer, 0; mapa.shared::cluster.u32 %far, %at, %peer; mapa.shared::cluster.u32 %farmb, %mb, %peer;
add.u32 %word, %at, 128;
""" + MEET + """
@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.KIND [%far], [%word], 128, [%farmb];
setp.eq.u32 %p3, %rank, 0; @!%p3 bra MET;
WAIT
""" + FETCH + "MET:" + MEET


@pytest.mark.parametrize(("kind", "wanted"), [("add.u32", 19), ("min.s32", 5), ("xor.b32", 5), ("max.u32", 7),
                                              ("inc.u32", 7)])
def test_what_two_ctas_reduce_in_one_of_them_is_there_behind_its_phase(kind, wanted):
    body = SUM.replace("KIND", kind)
    behind = body.replace("WAIT", WAIT.format(n=1, parity=0))
    assert run(behind, numbers(1), 32, grid=2, cluster=2)[0].tolist() == [wanted] * 32
    with pytest.raises(HazardError, match="early read"):
        run(body.replace("WAIT", ""), numbers(1), 32, grid=2, cluster=2)
    with pytest.raises(HazardError, match="missing proxy fence"):
        run(behind.replace("fence.proxy.async.shared::cta;", ""), numbers(1), 32, grid=2, cluster=2)


def test_what_lanes_of_two_ctas_reduce_in_one_of_them_does_not_race():
    send = """mad.lo.u32 %far, %lane, 4, %far;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%far], %lane, [%farmb];"""
    lines = SUM.replace("WAIT", WAIT.format(n=1, parity=0)).splitlines()
    body = "\n".join(send if "cp.reduce" in line else line for line in lines)
    assert run(body, numbers(1), 32, grid=2, cluster=2)[0].tolist() == [5 + 2 * lane for lane in range(32)]
    with pytest.raises(HazardError, match="early read|write in flight"):
        run(body.replace(send, send + "st.shared::cluster.b32 [%far], 1;"), numbers(1), 32, grid=2, cluster=2)


def test_types_that_a_reduction_in_shared_memory_lacks_are_refused():
    with pytest.raises(InstructionError, match="add of f32: it takes u32, s32, u64 in shared memory"):
        run(SUM.replace("KIND", "add.f32").replace("WAIT", ""), numbers(1), 32, grid=2, cluster=2)


def test_who_arrives_at_a_cta_that_has_ended_is_told():
    body = RANKS + INIT + "setp.eq.u32 %p3, %rank, 0; mapa.shared::cluster.u32 %farmb, %mb, %peer;" + MEET + """
@%p3 bra END;
nanosleep.u32 1;
@%p1 mbarrier.arrive.shared::cluster.b64 _, [%farmb];
END:"""
    with pytest.raises(HazardError, match=r"early exit: .* may still use its shared memory when CTA \(0, 0, 0\) ends"):
        run(body, numbers(1), grid=2, cluster=2)


def test_a_plain_address_of_another_cta_is_refused_where_only_the_own_is_allowed():
    body = RANKS + "mapa.shared::cluster.u32 %far, %at, %peer; cp.async.ca.shared.global [%far], [%from], 4;" + MEET
    with pytest.raises((MachineError, AddressError), match="another CTA of the cluster"):
        run(body, numbers(1), grid=2, cluster=2)


SENT = RANKS + INIT + """
mad.lo.u32 %out, %lane, 4, %at; st.shared.b32 [%out], %lane; fence.proxy.async.shared::cta; bar.warp.sync -1;
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], BYTES;
mapa.shared::cluster.u32 %far, %at, %peer; mapa.shared::cluster.u32 %farmb, %mb, WHOSE; add.u32 %far, %far, 1024;
""" + MEET + "GUARD COPY" + WAIT.format(n=1, parity=0) + MEET
COPIES = {
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%far], %lane, [%farmb];": 4,
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%far], [%at], 64, [%farmb];": 64,
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%far], [%from], 64, [%farmb];": 64}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_completes_on_no_mbarrier_but_those_of_the_cta_it_goes_to(copy):
    body = SENT.replace("BYTES", str(COPIES[copy])).replace("GUARD", "@%p1").replace("COPY", copy)
    assert not run(body.replace("WHOSE", "%peer"), numbers(16), grid=2, cluster=2)[1].hazards
    for wrong in (body.replace("WHOSE", "%rank"), body.replace("WHOSE", "%peer").replace("[%farmb]", "[%mb]")):
        with pytest.raises(HazardError, match="copies to CTA 0 of the cluster, and names an mbarrier of CTA 1"):
            run(wrong, numbers(16), grid=2, cluster=2)


@pytest.mark.parametrize("value, collide", [("%lane", True), ("%rank", False)])
def test_lanes_that_send_different_values_to_one_place_collide(value, collide):
    body = SENT.replace("BYTES", "128").replace("GUARD", "").replace("COPY", [*COPIES][0].replace("%lane", value))
    hazards = run(body.replace("WHOSE", "%peer"), numbers(1), grid=2, cluster=2, hazards="report")[1].hazards
    assert [hazard.kind for hazard in hazards] == ["collision"] * collide
