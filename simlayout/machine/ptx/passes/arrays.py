"""Which array of shared memory an address is computed from, where that is plain: an index that leaves it is wrong, even if
what lies there belongs to the CTA too. And which parameters of a kernel an address may be computed from.

A register points into an array if all its definitions are sums of the array's address and numbers. What is loaded, passed or
computed otherwise counts as a number where it is added, and as unknown where it may take a pointer's place. So an array is
known for sure or not at all: no access within its array is told, but one outside may be missed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.cxx.names import variable_name
from simlayout.machine.ptx.opcodes.memory import Bounds
from simlayout.machine.ptx.passes.statements import instructions, registers_in

_SAME = {"mov", "cvta", "cvt", "shfl"}
NUMBERS = {"setp", "shr", "bfe", "rem", "div", "ld", "ldu", "atom", "call", "popc", "clz", "bfind"}
"""Opcodes whose results are no pointers, whatever their operands are."""

_NUMBER: frozenset[str] = frozenset()
_UNKNOWN = frozenset({"?"})
"""What a value is, beside a set of names of arrays."""


class Pointers:
    """Of a syntax.Function. arrays: {name of a shared variable of the function or its module: (address, bytes), bytes 0
    where the launch tells it}."""

    def __init__(self, function: syntax.Function, arrays: Mapping[str, tuple[int, int]]):
        self._arrays = arrays
        body = instructions(function.body) if arrays else []
        self._defined = {name for instruction in body for name in instruction.writes}
        self._what: dict[str, frozenset[str]] = {}       # by register, as far as its definitions are understood so far
        while any([self._takes(instruction) for instruction in body]):
            pass

    def _takes(self, instruction):
        """Whether a definition says something new of its registers."""
        names, made = list(instruction.writes), self._made(instruction)
        if not names or made is None:
            return False
        if made and isinstance(instruction.operands[0], syntax.Vector):
            made = _UNKNOWN                              # parts of a pointer
        before = [self._what.get(name) for name in names]
        self._what |= {name: made if old is None else _either(old, made) for name, old in zip(names, before)}
        return before != [self._what[name] for name in names]

    def _made(self, instruction):
        """What an instruction makes of its operands, None while they are not known."""
        opcode, sources = instruction.opcode, instruction.operands[1:]
        if opcode in NUMBERS:
            return _NUMBER
        what = [self._of(source) for source in sources]
        if opcode == "selp":
            known = [one for one in what[:2] if one is not None]
            return _either(*known) if len(known) == 2 else known[0] if known else None
        if None in what:
            return None
        if opcode in _SAME:
            return what[0]
        if opcode in ("add", "or", "xor"):
            return _sum(*what)
        if opcode == "sub":
            return _difference(*what)
        if opcode == "and":
            return _masked(*zip(what, sources))
        if opcode == "mad" and what[:2] == [_NUMBER, _NUMBER]:
            return what[2]
        return _UNKNOWN if any(what) else _NUMBER

    def _of(self, operand):
        """What an operand is, None while that is not known."""
        if isinstance(operand, syntax.Register):
            return self._what.get(operand.name) if operand.name in self._defined else _NUMBER
        if isinstance(operand, syntax.Symbol) and operand.name in self._arrays:
            return frozenset({operand.name}) if self._arrays[operand.name][1] else _UNKNOWN
        if isinstance(operand, syntax.Vector):
            parts = [self._of(one) for one in operand.operands]
            return None if None in parts else _UNKNOWN if any(parts) else _NUMBER
        return _NUMBER

    def bounds(self, operand: syntax.Operand, nbytes: int = 0, used: tuple[int, Sequence[int]] | None = None
               ) -> Bounds | None:
        """The Bounds of an operand in brackets, if it is known to which array it belongs. nbytes: of an access, of which
        some are read alone if used is not None: (bytes of an element, the elements).

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; "
        >>> text += ".shared .align 4 .b8 tile[64]; mov.u32 %r1, tile; add.s32 %r2, %r1, %r0; ld.shared.b32 %r3, [%r2+8]; }"
        >>> function = parse(text).functions["f"]
        >>> Pointers(function, {"tile": (128, 64)}).bounds(function.body[-1].operands[1])
        Bounds(first=128, end=192, name='tile')
        """
        base = getattr(operand, "base", None)
        names = self._of(base) if isinstance(base, syntax.Register | syntax.Symbol) else None
        if not names or names == _UNKNOWN:
            return None
        places = [self._arrays[name] for name in names]
        first, end = min(at for at, _ in places), max(at + size for at, size in places)
        if used is not None:
            size, elements = used
            first, end = first - size * min(elements), end + nbytes - size * (max(elements) + 1)
        return Bounds(first, end, " or ".join(sorted(map(variable_name, names))))


def _either(one, other):
    """What may be one or the other."""
    return one if one == other else one | other if one and other and _UNKNOWN not in (one, other) else _UNKNOWN


def _sum(one, other):
    return _UNKNOWN if one and other else one or other


def _difference(one, other):
    """Two places in an array are a number apart."""
    if other:
        return _NUMBER if one == other != _UNKNOWN else _UNKNOWN
    return one


def _masked(one, other):
    """A pointer whose low bits are cut off, or these alone. one, other: (what it is, the operand)."""
    (pointer, _), (number, mask) = (one, other) if one[0] else (other, one)
    if not pointer:
        return _NUMBER
    if number or not isinstance(mask, syntax.Integer):
        return _UNKNOWN
    return pointer if mask.value & 1 << 31 else _NUMBER


def passed_to(function: syntax.Function, parameters: Mapping[str, int], line: int) -> set[int]:
    """Where those parameters lie among all whose values may reach, by registers alone, the address of the access on a line
    of PTX: what one outside all arrays was meant for. parameters: {name: where it lies}.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f(.param .u64 a, .param .u64 n) { .reg .b64 %r<9>;"
    >>> text += "ld.param.u64 %r1, [a]; ld.param.u64 %r2, [n]; ld.u64 %r3, [%r2]; add.u64 %r4, %r1, %r3;"
    >>> passed_to(parse(text + "\\nst.u64 [%r4], 1; }").functions["f"], {"a": 0, "n": 8}, 5)
    {0}
    """
    body = instructions(function.body)
    made: dict[str | int, set[str | int]] = defaultdict(set)     # a register -> registers and parameters that it is made of
    others = set()                                       # registers that may hold what is loaded, which may be a pointer too
    for one in body:
        source = one.operands[-1] if one.opcode == "ld" else None
        if isinstance(source, syntax.Address) and isinstance(source.base, syntax.Symbol) and source.base.name in parameters:
            of: set[str | int] = {parameters[source.base.name] + source.offset}
        elif one.opcode in NUMBERS:
            others.update(one.writes)
            continue
        else:
            of = {*one.reads}
        for name in one.writes:
            made[name] |= of
    seen: set[str | int] = set()
    places = [p for one in body if one.line == line for p in one.operands if isinstance(p, syntax.Address)]
    left: set[str | int] = {*registers_in(places)}
    while left:
        seen |= left
        left = set().union(*(made[one] for one in left - others)) - seen
    return {one for one in seen if isinstance(one, int)}
