"""The basic blocks of a function, the latches of its loops, and the order in which its lanes meet again."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from simlayout.machine.ptx.lowering.program import Step
from simlayout.machine.ptx.opcodes.control import Branch
from simlayout.machine.ptx.passes.flow import in_order


@dataclass(frozen=True)
class Blocks:
    """Basic blocks of steps. successors: first step of each -> the first steps of those that may follow it; ends: -> the
    step behind its last."""

    successors: dict[int, list[int]]
    ends: dict[int, int]

    @classmethod
    def of(cls, steps, start, end, labels):
        """Those of steps start to end. labels: lists that hold the index of a step."""
        leaders = {start, *(label[0] for label in labels)}
        for at in range(start, end):
            if (jump := steps[at].jump) is not None:
                leaders |= {at + 1, *(target[0] for target in getattr(jump, "targets", ()))}
        starts = sorted(leader for leader in leaders if leader < end)
        ends = dict(zip(starts, [*starts[1:], end]))
        successors = {}
        for first, after in ends.items():
            last = steps[after - 1]
            targets = [target[0] for target in getattr(last.jump, "targets", ())]
            successors[first] = targets + ([after] if _falls(last) and after < end else [])
        return cls(successors, ends)

    def in_order(self, start):
        """All steps, in the order of `passes.flow`; those that nothing leads to come last."""
        order, _ = in_order(self.successors, start)
        reached = set(order)
        for first in (*order, *(first for first in self.ends if first not in reached)):
            yield from range(first, self.ends[first])


def _falls(step):
    return step.jump is None or getattr(step.jump, "falls", False) or step.guard is not None


def with_latches(steps, start, labels):
    """(The steps from `start` on with latches between them, the index of a step -> where it is then); labels and branches
    are changed to what is so.

    Where lanes come back to the head of a loop from several blocks, those that are there first would go on without the
    others, which still are in the loop. A GPU brings them together first: ptxas puts a point of reconvergence behind every
    branch. So all ways back lead over one step behind the whole loop, the latch, which does nothing but go to the head.
    """
    blocks = Blocks.of(steps, start, len(steps), labels)
    behind, before = {}, {}                              # head -> label of its latch: at the very end; in front of the head
    for head, *rest in in_order(blocks.successors, start)[1]:
        inside = (head, *rest)
        sources = [block for block in inside if head in blocks.successors[block]]
        if sources != [inside[-1]]:
            lasts = [steps[blocks.ends[block] - 1] for block in sources]
            falls = any(blocks.ends[block] == head and _falls(last) for block, last in zip(sources, lasts))
            latch = (before if falls else behind)[head] = [None]
            for jump in (last.jump for last in lasts if last.jump is not None):
                jump.targets = tuple(latch if target[0] == head else target for target in getattr(jump, "targets", ()))
    heads = sorted(before)

    def moved(at):
        return at + bisect_right(heads, at)

    made = []
    for at in range(start, len(steps)):
        if at in before:
            before[at][0] = at + bisect_left(heads, at)
            made.append(_latch(steps[at], moved(at)))
        made.append(steps[at])
    for head, latch in behind.items():
        latch[0] = start + len(made)
        made.append(_latch(steps[head], moved(head)))
    for label in labels:
        label[0] = moved(label[0])
    return made, moved


def _latch(head, at):
    return Step("", head.site, head.caller, head.line, "", jump=Branch([at]))
