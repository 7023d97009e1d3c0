"""emit: a proved index function as readable source, for Numba and for CUDA C++.

The index function of an access is traced once with symbols, printed, read back, and compared with the model on every
point of its domain. An access that `verify` refuses is not emitted.
"""

import hashlib
import keyword
import linecache
import operator
import re
import textwrap
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.exact import box_arguments, box_point
from simlayout.arguments import typed
from simlayout.codegen.host_cpp import compiler_of_cpp, run_cuda_text
from simlayout.codegen.printer import WIDTH, count_operations, cuda_body, python_body, wraps
from simlayout.codegen.reader import compile_source
from simlayout.codegen.symbols import Expr, limits, symbol
from simlayout.errors import SimlayoutError, VerificationError, brief, require
from simlayout.proofs import Access, Certificate, verify
from simlayout.shown import Shown

SAMPLE = 1 << 22
"""The CUDA C++ text is run at this many points at most."""


@dataclass(frozen=True)
class Emitted(Shown):
    """An emitted index function.

    name, parameters: of the function. source: the Python (Numba) text; cuda: the CUDA C++ text, which is HIP C++ as well.
    function: the source compiled. certificate: what was proved. unit: "elements" or "bytes". operations: integer operators,
    common subexpressions once. str() is the Python text.

    >>> import simlayout as sl
    >>> rows = sl.Access("load A", "ld.shared.b32", sl.Layout((4, 32), (33, 1)), domain={"tid": 32, "k": 4}, dtype="f32",
    ...                  lanes=lambda tid, k: (k, tid))
    >>> made = emit(rows)
    >>> made.name, made.parameters, made.function(5, 2), made.operations, made.cuda.splitlines()[-2].strip()
    ('load_a', ('tid', 'k'), 71, 2, 'return (k * 33) + tid;')
    """

    name: str
    parameters: tuple
    source: str = field(repr=False)
    cuda: str = field(repr=False)
    function: Callable[..., Any] = field(compare=False, repr=False)
    certificate: Certificate
    unit: str
    operations: int

    def __str__(self):
        return self.source

    def __reduce__(self):
        """A pickle holds the source, which is compiled when it is read."""
        return _compiled, tuple(getattr(self, each.name) for each in fields(self) if each.name != "function")


def _compiled(name, parameters, source, cuda, *rest):
    return Emitted(name, parameters, source, cuda, compile_source(source)[name], *rest)


@typed(own=("access", "arch"))
def emit(access: Access, *, unit: str = "elements", stored_by: Access | Collection[Access] = (), arch: str | None = None,
         name: str | None = None) -> Emitted:
    """Proves an access, then returns its index function as source, compiled function and certificate.

    access: an Access. unit: what the function returns: the offset in "elements", or the address from the start of
    the tile in "bytes". stored_by, arch: as in `verify`. name: of the function; by default
    `identifier` makes it from the access's name.

    The Python text is compared with the model at every point of the domain. `check` also runs the CUDA C++ text, if there
    is a compiler.

    Raises VerificationError if `verify` refuses the access or if the emitted text disagrees with the model;
    SimlayoutError if the index function is not integer arithmetic, or is wrong in unsigned 32-bit arithmetic.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
    ...               domain={"tid": 32, "k": 4}, dtype="f16")
    >>> e = sl.emit(a)
    >>> print(e.source.splitlines()[-1].strip())
    return ((tid & 15) << 6) + ((((k << 1) + (tid >> 4)) ^ (tid & 7)) << 3)
    >>> e.function(17, 1) == tile(1, 24)
    True
    """
    require(Access, "emit", access)
    certificate = verify(access, stored_by=stored_by, arch=arch)
    scale = {"elements": 1, "bytes": dtype_of(access.dtype).bytes}
    if unit not in scale:
        raise SimlayoutError(f'unit {brief(unit)}: an index function returns "elements" or "bytes"')
    name, parameters = identifier(access.name) if name is None else checked_name(name), tuple(access.domain)
    _check_names(access, parameters)
    offset: Any = trace(access)
    expression = offset * scale[unit]
    _check_range(access, expression)
    source = _python_source(name, parameters, expression, certificate, unit)
    emitted = Emitted(name, parameters, source, _cuda_source(name, parameters, expression, certificate, unit),
                      compile_source(source)[name], certificate, unit, count_operations(expression))
    _check_calls(emitted, access, emitted.function, "as plain Python, where == and != compare formulas,")
    return emitted


