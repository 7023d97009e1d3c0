"""Copies and mbarriers in PTX: what they bring, when it is there, and what is told of programs that do not wait."""

import numpy as np
import pytest
from ptx_copies import FETCH, HEAD, INIT, WAIT, entry, numbers, run
from ptx_texts import module

import simlayout as sl
from simlayout import ptx
from simlayout.errors import HazardError, MachineError, SimlayoutError

# ---- cp.async --------------------------------------------------------------------------------------------------------

SIXTEEN = "mul.wide.u32 %off, %lane, 16; add.s64 %from, %from, %off; mad.lo.u32 %word, %lane, 16, %at;"
COPY = SIXTEEN + "cp.async.cg.shared.global [%word], [%from], 16"


@pytest.mark.parametrize(("operands", "kept"), [("", 4), (", 16", 4), (", 8", 2), (", 0", 0), (", 5", 1.25)])
def test_cp_async_copies_its_source_size_and_zeros(operands, kept):
    source = numbers(128)
    out, trace = run(f"{COPY}{operands}; cp.async.commit_group; cp.async.wait_group 0; bar.warp.sync -1; "
                     "mad.lo.u32 %at, %lane, 12, %at; " + FETCH, source)
    wanted = source.reshape(32, 4).view(np.uint8).copy()
    wanted[:, int(4 * kept):] = 0
    assert out.tolist() == wanted.view(np.uint32)[:, 0].tolist()
    assert [c.instruction for c in trace.lines][0] == "cp.async.cg.16"


def test_lanes_whose_source_is_ignored_copy_zeros_and_read_nothing():
    body = ("setp.gt.u32 %p3, %lane, 15;" + COPY + ", %p3; cp.async.wait_all; bar.warp.sync -1; mad.lo.u32 %at, %lane, 12, "
            "%at;" + FETCH)
    out, _ = run(body, numbers(64))                      # of 64 words lanes 16 and above would read beyond the end
    assert out.tolist() == [1 + 4 * i for i in range(16)] + [0] * 16


def test_a_cache_hint_is_no_source_size():
    body = COPY.replace(".global ", ".global.L2::cache_hint ") + ", %off; cp.async.wait_all; bar.warp.sync -1;" + FETCH
    assert run(body, numbers(128))[0].tolist() == numbers(32).tolist()


def test_what_a_wait_does_not_cover_is_read_too_early():
    for pending in (1, 2):
        with pytest.raises(HazardError, match="early read"):
            run(f"{COPY}; cp.async.commit_group; cp.async.wait_group {pending}; bar.warp.sync -1;" + FETCH, numbers(128))


@pytest.mark.parametrize("size", ["12", "8"])
def test_a_size_that_cp_async_lacks_is_refused(size):
    with pytest.raises(SimlayoutError, match=f"{size} bytes: .ca takes 4, 8 or 16, .cg takes 16"):
        entry(f"cp.async.cg.shared.global [%at], [%from], {size};").run(1, 32, numbers(4), numbers(4))


def test_a_copy_beyond_its_array_is_told():
    with pytest.raises(HazardError, match="out of bounds: cp.async.* lanes 16-31 .* reads 16 bytes"):
        run(COPY + "; cp.async.wait_all;", numbers(64))


@pytest.mark.parametrize(("noinc", "count"), [("", 1), (".noinc", 33)])
def test_copies_arrive_on_an_mbarrier_and_are_there_behind_its_phase(noinc, count):
    body = (INIT.replace("], 1", f"], {count}") + f"{COPY}; cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [%mb];"
            "bar.warp.sync -1; @%p1 mbarrier.arrive.shared::cta.b64 _, [%mb];" + WAIT.format(n=1, parity=0) + FETCH)
    assert run(body, numbers(128))[0].tolist() == numbers(32).tolist()
    with pytest.raises(HazardError, match="early read"):
        run(body.replace(WAIT.format(n=1, parity=0), ""), numbers(128))


# ---- mbarriers -------------------------------------------------------------------------------------------------------


def test_an_arrival_returns_the_state_with_which_its_phase_is_awaited():
    body = INIT.replace("], 1", "], 34") + """
@%p1 mbarrier.arrive.shared::cta.b64 %next, [%mb], 2;
bar.warp.sync -1;
mbarrier.arrive.shared::cta.b64 %token, [%mb];
mbarrier.pending_count.b64 %word, %token;
st.global.b32 [%to], %word;
AGAIN: mbarrier.test_wait.shared::cta.b64 %p2, [%mb], %token;
@!%p2 bra AGAIN;
selp.u32 %word, 1, 0, %p2;
st.global.b32 [%to+128], %word;
"""
    out, _ = run(body, numbers(1), 64)
    assert out[:32].tolist() == list(range(32, 0, -1)) and out[32:].tolist() == [1] * 32


