"""Bodies of functions: instructions, labels, what is declared between them, and the source line of each.

    body        = "{" { statement } "}"
    statement   = body | label ":" | label ":" table ";" | registers | variables | ".pragma" string { "," string } ";"
                | ".loc" place ["," "function_name" label ["+" integer] "," "inlined_at" place]
                | ["@" ["!"] register] opcode { modifier } [operand { "," operand }] ";"
    call        = "call" { modifier } [arguments ","] operand ["," arguments] ["," operand] ";"
    table       = ".branchtargets" names | ".calltargets" names
                | ".callprototype" [parameters] "_" [parameters] { directive }
    names       = (name ["<" integer ">"]) { "," ... }
    place       = file line column
"""

import re
from collections.abc import Callable, MutableMapping, Sequence

from simlayout.machine.ptx.parser.constants import number
from simlayout.machine.ptx.parser.declarations import LINKAGES, SPACES, declarator, kind, linked, parameters, registers
from simlayout.machine.ptx.parser.operands import Operands
from simlayout.machine.ptx.parser.scopes import Names, Pending, Scope
from simlayout.machine.ptx.parser.tokens import Tokens
from simlayout.machine.ptx.syntax import (
    BITS,
    Arguments,
    Instruction,
    Label,
    Negated,
    Operand,
    Prototype,
    Register,
    Site,
    Symbol,
)

_USED_BYTES = re.compile(r"used_bytes_mask\s+(0[xX][0-9a-fA-F]+|[0-9]+)")
_OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)*\Z")
_MODIFIER = re.compile(r"\.(?:[A-Za-z_]|[0-9]+[A-DF-Za-df-z])")
_STATEMENT = "an instruction, a label, a declaration or '}'"
_CALLERS = 32           # of a place that is inlined into itself, as a recursive function is
_MOST_NAMES = 1024      # that a table writes as `name<n>`
MAX_SCOPES = 64         # within each other
_TABLES = (".branchtargets", ".calltargets", ".callprototype")
_MARKS = ("", "@", "{", "}", ";", ":")


