"""Loops that ptxas unrolls: of those with a plain number of rounds, the rounds are written one after another.

So loads and stores of several rounds stand in one basic block, and what is known of straight code holds for them: they are
joined, and left out. Seen in the SASS of ptxas 13.0: it unrolls a loop that a counter ends, of 32 or 64 bits, compared with
a number, if the loop is not too large, and no loop is left in it. One that is a single block must go back where the
comparison holds (`@%p bra LOOP`, not `@!%p`). All is executed as it is written, but for the branches, and products that are
fused with sums of the next round (`contracted`); a register that is as much larger in each round is told so (`rounds`).
"""

from collections import Counter
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS
from simlayout.machine.ptx.passes.accesses import becomes_branches, plain_access
from simlayout.machine.ptx.passes.def_use import Statements, defined, registers_read, symbols_used
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.order import loops
from simlayout.machine.ptx.passes.rounds import Rounds

MOST = 24000
"""Rounds, times the square of the statements of one, of loops that are surely unrolled; accesses of memory count twice."""

_INSIDE = {"mov", "cvta", "ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "mma", "shfl", "vote", "redux", "match",
           "activemask", "elect", "bar", "barrier", "nanosleep", "bra", "ret", "exit", "trap", *FORMS}
"""Opcodes of which loops are known to be unrolled: not fences and calls, of which there are some in quotients."""
_MEMORY = {"ld", "st", "atom", "red", "ldmatrix"}
_COMPARES = {"eq", "ne", "lt", "le", "gt", "ge"}


def unrolled(function: syntax.Function) -> syntax.Function:
    """The function with the rounds of such loops of shared memory, where that matters; itself if it has none.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; .reg .b32 %i, %a, %x; "
    >>> text += "mov.b32 %i, 0; L: shl.b32 %a, %i, 2; ld.shared.b32 %x, [%a]; add.s32 %i, %i, 1; "
    >>> text += "setp.lt.s32 %p, %i, 2; @%p bra L; ret; }"
    >>> [one.name for one in unrolled(parse(text).functions["k"]).body if one.opcode not in ("mov", "setp")]
    ['ld.shared.b32', 'ld.shared.b32', 'ret']
    """
    body = function.body or ()
    never = function.directives.get("pragma", ()).count("nounroll") > sum(getattr(one, "nounroll", False) for one in body)
    if never or not (_leads_back(body) and any(map(plain_access, body))):
        return function
    flow, tried = Flow.of(function), set[int]()
    turns = _turns(flow, loops(flow.after, 0))
    while (new := _next_body(function, flow, turns, tried)) is not None:
        function = replace(function, body=new)
        flow = Flow.of(function)
    return function


def _turns(flow, every):
    """Whether ptxas turns branches of loops round, so that they go back where the comparison holds: in a function that has a
    loop whose end is not at its bottom, or one of several blocks, none of them a loop, with a branch of its own back."""
    heads = {loop[0] for loop in every}
    for loop in every:
        backs = [block for block in loop if loop[0] in flow.after[block]]
        goes = all(_only_goes(flow.blocks[block]) for block in backs)
        ends = all({*flow.after[block]} <= {*loop} for block in backs)
        if ends and (len(loop) > 2 and heads.isdisjoint(loop[1:]) if goes else len(loop) > 1):
            return True
    return False


def _only_goes(part):
    return len(part) == 1 and part[0].opcode == "bra" and part[0].guard is None


def _next_body(function, flow, turns, tried):
    """The statements with one more loop unrolled; None if no other one is. turns: as `_turns`; tried: ids of the first
    statements of those that have been looked at."""
    every = loops(flow.after, 0)
    heads = {loop[0] for loop in every}
    for loop in every:
        first = id(flow.blocks[loop[0]][0])
        if first in tried or not heads.isdisjoint(loop[1:]) or _ends_at_head(flow, loop, heads):
            continue
        tried.add(first)
        wider = any(loop[0] in around[1:] and _has_accesses(flow, around) and _end(flow, around, turns) for around in every)
        if wider or _has_accesses(flow, loop):
            copies = _Copies(function, flow, loop, turns)
            if copies.made() and (wider or copies.rounds.matter):
                return copies.body()
    return None


