"""What the operands of a function mean: which rows hold them, where in memory variables lie, which step a label is."""

from functools import cached_property

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.hazards.units import spans
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.memory.space import LOCAL, PARAMETERS, SHARED
from simlayout.machine.ptx.opcodes.rows import Place
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.answers import answers
from simlayout.machine.ptx.passes.arrays import Pointers
from simlayout.machine.ptx.passes.atomic_values import asked
from simlayout.machine.ptx.passes.by_order import ByOrder
from simlayout.machine.ptx.passes.carried import Carried
from simlayout.machine.ptx.passes.guesses import guesses
from simlayout.machine.ptx.passes.idle import idle
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import instructions, registers_in
from simlayout.machine.ptx.passes.waits import asked_again, looks, tried_again, waits


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

    @property
    def optimized(self):
        """Whether ptxas makes something better of the instructions: not of those of `nvcc -G`."""
        return "debug" not in self.lowering.module.options

    @cached_property
    def alike(self):
        """As `passes.alike`: what is the same in all lanes."""
        return Alike(self.function)

    @cached_property
    def guesses(self):
        """As `passes.guesses`: the ids of loads whose value a compare-and-swap checks."""
        return guesses(self.function, self.known, self.lowering.module.functions,
                       self.function.name in self.lowering.unread_results)

    @cached_property
    def idle(self):
        """As `passes.idle`: loads whose values are stored under predicates alone."""
        return idle(self.function)

    def stays(self, target):
        """Whether no store is made of what is loaded to a target that may leave the thread's own memory."""
        return self._leaving.isdisjoint(registers_in((target,)))

    @cached_property
    def _leaving(self):
        stores = [one for one in instructions(self.function.body) if one.opcode == "st"]
        return {name for one in stores if not self._is_own(one) for name in self.carried.origins(one.operands[1])}

    def _is_own(self, store):
        at = store.operands[0]
        return (not {"local", "param"}.isdisjoint(store.spaces) or isinstance(at, syntax.Address)
                and getattr(self.known.place(at).base, "name", "") in self.local)

    @cached_property
    def answers(self):
        """As `passes.answers`: id of a store -> where the loads are that it answers."""
        site = {id(one): self.lowering.where(one) for one in instructions(self.function.body) if one.opcode == "ld"}
        return {store: frozenset(site[load] for load in loads) for store, loads in answers(self.function).items()}

    @cached_property
    def waits(self):
        """As `passes.waits`: the ids of loads by which threads wait."""
        return waits(self.function, self.known)

    @cached_property
    def looks(self):
        """As `passes.waits`: the ids of volatile loads that look at a flag."""
        return looks(self.function)

    @cached_property
    def asked_again(self):
        """As `passes.waits`: the ids of waits for mbarriers that do nothing but come again."""
        return asked_again(self.function)

    @cached_property
    def tried_again(self):
        """As `passes.waits`: the ids of atomics in loops that go on until they succeed."""
        return tried_again(self.function)

    @cached_property
    def by_order(self):
        """As `passes.by_order`: what depends on the order in which warps come to an atomic."""
        return ByOrder(self.function, self.known, self.alike, self.tried_again)

    def unsure(self, instructions):
        """{where the recorder counts what depends on the order in which warps come to some instructions}."""
        return {(*self.lowering.where(one), one.line) for one in self.by_order.behind(*instructions)}

    def behind(self, instruction):
        """(those places of one instruction, (the line of the kernel's own that it is of, as (file, line), their lines in the
        same file, as text))."""
        behind, sites = self.by_order.behind(instruction), self.unsure([instruction])
        at, *lines = [one.site.callers[-1] if one.site and one.site.callers else self.lowering.where(one)
                      for one in (instruction, *behind)]
        numbers = sorted({line for file, line in lines if file == at[0]})
        return sites, (at, f"line{'s' * (len(numbers) > 1)} {spans(numbers)}" if numbers else "")

    def moves_at(self, places):
        """The loads and stores of the function on some lines of the source, {(file, line)}."""
        return [one for one in instructions(self.function.body)
                if one.opcode in ("ld", "st") and self.lowering.where(one) in places]

    @cached_property
    def asked(self):
        """As `passes.atomic_values`: the ids of atomics whose value may say what others have done."""
        return asked(self.function, self.known)

    @cached_property
    def _pointers(self):
        placed = ((self.lowering.shared, self.lowering.module.variables), (self._shared, self.function.variables))
        arrays = {name: (at, variables[name]) for places, variables in placed for name, (at,) in places.items()}
        return Pointers(self.function, {name: (at, 0 if variable.unsized else variable.bytes)
                                        for name, (at, variable) in arrays.items()})

    def bounds(self, address, nbytes=0, used=None):
        """As of `Pointers`: which bytes of shared memory an address may mean, None if that is not known."""
        return self._pointers.bounds(address, nbytes, used)

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


def _float_bits(operand, bits):
    """A constant as a register of so many bits holds it: of f64 written where f32 is wanted, rounded."""
    if operand.width == bits:
        return operand.bits
    value = np.array(operand.bits, f"u{operand.width // 8}").view(f"f{operand.width // 8}")
    return int(value.astype(f"f{bits // 8}").view(f"u{bits // 8}"))
