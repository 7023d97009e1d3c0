"""Hypothesis strategies for Modules of PTX: any that the grammar can write, whatever their instructions mean."""

from hypothesis import strategies as st

from simlayout.machine.ptx.syntax import (
    BITS,
    SINK,
    Address,
    Arguments,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Negated,
    Pair,
    Part,
    Prototype,
    Register,
    Relocation,
    Site,
    Special,
    Symbol,
    TensorAddress,
    Variable,
    Vector,
)

_MEMORY = [name for name in BITS if not name.endswith("ref")]
_GIVEN = ["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"]
_NAMES = st.from_regex(r"[a-zA-Z$][A-Za-z0-9_$]{0,6}", fullmatch=True).filter(lambda name: name not in ("WARP_SZ",
                                                                                                         "generic"))
_OPCODES = st.sampled_from(["add", "ld", "mma", "wgmma", "bra", "tex", "cp", "mov", "ret", "bar", "vadd"])
_MODIFIERS = st.lists(st.sampled_from(["f32", "shared::cta", "v4", "m16n8k16", "16x64b", "2d", "L2::cache_hint", "to",
                                       "sync", "mbarrier::complete_tx::bytes", "im2col::w::128"]), max_size=4).map(tuple)
_FILES = ["a.cu", 'b "c" \\d.py']
_ALIGN = st.sampled_from([1, 2, 4, 8, 16, 128])
_OFFSETS = st.integers(-2**31, 2**31)
_SPECIALS = st.sampled_from(["%tid.x", "%ctaid.z", "%clock64", "%laneid", "%envreg31", "%lanemask_lt"]).map(Special)


@st.composite
def _taken_apart(draw, names, most):
    """Up to `most` new names, which are added to `names`."""
    found = draw(st.lists(_NAMES.filter(lambda name: name not in names), max_size=most, unique=True))
    names.update(found)
    return found


@st.composite
def _variables(draw, name, spaces, symbols=()):
    space = draw(st.sampled_from(spaces))
    initialised = space in ("global", "const") and draw(st.booleans())
    kind = draw(st.sampled_from(_GIVEN if initialised else _MEMORY))
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    linkage = draw(st.sampled_from(["", "visible", "weak", "common"] if not initialised else ["", "visible"]))
    if not initialised and draw(st.booleans()) and space in ("shared", "global"):
        shape, linkage = (None, *shape), "extern"
    width = BITS[kind] // 8
    count = 1
    for length in shape:
        count *= length or 0
    initial, relocations = None, ()
    if initialised:
        given = count if not shape else draw(st.integers(1, count))
        initial = draw(st.binary(min_size=given * width, max_size=given * width))
        if kind == "b128":                              # a constant has 64 bits
            initial = b"".join(initial[at:at + 8] + bytes(8) for at in range(0, len(initial), 16))
        if symbols and width in (1, 4, 8):
            relocations = _relocations(draw, kind, width, given, symbols)
            raw = bytearray(initial)
            for each in relocations:
                raw[each.offset:each.offset + width] = bytes(width)
            initial = bytes(raw)
    return Variable(name, space, kind, draw(_ALIGN), count * width, shape, initial, relocations, linkage)


def _relocations(draw, kind, width, given, symbols):
    found = []
    for at in sorted(draw(st.sets(st.integers(0, given - 1), max_size=2))):
        mask = 0xff << 8 * draw(st.integers(0, 7)) if width == 1 else None
        found.append(Relocation(at * width, width, draw(st.sampled_from(symbols)), draw(st.integers(0, 99)),
                                draw(st.booleans()), mask))
    return tuple(found)


@st.composite
def _parameters(draw, names):
    found = []
    for name in draw(_taken_apart(names, 3)):
        if draw(st.booleans()):
            found.append(Variable(name, "param", "u64", 8, 8, (), None, (), "", draw(st.none() | st.tuples(
                st.sampled_from(["", "shared", "global", "const", "local"]), _ALIGN))))
        else:
            found.append(draw(_variables(name, ["param"])))
    return tuple(Variable(each.name, "param", each.type, each.align, each.bytes, each.shape, None, (), "", each.pointer)
                 for each in found)


def _constants():
    return st.integers(-2**63, 2**64 - 1).map(Integer) | st.integers(0, 2**32 - 1).map(
        lambda bits: Float(bits, 32)) | st.integers(0, 2**64 - 1).map(lambda bits: Float(bits, 64))