def _ends_at_head(flow, loop, heads):
    """Whether a loop ends elsewhere than at its bottom, and goes on where another one around it begins."""
    return any(to in heads and to not in loop and flow.order.index(to) < flow.order.index(loop[0])
               for block in loop for to in flow.after[block]
               if not any(one == loop[0] or _only_goes(flow.blocks[one]) and flow.after[one] == loop[:1]
                          for one in flow.after[block]))


def _ways_out(flow, loop):
    """The blocks that only branch away from a loop, and that nothing else leads to."""
    return [to for block in loop for to in flow.after[block] if to not in loop and {*flow.before[to]} <= {*loop}
            and _only_goes(flow.blocks[to])]


def _leads_back(body):
    """Whether a branch leads to a label above it, and all lead to labels."""
    at = {one.name: i for i, one in enumerate(body) if isinstance(one, syntax.Label)}
    leads = [(i, at.get(getattr(one.operands[0], "name", "") if one.operands else "")) for i, one in enumerate(body)
             if isinstance(one, syntax.Instruction) and one.opcode == "bra"]
    return all(to is not None for _, to in leads) and any(to < i for i, to in leads)


def _has_accesses(flow, loop):
    return any(plain_access(one) for block in loop for one in flow.blocks[block])


def _end(flow, loop, turns):
    """(the branch of a loop by which a plain counter ends it, what `_counts` tells of that); None if it has none."""
    made: dict[str, list] = {}
    for one in (one for block in loop for one in flow.blocks[block]):
        for name in defined(one):
            made.setdefault(name, []).append(one)
    single = sum(any(one.opcode != "bra" for one in flow.blocks[block]) for block in loop) == 1
    for block in loop:
        part, ways = flow.blocks[block], flow.after[block]
        last = part[-1]
        leaves = len(ways) == 2 and (ways[0] in loop) != (ways[1] in loop)
        if last.opcode != "bra" or not isinstance(last.guard, syntax.Register) or not leaves:
            continue
        bottom = ways[0] not in loop and _only_goes(flow.blocks[ways[1]]) and flow.after[ways[1]] == loop[:1]
        if bottom and not turns:
            continue
        tests = [one for one in part if last.guard.name in defined(one)] or made.get(last.guard.name, [None, None])
        if len(tests) == 1 or tests[-1] in part:
            counts = _counts(tests[-1], made, part if single else None)
            if counts is not None:
                return last, counts
    return None


def _counts(test, made, part):
    """What a statement compares, if that is a counter with what does not change: the latter, and registers of which one is
    the counter ahead of the loop. made: {register: its definitions in the loop}; part: the basic block, if the loop has no
    other, where the counter must be changed ahead."""
    compare, *more = test.modifiers
    plain = test.opcode == "setp" and len(test.operands) == 3 and compare in _COMPARES and test.guard is None
    if not plain or len(more) != 1 or more[0] not in ("s32", "u32", "b32", "s64", "u64", "b64"):
        return None
    changing = [one for one in test.operands[1:] if getattr(one, "name", "") in made]
    if len(changing) != 1:
        return None
    counter = _source(changing[0].name, made)
    steps = made.get(counter, ())
    if len(steps) != 1 or steps[0].opcode not in ("add", "sub") or steps[0].guard is not None:
        return None
    changed = [one for one in steps[0].operands[1:] if getattr(one, "name", "") in made]
    if [_source(one.name, made) for one in changed] != [counter]:
        return None
    if part is not None and part.index(steps[0]) > part.index(test):
        return None
    return [one for one in test.operands[1:] if one is not changing[0]], [*changing, *changed]


def _source(name, made):
    """The name of the register that one is a copy of."""
    while len(made.get(name, ())) == 1 and made[name][0].opcode == "mov" and made[name][0].guard is None:
        source = getattr(made[name][0].operands[-1], "name", "")
        if source not in made or source == name:
            break
        name = source
    return name


