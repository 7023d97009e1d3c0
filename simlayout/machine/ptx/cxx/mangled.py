"""A function's name and the types of its parameters, of its mangled name (Itanium C++ ABI, section 5.1, which nvcc and clang
follow on Linux)."""

import re
from collections.abc import Callable
from typing import TypeVar

Part = TypeVar("Part")

BUILTIN = {"v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
           "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
           "y": "unsigned long long", "f": "float", "d": "double", "w": "wchar_t", "n": "__int128", "o": "unsigned __int128",
           "e": "long double", "z": "...", "Dh": "__half", "DF16_": "_Float16", "DF16b": "__bf16", "Dn": "std::nullptr_t",
           "Du": "char8_t", "Ds": "char16_t", "Di": "char32_t"}
"""<builtin-type> of the ABI."""

SIZED = re.compile(r"([0-9]{1,9})(?![0-9])")
"""How many letters a <source-name> has, which follow."""

MOST = 1_000_000
"""Letters that are kept of a name at most: each part may stand for the one before it twice, and so for 2**n of the first."""

_LETTERS = sorted(BUILTIN, key=len, reverse=True)
_QUALIFIED = {"K": "const", "V": "volatile", "r": "__restrict__"}
_LEADING, _POINTER = re.compile("((?:(?:const|volatile) )*)"), re.compile(r"\*((?: \w+)*)$")
_AROUND = {"P": "*", "R": "&", "O": "&&"}
_STD = {"Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_TRUTH = {"0": "false", "1": "true"}
_VALUE = re.compile(r"(n?[0-9]+)E")
_INDEX = re.compile(r"([0-9A-Z]{0,9})_")
_FLOATS = {BUILTIN[letters] for letters in ("f", "d", "e", "Dh", "DF16_", "DF16b")}


class Unread(Exception):
    """A part of the ABI that is not read here: expressions, operators, functions, arrays, lambdas."""


class Mangled:
    """Recursive descent through a mangled name, without its _Z. What a later part may stand for (S_, S0_, ...) is kept, and
    the template's arguments (T_, T0_, ...). Raises Unread, or IndexError where the name ends too early."""

    def __init__(self, text: str):
        self._text, self._at, self._known, self._arguments = text, 0, [], []
        self._left = MOST

    def name(self) -> str:
        """The function's name, with namespaces and template arguments."""
        return self._name(of_function=True)

    def parameters(self) -> list[str]:
        """The types behind the name."""
        if self.name().endswith(">"):
            self._type()                                 # what a template returns
        found = []
        while self._at < len(self._text):
            found.append(self._type())
        return [] if found == ["void"] else found

    def _accept(self, letters):
        found = self._text.startswith(letters, self._at)
        self._at += len(letters) * found
        return found

    def _peek(self):
        return self._text[self._at]

    def _peek_is(self, letters):
        return self._text.startswith(letters, self._at)

    def _keep(self, text):
        self._known.append(text)
        self._left -= len(text)
        if self._left < 0:
            raise Unread
        return text

    def _name(self, of_function=False):
        if self._accept("N"):
            return self._nested(of_function)
        if self._peek_is("S") and not self._peek_is("St"):
            text = self._substitution()
        else:
            text = "std::" * self._accept("St") + self._source()
            if self._peek_is("I"):
                self._keep(text)
        return text + self._template(of_function) if self._peek_is("I") else text

    def _nested(self, of_function):
        while self._peek() in _QUALIFIED:
            self._at += 1
        text = ""
        while not self._accept("E"):
            if text:
                text += self._template(of_function) if self._peek_is("I") else f"::{self._source()}"
            elif self._accept("St"):
                text = f"std::{self._source()}"
            elif self._peek_is("S"):
                text = self._substitution()
                continue
            else:
                text = self._parameter() if self._peek_is("T") else self._source()
            if not self._peek_is("E"):
                self._keep(text)
        return text

    def _source(self):
        self._accept("L")
        sized = SIZED.match(self._text, self._at)
        if sized is None:
            raise Unread
        self._at = sized.end() + int(sized[1])
        name = self._text[sized.end():self._at]
        if len(name) != int(sized[1]):
            raise Unread
        while self._accept("B"):                         # an <abi-tag>, as Numba's names have
            self._source()
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def _template(self, of_function):
        self._at += 1
        found = self._pack()
        if of_function:
            self._arguments = found
        return f"<{', '.join(filter(None, found))}>"

    def _pack(self):
        found = []
        while not self._accept("E"):
            if self._accept("L"):
                found.append(self._literal())
            else:
                found.append(", ".join(self._pack()) if self._accept("J") else self._type())
        return found

    def _literal(self):
        builtin = self._peek() in BUILTIN
        kind = self._type()
        value = _VALUE.match(self._text, self._at)
        if value is None or kind in _FLOATS:             # these are written as their bits
            raise Unread
        self._at, value = value.end(), value[1].replace("n", "-")
        return (_TRUTH.get(value, value) if kind == "bool" else value) if builtin else f"({kind}){value}"

    def _number(self, base):
        """Of S_, S0_, ... or T_, T0_, ...: 0, 1, ...; the ABI counts the former by 36, the latter by 10."""
        index = _INDEX.match(self._text, self._at)
        if index is None or base == 10 and not index[1].isdigit() and index[1]:
            raise Unread
        self._at = index.end()
        return int(index[1], base) + 1 if index[1] else 0

    def _substitution(self):
        for short, text in _STD.items():
            if self._accept(short):
                return text
        self._at += 1
        return self._known[self._number(36)]

    def _parameter(self):
        self._at += 1
        return self._arguments[self._number(10)]

    def _type(self):
        for letters in _LETTERS:
            if self._accept(letters):
                return BUILTIN[letters]
        letter = self._peek()
        if letter in _QUALIFIED:
            words = []
            while self._peek() in _QUALIFIED:
                words.append(_QUALIFIED[self._peek()])
                self._at += 1
            return self._keep(_qualified(self._type(), words))
        if letter in _AROUND:
            self._at += 1
            return self._keep(_to(self._type(), _AROUND[letter]))
        if letter == "T":
            return self._keep(self._parameter())
        if letter == "S" and not self._peek_is("St"):
            text = self._substitution()
            return self._keep(text + self._template(False)) if self._peek_is("I") else text
        if letter in "NS" or letter.isdigit():
            return self._keep(self._name())
        raise Unread                                     # functions, arrays, members, expressions


def read(mangled: str, part: Callable[[Mangled], Part]) -> Part | None:
    """What `part` reads of a name; None where that is not mangled, or in a way that is not read here.

    >>> read("_Z3addPKfi", Mangled.name), read("_Z3addPKfi", Mangled.parameters), read("add", Mangled.name)
    ('add', ['const float*', 'int'], None)
    """
    if not mangled.startswith("_Z"):
        return None
    try:
        return part(Mangled(mangled[2:]))
    except (Unread, IndexError, RecursionError):
        return None


def _qualified(type, words):
    """A type with such words, each once; a reference takes none.

    >>> _qualified("float", ["const"]), _qualified("float*", ["const"]), _qualified("const float", ["const"])
    ('const float', 'float* const', 'const float')
    """
    if type.endswith("&"):
        return type
    pointer = _POINTER.search(type)
    there = (pointer or _LEADING.match(type))[1].split()
    more = [word for word in words if word not in there]
    return " ".join([type, *more] if pointer else [*more, type])


def _to(type, around):
    """A pointer or a reference to a type; a reference to a reference is one: && if both are, else &.

    >>> _to("int", "&&"), _to("int&", "&&"), _to("int&&", "&"), _to("int&&", "&&")
    ('int&&', 'int&', 'int&', 'int&&')
    """
    if around == "*" or not type.endswith("&"):
        return type + around
    both = around == "&&" and type.endswith("&&")
    return type.rstrip("&") + ("&&" if both else "&")
