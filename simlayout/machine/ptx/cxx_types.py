"""Types of a function's parameters in C++, of its mangled name (Itanium C++ ABI, section 5.1), and which arrays fit.

PTX says of a pointer only that it has 64 bits. The name of a kernel of CUDA C++ says what it points to, unless it is
extern "C".
"""

import re

import numpy as np

from simlayout.machine.ptx.cxx_names import BUILTIN, SIZED, Unread

_MORE = {"w": "wchar_t", "n": "__int128", "o": "unsigned __int128", "e": "long double", "z": "..."}
_TWO = {"Dh": "__half", "DF16_": "_Float16", "DF16b": "__bf16", "Dn": "std::nullptr_t", "Du": "char8_t", "Ds": "char16_t",
        "Di": "char32_t"}
_QUALIFIED = {"K": "const", "V": "volatile", "r": "__restrict__"}
_AROUND = {"P": "*", "R": "&", "O": "&&"}
_STD = {"Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_INDEX = re.compile(r"([0-9A-Z]*)_")

_FLOATS = {"float": "float32", "double": "float64", "__half": "float16", "half_t": "float16", "_Float16": "float16",
           "__nv_bfloat16": "bfloat16", "bfloat16_t": "bfloat16", "__bf16": "bfloat16", "__nv_fp8_e4m3": "float8_e4m3fn",
           "float_e4m3_t": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2", "float_e5m2_t": "float8_e5m2"}
_INTEGERS = {"short": "int16", "unsigned short": "uint16", "int": "int32", "unsigned int": "uint32", "long": "int64",
             "unsigned long": "uint64", "long long": "int64", "unsigned long long": "uint64", "bool": "bool"}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}
_VECTOR = re.compile(r"(u?(?:short|int|long|longlong)|float|double|__half|__nv_bfloat16)([234])")
_OF_VECTORS = {"short": "int16", "int": "int32", "long": "int64", "longlong": "int64", "float": "float32",
               "double": "float64", "__half": "float16", "__nv_bfloat16": "bfloat16"}


def parameter_types(mangled):
    """The types of a function's parameters as text, or None where its name does not say, or in a way that is not read here.

    >>> parameter_types("_Z9transposePfPKS_i"), parameter_types("_Z3sumIdLi32EEvPKT_PS0_"), parameter_types("plain")
    (['float*', 'float* const*', 'int'], ['const double*', 'double*'], None)
    """
    if not mangled.startswith("_Z"):
        return None
    try:
        return _Signature(mangled[2:]).parameters()
    except (Unread, IndexError, RecursionError):
        return None


def misfit(type, dtype):
    """Why an array of a dtype is not what a pointer of that type points to, as text that says what to pass; "" if it is, or
    may be: bytes are anything, and so are structs.

    >>> misfit("const float*", np.dtype(np.float64))
    'a float64 array for const float*: pass array.astype(np.float32), or array.view(np.float32) if its bytes are such'
    >>> misfit("float*", np.dtype(np.float32)), misfit("void*", np.dtype(np.float64)), misfit("__half*", np.dtype(np.uint16))
    ('', '', '')
    >>> misfit("__half2*", np.dtype(np.uint32)), misfit("float4*", np.dtype(np.float64))[:58]
    ('', 'a float64 array for float4*: pass array.astype(np.float32)')
    """
    to = re.sub(r"\b(const|volatile|__restrict__) ", "", type).removesuffix("*").rpartition("::")[2]
    if not type.endswith("*") or to.endswith("*") or dtype.itemsize == 1 or dtype.kind not in "biufcV":
        return ""
    if dtype.kind == "V" and not dtype.name.startswith(("bfloat", "float")):
        return ""                                        # a struct; those of ml_dtypes are V too
    kind, vector = dtype.kind, _VECTOR.fullmatch(to)
    nbytes = dtype.itemsize // 2 if kind == "c" else dtype.itemsize
    if vector is not None:
        wanted = "u" * vector[1].startswith("u") + _OF_VECTORS[vector[1].removeprefix("u")]
        size = np.dtype(wanted.replace("bfloat", "uint")).itemsize
        fits = nbytes <= size or kind in "iu" and nbytes == size * int(vector[2])       # a whole one as a number
    elif to in _FLOATS:
        wanted = _FLOATS[to]
        of_name = dtype.name == wanted or kind == "c" and nbytes == _BYTES[wanted]
        fits = of_name or kind in "iu" and nbytes == _BYTES[wanted] == 2                # NumPy itself has no bfloat16
    elif to in _INTEGERS:
        wanted, size = _INTEGERS[to], np.dtype(_INTEGERS[to]).itemsize
        fits = nbytes == size and kind in "iu" or to.startswith("unsigned") and kind not in "iuc" and nbytes <= size
    else:
        return ""
    if fits:
        return ""
    article = "an" if dtype.name[0] in "aeiou" else "a"
    of = f"np.{wanted}" if hasattr(np, wanted) else f"ml_dtypes.{wanted}"
    of = "bool" if wanted == "bool" else of
    return f"{article} {dtype.name} array for {type}: pass array.astype({of}), or array.view({of}) if its bytes are such"


class _Signature:
    """Recursive descent through a mangled name with its parameters. What a later part may stand for (S_, S0_, ...) is kept,
    and the template's arguments (T_, T0_, ...)."""

    def __init__(self, text):
        self._text, self._at, self._known, self._arguments = text, 0, [], []

    def parameters(self):
        """The types behind the name."""
        text = self._name(of_function=True)
        if text.endswith(">"):
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

    def _keep(self, text):
        self._known.append(text)
        return text

    def _name(self, of_function=False):
        if self._accept("N"):
            return self._nested(of_function)
        if self._text.startswith("S", self._at) and not self._text.startswith("St", self._at):
            text = self._substitution()
        else:
            text = "std::" * self._accept("St") + self._source()
            if self._peek_is("I"):
                self._keep(text)
        return text + self._template(of_function) if self._peek_is("I") else text

    def _nested(self, of_function):
        while self._at < len(self._text) and self._peek() in "rVK":
            self._at += 1
        text = ""
        while not self._accept("E"):
            if self._peek_is("I"):
                text += self._template(of_function)
            elif self._peek_is("St"):
                self._at += 2
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

    def _peek_is(self, letters):
        return self._text.startswith(letters, self._at)

    def _source(self):
        self._accept("L")
        sized = SIZED.match(self._text, self._at)
        if sized is None:
            raise Unread
        self._at = sized.end() + int(sized[1])
        return self._text[sized.end():self._at]

    def _template(self, of_function):
        self._at += 1
        found = []
        while not self._accept("E"):
            if self._peek_is("J") or self._peek_is("X"):
                raise Unread                             # a pack, or an expression
            found.append(self._literal() if self._accept("L") else self._type())
        if of_function:
            self._arguments = found
        return f"<{', '.join(found)}>"

    def _literal(self):
        self._type()
        end = self._text.index("E", self._at) if "E" in self._text[self._at:] else -1
        value, self._at = self._text[self._at:end], end + 1
        if end < 0 or not re.fullmatch(r"n?\d+", value):
            raise Unread
        return value

    def _number(self):
        """Of S_, S0_, ... or T_, T0_, ...: 0, 1, ..."""
        index = _INDEX.match(self._text, self._at)
        if index is None:
            raise Unread
        self._at = index.end()
        return int(index[1], 36) + 1 if index[1] else 0

    def _substitution(self):
        for short, text in _STD.items():
            if self._accept(short):
                return text
        self._at += 1
        return self._known[self._number()]

    def _parameter(self):
        self._at += 1
        return self._arguments[self._number()]

    def _type(self):
        for letters, text in _TWO.items():
            if self._accept(letters):
                return text
        letter = self._peek()
        if letter in BUILTIN or letter in _MORE:
            self._at += 1
            return BUILTIN.get(letter) or _MORE[letter]
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
        if letter == "N" or letter == "S" or letter.isdigit():
            return self._keep(self._name())
        raise Unread                                     # functions, arrays, members, packs
