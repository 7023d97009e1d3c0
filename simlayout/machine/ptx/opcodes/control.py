"""Control flow: branches, calls, the ends of threads."""

import numpy as np

from simlayout.errors import TOGETHER, MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.cxx.names import brief_name
from simlayout.machine.ptx.opcodes import lacking
from simlayout.machine.ptx.opcodes.builtins import BUILTINS
from simlayout.wording import counted

LOOSE = "results as declared elsewhere"
"""Among a function's directives: calls may expect other results of it than it has, which are then not defined."""


class Branch:
    """bra: lanes whose guard holds go to a label (PTX ISA: bra). target: a list that holds the index of its step."""

    falls = False                                        # but for a guard

    def __init__(self, target):
        self.targets = (target,)

    def __call__(self, warp, part, active):
        to = self.targets[0][0]
        if active is part.lanes or active.all() or not (part.lanes & ~active).any():
            part.at = to
            return True
        if not active.any():
            part.at += 1
            return True
        warp.part_ways(part, [(active, to), (part.lanes & ~active, part.at + 1)])
        return False


class Switch:
    """brx.idx: each lane goes to the label of its index (PTX ISA: brx.idx)."""

    falls = False

    def __init__(self, targets, row):
        self.targets, self.row = targets, row

    def __call__(self, warp, part, active):
        index = warp.rows[self.row]
        ways = [(part.lanes & ~active, part.at + 1)]
        for i in np.unique(index[active]).tolist():
            if i >= len(self.targets):
                raise MachineError(f"brx.idx with index {i} of {len(self.targets)} targets")
            ways.append((active & (index == i), self.targets[i][0]))
        return _spread(warp, part, ways)


def _spread(warp, part, ways):
    ways = [(lanes, at) for lanes, at in ways if lanes.any()]
    if len(ways) == 1:
        part.at = ways[0][1]
        return True
    warp.part_ways(part, ways)
    return False


class Exit:
    """exit, and ret of an entry: the thread ends."""

    falls = False

    def __call__(self, warp, part, active):
        if not active.any():
            part.at += 1
            return True
        warp.leave(part, active)
        return False


class Return:
    """ret of a device function: each lane goes on where it was called. names: of the function."""

    falls = False

    def __init__(self, names):
        self.names = names

    def __call__(self, warp, part, active):
        back = warp.rows[self.names.returns_to]
        if self.names.inside is not None:
            warp.rows[self.names.inside][active] = 0
        ways = [(active & (back == at), at) for at in np.unique(back[active]).tolist()]
        return _spread(warp, part, [(part.lanes & ~active, part.at + 1), *ways])


class Call:
    """call: lanes go to the first step of a function and come back to the step after this one.

    callees: gives [(lanes, Names)] for the active lanes of a warp; pass_on(warp, lanes, Names): copies arguments; known: the
    Names of the only function that it may be of, or None."""

    falls = True

    def __init__(self, callees, pass_on, chosen, known=None):
        self._callees, self._pass_on, self._chosen, self.known = callees, pass_on, chosen, known

    def __call__(self, warp, part, active):
        ways = [(part.lanes & ~active, part.at + 1)]
        for lanes, function in self._callees(warp, active):
            if function.inside is not None:
                if warp.rows[function.inside][lanes].any():
                    raise recursion(function.function.name)
                warp.rows[function.inside][lanes] = 1
            warp.rows[function.returns_to][lanes] = part.at + 1
            if self._chosen is not None:
                warp.rows[self._chosen][lanes] = function.lowering.function_address(function.function.name)
            self._pass_on(warp, lanes, function)
            ways.append((lanes, function.start))
        return _spread(warp, part, ways)


def recursion(name, by=None, call=None):
    """The MachineError of a function that calls itself, by way of another one or None. call: the file and line of the call,
    where it is not told anyway."""
    where, way = "" if call is None else f"{call[0]}:{call[1]}: ", "" if by is None else f" by way of {brief_name(by)}"
    return MachineError(f"{where}{brief_name(name)} calls itself{way}, and the machine runs no recursion: write a loop")


def bra(instruction, names):
    """bra, bra.uni."""
    return {"jump": Branch(names.label(instruction.operands[0]))}


def brx(instruction, names):
    """brx.idx: an index, and a .branchtargets table."""
    index, table = instruction.operands
    labels = names.function.tables.get(table.name)
    if labels is None:
        raise MachineError(f"no .branchtargets {table.name}")
    row = names.source(index, "u32").row
    return {"jump": Switch([names.label(syntax.Symbol(label)) for label in labels], row)}


def ret(instruction, names):
    """ret: the end of the thread in an entry, a way back in a function."""
    return {"jump": Exit() if names.function.entry else Return(names)}


def end(instruction, names):
    """exit."""
    return {"jump": Exit()}


def trap(instruction, names):
    """trap: aborts the kernel."""
    def run(warp):
        lone = "%envreg1" in warp.program.specials.values() and not warp.space.workspace
        why = f", as grid.sync() does without a cooperative launch: pass {TOGETHER}" if lone else ""
        raise MachineError(f"trap: the kernel aborts itself{why}")
    return {"run": run, "stops": True}


