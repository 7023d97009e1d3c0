"""How registers are aligned, as far as ptxas knows: it joins accesses only where the whole is (`joined`)."""

from collections import Counter

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import instructions

MOST_ZEROS = 4
"""Low bits that are looked at: multiples of 16 and more are all the same here."""

_SOURCES = {"mov": 1, "cvt": 1, "cvta": 1, "neg": 1, "bfi": 3, "mad": 3,
            **dict.fromkeys(("add", "sub", "or", "xor", "selp", "min", "max", "and", "mul", "shl"), 2)}
"""How many operands of an instruction `Alignments` looks at."""


class Alignments:
    """How many low bits of a register are 0 as far as ptxas knows, up to MOST_ZEROS, in the function of some Names.

    Where an instruction reads what one above it in its basic block has written, the register has the bits of that alone:
    `mov %i, 0; mov %j, %i;` makes 0 of both, whatever a loop below adds to %i.
    """

    def __init__(self, names):
        self._names, self._above, made = names, {}, []
        self._reads = Counter(name for s in instructions(names.function.body) for name in s.reads)
        self._bits: dict[str, int] = {}                  # of a register, whichever of its definitions it is from
        above: dict[str, list[int]] = {}                 # register -> [bits] of its definition above in the block
        for s in names.function.body:
            if isinstance(s, syntax.Label):
                above = {}
                continue
            read = {r.name: above[r.name] for r in s.operands if isinstance(r, syntax.Register) and r.name in above}
            for name in s.may_write:
                made.append((name, s, read, bits := [MOST_ZEROS]))
                self._bits[name] = MOST_ZEROS
                above[name] = bits
                if s.guard is not None:                  # the one before it may stay
                    del above[name]
        changed = True
        while changed:
            changed = False
            for name, s, self._above, bits in made:
                now = min(bits[0], self._made(s))
                changed |= now != bits[0]
                bits[0], self._bits[name] = now, min(now, self._bits[name])
        self._above = {}

    def of(self, operand) -> int:
        """Of a Register, a Symbol without its offset, or a number."""
        if isinstance(operand, syntax.Register):
            return self._above[operand.name][0] if operand.name in self._above else self._bits.get(operand.name, 0)
        if isinstance(operand, syntax.Integer):
            return _zeros(operand.value)
        if isinstance(operand, syntax.Symbol):
            return _zeros(self._names.symbol(operand) - operand.offset) if self._names.is_shared(operand.name) else 0
        return 0

    def _made(self, s):
        first, *sources = s.operands
        if isinstance(first, syntax.Vector) or any(m in ("f32", "f64", "f16", "bf16") for m in s.modifiers):
            return 0
        if len(sources) < _SOURCES.get(s.opcode, 0):     # an instruction that is refused
            return 0
        bits = [self._whole(one) for one in sources]
        if s.opcode in ("mov", "cvt", "cvta"):
            return bits[0]
        wide = s.opcode in ("min", "max") and s.modifiers[-1] in ("s64", "u64")       # ptxas compares, and selects
        if s.opcode in ("add", "or", "xor", "selp") or wide:     # not of min and max of 32 bits, as ptxas has it
            return min(bits[:2])
        if s.opcode in ("sub", "neg") and s.modifiers[-1] in ("u32", "s32"):      # as a product with a negative number
            more, less = first if s.opcode == "neg" else sources[0], sources[-1]
            alone = self._reads[more.name] == 1 if s.opcode == "neg" else not self._is_product(more)
            return min(bits) if isinstance(less, syntax.Integer) or alone and self._is_product(less) else 0
        if s.opcode == "and":
            return max(bits)
        if s.opcode in ("mul", "mad") and "hi" not in s.modifiers:
            return min([sum(bits[:2]), *bits[2:], MOST_ZEROS])
        if s.opcode == "shl":
            return min(bits[0] + (max(sources[1].value, 0) if isinstance(sources[1], syntax.Integer) else 0), MOST_ZEROS)
        if s.opcode == "bfi" and isinstance(sources[2], syntax.Integer):
            return min(bits[0] + max(sources[2].value, 0), bits[1], MOST_ZEROS)
        return 0

    def _is_product(self, operand):
        """Whether it is one with a number, or shifted by one, which one instruction alone reads: ptxas adds in the same."""
        made = self._names.known.made(operand) if isinstance(operand, syntax.Register) else None
        return (made is not None and made.opcode in ("shl", "mul") and isinstance(made.operands[2], syntax.Integer)
                and self._reads[operand.name] == 1)

    def _whole(self, operand):
        if isinstance(operand, syntax.Symbol):
            return min(self.of(operand), _zeros(operand.offset))
        return self.of(operand)


def _zeros(value):
    return next((i for i in range(MOST_ZEROS) if value >> i & 1), MOST_ZEROS)
