"""The grammar of PTX modules (PTX ISA 9, sections 4, 5 and 11): `parse(text)` reads what any compiler writes.

    module    = ".version" number ".target" name { "," name } [".address_size" integer] { statement }
    statement = ".file" integer string { "," integer } | ".section" name "{" ... "}" | ".pragma" string { "," string } ";"
              | ".alias" name "," name ";" | [linkage] (variable | function)
    linkage   = ".extern" | ".visible" | ".weak" | ".common"
    function  = ".entry" name [parameters] { directive } (body | ";")
              | ".func" {".attribute" "(" ... ")"} [parameters] name [parameters] { directive } (body | ";")
    body      = "{" { label ":" [table ";"] | variable | registers | ".loc" ... | ".pragma" strings ";"
                    | ["@" ["!"] register] instruction | body } "}"

Variables and registers: declarations.py; operands: operands.py; constants: constants.py; scopes: scopes.py. Of a token that
no rule takes, the message says where it stands and what could stand there.
"""

import os
import re
from collections import ChainMap

from simlayout.collector import collector_at_rest
from simlayout.errors import ParseError
from simlayout.machine.ptx.parser.body import Body
from simlayout.machine.ptx.parser.constants import number
from simlayout.machine.ptx.parser.declarations import SPACES, attribute, declarator, kind, linked, parameters
from simlayout.machine.ptx.parser.other_files import what_instead
from simlayout.machine.ptx.parser.scopes import Names, Scope
from simlayout.machine.ptx.parser.tokens import Tokens
from simlayout.machine.ptx.syntax import BITS, Function, Module, Variable

_DIRECTIVES = {"maxntid": (1, 3), "reqntid": (1, 3), "minnctapersm": (1, 1), "maxnctapersm": (1, 1), "maxnreg": (1, 1),
               "reqnctapercluster": (1, 3), "maxclusterrank": (1, 1), "explicitcluster": (0, 0), "blocksareclusters": (0, 0),
               "noreturn": (0, 0), "abi_preserve": (1, 1), "abi_preserve_control": (1, 1), "local_maxnreg": (1, 1),
               "FORCE_INLINE": (0, 0)}
"""{directive of a function: (fewest, most numbers)} (PTX ISA 11.4; the last two: ptxas)."""
_STATEMENT = "a directive such as .entry, .func or .global"


_NAMED = re.compile(r"\.b8\s+144\s+((?:\.b8\s+(?:12[89]|1[3-9]\d|2\d\d)\s+)*\.b8\s+\d+)")
"""DW_OP_regx, and the letters of a register's name as one number, in LEB128."""


