"""What a newcomer gives by mistake: public functions say what they take instead, and how to make it."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import cuda_kernels
import simlayout as sl
import simlayout.testing
from simlayout.plots import close

pytest.importorskip("matplotlib")

LAYOUT = sl.Layout((16, 64), (64, 1))
STRANGERS = [5, "x", None, object(), LAYOUT, [1], 2.5, np.zeros(3)]
OF_SEVERAL = {"ladder", "lost_by_depth", "order", "share_by_size", "share_by_waves", "sheet_of", "sheets", "timeline",
              "tma_timeline", "together", "smallest"}
"""Functions of a list, a callable or a strategy: what is none Python itself says."""

FUNCTIONS = {f"{package.__name__}.{name}": getattr(package, name) for package in (sl, sl.plots, simlayout.testing)
             for name in package.__all__ if inspect.isfunction(getattr(package, name)) and name not in OF_SEVERAL}


@pytest.mark.filterwarnings("ignore:More than 20 figures")
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_takes_what_it_is_given_or_refuses_it_in_one_line_of_its_own(function):
    every = inspect.signature(function).parameters.values()
    needed = [p for p in every if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in every if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    for stranger in STRANGERS if needed else ():
        if function is sl.translate and isinstance(stranger, np.ndarray):
            continue                                         # NumPy's own refusal of == comes first
        try:
            function(*[stranger] * len(needed), **dict.fromkeys(named, stranger))
        except (sl.SimlayoutError, AssertionError):
            pass
    close("all")


@pytest.mark.parametrize("call, says", [
    (lambda: sl.plots.access(LAYOUT), "access takes an Access, not Layout: say which coordinate each lane gives"),
    (lambda: sl.plots.banks(LAYOUT), r"banks takes an Analysis, not Layout: analyze\(instruction, addresses\) makes one"),
    (lambda: sl.plots.fragment("m16n8k16.f32.f16.f16.f32"), r"a Fragment, not str: fragment\(name, operand\) makes one"),
    (lambda: sl.plots.plan("mma_base"), "a Plan, not str: a kernel of cuda_kernels.KERNELS"),
    (lambda: sl.coalesce("(16,64)"), r"a Layout, not str: write Layout\(shape, strides\), or parse\(text\)"),
    (lambda: simlayout.testing.assert_no_conflicts(LAYOUT), r"a Trace, not Layout: simulate\(kernel\)"),
    (lambda: sl.Layout("(16,64):(64,1)"), r"parse\(...\) reads the text"),
    (lambda: sl.Tile(5, (4, 4)), r"a function \(row, col\) -> offset, not 5"),
    (lambda: sl.TensorMap("f16", 64, (), 64), "give a tuple of integers"),
    (lambda: sl.analyze("ld.shared.b32", LAYOUT), r"not a function: Access\(.*\).analyze\(\)"),
    (lambda: sl.analyze("ld.shared.b32", []), r"shape \(0,\)"),
    (lambda: sl.analyze("ld.shared.b32", np.full(32, 2**63, np.uint64)), "address 9223372036854775808 is out of range"),
    (lambda: sl.search([sl.Access("a", "ldmatrix.x4", LAYOUT)], families=()), r"families \(\): choose from swizzle"),
    (lambda: sl.search([sl.Access("a", "ldmatrix.x4", LAYOUT)], ("swizzel",)), r"tma \(did you mean swizzle\?\)"),
    (lambda: sl.search([sl.Access("a", "ldmatrix.x4", LAYOUT)], layers=3), "layers 3: 1 swizzle, or 2"),
    (lambda: sl.fragment("m16n8k16.f32.f16.f16.f32"), "a fragment for each operand: name one of A, B, C, D"),
    (lambda: sl.search([sl.Access("a", "ldmatrix.x4", LAYOUT)], executor=5), "executor = 5: give one of concurrent.futures"),
    (lambda: sl.Access("a", "ldmatrix.x4", LAYOUT, domain={"tid": 32.0}), "tid is 32.0; give an int, how many values"),
    (lambda: sl.machine.run(lambda: None, 1, 32, shared_bytes="a"), "shared_bytes is an integer, not 'a'"),
    (lambda: sl.mma("m16n8k16", 1, 2), "did you mean m16n8k16.f32.f16.f16.f32"),
    (lambda: sl.fragment("m64n16k16", "D"), "'wgmma.m64n16k16'; did you mean wgmma.m64n16k16.f"),
    (lambda: sl.fragment("wmma.m16n16k16.f32.f16.f16.f32", "A"), "did you mean wmma.m16n16k16.f16.row"),
    (lambda: cuda_kernels.KERNELS["mma_permute"], r"unknown kernel 'mma_permute' \(did you mean mma_permuted\?\); known:"),
    (lambda: cuda_kernels.KERNELS[["mma_base"]], r"unknown kernel \['mma_base'\] .*; known: mma_base, mma_padded"),
    (lambda: (sl.Swizzle(3, 3, 3) @ LAYOUT)[3, 4], r"has no modes to be taken by \[...\]; .* is a call, as in tile\(3, 4\)"),
    (lambda: list(sl.Swizzle(3, 3, 3)), r"Sw<3,3,3> has no modes .* is a call, as in tile\(3, 4\)"),
    (lambda: sl.tile("__shared__ half k[64][136];"), r"'\(64,136\):\(136,1\)'; if only 128 .*'\(64,128\):\(136,1\)'"),
    (lambda: sl.lessons.check(1.1, 5), "exercise is a text, not 1.1"),
    (lambda: sl.proofs.digest([0.5]), "offsets are float64; give integers"),
    (lambda: sl.equivalent(LAYOUT, "row*64 + col"), r"formula\(text\) reads a formula, and tile\(text, domain\) one"),
    (lambda: sl.translate("vec = 8, perPhase = 1, maxPhase = 8", "cute"), r"tile\(text, domain\) reads TMA's modes and Tr"),
    (lambda: sl.verify("SWIZZLE_128B for row<64, col<64"), r"tile\(text, domain\) reads TMA's modes"),
    (lambda: sl.Access("a", "ldmatrix.x4", LAYOUT, "tid"), r"its lanes are a function .* lambda tid, k: .*, not 'tid'"),
    (lambda: sl.Access("a", "ldmatrix.x4", [1, 2]), r"its tile is a layout, its text, or a function .*, not \[1, 2\]"),
    (lambda: sl.Access("a", "ldmatrix.x4", LAYOUT).analyze(), r"is misaligned.*; access 'a' has no lanes, .*: give"),
    (lambda: sl.Access("a", "ldmatrix.x4", LAYOUT).restricted(k=1), "access 'a' has no k in its domain, which has tid"),
    (lambda: sl.analyze("ld.shared.b32", [2**70] * 32), "address 1180591620717411303424 is out of range"),
    (lambda: sl.analyze("ld.shared.b32", [0] * 31 + [None]), "so integers, not None"),
    (lambda: sl.plots.save(sl.Layout((4, 4)).plot(), 5), "name a file that ends in .svg or .png"),
])
def test_a_typical_mistake_is_answered_by_what_to_write(call, says):
    with pytest.raises(sl.SimlayoutError, match=says):
        call()
    close("all")


def test_the_name_of_a_product_may_be_written_as_in_ptx():
    a = np.ones((16, 16), np.float16)
    assert (sl.mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, a[:, :8]) == 16).all()


def test_what_is_emitted_prints_as_its_source():
    made = sl.emit(sl.Access("a", "ld.shared.b32", sl.Layout((32, 32), (33, 1)), lambda tid: (tid, 0), dtype="f32"))
    assert str(made) == made.source


def test_one_wavefront_too_many_is_said_in_the_singular():
    padded = sl.Layout((2, 128), (136, 1))
    copy = sl.Access("copy", "cp.async.cg.16", padded, lambda tid: (tid // 16, tid % 16 * 8))
    with pytest.raises(sl.VerificationError, match="1 excess wavefront per cp.async.cg.16"):
        sl.verify(copy)


def test_strides_that_look_like_bytes_are_told_as_such():
    tile = sl.Layout((16, 64), (128, 2))
    with pytest.raises(sl.VerificationError, match=r"if these are bytes, it is \(16,64\):\(64,1\)"):
        sl.verify(sl.Access("load", "ldmatrix.x4", tile, lambda tid: (tid % 16, 8 * (tid // 16))))


def test_without_hypothesis_a_strategy_says_what_to_install_and_assertions_work():
    code = ("import sys; sys.modules['hypothesis'] = None\n"
            "from simlayout.testing import assert_bijective; import simlayout as sl; assert_bijective(sl.Layout(4))\n"
            "try:\n    from simlayout.testing import swizzles\n"
            "except ImportError as error:\n    print(error)")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stdout == "the strategies of simlayout.testing need Hypothesis: pip install hypothesis\n", told.stderr
