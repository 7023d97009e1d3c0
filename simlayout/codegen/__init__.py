"""Index functions as source: traced, simplified, emitted for Numba and CUDA C++, and checked against the model."""

from simlayout.codegen.emit import Emitted, check, check_njit, emit, identifier, index_function, module_source, trace
from simlayout.codegen.index_text import Formula, formula, parse_index
from simlayout.codegen.notations import tile
from simlayout.codegen.reader import compile_source
from simlayout.codegen.symbols import Expr, symbol
from simlayout.codegen.translation import Translation, TranslationError, translate

__all__ = ["Emitted", "Expr", "Formula", "Translation", "TranslationError", "check", "check_njit", "compile_source", "emit",
           "formula", "identifier", "index_function", "module_source", "parse_index", "symbol", "tile", "trace", "translate"]