def named_registers(text: str) -> frozenset[str]:
    """Names of the registers that hold a variable, as the debugging data of nvcc -G tell.

    >>> named_registers(".b8 144\\n.b8 177\\n.b8 204\\n.b8 149\\n.b8 1")
    frozenset({'%f1'})
    """
    numbers = [re.findall(r"\.b8\s+(\d+)", found) for found in _NAMED.findall(text)]
    values = {sum((int(one) & 127) << 7 * i for i, one in enumerate(number)) for number in numbers}
    return frozenset(value.to_bytes(-(-value.bit_length() // 8), "big").decode("latin") for value in values)


@collector_at_rest()
def parse(text: str, path: str = "<text>") -> Module:
    """The Module that a PTX text denotes.

    path names the text in messages. Raises ParseError, one line "PATH:LINE:COLUMN: expected ..., found ...", for what the
    grammar has no rule for, and for names that nothing declares; which instructions exist is not its business.

    >>> module = parse('''
    ...     .version 9.0
    ...     .target sm_90a
    ...     .address_size 64
    ...     .visible .entry twice(.param .u64 .ptr .global .align 4 data)
    ...     .reqntid 32
    ...     {
    ...         .reg .b32 %r<3>;  .reg .b64 %rd<3>;
    ...         mov.u32 %r1, %tid.x;
    ...         ld.param.b64 %rd1, [data];
    ...         mad.wide.u32 %rd2, %r1, 4, %rd1;
    ...         ld.global.b32 %r2, [%rd2];
    ...         add.s32 %r2, %r2, %r2;
    ...         st.global.b32 [%rd2], %r2;
    ...         ret;
    ...     }''')
    >>> function = module.functions["twice"]
    >>> function.parameters[0].pointer, function.directives["reqntid"], len(function.body)
    (('global', 4), (32,), 7)
    >>> function.body[3].name, function.body[3].operands
    ('ld.global.b32', (Register(name='%r2', type='b32'), Address(base=Register(name='%rd2', type='b64'), offset=0)))
    >>> parse(".version 9.0 .target sm_90 .entry f() { add.s32 %r1, 1, 2; }", "f.ptx")
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: f.ptx:1:49: expected a register that is declared, found '%r1'
    """
    if not isinstance(text, str):
        raise ParseError(f"parse takes the text of a PTX module, not {type(text).__name__}")
    return _Module(Tokens(text, path)).whole()


class _Module:
    """Recursive descent: one method per rule."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.files = _files(tokens)
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.referred: list[tuple[str, int]] = []       # names that may be declared further down, and their tokens
        self.address_size = 64                          # where none is given: no chip of today has another

    def whole(self) -> Module:
        """The module, to the end of the text."""
        tokens = self.tokens
        if tokens.words[0] != ".version" and (instead := what_instead(tokens.path)):
            raise ParseError(instead)
        tokens.require(".version", "'.version', with which PTX begins (`nvcc -lineinfo -ptx` makes it of CUDA C++)")
        version = self._version()
        tokens.require(".target")
        target, *options = self._target()
        if tokens.accept(".address_size"):
            self._address_size()
        while tokens.words[tokens.at]:
            self._statement()
        for name, at in self.referred:
            if not self._has(name):
                tokens.fail("a register, variable, label or function that is declared", at)
        named = named_registers(tokens.text) if "debug" in options else frozenset()
        return Module(version, target, tuple(options), self.address_size, self.files, self.variables, self.functions,
                      self.aliases, tokens.path, named)

    def _has(self, name: str) -> bool:
        return name in self.variables or name in self.functions or name in self.aliases

    def _version(self) -> tuple[int, int]:
        match = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})", self.tokens.words[self.tokens.at])
        if not match:
            self.tokens.fail("a version such as 9.0")
        self.tokens.at += 1
        return int(match[1]), int(match[2])

    def _target(self) -> list[str]:
        found = [self.tokens.name("a target such as sm_90a")]
        while self.tokens.accept(","):
            found.append(self.tokens.name("an option of the target such as debug"))
        return found

    def _statement(self) -> None:
        tokens = self.tokens
        if rule := _RULES.get(tokens.words[tokens.at]):
            tokens.at += 1
            rule(self)
            return
        at = tokens.at
        linkage = linked(tokens)
        if tokens.accept(".entry"):
            self._function(linkage, True, at)
        elif tokens.accept(".func"):
            self._function(linkage, False, at)
        elif tokens.words[tokens.at] in SPACES:
            self._variables(linkage)
        else:
            tokens.fail(_STATEMENT)

    def _address_size(self) -> None:
        at = self.tokens.at
        self.address_size = number(self.tokens)
        if self.address_size not in (32, 64):
            self.tokens.fail("32 or 64", at)

    def _section(self) -> None:
        """Debugging data: nothing that a machine executes."""
        tokens = self.tokens
        if tokens.words[tokens.at][:1] != ".":
            tokens.fail("the name of a section")
        tokens.at += 1
        tokens.require("{")
        while not tokens.accept("}"):
            if not tokens.words[tokens.at]:
                tokens.fail("'}'")
            tokens.at += 1

    def _file(self) -> None:
        _file(self.tokens)                              # _files has it

    def _pragma(self) -> None:
        """A hint for the compiler."""
        self.tokens.strings()
        self.tokens.require(";")

    def _alias(self) -> None:
        tokens = self.tokens
        name = tokens.name()
        tokens.require(",")
        self.referred.append((tokens.words[tokens.at], tokens.at))
        self.aliases[name] = tokens.name()
        tokens.require(";")

    def _variables(self, linkage: str) -> None:
        tokens = self.tokens
        of = kind(tokens)
        while True:
            at = tokens.at
            variable = declarator(tokens, of, linkage, lambda name, at: name, self._refer)
            before = self.variables.get(variable.name)
            if variable.name in self.functions or before and not (before.extern or variable.extern):
                tokens.fail("a name that is not declared already", at)
            if before is None or before.extern:
                self.variables[variable.name] = variable
                self.sizes[variable.name] = BITS[variable.type] // 8
            if not tokens.accept(","):
                break
        tokens.require(";", "',', '=' or ';'")

    def _refer(self, name: str, at: int) -> str:
        self.referred.append((name, at))
        return name

    def _function(self, linkage: str, entry: bool, at: int) -> None:
        tokens = self.tokens
        names = Names(self._has)
        scope = Scope(tokens, names)
        while tokens.accept(".attribute"):
            attribute(tokens)
        returns = parameters(tokens, scope) if not entry and tokens.words[tokens.at] == "(" else ()
        named = tokens.at
        name = tokens.name("the name of a function")
        given = parameters(tokens, scope) if tokens.words[tokens.at] == "(" else ()
        directives = self._directives()
        before = self.functions.get(name)
        if name in self.variables or before and before.body is not None and tokens.words[tokens.at] == "{":
            tokens.fail("a name that is not declared already", named)
        body = None
        if not tokens.accept(";"):
            reader = Body(tokens, names, scope, self.files, ChainMap({}, self.sizes), self._refer)
            self.referred += [(each.name, each.at) for each in reader.whole()]
            body = tuple(names.body)
            if reader.pragmas:
                directives["pragma"] = (*directives.get("pragma", ()), *reader.pragmas)
        if before is None or before.body is None:
            self.functions[name] = Function(name, entry, given, returns, names.variables, directives, body, names.tables,
                                            linkage, tokens.line(at))

    def _directives(self) -> dict[str, tuple[int | str, ...]]:
        tokens = self.tokens
        found: dict[str, tuple[int | str, ...]] = {}
        while (word := tokens.words[tokens.at])[:1] == ".":
            tokens.at += 1
            if word == ".pragma":
                found["pragma"] = (*found.get("pragma", ()), *tokens.strings())
                tokens.require(";")
                continue
            if word == ".attribute":
                attribute(tokens)
                continue
            if word[1:] not in _DIRECTIVES:
                tokens.fail("a directive of a function such as .maxntid, or its body", tokens.at - 1)
            fewest, most = _DIRECTIVES[word[1:]]
            numbers = [number(tokens)] if fewest else []
            while len(numbers) < most and tokens.accept(","):
                numbers.append(number(tokens))
            found[word[1:]] = tuple(numbers)
        if tokens.words[tokens.at] not in ("{", ";"):
            tokens.fail("'{', ';' or a directive of the function")
        return found


def _files(tokens: Tokens) -> dict[int, str]:
    """{number: path} of all `.file` directives: compilers write them behind the functions that name their numbers. Of a file
    that lies beside the PTX and not where its path leads from here, the path is that one."""
    found = {}
    for at in [at for at, word in enumerate(tokens.words) if word == ".file"]:
        tokens.at = at + 1
        index, path = _file(tokens)
        beside = os.path.join(os.path.dirname(tokens.path), path)
        found[index] = beside if not os.path.isfile(path) and os.path.isfile(beside) else path
    tokens.at = 0
    return found


def _file(tokens: Tokens) -> tuple[int, str]:
    """Passes what follows `.file`: its number, its path, and its time and size, which nobody needs."""
    index, path = number(tokens), tokens.string()
    while tokens.accept(","):
        number(tokens, most=2**63)
    return index, path


_RULES = {".file": _Module._file, ".section": _Module._section, ".alias": _Module._alias, ".pragma": _Module._pragma}
