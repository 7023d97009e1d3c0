"""What a warp does that depends on when it came: what follows from the value of an atomic to which several warps come, in
any order, or from a load or store that races.

An atomic that hands out work as a whole decides nothing: if all lanes of a warp go by one value (lane 0 takes a tile for
all, by a shuffle or by a word of shared memory), somebody else does the same work in another order, and the sums stay. Nor
do places that are handed out one after another (`queue[atomicAdd(&count, 1)] = x`), whose banks only turn. But what then
stands in such places is in any order, and so are lanes that go by it, by a rank in a bin, or by who was first.
"""

from collections import defaultdict
from collections.abc import Iterable, Set
from enum import IntEnum
from functools import cached_property

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import may_be_shared
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions, registers_in


class How(IntEnum):
    """How a value depends on the order. ALL: it is that of a piece of work, which all lanes have together. RANK: that, and
    the lane's rank among them. LANES: in any way. TRIES: in any way, and a loop goes on by it until it succeeds, which is no
    work that somebody else would do, even if all lanes have it together."""

    NOT, ALL, RANK, LANES, TRIES = range(5)


_SUMS = {"mov", "add", "sub", "mul", "mad", "shl", "cvt", "cvta", "neg", "or"}
"""Opcodes of whose results a rank stays one."""
_AGREES = {"vote", "match", "redux", "bar", "barrier"}
_STORES = {"st", "red", "atom", "stmatrix", "cp"}
_LOADS = {"ld", "ldu", "ldmatrix", "atom"}


class ByOrder:
    """Of a syntax.Function. known, alike: what is known of its registers; tried: the ids of atomics that threads try until
    they succeed.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .shared .b32 s[9];"
    >>> text += "mov.u32 %r1, %tid.x; atom.shared.add.u32 %r2, [s], 1; shl.b32 %r3, %r2, 2; st.shared.b32 [%r3], %r1;"
    >>> text += "ld.shared.b32 %r4, [%r1]; ld.shared.b32 %r5, [%r4]; ret; }"
    >>> function = parse(text).functions["f"]
    >>> found = ByOrder(function, Known(function), Alike(function), set())
    >>> [one.operands[0].name for one in found.behind(found.sources[0])]
    ['%r5']
    """

    def __init__(self, function: syntax.Function, known: Known, alike: Alike, tried: Set[int]):
        self._function, self._known, self._alike, self._tried = function, known, alike, tried
        self._found: dict[frozenset[int], list[syntax.Instruction]] = {}

    @cached_property
    def sources(self) -> list[syntax.Instruction]:
        """The atomics whose value something reads."""
        return [one for one in instructions(self._function.body)
                if one.opcode == "atom" and not self._known.unread(one.operands[0])]

    def behind(self, *sources: syntax.Instruction) -> list[syntax.Instruction]:
        """The accesses of shared memory whose lanes or addresses depend on the order of some atomics, loads or stores among
        those of other warps."""
        which = frozenset(map(id, sources))
        if which not in self._found:
            self._found[which] = _Spread(self._function, self._alike, which, self._tried).found() if sources else []
        return self._found[which]


