"""Loads and stores of shared memory that ptxas joins: neighbours in a basic block become one access.

Seen in the SASS of ptxas 13.0 and 13.5: it joins accesses of one size, with one base register and no guard, in groups of
four and of two parts, if it knows that the whole is aligned, and if nothing in between may touch shared memory. Of a group
of four it loads all when three are wanted; of two loads from one place it keeps one. A load of a vector is its elements that
something reads: of `ld.v4` with two of them, it may make one of 8 bytes, or two of 4. Where the compiler ahead of it says
which bytes are used (`used_bytes_mask`), and not all are, what it makes of several elements stays apart from other loads.
Stores are joined if no other store comes between them, not even of the same base, but for those of their group of four. All
are executed one by one here, but counted as what they become.
"""

from collections.abc import Set
from dataclasses import dataclass

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import Statements
from simlayout.machine.ptx.passes.halves import kept_halves

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
_TOUCH = {"ld", "st", "atom", "red", "ldmatrix", "tensormap"}
"""Opcodes that touch the memory that a modifier names, or any."""


@dataclass(frozen=True)
class Joined:
    """An access that a load or store counts as, or one of them. bytes: of the whole; shift: from where the load or store
    begins to where the whole does."""

    bytes: int
    shift: int

    def name(self, part: str) -> str:
        """The instruction of the whole.

        >>> Joined(16, 0).name("ld.shared.b32")
        'ld.shared.b128'
        """
        return f"{part.rpartition('.')[0]}.b{8 * self.bytes}"


def joined(body: Statements, names, gone: Set[int]) -> dict[int, tuple[Joined, ...]]:
    """{id of an Instruction: what it counts as, if not as itself} of the statements of some Names' function. gone: ids of
    loads and stores that count nothing (`passes.unread`, `passes.redundant`)."""
    body = tuple(statement for statement in body if id(statement) not in gone)
    found: dict[int, tuple[Joined, ...]] = dict.fromkeys(gone, ())
    halves = kept_halves(body)
    if not any(_parts(s, names, halves) for s in body):
        return found
    aligned = Alignments(names)
    for size, loads_or_stores in _runs(body, names, halves):
        found |= _wholes(size, loads_or_stores, aligned)
    return found


@dataclass(frozen=True)
class _Parts:
    """A load or store as what may be joined. size: bytes of a part; wanted: where they are, from its start on; total: bytes
    of all. base, offset: see `_place`. mask: of the bytes that are used, where it keeps the load apart from those with
    another one; else 0."""

    statement: syntax.Instruction
    size: int
    wanted: tuple[int, ...]
    total: int
    base: str
    offset: int
    mask: int = 0

    @property
    def store(self):
        return self.statement.opcode == "st"


def _parts(statement, names, halves):
    """The _Parts of a load or store of shared memory that may be joined or narrowed; else None. halves: as `kept_halves`
    has them."""
    if not isinstance(statement, syntax.Instruction) or statement.opcode not in ("ld", "st") or len(statement.operands) != 2:
        return None
    space, *vector, type = statement.modifiers if len(statement.modifiers) > 1 else ("", "")
    store = statement.opcode == "st"
    address = statement.operands[not store]
    known = space in ("shared", "shared::cta") and vector in ([], ["v2"], ["v4"]) and isinstance(address, syntax.Address)
    base, offset = _place(address, names) if known else ("", None)
    size = WIDTHS.get(type, 0) // 8
    if offset is None or size not in (1, *PARTS):
        return None
    count = int(vector[0][1]) if vector else 1
    total = size * count
    if store and (statement.guard is not None or total == MOST_BYTES):
        return None
    wanted = [size * i for i in range(count)]
    if vector and not store and size > 1:
        elements = getattr(statement.operands[0], "operands", ())
        read = [size * i for i, element in enumerate(elements) if not names.known.unread(element)]
        wanted = read or wanted
    if vector and size < 4:                              # bytes and halves of a vector are in registers of up to 32 bits
        word = min(4, total)
        words = sorted({at - at % word for at in wanted})
        size, wanted = (size, wanted) if len(wanted) == 1 < count else (word, words)
    narrow = len(wanted) * size < total
    if size not in PARTS or size == 2 and not (store or narrow or id(statement) in halves):
        return None
    if statement.guard is not None and not narrow:
        return None
    return _Parts(statement, size, tuple(wanted), total, base, offset, _apart(statement.used_bytes, size, wanted, total))


