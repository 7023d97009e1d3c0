"""From a parsed function to steps: every register a row, every label an index, every instruction bound to what it does."""

from functools import cache, cached_property, partial

from simlayout.errors import MachineError, SimlayoutError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.faults import Fault
from simlayout.machine.ptx.lowering.accumulators import Accumulators
from simlayout.machine.ptx.lowering.blocks import Blocks, with_latches
from simlayout.machine.ptx.lowering.clocks import clocks_moved
from simlayout.machine.ptx.lowering.names import Names, aligned
from simlayout.machine.ptx.lowering.program import SPECIALS, SYSTEM_BYTES, Program, Step
from simlayout.machine.ptx.opcodes.bind import bind
from simlayout.machine.ptx.opcodes.control import recursion
from simlayout.machine.ptx.opcodes.rows import in_numpy
from simlayout.machine.ptx.passes.arrays import passed_to
from simlayout.machine.ptx.passes.flow import without_marks
from simlayout.machine.ptx.passes.hoisted import hoisted
from simlayout.machine.ptx.passes.made import made
from simlayout.machine.ptx.passes.same_place import beside
from simlayout.machine.ptx.passes.unread import unread_results
from simlayout.machine.ptx.passes.unrolled import unrolled
from simlayout.machine.ptx.passes.wrapped import Wrappers

MOST_LOCAL = 512 << 10
"""Bytes of local memory of a thread: CUDA C++ Programming Guide, technical specifications per compute capability."""

RESERVED = syntax.Special("%reserved_smem_offset_1")
"""Where the shared memory begins that the system has in each CTA since sm_80. Cooperative groups keep barriers in it."""

_SYSTEM = syntax.Variable("of the system", "shared", "b8", 16, SYSTEM_BYTES, (SYSTEM_BYTES,))

CODE = 128
"""What addresses of functions are multiples of: a pointer to a virtual member function of C++ is an odd number."""


