"""A Module of PTX as text again, and without what only tells where it stood: the other way round than the grammar."""

from dataclasses import replace
from functools import singledispatch

from simlayout.machine.ptx.syntax import (
    BITS,
    Address,
    Arguments,
    Float,
    Instruction,
    Integer,
    Label,
    Module,
    Negated,
    Pair,
    Part,
    Prototype,
    Register,
    Sink,
    Special,
    Symbol,
    TensorAddress,
    Vector,
)


def without_places(module: Module) -> Module:
    """The module with no lines, columns, texts and path."""
    def declared(variables):
        return tuple(replace(variable, line=0) for variable in variables)

    def said(item):
        return replace(item, line=0, column=0, text="") if isinstance(item, Instruction) else replace(item, line=0)

    def listed(table):
        return replace(table, returns=declared(table.returns), parameters=declared(table.parameters)) if isinstance(
            table, Prototype) else table

    functions = {name: replace(
        function, line=0, parameters=declared(function.parameters), returns=declared(function.returns),
        variables={name: replace(variable, line=0) for name, variable in function.variables.items()},
        tables={name: listed(table) for name, table in function.tables.items()},
        body=None if function.body is None else tuple(map(said, function.body)))
        for name, function in module.functions.items()}
    return replace(module, path="", functions=functions,
                   variables={name: replace(variable, line=0) for name, variable in module.variables.items()})


def printed(module: Module) -> str:
    """The text of a module."""
    lines = [f".version {module.version[0]}.{module.version[1]}", f".target {', '.join((module.target, *module.options))}",
             f".address_size {module.address_size}"]
    lines += [f'.file {number} "{_escaped(path)}"' for number, path in module.files.items()]
    lines += [f".alias {name}, {target};" for name, target in module.aliases.items()]
    lines += [_variable(variable) + ";" for variable in module.variables.values()]
    numbers = {path: number for number, path in module.files.items()}
    for function in module.functions.values():
        lines += _function(function, numbers)
    return "\n".join(lines) + "\n"


def _escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


@singledispatch
def shown(operand) -> str:
    """An operand as text."""
    raise TypeError(operand)


@shown.register(Register)
@shown.register(Special)
def _(operand):
    return operand.name


@shown.register(Integer)
def _(operand):
    return str(operand.value) if operand.value != -(2**63) else "(-9223372036854775807 - 1)"


@shown.register(Float)
def _(operand):
    return f"0{'f' if operand.width == 32 else 'd'}{operand.bits:0{operand.width // 4}X}"


@shown.register(Symbol)
def _(operand):
    return operand.name + (f"{operand.offset:+}" if operand.offset else "")


@shown.register(Address)
def _(operand):
    return f"[{_place(operand)}]"


@shown.register(TensorAddress)
def _(operand):
    sampler = f"{shown(operand.sampler)}, " if operand.sampler else ""
    return f"[{_place(operand)}, {sampler}{shown(Vector(operand.coordinates))}]"


def _place(operand):
    return shown(operand.base) + (f"+{operand.offset}" if operand.offset else "")


@shown.register(Vector)
def _(operand):
    return "{" + ", ".join(map(shown, operand.operands)) + "}"


@shown.register(Arguments)
def _(operand):
    return "(" + ", ".join(map(shown, operand.operands)) + ")"


@shown.register(Negated)
def _(operand):
    return ("!" if operand.register.type == "pred" else "-") + operand.register.name


@shown.register(Part)
def _(operand):
    return f"{operand.register.name}.{operand.chosen}"


@shown.register(Sink)
def _(operand):
    return "_"


@shown.register(Pair)
def _(operand):
    return f"{shown(operand.first)}|{shown(operand.second)}"


def _variable(variable):
    words = [f".{variable.linkage}"] if variable.linkage else []
    if variable.space == "reg":
        vector = f".v{variable.shape[0]} " if variable.shape else ""
        return f".reg {vector}.{variable.type} {variable.name}"
    words += [f".{variable.space}", f".align {variable.align}", f".{variable.type}"]
    if variable.pointer:
        words += [".ptr", *([f".{variable.pointer[0]}"] if variable.pointer[0] else []), f".align {variable.pointer[1]}"]
    shape = "".join(f"[{'' if length is None else length}]" for length in variable.shape)
    text = " ".join(words) + f" {variable.name}{shape}"
    return text if variable.initial is None else f"{text} = {_initial(variable)}"


