"""From a parsed function to steps: every register a row, every label an index, every instruction bound to what it does."""

import numpy as np

from simlayout.errors import MachineError, SimlayoutError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.accumulators import Accumulators
from simlayout.machine.ptx.beside import beside
from simlayout.machine.ptx.bind import bind
from simlayout.machine.ptx.blocks import Blocks, with_latches
from simlayout.machine.ptx.carried import Carried
from simlayout.machine.ptx.contracted import contracted
from simlayout.machine.ptx.faults import Fault
from simlayout.machine.ptx.joined import joined
from simlayout.machine.ptx.known import Known
from simlayout.machine.ptx.opcodes.control import recursion
from simlayout.machine.ptx.program import SPECIALS, SYSTEM_BYTES, Program, Step
from simlayout.machine.ptx.rows import Place, in_numpy
from simlayout.machine.ptx.space import LOCAL, PARAMETERS, SHARED

MOST_LOCAL = 512 << 10
"""Bytes of local memory of a thread: CUDA C++ Programming Guide, technical specifications per compute capability."""


RESERVED = syntax.Special("%reserved_smem_offset_1")
"""Where the shared memory begins that the system has in each CTA since sm_80. Cooperative groups keep barriers in it."""

_SYSTEM = syntax.Variable("of the system", "shared", "b8", 16, SYSTEM_BYTES, (SYSTEM_BYTES,))

CODE = 128
"""What addresses of functions are multiples of: a pointer to a virtual member function of C++ is an odd number."""


