"""Loads of shared memory whose address a loop does not change: ptxas loads once, ahead of the loop.

    for (i = t; i < n; i += threads) y[i] = x[i] * scale[0];             // scale[0] is loaded once in each warp

Seen in the SASS of ptxas 13.0: it does so out of a loop in which there is no other, with a load that stands in the loop's
first basic block, under no guard, where nothing in the loop may change shared memory, or order it. So it does with a loop
that is unrolled, whose rounds are written several at a time, and with a loop that is turned. A load behind a branch stays
where it is, and so does one of a loop around another one.
"""

from collections import Counter
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import is_shared_load, may_change, plain_access
from simlayout.machine.ptx.passes.flow import Flow, leads_back
from simlayout.machine.ptx.passes.statements import Statements


def hoisted(function: syntax.Function) -> syntax.Function:
    """The function with such loads ahead of their loops; itself if it has none.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; .reg .b32 %a, %x; .reg .b64 %o; "
    >>> text += "L: ld.shared.b32 %x, [%a]; st.global.b32 [%o], %x; add.s64 %o, %o, 4; setp.ne.s64 %p, %o, 8; @%p bra L; }"
    >>> [one.name for one in hoisted(parse(text).functions["k"]).body][:3]
    ['ld.shared.b32', 'L', 'st.global.b32']
    """
    body = function.body or ()
    if not (leads_back(function) and any(map(is_shared_load, body))):
        return function
    flow, moves = Flow.of(function), dict[int, list[syntax.Instruction]]()
    for loop in flow.loops:
        if loads := _constant(flow, loop):
            moves[id(flow.blocks[loop[0]][0])] = loads
    return replace(function, body=tuple(_moved(body, moves))) if moves else function


def _constant(flow, loop):
    """The loads that come ahead of a loop, in their order."""
    head, inside = loop[0], set(loop)
    statements = [one for block in loop for one in flow.blocks[block]]
    if flow.heads & inside - {head} or any(map(may_change, statements)) or not _is_entered(flow, loop):
        return []
    times = Counter(name for one in statements for name in one.may_write)
    goes_out = any(not inside.issuperset(flow.after[block]) for block in loop)
    if not (goes_out and flow.live[head] & times.keys()):
        return []                                        # it waits for another thread in vain: what it reads is told
    return [one for one in flow.blocks[head] if one.guard is None and is_shared_load(one) and plain_access(one) is not None
            and not any(name in times for name in one.reads)
            and all(times[name] == 1 and name not in flow.live[head] for name in one.writes)]


def _is_entered(flow, loop):
    """Whether a loop is entered at its first line from the block right ahead of it alone, which does not branch there."""
    head = loop[0]
    [ahead, *others] = [block for block in flow.before[head] if block not in loop] or [None]
    if ahead is None:
        return head == 0
    last = flow.blocks[ahead][-1] if flow.blocks[ahead] else None
    return ahead == head - 1 and not others and (last is None or last.opcode not in syntax.BRANCHES or last.guard is not None
                                                 and flow.after[ahead].count(head) == 1)


def _moved(body: Statements, moves: dict[int, list[syntax.Instruction]]) -> Statements:
    """Statements with loads ahead of the labels of loops. moves: {id of a loop's first instruction: its loads}."""
    gone = {id(one) for loads in moves.values() for one in loads}
    made: list[syntax.Statement] = []
    labels = 0                                           # how many stand at the end of what is made
    for one in body:
        if id(one) in moves:
            made[len(made) - labels:len(made) - labels] = moves[id(one)]
        labels = labels + 1 if isinstance(one, syntax.Label) else 0
        if id(one) not in gone:
            made.append(one)
    return made
