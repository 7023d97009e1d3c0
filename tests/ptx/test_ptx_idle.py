"""Loads in lanes that store nothing of what they read take part in no race."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

HEAD = """.reg .b32 %tid, %lane, %word, %more; .reg .b64 %x, %at, %off; .reg .pred %first, %other, %half, %both;
ld.param.u64 %x, [kernel_param_0]; mov.u32 %tid, %tid.x; and.b32 %lane, %tid, 31; mul.wide.u32 %off, %lane, 4;
add.u64 %at, %x, %off; setp.lt.u32 %other, %tid, 64; """
FIRST = "setp.lt.u32 %first, %tid, 32; "
LOAD, ADD, STORE = "ld.global.u32 %word, [%at]; ", "add.u32 %more, %word, 1; ", "@%first st.global.u32 [%at], %more; "
IDLE = {
    "an update in place": FIRST + LOAD + ADD + STORE,
    "by the second warp": FIRST + LOAD + ADD + STORE.replace("@", "@!"),
    "by way of a move under a guard": FIRST + "mov.u32 %word, 3; @%other " + LOAD + ADD + STORE,
    "by half of a warp": FIRST + "setp.lt.u32 %half, %lane, 16; " + LOAD + ADD + "and.pred %both, %half, %first; "
                         + STORE.replace("%first", "%both"),
    "by a predicate that is made later": LOAD + ADD + FIRST.replace("%first", "%half") + "and.pred %first, %half, %other; "
                                         + STORE,
    "in each round under another predicate besides": "mov.u32 %lane, 0;\n" + FIRST + "AGAIN: setp.lt.u32 %half, %lane, 3; "
        + LOAD + ADD + "and.pred %both, %first, %half; " + STORE.replace("%first", "%both")
        + "add.u32 %lane, %lane, 1; @%half bra AGAIN; ",
    "under a guard that is made in two places, always of the same": FIRST + LOAD + ADD
        + "and.pred %both, %first, %other; " + STORE.replace("%first", "%both") + "setp.lt.u32 %half, %lane, 16; "
        + "and.pred %both, %half, %first; " + STORE.replace("%first", "%both"),
    "behind a loop": "mov.u32 %lane, 0;\nAGAIN: add.u32 %lane, %lane, 1; setp.lt.u32 %half, %lane, 3; @%half bra AGAIN; "
                     + FIRST + LOAD + ADD + STORE,
    "in a loop": f"{FIRST}mov.u32 %tid, 0;\nAGAIN: {LOAD}{ADD}{STORE}add.u32 %tid, %tid, 1; setp.lt.u32 %other, %tid, 3; "
                 "@%other bra AGAIN; ",
}
RACES = {
    "stored elsewhere too": FIRST + LOAD + ADD + STORE + "st.global.u32 [%at+256], %more; ",
    "stored under another predicate": FIRST + LOAD + ADD + STORE + "@%other st.global.u32 [%at+256], %more; ",
    "stored under the contrary": FIRST + LOAD + ADD + STORE + "@!%first st.global.u32 [%at+256], %more; ",
    "compared": FIRST + LOAD + ADD + "setp.eq.u32 %other, %more, 5; " + STORE + "@%other st.global.u32 [%at+256], 1; ",
    "an address": FIRST + LOAD + ADD + STORE + "mul.wide.u32 %off, %word, 4; add.u64 %off, %x, %off; @%first st.global.u32 "
                  "[%off+256], 1; ",
    "exchanged": FIRST + LOAD + "shfl.sync.bfly.b32 %word, %word, 1, 31, -1; " + ADD + STORE,
    "a disjunction": FIRST + LOAD + ADD + "or.pred %both, %other, %first; " + STORE.replace("%first", "%both"),
    "what is not both": FIRST + LOAD + ADD + "and.pred %both, %other, %first; " + STORE.replace("@%first", "@!%both")
                        + STORE.replace("%first", "%both"),
    "a predicate that is made later of what is loaded": LOAD + FIRST.replace("%tid", "%word") + ADD + STORE,
    "a predicate that is made behind a branch": LOAD + "@%other bra NEXT;\nNEXT: " + FIRST + ADD + STORE,
    "a predicate that is made twice": FIRST + LOAD + FIRST + ADD + STORE,
    "a predicate that each round makes": f"mov.u32 %lane, 0;\nAGAIN: {FIRST}{LOAD}{ADD}{STORE}add.u32 %lane, %lane, 1; "
                                         "setp.lt.u32 %other, %lane, 3; @%other bra AGAIN; ",
    "under a guard that is made in two places": FIRST + LOAD + ADD + "and.pred %both, %first, %other; "
        + STORE.replace("%first", "%both") + "setp.lt.u32 %both, %tid, 16; " + STORE.replace("%first", "%both"),
    "strong elsewhere": FIRST + LOAD + ADD + STORE + "red.global.add.u32 [%at+256], %word; ",
}


@pytest.mark.parametrize("what", [*IDLE, *RACES])
def test_what_no_lane_stores_of_what_it_reads_does_not_race(what):
    array = np.zeros(128, np.uint32)
    trace = sl.ptx.load(module(HEAD + {**IDLE, **RACES}[what] + "ret;", ["u64"])).entry().run(1, 64, array, hazards="report")
    assert {one.kind for one in trace.hazards} == ({"global race"} if what in RACES else set())
    assert array[:16].all()
