"""What is emitted is what was proved, in Python, under Numba, in PTX and in CUDA C++."""

import ast
import ctypes
import inspect
import random
import re
import shutil
import subprocess
import traceback
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tiers import sweep_but

from cuda_kernels.emitted import __main__ as emitted_package
from cuda_kernels.kernels import MMA_KERNELS
from simlayout import Access, Layout, SimlayoutError, Swizzle, VerificationError, emit
from simlayout.codegen import check, check_njit, compile_source, identifier, index_function, module_source
from simlayout.codegen.symbols import symbol

TILE = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))


def load(tile=TILE, name="load A", lanes=lambda tid, k: (tid % 16, 16 * k + 8 * (tid % 32 // 16)), **more):
    return Access(name, "ldmatrix.x4", tile, lanes, **({"domain": {"tid": 32, "k": 4}} | more))


def of_bytes(function, name="f", **loops):
    """An access of one byte per lane through any function of (tid, *loops)."""
    return Access(name, "ld.shared.b8", lambda offset: offset, function, {"tid": 64, **loops}, "s8", excess=None)


# ---- what emit makes ------------------------------------------------------------------------------------------------

def test_what_verify_refuses_is_not_emitted():
    with pytest.raises(VerificationError, match="has bank conflicts"):
        emit(load(Layout((16, 64), (64, 1))))
    with pytest.raises(VerificationError, match="both map to offset"):
        emit(load(Layout((16, 64), (8, 1))))
    with pytest.raises(VerificationError, match="was never stored"):
        emit(load(), stored_by=[Access("copy", "st.shared.b128", TILE, lambda tid: (tid // 8, 8 * (tid % 8)))])


def test_bytes_are_elements_times_the_size_of_one():
    elements, as_bytes = emit(load()), emit(load(), unit="bytes")
    assert (elements.unit, as_bytes.unit) == ("elements", "bytes")
    for tid, k in product(range(32), range(4)):
        assert elements.function(tid, k) == TILE(tid % 16, 16 * k + 8 * (tid // 16))
        assert as_bytes.function(tid, k) == 2 * elements.function(tid, k)
    with pytest.raises(SimlayoutError, match='"elements" or "bytes"'):
        emit(load(), unit="words")


def test_the_certificate_heads_both_texts():
    made = emit(load())
    digest = f"digest {made.certificate.digest}"
    assert digest in ast.get_docstring(ast.parse(made.source).body[0]) and f"// {digest}" in made.cuda
    assert made.cuda.splitlines()[-3] == "__device__ __forceinline__ unsigned load_a(unsigned tid, unsigned k) {"
    assert made.parameters == ("tid", "k") and made.operations == 9


def test_no_line_of_the_texts_is_wider_than_114_columns():
    for module in Path(emitted_package.__file__).parent.glob("*.py"):
        assert max(map(len, module.read_text(encoding="utf-8").splitlines())) <= 114
    long_tile = Layout(((2,) * 10, 2), (tuple(3**i for i in range(10)), 3**10))
    wide = emit(Access("a name of many words", "ld.shared.b8", long_tile, lambda tid, i: (tid + 32 * i, 1),
                       {"tid": 32, "i": 32}, "s8", excess=None))
    assert len(wide.source.splitlines()) > 15 and max(map(len, (wide.source + wide.cuda).splitlines())) <= 114


@pytest.mark.parametrize("name, made", [
    ("load A", "load_a"), ("  store C, scalar ", "store_c_scalar"), ("8 rows", "access_8_rows"), ("if", "access_if"),
    ("float", "access_float"), ("char16_t", "access_char16_t"), ("requires", "access_requires"),
    ("Läden", "l_den"), ("--", "access_"), ("__builtins__", "builtins"),
])
def test_names_of_accesses_become_identifiers(name, made):
    assert identifier(name) == made


@pytest.mark.parametrize("name", ['x"""\nimport os\n"""', "a\\", "two\nlines", "it's", "tab\t"])
def test_names_that_could_end_a_comment_are_refused(name):
    with pytest.raises(SimlayoutError, match="cannot stand in a comment"):
        emit(load(name=name))


@pytest.mark.parametrize("variable", ["t0", "lambda", "int", "a b", "_x", "größe"])
def test_loop_variables_that_are_no_names_in_python_and_cpp_are_refused(variable):
    with pytest.raises(SimlayoutError, match="cannot be the name of a parameter"):
        emit(load(domain={"tid": 32, variable: 4}))


def test_a_module_marks_each_function_with_its_access():
    text = module_source("Two.", [emit(load()), emit(load(name="load B"))])
    functions = compile_source(text)
    assert list(functions) == ["load_a", "load_b"] and functions["load_b"].access_name == "load B"
    with pytest.raises(SimlayoutError, match="both be the function load_a"):
        module_source("Two.", [emit(load()), emit(load(name="load-A"))])


def test_an_index_function_emitted_at_first_use_has_the_text_and_the_mark_of_one_in_a_module():
    function, emitted = index_function(load()), emit(load(), unit="bytes")
    assert inspect.getsource(function) == emitted.source
    in_module = compile_source(module_source("One.", [emitted]))["load_a"]
    assert function.__code__.co_code == in_module.__code__.co_code and function.__doc__ == in_module.__doc__
    assert function.access_name == "load A" and (function(*load().points()) == 2 * load().offsets()).all()


def test_a_traceback_shows_the_line_of_an_index_function_emitted_at_first_use():
    first, other = index_function(load()), index_function(load(Layout((16, 64), (64, 1)), excess=None))
    for function in (first, other):
        with pytest.raises(TypeError) as caught:
            function("a", 0)
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert frame.line == inspect.getsource(function).splitlines()[-1].strip()
    assert first.__code__.co_filename != other.__code__.co_filename


def test_what_verify_refuses_has_no_index_function():
    with pytest.raises(VerificationError):
        index_function(load(Layout((16, 64), (64, 1))))


def test_a_wrong_function_is_found_with_its_first_point():
    made = emit(load(), unit="bytes")
    with pytest.raises(VerificationError, match="gives 2 where the model gives 0, at tid = 0, k = 0") as caught:
        check(made, load(), lambda tid, k: made.function(tid, k) + 2, "by hand")
    assert caught.value.counterexample == {"point": {"tid": 0, "k": 0}, "got": 2, "want": 0}
    assert check(made, load()) == 128


def test_a_constant_index_function_is_emitted():
    assert emit(of_bytes(lambda tid: 0 * tid + 5)).function(3) == 5


# ---- what cannot be right in unsigned 32 bits -----------------------------------------------------------------------

@pytest.mark.parametrize("function", [
    lambda tid: (tid - 3) % 64,
    lambda tid: (tid - 3) % 24,
    lambda tid: (tid - 64) // 2 + 32,
    lambda tid: ((tid - 3) & 60),
    lambda tid: (tid - 64 >> 1) + 32,
    lambda tid: (5 * tid << 30) // 2**30,
    lambda tid: ((tid << 20) * (tid << 20)) // 2**30 % 64,
])
def test_a_part_that_may_be_negative_or_too_large_before_a_division_is_refused(function):
    try:
        made = emit(of_bytes(function))
    except SimlayoutError as error:
        assert "which unsigned 32-bit code gets wrong" in str(error)
    else:                                                     # or it simplifies to something without such a part
        assert check(made, of_bytes(function)) == 64 and "-" not in made.source.rsplit("return", 1)[1]


def test_sums_may_be_negative_on_the_way():
    made = emit(of_bytes(lambda tid: 63 - tid + 5 * (tid % 3)))
    assert [made.function(t) for t in range(4)] == [63, 67, 71, 60]


@pytest.mark.parametrize("function, complaint", [
    (lambda tid: np.where(tid > 3, tid, 0), "must not compare"), (lambda tid: 4 * (tid == 0), "== and != compare formulas"),
    (lambda tid: (tid ^ (tid - 5)) & 31, "may be negative"),
    (lambda tid: 2**31 + tid, "is out of range"),
])
def test_what_is_no_integer_arithmetic_is_refused(function, complaint):
    with pytest.raises(SimlayoutError) as caught:
        emit(of_bytes(function))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("function", [
    lambda x, k: (x + 8) >> k, lambda x, k: (x + 8) // (k + 1), lambda x, k: (x - 40) << k, lambda x, k: (x + 3) << k,
    lambda x, k: (x - 40) // (k + 1), lambda x, k: (x - 40) >> k, lambda x, k: x % (k + 1),
])
def test_the_range_of_an_operation_on_two_unknowns_holds(function):
    made = function(symbol("x", 33), symbol("k", 4))
    values = [function(x, k) for x, k in product(range(33), range(4))]
    assert made.lo <= min(values) and max(values) <= made.hi


# ---- reading source back --------------------------------------------------------------------------------------------

GOOD = 'def f(tid, k):\n    """Text."""\n    t0 = tid & 7\n    return (t0 << 3) + -k * 2 - 1\n\n\nf.access_name = "f"\n'


def test_index_arithmetic_is_read_back():
    f = compile_source('"""Doc."""\n\n\n' + GOOD)["f"]
    assert f(9, 2) == 3 and f.access_name == "f" and f.__globals__["__builtins__"] == {}


NOT_A_MODULE = [
    "import os", "from os import path", "x = 1", "1 << (1 << 40)", "f()", "lambda: 1", "class A: pass", "del f",
    "global f", "async def f(t):\n    return t", "def f(t)\n", "\0", "(" * 500 + ")" * 500, "g.access_name = 'x'",
]
NOT_AFTER_A_FUNCTION = [
    "@f\ndef g(t):\n    return t", "f.__code__ = f", "f.access_name = f", "f.access_name = 1", "f.other = 'x'",
    "'text'", "f.access_name = g.access_name = 'x'", "f.access_name += 'x'", "f(1)", "def f(tid, k):\n    return tid",
]
NOT_A_SIGNATURE = ["t=1 << 9", "*t", "**t", "t, *, k", "t, /", "t: int", "_t"]
NOT_A_BODY = [
    "return", "t", "pass", "x = y = t\n    return x", "t.x = 1\n    return t", "x: int = t\n    return x",
    "x += t\n    return x", "return x\n    x = t", "yield t", "import os\n    return t", "return t\n    return t",
    "def g(u):\n        return u\n    return t", "while t:\n        t = t\n    return t", "x, y = t\n    return x",
]
NOT_A_VALUE = [
    "t.__class__", "t[0]", "print(t)", "g", "f", "__builtins__", "'text'", "1.5", "True", "None", "t ** t", "t / 2",
    "t if t else 1", "t < 1", "(t, t)", "[x for x in t]", "(x := t)", "~t", "not t", "t and t", "await t", "f'{t}'",
    "99999999999999999999", "-" * 100_000 + "t", "(lambda: t)()", "*t",
]


@pytest.mark.parametrize("source", [
    *NOT_A_MODULE, *(GOOD + s for s in NOT_AFTER_A_FUNCTION), *(f"def f({s}):\n    return 1" for s in NOT_A_SIGNATURE),
    *(f"def f(t):\n    {s}" for s in NOT_A_BODY), *(f"def f(t):\n    return {s}" for s in NOT_A_VALUE),
    "def f(t) -> int:\n    return t", "def __f(t):\n    return t",
], ids=lambda s: repr(s[-40:]))
def test_anything_but_index_arithmetic_is_refused(source):
    with pytest.raises(SimlayoutError):
        compile_source(source, "file.py")


def test_the_line_of_the_fault_is_named():
    with pytest.raises(SimlayoutError, match=r"^file.py: line 8: Import is not index arithmetic$"):
        compile_source(GOOD + "import os", "file.py")


# ---- checked-in files, Numba, PTX, CUDA C++ -------------------------------------------------------------------------

def test_the_checked_in_functions_are_what_is_emitted_now():
    folder, again = Path(emitted_package.__file__).parent, "run `python -m cuda_kernels.emitted`"
    made = emitted_package.sources()
    there = {p.stem for p in folder.glob("*.py")} - {"__init__", "__main__"}
    assert there == set(made), f"{again} and delete what it does not write"
    for name, text in made.items():
        assert (folder / f"{name}.py").read_text() == text, f"{name}.py is out of date: {again}"


@pytest.mark.parametrize("unit", ["elements", "bytes"])
def test_emitted_functions_hold_under_njit(unit):
    pytest.importorskip("numba")
    assert check_njit(emit(load(), unit=unit), load()) == 128


def all_accesses():
    return {module: accesses for kernel in MMA_KERNELS.values() for module, accesses in kernel.emits().items()}


@pytest.mark.parametrize("module", sweep_but(["mma_permuted", "mma_crosswise"], all_accesses()))
def test_emitted_functions_are_32_bit_in_ptx(module):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda")
    from importlib import import_module

    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature
    from cuda_kernels.intrinsics.instruction import instruction

    @instruction("st.global.b32 [$0], $1;", "<- u64 b32")
    def st_global_b32(warp, address, value):
        """The result, out of the compiler's sight."""

    accesses = all_accesses()[module]
    calls = "".join(f"    st(out, index.{identifier(a.name)}({', '.join(a.domain)}))\n" for a in accesses)
    variables = sorted({v for a in accesses for v in a.domain})
    scope = {"st": st_global_b32}
    for a in accesses:
        scope[identifier(a.name)] = getattr(import_module(f"cuda_kernels.emitted.{module}"), identifier(a.name))
    exec(f"def body(out, {', '.join(variables)}):\n{calls.replace('index.', '')}", scope)
    text, _ = cuda.compile_ptx(bound_kernel(scope["body"]), signature("u64" + " s32" * len(variables)), cc=(9, 0))
    lines = text[text.rindex("{\n\t.reg"):]
    assert lines.count("st.global.b32") == len(accesses)
    wide = [line.strip() for line in lines.splitlines() if re.match(r"\s+[a-z][\w.]*\.([subf]64|wide\S*)\s", line)]
    assert len(wide) == 1 and wide[0].startswith("ld.param.u64"), wide
    assert "call" not in lines and ".local" not in lines and not re.search(r"\s(div|rem)\.", lines)


def compiled_by_gcc(texts_and_domains, folder):
    """The CUDA texts as host C++: [values over the domain, in the order of Access.offsets()] for each."""
    compiler = shutil.which("g++") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    source = ["#define __device__ static", "#define __forceinline__ inline"]
    for n, (name, text, domain) in enumerate(texts_and_domains):
        tid, *loops = domain
        order = [*loops, tid]
        walk = "".join(f"for (unsigned {v} = 0; {v} < {domain[v]}; ++{v}) " for v in order)
        source.append(f"namespace n{n} {{\n{text}}}\n"
                      f'extern "C" void run{n}(unsigned *out) {{ {walk}*out++ = n{n}::{name}({", ".join(domain)}); }}')
    path = folder / "emitted.cpp"
    path.write_text("\n".join(source))
    subprocess.run([compiler, "-x", "c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", folder / "emitted.so", path],
                   check=True, capture_output=True, text=True)
    library, results = ctypes.CDLL(str(folder / "emitted.so")), []
    for n, (_, _, domain) in enumerate(texts_and_domains):
        out = np.zeros(int(np.prod(list(domain.values()))), np.uint32)
        getattr(library, f"run{n}")(out.ctypes.data_as(ctypes.c_void_p))
        results.append(out.astype(np.int64))
    return results


def test_the_cuda_texts_of_all_kernels_compute_what_the_model_says(tmp_path):
    accesses = [a for made in all_accesses().values() for a in made]
    emitted = [emit(a, unit="elements") for a in accesses]
    results = compiled_by_gcc([(e.name, e.cuda, a.domain) for e, a in zip(emitted, accesses, strict=True)], tmp_path)
    for access, got in zip(accesses, results, strict=True):
        assert np.array_equal(got, access.offsets().reshape(-1)), access.name


def random_function(pick, depth):
    """A random index function of (tid, i), subtractions included."""
    if depth == 0:
        c = pick.randrange(70)
        return pick.choice([lambda tid, i: tid, lambda tid, i: i, lambda tid, i: tid * 0 + c])
    f, g = random_function(pick, depth - 1), random_function(pick, depth - 1)
    c = pick.choice([1, 2, 3, 5, 8, 16, 24, 32])
    return pick.choice([
        lambda tid, i: f(tid, i) + g(tid, i), lambda tid, i: f(tid, i) - g(tid, i), lambda tid, i: f(tid, i) * c,
        lambda tid, i: f(tid, i) // c, lambda tid, i: f(tid, i) % c, lambda tid, i: f(tid, i) & c,
        lambda tid, i: f(tid, i) ^ g(tid, i), lambda tid, i: f(tid, i) | g(tid, i), lambda tid, i: f(tid, i) << (c % 4),
        lambda tid, i: f(tid, i) >> (c % 4),
        lambda tid, i: (f(tid, i) % 64) >> (i % 4), lambda tid, i: 40 - f(tid, i),
    ])


@pytest.mark.parametrize("many", [120, pytest.param(400, marks=pytest.mark.sweep)])
def test_random_index_functions_are_refused_or_right_in_python_and_in_cuda(many, tmp_path):
    pick, accesses, emitted, refused = random.Random(7), [], [], 0
    for _ in range(many):
        access = of_bytes(random_function(pick, 4), i=5)
        try:
            emitted.append(emit(access))                      # compares the Python text with the model
            accesses.append(access)
        except SimlayoutError:
            refused += 1
    assert len(emitted) > many // 4 and refused > many // 8
    results = compiled_by_gcc([(e.name, e.cuda, a.domain) for e, a in zip(emitted, accesses, strict=True)], tmp_path)
    for access, made, got in zip(accesses, emitted, results, strict=True):
        assert np.array_equal(got, access.offsets().reshape(-1)), made.cuda