class _Copies:
    """The rounds of a loop. rounds: what is known of the registers in them."""

    def __init__(self, function, flow, loop, turns):
        self._last, self._counts = _end(flow, loop, turns) or (None, None)
        loop = [*loop, *_ways_out(flow, loop)]
        self._function, self._flow, self._loop = function, flow, loop
        body = function.body
        first = flow.blocks[loop[0]][0]
        at = {id(one): i for i, one in enumerate(body)}
        self._start = at[id(flow.blocks[min(loop)][0])]
        self._heading = at[id(first)]
        self._stop = at[id(flow.blocks[max(loop)][-1])] + 1
        while isinstance(body[self._start - 1], syntax.Label):
            self._start -= 1
        self._mark, self._line = f"@{first.line}.{first.column}", first.line
        self._outside = body[:self._start], body[self._stop:]
        self._out: list = []
        self._now: dict[str, syntax.Register] = {}       # name of a register -> what it is in the round
        self._carried: list[syntax.Register] = []        # registers that are read ahead of their definition
        self._own: set[str] = set()                      # names of those that become others in each round
        self._count = 0
        self.rounds = Rounds(function, flow, loop)

    def made(self) -> bool:
        """Whether ptxas unrolls the loop; makes its rounds."""
        flow, loop = self._flow, self._loop
        every = [one for block in loop for one in flow.blocks[block]]
        entered = any(not {*flow.before[block]} <= {*loop} for block in loop[1:])
        if entered or max(loop) - min(loop) + 1 != len(loop) or not all(map(_is_known, every)):
            return False
        if self._last is None:
            return False
        (bound,), counters = self._counts
        if self.rounds.number(bound) is None or all(self.rounds.ahead(one) is None for one in counters):
            return False
        always = self._always()
        barred = any(one.opcode in ("bar", "barrier") and one.modifiers[:1] != ("warp",)
                     for block in {*loop} - always for one in flow.blocks[block])
        if barred:
            return False
        self._own = self._becoming(always)
        weight = len(every) + sum(one.opcode in _MEMORY for one in every)
        written = max(Counter((one.line, one.column) for one in every).values())
        most, number = MOST * written // weight ** 2, 0
        while (on := self._round(number)) and number <= most:
            number += 1
        return on is False

    def _always(self):
        """The blocks that are executed in each round."""
        head, flow = self._loop[0], self._flow
        found = set()
        for block in self._loop:
            reached, todo = {head, block}, [head] if head != block else []
            while todo:
                new = [to for to in flow.after[todo.pop()] if to in self._loop and to not in reached]
                reached.update(new)
                todo += new
            if block == head or not any(head in flow.after[one] for one in reached - {block}):
                found.add(block)
        return found

    def _becoming(self, always):
        """Names of the registers that become others in each round: all of whose definitions are executed in each; where the
        loop has another way out, none that are read behind it."""
        sure, unsure = set(), set()
        for block in self._loop:
            for one in self._flow.blocks[block]:
                (sure if block in always and one.guard is None else unsure).update(defined(one))
        ways = [to for block in self._loop for to in self._flow.after[block] if to not in self._loop]
        live = _live(self._flow)
        self._used = {one.name for one in self._function.returns}.union(*(live[to] for to in ways))
        return sure - unsure - (self._used if len(ways) > 1 else set())

    def _round(self, number):
        """Whether the loop goes on behind a round, None if that is not known."""
        flow, head = self._flow, self._loop[0]
        reached, on = {head}, False
        for block in self._loop:
            if block not in reached:
                continue
            part = flow.blocks[block]
            last, branches = part[-1], part[-1].opcode == "bra"
            self._out.append(syntax.Label(self._label(number - (block == head), block), self._line))
            for one in part[:-1] if branches else part:
                self._out += self._copied(one, number)
            ways = []
            guard = self._read(last.guard)
            truth = 1 if guard is None else self.rounds.number(guard)
            if last is self._last and truth is None:
                return None
            if branches and truth != 0:
                ways.append(to := flow.after[block][0])
                self._out.append(replace(last, operands=(syntax.Symbol(self._label(number, to)),) if to in self._loop
                                         else last.operands, guard=guard if truth is None else None))
            if truth != 1 if branches else last.guard is not None or last.opcode not in ("ret", "exit", "trap"):
                ways.append(block + 1)
                self._out.append(replace(last, opcode="bra", modifiers=(), guard=None, used_bytes=None,
                                         operands=(syntax.Symbol(self._label(number, block + 1)),)))
            on |= head in ways
            reached.update(ways)
        return on

    def _label(self, number, block):
        """The name of the label at a block in a round."""
        if block not in self._loop:
            return f"{self._mark}.end"
        return f"{self._mark}.{number + (block == self._loop[0])}.{block}"

    def _read(self, operand):
        """What reads registers, with those of the round."""
        return syntax.mapped(operand, syntax.Register, self._current)

    def _current(self, register):
        if register.name not in self._own:
            return register
        if register.name not in self._now:
            self._now[register.name] = replace(register, name=register.name + self._mark)
            self._carried.append(register)
            self.rounds.begins(register, self._now[register.name])
        return self._now[register.name]

    def _copied(self, statement, number):
        guard, operands = self._read(statement.guard), statement.operands
        written = {*defined(statement)}
        rest = self._read(operands[bool(written):])
        if written:
            self._count += 1

            def new(register):
                if register.name in self._own:
                    self._now[register.name] = replace(register, name=f"{register.name}{self._mark}.{self._count}")
                return self._now.get(register.name, register)

            rest = syntax.mapped(operands[0], syntax.Register, new), *rest
        return self.rounds.told(replace(statement, guard=guard, operands=rest), number)

    def body(self) -> Statements:
        """The statements of the function with the rounds."""
        names = {}                                       # what a register is at the end -> its own name
        for name, register in self._now.items():
            if name in self._used and register.name != name + self._mark:
                names[register.name] = name
        body, first, (before, behind) = self._function.body, self._flow.blocks[self._loop[0]][0], self._outside
        named = {name for part in self._outside for one in part for name in symbols_used(one)}
        heading, at = [], self._heading
        while isinstance(body[at - 1], syntax.Label):
            at -= 1
            heading += [body[at]] * (body[at].name in named)
        entry = [replace(first, opcode="mov", modifiers=(one.type,), guard=None, used_bytes=None,
                         operands=(replace(one, name=one.name + self._mark), one)) for one in self._carried]
        made = [syntax.mapped(one, syntax.Register, lambda register: replace(register, name=names[register.name])
                              if register.name in names else register) for one in self._out] if names else self._out
        end = [syntax.Label(f"{self._mark}.end", self._line)]
        while len(end) <= len(behind) and isinstance(behind[len(end) - 1], syntax.Label):
            end.append(behind[len(end) - 1])
        return *before, *heading, *entry, *_straight([*made, *end], {*end[1:]}), *behind[len(end) - 1:]


