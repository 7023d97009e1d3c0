"""Arrays of shared memory: what leaves the one that it addresses is told, and nothing that stays in it."""

import numpy as np
import pytest
from ptx_texts import module

pytest.importorskip("numba")

import simlayout as sl
import simlayout.machine.ptx.compiled.loop
from simlayout.machine.ptx import running

ARRAYS = (".shared .align 16 .b8 before[128]; .shared .align 16 .b8 _ZZ4kernE4tile[256]; .shared .align 16 .b8 after[128]; "
          ".extern .shared .align 16 .b8 rest[]; .shared .align 16 .b8 of_llvm;")

START = """
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r2, [kernel_param_1];
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, 16;
"""

TILE = "mov.u32 %r3, _ZZ4kernE4tile; add.u32 %r4, %r3, %r2;"

ADDRESSES = {
    "a sum": TILE,
    "a sum with an offset": TILE + "add.u32 %r4, %r4, -32; add.u32 %r4, %r4, 32;",
    "a product and a sum": "mov.u32 %r3, _ZZ4kernE4tile; shr.s32 %r5, %r2, 2; mad.lo.u32 %r4, %r5, 4, %r3;",
    "a number that was loaded": TILE + "ld.global.u32 %r5, [%rd1]; add.u32 %r4, %r4, %r5;",
    "a part of a swizzle": TILE + "shr.u32 %r5, %r4, 31; and.b32 %r6, %r4, 0; xor.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6;",
    "a loop": "mov.u32 %r4, _ZZ4kernE4tile; mov.u32 %r5, 0; NEXT: add.u32 %r4, %r4, %r2; add.u32 %r5, %r5, 1; "
              "setp.lt.u32 %p2, %r5, 1; @%p2 bra NEXT;",
    "one of two": "mov.u32 %r3, _ZZ4kernE4tile; add.u32 %r5, %r3, 0; selp.b32 %r4, %r3, %r5, %p1; add.u32 %r4, %r4, %r2;",
    "lines that are cut off": TILE + "and.b32 %r4, %r4, -4;",
    "a shuffle": TILE + "shfl.sync.idx.b32 %r4, %r4, 0, 31, -1;",
}

ACCESSES = {
    "ld": ("ld.shared.u32 %r7, [%r4]; nanosleep.u32 %r7;", 4),
    "st": ("st.shared.u32 [%r4], %r1;", 4),
    "a strong ld": ("ld.volatile.shared.u32 %r7, [%r4];", 4),
    "a strong st": ("st.release.gpu.shared.u32 [%r4], %r1;", 4),
    "a vector": ("ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4]; add.u32 %r5, %r5, %r8; st.shared.u32 [before], %r5;", 16),
    "a generic address": ("cvt.u64.u32 %rd2, %r4; cvta.shared.u64 %rd3, %rd2; ld.u32 %r7, [%rd3]; nanosleep.u32 %r7;", 4),
    "atom": ("atom.shared.add.u32 %r7, [%r4], 1;", 4),
    "red": ("red.shared.max.u32 [%r4], 1;", 4),
    "cp.async": ("cp.async.ca.shared.global [%r4], [%rd1], 4; cp.async.wait_all;", 4),
    "ldmatrix": ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r4]; nanosleep.u32 %r7;", 16),
    "stmatrix": ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r1};", 16),
}


def entry(code, addresses=TILE, before=ARRAYS):
    filled = "".join(f"@!%p1 st.shared.v4.u32 [%r8+{at}], {{%r1, %r1, %r1, %r1}};" for at in (0, 256))
    used = "mov.u32 %r8, before; mov.u32 %r8, _ZZ4kernE4tile; mov.u32 %r8, after;"           # so they lie in this order
    fill = f"{used} mul.lo.u32 %r8, %r1, 16; {filled} bar.sync 0;"
    text = module((START + fill + addresses + code + "ret;").replace("; ", ";\n"), ("u64", "u32"), before=before)
    return sl.ptx.load(text).entry()