class Lowering:
    """The Program of an entry, in the making. module: syntax.Module; addresses: {variable in global or constant memory:
    address}. placed: {shared variable whose size the module tells: (address, bytes)}; static_shared: the bytes of them all.
    faults: the Faults of instructions that cannot be bound; with any `program` is None."""

    def __init__(self, module, entry, addresses):
        self.module, self.addresses = module, addresses
        self.shared, self.static_shared, self._dynamic, self.placed, self.reserved_at = {}, 0, [], {}, None
        self._rows, self._registers, self._constants, self._specials = 0, {}, {}, {}
        self.local_bytes, self.steps, self.names, self.calls, self.faults = 0, [], {}, {}, []
        self.accumulators, self._touched, self._uses = Accumulators(), set(), []        # _uses: rows that each step uses
        self.symbols = set()                             # names of variables and functions that it uses
        wrappers = Wrappers(module.functions)
        self._functions, todo = [], [entry]
        while todo:
            name = todo.pop()
            if name not in self.names:
                function = wrappers.put_in(clocks_moved(without_marks(module.functions[name])))
                self.names[name] = Names(self, function if "debug" in module.options else hoisted(unrolled(function)))
                self._functions.append(name)
                todo += self._used(self.names[name].function)
        self._place_dynamic()
        for name in self._functions:
            self._lower(self.names[name])
        order = self._callees_first(entry)
        self.program = None if self.faults else self._finish(entry, order)

    @cached_property
    def unread_results(self):
        """As `passes.unread`: names of the functions whose results no call reads."""
        return unread_results([names.function for names in self.names.values()])

    def _used(self, function):
        """Places the module's shared variables that a function uses; returns the functions with a body that it calls, or
        whose address it takes."""
        names = dict.fromkeys(name for statement in function.body for name in statement.symbols)
        self.symbols.update(names)
        for name in names:
            variable = self.module.variables.get(name)
            if variable is not None and variable.space == "shared" and name not in self.shared:
                self.shared[name] = self.new_shared(variable)
        if self.reserved_at is None and any(RESERVED in statement.operands for statement in function.body):
            self.reserved_at, = self.new_shared(_SYSTEM)
        if any(_is_indirect(instruction) for instruction in function.body):
            variables = self.module.variables.values()
            names |= dict.fromkeys(r.symbol for variable in variables for r in variable.relocations)
        functions, direct = self.module.functions, {_callee(instruction) for instruction in function.body}
        self.calls[function.name] = {name: name in direct for name in names
                                     if name in functions and functions[name].body is not None}
        return self.calls[function.name]

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
        at = aligned(self.static_shared, variable.align)
        self.static_shared = at + variable.bytes
        self.placed[variable.name] = at, variable.bytes
        return [at]

    def _place_dynamic(self):
        self.dynamic_at = aligned(self.static_shared, max([variable.align for variable, _ in self._dynamic], default=1))
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
        bound = {id(s): self._bound(s, names) for s in function.body if isinstance(s, syntax.Instruction)}
        if self.faults:                                  # what follows takes instructions to be whole
            return
        of = made(names)
        places = beside([one for one in function.body if id(one) not in of.unread and of.counts.get(id(one)) != ()])
        for statement in names.idle.ahead(of.body):
            if isinstance(statement, syntax.Label):
                names.labels[statement.name][0] = len(self.steps)
                continue
            one = id(statement)
            for step in self._put(bound[one] if one in bound else self._bound(statement, names), one in of.unread):
                step.sunk = one in of.late
                step.joined, step.beside = of.counts.get(one), places.get(one)
                step.fields = tuple(of.fields.get(one, ()))
                if one in of.guards:
                    step.guard, step.negated = _guarded(of.guards[one], names)
        falls = not self.steps[names.start:] or self.steps[-1].jump is None or self.steps[-1].guard is not None
        if falls or [len(self.steps)] in names.labels.values():
            self._put(self._bound(syntax.Instruction("ret", (), (), None, function.line, 1, None, "ret;"), names))
        self._add_latches(names)
        names.end = len(self.steps)

    def _add_latches(self, names):
        uses = dict(enumerate(self._uses[names.start:], names.start))
        made, moved = with_latches(self.steps, names.start, names.labels.values())
        self.steps[names.start:] = made
        self._uses[names.start:] = [set()] * len(made)
        for at, touched in uses.items():
            self._uses[moved(at)] = touched

    def where(self, instruction):
        """(file, line) of the source that an instruction came from; without one, of the PTX text."""
        site = instruction.site
        return (self.module.path, instruction.line) if site is None else (site.file, site.line)

    def _put(self, bound, unread=False):
        """Appends what `_bound` returns to the steps, left out if nothing needs it; the steps that it is."""
        steps, touched = bound
        steps = [step.left_out() for step in steps] if unread else steps
        self.steps += steps
        self._uses += [touched] * len(steps)
        return steps

    def _bound(self, instruction, names):
        """(the steps that an instruction becomes, the rows that they use); none of one with a fault."""
        site, where, caller = instruction.site, self.where(instruction), None
        for file, line in reversed(site.callers if site else ()):
            caller = file, line, caller
        name = instruction.name
        guard = _guarded(instruction.guard, names)
        made, self._touched = [], set()
        try:
            for kind in bind(instruction, names):
                step = Step(name, where, caller, instruction.line, instruction.text, *guard)
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
            return made, self._touched
        self.faults.append(Fault(name, instruction.line, instruction.column, reason))
        return [], set()

    # ---- order ---------------------------------------------------------------------------------------------------

    def _finish(self, entry, order):
        self.accumulators.watch(self.steps, self._uses)
        places, at = [0] * (len(self.steps) + 1), 0
        for name in order:
            at = self._place(self.names[name], places, at)
        places[-1] = end = at + 1
        return Program(entry, self.steps, places, self.names[entry].start, end, self._rows,
                       {row: bits for bits, row in self._constants.items()},
                       {row: name for name, row in self._specials.items()}, self.local_bytes, self.static_shared,
                       self.dynamic_at, self.accumulators, self._register_bounds(), self.reserved_at, self._uses,
                       cache(partial(passed_to, self.names[entry].function, self.names[entry].parameters)))

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
                    call = next(i for i in self.names[open_[-1]].function.body if _callee(i) == name)
                    reason = str(recursion(name, None if open_[-1] == name else open_[-1], self.where(call)))
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


def address_of(module, function):
    """What a register or a variable holds that points to a function of a syntax.Module."""
    return CODE * (list(module.functions).index(function) + 1)


def _guarded(guard, names):
    """(row of the predicate, or None; whether lanes execute where it does not hold) of a guard, or of None."""
    if guard is None:
        return None, 0
    plain = getattr(guard, "register", guard)
    return names.register(plain), int(plain is not guard)


def _callee(instruction):
    """The name of the function that it calls, or None."""
    calls = instruction.opcode == "call"
    return instruction.operands[1].name if calls and isinstance(instruction.operands[1], syntax.Symbol) else None


def _is_indirect(instruction):
    """Whether it calls what a register points to."""
    return instruction.opcode == "call" and isinstance(instruction.operands[1], syntax.Register)