_RESERVED = frozenset("""
    alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t class co_await co_return
    co_yield compl concept const consteval constexpr constinit const_cast decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long main mutable namespace new noexcept
    not_eq nullptr operator or_eq private protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split())
"""Keywords of C++ (ISO C++20, [lex.key]) that are no names in the CUDA text."""


def _is_name(text):
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and text not in _RESERVED


@typed()
def identifier(name: str) -> str:
    """The function name for an access name.

    >>> identifier("load A"), identifier("2nd"), identifier("class")
    ('load_a', 'access_2nd', 'access_class')
    """
    text = re.sub(r"\W+", "_", name.strip().lower(), flags=re.ASCII).strip("_")
    return text if _is_name(text) else f"access_{text}"


def checked_name(name):
    """The name itself. Raises SimlayoutError if an emitted function cannot have it, in Python, in C++, or because of the
    names t0, t1, ... of the emitted code."""
    if not isinstance(name, str) or not _is_name(name) or name.startswith("_") or re.fullmatch(r"t\d+", name):
        raise SimlayoutError(f"{brief(name)} cannot be the name of an emitted function: give letters, digits and "
                             "underscores that begin with a letter, no word of Python or C++, and not t0, t1, ...")
    return name


def _check_names(access, parameters):
    """Raises SimlayoutError for names that would end a string or a comment of the emitted source, or clash in it."""
    for text in (access.name, access.instruction, access.dtype):
        if not str(text).isprintable() or set(str(text)) & set("\\\"'"):
            raise SimlayoutError(f"{text!r} cannot stand in a comment: leave out quotes, backslashes and line breaks")
    for p in parameters:
        if not _is_name(p) or p.startswith("_") or re.fullmatch(r"t\d+", p):
            raise SimlayoutError(f"access {access.name!r}: {p!r} cannot be the name of a parameter (a word of Python "
                                 f"or C++, or like the t0, t1, ... of the emitted code): rename the loop variable")


def _check_range(access, expression):
    """Raises SimlayoutError unless every value of the expression is right in unsigned 32-bit arithmetic."""
    lo, hi = limits(expression)
    if lo < 0 or hi >= 2**31:
        raise SimlayoutError(f"access {access.name!r}: offsets {lo}..{hi} do not fit 31 bits")
    part = wraps(expression)
    if part is not None:
        least, most = limits(part)
        raise SimlayoutError(f"access {access.name!r}: {part} may be {least if least < 0 else most} before it "
                             f"is divided, shifted or masked, which unsigned 32-bit code gets wrong: keep it in "
                             f"0 .. 2**31 - 1, by adding a multiple of the divisor, say")


@typed()
def trace(access: Access) -> Expr | int:
    """The access's offset in elements as an expression of its domain's variables, or an int.

    Raises SimlayoutError where its index function is more than integer arithmetic.

    >>> import simlayout as sl
    >>> print(trace(sl.Access("load", "ld.shared.b32", sl.Layout(64, 2), domain={"tid": 64}, dtype="f32")))
    tid << 1
    """
    try:
        with np.errstate(all="raise"):
            offset = access.offset(*(symbol(v, n) for v, n in access.domain.items()))
        return offset if isinstance(offset, Expr) else operator.index(offset)
    except Exception as error:                           # the user's own function: it may raise anything
        reason = ("an index function must not look up its arguments in a table" if isinstance(error, LookupError) else
                  "an index function must not call NumPy" if "support ufuncs" in str(error) else error)
        raise SimlayoutError(f"access {access.name!r} cannot be emitted: {reason}; what is emitted is a formula of + - * "
                             f"// % & | ^ << >> on {', '.join(access.domain)} and constants") from error


def _indented(lines, prefix):
    return "\n".join(f"{prefix}{line}".rstrip() for line in lines)


def _wrapped(lines):
    """Lines of a certificate, at most WIDTH columns wide."""
    return [short for line in lines for short in textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]]


def _python_source(name, parameters, expression, certificate, unit):
    head = certificate.lines()
    first = textwrap.wrap(head[0], WIDTH - len('"""'), subsequent_indent="  ")
    doc = _indented([*first, *_wrapped(["", f"Returns {unit} from the start of the tile.", *head[1:]])], "    ").lstrip()
    body = _indented(python_body(expression), "    ")
    return f'def {name}({", ".join(parameters)}):\n    """{doc}\n    """\n{body}\n'


def _cuda_source(name, parameters, expression, certificate, unit):
    head = _indented(_wrapped([*certificate.lines(), f"Returns {unit} from the start of the tile."]), "// ")
    arguments = ", ".join(f"unsigned {p}" for p in parameters)
    body = _indented(cuda_body(expression), "    ")
    return f"{head}\n__device__ __forceinline__ unsigned {name}({arguments}) {{\n{body}\n}}\n"


class Points(int):
    """The number of points that `check` compared. how: in words, how the emitted texts were run."""

    how = ""


@typed()
def check(emitted: Emitted, access: Access, function: Callable | None = None,
          how: str = "as plain Python") -> Points:
    """Compares the emitted texts with the model on every point of the domain; returns the Points.

    The Python text is called on ints. The CUDA C++ text is compiled by this machine's C++ compiler (g++, c++ or clang++) and
    run on all points, or on 2**22 points spread over a larger domain; if there is no compiler, `.how` says so. function: is
    called on ints instead of both texts, for example the function that Numba compiled. how: its description in words.

    Raises VerificationError with the first point at which a text differs from the model.

    >>> import simlayout as sl
    >>> a = sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 64}, dtype="f32")
    >>> check(sl.emit(a), a) == 64
    True
    """
    total = _check_calls(emitted, access, function or emitted.function, how)
    points = Points(total)
    points.how = how if function else f"{how}; {_check_cuda(emitted, access)}"
    return points


def _check_calls(emitted, access, function, how):
    """Calls a function at every point; returns how many there are."""
    total, names = 0, access.table_order()[0]
    for box in access.boxes():
        *loops, threads = (np.broadcast_to(p, [stop - start for start, stop in box]).reshape(-1).tolist()
                           for p in box_arguments(box))
        expected = _expected(emitted, access, box)
        for number, (point, model_value) in enumerate(zip(zip(threads, *loops), expected.tolist(), strict=True)):
            value = function(*point)
            if value != model_value:
                _differs(emitted, how, value, model_value, box_point(names, box, number), access)
        total += expected.size
    return total


def _expected(emitted, access, box):
    """int64 [points]: the results of the model on a box of the domain."""
    scale = dtype_of(access.dtype).bytes if emitted.unit == "bytes" else 1
    return access.over(access.offset, box).reshape(-1) * scale


def _differs(emitted, how, value, model_value, point, access):
    at = {variable: point[variable] for variable in access.domain}
    where = ", ".join(f"{k} = {v}" for k, v in at.items())
    raise VerificationError(f"emitted {emitted.name} {how} gives {value} where the model gives {model_value}, at "
                            f"{where}", {"point": at, "got": value, "want": model_value})


def _check_cuda(emitted, access):
    """Runs the CUDA C++ text; returns what was done, in words."""
    compiler = compiler_of_cpp()
    if compiler is None:
        return "the CUDA C++ text was not run: there is no C++ compiler (g++, c++ or clang++) here"
    names, sizes = access.table_order()
    total = prod(sizes)
    numbers = np.arange(total) if total <= SAMPLE else np.linspace(0, total - 1, SAMPLE).astype(np.int64)
    *loops, threads = np.unravel_index(numbers, sizes)
    points = np.stack([threads, *loops], axis=1).astype(np.uint32)
    values = run_cuda_text(emitted.name, emitted.cuda, points, compiler)
    expected = np.concatenate([_expected(emitted, access, box) for box in access.boxes()])[numbers]
    wrong = values != expected
    if wrong.any():
        i = int(np.argmax(wrong))
        _differs(emitted, f"as C++ by {compiler}", int(values[i]), int(expected[i]),
                 box_point(names, [(0, n) for n in sizes], numbers[i]), access)
    return f"as C++ by {compiler}, at {'all' if len(numbers) == total else len(numbers)} points"


@typed()
def check_njit(emitted: Emitted, access: Access) -> Points:
    """`check` of the function that `numba.njit` compiles, and of nothing else.

    >>> import simlayout as sl
    >>> a = sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 64}, dtype="f32")
    >>> check_njit(sl.emit(a), a).how
    'under numba.njit'
    """
    import numba

    return check(emitted, access, numba.njit(emitted.function), "under numba.njit")


@typed()
def index_function(access: Access) -> Callable[..., Any]:
    """The index function of an access, as kernels call it: `emit` proves it and compares it with the model.

    It returns the address in bytes from the start of the tile, and its attribute `access_name` names the access. Tracebacks,
    debuggers and `inspect.getsource` find its text as if it were in a file. Raises the errors of `emit`.

    >>> import inspect, simlayout as sl
    >>> load = index_function(sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 64}, dtype="f32"))
    >>> load(3), load.access_name, inspect.getsource(load).splitlines()[-1].strip()
    (12, 'load', 'return tid << 2')
    """
    emitted = emit(access, unit="bytes")
    text = _marked(emitted)
    file = f"<emitted {emitted.name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"      # one name for one text
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return compile_source(text, file)[emitted.name]


def _marked(emitted):
    return f'{emitted.source}\n\n{emitted.name}.access_name = "{emitted.certificate.name}"\n'


@typed()
def module_source(title: str, emitted: Collection[Emitted]) -> str:
    """The text of a module of emitted functions, each marked with the access it serves. title: the first line of its
    docstring; emitted: Emitted functions. Raises SimlayoutError where two of them have one name.

    >>> import simlayout as sl
    >>> a = sl.Access("load A", "ld.shared.b32", sl.Layout(64), domain={"tid": 64}, dtype="f32")
    >>> print(module_source("Index functions of a kernel.", [sl.emit(a, unit="bytes")]).splitlines()[-1])
    load_a.access_name = "load A"
    """
    names = [e.name for e in emitted]
    for name in names:
        if names.count(name) > 1:
            raise SimlayoutError(f"two accesses would both be the function {name}: give them names that differ in "
                                 f"letters")
    functions = "\n\n".join(map(_marked, emitted))
    origin = "Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it."
    head = f'"""{title}\n\n{origin}\n"""\n'
    return f"{head}\n\n{functions}"