def brkpt(instruction, names):
    """brkpt: ends the launch of a kernel where no debugger is attached, as an H200 does."""
    def run(warp):
        raise MachineError("brkpt: the kernel suspends itself for a debugger: without one a GPU ends the launch there "
                           "(unspecified launch failure)")
    return {"run": run, "stops": True}


def call(instruction, names):
    """call: of a function of the module, of one of the runtime's, or of an address (PTX ISA: call)."""
    returns, callee, arguments, *_ = instruction.operands
    returns, arguments = returns.operands, arguments.operands
    if not isinstance(callee, syntax.Symbol):
        return _call_at(names.register(callee), names.lowering, _Passed(names, arguments, returns))
    function = names.lowering.module.functions.get(callee.name)
    if function is None or function.body is None:
        if callee.name not in BUILTINS:
            raise MachineError(lacking.called(callee.name) or
                               f"{callee.name} has no body in this module: link it (nvcc -rdc=false); "
                               f"of the runtime's functions the machine has {', '.join(BUILTINS)}")
        return BUILTINS[callee.name](names, returns, arguments)
    _check_call(function, arguments, returns)
    passed, known = _Passed(names, arguments, returns), names.lowering.names[callee.name]
    jump = Call(lambda warp, active: [(active, known)], passed.give, None, known)
    return [{"jump": jump, "moves": lambda: passed.given(known)},
            {"run": lambda warp: passed.take(warp, warp.active, known), "moves": lambda: passed.taken(known)}]


def _call_at(row, lowering, passed):
    """A call of the functions whose addresses a row has; another row keeps them, to take the results."""
    chosen = lowering.new_row()

    def functions(warp, row, active):
        held = warp.rows[row]
        return [(active & (held == at), lowering.function_at(at)) for at in np.unique(held[active]).tolist()]

    def take(warp):
        for lanes, function in functions(warp, chosen, warp.active):
            passed.take(warp, lanes, function)

    return [{"jump": Call(lambda warp, active: functions(warp, row, active), passed.give, chosen)}, {"run": take}]


class _Passed:
    """What a call passes to a function, and takes from it."""

    def __init__(self, names, arguments, returns):
        self._operands = arguments, returns
        self._given, self._wanted = ([_place(names, operand) for operand in operands] for operands in self._operands)

    def given(self, function):
        """[(where an argument is, where the function of these Names has it)]."""
        return [(source, _place(function, to)) for source, to in zip(self._given, function.function.parameters)]

    def taken(self, function):
        """[(where it has a result, where that goes)]."""
        return [(_place(function, result), to) for to, result in zip(self._wanted, function.function.returns)]

    def give(self, warp, lanes, function):
        """Lanes pass their arguments on."""
        _check_call(function.function, *self._operands)
        for source, target in self.given(function):
            _copy(warp, lanes, source, target)

    def take(self, warp, lanes, function):
        """Lanes take their results."""
        for source, target in self.taken(function):
            _copy(warp, lanes, source, target)


def _check_call(function, arguments, returns):
    """Refuses another number of arguments or results than a function has."""
    for what, given, wanted in (("argument", arguments, function.parameters), ("result", returns, function.returns)):
        if len(given) != len(wanted) and not (what == "result" and LOOSE in function.directives):
            raise MachineError(f"{function.name} has {counted(len(wanted), what)}, and the call has {len(given)}")


def _copy(warp, lanes, source, target):
    """Copies a parameter, of .param or .reg, between a caller and a function. source, target: as `_place` gives them."""
    (row, at, size), (to_row, to, room) = source, target
    n = min(size, room)
    if row is None and to_row is None:
        warp.local[lanes, to:to + n] = warp.local[lanes, at:at + n]
    elif row is None:
        data = np.zeros((32, 8), np.uint8)
        data[:, :n] = warp.local[:, at:at + n]
        warp.rows[to_row][lanes] = data.view(np.uint64)[lanes, 0]
    elif to_row is None:
        warp.local[lanes, to:to + n] = warp.rows[row].view(np.uint8).reshape(32, 8)[lanes, :n]
    else:
        warp.rows[to_row][lanes] = warp.rows[row][lanes]
    if to_row is None and warp.local_written is not None:
        warp.local_written[lanes, to:to + n] = True


def _place(names, what):
    """(row, None, bytes) or (None, offset in local memory, bytes)."""
    if isinstance(what, syntax.Symbol):
        return None, names.local[what.name], names.function.variables[what.name].bytes
    if isinstance(what, syntax.Variable):
        if what.space == "reg":
            return names.lowering.row(names.function.name, what.name), None, width_of(what.type) // 8
        return None, names.local[what.name], what.bytes
    if isinstance(what, syntax.Register):
        return names.register(what), None, width_of(what.type) // 8
    return names.constant(what, "b64"), None, 8


def nothing(instruction, names):
    """Hints that change no result."""
    return {"run": lambda warp: None}


CONTROL = {"bra": bra, "brx": brx, "ret": ret, "exit": end, "trap": trap, "call": call, "brkpt": brkpt, "pmevent": nothing,
           "nanosleep": nothing, "griddepcontrol": nothing, "prefetch": nothing, "prefetchu": nothing,
           "applypriority": nothing, "discard": nothing, "createpolicy": nothing}
