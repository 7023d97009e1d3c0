"""What ptxas executes behind an end of lanes (`@%p bra` to the end of the kernel, `@%p ret`), because that end comes first.

    total = tile[t] + tile[t + 1];
    if (i < n) out[i] += total;                            // @!P0 EXIT stands ahead of the loads of tile

ptxas puts first what the longest chain of instructions waits for. All that stands behind an end of lanes waits for it: where
that loads global memory, nearly everything comes behind that only such lanes need, of whatever operands; where it is short,
loads of shared memory, from which it takes longer to the last store, stay ahead. So do those with a uniform register in
their address. Seen in the SASS of ptxas 13.0 and 13.5; what an instruction lasts was measured by chains of one kind, in
halves of a `fma`.
"""

from collections.abc import Iterator

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG, becomes_branches, is_shared_load
from simlayout.machine.ptx.passes.lines import ATOMIC, Gate, Lines, branched_around, keeps_ahead
from simlayout.machine.ptx.passes.statements import COMPUTES

_LASTS = {"mov": 0, "cvta": 0, "bra": 0, "shl": 0, "cvt": 5, "shfl": 12, "div": 36, "rem": 40, "red": 144, "atom": 152,
          **dict.fromkeys(("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"), 9)}
_SHARED, _GLOBAL, _DOUBLE, _OTHER = 22, 152, 6, 2
_SCALED, _SCALING = {"ex2", "lg2", "sqrt", "rsqrt"}, 13
"""What ptxas scales ahead and behind, unless numbers that are not normal are flushed to 0."""
_ACCESSES = ATOMIC | {"ld", "st", "ldmatrix", "stmatrix", "cp"}
_STORES = ATOMIC | {"st"}
_ENDS = {"bra", *syntax.LEAVES}


def late(lines: Lines, gate: Gate) -> list[syntax.Statement]:
    """What comes behind a gate that is an end of lanes, the last one first. """
    body = lines.body
    loads = (at for unit in _units(lines, gate) for at in unit if is_shared_load(body[at]))
    if not gate.inside or not any(loads):
        return []
    inside, kept = _inside(lines, gate), set[int]()
    while True:
        along = _along(lines, gate, inside, kept)
        more = {at for at in along
                if any(one < gate.at and one not in along for one in lines.holding[id(body[at])])}
        if not more:
            return [body[at] for at in along]
        kept |= more


def _units(lines: Lines, gate: Gate) -> Iterator[range]:
    """The places of what may come behind a gate, from it backwards up to what keeps loads ahead: of one instruction each, or
    of a branch that ptxas replaces by predicates, with its lines and its labels."""
    for unit, keeps in _parts(lines, gate):
        if keeps:
            return
        yield unit


def _parts(lines, gate):
    """(such places, whether loads ahead of them stay ahead) of all the gate's basic block, as ptxas has that."""
    at, then = gate.at - 1, (gate.at, None)
    while at >= 0:
        first, inside = at, range(at, at + 1)
        if _is_label(lines.body[at]):
            first = lines.predicated(at, then)
            if first < 0:
                return
            then = first, lines.body[first].guard
            inside = [one for one in range(first + 1, at) if lines.body[one].opcode not in ("", "bra")]
        if any(lines.body[one].opcode in _ENDS or branched_around(lines.body[one]) for one in inside):
            return
        yield range(first, at + 1), any(keeps_ahead(lines.body[one]) for one in inside)
        at = first - 1


def _inside(lines, gate):
    """{place: how long it takes from there to the last instruction behind a gate that waits for it}, as far as ptxas looks:
    up to a barrier, a label, or a branch that ends no lanes. Loads of global memory that only this needs come there, too."""
    end = next((at for at in gate.inside if _is_last(lines, at)), gate.inside.stop)
    waits: dict[int, int] = {}
    next_end = 0                                         # how long it takes from the next end of lanes on
    for at in range(end - 1, gate.inside.start - 1, -1):
        waits[at] = _waits(lines, at, waits)
        if lines.body[at].opcode in _ENDS:
            waits[at] = next_end = max(waits.values())
        elif lines.body[at].opcode in _STORES:
            waits[at] = max(waits[at], _lasts(lines, at) + next_end)
    return waits | {at: _waits(lines, at, waits) for at in _global_loads(lines, gate)}


def _is_last(lines, at):
    """Whether ptxas looks no further than to a statement."""
    statement = lines.body[at]
    if _is_label(statement) or branched_around(statement):
        return True
    if statement.opcode in _ENDS:
        other = lines.gate(at)
        return other is None or not other.ends
    return statement.opcode not in _ACCESSES and keeps_ahead(statement)


def _global_loads(lines, gate):
    """Places of loads of global memory that come behind a gate, past nothing that may change what they load."""
    changed = False
    for unit, _ in _parts(lines, gate):
        one, at = lines.body[unit[0]], unit[0]
        changed = changed or any(map(may_change_global, lines.body[unit.start : unit.stop]))
        if len(unit) == 1 and one.guard is None and one.name.startswith("ld.global.nc" if changed else "ld.global"):
            only = lines.known.made(one.operands[0]) is one or isinstance(one.operands[0], syntax.Vector)
            if only and all(other > gate.at for name in one.writes for other in lines.reads[name]):
                yield at