def told(made, at, **how):
    """The texts of "out of bounds" of a run in which %r4 is `at` bytes behind the start of the tile."""
    trace = made.run(1, 32, np.zeros(64, np.uint32), at % 2**32, hazards="report", shared_bytes=64, **how)
    return [hazard.text for hazard in trace.hazards if hazard.kind == "out of bounds"]


@pytest.mark.parametrize("access", ACCESSES)
def test_an_access_that_leaves_its_array_for_the_next_one_is_told_and_none_within(access):
    code, nbytes = ACCESSES[access]
    made = entry(code)
    for at in range(-2 * nbytes, 256 + nbytes + 1, nbytes):
        found = told(made, at)
        assert len(found) == (not 0 <= at <= 256 - nbytes), (at, found)
        said = f"bytes {at} to {at + nbytes - 1} of the shared array tile, outside its 256 bytes"
        assert all(said in text for text in found)


WMMA = {
    "load": "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%r5, %r6}, [%r4], 16; nanosleep.u32 %r6;",
    "store": "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r4], {%r1, %r1, %r1, %r1}, 16;",
}


@pytest.mark.parametrize("name", WMMA)
def test_a_matrix_of_wmma_that_leaves_its_array_is_told_as_well(name):
    nbytes = 256 if name == "load" else 512
    made = entry(WMMA[name], before=ARRAYS.replace("tile[256]", f"tile[{nbytes}]").replace("after[128]", "after[640]"))
    assert [bool(told(made, at)) for at in (-32, 0, 32, nbytes)] == [True, False, True, True]


BULK = {
    "to shared memory": "fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 64; "
                        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 64, [%r8];"
                        "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0; @!%p3 bra WAIT;",
    "to global memory": "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r4], 64; cp.async.bulk.commit_group; "
                        "cp.async.bulk.wait_group 0;",
}


@pytest.mark.parametrize("copy", BULK.values(), ids=BULK)
def test_a_bulk_copy_that_leaves_its_array_is_told_as_well(copy):
    alone = "setp.ne.u32 %p2, %r1, 0; @%p2 bra END; mov.u32 %r8, arrived; mbarrier.init.shared.b64 [%r8], 1;"
    made = entry(alone + copy + " END: ", before=ARRAYS + ".shared .align 8 .b8 arrived[8];")
    for at in (-64, -16, 0, 192, 208, 256):
        verb = "writes" if "cluster" in copy else "reads"
        said = [f"{verb} bytes {at} to {at + 63} of the shared array tile, outside its 256 bytes"] * (not 0 <= at <= 192)
        found = told(made, at)
        assert len(found) == len(said) and all(text in one for text, one in zip(said, found))


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_of_the_array_whose_symbol_it_is_a_sum_of(address):
    made = entry("st.shared.u32 [%r4], %r1;", ADDRESSES[address])
    assert [len(told(made, at)) for at in (-4, 0, 252, 256)] == [1, 0, 0, 1]


UNKNOWN = {
    "may be of either array": "mov.u32 %r3, before; mov.u32 %r5, after; selp.b32 %r3, %r3, %r5, %p1; "
                              "@!%p1 mov.u32 %r2, 0; add.u32 %r4, %r3, %r2;",
    "may be a number": "mov.u32 %r3, before; ld.global.u32 %r5, [%rd1]; selp.b32 %r3, %r3, %r5, %p1; add.u32 %r4, %r3, %r2;",
    "is of dynamic memory": "mov.u32 %r3, rest; add.u32 %r4, %r3, %r2; sub.u32 %r4, %r4, 256;",
    "is of an array without a length, which LLVM writes as one byte":
        "mov.u32 %r3, of_llvm; add.u32 %r4, %r3, %r2; sub.u32 %r4, %r4, 112;",
    "is the distance of two arrays away": "mov.u32 %r3, before; mov.u32 %r5, after; sub.u32 %r6, %r5, %r3; "
                                          "add.u32 %r4, %r3, %r6; add.u32 %r4, %r4, %r2; sub.u32 %r4, %r4, 128;",
}


