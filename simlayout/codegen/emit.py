"""emit: a proved index function as readable source, for Numba and for CUDA C++.

The index function of an access is traced once with symbols, printed, read back, and compared with the model on every
point of its domain. What `verify` refuses is not emitted.
"""

import keyword
import re
import textwrap
from dataclasses import dataclass

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.codegen.printer import WIDTH, count_operations, cuda_body, python_body, wraps
from simlayout.codegen.reader import compile_source
from simlayout.codegen.symbols import Expr, symbol
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.proofs import verify


@dataclass(frozen=True)
class Emitted:
    """An emitted index function.

    name, parameters: of the function. source: the Python (Numba) text; cuda: the CUDA C++ text. function: the source
    compiled. certificate: what was proved. unit: "elements" or "bytes". operations: integer operators, common
    subexpressions once.
    """

    name: str
    parameters: tuple
    source: str
    cuda: str
    function: object
    certificate: object
    unit: str
    operations: int


def emit(access, *, unit="elements", stored_by=(), arch="sm_90"):
    """Proves an access, then returns its index function as source, compiled function and certificate.

    access: an Access. unit: what the function returns: the offset in "elements", or the address from the start of
    the tile in "bytes". stored_by, arch: as for `verify`.

    Raises VerificationError if the access does not hold or the emitted text disagrees with the model, SimlayoutError
    if its index function is not integer arithmetic, or not right in unsigned 32 bits.

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
    certificate = verify(access, stored_by=stored_by, arch=arch)
    scale = {"elements": 1, "bytes": dtype_of(access.dtype).bytes}
    if unit not in scale:
        raise SimlayoutError(f'unit {unit!r}: an index function returns "elements" or "bytes"')
    name, parameters = identifier(access.name), tuple(access.domain)
    _check_names(access, parameters)
    try:
        expression = trace(access) * scale[unit]
    except (TypeError, ValueError, ArithmeticError) as error:
        raise SimlayoutError(f"access {access.name!r} cannot be emitted: {error}") from error
    _check_range(access, expression)
    source = _python_source(name, parameters, expression, certificate, unit)
    made = Emitted(name, parameters, source, _cuda_source(name, parameters, expression, certificate, unit),
                   compile_source(source)[name], certificate, unit, count_operations(expression))
    check(made, access)
    return made


_RESERVED = frozenset("""
    alignas alignof and_eq asm auto bitand bitor bool case catch char class compl const constexpr const_cast decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
    """.split())                                            # noqa: SIM905 (a table of words)
"""Keywords of C++ (ISO C++17, [lex.key]) that are no names in the CUDA text."""


def _is_name(text):
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and text not in _RESERVED


def identifier(name):
    """The function name for an access name: "load A" -> "load_a"."""
    made = re.sub(r"\W+", "_", name.strip().lower(), flags=re.ASCII).strip("_")
    return made if _is_name(made) else f"access_{made}"


def _check_names(access, parameters):
    """Names stand in Python and C++ source: nothing in them may end a text or a comment, or clash."""
    for text in (access.name, access.instruction, access.dtype):
        if not str(text).isprintable() or set(str(text)) & set("\\\"'"):
            raise SimlayoutError(f"{text!r} cannot stand in a comment: leave out quotes, backslashes and line breaks")
    for p in parameters:
        if not _is_name(p) or p.startswith("_") or re.fullmatch(r"t\d+", p):
            raise SimlayoutError(f"access {access.name!r}: {p!r} cannot be the name of a parameter (a word of Python "
                                 f"or C++, or like the t0, t1, ... of the emitted code): rename the loop variable")


def _check_range(access, expression):
    """Every value of the expression is right in unsigned 32-bit arithmetic."""
    lo, hi = (expression.lo, expression.hi) if isinstance(expression, Expr) else (expression, expression)
    if lo < 0 or hi >= 2**31:
        raise SimlayoutError(f"access {access.name!r}: offsets {lo}..{hi} do not fit 31 bits")
    part = wraps(expression)
    if part is not None:
        raise SimlayoutError(f"access {access.name!r}: {part} may be {part.lo if part.lo < 0 else part.hi} before it "
                             f"is divided, shifted or masked, which unsigned 32-bit code gets wrong: keep it in "
                             f"0 .. 2**31 - 1, by adding a multiple of the divisor, say")


def trace(access):
    """The access's offset in elements as an expression of its domain's variables."""
    return access.offset(*(symbol(v, n) for v, n in access.domain.items()))


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


def check(emitted, access, function=None, how="as plain Python"):
    """Compares a function with the model on every point of the domain; returns the number of points.

    function: what to call instead of the emitted Python (its Numba form, say), on ints.
    """
    function = function or emitted.function
    scale = dtype_of(access.dtype).bytes if emitted.unit == "bytes" else 1
    expected = (access.offsets() * scale).reshape(-1)
    shape = np.broadcast_shapes(*(p.shape for p in access.points()))
    columns = [np.broadcast_to(p, shape).reshape(-1).tolist() for p in access.points()]
    for point, want in zip(zip(*columns, strict=True), expected.tolist(), strict=True):
        got = function(*point)
        if got != want:
            at = dict(zip(access.domain, point, strict=True))
            where = ", ".join(f"{k} = {v}" for k, v in at.items())
            raise VerificationError(f"emitted {emitted.name} {how} gives {got} where the model gives {want}, at "
                                    f"{where}", {"point": at, "got": int(got), "want": want})
    return expected.size


def check_njit(emitted, access):
    """`check` of the function compiled by `numba.njit`."""
    import numba

    return check(emitted, access, numba.njit(emitted.function), "under numba.njit")


def module_source(title, emitted):
    """The text of a module of emitted functions, each marked with the access it serves."""
    names = [e.name for e in emitted]
    for name in names:
        if names.count(name) > 1:
            raise SimlayoutError(f"two accesses would both be the function {name}: give them names that differ in "
                                 f"letters")
    functions = "\n\n".join(f'{e.source}\n\n{e.name}.access_name = "{e.certificate.name}"\n' for e in emitted)
    made_by = "Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it."
    head = f'"""{title}\n\n{made_by}\n"""\n'
    return f"{head}\n\n{functions}"
