"""PTX text as tokens, each with its place.

A token is one of: a word with what hangs on it by dots (`ld.global.v2.u32`, `%tid.x`, `$L__BB0_1`), a suffix or directive
that stands alone (`.reg`, `.shared::cta`), a number (PTX ISA 4.5), a string, or a mark. What no rule knows is a token of
one character, which the grammar refuses where it stands. "" is the end of the text.
"""

import re
from bisect import bisect_right
from typing import NoReturn

from simlayout.errors import ParseError

_SKIPPED = (r"(?:[ \t\r\n\f\v]+|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|"
            r"@@DWARF[^\n]*|^#[ \t]*[0-9][^\n]*)*")       # debugging data of PTX 1, marks of a preprocessor
_TAIL = r"[A-Za-z0-9_$]"
_NUMBER = (r"0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|"
           r"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+U?")
_TOKEN = re.compile(_SKIPPED + "(" + "|".join((
    rf"(?:%{_TAIL}|[A-Za-z_$]){_TAIL}*(?:(?:\.|::){_TAIL}+)*",
    rf"(?:{_NUMBER})(?!{_TAIL}|::)",
    rf"\.{_TAIL}+(?:::{_TAIL}+)*",
    rf"[0-9]{_TAIL}*",                                           # no number of PTX, and shown whole
    r'"(?:[^"\\\n]|\\[^\n])*"', r"<<|>>|<=|>=|==|!=|&&|\|\|",
    r'/\*.*|"[^\n]*',                     # a comment or string that does not end: all of it, so that nobody reads it twice
    ".", r"\Z")) + ")", re.DOTALL | re.MULTILINE)

_SECTION = re.compile(r"^([ \t]*\.section\s+\.[\w$.]+\s*\{)[^{}\"/@#]*(?=\})", re.MULTILINE)
"""A section of debugging data, of which nobody needs the tokens: often more than all others. Of one with quotes or comments
in it they are taken."""

_WORD = re.compile(rf"(?:%{_TAIL}|[A-Za-z_$]){_TAIL}*\Z")

MAX_NESTING = 32        # of parentheses and signs in a constant expression, and of braces in an initial value
_SHOWN = 40             # characters of a token in a message


class Tokens:
    """The tokens of a text and a cursor: words[at] is the next one, starts[at] its offset in the text.

    >>> Tokens("@!%p bra $L1; // on").words[:-2]
    ['@', '!', '%p', 'bra', '$L1', ';']
    >>> Tokens("ld.shared::cta.v2.b32 {%r1, _}, [%rd1+-16];").words[:6]
    ['ld.shared::cta.v2.b32', '{', '%r1', ',', '_', '}']
    >>> tokens = Tokens("ret", "kernel.ptx")
    >>> tokens.require(";")
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: kernel.ptx:1:1: expected ';', found 'ret'
    """

    def __init__(self, text: str, path: str = "<text>"):
        self.text = text.rstrip("\0")                  # NVRTC's PTX ends with a zero, as strings of C do
        self.path = path
        self.at = 0
        self.words: list[str] = []
        self.starts: list[int] = []
        for match in _TOKEN.finditer(_SECTION.sub(lambda found: found[1].ljust(len(found[0])), self.text)):
            self.words.append(match[1])
            self.starts.append(match.start(1))
        while not self.words[-1]:                      # finditer may find the end twice
            del self.words[-1], self.starts[-1]
            if not self.words:
                break
        self.words += ["", ""]                         # whoever looks at the token behind the next need not ask
        self.starts += [len(self.text.rstrip())] * 2
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, at: int) -> tuple[int, int]:
        """The line and the column of a token, from 1."""
        line = bisect_right(self._lines, self.starts[at])
        return line, self.starts[at] - self._lines[line - 1] + 1

    def line(self, at: int) -> int:
        """The line of a token, from 1."""
        return bisect_right(self._lines, self.starts[at])

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        """Raises the ParseError that says what was expected in place of a token, the next one unless given."""
        at = self.at if at is None else at
        word = self.words[at]
        line, column = self.place(at)
        found = repr(word if len(word) <= _SHOWN else word[:_SHOWN] + "...") if word else "the end of the text"
        path = " ".join(self.path.splitlines())
        raise ParseError(f"{path}:{line}:{column}: expected {expected}, found {found}")

    def accept(self, word: str) -> bool:
        """Whether the next token is this one; it is passed if so."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def require(self, word: str, expected: str | None = None) -> None:
        """Passes this token; a ParseError if the next one is another."""
        if self.words[self.at] != word:
            self.fail(expected or repr(word))
        self.at += 1

    def name(self, expected: str = "a name") -> str:
        """Passes a word without dots, which is returned."""
        word = self.words[self.at]
        if not is_name(word):
            self.fail(expected)
        self.at += 1
        return word

    def string(self) -> str:
        """Passes a string; returns it without its quotes. LLVM writes bytes beyond ASCII in octal, as \\303\\251."""
        word = self.words[self.at]
        if len(word) < 2 or word[0] != '"' or word[-1] != '"':
            self.fail("a string in double quotes")
        self.at += 1
        if "\\" not in word:
            return word[1:-1]
        return _ESCAPE.sub(_unescaped, word[1:-1].encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def strings(self) -> list[str]:
        """Passes strings with commas between them."""
        found = [self.string()]
        while self.accept(","):
            found.append(self.string())
        return found


_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))")
"""A character of a string behind a backslash: a byte as three octal digits, or itself."""


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)]) if found[1] else found[2]


def is_name(word: str) -> bool:
    """Whether a token is a word without dots."""
    return _WORD.match(word) is not None
