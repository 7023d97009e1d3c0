"""Rounds of a loop that are written one behind another: registers that become others in each have another name in each."""

from collections.abc import Collection
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import Statements

NUMBERS = "as the numbers say"


class Copies:
    """Rounds of some blocks of a Flow, of which the first is where each round begins. rounds: the Rounds of the loop; mark:
    how the names of labels and registers end; end: the label behind them; own: names of the registers that become others in
    each round; used: of those that something reads behind the rounds; begin: what a register is ahead of them."""

    def __init__(self, flow, blocks, rounds, mark, end, own, used, begin=lambda register: register):
        self._flow, self._blocks, self._rounds, self._mark, self._end = flow, blocks, rounds, mark, end
        self._own, self._used, self._begin = own, used, begin
        self._out: list = []
        self._now: dict[str, syntax.Register] = {}       # name of a register -> what it is in the round
        self._carried: list[syntax.Register] = []        # registers that are read ahead of their definition
        self._straight = True                            # whether no branch leads into a round
        self._count, self._line = 0, flow.blocks[blocks[0]][0].line

    def round(self, number: int, test: syntax.Instruction | None, taken: bool | None | str = NUMBERS) -> bool | None:
        """Writes a round. Returns whether another one may follow; None if it does not know whether the loop ends here. test:
        the branch by which that is; taken: whether it is, None for either."""
        flow, head = self._flow, self._blocks[0]
        reached, on = {head}, False
        for block in self._blocks:
            if block not in reached:
                continue
            part = flow.blocks[block]
            last, branches = part[-1], part[-1].opcode == "bra"
            self._out.append(syntax.Label(self.label(number - (block == head), block), self._line))
            for one in part[:-1] if branches else part:
                self._out += self._copied(one, number)
            ways = []
            guard = self._read(last.guard)
            truth = 1 if guard is None else self._rounds.number(guard)
            if last is test and taken != NUMBERS:
                truth = taken
            elif last is test and truth is None:
                return None
            if branches and truth != 0:
                ways.append(to := flow.after[block][0])
                known = to in self._blocks
                self._straight &= truth is not None or to not in self._blocks[1:]
                self._out.append(replace(last, operands=(syntax.Symbol(self.label(number, to)),) if known else last.operands,
                                         guard=guard if truth is None else None))
            if truth != 1 if branches else last.falls:
                ways.append(block + 1)
                self._out.append(goes_to(last, self.label(number, block + 1)))
            on |= head in ways
            reached.update(ways)
        return on

    def label(self, number: int, block: int) -> str:
        """The name of the label at a block in a round: at the first one, of the round behind it."""
        if block not in self._blocks:
            return self._end
        return f"{self._mark}.{number + (block == self._blocks[0])}.{block}"

    def _read(self, operand):
        """What reads registers, with those of the round."""
        return syntax.mapped(operand, syntax.Register, self._current)

    def _current(self, register):
        if register.name not in self._own:
            return register
        if register.name not in self._now:
            self._now[register.name] = replace(register, name=register.name + self._mark)
            self._carried.append(register)
            self._rounds.begins(register, self._now[register.name])
        return self._now[register.name]

    def _copied(self, statement, number):
        guard, operands = self._read(statement.guard), statement.operands
        written = {*statement.writes}
        rest = self._read(operands[bool(written):])
        if written:
            self._count += 1

            def new(register):
                if register.name in self._own:
                    self._now[register.name] = replace(register, name=f"{register.name}{self._mark}.{self._count}")
                return self._now.get(register.name, register)

            rest = syntax.mapped(operands[0], syntax.Register, new), *rest
        return self._rounds.told(replace(statement, guard=guard, operands=rest), number)

    def written(self) -> list[syntax.Statement]:
        """The statements of the rounds: ahead of them registers get their names, and the last ones of those that are used
        have their own. In straight code those that are so much more than another one keep their names, too: ptxas knows
        it of the last round as of the others."""
        names, moved = {}, {}                            # what a register is at the end -> its own name
        for name, register in self._now.items():
            if name in self._used and register.name != name + self._mark:
                (moved if self._stays(register) else names)[register.name] = name
        entry = [self._move(replace(one, name=one.name + self._mark), self._begin(one)) for one in self._carried]
        made = []
        for one in self._out:
            made.append(syntax.mapped(one, syntax.Register, lambda register: replace(register, name=names[register.name])
                                      if register.name in names else register) if names else one)
            made += [self._move(replace(to, name=moved[to.name]), to) for to in one.operands[:1]
                     if getattr(to, "name", "") in moved and to.name in one.writes]
        return [*entry, *made]

    def _stays(self, register):
        """Whether a register keeps its name at the end of the rounds."""
        return self._straight and self._rounds.follows(register.name)

    def _move(self, to, source):
        return replace(self._flow.blocks[self._blocks[0]][0], opcode="mov", modifiers=(to.type,), guard=None,
                       used_bytes=None, operands=(to, source))


def goes_to(like: syntax.Instruction, label: str, guard=None) -> syntax.Instruction:
    """A branch to a label, in the line of another instruction."""
    return replace(like, opcode="bra", modifiers=(), guard=guard, used_bytes=None, operands=(syntax.Symbol(label),))


def straight(body: Statements, stay: Collection[syntax.Label]) -> list[syntax.Statement]:
    """Statements without branches to what follows, and without labels that nothing names, but for those that stay."""
    made: list[syntax.Statement] = []
    follow: set[str] = set()
    for one in reversed(body):
        if isinstance(one, syntax.Label):
            follow.add(one.name)
        elif one.opcode == "bra" and one.guard is None and getattr(one.operands[0], "name", "") in follow:
            continue
        else:
            follow = set()
        made.append(one)
    named = {name for one in made for name in one.symbols}
    return [one for one in reversed(made) if not isinstance(one, syntax.Label) or one.name in named or one in stay]
