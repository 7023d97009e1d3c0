"""Kernels that numba-cuda writes for `vectorize` and `guvectorize`, with the name and the lines of the user's function."""

import ast
from functools import wraps
from importlib import import_module
from inspect import unwrap
from types import FunctionType
from typing import Any


def modules() -> dict[str, Any]:
    """The classes and the module of numba.cuda whose names change."""
    made = import_module("numba.cuda.vectorizers")
    return {"Vectorize": made.CUDAVectorize, "GUVectorize": made.CUDAGUFuncVectorize,
            "lowering": import_module("numba.cuda.lowering")}


def replacements() -> dict[str, dict[str, Any]]:
    """{class or module: {name: what takes its place}}: the kernel of vectorize, whose text stands in no file, is
    placed on the first line of the user's function; that of guvectorize accesses nothing itself."""
    made = import_module("numba.cuda.vectorizers")
    template = made.vectorizer_stager_source
    return {"Vectorize": {"_compile_kernel": _named(made.CUDAVectorize, lambda kernel, own: _placed(kernel, own, template))},
            "GUVectorize": {"_compile_kernel": _named(made.CUDAGUFuncVectorize, lambda kernel, own: kernel)},
            "lowering": {"get_func_def_lineno": _definition(import_module("numba.cuda.lowering").get_func_def_lineno)}}


def _definition(find):
    """In place of numba-cuda's search for the line of a function, `find`: it warns where there is no source, although nobody
    but simlayout has asked for lines."""
    find = unwrap(find)

    @wraps(find)
    def line_of(function):
        return find(function) or function.__code__.co_firstlineno + 1    # as numba-cuda goes on after its warning

    return line_of


def _named(cls, placed):
    begin = unwrap(cls._compile_kernel)

    @wraps(begin)
    def _compile_kernel(self, kernel, sig):
        kernel = placed(kernel, self.pyfunc)
        kernel.__name__ = kernel.__qualname__ = self.pyfunc.__name__
        return begin(self, kernel, sig)

    return _compile_kernel


def _placed(kernel: FunctionType, own: FunctionType, template: str) -> FunctionType:
    """The kernel of a template again, with every line of it where the body of the user's function begins."""
    code = own.__code__
    lines = [line for *_, line in code.co_lines() if line is not None and line > code.co_firstlineno]
    line = min(lines, default=code.co_firstlineno)
    args = kernel.__code__.co_varnames[:kernel.__code__.co_argcount - 1]
    tree = ast.parse(template.format(name="kernel", args=", ".join(args),
                                     argitems=", ".join(f"{arg}[__tid__]" for arg in args)))
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line             # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0        # type: ignore[attr-defined]
    tree.body[0].lineno = max(line - 1, 1)                   # numba-cuda takes the line behind it for the body's first
    names = dict(kernel.__globals__)
    exec(compile(tree, code.co_filename, "exec"), names)
    return names["__vectorized_kernel"]
