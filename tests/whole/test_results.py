"""Results in a notebook: what a cell shows of each, what repr() says, and that they can be copied and pickled."""

import copy
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from ncu_reports import recorded
from places import ROOT

import cuda_kernels as ck
import simlayout as sl
from cuda_kernels.job import main_job
from simlayout import lessons, ptx, testing
from simlayout.errors import MachineError
from simlayout.hardware import FRAGMENTS, OperandTile, diagnose, instruction_descriptors
from simlayout.kernel import AccessCount
from simlayout.machine.engine.trace import Trace
from simlayout.nsight import compare

TILE = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))


def lanes(tid, k):
    return tid % 16, 16*k + 8*(tid // 16)


LOAD = sl.Access("load", "ldmatrix.x4", TILE, lanes, {"tid": 32, "k": 4})
KERNEL = ck.KERNELS["mma_permuted"]
WAYS = {
    "Access": lambda: LOAD, "Lesson": lambda: lessons.lesson(3), "Measured": lambda: lessons.measured("pairs"),
    "Analysis": LOAD.analyze, "Certificate": lambda: sl.verify(LOAD), "Emitted": lambda: sl.emit(LOAD),
    "Result": lambda: sl.search([LOAD]), "Candidate": lambda: result("Result")[0],
    "Rearrangement": lambda: sl.rearrange(LOAD.restricted(k=1)), "Equivalence": lambda: sl.equivalent(TILE, TILE),
    "Translation": lambda: sl.translate(TILE, "triton"), "Plan": lambda: KERNEL.plan,
    "Prediction": lambda: KERNEL.plan.predict(256, 256, 128), "Plan of wgmma": lambda: ck.KERNELS["wgmma_persistent"].plan,
    "Plan of mma and TMA": lambda: ck.KERNELS["mma_tma"].plan,
    "Trace": lambda: Trace((AccessCount("tile", "ld.shared.b32", 4, 128, 4, file="kernels.py", line=7),)),
    "Search of a tile": lambda: sl.search_plan(KERNEL.plan, ("pad",))[0],
    "Diagnosis": lambda: diagnose(0x4000404000010040, depth=64),
    "Fragment": lambda: sl.fragment("m16n8k16.f32.f16.f16.f32", "A"),
    "Fragment of tcgen05": lambda: sl.fragment("tcgen05.ld.32x32b.x8"),
    "first instruction descriptor": lambda: instruction_descriptors(0x08400010)[0],
    "last instruction descriptor": lambda: instruction_descriptors(0x08400010)[-1],
    "report of ncu": lambda: recorded()["transpose_naive"], "Comparison": lambda: compare(recorded()["transpose_naive"]),
    "Job": lambda: main_job(KERNEL, 256, 128, 32, device="cpu"),
    "choice of an ldmatrix": lambda: sl.choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "A"),
}
"""How a result of each kind is made, once it is asked for: every worker collects the tests of this file."""

KERNELS = {
    "KERNELS": lambda: ck.KERNELS, "Kernel": lambda: KERNEL, "page of the guide": lambda: sl.guide.page("layouts")}
BOUND = {
    "Module": lambda: ptx.load(ROOT / "simlayout" / "guide" / "transpose.ptx"), "Entry": lambda: result("Module").entry()}
OTHERS = {
    "Composed": lambda: TILE, "Plan of one stage": lambda: KERNEL.variant(stages=1).plan,
    "Plan of mma_crosswise": lambda: ck.KERNELS["mma_crosswise"].plan,
    "Plan of warptile": lambda: ck.KERNELS["warptile"].plan,
    "Fragment of wgmma": lambda: sl.fragment("wgmma.m64n64k16.f32.f16.f16", "D")}


@cache
def result(name):
    return (WAYS | KERNELS | BOUND | OTHERS)[name]()


@pytest.mark.parametrize("name", WAYS)
def test_a_cell_shows_the_words_of_a_result_and_no_fields(name):
    shown = pytest.importorskip("IPython.lib.pretty").pretty(result(name))
    assert shown == str(result(name)) and f"{type(result(name)).__name__}(" not in shown and " at 0x" not in shown


