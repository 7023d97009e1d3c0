"""Loads and stores of shared memory that ptxas joins: neighbours in a basic block become one access.

Seen in the SASS of ptxas 13.0: it joins accesses of one size, with one base register and no guard, if their offsets follow
one another, if it knows that the first is aligned, and if nothing in between may touch shared memory; of two loads from one
place it keeps one. The parts are executed one by one here, but counted as what they become.
"""

from dataclasses import dataclass, field

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax

WHOLES = (16, 8, 4)
"""Bytes of what is joined, largest first."""
PARTS = {"ld": (4, 8), "st": (2, 4, 8)}
"""Bytes of what may become a part of it."""
_MOST = 4
"""Multiples of 16 and more are all the same here."""
_ENDS = {"bra", "brx", "ret", "exit", "call", "trap", "bar", "barrier", "fence", "membar", "mbarrier", "stmatrix", "wgmma",
         "wmma", "griddepcontrol", "nanosleep"}
"""Opcodes past which nothing is joined; those that may touch shared memory come on top."""


@dataclass(frozen=True)
class Joined:
    """What a part counts as. bytes: of the whole, 0 for all parts but one; shift: from this part to the whole's start."""

    bytes: int
    shift: int

    def name(self, part: str) -> str:
        """The instruction of the whole.

        >>> Joined(16, 0).name("ld.shared.b32")
        'ld.shared.b128'
        """
        return f"{part.rpartition('.')[0]}.b{8 * self.bytes}"


def joined(names) -> dict[int, Joined]:
    """{id of an Instruction: Joined} for the function of some Names."""
    body = names.function.body
    if not any(_part(s) for s in body):
        return {}
    aligned, found = Alignments(names), {}
    for parts in _runs(body, names):
        found |= _whole(parts, aligned)
    return found


def _part(statement):
    """(store, bytes) of a plain load or store of shared memory that may be joined; else None."""
    if not isinstance(statement, syntax.Instruction) or statement.opcode not in PARTS or statement.guard is not None:
        return None
    space, *vector, type = statement.modifiers if len(statement.modifiers) > 1 else ("", "")
    store, size = statement.opcode == "st", WIDTHS.get(type, 0) // 8 * (2 if vector == ["v2"] else 1)
    if space not in ("shared", "shared::cta") or vector not in ([], ["v2"]) or size not in PARTS[statement.opcode]:
        return None
    plain = len(statement.operands) == 2 and isinstance(statement.operands[not store], syntax.Address)
    return (store, size) if plain else None


@dataclass
class _Run:
    """Parts in a basic block between which nothing else touches shared memory: {key: [(offset, bytes, Instruction)]}."""

    store: bool
    parts: dict = field(default_factory=dict)


def _runs(body, names):
    """The parts of every run, [(offset, bytes, Instruction)] with one size and base."""
    run = _Run(False)
    for statement in body:
        part = _part(statement)
        if part is None and _ends(statement, run.store) or part is not None and part[0] != run.store:
            yield from run.parts.values()
            run = _Run(part is not None and part[0])
        if part is not None:
            base, offset = _place(statement.operands[not part[0]], names)
            if offset is not None:
                run.parts.setdefault((statement.modifiers[1:], base), []).append((offset, part[1], statement))
        if isinstance(statement, syntax.Instruction) and statement.opcode != "st":
            for key in [key for key in run.parts if _defines(statement, key[1])]:
                yield run.parts.pop(key)
    yield from run.parts.values()


def _ends(statement, store):
    """Whether parts on both sides of a statement stay apart. store: those are stores, not loads."""
    if isinstance(statement, syntax.Label) or statement.opcode in _ENDS or _branches(statement, store):
        return True
    spaces = {modifier.split("::")[0] for modifier in statement.modifiers}
    if store and spaces & {"release", "acq_rel"}:
        return True
    if statement.opcode == "cp":
        return "commit_group" not in spaces
    if statement.opcode not in ("ld", "st", "atom", "red", "ldmatrix") or spaces & {"global", "local", "param", "const"}:
        return False
    return store or statement.opcode not in ("ld", "ldmatrix") or "volatile" in spaces