def _live(flow):
    """{block: names of the registers that may be read in it, or behind it, as they are ahead of it}."""
    read, made = {}, {}
    for block in flow.order:
        read[block], made[block] = set(), set()
        for one in flow.blocks[block]:
            read[block].update(name for name in registers_read(one) if name not in made[block])
            made[block].update(defined(one) if one.guard is None else ())
    live, before = dict(read), None
    while live != before:
        before = dict(live)
        for block in reversed(flow.order):
            live[block] = read[block].union(*(live[to] for to in flow.after[block])) - (made[block] - read[block])
    return live


def _is_known(statement):
    """Whether a loop with a statement is known to be unrolled."""
    return (statement.opcode in _INSIDE and "bulk" not in statement.modifiers and not statement.nounroll
            and not becomes_branches(statement, False))


def _straight(body, stay):
    """Statements without branches to what follows, and without labels that nothing names, but for those that stay."""
    made, follow = [], set()
    for one in reversed(body):
        if isinstance(one, syntax.Label):
            follow.add(one.name)
        elif one.opcode == "bra" and one.guard is None and one.operands[0].name in follow:
            continue
        else:
            follow = set()
        made.append(one)
    named = {one.operands[0].name for one in made if getattr(one, "opcode", "") == "bra"}
    return [one for one in reversed(made) if not isinstance(one, syntax.Label) or one.name in named or one in stay]
