"""Arrays in shared memory in the source of CUDA C++: where one is declared and used, its shape, and how an edit would read.

The source is not compiled here: comments and strings are blanked, and declarations are found by their form. What cannot be
read so, a size that comes from elsewhere for example, is left alone.
"""

import ast
import re
from math import prod

from simlayout.machine.ptx.declared.declarations import NoEdit, Replacement

SIZES = {1: "bool char int8_t uint8_t __nv_fp8_e4m3 __nv_fp8_e5m2", 2: "short int16_t uint16_t half __half __nv_bfloat16",
         4: "int unsigned long float int32_t uint32_t half2 __half2 __nv_bfloat162",
         8: "double int64_t uint64_t size_t float2 int2 uint2", 16: "float4 int4 uint4 double2"}
"""Bytes -> types of CUDA C++ (CUDA C++ Programming Guide, Built-in Vector Types); `long` is told apart below."""

_QUALIFIERS = re.compile(r"\b(?:__align__|alignas)\s*\([^()]*\)|\b(?:const|volatile|static|extern|signed|std::)\b|std::")
_UNREAD = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAMED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$|"
                    r"\b(?:constexpr|const)\s[\w\s:]*?\b(\w+\s*=[^;{}]+);|"
                    r"\benum\b[\w\s:]*\{([^{};]*)\}", re.MULTILINE)
"""A macro and its text; constants, or those of an enum, each with what it is set to."""

_STATEMENT = re.compile(r"__shared__\b([^;{}]*);")
_DECLARATOR = re.compile(r"\b([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)+)(?=[,=]|\Z)")
_TEMPLATE = re.compile(r"\btemplate\s*<([^<>{};]*)>")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+(\([^()]*\))?((?:\\\n|.)*)$", re.MULTILINE)
_NO_TYPES = {"return", "else", "do", "case", "throw", "sizeof"}
_ADDRESS = re.compile(r"(?:(?:^|[^\w)\]&\s]|\*\s*\)|\breturn)\s*)&$")
_KEPT = re.compile(r"[^=!<>]=\s*(?:\([^()]*\)\s*|\w+_cast\s*<[^<>]*>\s*\(\s*)?&\s*$")
_CAST = re.compile(r"_cast\s*<|\(\s*(?:const\s+)?[\w:]+(?:\s*<[^<>]*>)?(?:\s+const)?\s*[*&]+\s*(?:const\s*)?\)")
_PIECE = re.compile(r"(?:\*\s*(?:reinterpret_cast\s*<[^<>]*\*\s*>\s*\(|\(?\s*\([^()]*\*\s*\))|"
                    r"\b__pipeline_memcpy_async\s*\()\s*&$")
"""What takes a piece of several elements by the address of the first, and goes no further."""

_DOES_MORE = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=|\batomic")


def blanked(source: str) -> str:
    """A text without comments, strings and characters, each a blank in its place.

    >>> blanked("a /* b */ c // d")
    'a         c     '
    """
    return _UNREAD.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def symbol_name(symbol: str) -> str:
    """The name in the source of a variable of PTX: the last one of a mangled name (Itanium C++ ABI).

    >>> symbol_name("_ZZ12softmax_rowsILi64EEvPKfPfiE1t"), symbol_name("_ZZ1kPfE4tile_0"), symbol_name("keys")
    ('t', 'tile', 'keys')
    """
    if not symbol.startswith("_Z"):
        return symbol
    for at in range(len(symbol) - 1, 1, -1):
        found = re.match(r"(\d+)([A-Za-z_]\w*)", symbol[at:])
        if found and (name := found[2][:int(found[1])]) and re.fullmatch(r"(?:E|_\d+_?)?", found[2][len(name):]) \
                and len(name) == int(found[1]):
            return name
    return symbol


