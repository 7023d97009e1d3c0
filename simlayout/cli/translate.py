"""translate and equal: one index function in several notations, and whether two texts are one function."""

from argparse import SUPPRESS

from simlayout.algebra import F2Map, Layer, Layout, dtype_of, parse
from simlayout.algebra.nested import mode_sizes
from simlayout.cli.options import add, given_layout
from simlayout.cli.text import field, fit, tell
from simlayout.codegen.notations import open_names, read_notation, sized, text_of
from simlayout.codegen.tile_text import domain_of, read_tile
from simlayout.codegen.translation import NOTATIONS, TranslationError, translate
from simlayout.errors import LayoutError
from simlayout.proofs import equivalent

NAMES = ("row", "col")

TRANSLATE_EXAMPLES = """
    simlayout translate 'Sw<3,3,3> o (16,64):(64,1)'
    simlayout translate 'Sw<3,3,3> o (16,64):(64,1)' --into triton
    simlayout translate 'row * 64 + (col ^ ((row & 7) << 3))' --domain row=16 col=64 --into cute tma --dtype bf16
    simlayout translate 'vec = 8, perPhase = 2, maxPhase = 4' --domain row=16 col=32 --json
    simlayout translate 'Rot<8,2,64> o (16,16):(16,1)' --into f2
    """

EQUAL_EXAMPLES = """
    simlayout equal 'Sw<3,3,3> o (16,64):(64,1)' 'row * 64 + (col ^ ((row & 7) << 3))'
    simlayout equal 'int c = col / 8; return row * 64 + (c ^ row % 8) * 8 + col % 8;' \\
        'composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,Stride<_64,_1>>{})'
    simlayout equal 'r * 64 + (c ^ ((r & 7) << 3));' 'Swizzle<3,3,3>{}' --domain r=64 c=64
    simlayout equal 'Rot<8,2,64>' 'Sw<1,3,3>' --domain x=4096
    simlayout equal 'row * 8 + col' 'row << 3 | col' --domain row=16 col=8 --json
    """

TEXTS = """
    A text is a layout ('Sw<3,3,3> o (16,64):(64,1)'; also Rot<...> and F2<...>), CuTe's C++ of one, Triton's swizzled layout
    ('vec = 8, perPhase = 1, maxPhase = 8'), TMA's mode ('SWIZZLE_128B'), or a formula, Python's or C's, of row and col or of
    the names in --domain ('row * 64 + (col ^ ((row & 7) << 3))'); / in it is C's integer division.
    """

TRANSLATE_NOTES = TEXTS + """
    --domain is the tile, for what does not say it. Each translation is proved on every element of the tile. Where a
    notation has none, the line says why, with coordinates that show it. The exit code is 1 if none of those asked for has an
    equivalent.
    """

EQUAL_NOTES = TEXTS + """
    All points of the domain are compared: those of --domain, inside the shape of each layout, or else those of the layout's
    shape, which a formula takes over. Layouts of different shapes are different. The exit code is 0 if the two are equal, 1
    if not; then the first point at which they differ is shown.
    """


def describe_translate(parser):
    """The parser of `simlayout translate`."""
    parser.answer(run_translate, TRANSLATE_EXAMPLES, TRANSLATE_NOTES)
    parser.add_argument("source", metavar="TEXT", type=given_layout,
                        help="an index function, see below; quote it for the shell; - reads it from stdin")
    for name, help in (("--into", f"{', '.join(NOTATIONS)} or all (default: all)"), ("--to", SUPPRESS)):
        parser.add_argument(name, dest="into", nargs="+", default=["all"], choices=(*NOTATIONS, "all"), metavar="NOTATION",
                            help=help)
    add(parser, "--domain", "--dtype", "--json")


def describe_equal(parser):
    """The parser of `simlayout equal`."""
    parser.answer(run_equal, EQUAL_EXAMPLES, EQUAL_NOTES)
    parser.add_argument("left", metavar="LEFT", type=given_layout,
                        help="an index function, see below; quote it for the shell; - reads it from stdin")
    parser.add_argument("right", metavar="RIGHT", type=given_layout, help="another one")
    add(parser, "--domain", "--dtype", "--json")


