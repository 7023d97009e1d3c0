"""emit: a proved index function as readable source, for Numba and for CUDA C++.

The index function of an access is traced once with symbols, printed, read back, and compared with the model on every
point of its domain. What `verify` refuses is not emitted.
"""

import ast
import keyword
import re
from dataclasses import dataclass

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.codegen.printer import count_operations, cuda_body, python_body
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

    Raises VerificationError if the access does not hold or the emitted text disagrees with the model.

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
    for p in parameters:
        if not p.isidentifier() or keyword.iskeyword(p):
            raise SimlayoutError(f"access {access.name!r}: {p!r} cannot be the name of a parameter")
    expression = trace(access) * scale[unit]
    if isinstance(expression, Expr) and (expression.lo < 0 or expression.hi >= 2**31):
        raise SimlayoutError(f"access {access.name!r}: offsets {expression.lo}..{expression.hi} do not fit 31 bits")
    source = _python_source(name, parameters, expression, certificate, unit)
    made = Emitted(name, parameters, source, _cuda_source(name, parameters, expression, certificate, unit),
                   compile_source(source)[name], certificate, unit, count_operations(expression))
    check(made, access)
    return made


def identifier(name):
    """The function name for an access name: "load A" -> "load_a"."""
    made = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return made if made and not made[0].isdigit() and not keyword.iskeyword(made) else f"access_{made}"


def trace(access):
    """The access's offset in elements as an expression of its domain's variables."""
    return access.offset(*(symbol(v, n) for v, n in access.domain.items()))


def _indented(lines, prefix):
    return "\n".join(f"{prefix}{line}".rstrip() for line in lines)


def _python_source(name, parameters, expression, certificate, unit):
    head = certificate.lines()
    doc = _indented([head[0], "", f"Returns {unit} from the start of the tile.", *head[1:]], "    ").lstrip()
    body = _indented(python_body(expression), "    ")
    return f'def {name}({", ".join(parameters)}):\n    """{doc}\n    """\n{body}\n'


def _cuda_source(name, parameters, expression, certificate, unit):
    head = _indented([*certificate.lines(), f"Returns {unit} from the start of the tile."], "// ")
    arguments = ", ".join(f"unsigned {p}" for p in parameters)
    body = _indented(cuda_body(expression), "    ")
    return f"{head}\n__device__ __forceinline__ unsigned {name}({arguments}) {{\n{body}\n}}\n"


_ALLOWED = (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.Expr, ast.Constant, ast.Name,
            ast.Load, ast.Store, ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod,
            ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Attribute)


def compile_source(source, filename="<emitted>"):
    """Reads emitted source back: {function name: function}.

    Only functions of integer arithmetic are accepted (no call, no import, no subscript), so reading a file of index
    functions cannot run anything else.

    >>> compile_source("def f(tid):\\n    return tid & 7\\n")["f"](9)
    1
    >>> compile_source("import os")
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: <emitted>: line 1: Import is not index arithmetic
    """
    tree = ast.parse(source, filename)
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            line = getattr(node, "lineno", "?")
            raise SimlayoutError(f"{filename}: line {line}: {type(node).__name__} is not index arithmetic")
    functions = {"__builtins__": {}}
    exec(compile(tree, filename, "exec"), functions)        # noqa: S102 (nothing but arithmetic got past the check)
    return {k: v for k, v in functions.items() if callable(v)}


def check(emitted, access, function=None, how="as plain Python"):
    """Compares a function with the model on every point of the domain; returns the number of points.

    function: what to call instead of the emitted Python (its Numba form, say), on ints.
    """
    function = function or emitted.function
    scale = dtype_of(access.dtype).bytes if emitted.unit == "bytes" else 1
    expected = (access.offsets() * scale).reshape(-1)
    shape = np.broadcast_shapes(*(p.shape for p in access.points()))
    columns = [np.broadcast_to(p, shape).reshape(-1).tolist() for p in access.points()]
    for point, want in zip(zip(*columns), expected.tolist()):
        got = function(*point)
        if got != want:
            where = ", ".join(f"{k} = {v}" for k, v in zip(access.domain, point))
            raise VerificationError(f"emitted {emitted.name} {how} gives {got} where the model gives {want}, at {where}",
                                    {"point": dict(zip(access.domain, point)), "got": int(got), "want": want})
    return expected.size


def check_njit(emitted, access):
    """`check` of the function compiled by `numba.njit`."""
    import numba

    return check(emitted, access, numba.njit(emitted.function), "under numba.njit")


def module_source(title, emitted):
    """The text of a module of emitted functions, each marked with the access it serves."""
    functions = "\n\n".join(f"{e.source}\n\n{e.name}.access_name = {e.certificate.name!r}\n" for e in emitted)
    head = f'"""{title}\n\nEmitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.\n"""\n'
    return f"{head}\n\n{functions}"
