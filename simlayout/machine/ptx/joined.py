"""Loads and stores of shared memory that ptxas joins: neighbours in a basic block become one access.

Seen in the SASS of ptxas 13.0 and 13.5: it joins accesses of one size, with one base register and no guard, in groups of
four and of two parts, if it knows that the whole is aligned, and if nothing in between may touch shared memory. Of a group
of four it loads all when three are wanted; of two loads from one place it keeps one. The parts are executed one by one here,
but counted as what they become.
"""

from dataclasses import dataclass, field

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.halves import kept_halves

GROUPS = (4, 2)
"""How many parts a whole has, largest first."""
MOST_BYTES = 16
PARTS = 2, 4, 8
"""Bytes of what may become a part of it, and of the whole."""
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
    halves = kept_halves(body)
    if not any(_part(s, halves) for s in body):
        return {}
    aligned, found = Alignments(names), {}
    for size, base, parts in _runs(body, names, halves):
        found |= _whole(size, base, parts, aligned)
    return found


def _part(statement, halves):
    """(store, bytes of a part, how many it is) of a plain load or store of shared memory that may be joined; else None.
    halves: as `kept_halves` has them."""
    if not isinstance(statement, syntax.Instruction) or statement.opcode not in ("ld", "st"):
        return None
    space, *vector, type = statement.modifiers if len(statement.modifiers) > 1 else ("", "")
    store, size, count = statement.opcode == "st", WIDTHS.get(type, 0) // 8, 1
    if space not in ("shared", "shared::cta") or vector not in ([], ["v2"], ["v4"]) or size not in PARTS:
        return None
    if vector:
        count = int(vector[0][1])
        size, count = (4, count // 2) if size == 2 else (size, count)            # halves of a vector are in 32-bit registers
    elif size == 2 and not store and id(statement) not in halves:
        return None
    plain = statement.guard is None and len(statement.operands) == 2
    plain = plain and isinstance(statement.operands[not store], syntax.Address)
    return (store, size, count) if plain and size * count < MOST_BYTES else None


@dataclass
class _Run:
    """Parts in a basic block between which nothing else touches shared memory: {(bytes, base): [(offset, count,
    Instruction)]}."""

    store: bool
    parts: dict = field(default_factory=dict)

    def all(self):
        """(bytes, base, parts) of each."""
        return ((*key, parts) for key, parts in self.parts.items())


def _runs(body, names, halves):
    """(bytes, name of the base, parts) of every run of parts with one size and base."""
    run = _Run(False)
    for statement in body:
        part = _part(statement, halves)
        if part is None and _ends(statement, run.store) or part is not None and part[0] != run.store:
            yield from run.all()
            run = _Run(part is not None and part[0])
        if part is not None:
            base, offset = _place(statement.operands[not part[0]], names)
            if offset is not None:
                run.parts.setdefault((part[1], base), []).append((offset, part[2], statement))
        if isinstance(statement, syntax.Instruction) and statement.opcode != "st":
            for key in [key for key in run.parts if _defines(statement, key[1])]:
                yield *key, run.parts.pop(key)
    yield from run.all()


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
    """Whether ptxas makes branches of arithmetic, or what keeps stores apart: of quotients and roots that are rounded, and
    of quotients of integers that are not of 32 bits, whatever they are divided by."""
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


def _whole(size, base, parts, aligned):
    """{id: Joined} of parts of one size with one base, a register's name."""
    left, found = {}, {}                                 # left: offset -> which Instruction has that part
    store = parts[0][-1].opcode == "st"
    starts = {id(part): offset for offset, _, part in parts}
    for offset, count, part in parts:
        mine = range(offset, offset + size * count, size)
        if not store and all(at in left for at in mine):
            found[id(part)] = Joined(0, 0)
        left |= {at: part for at in mine if at not in left}
    operand = parts[0][-1].operands[not store].base
    known = aligned.of(operand) if isinstance(operand, syntax.Register) else _MOST
    for count in GROUPS:
        whole = size * count
        for start in sorted({at - at % whole for at in left}):
            inside = [at for at in range(start, start + whole, size) if at in left]
            some = list({id(left[at]): left[at] for at in inside}.values())
            enough = 3 if count == 4 and not store else count
            if whole > MOST_BYTES or 1 << known < whole or len(inside) < enough or len(some) < 2:
                continue
            for at in inside:
                del left[at]
            counts = (max if store else min)(some, key=lambda part: part.line)
            found |= {id(part): Joined(whole, start - starts[id(part)]) if part is counts else Joined(0, 0) for part in some}
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