def _apart(mask, size, wanted, total):
    """The mask of a load's bytes that are used if it keeps the load apart, else 0: not all bytes are used, and one access
    loads several of the parts.

    >>> _apart(0xF0FF, 4, [0, 4, 12], 16) == 0xF0FF, _apart(0xF00F, 4, [0, 12], 16), _apart(0xFFFF, 4, [0, 4, 12], 16)
    (True, 0, 0)
    """
    if mask is None or mask & (1 << total) - 1 == (1 << total) - 1:
        return 0
    pair = len(wanted) == 2 and wanted[1] == wanted[0] + size and wanted[0] % (2 * size) == 0
    return mask if pair or len(wanted) > 2 else 0


def _runs(body, names, halves):
    """(bytes, [_Parts]) of every run of parts with one size and base in a basic block between which nothing else touches
    shared memory, and of stores nothing but one group of parts. A guarded load is a run of its own."""
    run, stores = {}, False                              # (bytes, base, mask) -> [_Parts]
    for statement in body:
        parts = _parts(statement, names, halves)
        if parts is not None and statement.guard is not None:
            yield parts.size, [parts]
            parts = None
        if parts is None and keeps_apart(statement, stores) or parts is not None and not _goes_on(run, parts, stores):
            yield from _by_size(run)
            run, stores = {}, parts is not None and parts.store
        if parts is not None:
            run.setdefault((parts.size, parts.base, parts.mask), []).append(parts)
        if isinstance(statement, syntax.Instruction) and statement.opcode != "st":
            for key in [key for key in run if _defines(statement, key[1])]:
                yield key[0], run.pop(key)
    yield from _by_size(run)


def _by_size(run):
    return [(size, parts) for (size, *_), parts in run.items()]


def _goes_on(run, parts, stores):
    """Whether a load or store may belong to a run: loads to one of loads, a store to its group, where it is the first of its
    bytes."""
    if not (parts.store and stores and run):
        return parts.store == stores
    (key, before), = run.items()
    group = min(max(GROUPS) * parts.size, MOST_BYTES)
    there = {one.offset + at for one in before for at in one.wanted}
    return (key == (parts.size, parts.base, 0) and parts.offset // group == before[0].offset // group
            and there.isdisjoint(parts.offset + at for at in parts.wanted))


def keeps_apart(statement: syntax.Instruction | syntax.Label, store: bool) -> bool:
    """Whether loads of shared memory on both sides of a statement stay apart; store: whether stores do."""
    if isinstance(statement, syntax.Label) or statement.opcode in _ENDS or _branches(statement, store):
        return True
    spaces = {modifier.split("::")[0] for modifier in statement.modifiers}
    if store and spaces & {"release", "acq_rel"}:
        return True
    if statement.opcode == "cp":
        return "commit_group" not in spaces
    if statement.opcode not in _TOUCH or spaces & {"global", "local", "param", "const"}:
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


def _wholes(size, run, aligned):
    """{id: its Joineds} of loads or stores whose parts have one size, and one base."""
    left = {}                                            # where -> whose part is there
    for parts in run:
        for at in parts.wanted:
            left.setdefault(parts.offset + at, parts)
    operand = run[0].statement.operands[not run[0].store].base
    known = 1 << (aligned.of(operand) if isinstance(operand, syntax.Register) else _MOST)
    made = {id(parts.statement): [] for parts in run}
    for count in (*GROUPS, 1):
        whole = size * count
        for start in _starts(whole, known, left, run) if whole <= MOST_BYTES else ():
            inside = [at for at in range(start, start + whole, size) if at in left]
            if len(inside) < (3 if count == 4 and not run[0].store else count):
                continue
            some = [left.pop(at) for at in inside]
            counts = (max if run[0].store else min)(some, key=lambda parts: parts.statement.line)
            made[id(counts.statement)].append(Joined(whole, start - counts.offset))
    return {id(parts.statement): tuple(made[id(parts.statement)]) for parts in run
            if made[id(parts.statement)] != [Joined(parts.total, 0)]}


def _starts(whole, known, left, run):
    """Where wholes of so many bytes may start, as far as they are known to be aligned: by their base, which is a multiple of
    `known`, or within one load of a vector."""
    found = {at - at % whole for at in left if known >= whole} if whole > run[0].size else {*left}
    for parts in run if whole > run[0].size else ():
        found.update(range(parts.offset, parts.offset + parts.total - whole + 1, whole))
    return sorted(found)


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
