"""Loads by which threads wait: strong ones of one address in a loop that does nothing else and goes on by what they read,
until another thread has stored what they wait for. What they read then is no data, but says that data is there. And atomics
in loops that go on until they succeed, as of locks and of compare-and-swap: how often depends on the time. And volatile
loads that only look at a flag. And waits for mbarriers in loops that do nothing else."""

from collections import Counter, defaultdict
from functools import reduce
from operator import and_, or_

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG, may_be_shared
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions, registers_in, ways_back

_DOES = {"st", "red", "bar", "barrier", "call", "cp", "brx", "stmatrix", "wgmma", *syntax.LEAVES}
"""Opcodes that loops do not have which only wait."""


def waits(function: syntax.Function, known: Known) -> set[int]:
    """The ids of such loads of a function, and of those of the same address outside the loop: compilers look once before it
    begins. known: what is known of its registers.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .reg .b64 %p; .reg .pred %q;"
    >>> text += "WAIT: ld.volatile.global.u32 %r1, [%p]; setp.eq.s32 %q, %r1, 0; @%q bra WAIT;"
    >>> text += "ld.volatile.global.u32 %r2, [%p+4]; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [statement.operands[0].name for statement in function.body if id(statement) in waits(function, Known(function))]
    ['%r1']
    """
    body = function.body or ()
    loads = dict(_strong_loads(body))
    found = set()
    for start, end in ways_back(body) if loads else ():
        inside = instructions(body[start:end + 1])
        if not _DOES.intersection(one.opcode for one in inside):
            changed = _changed(inside)
            decide = _deciding(inside, registers_in(one.guard for one in inside if one.opcode == "bra"))
            found |= {known.place(address) for at, address in loads.items()
                      if id(body[at]) in decide and getattr(address.base, "name", "") not in changed}
    return {id(body[at]) for at, address in loads.items() if known.place(address) in found}


def asked_again(function: syntax.Function) -> set[int]:
    """The ids of the waits for mbarriers of a function that come again if they fail, before anything else is done. Of one
    that looks ahead once, as to wait later only if it has to, the thread does what others may wait for, though it fails.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<3>; .reg .pred %p; .reg .b64 %d; "
    >>> text += "mbarrier.try_wait.b64 %p, [%r0], %d; st.shared.b32 [%r1], 0; WAIT: mbarrier.try_wait.b64 %p, [%r2], %d; "
    >>> function = parse(text + "@!%p bra WAIT; ret; }").functions["f"]
    >>> [one.operands[1].base.name for one in function.body if id(one) in asked_again(function)]
    ['%r2']
    """
    body = function.body or ()
    found: set[int] = set()
    for start, end in ways_back(body) if any(map(_waits_for_phase, instructions(body))) else ():
        inside = instructions(body[start:end + 1])
        asking = {id(one) for one in inside if _waits_for_phase(one)}
        if not any(one.opcode in _DOES | {"atom", "mbarrier"} and id(one) not in asking for one in inside):
            found |= asking
    return found


def _waits_for_phase(statement):
    return statement.opcode == "mbarrier" and statement.modifiers[0] in ("try_wait", "test_wait")


_MAKES = COMPUTES | {"shfl", "vote", "match", "redux"}
"""Opcodes that only compute something of values, and those that give them to other lanes."""


def _changed(inside):
    """Names of the registers that a loop changes: not those that it makes again of others, as nvcc -G makes addresses."""
    times = Counter(name for one in inside for name in one.writes)
    changed = set(times)
    for one in inside:
        if one.opcode in COMPUTES and one.guard is None and changed.isdisjoint(one.reads):
            changed -= {name for name in one.writes if times[name] == 1}
    return changed


def _deciding(inside, names):
    """The ids of a loop's accesses of memory of which registers of these names are made, also through shared memory."""
    makers, todo, found = defaultdict(list), list(names), set()
    stored = [name for one in inside if one.opcode == "st" and may_be_shared(one)
              for name in registers_in(one.operands[1:])]
    for one in inside:
        for name in one.writes:
            makers[name].append(one)
    while todo:
        for one in makers.pop(todo.pop(), ()):
            if one.opcode in ("ld", "atom"):
                found.add(id(one))
                todo += stored if may_be_shared(one) else ()
            else:
                todo += one.reads
    return found


def looks(function: syntax.Function) -> set[int]:
    """The ids of volatile loads of a function that look at a flag: what they read decides where threads go, and is no data.
    None of these is one that decides who comes to a barrier of the CTA: of it all threads have to read the same."""
    body = instructions(function.body)
    loads = [one for one in body if one.opcode == "ld" and "volatile" in one.modifiers]
    readers = defaultdict(list)
    for one in body if loads else ():
        for name in one.reads:
            readers[name].append(one)
    common = _before_barriers(function) if loads and any(map(_meets, body)) else set()
    return {id(load) for load in loads if _decides(load, readers, common)}


def _meets(statement):
    """Whether warps meet in it."""
    return statement.opcode in ("bar", "barrier") and "warp" not in statement.modifiers


def _before_barriers(function):
    """The ids of branches that decide whether a thread comes to a barrier of the CTA."""
    flow = Flow.of(function)
    meeting = sum(1 << block for block, statements in flow.blocks.items() if any(map(_meets, statements)))
    found = set()
    for block, ways in flow.after.items():
        reached = [flow.always_behind[way] | 1 << way for way in ways]
        if reached and meeting & reduce(or_, reached) & ~reduce(and_, reached):
            found.add(id(flow.blocks[block][-1]))
    return found


def _decides(load, readers, common):
    """Whether all that is made of what a load reads are decisions, and none `common`. readers: {register: [instruction]}."""
    todo, seen = [*load.writes], set()
    while todo:
        name = todo.pop()
        for reader in readers[name] if name not in seen else ():
            if reader.opcode in _MAKES:
                todo += reader.writes
            elif name not in registers_in((reader.guard,)) or id(reader) in common:
                return False
        seen.add(name)
    return True


def _strong_loads(body):
    """(place, address) of each."""
    for at, one in enumerate(body):
        if one.opcode == "ld" and STRONG.intersection(one.modifiers):
            yield at, one.operands[1]


def tried_again(function: syntax.Function) -> set[int]:
    """The ids of atomics of a function whose value decides whether a loop around them goes on.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .reg .pred %q; "
    >>> text += ".shared .b32 s; TRY: atom.shared.cas.b32 %r1, [s], 0, 1; atom.shared.add.u32 %r2, [s], %r1; "
    >>> text += "setp.ne.s32 %q, %r1, 0; @%q bra TRY; atom.shared.exch.b32 %r3, [s], 0; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [statement.operands[0].name for statement in function.body if id(statement) in tried_again(function)]
    ['%r1']
    """
    flow, found = Flow.of(function), set()
    for loop in map(set, flow.loops):
        inside = [one for block in loop for one in flow.blocks[block]]
        atomics = {id(one) for one in inside if one.opcode == "atom"}
        if atomics:
            found |= atomics & _deciding(inside, [name for block in loop if not loop.issuperset(flow.after[block])
                                                  for name in registers_in((flow.blocks[block][-1].guard,))])
    return found
