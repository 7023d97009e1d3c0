"""Mutations of the planted faults: kernels that race, wait for ever or copy asynchronously, broken further, run or are
refused in one line, and in a time that grows with what they execute."""

import random
import re
import warnings

import pytest
from foreign_faults import FAULTS
from ptx_texts import module
from test_ptx_broken import mutated

import simlayout as sl
from simlayout.errors import AddressError, MachineError, SimlayoutError
from simlayout.machine.hazards.shadow import SharedShadow


@pytest.mark.parametrize("count, seed", [(25, 1), pytest.param(10_000, 3, marks=pytest.mark.sweep)])
def test_a_mutated_fault_runs_or_is_refused_in_one_line(count, seed):
    chance, texts, found = random.Random(seed), {}, {}
    for i in range(count):
        fault, kind = FAULTS[chance.choice(list(FAULTS))], chance.choice(("bad", "good"))
        if (fault.name, kind) not in texts:
            texts[fault.name, kind] = fault.alone(kind)
        text = mutated(texts[fault.name, kind], chance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sl.ptx.load(text + "\n").entry().run(
                    fault.blocks, fault.threads, *fault.arguments(), shared_bytes=fault.shared_bytes, cluster=fault.cluster,
                    limit=2000, hazards=chance.choice(("raise", "report", "off")))
            kind = "ran"
        except SimlayoutError as error:
            kind = type(error).__name__
            assert str(error) and "\n" not in str(error), repr(str(error))
        except Exception as error:
            raise AssertionError(f"mutation {i}: {type(error).__name__}: {error}\n{text}") from error
        found[kind] = found.get(kind, 0) + 1
    assert found["ran"] > count // 20 and found["ParseError"] > count // 10 and len(found) >= 5, found


def test_a_tensor_map_beyond_the_parameters_is_refused():
    fault = FAULTS["box_not_awaited"]
    text = re.sub(r"(mov\.b64\s+%rd\d+, box_not_awaited_good_param_)0", r"\g<1>1", fault.alone("good"))
    with pytest.raises(AddressError, match="a tensor map at byte 128 of 136 bytes of parameters: it has 128"):
        sl.ptx.load(text).entry().run(1, 64, *fault.arguments())


@pytest.mark.parametrize("access", ["ld.volatile.shared.u32 %r1, [%rd1];", "st.volatile.shared.u32 [%rd1], %r2;",
                                    "ld.acquire.gpu.shared.u32 %r1, [%rd1]; nanosleep.u32 %r1;",
                                    "atom.shared.add.u32 %r1, [%rd1], 1;"])
def test_addresses_of_shared_memory_wrap_for_strong_accesses_too(access):
    text = module(f"st.shared.u32 [tile], 1; mov.u64 %rd1, 0x7f0000000000; {access} ret;", before=".shared .b32 tile;")
    assert not sl.ptx.load(text).entry().run(1, 1, hazards="report").hazards


def test_an_endless_loop_of_racing_lanes_is_looked_at_in_a_time_that_grows_with_its_length(monkeypatch):
    compared, compare = [0], SharedShadow._compare

    def counted(self, *arguments):
        compared[0] += 1
        return compare(self, *arguments)

    monkeypatch.setattr(SharedShadow, "_compare", counted)
    text = module("""mov.u32 %r1, tile; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r2, 4, %r1; setp.ne.u32 %p1, %r2, 0;
        st.shared.u32 [%r1], %r2;
        AGAIN: ld.shared.u32 %r3, [tile+4]; ld.shared.u32 %r4, [%r1]; add.u32 %r4, %r4, %r3; st.shared.u32 [%r1], %r4;
        @%p1 bra AGAIN; ret;""", before=".shared .align 4 .b8 tile[256];")
    counts = []
    for limit in (500, 1000):
        compared[0] = 0
        with pytest.raises(MachineError, match=f"executed {limit} instructions"):
            sl.ptx.load(text).entry().run(1, 64, limit=limit, hazards="report")
        counts.append(compared[0])
    assert 200 < counts[0] and counts[1] < 2.5 * counts[0], counts