def test_a_cell_shows_how_an_instruction_is_served():
    shown = pytest.importorskip("IPython.lib.pretty").pretty(sl.instruction("ldmatrix.x4"))
    assert shown == "ldmatrix.x4: 16 bytes for each address, 4 phases of 8 lanes, 32 banks"


def test_a_page_of_the_guide_shows_as_markdown_and_prints_as_it_is():
    page = sl.guide.page("layouts")
    assert page._repr_markdown_() == str(page) == page.text and repr(page) == "Page(name='layouts')"


@pytest.mark.parametrize("name", [*WAYS, *KERNELS, *BOUND])
def test_repr_is_for_people_too(name):
    assert len(repr(result(name))) < 2200


@pytest.mark.parametrize("name", [*WAYS, *(name for name in KERNELS if name != "KERNELS"), *OTHERS])
def test_results_can_be_copied_and_pickled(name):
    one = result(name)
    for made in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert str(made) == str(one) and type(made) is type(one)
        assert made == one or type(one).__eq__ is object.__eq__                  # arrays: each is itself alone


def test_fragments_and_emitted_functions_do_the_same_after_pickling():
    for one in FRAGMENTS.values():
        again = pickle.loads(pickle.dumps(one))
        assert again == one and (again.coordinates() == one.coordinates()).all()
    assert pickle.loads(pickle.dumps(result("Emitted"))).function(5, 2) == result("Emitted").function(5, 2)


@pytest.mark.parametrize("made", [copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("name", BOUND)
def test_a_module_says_that_it_stays_in_its_process(made, name):
    with pytest.raises(MachineError, match="is bound to the memory of this process: `ptx.load` the text"):
        made(result(name))


def test_a_layout_pads_as_its_text_does_and_a_name_that_is_nearly_right_is_answered_with_it():
    assert f"{TILE:>30}|{TILE.layout:<16}|" == "    Sw<3,3,3> o (16,64):(64,1)|(16,64):(64,1)  |"
    with pytest.raises(AttributeError) as told:
        sl.anaylze                                       # noqa: B018
    assert (told.value.name, told.value.obj) == ("anaylze", sl)      # of which Python makes "Did you mean: 'analyze'?"


def test_errors_of_assertions_and_proofs_keep_their_counterexamples_through_a_pickle():
    with pytest.raises(AssertionError) as failed:
        testing.assert_conflict_free(LOAD.with_tile(sl.Layout((16, 64), (64, 1))))
    with pytest.raises(sl.VerificationError) as refuted:
        sl.verify(LOAD.with_tile(sl.Swizzle(3, 2, 3) @ sl.Layout((16, 64), (64, 1))))
    for error in (failed.value, refuted.value):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) and again.counterexample == error.counterexample


def test_what_went_wrong_in_a_run_stands_below_its_counts():
    hazards = MODULE_WITH_RACE.entry().run(1, 64, hazards="report").hazards
    assert hazards and str(Trace((), hazards=hazards)).splitlines()[-len(hazards):] == list(map(str, hazards))


MODULE_WITH_RACE = ptx.load("""
.version 9.0
.target sm_90
.address_size 64
.entry racy()
{
    .reg .u32 %r<3>;
    .shared .align 4 .b8 tile[4];
    mov.u32 %r1, tile;
    mov.u32 %r2, %tid.x;
    st.shared.u32 [%r1], %r2;
    ret;
}
""")


def test_a_plan_that_has_predicted_can_be_pickled_as_before():
    plan = replace(ck.KERNELS["mma_tma"].plan)
    counts = plan.predict(256, 256, 128)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.predict(256, 256, 128) == counts


@pytest.mark.parametrize("dtype", ["float16", np.float16, np.dtype("float16"), sl.dtype_of("f16")], ids=str)
def test_a_type_is_kept_by_its_name_however_it_was_given(dtype):
    for made in (sl.Access("load", "ldmatrix.x4", TILE, lanes, {"tid": 32, "k": 4}, dtype), OperandTile(128, 64, dtype),
                 sl.TensorMap(dtype, (64, 64), (128,), (64, 64))):
        assert made.dtype == "f16"
