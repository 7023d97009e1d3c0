"""What is known of registers before a program runs, as far as ptxas is known to use it: which bits they can have at all, and
which are the same in all lanes."""

from collections import Counter, defaultdict
from collections.abc import Container
from functools import cached_property

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import defined, instructions, may_define
from simlayout.machine.ptx.passes.needed import needed

_ALL = (1 << 64) - 1
_MOVES = {"mov", "cvt", "cvta", "mapa", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg", "min",
          "max", "bfi", "bfe", "selp", "setp"}
"""Opcodes whose results are the same in all lanes if their operands are."""
_UNIFORM = ("%ctaid", "%nctaid", "%ntid", "%cluster", "%nsmid", "%gridid")
"""How the names of special registers begin that all lanes of a warp share."""
_ROUNDS = {"add", "sub", "fma", "mul", "div", "max", "min", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "neg", "abs", "cvt"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"}
_DEEPEST = 100
"""Definitions that are followed from one operand to the next."""


class Known:
    """Of one syntax.Function. Registers with several definitions are unknown: ptxas does not follow them either."""

    def __init__(self, function):
        self._body, self._returns = instructions(function.body), function.returns
        self._bits: dict[str, int] = {}                  # by register, as `_of_definition` keeps them
        self._uniform: dict[str, bool] = {}
        self._rounded: dict[str, str | None] = {}
        self._depth = 0

    def _of_definition(self, name, kept, unknown, look):
        """What `look` finds of the definition of a register, looked for once. kept: by register; unknown: what a register is
        whose only definition is guarded, or made of itself, or too far away."""
        if name not in kept:
            made = self._definition.get(name)
            if self._depth == _DEEPEST or made is None or made.guard is not None:
                return unknown
            kept[name] = unknown
            self._depth += 1
            kept[name] = look(made)
            self._depth -= 1
        return kept[name]

    @cached_property
    def _definition(self):
        """{register: its only definition}."""
        found = defaultdict(list)
        for instruction in self._body:
            for name in may_define(instruction):
                found[name].append(instruction)
        return {name: all_of[0] for name, all_of in found.items() if len(all_of) == 1}

    @cached_property
    def _changing(self):
        """Names of the registers that have several definitions."""
        times = Counter(name for instruction in self._body for name in defined(instruction))
        return {name for name, many in times.items() if many > 1}

    def made(self, operand) -> syntax.Instruction | None:
        """The instruction that makes a register, if it is the only one, and makes it always."""
        found = self._definition.get(getattr(operand, "name", ""))
        return found if found is not None and found.guard is None else None

    def bits(self, operand) -> int:
        """A mask of the bits that an operand can have.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<4>; .reg .pred %p1;"
        >>> text += "selp.b32 %r1, 1, 0, %p1; shl.b32 %r2, %r1, 4; mov.b32 %r3, %tid.x; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [hex(Known(function).bits(s.operands[0])) for s in function.body[:2]]
        ['0x1', '0x10']
        """
        if isinstance(operand, syntax.Integer):
            return operand.value & _ALL
        if not isinstance(operand, syntax.Register):
            return _ALL
        return self._of_definition(operand.name, self._bits, _ALL, self._bits_made)

    def _bits_made(self, made):
        sources = made.operands[1:]
        if len(sources) < (1 if made.opcode == "mov" else 2):
            return _ALL
        if made.opcode == "mov":
            return self.bits(sources[0])
        if made.opcode in ("or", "xor", "selp"):
            return self.bits(sources[0]) | self.bits(sources[1])
        if made.opcode == "and":
            return self.bits(sources[0]) & self.bits(sources[1])
        if made.opcode == "shl" and isinstance(sources[1], syntax.Integer):
            known = self.bits(sources[0])
            return _ALL if known == _ALL else known << min(sources[1].value & 0xFFFFFFFF, 64) & _ALL
        return _ALL

    @cached_property
    def _needed(self):
        return needed([one for one in self._body if not self.never(one.guard)], [one.name for one in self._returns])

    def unread(self, operand) -> bool:
        """Whether no instruction reads a destination, but for those that compute what nothing reads.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<5>;"
        >>> text += "add.s32 %r1, %r0, 1; add.s32 %r2, %r1, 1; add.s32 %r3, %r0, 2; st.shared.b32 [%r3], %r3; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Known(function).unread(s.operands[0]) for s in function.body[:3]]
        [True, True, False]
        """
        return not isinstance(operand, syntax.Register) or not self.halves(operand)

    def halves(self, operand: syntax.Register) -> int:
        """Which halves of a register of 64 bits are read likewise, as of `needed`; of all others whether they are."""
        return self._needed.get(operand.name, 0)

    def constant(self, operand) -> int | None:
        """The number that an operand is, if it plainly is one."""
        made = self._definition.get(operand.name) if isinstance(operand, syntax.Register) else None
        if made is not None and made.guard is None and made.opcode == "mov":
            operand = made.operands[1]
        return operand.value if isinstance(operand, syntax.Integer) else None

    def never(self, guard) -> bool:
        """Whether a guard is plainly false in all lanes: ptxas leaves out what is under it.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .pred %p<3>; mov.pred %p1, 0;"
        >>> text += "mov.pred %p2, -1; @%p1 bar.sync 0; @!%p1 bar.sync 0; @%p2 bar.sync 0; @!%p2 bar.sync 0; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Known(function).never(s.guard) for s in function.body[2:]]
        [True, False, False, True, False]
        """
        negated = isinstance(guard, syntax.Negated)
        value = self.constant(guard.register if negated else guard)
        return value is not None and bool(value) == negated

    def place(self, address: syntax.Address, but: Container[str] = ()) -> syntax.Address:
        """The same address, told by what the register of its base is made of: by moves, changes of the space, and sums with
        numbers. but: names of registers by which it is not told.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b64 %p<3>; .reg .b32 %r;"
        >>> text += "add.s64 %p2, %p1, 8; ld.global.b32 %r, [%p2+4]; ret; }"
        >>> function = parse(text).functions["f"]
        >>> Known(function).place(function.body[1].operands[1])
        Address(base=Register(name='%p1', type='b64'), offset=12)
        """
        base, offset = address.base, address.offset
        for _ in range(_DEEPEST):
            made = self._definition.get(getattr(base, "name", ""))
            if made is None or made.guard is not None or made.opcode not in ("mov", "cvta", "add"):
                break
            first, *number = made.operands[1:]
            if not all(isinstance(one, syntax.Integer) for one in number) or isinstance(first, syntax.Vector):
                break
            if getattr(first, "name", "") in but:
                break
            base, offset = first, offset + sum(one.value for one in number)
        if isinstance(base, syntax.Symbol):
            base, offset = syntax.Symbol(base.name), offset + base.offset
        return syntax.Address(base, offset)

    def steady_place(self, address: syntax.Address) -> syntax.Address:
        """As `place`, but not by registers that may have changed since the base was made of them."""
        return self.place(address, self._changing)

    def where(self, address: syntax.Address) -> tuple[str, int]:
        """The `steady_place` of an address: (name of a register or a variable, "" if it is a number; bytes from there)."""
        found = self.steady_place(address)
        return getattr(found.base, "name", ""), found.offset + getattr(found.base, "value", 0)

    def uniform(self, operand) -> bool:
        """Whether ptxas may hold an operand in a uniform register: it is computed of constants, parameters and numbers of
        CTAs. `alike` says more: what is the same in all lanes in whichever register, as what is loaded from one address."""
        if isinstance(operand, syntax.Special):
            return operand.name.startswith(_UNIFORM)
        if isinstance(operand, syntax.Address):
            return self.uniform(operand.base)
        if isinstance(operand, syntax.Negated):
            return self.uniform(operand.register)
        if not isinstance(operand, syntax.Register):
            return isinstance(operand, syntax.Integer | syntax.Float | syntax.Symbol)
        return self._of_definition(operand.name, self._uniform, False, self._uniform_made)

    def _uniform_made(self, made):
        if made.opcode == "ld":
            return "param" in made.spaces
        return made.opcode in _MOVES and all(self.uniform(one) for one in made.operands[1:])

    def rounded(self, operand) -> str | None:
        """The type of floats whose arithmetic an operand is the result of, or None: of sums, and what is made of them.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<4>;"
        >>> text += "add.f32 %r1, %r0, %r0; mov.b32 %r2, %r1; add.s32 %r3, %r1, %r2; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Known(function).rounded(s.operands[0]) for s in function.body[:3]]
        ['f32', 'f32', None]
        """
        if not isinstance(operand, syntax.Register):
            return None
        return self._of_definition(operand.name, self._rounded, None, self._rounded_made)

    def _rounded_made(self, made):
        if made.opcode == "mov" and len(made.operands) == 2:
            return self.rounded(made.operands[1])
        if made.opcode == "selp":
            found = {self.rounded(one) for one in made.operands[1:3]}
            return found.pop() if len(found) == 1 else None
        type = ("", "", *made.modifiers)[-2 if made.opcode == "cvt" else -1]
        return type if made.opcode in _ROUNDS and type in _FLOATS else None
