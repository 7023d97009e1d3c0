"""What is known of registers in the rounds of a loop that is unrolled, as ptxas finds it: which are numbers, and which are
so much more than what an earlier round has."""

from dataclasses import replace

import numpy as np

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import reader, width_of, writer
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import lane_op
from simlayout.machine.ptx.passes.accesses import plain_access
from simlayout.machine.ptx.passes.statements import special

REACH = 16
"""Bytes within which accesses may become one."""

_COMPUTES = {"add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg", "cvt", "setp", "selp", "min", "max"}
_LATE = {"and", "or", "xor", "shr", "min", "max"}
"""Opcodes whose results of 64 bits ptxas knows to be equal, but not how far apart they are."""
_DEEPEST = 20


class Rounds:
    """Of a loop of a Flow. begins_here: whether the first round is that of the loop; once: whether only its first block is
    executed. matter: whether accesses of shared memory in two rounds are so near that they may become one."""

    def __init__(self, flow, loop, begins_here=True, once=False):
        self._flow, self._begins_here = flow, begins_here
        self._entries = [block for block in flow.before[loop[0]] if block not in loop]
        executed = loop[:1] if once else loop
        self._inside = {name for block in executed for one in flow.blocks[block] for name in one.writes}
        self._numbers: dict[str, int | None] = {}
        self._late: dict[int, syntax.Register] = {}      # a number that ptxas knows late -> the register that has it
        self._from: dict = {}                            # register -> (what it is so much more than, how much)
        self._first: dict = {}                           # what is computed -> the register with the result
        self._accesses: dict = {}                        # what addresses are more than -> {where: [(round, how much)]}
        self.matter = False

    def number(self, operand) -> int | None:
        """The bits of an operand, None where it may be different ones."""
        if isinstance(operand, syntax.Integer):
            return operand.value
        if not isinstance(operand, syntax.Register):
            return None
        if operand.name not in self._numbers and operand.name not in self._inside:
            self._numbers[operand.name] = self.ahead(operand)
        return self._numbers.get(operand.name)

    def begins(self, register, named):
        """Takes a register that the loop reads ahead of its definition, and what it is called in the first round."""
        self._numbers[named.name] = self.ahead(register) if self._begins_here else None

    def ahead(self, operand) -> int | None:
        """The number that an operand is ahead of the loop."""
        if len(self._entries) != 1:
            return None
        block, = self._entries
        return self._at(operand, block, len(self._flow.blocks[block]), _DEEPEST)

    def begin(self, register: syntax.Register) -> syntax.Operand:
        """What a register is ahead of the loop: the symbol that it is set to there, else itself."""
        if len(self._entries) != 1:
            return register
        block, = self._entries
        end, found = len(self._flow.blocks[block]), register
        for _ in range(_DEEPEST):
            place = self._defined_at(found, block, end) if isinstance(found, syntax.Register) else None
            if place is None:
                break
            block, end = place
            one = self._flow.blocks[block][end]
            if one.opcode != "mov" or one.guard is not None:
                break
            found = one.operands[1]
        return found if isinstance(found, syntax.Symbol) else register

    def follows(self, name: str) -> bool:
        """Whether a register of a round is known to be so much more than what another one is."""
        return name in self._from

    def _at(self, operand, block, end, deep):
        """The number that an operand is ahead of a statement of a block."""
        if isinstance(operand, syntax.Integer):
            return operand.value
        place = self._defined_at(operand, block, end) if isinstance(operand, syntax.Register) and deep else None
        if place is None:
            return None
        block, i = place
        one = self._flow.blocks[block][i]
        if one.guard is not None:
            return None
        return _computed(one, [self._at(source, block, i, deep - 1) for source in one.operands[1:]])

    def _defined_at(self, register, block, end):
        """(the block, which of its statements) that defines what a register is ahead of a statement of a block; None if that
        is not known."""
        places, seen = self._flow.definitions.get(register.name), set()
        while places is not None and block not in seen:
            seen.add(block)
            i = max((i for i in places.get(block, ()) if i < end), default=None)
            if i is not None:
                return block, i
            before = self._flow.before[block]
            if len(before) != 1:
                return next(((one, *at) for one, at in places.items() if self._flow.times[register.name] == 1), None)
            block, = before
            end = len(self._flow.blocks[block])
        return None

    def told(self, statement, number):
        """What a statement of a round becomes, with what is known of its result."""
        plain = plain_access(statement)
        if plain is not None:
            self._accessed(plain.address, number)
        to = statement.operands[0] if statement.operands else None
        computes = statement.opcode in _COMPUTES or statement.opcode in ("mov", "cvta") and len(statement.operands) == 2
        alone = isinstance(to, syntax.Register) and statement.writes == (to.name,)
        if not computes or statement.guard is not None or not alone or to.name in self._inside:
            return [statement]
        value = _computed(statement, [self.number(one) for one in statement.operands[1:]])
        if value is not None and statement.opcode in _LATE and width_of(to.type) == 64:
            same = self._late.setdefault(value, to)
            self._from[to.name] = same, 0
            return [statement if same is to else _instead(statement, "mov", "b64", to, same)]
        if value is not None:
            self._numbers[to.name] = value
            return [statement] if to.type == "pred" else [_instead(statement, "mov", f"b{width_of(to.type)}", to,
                                                                  syntax.Integer(value))]
        found = self._sum(statement, to)
        if found is None:
            return [statement]
        base, more, *ahead = found
        self._from[to.name] = base, more
        bits = width_of(to.type)
        more = (more + (1 << bits - 1) & (1 << bits) - 1) - (1 << bits - 1)
        if more == 0:
            return [*ahead, _instead(statement, "mov", f"b{bits}", to, base)]
        return [*ahead, _instead(statement, "add", f"s{bits}", to, base, syntax.Integer(more))]

    def _sum(self, statement, to):
        """(what the result of a statement is so much more than, how much, a statement ahead); None if that is not known."""
        opcode, modifiers, sources = statement.opcode, statement.modifiers, statement.operands[1:]
        type, bits = (modifiers or ("",))[-1], width_of(to.type)
        if type[:1] not in ("b", "s", "u") or bits not in (32, 64) or not all(map(self._stays, sources)):
            return None
        numbers = [self.number(one) for one in sources]
        parts = [self._parts(one) if number is None else (None, number) for one, number in zip(sources, numbers)]
        whole = width_of(type) == bits and {"wide", "hi", "sat"}.isdisjoint(modifiers)
        if opcode == "mov" and whole and isinstance(sources[0], syntax.Register):
            return parts[0]
        if opcode in ("add", "sub") and whole and numbers[1] is not None:
            return parts[0][0], parts[0][1] + (numbers[1] if opcode == "add" else -numbers[1])
        if opcode == "add" and whole and numbers[0] is not None:
            return parts[1][0], parts[1][1] + numbers[0]
        if opcode == "mad" and None not in numbers[:2]:
            product = _computed(statement, [*numbers[:2], 0])
            return None if product is None else (parts[2][0], parts[2][1] + product)
        factors = whole and self._factors(opcode, numbers, bits) or (0,) * len(parts)
        key = opcode, modifiers, *(part[0] if factor else part for factor, part in zip(factors, parts))
        more = sum(factor * part[1] for factor, part in zip(factors, parts))
        if key in self._first:
            return self._first[key], more
        if not more:
            self._first[key] = to
            return None
        base = self._first[key] = replace(to, name=f"{to.name}.base")
        made = [source if not factor else syntax.Integer(0) if part[0] is None else part[0]
                for factor, part, source in zip(factors, parts, sources)]
        return base, more, replace(statement, operands=(base, *made))

    def _stays(self, operand):
        """Whether an operand is the same wherever it is read in a round, or as its name tells."""
        if isinstance(operand, syntax.Special):
            return special(operand.name).stays
        return isinstance(operand, syntax.Integer | syntax.Symbol) or (
            isinstance(operand, syntax.Register) and operand.name not in self._inside)

    def _factors(self, opcode, numbers, bits):
        """By how much a result becomes more with each operand, None where it is not known."""
        if opcode == "add":
            return 1, 1
        if bits != 32:
            return None
        if opcode == "shl" and numbers[1] is not None:
            return 1 << min(numbers[1], 31), 0
        if opcode in ("mul", "mad") and numbers[1] is not None:
            return (numbers[1], 0, 1)[:len(numbers)]
        if opcode in ("mul", "mad") and numbers[0] is not None:
            return (0, numbers[0], 1)[:len(numbers)]
        return (0, 0, 1) if opcode == "mad" else None

    def _parts(self, operand):
        return self._from.get(getattr(operand, "name", ""), (operand, 0))

    def _accessed(self, address, number):
        base, more = self._parts(address.base)
        value = self.number(address.base)
        if value is not None:
            base, more = None, value
        offset = more + address.offset
        near = self._accesses.setdefault(base, {})
        for at in range(offset // REACH - 1, offset // REACH + 2):
            self.matter |= any(other != number and abs(there - offset) < REACH for other, there in near.get(at, ()))
        near.setdefault(offset // REACH, []).append((number, offset))


def _instead(statement, opcode, type, *operands):
    return replace(statement, opcode=opcode, modifiers=(type,), operands=operands)


def _computed(statement, numbers):
    """The bits of the result of an instruction on numbers, None if it is not known or they are not."""
    to = statement.operands[0]
    if any(one is None for one in numbers) or not isinstance(to, syntax.Register) or len(numbers) > 3:
        return None
    ones = (1 << width_of(to.type)) - 1
    if statement.opcode == "mov":
        return numbers[0] & ones if len(numbers) == 1 else None
    if statement.opcode not in _COMPUTES:
        return None
    try:
        op = lane_op(statement.opcode, statement.modifiers)
    except InstructionError:
        return None
    if any(name[0] not in "bsup" or "x" in name for name in (*op.results, *op.sources)) or len(op.sources) != len(numbers):
        return None
    carriers = [reader(name)(np.array([number & (1 << 64) - 1], np.uint64)) for name, number in zip(op.sources, numbers)]
    made = op.function(*carriers)
    return int(writer(op.results[0])(made[0] if isinstance(made, tuple) else made)[0]) & ones