def test_a_test_of_a_phase_that_never_comes_gives_false_at_last_and_the_warp_goes_on():
    body = INIT + ("mbarrier.test_wait.parity.shared::cta.b64 %p2, [%mb], 0; selp.u32 %word, 1, 2, %p2;"
                   "st.global.b32 [%to], %word;")
    assert run(body, numbers(1))[0].tolist() == [2] * 32
    endless = INIT + WAIT.format(n=1, parity=0).replace("try_wait", "test_wait")
    with pytest.raises(HazardError, match="deadlock .* lacks 1 of 1 arrivals"):
        run(endless, numbers(1))
    with pytest.raises(HazardError, match="deadlock"):
        run(INIT + WAIT.format(n=1, parity=0), numbers(1))


def test_an_arrival_that_drops_makes_later_phases_take_one_fewer():
    body = INIT.replace("], 1", "], 2") + """
@%p1 mbarrier.arrive_drop.shared::cta.b64 %token, [%mb];
@%p1 mbarrier.arrive.shared::cta.b64 %token, [%mb];
""" + WAIT.format(n=1, parity=0) + "@%p1 mbarrier.arrive.shared::cta.b64 %token, [%mb];" + WAIT.format(n=2, parity=1) + """
st.global.b32 [%to], 7;
"""
    assert run(body, numbers(1))[0].tolist() == [7] * 32


def test_announced_bytes_hold_a_phase_until_they_are_completed():
    body = INIT + """
@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%mb], 64;
@%p1 mbarrier.arrive.shared::cta.b64 %token, [%mb];
mbarrier.test_wait.parity.shared::cta.b64 %p2, [%mb], 0;
selp.u32 %word, 1, 0, %p2;
@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%mb], 64;
""" + WAIT.format(n=1, parity=0) + "st.global.b32 [%to], %word;"
    assert run(body, numbers(1))[0].tolist() == [0] * 32


def test_the_last_arrival_may_not_promise_that_it_completes_nothing():
    with pytest.raises(MachineError, match="says .noComplete .*leave it out"):
        run(INIT + "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 %token, [%mb], 1;", numbers(1))


def test_what_was_an_mbarrier_is_memory_again():
    again = "@%p1 st.shared.b64 [%mb], %from; bar.sync 0; @%p1 mbarrier.arrive.shared::cta.b64 %token, [%mb];"
    with pytest.raises(HazardError, match="no mbarrier at shared address 2048"):
        run(INIT + "@%p1 mbarrier.inval.shared::cta.b64 [%mb]; bar.sync 0;" + again, numbers(1))
    with pytest.raises(HazardError, match="bytes st.shared.b64 of warp 0 .* has written since its init"):
        run(INIT + again, numbers(1))


ENDED = """
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [flags], 64; bar.sync 0;
mbarrier.arrive.shared.b64 _, [flags];
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [flags], 0; @!%p2 bra WAIT;
{between}
@%p1 {ends}
ret;
"""


@pytest.mark.parametrize("ends", ["mbarrier.inval.shared.b64 [flags];", "mbarrier.init.shared.b64 [flags], 64;"])
@pytest.mark.parametrize("between, told", [("", True), ("bar.sync 0;", False), ("bar.warp.sync -1;", True), (
    "setp.ge.u32 %p3, %r1, 32; @%p3 bra OUT; bar.sync 1, 64; bra ON; OUT: bar.arrive 1, 64; ON:", False)])
def test_an_mbarrier_ends_when_no_other_warp_may_still_wait_at_it(ends, between, told):
    text = module(ENDED.format(ends=ends, between=between).replace("; ", ";\n"), before=".shared .align 8 .b8 flags[8];")
    hazards = sl.ptx.load(text).entry().run(1, 64, hazards="report").hazards
    assert [h.kind for h in hazards] == ["bad mbarrier"] * told
    assert all("ends mbarrier flags, which 1 other warp may still use" in h.text for h in hazards)


def test_who_waits_at_an_mbarrier_that_nobody_has_initialised_goes_on_where_hazards_are_reported():
    without = INIT.split(";", 1)[1] + "@%p1 mbarrier.arrive.shared::cta.b64 _, [%mb];"
    left = without + "\n" + WAIT.format(n=1, parity=0) + "st.global.b32 [%to], 7;"
    out, trace = run(left, numbers(1), hazards="report")
    assert out.tolist() == [7] * 32 and [h.kind for h in trace.hazards] == ["bad mbarrier"] * 2
    assert [h.second.instruction for h in trace.hazards] == ["mbarrier.arrive", "mbarrier.try_wait.parity"]


