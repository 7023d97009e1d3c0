"""A function's name and the types of its parameters, of its mangled name (Itanium C++ ABI, section 5.1, which nvcc and clang
follow on Linux)."""

import re

BUILTIN = {"v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
           "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
           "y": "unsigned long long", "f": "float", "d": "double", "w": "wchar_t", "n": "__int128", "o": "unsigned __int128",
           "e": "long double", "z": "...", "Dh": "__half", "DF16_": "_Float16", "DF16b": "__bf16", "Dn": "std::nullptr_t",
           "Du": "char8_t", "Ds": "char16_t", "Di": "char32_t"}
"""<builtin-type> of the ABI."""

SIZED = re.compile(r"(\d+)")
"""How many letters a <source-name> has, which follow."""

_LETTERS = sorted(BUILTIN, key=len, reverse=True)
_QUALIFIED = {"K": "const", "V": "volatile", "r": "__restrict__"}
_AROUND = {"P": "*", "R": "&", "O": "&&"}
_STD = {"Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_TRUTH = {"0": "false", "1": "true"}
_INDEX = re.compile(r"([0-9A-Z]*)_")


class Unread(Exception):
    """A part of the ABI that is not read here: expressions, operators, functions, arrays, lambdas."""


class Mangled:
    """Recursive descent through a mangled name, without its _Z. What a later part may stand for (S_, S0_, ...) is kept, and
    the template's arguments (T_, T0_, ...). Raises Unread, or IndexError where the name ends too early."""

    def __init__(self, text: str):
        self._text, self._at, self._known, self._arguments = text, 0, [], []

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
            if self._peek_is("I"):
                text += self._template(of_function)
            elif self._accept("St"):
                text = "std"
                continue
            elif self._peek_is("S"):
                text = self._substitution()
                continue
            elif self._peek_is("T"):
                text = self._parameter()
            else:
                text = (text and text + "::") + self._source()
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
        end = self._text.index("E", self._at) if "E" in self._text[self._at:] else -1
        value, self._at = self._text[self._at:end].replace("n", "-"), end + 1
        if end < 0 or not re.fullmatch(r"-?\d+", value):
            raise Unread
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
            inner = self._type()
            text = f"{inner} {' '.join(words)}" if inner.endswith("*") else f"{' '.join(words)} {inner}"
            return self._keep(text)
        if letter in _AROUND:
            self._at += 1
            return self._keep(self._type() + _AROUND[letter])
        if letter == "T":
            return self._keep(self._parameter())
        if letter == "S" and not self._peek_is("St"):
            text = self._substitution()
            return self._keep(text + self._template(False)) if self._peek_is("I") else text
        if letter in "NS" or letter.isdigit():
            return self._keep(self._name())
        raise Unread                                     # functions, arrays, members, expressions