def may_change_global(statement):
    """Whether it may change global memory, or orders accesses."""
    if _is_label(statement) or statement.opcode in _ENDS:
        return False
    if statement.opcode in _STORES and "release" not in statement.modifiers:
        return not statement.names_shared
    return keeps_ahead(statement)


def _along(lines, gate, inside, kept):
    """The places of what comes behind a gate, the last one first. inside: as of `_inside`; kept: places of what does not."""
    urgent, waits = max(inside.values(), default=0), dict(inside)
    found: list[int] = []
    read, changed = {*lines.body[gate.at].reads}, set[str]()      # between a statement and the gate, by what stays
    for unit in _units(lines, gate):
        statements = [lines.body[at] for at in unit if not _is_label(lines.body[at])]
        made = {name for one in statements for name in one.writes}
        needed = {name for one in statements for name in one.reads}
        moves = all(_may_move(lines, one) for one in statements)
        moves = moves and (len(unit) > 1 or not _adds_uniform_register(lines, statements[0]))
        if moves and made.isdisjoint(read | changed) and changed.isdisjoint(needed):
            for at in reversed(unit):
                waits[at] = _waits(lines, at, waits)
            if max(waits[at] for at in unit) < urgent and kept.isdisjoint(unit):
                found += reversed(unit)
                read |= _needed_ahead(lines, statements)
                continue
        changed |= made
        read |= needed
    return found


def _may_move(lines, statement):
    """Whether ptxas may execute an instruction later: it computes something in each lane alone, or loads shared memory."""
    if statement.opcode == "ld":
        plain = is_shared_load(statement) and STRONG.isdisjoint(statement.modifiers)
        return plain and not _has_uniform_register(lines, lines.known.place(statement.operands[1]).base)
    computes = (statement.opcode == "bra" or statement.opcode in COMPUTES) and not becomes_branches(statement, False)
    return computes and syntax.CARRY not in (*statement.reads, *statement.writes)


def _needed_ahead(lines, statements):
    """Names of the registers that sums of addresses need, which stay, in the lines of a branch that come behind a gate."""
    needed: set[str] = set()
    for one in reversed(statements):
        if _adds_uniform_register(lines, one) or not needed.isdisjoint(one.writes):
            needed |= {*one.reads, *statements[0].reads}
    return needed


def _adds_uniform_register(lines, statement):
    """Whether an instruction adds the address of a variable, which all lanes share: that stays ahead, with its guard."""
    if statement.opcode != "add" or isinstance(statement.operands[2], syntax.Integer):
        return False
    more, shared = sorted(statement.operands[1:], key=lines.known.uniform)
    variable = isinstance(lines.known.place(syntax.Address(shared)).base, syntax.Symbol)
    return variable and not lines.known.uniform(more) and lines.named(shared) not in lines.in_registers


def _has_uniform_register(lines, base):
    """Whether ptxas adds what all lanes share in the load itself, `LDS R0, [R4+UR4]`. base: of an address. It does not where
    one instruction makes the sum ahead, with what else is added, which nothing else needs: a number that was shifted, a
    product, a difference, or a sum of two registers."""
    known, made = lines.known, lines.known.made(base)
    if known.uniform(base):
        return lines.named(base) not in lines.in_registers
    if made is None or made.opcode != "add" or sum(map(known.uniform, made.operands[1:])) != 1:
        return False
    more, shared = sorted(made.operands[1:], key=known.uniform)
    ahead = known.made(shared)                           # of the same kind: `LEA` in the registers that lanes share
    moved = ahead is not None and ahead.opcode == "add" and any(map(lines.is_shifted, ahead.operands[1:]))
    variable = isinstance(known.place(syntax.Address(shared)).base, syntax.Symbol)
    if not (variable or moved) or lines.named(shared) in lines.in_registers:
        return False
    part = known.made(more)
    while part is not None and part.opcode in ("mov", "cvt", "cvta") and len(lines.reads[more.name]) == 1:
        more = part.operands[1]
        part = known.made(more)
    if part is None or len(lines.reads[more.name]) > 1 or part.opcode not in ("shl", "shr", "mul", "sub", "add"):
        return True
    number = isinstance(part.operands[2], syntax.Integer)
    if part.opcode == "add":
        return number or sum(map(lines.is_shifted, part.operands[1:])) == 1
    return number if part.opcode == "sub" else not number if part.opcode != "mul" else False


def _waits(lines, at, waits):
    """How long it takes from a statement to the last one that waits for it. waits: of those behind it."""
    behind = (waits[one] for name in lines.body[at].writes for one in lines.reads[name] if one > at and one in waits)
    return _lasts(lines, at) + max(behind, default=0)


def _lasts(lines, at):
    """How long a statement lasts; nothing, where nothing needs what it loads."""
    statement = lines.body[at]
    if _is_label(statement):
        return 0
    if statement.opcode == "ld" and not any(lines.reads[name] for name in statement.writes):
        return 0
    if statement.opcode in ("ld", "ldmatrix"):
        return _SHARED if is_shared_load(statement) else 0 if "param" in statement.spaces else _GLOBAL
    if statement.opcode in _SCALED and "f32" in statement.modifiers and "ftz" not in statement.modifiers:
        return _LASTS["ex2"] + _SCALING
    return _LASTS.get(statement.opcode, _DOUBLE if "f64" in statement.modifiers else _OTHER)


def _is_label(statement):
    return isinstance(statement, syntax.Label)
