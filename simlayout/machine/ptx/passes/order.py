"""The order of a function's basic blocks: of lanes that have parted, those run that are furthest back in it.

It is a topological order in which every loop is one piece (a weak topological order: Bourdoncle, "Efficient chaotic
iteration strategies with widenings", 1993). So lanes that leave a loop, or an arm of an `if`, wait for the others where
their ways meet, and lanes at the same place go on together.
"""

from collections.abc import Mapping, Sequence


def in_order(successors: Mapping[int, Sequence[int]], entry: int) -> tuple[list[int], list[list[int]]]:
    """(the blocks that can be reached from `entry`, in order; those of each loop, its head first, outer loops before inner
    ones). successors: block -> the blocks that may follow it.

    >>> in_order({0: [3, 1], 1: [2], 2: [1, 3], 3: []}, 0)               # 1 and 2 are a loop, which comes before 3
    ([0, 1, 2, 3], [[1, 2]])
    >>> in_order({0: [1], 1: [2, 4], 2: [2, 3], 3: [1], 4: []}, 0)[1]
    [[1, 2, 3], [2]]
    """
    order, loops, todo = [], [], _components(_reached(successors, entry), successors, [entry])
    while todo:
        head, *rest = todo.pop()
        if rest or head in successors[head]:
            loops.append((len(order), 1 + len(rest)))
        order.append(head)
        if rest:                                         # without the head, and the edges back to it
            todo += _components(set(rest), successors, successors[head])
    return order, [order[at:at + many] for at, many in loops]


def _reached(successors, entry):
    reached, todo = {entry}, [entry]
    while todo:
        new = [s for s in successors[todo.pop()] if s not in reached]
        reached.update(new)
        todo += new
    return reached


def _components(blocks, successors, entered):
    """The strongly connected components of a set of blocks, each after those that follow from it; the first block of each is
    where a walk from those `entered` came in (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in (*entered, *sorted(blocks)):
        if root in index or root not in blocks:
            continue
        walk = [(root, None)]
        while walk:
            block, rest = walk.pop()
            if rest is None:
                index[block] = low[block] = len(index)
                stack.append(block)
                on_stack.add(block)
                rest = iter([s for s in successors[block] if s in blocks])
            for successor in rest:
                if successor not in index:
                    walk += [(block, rest), (successor, None)]
                    break
                if successor in on_stack:
                    low[block] = min(low[block], index[successor])
            else:
                if low[block] == index[block]:
                    cut = stack.index(block)
                    found.append(stack[cut:])
                    on_stack.difference_update(stack[cut:])
                    del stack[cut:]
                if walk:
                    parent = walk[-1][0]
                    low[parent] = min(low[parent], low[block])
    return found