# ---- bulk copies -----------------------------------------------------------------------------------------------------

BULK = INIT + """
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], 128;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%from], 128, [%mb];
"""


def test_a_bulk_copy_is_there_behind_its_phase_and_not_before():
    assert run(BULK + WAIT.format(n=1, parity=0) + FETCH, numbers(32))[0].tolist() == numbers(32).tolist()
    with pytest.raises(HazardError, match="early read"):
        run(BULK + FETCH, numbers(32))


@pytest.mark.parametrize(("reduction", "wanted"), [("", 5), (".add.u32", 12), (".min.u32", 5), (".or.b32", 7)])
def test_bulk_stores_and_reductions_reach_global_memory(reduction, wanted):
    opcode = "cp.reduce.async.bulk" if reduction else "cp.async.bulk"
    body = f"""mad.lo.u32 %out, %lane, 4, %at; st.shared.b32 [%out], 5;
fence.proxy.async.shared::cta; bar.sync 0;
@%p1 {opcode}.global.shared::cta.bulk_group{reduction} [%from], [%at], 128;
@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"""
    target = np.full(32, 7, np.uint32)
    entry(body).run(1, 32, target, np.zeros(32, np.uint32))
    assert target.tolist() == [wanted] * 32
    with pytest.raises(HazardError, match="early exit"):
        entry(body.replace("@%p1 cp.async.bulk.wait_group 0;", "")).run(1, 32, target, np.zeros(32, np.uint32))


EACH = """mad.lo.u32 %out, %lane, 16, %at;
st.shared.v4.b32 [%out], {%lane, %lane, %lane, %lane};
fence.proxy.async.shared::cta; bar.sync 0;
"""
OVER = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"


def test_a_store_by_a_whole_warp_with_the_same_operands_is_one_copy_and_a_reduction_one_for_each_lane():
    target = np.zeros(128, np.uint32)
    store = EACH + "cp.async.bulk.global.shared::cta.bulk_group [%from], [%at], 512;" + OVER
    assert not entry(store).run(1, 32, target, np.zeros(32, np.uint32)).hazards
    assert target.tolist() == [lane for lane in range(32) for _ in range(4)]
    add = EACH + "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%from], [%at], 512;" + OVER
    entry(add).run(1, 32, target, np.zeros(32, np.uint32))
    assert target.tolist() == [33 * lane for lane in range(32) for _ in range(4)]


def test_stores_by_lanes_with_operands_of_their_own_are_all_done_and_race_where_they_meet():
    own = EACH + "mul.wide.u32 %to, %lane, 16; add.u64 %to, %to, %from;"
    own += "cp.async.bulk.global.shared::cta.bulk_group [%to], [%out], 16;" + OVER
    target = np.zeros(128, np.uint32)
    entry(own).run(1, 32, target, np.zeros(32, np.uint32))
    assert target.tolist() == [lane for lane in range(32) for _ in range(4)]
    with pytest.raises(HazardError, match="global race"):
        entry(own.replace("[%to], [%out]", "[%from], [%out]")).run(1, 32, target, np.zeros(32, np.uint32))


@pytest.mark.parametrize(("value", "kinds"), [("mov.u32 %word, 7;", []), ("mov.u32 %word, %wide;", ["global race"])])
def test_bulk_stores_of_two_warps_that_store_the_same_are_a_note_and_others_race(value, kinds):
    body = f""".reg .b32 %wide; mov.u32 %wide, %tid.x; shr.u32 %wide, %wide, 5; and.b32 %lane, %lane, 31; {value}
    mad.lo.u32 %at, %wide, 512, %at; mad.lo.u32 %out, %lane, 16, %at;
    st.shared.v4.b32 [%out], {{%word, %word, %word, %word}};
    fence.proxy.async.shared::cta; bar.sync 0;
    cp.async.bulk.global.shared::cta.bulk_group [%from], [%at], 512;""" + OVER
    trace = entry(body).run(1, 64, np.zeros(128, np.uint32), np.zeros(64, np.uint32), hazards="report")
    assert [one.kind for one in trace.hazards] == kinds
    assert ["of the value that another thread stores there too" in note for note in trace.notes] == [True] * (not kinds)