class Body:
    """Reads one body, from its first brace to its last."""

    def __init__(self, tokens: Tokens, names: Names, scope: Scope, files: dict[int, str], sizes: MutableMapping[str, int],
                 refer: Callable[[str, int], str]):
        self.tokens, self.names, self.files, self.sizes = tokens, names, files, sizes
        self.refer = refer
        self.scope = scope
        self.pragmas: list[str] = []
        self.used_bytes: int | None = None               # of the next instruction, as is
        self.nounroll = False
        self.depth = 0
        self.operands = Operands(tokens, scope, sizes)
        self.site: Site | None = None
        self._sites: dict[tuple[int, int, int], Site] = {}
        self._opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}

    def whole(self) -> list[Pending]:
        """Passes the body; returns the names that no label in it has."""
        tokens, words = self.tokens, self.tokens.words
        tokens.require("{")
        while True:
            word = words[tokens.at]
            if words[tokens.at + 1] == ":" and word not in _MARKS:
                self._label()
            elif word[:1] == ".":
                self._directive(word)
            elif word == "{":
                self._open()
            elif word == "}":
                tokens.at += 1
                left = self.scope.close()
                if self.scope.parent is None:
                    return left
                self._enter(self.scope.parent, -1)
            else:
                self._instruction()

    def _open(self) -> None:
        if self.depth >= MAX_SCOPES:
            self.tokens.fail(f"at most {MAX_SCOPES} scopes within each other")
        self.tokens.at += 1
        self._enter(Scope(self.tokens, self.names, self.scope), 1)

    def _enter(self, scope: Scope, deeper: int) -> None:
        self.scope = self.operands.scope = scope
        self.depth += deeper

    def _instruction(self) -> None:
        tokens, words, body = self.tokens, self.tokens.words, self.names.body
        first = tokens.at
        self.operands.place = len(body)
        guard: Register | Negated | None = None
        if words[first] == "@":
            tokens.at += 1
            if tokens.accept("!"):
                guard = Negated(self.operands.register("pred"))
            else:
                guard = self.operands.register("pred")
        opcode, modifiers = self._opcode()
        operands = self._call() if opcode == "call" else self._listed(opcode)
        semicolon = tokens.at
        if words[semicolon] != ";":
            tokens.fail("',' or ';'")
        tokens.at += 1
        line, column = tokens.place(first)
        text = tokens.text[tokens.starts[first]:tokens.starts[semicolon] + 1]
        body.append(Instruction(opcode, modifiers, operands, guard, line, column, self.site, text, self.used_bytes,
                                self.nounroll))
        self.used_bytes, self.nounroll = None, False

    def _opcode(self) -> tuple[str, tuple[str, ...]]:
        tokens, words = self.tokens, self.tokens.words
        word = words[tokens.at]
        found = self._opcodes.get(word)
        if found is None:
            if not _OPCODE.match(word):
                tokens.fail(_STATEMENT if word != "@" else "an instruction")
            opcode, *modifiers = word.split(".")
            if word.startswith("cp.async."):             # ptxas takes its .ca or .cg in any place
                modifiers.sort(key=lambda modifier: {"async": 0, "ca": 1, "cg": 1}.get(modifier, 2))
            found = self._opcodes[word] = opcode, tuple(modifiers)
        tokens.at += 1
        while _MODIFIER.match(words[tokens.at]):        # behind a space
            found = found[0], (*found[1], *words[tokens.at][1:].split("."))
            tokens.at += 1
        return found

    def _listed(self, opcode: str) -> tuple[Operand, ...]:
        tokens, words = self.tokens, self.tokens.words
        if words[tokens.at] == ";":
            return ()
        self.operands.of_address = opcode in ("mov", "cvta")
        operand = self.operands.operand
        found = [operand()]
        while words[tokens.at] == ",":
            tokens.at += 1
            found.append(operand())
        return tuple(found)

    def _call(self) -> tuple[Operand, ...]:
        """Returns, callee, parameters, and the table of an indirect call."""
        tokens, operands = self.tokens, self.operands
        returns = Arguments(())
        if tokens.words[tokens.at] == "(":
            returns = operands.arguments()
            tokens.require(",")
        at = tokens.at
        callee = operands.operand()
        if not isinstance(callee, Symbol | Register):
            tokens.fail("a function", at)
        given = Arguments(())
        table: tuple[Operand, ...] = ()
        if tokens.accept(","):
            if tokens.words[tokens.at] == "(":
                given = operands.arguments()
                if tokens.accept(","):
                    table = (self._table_named(),)
            else:
                table = (self._table_named(),)
        return returns, callee, given, *table

    def _table_named(self) -> Operand:
        at = self.tokens.at
        found = self.operands.operand()
        if not isinstance(found, Symbol):
            self.tokens.fail("a table or prototype", at)
        return found

    def _label(self) -> None:
        tokens = self.tokens
        at = tokens.at
        name = self.scope.label(tokens.name("a label"), at)
        tokens.require(":")
        word = tokens.words[tokens.at]
        if word not in _TABLES:
            self.names.body.append(Label(name, tokens.line(at)))
            return
        tokens.at += 1
        self.names.tables[name] = self._prototype() if word == ".callprototype" else self._targets(name)
        tokens.require(";")

    def _targets(self, table: str) -> tuple[str, ...]:
        tokens = self.tokens
        found: list[str] = []
        while True:
            at = tokens.at
            name = tokens.name("a label or function")
            listed = [name]
            if tokens.accept("<"):
                listed = [f"{name}{n}" for n in range(number(tokens, most=_MOST_NAMES))]
                tokens.require(">")
            self.scope.pending += [Pending(each, at, table) for each in listed]
            found += listed
            if not tokens.accept(","):
                return tuple(found)

    def _prototype(self) -> Prototype:
        tokens = self.tokens
        returns = parameters(tokens, None) if tokens.words[tokens.at] == "(" else ()
        tokens.name("'_'")
        given = parameters(tokens, None) if tokens.words[tokens.at] == "(" else ()
        noreturn = False
        while tokens.words[tokens.at] in (".noreturn", ".abi_preserve", ".abi_preserve_control"):
            noreturn |= tokens.words[tokens.at] == ".noreturn"
            tokens.at += 1
            if tokens.words[tokens.at - 1] != ".noreturn":
                number(tokens)
        return Prototype(returns, given, noreturn)

    def _directive(self, word: str) -> None:
        tokens = self.tokens
        if word == ".loc":
            tokens.at += 1
            self._loc()
        elif word == ".reg":
            tokens.at += 1
            registers(tokens, self.scope)
        elif word in SPACES or word in LINKAGES:
            self._variables()
        elif word == ".pragma":
            tokens.at += 1
            self._pragma(tokens.strings())
            tokens.require(";")
        else:
            tokens.fail(_STATEMENT)

    def _pragma(self, strings: Sequence[str]) -> None:
        for string in strings:
            found = _USED_BYTES.fullmatch(string)
            if found:
                self.used_bytes = int(found[1], 0)
            else:
                self.pragmas.append(string)
                self.nounroll |= string == "nounroll"

    def _variables(self) -> None:
        tokens = self.tokens
        linkage = linked(tokens)
        of = kind(tokens)
        while True:
            variable = declarator(tokens, of, linkage, self.scope.symbol, self._refer)
            self.names.variables[variable.name] = variable
            self.sizes[variable.name] = BITS[variable.type] // 8
            if not tokens.accept(","):
                break
        tokens.require(";", "',', '=' or ';'")

    def _refer(self, name: str, at: int) -> str:
        found = self.scope.find(name)
        return found.name if isinstance(found, Symbol) else self.refer(name, at)

    def _loc(self) -> None:
        tokens = self.tokens
        place = self._place()
        callers: tuple[tuple[str, int], ...] = ()
        if tokens.accept(","):
            tokens.require("function_name")
            if tokens.words[tokens.at][:1] != ".":
                tokens.name("a label of a debugging section")
            else:
                tokens.at += 1
            if tokens.accept("+"):
                number(tokens)
            tokens.require(",")
            tokens.require("inlined_at")
            caller = self._place()
            further = self._sites.get(caller)
            callers = ((self._file(caller[0]), caller[1]), *(further.callers if further else ()))[:_CALLERS]
        if not place[1]:
            return                                       # of no line: ptxas leaves it in the one before
        self.site = self._sites.get(place)
        if self.site is None or self.site.callers != callers:
            self.site = self._sites[place] = Site(self._file(place[0]), place[1], callers)

    def _place(self) -> tuple[int, int, int]:
        tokens = self.tokens
        return number(tokens, "the number of a file"), number(tokens, "a line"), number(tokens, "a column")

    def _file(self, number: int) -> str:
        """The path of a file, or "<file 3>" where no `.file` gives it, as in listings that were cut."""
        return self.files.get(number, f"<file {number}>")