@pytest.mark.parametrize("address", UNKNOWN)
def test_nothing_is_told_of_an_address_that(address):
    assert not told(entry("st.shared.u32 [%r4], %r1;", UNKNOWN[address]), 128)


def test_elements_of_a_vector_that_nothing_reads_may_lie_beyond_the_array():
    some = "ld.shared.v4.u32 {%r5, %r6, %r8, %r7}, [%r4]; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r8; "
    arrays = ARRAYS.replace("tile[256]", "tile[252]")
    made = entry(some + "st.shared.u32 [before], %r5;", before=arrays)
    assert [len(told(made, at)) for at in (-16, 240, 256)] == [1, 0, 1]
    made = entry(some + "add.u32 %r5, %r5, %r7; st.shared.u32 [before], %r5;", before=arrays)
    assert [len(told(made, at)) for at in (224, 240)] == [0, 1]


def test_what_leaves_an_array_is_done_all_the_same_and_is_not_told_where_nobody_looks():
    made, out = entry("ld.shared.u32 %r7, [%r4]; st.global.u32 [%rd1], %r7;"), np.zeros(64, np.uint32)
    for how in ("off", "report"):
        made.run(1, 32, out, 256, hazards=how, shared_bytes=64)
        assert out[0] == 8                               # thread 8 filled the first 16 bytes of `after`
    with pytest.raises(sl.HazardError, match="out of bounds: .*shared array tile"):
        made.run(1, 32, out, 256, shared_bytes=64)


@pytest.mark.parametrize(("at", "kind"), [(2, "misaligned"), (1 << 20, "out of bounds"), (-1024, "out of bounds")])
@pytest.mark.parametrize("access", ["ld", "st", "a strong ld", "a strong st", "atom", "a generic address", "cp.async"])
def test_lanes_that_shared_memory_does_not_have_or_that_are_not_aligned_are_told_and_left_out(access, at, kind):
    code = f"@%p1 add.u32 %r4, %r4, {at}; {ACCESSES[access][0]} st.global.u32 [%rd1], %r1;"
    out = np.zeros(64, np.uint32)
    trace = entry(code).run(1, 32, out, 0, hazards="report", shared_bytes=64)
    found = [h for h in trace.hazards if "race" not in h.kind and h.kind != "collision"]
    assert [(h.kind, h.second.lanes) for h in found] == [(kind, tuple(range(16, 32)))]
    with pytest.raises(sl.HazardError, match=kind):
        entry(code).run(1, 32, out, 0, shared_bytes=64)


def test_a_copy_from_where_it_is_not_aligned_is_told_with_its_lanes_and_left_out():
    code = "mul.lo.u32 %r7, %r1, 4; add.u32 %r4, %r4, %r7; @%p1 add.u32 %r7, %r7, 1; cvt.u64.u32 %rd2, %r7; "
    code += "add.s64 %rd1, %rd1, %rd2; " + ACCESSES["cp.async"][0]
    trace = entry(code).run(1, 32, np.zeros(64, np.uint32), 0, hazards="report", shared_bytes=64)
    found, = trace.hazards
    assert (found.kind, found.second.lanes) == ("misaligned", tuple(range(16, 32)))
    assert [line.wavefronts for line in trace.lines if "cp.async" in line.instruction] == [1]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("access", ["ld", "st", "a vector"])
def test_the_compiled_loop_tells_as_much(access, compiled, monkeypatch):
    monkeypatch.setattr(running, "WARMTH", 0 if compiled else 1 << 60)
    monkeypatch.setattr(running, "LOOP", "simlayout.machine.ptx.compiled.loop" if compiled else "nowhere")
    code, nbytes = ACCESSES[access]
    made = entry(code)
    assert [len(told(made, at)) for at in (-nbytes, 0, 256 - nbytes, 256)] == [1, 0, 0, 1]