def test_who_reads_what_two_bulk_stores_of_the_same_have_left_comes_after_both():
    body = """.reg .b32 %wide; mov.u32 %wide, %tid.x; shr.u32 %wide, %wide, 5; and.b32 %lane, %lane, 31;
    mad.lo.u32 %at, %wide, 512, %at; mad.lo.u32 %out, %lane, 16, %at; st.shared.v4.b32 [%out], {7, 7, 7, 7};
    fence.proxy.async.shared::cta; bar.sync 0;
    cp.async.bulk.global.shared::cta.bulk_group [%from], [%at], 512;""" + OVER + """
    setp.eq.u32 %p2, %wide, WARP; @%p2 bra ENDS; bar.sync BAR;
    ld.global.u32 %word, [%from]; st.global.u32 [%to], %word; ENDS:"""
    both = body.replace("@%p2 bra ENDS; bar.sync BAR;", "bar.sync 0; @%p2 bra ENDS;").replace("WARP", "0")
    out = np.zeros(64, np.uint32)
    entry(both).run(1, 64, np.zeros(128, np.uint32), out)
    assert out.tolist() == [0] * 32 + [7] * 32
    for warp in (0, 1):                                  # a warp that has met the other one nowhere since its store
        alone = body.replace("bar.sync BAR;", "bar.warp.sync -1;").replace("WARP", str(warp))
        with pytest.raises(HazardError, match="global race"):
            entry(alone).run(1, 64, np.zeros(128, np.uint32), np.zeros(64, np.uint32))


def test_only_the_first_lane_waits_for_the_one_copy_of_a_warp():
    store = EACH + "cp.async.bulk.global.shared::cta.bulk_group [%from], [%at], 512; cp.async.bulk.commit_group;"
    wait = "setp.{} %p1, %lane, 0; @%p1 cp.async.bulk.wait_group 0;"
    entry(store + wait.format("eq.u32")).run(1, 32, np.zeros(128, np.uint32), np.zeros(32, np.uint32))
    with pytest.raises(HazardError, match="early exit"):
        entry(store + wait.format("ne.u32")).run(1, 32, np.zeros(128, np.uint32), np.zeros(32, np.uint32))


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_boxes_of_every_rank_come_and_go(rank):
    box, shape = (8, 2, 2, 1, 2)[:rank], (3, 2, 4, 5, 16)[-rank:]
    source, target = np.arange(np.prod(shape), dtype=np.float32).reshape(shape), np.zeros(shape, np.float32)
    at = (8, 1, 2, 1, 0)[:rank]
    maps = [sl.TensorMap.of(array, box, swizzle=0) for array in (source, target)]
    where = "{" + ", ".join(map(str, at)) + "}"
    body = INIT + f"""
mov.b64 %from, kernel_param_0; cvta.param.u64 %from, %from;
mov.b64 %to, kernel_param_1; cvta.param.u64 %to, %to;
prefetch.tensormap [%from];
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], {maps[0].box_bytes};
@%p1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at], [%from, {where}], [%mb];
""" + WAIT.format(n=1, parity=0) + f"""
@%p1 cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%to, {where}], [%at];
@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"""
    parameters = [f".param .align 64 .b8 kernel_param_{i}[128]" for i in range(2)]
    text = module(HEAD.replace("ld.param.u64", "//") + body + "\nret;", parameters)
    ptx.load(text).entry().run(1, 32, *maps)
    inside = tuple(slice(a, a + n) for a, n in zip(at[::-1], box[::-1]))
    assert (target[inside] == source[inside]).all() and np.count_nonzero(target) == np.count_nonzero(source[inside])


def test_bytes_that_are_no_tensor_map_are_refused_by_name():
    body = INIT + ("@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at], "
                   "[%from, {0}], [%mb];")
    with pytest.raises(MachineError, match="no tensor map that was passed: pass a simlayout.TensorMap"):
        run(body, np.zeros(128, np.uint8))


def test_a_tensor_map_comes_in_a_struct_and_in_global_memory_too():
    source = np.arange(256, dtype=np.float32).reshape(8, 32)
    tensor = sl.TensorMap.of(source, (32, 1), swizzle=0)
    load = INIT + """
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%mb], 128;
@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at], [%from, {0, 3}], [%mb];
""" + WAIT.format(n=1, parity=0) + FETCH
    out = np.zeros(32, np.float32)
    entry(load).run(1, 32, tensor, out)
    assert (out == source[3]).all()
    inside = "mov.b64 %from, kernel_param_0; cvta.param.u64 %from, %from; add.s64 %from, %from, 64;"
    head = HEAD.replace("ld.param.u64 %from, [kernel_param_0];", inside)
    struct = module(head + load + "\nret;", [".param .align 64 .b8 kernel_param_0[192]", "u64"])
    out[:] = 0
    ptx.load(struct).entry().run(1, 32, [np.int32(5), tensor], out)
    assert (out == source[3]).all()
    with pytest.raises(MachineError, match="128 bytes are given, and the struct has 192"):
        ptx.load(struct).entry().run(1, 32, tensor, out)
