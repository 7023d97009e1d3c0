"""Index functions as source: traced, simplified, emitted for Numba and CUDA C++, and checked against the model."""

from simlayout.codegen.emit import Emitted, check, check_njit, emit, identifier, module_source, trace
from simlayout.codegen.reader import compile_source
from simlayout.codegen.symbols import Expr, symbol

__all__ = ["Emitted", "Expr", "check", "check_njit", "compile_source", "emit", "identifier", "module_source", "symbol",
           "trace"]
