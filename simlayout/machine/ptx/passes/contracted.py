"""Products that ptxas fuses into the sums that use them: `mul`, and `add` or `sub`, become one `fma`, rounded once.

PTX ISA, add, sub and mul: without a rounding modifier they may be contracted; with `.rn` they are not. Seen in the machine
code that ptxas 13.5 makes for sm_90a: a product is fused if whatever uses it is a sum of the same type and .ftz in its basic
block, that is not fused with its other operand. First come products that are used once, then those that are used more often;
of two in one sum the first operand. That is before branches become predicates, or invariants move, and behind `unrolled`: in
a loop that ptxas unrolls a product is fused with the sum of the next round.

In long code where several products compete for several sums ptxas may choose otherwise (a rare one of random texts with 20
products and sums). Registers that are written in several places, which compilers use where branches meet, are taken for no
products.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import ENDS, Statements, defined, registers_read

_TYPES = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"}

def contracted(body: Statements) -> list[syntax.Instruction | syntax.Label]:
    """The statements of a function with sums fused as ptxas does; products that nothing uses any more are left out.

    >>> r = [syntax.Register(f"%d{i}", "b64") for i in range(5)]
    >>> mul = syntax.Instruction("mul", ("f64",), (r[3], r[0], r[1]), None, 1, 1, None, "")
    >>> sub = syntax.Instruction("sub", ("f64",), (r[4], r[2], r[3]), None, 2, 1, None, "")
    >>> [(made.name, made.operands[0].name) for made in contracted([mul, sub])]
    [('neg.f64', '%d4 negated'), ('fma.rn.f64', '%d4')]
    """
    if not any(_is(statement, "mul") for statement in body):
        return list(body)
    found = _Sums(body)
    made: list[syntax.Instruction | syntax.Label] = []
    for at, statement in enumerate(body):
        if at in found.fused:
            made += _fused(statement, *found.fused[at])
        elif at not in found.spent:
            made.append(statement)
    return made


def _is(statement, *opcodes):
    """Whether a statement is one of these of floats, whose rounding may be left out; mul.sat is none."""
    return (isinstance(statement, syntax.Instruction) and statement.opcode in opcodes and statement.modifiers[-1:] != ()
            and statement.modifiers[-1] in _TYPES and len(statement.operands) == 3
            and isinstance(statement.operands[0], syntax.Register)
            and not set(statement.modifiers[:-1]) - ({"ftz"} if statement.opcode == "mul" else {"ftz", "sat"}))


@dataclass
class _Product:
    """A mul: where it is, its statement, its basic block, and where the sums are that use it and are not fused."""

    at: int
    statement: syntax.Instruction
    block: int
    uses: list[int]


class _Sums:
    """fused: {place of a sum: (the mul, which operand it is)}; spent: places of products that nothing uses any more."""

    def __init__(self, body: Statements):
        self._body = body
        self._blocks = list(_blocks(body))
        self.fused: dict[int, tuple[syntax.Instruction, int]] = {}
        self._definitions: dict[str, list[int]] = {}
        uses: dict[str, list[int]] = {}
        for at, statement in enumerate(body):
            if isinstance(statement, syntax.Instruction):
                for name in defined(statement):
                    self._definitions.setdefault(name, []).append(at)
                for name in registers_read(statement):
                    uses.setdefault(name, []).append(at)
        self._products = dict(self._found(uses))
        for once in (True, False):
            for at, statement in enumerate(body):
                if _is(statement, "add", "sub") and at not in self.fused:
                    self._fuse(at, statement, once)
        self.spent = {product.at for product in self._products.values()
                      if not product.uses and any(mul is product.statement for mul, _ in self.fused.values())}

    def _found(self, uses):
        """(register, _Product) of each mul of all lanes that alone writes its register. uses: {register: places}."""
        for at, statement in enumerate(self._body):
            if _is(statement, "mul") and statement.guard is None:
                name = statement.operands[0].name
                if self._definitions[name] == [at]:
                    yield name, _Product(at, statement, self._blocks[at], uses.get(name, []))

    def _fuse(self, at, statement, once):
        for side in (1, 2):
            product = self._products.get(getattr(statement.operands[side], "name", ""))
            if product and (len(product.uses) == 1 or not once) and self._may(product):
                self.fused[at] = product.statement, side
                product.uses.remove(at)
                return

    def _may(self, product):
        """Whether whatever uses a product is a sum that can be fused with it."""
        return all(self._takes(product, at) for at in product.uses)

    def _takes(self, product, at):
        sum, mul = self._body[at], product.statement
        return (_is(sum, "add", "sub") and at not in self.fused and self._blocks[at] == product.block and at > product.at
                and sum.operands[1] != sum.operands[2]
                and [word for word in sum.modifiers if word != "sat"] == list(mul.modifiers)
                and not any(product.at < place < at for operand in mul.operands[1:]
                            for place in self._definitions.get(getattr(operand, "name", ""), ())))


def _blocks(body) -> Iterator[int]:
    """The basic block of each statement."""
    number = 0
    for statement in body:
        begins = isinstance(statement, syntax.Label)
        number += begins
        yield number
        number += not begins and statement.opcode in ENDS


def _fused(sum, mul, side):
    """The instructions of a sum whose operand `side` is a product."""
    _, first, second = mul.operands
    other = sum.operands[3 - side]
    made = []
    if sum.opcode == "sub":
        target = syntax.Register(f"{sum.operands[0].name} negated", sum.operands[0].type)
        made = [replace(sum, opcode="neg", modifiers=sum.modifiers[-1:], operands=(target, other if side == 1 else first))]
        first, other = (first, target) if side == 1 else (target, other)
    operands = sum.operands[0], first, second, other
    return [*made, replace(sum, opcode="fma", modifiers=("rn", *sum.modifiers), operands=operands)]