@st.composite
def _operands(draw, registers, symbols):
    predicates = [register for register in registers if register.type == "pred"]
    some = st.sampled_from(registers) if registers else st.just(SINK)
    symbol = st.builds(Symbol, st.sampled_from(symbols), _OFFSETS) if symbols else _constants()
    simple = some | _constants() | _SPECIALS | symbol | st.just(SINK)
    vectors = st.lists(simple, min_size=1, max_size=4).map(tuple)
    bases = [st.integers(0, 2**40).map(Integer)]
    if registers:
        bases.append(some)
    if symbols:
        bases.append(st.sampled_from(symbols).map(Symbol))
    base = draw(st.one_of(bases))
    offset = 0 if isinstance(base, Integer) else draw(_OFFSETS)
    sampler = st.none() | st.one_of(bases[1:] or [st.none()])
    kinds = [simple, st.just(Address(base, offset)), vectors.map(Vector),
             st.builds(TensorAddress, st.just(base), vectors, st.just(offset), sampler)]
    if registers:
        kinds.append(st.builds(Pair, some | st.just(SINK) | vectors.map(Vector), some | st.just(SINK)))
        kinds.append(st.builds(Part, some, st.sampled_from(["b0", "h1", "b3210"])))
        others = [register for register in registers if register.type != "pred"]
        kinds += [st.sampled_from(each).map(Negated) for each in (predicates, others) if each]
    return draw(st.one_of(kinds))


@st.composite
def _bodies(draw, names, symbols, functions, labels, tables):
    registers = [Register(name, draw(st.sampled_from([*_MEMORY, "pred"])))
                 for name in draw(_taken_apart(names, 5))] + [Register(f"%r{i}", "b32") for i in range(3)]
    predicates = [register for register in registers if register.type == "pred"]
    operand = _operands(registers, [*symbols, *labels, *functions])
    guard = st.none()
    if predicates:
        guard = st.none() | st.sampled_from(predicates) | st.sampled_from(predicates).map(Negated)
    body, site = [], None
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            site = draw(st.builds(Site, st.sampled_from([*_FILES, "<file 7>"]), st.integers(1, 999), st.just(())))
            callers = draw(st.lists(st.tuples(st.sampled_from(_FILES), st.integers(1000, 1999)), max_size=3, unique=True))
            site = Site(site.file, site.line, tuple(callers))
        if functions and draw(st.booleans()):
            opcode, modifiers = "call", draw(st.sampled_from([(), ("uni",)]))
            arguments = st.lists(st.sampled_from(registers) | _constants(), max_size=2).map(tuple).map(Arguments)
            operands = (draw(st.lists(st.sampled_from(registers), max_size=1).map(tuple).map(Arguments)),
                        draw(st.sampled_from([*map(Symbol, functions), registers[-1]])), draw(arguments),
                        *((Symbol(draw(st.sampled_from(tables))),) if tables and draw(st.booleans()) else ()))
        else:
            opcode, modifiers, operands = draw(_OPCODES), draw(_MODIFIERS), tuple(draw(st.lists(operand, max_size=4)))
        body.append(Instruction(opcode, modifiers, operands, draw(guard), 0, 0, site, ""))
    for label in labels:
        body.insert(draw(st.integers(0, len(body))), Label(label, 0))
    return tuple(body)


@st.composite
def _functions(draw, name, globals_, functions, aliases):
    entry = draw(st.booleans())
    names = {*globals_, *functions, *aliases}
    parameters = draw(_parameters(names))
    returns = () if entry else draw(_parameters(names))[:1]
    linkage = draw(st.sampled_from(["", "visible", "weak", "extern"]))
    directives = draw(st.fixed_dictionaries({}, optional={
        "reqntid": st.lists(st.integers(1, 1024), min_size=1, max_size=3).map(tuple), "maxnreg": st.just((128,)),
        "noreturn": st.just(()), "explicitcluster": st.just(()), "pragma": st.just(("nounroll", 'a "b"'))}))
    if draw(st.integers(0, 3)) == 0:
        return Function(name, entry, parameters, returns, {}, directives, None, {}, linkage)
    variables = {each: draw(_variables(each, ["shared", "local", "param"])) for each in draw(_taken_apart(names, 2))}
    labels = draw(_taken_apart(names, 3))
    tables = {each: tuple(draw(st.lists(st.sampled_from(labels), min_size=1, max_size=3))) if labels and draw(st.booleans())
              else Prototype(draw(_parameters(set(names)))[:1], draw(_parameters(set(names))), draw(st.booleans()))
              for each in draw(_taken_apart(names, 2))}
    symbols = [*globals_, *variables, *(each.name for each in parameters)]
    body = draw(_bodies(names, symbols, functions, labels, [*tables]))
    return Function(name, entry, parameters, returns, variables, directives, body, tables, linkage)


@st.composite
def modules(draw):
    """A Module without lines, columns, texts and path."""
    names = set()
    variables = {}
    for name in draw(_taken_apart(names, 3)):
        variables[name] = draw(_variables(name, ["global", "const", "shared"], [*variables]))
    functions, other = {}, draw(_taken_apart(names, 1))
    for name in draw(_taken_apart(names, 3)):
        functions[name] = draw(_functions(name, [*variables], [*functions], other))
    aliases = {name: draw(st.sampled_from([*functions])) for name in (other if functions else ())}
    return Module((9, 0), "sm_90a", draw(st.sampled_from([(), ("debug",), ("texmode_unified", "debug")])), 64,
                  dict(enumerate(_FILES, 1)), variables, functions, aliases, "")