class CxxDeclaration:
    """A declaration `__shared__ TYPE NAME[SIZE]...` in a source of CUDA C++.

    name: of the array; line: of the declaration, from 1; dimensions: the texts of its sizes, "" of `[]`; type: as written;
    body: (start, end) in the source of the block in which it stands, of all of it outside of blocks.
    """

    def __init__(self, source: str, text: str, statement: re.Match, declarator: re.Match):
        start = statement.start(1)
        self.source, self._text, self.name = source, text, declarator[1]
        self._at, self._end = start + declarator.start(), start + declarator.end()
        self.line = self._line(self._at)
        sizes = re.finditer(r"\[([^\[\]]*)\]", declarator[2])
        first = start + declarator.start(2)
        self._sizes = [(first + one.start(1), first + one.end(1)) for one in sizes]
        self.dimensions = tuple(source[begin:end].strip() for begin, end in self._sizes)
        self.type = " ".join(_QUALIFIERS.sub(" ", statement[1][:_first(statement[1])]).split())
        self.body = _block(text, start)

    def lines(self) -> range:
        """The lines of its block."""
        return range(self._line(self.body[0]), self._line(self.body[1]) + 1)

    def shape(self, nbytes: int, arguments: tuple[str, ...] = ()) -> tuple[int, ...]:
        """Its lengths, with which it fills nbytes; () where they cannot be told. arguments: of the kernel's template.

        Names of macros and constants of the file are known, and those of the template; of the element's size and the
        lengths one may be unknown, because the product is nbytes.
        """
        names = self._names(arguments)
        itemsize = _size_of([names[word] if names.get(word) in _ITEM_SIZES else word for word in self.type.split()])
        lengths = [_value(size, names) for size in self.dimensions]
        known = prod(n for n in lengths if n) * (itemsize or 1)
        unknown = lengths.count(None) + (itemsize is None)
        if unknown > 1 or known <= 0 or nbytes % known or not unknown and known != nbytes:
            return ()
        return tuple(nbytes // known if n is None else n for n in lengths)

    def padded(self, shape: tuple[int, ...], dim: int, by: int) -> tuple[Replacement, ...]:
        """The declaration with `by` more elements along a dimension; none for `[]`, whose size the launch gives."""
        size = self.dimensions[dim]
        if not size:
            return ()
        text = f"({size})" if re.search(r"[<>?&|^=]", size) else size
        return (Replacement(*self._sizes[dim], f"{text} + {by}"),)

    def stands_for(self, shape: tuple[int, ...], dim: int, by: int) -> str:
        """What else has to follow the number: pitches that the source passes or computes by itself, bytes of a launch."""
        if not self.dimensions[dim]:
            return "which the launch gives as dynamic shared memory"
        told = [f"wmma's ldm on line {self._line(found.start())} grows by {by} too" for found in
                re.finditer(rf"\b\w+_matrix_sync\b[^;]*?\b{self.name}\b[^;]*;", self._text[:self.body[1]])
                if found.start() >= self.body[0]]
        try:
            told += self._assumed(self._indices(len(shape)), dim)
        except NoEdit as error:
            told.append(f"{error}: a pitch that is computed there grows too")
        return "; ".join(told)

    def _assumed(self, indices, dim):
        """What padding assumes of uses: of a pointer that is kept, and of an index of a row whose number is fixed."""
        for spans in indices:
            before = self._text[self.body[0]:spans[0][0] - 1].rstrip().removesuffix(self.name)
            if _KEPT.search(before):
                yield f"a pitch that is computed from the address on line {self._line(spans[0][0])} grows too"
            elif _ADDRESS.search(before) and self._may_leave_its_row(spans):
                yield f"right if what uses the address on line {self._line(spans[0][0])} stays in its row"
            elif 0 < dim == len(spans) - 1 and [self._is_below(span, 1 << 30) for span in spans] == [True] * dim + [False]:
                yield f"right if the index on line {self._line(spans[0][0])} stays in its row"

    def _may_leave_its_row(self, spans):
        """Whether an address may be taken for that of many rows: the first element's, or one that is indexed or added to."""
        begin, end = self._at_statement(spans[0][0]), spans[-1][1] + 1
        first = all(self._is_below(span, 1) for span in spans) and "_matrix_sync" not in self._text[begin:end]
        return first or re.match(r"\s*\)\s*[\[+-]|\s*\+", self._text[end:]) is not None

    def swizzled(self, shape: tuple[int, ...], shift: int) -> tuple[Replacement, ...]:
        """All last indices x as x ^ (y >> shift), y the index before it, cut to the last dimension."""
        made = []
        for *_, y, x in self._moved(len(shape), slice(-2, -1)):
            if self._is_below(y, 1 << shift):
                continue
            row = f"({self._operand(y)} >> {shift})" if shift else self._operand(y)
            cut = f" % {shape[-1]}" if (shape[-2] - 1) >> shift >= shape[-1] else ""
            made.append(Replacement(*x, f"{self._operand(x)} ^ {row}{cut}"))
        return tuple(made)

    def skewed(self, shape: tuple[int, ...], every: int, more: int = 1) -> tuple[Replacement, ...]:
        """All indices i of an array with one dimension as i + i / every * more, and as many elements as that needs. Of a
        piece of `more` elements that is taken at once the first one moves."""
        times = f" * {more}" if more > 1 else ""
        made = [Replacement(*i, f"{self._operand(i)} + {self._operand(i)} / {every}{times}")
                for i, in self._moved(1, slice(1), more > 1) if not self._is_below(i, every)]
        return (*self.padded(shape, 0, (shape[0] - 1) // every * more), *made)

    def by_elements(self, shape: tuple[int, ...]) -> bool:
        """Whether the source takes one element at a time, so that each may lie anywhere: then accesses of several are the
        compiler's, which knows how they lie. A cast anywhere in the file may be one of pieces, as those of macros are."""
        try:
            self._moved(len(shape), slice(0))
        except NoEdit:
            return False
        return not _CAST.search(self._text)

    # ---- parts ---------------------------------------------------------------------------------------------------

    def _names(self, arguments):
        """{name: text} of macros and constants ahead of it, and of the template's parameters."""
        names = {}
        for found in _NAMED.finditer(self._text, 0, self._at):
            names.update([(found[1], found[2].strip())] if found[1] else _constants(found[3] or found[4]))
        templates = list(_TEMPLATE.finditer(self._text, 0, self.body[0]))
        if templates and arguments:
            parameters = [one.split("=")[0].split() for one in templates[-1][1].split(",")]
            names.update(zip((words[-1] for words in parameters if words), arguments))
        return names

    def _indices(self, dimensions: int) -> list[list[tuple[int, int]]]:
        """[(start, end) of each index] of all its uses. Raises NoEdit where it is used otherwise."""
        made = []
        for found in re.finditer(rf"(?<![\w.>]){re.escape(self.name)}\b", self._text[:self.body[1]]):
            if found.start() < self.body[0] or self._at <= found.start() < self._end:
                continue
            spans: list[tuple[int, int]] = []
            at = found.end()
            while (opened := re.compile(r"\s*\[").match(self._text, at)) and len(spans) < dimensions:
                at = _closed(self._text, opened.end())
                spans.append((opened.end(), at - 1))
            if len(spans) < dimensions:
                raise NoEdit(f"{self.name} is used as a whole on line {self._line(found.start())}")
            made.append(spans)
        return made

    def _moved(self, dimensions: int, twice: slice, pieces: bool = False) -> list[list[tuple[int, int]]]:
        """The same, of uses whose elements may move each by itself, or in whole pieces. twice: which indices an edit has
        twice. Raises NoEdit where an edit of the indices would miss some elements, or would not be all that it changes."""
        for found in _MACRO.finditer(self._text, 0, self.body[0]):
            if self._names_it(found[2]) and not self._names_it(found[1] or ""):
                raise NoEdit(f"the macro on line {self._line(found.start(1))} uses {self.name}")
        made = self._indices(dimensions)
        for spans in made:
            line = self._line(spans[0][0])
            before = self._text[self.body[0]:spans[0][0] - 1].rstrip().removesuffix(self.name).rstrip()
            word = re.search(r"\b[A-Za-z_]\w*$", before)
            if word and word[0] not in _NO_TYPES:
                raise NoEdit(f"{self.name} is declared again on line {line}")
            if _ADDRESS.search(before) and not re.search(r"\batomic\w+\s*\(\s*&$", before) and not (
                    pieces and _PIECE.search(before)):
                raise NoEdit(f"the address of an element of {self.name} is taken on line {line}")
            if any(_DOES_MORE.search(self._text, *span) for span in spans[twice]):
                raise NoEdit(f"an index of {self.name} on line {line} does more than to give a number")
            if any(self._names_it(self._text[start:end]) for start, end in spans):
                raise NoEdit(f"an index of {self.name} on line {line} is one of its own elements")
        return made

    def _names_it(self, text):
        return re.search(rf"\b{re.escape(self.name)}\b", text)

    def _at_statement(self, at):
        """Where the statement around a place begins."""
        return max(self._text.rfind(mark, 0, at) for mark in ";{}") + 1

    def _line(self, at):
        return self._text.count("\n", 0, at) + 1

    def _operand(self, span):
        text = _COMMENT.sub(" ", self.source[slice(*span)]).strip()
        return text if re.fullmatch(r"[\w.]+", text) else f"({text})"

    def _is_below(self, span, most):
        """Whether an index is a number that an edit leaves as it is, because it is less than so much."""
        text = self._operand(span)
        return re.fullmatch("[0-9]{1,9}", text) is not None and int(text) < most


def declarations(source: str) -> list[CxxDeclaration]:
    """All arrays that a source declares in shared memory.

    >>> a, t = declarations("__global__ void k() {\\n  __shared__ float a[8], t[32][N + 1]; t[0][1] = 2; }")
    >>> t.name, t.line, t.dimensions, t.type, t.shape(4224)
    ('t', 2, ('32', 'N + 1'), 'float', (32, 33))
    """
    text = blanked(source)
    return [CxxDeclaration(source, text, statement, one) for statement in _STATEMENT.finditer(text)
            for one in _DECLARATOR.finditer(statement[1])]


def _constants(text):
    """(name, text) of each constant that is set in what a declaration, or an enum, has.

    >>> list(_constants("BINS = f(1, 2), WARPS = 8")), list(_constants("n = 4, int k = 3)")), list(_constants("A, B = 2"))
    ([('BINS', 'f(1, 2)'), ('WARPS', '8')], [], [('B', '2')])
    """
    parts, depth = [""], 0
    for one in text:
        depth += (one in "([{") - (one in ")]}")
        if depth < 0:                                    # the default of a parameter is no constant
            return
        if one == "," and not depth:
            parts.append("")
        else:
            parts[-1] += one
    for part in parts:
        if found := re.fullmatch(r"\s*(\w+)\s*=\s*(.*?)\s*", part, re.DOTALL):
            yield found[1], found[2]


def _first(declared):
    """Where the first array is named in what follows `__shared__`."""
    return next(_DECLARATOR.finditer(declared)).start()


_ITEM_SIZES = {name: size for size, names in SIZES.items() for name in names.split()}


def _size_of(words):
    """Bytes of a type, of its words; None where it is not known. What stands behind the type is a declarator."""
    known = [word for word in words if word in _ITEM_SIZES]
    if words[:2] in (["long", "long"], ["unsigned", "long"]) or words[:1] == ["long"]:
        return 8
    if words[:1] == ["unsigned"] and len(known) > 1:
        return _ITEM_SIZES[known[1]]
    return _ITEM_SIZES.get(words[0]) if words else None


def _value(text, names, depth=8):
    """An integer of whole numbers, names and + - * / % << >>, None where it cannot be told."""
    try:
        return _evaluated(ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", text).strip(), mode="eval").body, names, depth)
    except (SyntaxError, ValueError, RecursionError, ZeroDivisionError, OverflowError):
        return None


_OPERATIONS = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.Div: int.__floordiv__,
               ast.Mod: int.__mod__, ast.LShift: int.__lshift__, ast.RShift: int.__rshift__}
_MOST = 1 << 20
"""Of a length or a part of it."""


def _evaluated(node, names, depth):
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _MOST:
        return node.value
    if isinstance(node, ast.Name) and node.id in names and depth:
        return _value(names[node.id], names, depth - 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _evaluated(node.left, names, depth), _evaluated(node.right, names, depth)
        if None not in (left, right) and 0 <= right <= (_MOST if type(node.op) is not ast.LShift else 20):
            return _OPERATIONS[type(node.op)](left, right)
    return None


def _block(text, at):
    """(start, end) of the innermost braces around a place, inside of them; of the text where there are none."""
    depth = 0
    for start in range(at - 1, -1, -1):
        depth += (text[start] == "}") - (text[start] == "{")
        if depth < 0:
            return start + 1, _closed(text, start + 1) - 1
    return 0, len(text)


def _closed(text, at):
    """Behind the bracket that closes what was opened just ahead of a place."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return at
