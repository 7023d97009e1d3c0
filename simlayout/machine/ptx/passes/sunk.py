"""Moves of accumulators between a wgmma and its wait, which ptxas executes behind the wait.

PTX forbids them. But compilers take accumulators apart wherever they like: Triton splits those of f16 into halves right
after `wgmma.commit_group`. ptxas 13.5 puts such moves behind WARPGROUP.DEPBAR if nothing needs their results before, so the
kernel is right.
"""

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import ENDS, Statements, defined, registers_read


def sunk(body: Statements) -> tuple[Statements, set[int]]:
    """(the statements of a function with such moves behind the next wait of their basic block, the ids of these moves).

    >>> d, h = syntax.Register("%d", "b32"), syntax.Register("%h", "b32")
    >>> text = [("wgmma", ("mma_async",), (d,)), ("mov", ("b32",), (h, d)), ("wgmma", ("wait_group",), ())]
    >>> body = [syntax.Instruction(*one, None, 1, 1, None, "") for one in text]
    >>> [statement.opcode for statement in sunk(body)[0]]
    ['wgmma', 'wgmma', 'mov']
    """
    if not any(isinstance(statement, syntax.Instruction) and statement.opcode == "wgmma" for statement in body):
        return body, set()
    block, made, moved = _Block(), [], set()
    for statement in body:
        if isinstance(statement, syntax.Label) or statement.opcode in ENDS:
            made += [*block.held, statement]
            block = _Block()
        elif statement.name.startswith("wgmma.wait_group"):
            made += [statement, *block.held]
            moved |= set(map(id, block.held))
            block = _Block()
        elif not block.holds(statement):
            made += [*block.let_go(statement), statement]
    return [*made, *block.held], moved


class _Block:
    """A basic block from its last wait on. in_flight: names of accumulators; held: moves that come behind the next wait;
    touched: names of the registers of these."""

    def __init__(self):
        self.in_flight, self.held, self.touched = set(), [], set()

    def holds(self, statement):
        """Whether a statement is such a move, which is kept then."""
        read, written = set(registers_read(statement)), set(defined(statement))
        moves = statement.opcode == "mov" and statement.guard is None and not written & self.in_flight
        if moves and read & (self.in_flight | self.touched):
            self.held.append(statement)
            self.touched |= read | written
            return True
        if statement.name.startswith("wgmma.mma_async"):
            self.in_flight |= read
        return False

    def let_go(self, statement):
        """The moves that a statement cannot come before, in their order."""
        if not self.touched & {*registers_read(statement), *defined(statement)}:
            return []
        held, self.held, self.touched = self.held, [], set()
        return held