class _Spread:
    """How far the order goes by which threads come to some instructions, by their ids. tried: as of ByOrder."""

    def __init__(self, function, alike, sources, tried):
        self._alike, self._sources, self._tried, self._flow = alike, sources, tried, Flow.of(function)
        self._parameters = {variable.name for variable in function.parameters} if function.entry else set()
        self._how: dict[str, How] = {}                   # by register, where it goes through the blocks; no NOT
        self._behind: dict[int, dict[str, How]] = {block: {} for block in self._flow.order}
        self._mixed: dict[str, How] = defaultdict(lambda: How.NOT)        # by what is known of an address: what lies there
        self._under: dict[int, How] = defaultdict(lambda: How.NOT)        # block -> of the branches that decide about it
        self._roots = Roots(instructions(function.body))

    def found(self):
        """The accesses, in their order."""
        found: dict[int, syntax.Instruction] = {}
        before = None
        while before != (now := ({block: dict(how) for block, how in self._behind.items()}, dict(self._mixed),
                                 dict(self._under))):
            before = now
            for block in self._flow.order:
                found |= {id(one): one for one in self._through(block)}
        return [*found.values()]

    def _through(self, block):
        """Goes through a block; gives the accesses in it."""
        self._how = {}
        for ahead in self._flow.before[block]:
            for name, how in self._behind[ahead].items():
                if self._how.get(name, How.NOT) < how:
                    self._how[name] = how
        for one in self._flow.blocks[block]:
            under = self._under_of(block, one)
            if one.opcode in _LOADS | _STORES and may_be_shared(one) and max(under, self._address(one)) >= How.LANES:
                yield one
            if one.opcode in _STORES:
                self._store(one, under)
            names = {*one.writes, *_results(one)}
            made = max(self._made(one), under) if names else How.NOT
            for name in names:
                before = self._how.pop(name, How.NOT)
                if how := made if one.guard is None else max(before, made):
                    self._how[name] = how
            if one.opcode in syntax.LEAVES and one.guard is not None and under:
                self._decides([block, *self._flow.after[block]], 0, under)
        self._behind[block] = self._how
        last = self._flow.blocks[block][-1] if self._flow.blocks[block] else None
        if last is not None and last.opcode in syntax.BRANCHES:
            how = _predicate(self._of(registers_in((last.guard,) if last.opcode == "bra" else last.operands)))
            if how:
                self._decides(self._flow.after[block], self._flow.always_behind[block], how)

    def _decides(self, ways, meets, how):
        todo, seen = [*ways], set()
        while todo:
            at = todo.pop()
            if at not in seen and not meets >> at & 1:
                seen.add(at)
                self._under[at] = max(self._under[at], how)
                todo += self._flow.after[at]

    def _under_of(self, block, one):
        """Of what decides whether a lane executes an instruction."""
        return max(self._under[block], _predicate(self._of(registers_in((one.guard,)))))

    def _of(self, names: Iterable[str]):
        return max((self._how.get(name, How.NOT) for name in names), default=How.NOT)

    def _address(self, one):
        """Of the addresses of an access."""
        return self._of(name for operand in _addresses(one) for name in registers_in((operand,)))

    def _made(self, one):
        """Of what an instruction makes."""
        if id(one) in self._sources:
            if id(one) in self._tried:
                return How.TRIES
            return How.RANK if one.opcode == "atom" and self._hands_out(one) else How.LANES
        if one.opcode in _LOADS:
            return self._loaded(one)
        how = self._of(one.reads)
        if one.opcode == "shfl" and how == How.RANK:
            return How.ALL if "idx" in one.modifiers and self._alike(one, one.operands[2]) else How.LANES
        if how == How.RANK and (one.opcode not in _SUMS or self._scales(one)):
            return How.LANES
        return how

    def _hands_out(self, one):
        """Whether an atomic gives the lanes one number after another: all add the same to one place."""
        address, value = one.operands[1], one.operands[2]
        return not {"add", "inc", "dec"}.isdisjoint(one.modifiers) and self._alike(one, address) and self._alike(one, value)

    def _scales(self, one):
        """Whether it multiplies a rank by what lanes have different ones of."""
        return one.opcode in ("mul", "mad", "shl") and not any(self._alike(one, operand) for operand in one.operands[1:3])

    def _loaded(self, one):
        if not {"param", "local"}.isdisjoint(one.spaces):
            return max(self._mixed[key] for key in self._keys(one))
        address = self._address(one)
        mixed = max(self._mixed[key] for key in self._keys(one))
        if mixed == How.TRIES:
            return mixed
        if address >= How.RANK:
            return How.LANES
        if mixed and not all(self._alike(one, operand) for operand in _addresses(one)):
            return How.LANES
        return max(address, How.ALL if mixed else How.NOT)

    def _store(self, one, under):
        """Notes that what lies in memory is in any order."""
        value = self._of(registers_in(operand for operand in one.operands if not _is_address(operand)))
        if not {"param", "local"}.isdisjoint(one.spaces):
            how = max(value, under)
        else:
            how = max(value, under, self._address(one))
            how = max(how, How.LANES) if how >= How.RANK else How.NOT
            if id(one) in self._sources:                 # what an atomic itself leaves behind does not depend on the order
                how = How.NOT if one.opcode == "atom" else How.LANES
        for key in self._keys(one, True) if how else ():
            self._mixed[key] = max(self._mixed[key], how)

    def _keys(self, one, store=False):
        """Where a load may find what a store has left: under the names of the variables and parameters that the address is
        made of; of one that is made of none a store is found by all, and a load finds all."""
        if not {"param", "local"}.isdisjoint(one.spaces):
            entry = any(operand.base.name in self._parameters for operand in _addresses(one)
                        if isinstance(operand.base, syntax.Symbol))
            return ["parameters"] if entry else ["own"]
        names = {name for operand in _addresses(one) for name in self._roots.of(operand)}
        if store:
            return [*names, "any"] if names else ["any", "unknown"]
        return [*names, "unknown"] if names else ["any"]


def _predicate(how):
    return How.LANES if how == How.RANK else how


def _is_address(operand):
    return isinstance(operand, syntax.Address | syntax.TensorAddress)


def _addresses(one):
    return [operand for operand in one.operands if _is_address(operand)]


def _results(one):
    """Names of the registers that an instruction of _AGREES writes, of which barriers may have a result."""
    return registers_in(one.operands[:1]) if one.opcode in _AGREES and "red" in one.modifiers else ()


def accesses(function: syntax.Function) -> list[tuple[syntax.Instruction, set[int]]]:
    """[(an access of memory that may be global, the numbers of the parameters that its address is made of)]."""
    body = instructions(function.body)
    names, roots = [variable.name for variable in function.parameters], Roots(body)
    found = []
    for one in body:
        if one.opcode in ("ld", "ldu", "st", "atom", "red") and one.spaces in ((), ("global",)):
            at = {name for operand in one.operands if isinstance(operand, syntax.Address) for name in roots.of(operand)}
            found.append((one, {names.index(name) for name in at if name in names}))
    return found


class Roots:
    """Which variables and parameters an address is made of. body: the instructions of a function."""

    def __init__(self, body):
        self._makers = defaultdict(list)
        for one in body:
            for name in one.writes:
                self._makers[name].append(one)
        self._known: dict[str, frozenset[str]] = {}

    def of(self, address):
        """Their names, of a syntax.Address."""
        names, todo, seen = set(), [address.base], set()
        while todo:
            operand = todo.pop()
            if isinstance(operand, syntax.Symbol):
                names.add(operand.name)
            elif isinstance(operand, syntax.Register) and operand.name not in seen:
                seen.add(operand.name)
                for one in self._makers[operand.name]:
                    if one.opcode == "ld" and "param" in one.spaces:
                        todo += [part.base for part in _addresses(one)]
                    elif one.opcode in COMPUTES:
                        todo += [part for part in one.operands[1:] if isinstance(part, syntax.Register | syntax.Symbol)]
        return names
