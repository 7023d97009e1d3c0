"""Products that ptxas fuses into the sums that use them: `mul`, and `add` or `sub`, become one `fma`, rounded once.

PTX ISA, add, sub and mul: without a rounding modifier they may be contracted; with `.rn` they are not. An approximate
quotient ends with a product, too (`quotients`). Seen in the machine code that ptxas 13.0 and 13.5 make for sm_90a: a
product is fused if whatever uses it, by moves and changes of the sign as well, is a sum of the same type and .ftz that is
not fused with its other operand. A sum of two equal products is fused with none of them, as it is one of them twice; their
difference is. The sum is in the product's basic block, or anywhere if one factor is a number, a parameter of the kernel or
constant memory: such a product costs no register, and is computed where it is used. First come products that are used once,
then those that are used more often; of two in one sum the first operand. What accesses memory under a guard that is not
plainly true or false, or waits, or exchanges values with other lanes, ends a basic block as a branch around it would, unless
nothing needs what it loads; what only computes does not. That is before branches become predicates, or invariants move, and
behind `unrolled`: in a loop that ptxas unrolls a product is fused with the sum of the next round.

In long code where several products compete for several sums ptxas may choose otherwise (a rare one of random texts with 20
products and sums). A register that is written in several places, which compilers use where branches meet, is taken for no
product if something reads it of which that is not plain in its basic block.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.quotients import folded, is_quotient, taken_apart
from simlayout.machine.ptx.passes.statements import AWAY, COMPUTES, Statements, registers_in

_TYPES = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"}
_STAYS = COMPUTES | {"isspacep", "createpolicy"}
_DEEPEST = 20
"""Moves that are followed."""


def contracted(body: Statements, entry: bool = True, unread: Container[int] = ()) -> list[syntax.Statement]:
    """The statements of a function with sums fused as ptxas does; products that nothing uses any more are left out. entry:
    whether its parameters are those of a kernel. unread: ids of loads whose results nothing needs.

    >>> r = [syntax.Register(f"%d{i}", "b64") for i in range(5)]
    >>> mul = syntax.Instruction("mul", ("f64",), (r[3], r[0], r[1]), None, 1, 1, None, "")
    >>> sub = syntax.Instruction("sub", ("f64",), (r[4], r[2], r[3]), None, 2, 1, None, "")
    >>> [(made.name, made.operands[0].name) for made in contracted([mul, sub])]
    [('neg.f64', '%d4 negated'), ('fma.rn.f64', '%d4')]
    """
    body = folded(body)
    if not any(map(is_product, body)) or not any(map(is_sum, body)):
        return body
    found = _Sums(body, entry, unread)
    made: list[syntax.Statement] = []
    for at, statement in enumerate(body):
        if at in found.fused:
            made += _fused(statement, *found.fused[at])
        elif at in found.spent:
            made += found.spent[at]
        else:
            made.append(statement)
    return made


def _doubled(body):
    """The places of sums of two equal products, whichever factor comes first."""
    times = Counter(name for one in body for name in one.writes)
    equal: dict[str, tuple] = {}                         # a register -> of which product it is
    found = set()
    for at, one in enumerate(body):
        if _is(one, "add"):
            first, second = (equal.get(getattr(operand, "name", "")) for operand in one.operands[1:])
            found |= {at} if first is not None and first == second else set()
        names = [operand.name for operand in one.operands if isinstance(operand, syntax.Register)]
        if one.guard is None and all(times[name] < 2 for name in names):
            if _is(one, "mul"):
                equal[names[0]] = one.modifiers, frozenset(one.operands[1:])
            elif one.opcode == "mov" and len(names) == 2 and names[1] in equal:
                equal[names[0]] = equal[names[1]]
    return found


def is_product(statement: syntax.Statement) -> bool:
    """Whether a statement is a mul of all lanes that may be fused, or a quotient; mul.sat is none."""
    return _is(statement, "mul") and statement.guard is None or is_quotient(statement)


def is_sum(statement: syntax.Statement) -> bool:
    """Whether a statement is an add or sub that may be fused."""
    return _is(statement, "add", "sub")


def _is(statement, *opcodes):
    """Whether a statement is one of these of floats, whose rounding may be left out."""
    return (statement.opcode in opcodes and statement.modifiers[-1:] != ()
            and statement.modifiers[-1] in _TYPES and len(statement.operands) == 3
            and isinstance(statement.operands[0], syntax.Register)
            and not set(statement.modifiers[:-1]) - ({"ftz"} if statement.opcode == "mul" else {"ftz", "sat"}))


@dataclass
class _Product:
    """A mul: where it is, its factors, what makes these, and modifiers. uses: {where a sum is that uses it and is not
    fused: (which operand, whether that is negated)}; anywhere: whether they may be in other basic blocks."""

    at: int
    factors: tuple[syntax.Operand, ...]
    ahead: list[syntax.Instruction]
    modifiers: tuple[str, ...]
    uses: dict[int, tuple[int, bool]]
    anywhere: bool


class _Sums:
    """fused: {place of a sum: (its _Product, the factors, which operand that is, whether it is negated)}; spent: {place of a
    product that nothing uses any more: what is left there}."""

    def __init__(self, body: Statements, entry: bool, unread: Container[int]):
        self._body, self._entry = body, entry
        self._blocks, self._doubled = list(_blocks(body)), _doubled(body)
        self.fused: dict[int, tuple] = {}
        self._definitions: dict[str, list[int]] = {}
        self._uses: dict[str, list[int]] = {}
        for at, statement in enumerate(body):
            for name in statement.writes:
                self._definitions.setdefault(name, []).append(at)
            for name in statement.reads:
                self._uses.setdefault(name, []).append(at)
        self._ends = [at for at, one in enumerate(body) if self._ends_block(one) and id(one) not in unread]
        self._by_sum: dict[tuple[int, int], _Product] = {}
        products = [made for at, one in enumerate(body) if is_product(one)
                    and (made := self._product(at, one)) is not None]
        for product in products:
            self._by_sum.update({(at, side): product for at, (side, _) in product.uses.items()})
        self.spent: dict[int, list] = {product.at: [*product.ahead] for product in products}
        for once in (True, False):
            for at, statement in enumerate(body):
                if is_sum(statement) and at not in self.fused:
                    self._fuse(at, once)
        self.spent = {product.at: self.spent[product.at] for product in products
                      if not product.uses and any(made is product for made, *_ in self.fused.values())}

    def _product(self, at, statement):
        """The _Product of a mul; None if something else than a sum uses it."""
        uses: dict[int, tuple[int, bool]] = {}
        if not self._follow(statement, at, False, uses, _DEEPEST):
            return None
        factors, ahead = taken_apart(statement, at) if is_quotient(statement) else (statement.operands[1:], [])
        modifiers = tuple(word for word in statement.modifiers if word not in ("approx", "full"))
        return _Product(at, factors, ahead, modifiers, uses, any(map(self._constant, factors)))

    def _follow(self, statement, at, negated, uses, deep):
        """Puts the sums into `uses` that read what a statement makes; returns whether nothing else does."""
        name = statement.operands[0].name
        where = self._read_of(name, at)
        if where is None or not deep:
            return False
        for place in where:
            one = self._body[place]
            sides = [side for side, operand in enumerate(one.operands) if side and getattr(operand, "name", "") == name]
            passes = one.opcode == "mov" or one.opcode == "neg" and one.modifiers[-1:] == self._body[at].modifiers[-1:]
            if passes and one.guard is None and isinstance(one.operands[0], syntax.Register) and len(sides) == 1:
                if not self._follow(one, place, negated != (one.opcode == "neg"), uses, deep - 1):
                    return False
            elif not is_sum(one) or len(sides) != 1 or place in uses or place in self._doubled:
                return False
            else:
                uses[place] = sides[0], negated
        return True

    def _read_of(self, name, at):
        """Where something reads what a statement makes of a register; None if that is not plain."""
        every, read = self._definitions[name], self._uses.get(name, ())
        if len(every) == 1:
            return read
        block = self._blocks[at]
        behind = next((one for one in every if one > at and self._blocks[one] == block), None)
        if behind is not None:
            return [place for place in read if at < place <= behind] if self._body[behind].guard is None else None
        ahead = [max((one for one in every if one < place and self._blocks[one] == self._blocks[place]), default=None)
                 for place in read]
        if None in ahead or any(self._body[one].guard is not None for one in every):
            return None
        return [place for place, last in zip(read, ahead) if last == at]

    def _constant(self, operand, deep=_DEEPEST):
        """Whether ptxas reads an operand from the instruction, or from constant memory."""
        if not isinstance(operand, syntax.Register):
            return isinstance(operand, syntax.Integer | syntax.Float)
        every = self._definitions.get(operand.name, ())
        made = self._body[every[0]] if len(every) == 1 else None
        if made is None or made.guard is not None or not deep:
            return False
        if made.opcode == "ld":
            plain = isinstance(getattr(made.operands[1], "base", None), syntax.Symbol)
            return plain and ("const" in made.spaces or self._entry and "param" in made.spaces)
        passes = made.opcode in ("mov", "neg", "abs") and len(made.operands) == 2
        return passes and self._constant(made.operands[1], deep - 1)

    def _fuse(self, at, once):
        for side in (1, 2):
            product = self._by_sum.get((at, side))
            if product and at in product.uses and (len(product.uses) == 1 or not once) and self._may(product):
                _, negated = product.uses.pop(at)
                self.fused[at] = product, self._kept(product, at), side, negated
                return

    def _may(self, product):
        """Whether whatever uses a product is a sum that can be fused with it."""
        return all(self._takes(product, at) for at in product.uses)

    def _takes(self, product, at):
        sum = self._body[at]
        same = [word for word in sum.modifiers if word != "sat"] == list(product.modifiers)
        return at not in self.fused and same and (product.anywhere or self._is_behind(product, at) and (
            bisect(self._ends, product.at) == bisect(self._ends, at)))

    def _ends_block(self, one):
        """Whether a statement is under a guard that counts as a branch around it."""
        if one.guard is None or one.opcode in _STAYS:
            return False
        where = self._definitions.get(next(iter(registers_in((one.guard,)))), ())
        made = self._body[where[0]] if len(where) == 1 else one
        return made.opcode != "mov" or made.guard is not None or not isinstance(made.operands[1], syntax.Integer)

    def _is_behind(self, product, at):
        """Whether a place is behind a product in its basic block."""
        return self._blocks[at] == self._blocks[product.at] and at > product.at

    def _kept(self, product, at):
        """The factors of a product as a sum elsewhere finds them: of those that may have changed, there are copies."""
        made = []
        for number, factor in enumerate(product.factors):
            places = self._definitions.get(getattr(factor, "name", ""), ())
            near = any(product.at < place < at for place in places)
            if near if self._is_behind(product, at) else places and not self._constant(factor):
                kind = product.modifiers[-1]
                type = "b32" if kind.endswith("x2") else f"b{kind.lstrip('bf')}"
                copy = syntax.Register(f"{factor.name} of {product.at}.{number}", type)
                move = replace(self._body[product.at], opcode="mov", modifiers=(type,), operands=(copy, factor))
                if move not in self.spent[product.at]:
                    self.spent[product.at].append(move)
                factor = copy
            made.append(factor)
        return made


def _blocks(body) -> Iterator[int]:
    """The basic block of each statement."""
    number = 0
    for statement in body:
        begins = isinstance(statement, syntax.Label)
        number += begins
        yield number
        number += not begins and statement.opcode in AWAY


def _fused(sum, product, factors, side, negated):
    """The instructions of a sum whose operand `side` is a product of factors, or that negated."""
    (first, second), other = factors, sum.operands[3 - side]
    made = []

    def minus(operand, name):
        target = syntax.Register(f"{sum.operands[0].name} {name}", sum.operands[0].type)
        made.append(replace(sum, opcode="neg", modifiers=sum.modifiers[-1:], operands=(target, operand)))
        return target

    if sum.opcode == "sub" and side == 1:
        other = minus(other, "negated")
    if negated != (sum.opcode == "sub" and side == 2):
        first = minus(first, "negated" if sum.opcode != "sub" or side == 2 else "minus")
    operands = sum.operands[0], first, second, other
    return [*made, replace(sum, opcode="fma", modifiers=("rn", *sum.modifiers), operands=operands)]
