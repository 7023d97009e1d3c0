"""What a function is called in C++, of its mangled name (Itanium C++ ABI, which nvcc and clang follow on Linux)."""

import re
from collections import Counter
from collections.abc import Iterable

BUILTIN = {"v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
          "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
          "y": "unsigned long long", "f": "float", "d": "double"}
"""<builtin-type> of the ABI: those that are template arguments."""

_AROUND = {"P": "{}*", "R": "{}&", "O": "{}&&", "K": "const {}"}
_SHOWN = {"b": {"0": "false", "1": "true"}}
SIZED = re.compile(r"(\d+)")


class Unread(Exception):
    """A part of the ABI that is not read here: substitutions, expressions, operators."""


def cxx_name(mangled: str) -> str:
    """A function as C++ writes it, with namespaces and template arguments, without parameters; as it is where it is not
    mangled, or in a way that is not read here.

    >>> cxx_name("_Z6rowsumIdLi32EEvPKT_PS0_"), cxx_name("_ZN4mine4foldILb1EPKfEEvi"), cxx_name("plain")
    ('rowsum<double, 32>', 'mine::fold<true, const float*>', 'plain')
    """
    if not mangled.startswith("_Z"):
        return mangled
    try:
        return _Reader(mangled[2:]).name() or mangled
    except (Unread, IndexError, RecursionError):
        return mangled


def cxx_names(mangled: Iterable[str]) -> dict[str, str]:
    """{mangled name: what to show of it}: its C++ name, where no other has the same.

    >>> cxx_names(["_Z1fPf", "_Z1fPd", "_Z1gIfEvv"])
    {'_Z1fPf': '_Z1fPf', '_Z1fPd': '_Z1fPd', '_Z1gIfEvv': 'g<float>'}
    """
    known = {name: cxx_name(name) for name in mangled}
    times = Counter(known.values())
    return {name: shown if times[shown] == 1 else name for name, shown in known.items()}


def variable_name(symbol: str) -> str:
    """What a variable is called in its source: one of C++, which may be local to a function, or of another language.

    >>> variable_name("_ZZ6rowsumIfEvPT_E4tile"), variable_name("_ZZ4kernE4tile_0"), variable_name("_ZN4mine4flagE")
    ('tile', 'tile', 'flag')
    >>> variable_name("_ZN12_GLOBAL__N_15countE")      # of a namespace without a name, which ends in a digit
    'count'
    """
    if not symbol.startswith("_Z"):
        return symbol
    for sized in reversed(list(re.finditer(rf"(?={SIZED.pattern})", symbol))):      # from each digit on
        start = sized.end(1)
        end = start + int(sized[1])
        if start < end <= len(symbol) and re.fullmatch(r"E?(_\d+_?|__\d+_)?", symbol[end:]):
            return symbol[start:end]
    return symbol


def same_name(one: str, other: str) -> bool:
    """Whether two names of C++ are one, whatever their spaces; the second may lack namespaces of the first.

    >>> same_name("mine::fold<true, const float*>", "fold< true,const float * >"), same_name("unfold", "fold")
    (True, False)
    """
    one, other = (re.sub(r"\s+", "", name) for name in (one, other))
    return one == other or one.endswith("::" + other)


class _Reader:
    """Recursive descent through a mangled name."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def _next(self):
        self.at += 1
        return self.text[self.at - 1]

    def _accept(self, letter):
        found = self.text.startswith(letter, self.at)
        self.at += len(letter) * found
        return found

    def name(self):
        """<name>: nested, or of one source name; with its template arguments."""
        if not self._accept("N"):
            prefix = "std::" if self._accept("St") else ""
            return prefix + self._simple()
        self._accept("K")
        parts = []
        while not self._accept("E"):
            parts.append("std" if self._accept("St") else self._simple())
        return "::".join(parts)

    def _simple(self):
        sized = SIZED.match(self.text, self.at)
        if sized is None:
            raise Unread
        self.at = sized.end() + int(sized[1])
        name = self.text[sized.end():self.at]
        if len(name) != int(sized[1]):
            raise Unread
        name = "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name
        return name + (f"<{', '.join(self._arguments())}>" if self._accept("I") else "")

    def _arguments(self):
        found = []
        while not self._accept("E"):
            found += self._arguments() if self._accept("J") else [self._argument()]
        return found

    def _argument(self):
        if self._accept("L"):
            return self._literal()
        if self.text[self.at] in _AROUND:
            return _AROUND[self._next()].format(self._argument())
        if self.text[self.at] in BUILTIN:
            return BUILTIN[self._next()]
        return self.name()

    def _literal(self):
        kind = self.text[self.at]
        called = None if kind in BUILTIN else self.name()
        self.at += called is None
        end = self.text.index("E", self.at) if "E" in self.text[self.at:] else -1
        value, self.at = self.text[self.at:end].replace("n", "-"), end + 1
        if end < 0 or not re.fullmatch(r"-?\d+", value):
            raise Unread
        return f"({called}){value}" if called else _SHOWN.get(kind, {}).get(value, value)