def run_translate(options):
    """`simlayout translate`: exit code 0 if an equivalent was found, 1 if there is none."""
    dtype_of(options.dtype)                              # most notations do not ask
    body, sizes = sized(options.source, domain_of(options.domain))
    if sizes and len(sizes) != 2:
        raise LayoutError(f"{' '.join(sizes)}: a tile is given as row=16 col=64")
    if not sizes and open_names(body) is not None:
        read_tile(body, dtype=options.dtype)            # tells which sizes to add, or is a bare swizzle
    tile = tuple(sizes.values()) or None
    source = read_notation(body, tile[1] if tile else None, options.dtype, tuple(sizes) or NAMES)
    notations = NOTATIONS if "all" in options.into else tuple(dict.fromkeys(options.into))
    answers = {to: _attempt(source, to, tile, options.dtype) for to in notations}
    tell(options.json, {"source": options.source, "dtype": options.dtype, "translations": answers},
         "\n".join(_lines_of(to, answer) for to, answer in answers.items()))
    return 0 if any(answer["text"] for answer in answers.values()) else 1


def _attempt(source, to, tile, dtype):
    """What `translate --json` says of one notation."""
    try:
        translation = translate(source, to, tile, dtype)
    except TranslationError as error:
        return {"text": None, "why": str(error), "witness": list(error.witness)}
    answer = {"text": translation.text, "proof": str(translation.proof)}
    if to == "f2":
        layers = getattr(translation.result, "layers", ())
        answer["matrix"] = next(a for a in layers if isinstance(a, F2Map)).text().splitlines()
    return answer


def _lines_of(to, answer):
    """The same as lines."""
    if answer["text"] is None:
        return field(to, f"none: {answer['why']}")
    lines = [field(to, answer["text"]), field("", answer["proof"])]
    return "\n".join([*lines, *(field("", row) for row in answer.get("matrix", ()))])


def run_equal(options):
    """`simlayout equal`: exit code 0 if the two are equal, 1 if not."""
    dtype_of(options.dtype)
    domain = domain_of(options.domain)
    bodies = []
    for text in (options.left, options.right):
        body, domain = sized(text, domain)
        bodies.append(body)
    names, columns = tuple(domain) or NAMES, list(domain.values())[1] if len(domain) == 2 else None
    left, right = _sides(bodies, names, columns, options.dtype)
    if len(domain) == 2:                # a bare swizzle is one of the row-major tile, as it is for `check`
        plain = Layout.row_major(*domain.values())
        left, right = (side @ plain if isinstance(side, Layer) and not hasattr(side, "shape") else side
                       for side in (left, right))
    names = ("x",) if _coordinates(left, right, domain) == 1 else NAMES
    equivalence = equivalent(left, right, domain or None, names)
    tell(options.json, {"left": text_of(left), "right": text_of(right), "domain": equivalence.domain,
                        "equal": equivalence.equal, "how": equivalence.how,
                        "counterexample": equivalence.counterexample}, fit(str(equivalence)))
    return 0 if equivalence else 1


def _coordinates(left, right, domain):
    """How many coordinates two index functions are compared in. Raises LayoutError where that is not known, or one of them
    takes another number."""
    shapes = [mode_sizes(side) for side in (left, right)]
    modes = max((len(sizes) for sizes in shapes if sizes), default=1)
    if not domain and not any(shapes) and not all(isinstance(side, F2Map) for side in (left, right)):
        raise LayoutError("neither text says how large its tile is: give --domain row=16 col=64")
    if not domain and None in shapes and modes > 2:
        raise LayoutError(f"a layout has {modes} modes, and the other text none: give --domain, one size for each")
    coordinates = len(domain) or modes
    for side in (left, right):
        if isinstance(side, Layer) and not hasattr(side, "shape") and coordinates != 1:
            raise LayoutError(f"{side} takes one offset, not {coordinates} coordinates: compose it with a layout")
    return coordinates


def _sides(bodies, names, columns, dtype):
    """The index functions of two texts. The shape of one that has its own tells the columns of Triton's and TMA's texts, and
    which sizes a formula of other names than row and col lacks."""
    shapes = [mode_sizes(parse(body)) if open_names(body, names) is None else None for body in bodies]
    shape = next((sizes for sizes in shapes if sizes), None)
    if columns is None and shape and len(shape) == 2:
        columns = shape[1]
    for body in bodies:
        own = open_names(body, names) or ()
        if not set(own) <= set(names) and names == NAMES and shape and len(own) == len(shape):
            example = " ".join(f"{name}={size}" for name, size in zip(own, shape))
            raise LayoutError(f"{body!r} names its coordinates otherwise than row and col: say in which order, as in "
                              f"--domain {example}")
    return [read_notation(body, columns, dtype, names) for body in bodies]