def _branches(statement, store):
    """Whether ptxas makes branches of arithmetic, or what keeps stores apart: of quotients and roots that are rounded, and of
    quotients of integers that are not of 32 bits, whatever they are divided by."""
    opcode, modifiers = statement.opcode, statement.modifiers
    if opcode == "rsqrt":
        return modifiers == ("approx", "f64")
    if opcode in ("div", "rem") and modifiers[-1][0] != "f":
        return modifiers[-1] != "u32" and (store or modifiers[-1] != "s32")
    return opcode in ("div", "rcp", "sqrt") and modifiers[0] in ("rn", "rz", "rm", "rp")


def _place(address, names):
    """(name of the base register, "" if there is none; the offset from it, None if that is unknown) of an Address."""
    base = address.base
    if isinstance(base, syntax.Register):
        return base.name, address.offset
    if isinstance(base, syntax.Symbol):
        return "", names.symbol(base) + address.offset if names.is_shared(base.name) else None
    return "", address.offset + base.value


def _defines(statement, base):
    """Whether an instruction changes the base of parts before it."""
    first = statement.operands[0] if statement.operands else None
    return base in {getattr(one, "name", None) for one in getattr(first, "operands", (first,))}


def _whole(parts, aligned):
    """{id: Joined} of parts with one size and base."""
    (_, size, one), found, left = parts[0], {}, {}
    store = one.opcode == "st"
    for offset, _, part in parts:
        if offset in left and not store:
            found[id(part)] = Joined(0, 0)
        left.setdefault(offset, part)
    base = one.operands[not store].base
    known = aligned.of(base) if isinstance(base, syntax.Register) else _MOST
    for whole in WHOLES:
        for start in sorted(left):
            offsets = range(start, start + whole, size)
            if whole <= size or start % whole or 1 << known < whole or any(at not in left for at in offsets):
                continue
            some = [left.pop(at) for at in offsets]
            counts = (max if store else min)(some, key=lambda part: part.line)
            found |= {id(part): Joined(whole, -i * size) if part is counts else Joined(0, 0) for i, part in enumerate(some)}
    return found


_SOURCES = {"mov": 1, "cvt": 1, "cvta": 1, "add": 2, "or": 2, "xor": 2, "selp": 2, "and": 2, "mul": 2, "mad": 3, "shl": 2,
            "bfi": 3}
"""How many operands of an instruction `Alignments` looks at."""


class Alignments:
    """How many low bits of a register are 0 as far as ptxas knows, up to _MOST, in the function of some Names.

    Where an instruction reads what one above it in its basic block has written, the register has the bits of that alone:
    `mov %i, 0; mov %j, %i;` makes 0 of both, whatever a loop below adds to %i.
    """

    def __init__(self, names):
        self._names, self._above, made = names, {}, []
        self._bits: dict[str, int] = {}                  # of a register, whichever of its definitions it is from
        above: dict[str, list[int]] = {}                 # register -> [bits] of its definition above in the block
        for s in names.function.body:
            if isinstance(s, syntax.Label):
                above = {}
                continue
            read = {r.name: above[r.name] for r in s.operands if isinstance(r, syntax.Register) and r.name in above}
            first = s.operands[0] if s.operands else None
            for register in getattr(first, "operands", (first,)):
                if isinstance(register, syntax.Register) and s.opcode != "st":
                    made.append((register.name, s, read, bits := [_MOST]))
                    self._bits[register.name] = _MOST
                    above[register.name] = bits
                    if s.guard is not None:              # the one before it may stay
                        del above[register.name]
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
        if s.opcode in ("add", "or", "xor", "selp"):     # not of sub, min and max, of which ptxas does not know either
            return min(bits[:2])
        if s.opcode == "and":
            return max(bits)
        if s.opcode in ("mul", "mad") and "hi" not in s.modifiers:
            return min([sum(bits[:2]), *bits[2:], _MOST])
        if s.opcode == "shl":
            return min(bits[0] + (max(sources[1].value, 0) if isinstance(sources[1], syntax.Integer) else 0), _MOST)
        if s.opcode == "bfi" and isinstance(sources[2], syntax.Integer):
            return min(bits[0] + max(sources[2].value, 0), bits[1], _MOST)
        return 0

    def _whole(self, operand):
        if isinstance(operand, syntax.Symbol):
            return min(self.of(operand), _zeros(operand.offset))
        return self.of(operand)


def _zeros(value):
    return next((i for i in range(_MOST) if value >> i & 1), _MOST)