def _initial(variable):
    width = BITS[variable.type] // 8
    relocations = {relocation.offset: relocation for relocation in variable.relocations}
    elements = [_relocated(relocations[at]) if at in relocations
                else _element(variable.type, variable.initial[at:at + width])
                for at in range(0, len(variable.initial), width)]
    return elements[0] if not variable.shape else _nested(elements, variable.shape)


def _nested(elements, shape):
    """Braces around the elements, as many deep as the shape; what is left out is zero."""
    if len(shape) == 1:
        return "{" + ", ".join(elements) + "}"
    span = 1
    for length in shape[1:]:
        span *= length
    parts = [elements[at:at + span] for at in range(0, len(elements), span)] if span else []
    return "{" + ", ".join(_nested(part, shape[1:]) for part in parts) + "}"


def _element(kind, raw):
    value = int.from_bytes(raw, "little")
    if kind in ("f32", "f64"):
        return shown(Float(value, BITS[kind]))
    return str(value)


def _relocated(relocation):
    text = f"generic({relocation.symbol})" if relocation.generic else relocation.symbol
    text += f"+{relocation.addend}" if relocation.addend else ""
    return text if relocation.mask is None else f"{relocation.mask:#x}({text})"


def _parameters(variables):
    return "(" + ", ".join(map(_variable, variables)) + ")"


def _function(function, numbers):
    words = [f".{function.linkage}"] if function.linkage else []
    words += [".entry" if function.entry else ".func"]
    words += [_parameters(function.returns)] if function.returns else []
    lines = [" ".join(words) + f" {function.name}{_parameters(function.parameters)}"]
    for name, values in function.directives.items():
        lines.append(f".{name} {', '.join(map(str, values))}" if name != "pragma" else
                     ".pragma " + ", ".join(f'"{_escaped(each)}"' for each in values) + ";")
    if function.body is None:
        return [*lines, ";"]
    registers = {}
    for item in function.body:
        if isinstance(item, Instruction):
            _collect(item.guard, registers)
            _collect(item.operands, registers)
    given = {variable.name for variable in (*function.parameters, *function.returns)}
    lines += ["{", *dict.fromkeys(_declared(name, kind) for name, kind in registers.items()
                                  if name.partition(".")[0] not in given)]
    lines += [_variable(variable) + ";" for variable in function.variables.values()]
    lines += [f"{name}: {_table(table)};" for name, table in function.tables.items()]
    site = None
    for item in function.body:
        if isinstance(item, Label):
            lines.append(f"{item.name}:")
            continue
        if item.site != site:
            lines += _located(item.site, numbers)
            site = item.site
        lines.append(said(item))
    return [*lines, "}"]


def _declared(name, kind):
    vector, dot, _ = name.partition(".")
    return f".reg {'.v4 ' if dot else ''}.{kind} {vector};"


def _table(table):
    if isinstance(table, Prototype):
        ends = " .noreturn" if table.noreturn else ""
        return f".callprototype {_parameters(table.returns)} _ {_parameters(table.parameters)}{ends}"
    return f".branchtargets {', '.join(table)}"


def _located(site, numbers):
    """The `.loc`s of a site: one for each caller, outermost first, since each says of what the place before it is called."""
    def place(file, line):
        return f"{numbers.get(file, file[6:-1])} {line} 0"

    chain = [(site.file, site.line), *site.callers][::-1]
    yield f".loc {place(*chain[0])}"
    for caller, callee in zip(chain, chain[1:]):
        yield f".loc {place(*callee)}, function_name $L__info_string0, inlined_at {place(*caller)}"


def said(instruction) -> str:
    """An instruction as text."""
    guard = f"@{shown(instruction.guard)} " if instruction.guard else ""
    operands = [shown(each) for each in instruction.operands]
    if instruction.opcode == "call" and operands[0] == "()":
        operands = operands[1:]
    return f"{guard}{instruction.name} {', '.join(operands)};"


def _collect(value, registers):
    """Adds the registers in operands to {name: type}."""
    if isinstance(value, Register):
        registers[value.name] = value.type
    elif isinstance(value, tuple):
        for each in value:
            _collect(each, registers)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            _collect(getattr(value, name), registers)