def aligned(at, alignment):
    """The next multiple of an alignment.

    >>> aligned(5, 4), aligned(8, 4)
    (8, 8)
    """
    return -(-at // alignment) * alignment


class Names:
    """What the operands of one function mean. Those of all functions of a program share a Lowering's rows and constants."""

    def __init__(self, lowering, function):
        self.lowering, self.function = lowering, function
        self.known, self.carried = Known(function), Carried(function)
        self._shared = {}                                # .shared variables of the function -> [address]
        self.local = {}                                  # .local and .param variables -> where in local memory
        self.parameters = {}                             # of an entry -> where among its parameters
        self.labels = {}                                 # -> index of a step
        self.start = None                                # index of the first step
        self.returns_to = lowering.new_row()             # where each lane goes on after `ret`
        self.inside = None                               # whether each is inside, if a pointer may lead to a call of itself
        self.carry = Place(lowering.new_row(), "cc", 1)
        at = 0
        for variable in function.parameters if function.entry else ():
            at = aligned(at, variable.align)
            self.parameters[variable.name] = at
            at += variable.bytes
        self.parameter_bytes = at
        for variable in (*function.parameters, *function.returns):
            if variable.space not in ("param", "reg"):
                raise MachineError(f"{lowering.module.path}:{function.line}: {function.name} has a parameter in "
                                   f".{variable.space}: write .param or .reg")
            if variable.space == "reg":
                lowering.row(function.name, variable.name)
        own = (*(() if function.entry else (*function.parameters, *function.returns)), *function.variables.values())
        for variable in own:
            if variable.space in ("local", "param"):
                self.local[variable.name] = lowering.new_local(variable)
            elif variable.space == "shared":
                self._shared[variable.name] = lowering.new_shared(variable)

    # ---- operands ------------------------------------------------------------------------------------------------

    def register(self, operand):
        """Row of a Register."""
        return self.lowering.row(self.function.name, operand.name)

    def source(self, operand, type):
        """The Place of an operand read as a type."""
        if isinstance(operand, syntax.Negated):
            return Place(self.register(operand.register), type, 1, negated=True)
        if isinstance(operand, syntax.Register):
            return Place(self.register(operand), type, width_of(operand.type))
        return Place(self.constant(operand, type), type, width_of(type))

    def constant(self, operand, type):
        """The row of what is no register, as a type."""
        lowering, bits = self.lowering, width_of(type)
        if isinstance(operand, syntax.Special):
            return lowering.special(operand.name)
        if isinstance(operand, syntax.Float):
            return lowering.constant(_float_bits(operand, bits))
        if isinstance(operand, syntax.Integer):
            return lowering.constant(operand.value & (1 << bits) - 1)
        if isinstance(operand, syntax.Symbol):
            return lowering.constant(self.symbol(operand) & (1 << bits) - 1)
        raise MachineError(f"{operand} where a register or a number is expected")

    def result(self, operand, type):
        """The Place of a destination."""
        if operand == syntax.SINK:
            return Place(None, type, width_of(type))
        if not isinstance(operand, syntax.Register):
            raise MachineError(f"{operand} where a register is expected")
        return Place(self.register(operand), type, width_of(operand.type))

    def wide(self, operand):
        """The Places of the two rows of a .b128 register, the low half first."""
        rows = self.register(operand), self.lowering.row(self.function.name, operand.name + ".high")
        return [Place(row, "b64", 64) for row in rows]

    def symbol(self, operand):
        """The address of a variable or function, in its own space; of a function its index."""
        name, lowering = operand.name, self.lowering
        if name in self.local:
            return self.local[name] + operand.offset
        if name in self.parameters:
            return self.parameters[name] + operand.offset
        if self.is_shared(name):
            return (self._shared.get(name) or lowering.shared[name])[0] + operand.offset
        if name in lowering.addresses:
            return lowering.addresses[name] + operand.offset
        if name in lowering.module.functions:
            return lowering.function_address(name)
        raise MachineError(f"{name} is not declared in this module")

    def generic(self, operand):
        """The generic address of a Symbol."""
        name, at = operand.name, self.symbol(operand)
        window = (LOCAL if name in self.local else PARAMETERS if name in self.parameters
                  else SHARED if self.is_shared(name) else 0)
        return window + at

    def address(self, operand):
        """(row of the base, offset in bytes) of an Address."""
        if not isinstance(operand, syntax.Address):
            raise MachineError(f"{operand} where an address in brackets is expected")
        base, offset = operand.base, operand.offset
        if isinstance(base, syntax.Register):
            return self.register(base), offset
        if isinstance(base, syntax.Symbol):
            return self.lowering.constant(self.symbol(base) + offset & (1 << 64) - 1), 0
        return self.lowering.constant(base.value + offset & (1 << 64) - 1), 0

    def space_of(self, operand):
        """The space of the variable that an Address names, "" if it names none."""
        base = getattr(operand, "base", None)
        if not isinstance(base, syntax.Symbol):
            return ""
        if base.name in self.parameters:
            return "param"
        return "local" if base.name in self.local else "shared" if self.is_shared(base.name) else "global"

    def is_shared(self, name):
        """Whether a name is that of a shared variable, of the function or of the module."""
        return name in self._shared or name in self.lowering.shared

    def label(self, operand):
        """A list that will hold the index of the step at a label."""
        name = operand.name
        if name not in self.labels:
            raise MachineError(f"no label {name} in {self.function.name}")
        return self.labels[name]


class Lowering:
    """The Program of an entry, in the making. module: syntax.Module; addresses: {variable in global or constant memory:
    address}. placed: {shared variable whose size the module tells: (address, bytes)}. faults: the Faults of
    instructions that cannot be bound; with any `program` is None."""

    def __init__(self, module, entry, addresses):
        self.module, self.addresses = module, addresses
        self.shared, self._static, self._dynamic, self.placed, self.reserved_at = {}, 0, [], {}, None
        self._rows, self._registers, self._constants, self._specials = 0, {}, {}, {}
        self.local_bytes, self.steps, self.names, self.calls, self.faults = 0, [], {}, {}, []
        self.accumulators, self._touched, self._uses = Accumulators(), set(), []        # _uses: rows that each step uses
        self._functions, todo = [], [entry]
        while todo:
            name = todo.pop()
            if name not in self.names:
                self.names[name] = Names(self, module.functions[name])
                self._functions.append(name)
                todo += self._used(module.functions[name])
        self._place_dynamic()
        for name in self._functions:
            self._lower(self.names[name])
        order = self._callees_first(entry)
        self.program = None if self.faults else self._finish(entry, order)

    def _used(self, function):
        """Places the module's shared variables that a function uses; returns the functions with a body that it calls, or
        whose address it takes."""
        names = {symbol.name: None for instruction in function.body if isinstance(instruction, syntax.Instruction)
                 for symbol in _symbols(instruction.operands)}
        for name in names:
            variable = self.module.variables.get(name)
            if variable is not None and variable.space == "shared" and name not in self.shared:
                self.shared[name] = self.new_shared(variable)
        if self.reserved_at is None and any(RESERVED in getattr(statement, "operands", ()) for statement in function.body):
            self.reserved_at, = self.new_shared(_SYSTEM)
        if any(_is_indirect(instruction) for instruction in function.body):
            variables = self.module.variables.values()
            names |= dict.fromkeys(r.symbol for variable in variables for r in variable.relocations)
        functions, direct = self.module.functions, {_callee(instruction) for instruction in function.body}
        self.calls[function.name] = {name: name in direct for name in names
                                     if name in functions and functions[name].body is not None}
        return self.calls[function.name]

    @property
    def static_shared(self):
        """Bytes of shared variables whose size the module tells."""
        return self._static

    @property
    def has_dynamic_shared(self):
        """Whether there are shared variables whose size the launch gives."""
        return bool(self._dynamic)

    # ---- rows and memory -----------------------------------------------------------------------------------------

    def new_row(self):
        """A row of its own."""
        self._rows += 1
        return self._rows - 1

    def row(self, function, register):
        """The row of a register of a function."""
        key = function, register
        if key not in self._registers:
            self._registers[key] = self.new_row()
        self._touched.add(self._registers[key])
        return self._registers[key]

    def constant(self, bits):
        """A row that holds these bits in all lanes."""
        if bits not in self._constants:
            self._constants[bits] = self.new_row()
        return self._constants[bits]

    def special(self, name):
        """A row that holds a special register."""
        if name not in SPECIALS:
            raise MachineError(f"special register {name} is not one that the machine has")
        if name not in self._specials:
            self._specials[name] = self.new_row()
        return self._specials[name]

    def new_local(self, variable):
        """Where a .local or .param variable lies in every thread's memory."""
        at = aligned(self.local_bytes, max(variable.align, 1))
        self.local_bytes = at + variable.bytes
        if self.local_bytes > MOST_LOCAL:
            raise MachineError(f"{self.module.path}:{variable.line}: {variable.name} makes {self.local_bytes} bytes of "
                               f"local memory, and a thread has at most {MOST_LOCAL}")
        return at

    def new_shared(self, variable):
        """Places a .shared variable; those of unknown size all begin where dynamic shared memory does. Returns a list that
        will hold the address."""
        if variable.extern or not variable.bytes:
            self._dynamic.append((variable, [None]))
            return self._dynamic[-1][1]
        at = aligned(self._static, variable.align)
        self._static = at + variable.bytes
        self.placed[variable.name] = at, variable.bytes
        return [at]

    def _place_dynamic(self):
        self.dynamic_at = aligned(self._static, max([variable.align for variable, _ in self._dynamic], default=1))
        for _, at in self._dynamic:
            at[0] = self.dynamic_at

    def function_address(self, name):
        """What a register holds that points to a function."""
        return address_of(self.module, name)

    def function_at(self, address):
        """The Names of the function at an address."""
        functions, (number, rest) = list(self.module.functions), divmod(address, CODE)
        if rest or not 1 <= number <= len(functions) or functions[number - 1] not in self.names:
            raise MachineError(f"a call of address {address:#x}, where no function is")
        return self.names[functions[number - 1]]

    # ---- steps ---------------------------------------------------------------------------------------------------

    def _lower(self, names):
        function = names.function
        names.start = len(self.steps)
        names.labels = {s.name: [None] for s in function.body if isinstance(s, syntax.Label)}
        wholes, places = joined(names), beside(function.body)
        for statement in contracted(function.body):
            if isinstance(statement, syntax.Label):
                names.labels[statement.name][0] = len(self.steps)
                continue
            for step in self._bound(statement, names):
                step.joined, step.beside = wholes.get(id(statement)), places.get(id(statement))
                self.steps.append(step)
        falls = not self.steps[names.start:] or self.steps[-1].jump is None or self.steps[-1].guard is not None
        if falls or [len(self.steps)] in names.labels.values():
            self.steps += self._bound(syntax.Instruction("ret", (), (), None, function.line, 1, None, "ret;"), names)
        if not self.faults:
            self._add_latches(names)
        names.end = len(self.steps)

    def _add_latches(self, names):
        uses = dict(enumerate(self._uses[names.start:], names.start))
        made, moved = with_latches(self.steps, names.start, names.labels.values())
        self.steps[names.start:] = made
        self._uses[names.start:] = [set()] * len(made)
        for at, touched in uses.items():
            self._uses[moved(at)] = touched

    def _where(self, instruction):
        site = instruction.site
        return (self.module.path, instruction.line) if site is None else (site.file, site.line)

    def _bound(self, instruction, names):
        site, where, caller = instruction.site, self._where(instruction), None
        for file, line in reversed(site.callers if site else ()):
            caller = file, line, caller
        name = ".".join((instruction.opcode, *instruction.modifiers))
        guard, negated = None, 0
        if instruction.guard is not None:
            plain = getattr(instruction.guard, "register", instruction.guard)
            guard, negated = names.register(plain), int(plain is not instruction.guard)
        made, self._touched = [], set()
        try:
            for kind in bind(instruction, names):
                step = Step(name, where, caller, instruction.line, instruction.text, guard, negated)
                for key, value in kind.items():
                    setattr(step, key, value)
                if step.lanewise is not None:
                    step.compute = in_numpy(step.lanewise)
                made.append(step)
        except SimlayoutError as error:
            reason = str(error)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            reason = f"operands that it does not take: {' '.join(instruction.text.split())}"
        else:
            self._uses += [self._touched] * len(made)
            return made
        self.faults.append(Fault(name, instruction.line, instruction.column, reason))
        return []

    # ---- order ---------------------------------------------------------------------------------------------------

    def _finish(self, entry, order):
        self.accumulators.watch(self.steps, self._uses)
        places, at = [0] * (len(self.steps) + 1), 0
        for name in order:
            at = self._place(self.names[name], places, at)
        places[-1] = end = at + 1
        return Program(entry, self.steps, places, self.names[entry].start, end, self._rows,
                       {row: bits for bits, row in self._constants.items()},
                       {row: name for name, row in self._specials.items()}, self.local_bytes, self._static, self.dynamic_at,
                       self.accumulators, self._register_bounds(), self.reserved_at)

    def _register_bounds(self):
        """(least, most) registers of a thread at launch: what setmaxnreg.dec leaves, .inc gives, or None."""
        told = [(step.name.split(".")[1], step.run.count) for step in self.steps if step.name.startswith("setmaxnreg")]
        taken, given = ([count for how, count in told if how == kind] for kind in ("dec", "inc"))
        return max(taken, default=None), min(given, default=None)

    def _callees_first(self, entry):
        """The functions, each after all that it may call; a call by which one calls itself is a fault. One that a pointer
        may lead back to, as to virtual functions that call each other, is watched while it runs."""
        done, order, open_ = set(), [], []

        def visit(name, pointers=()):
            if name in open_:
                if not any(pointers[open_.index(name):]):
                    call = next(i for i in self.module.functions[open_[-1]].body if _callee(i) == name)
                    reason = str(recursion(name, "" if open_[-1] == name else f" by way of {open_[-1]}", self._where(call)))
                    self.faults.append(Fault(call.name, call.line, call.column, reason))
                    return
                self.names[name].inside = self.names[name].inside or self.new_row()
            elif name not in done:
                open_.append(name)
                for called, direct in self.calls[name].items():
                    visit(called, (*pointers, not direct))
                open_.pop()
                done.add(name)
                order.append(name)

        visit(entry)
        return order

    def _place(self, names, places, at):
        for i in Blocks.of(self.steps, names.start, names.end, names.labels.values()).in_order(names.start):
            places[i] = at
            at += 1
        return at


def _float_bits(operand, bits):
    """A constant as a register of so many bits holds it: of f64 written where f32 is wanted, rounded."""
    if operand.width == bits:
        return operand.bits
    value = np.array(operand.bits, f"u{operand.width // 8}").view(f"f{operand.width // 8}")
    return int(value.astype(f"f{bits // 8}").view(f"u{bits // 8}"))


def address_of(module, function):
    """What a register or a variable holds that points to a function of a syntax.Module."""
    return CODE * (list(module.functions).index(function) + 1)


def _callee(instruction):
    """The name of the function that it calls, or None."""
    calls = isinstance(instruction, syntax.Instruction) and instruction.opcode == "call"
    return instruction.operands[1].name if calls and isinstance(instruction.operands[1], syntax.Symbol) else None


def _is_indirect(instruction):
    """Whether it calls what a register points to."""
    return (isinstance(instruction, syntax.Instruction) and instruction.opcode == "call"
            and isinstance(instruction.operands[1], syntax.Register))


def _symbols(operands):
    for operand in operands:
        if isinstance(operand, syntax.Symbol):
            yield operand
        elif isinstance(operand, syntax.Vector | syntax.Arguments):
            yield from _symbols(operand.operands)
        elif isinstance(operand, syntax.Address | syntax.TensorAddress):
            yield from _symbols((operand.base,))
