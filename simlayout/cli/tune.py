"""tune: configurations of matmul, measured on this machine's GPU. `cuda_kernels` is imported when it is called."""

from dataclasses import asdict
from pathlib import Path

from simlayout.cli import registry
from simlayout.cli.options import add, add_own, given_file, integer
from simlayout.cli.text import fit, json_text, tell, teller
from simlayout.errors import SimlayoutError
from simlayout.files import TEXT, deliver, reading

EXAMPLES = """
    simlayout tune 4096 4096 4096                          # f16, as torch multiplies a @ w.T
    simlayout tune 16 14336 4096 --dtype bf16 --seconds 10
    simlayout tune 8192 7168 2048 --dtype e4m3 --scaled    # with scale_a and scale_b
    simlayout tune 4096 14336 4096 --epilogue "bias gelu"  # with bias and activation="gelu"
    simlayout tune 4096 2048 7168 --dtype bf16 --groups 64 # grouped_matmul of 4096 rows in 64 groups
    simlayout tune --all-layers layers.txt --dtype bf16    # a product per line
    simlayout tune --list
    simlayout tune --forget
    """

NOTES = """
    C (M, N) = A (M, K) times B (K, N), of f16, bf16, e4m3, e5m2, s8 or u8, or of two types: e4m3.e5m2 is A's and B's. The
    likeliest 32 configurations are measured, then those that differ from the best of them in one option, then all ways to
    launch what is the best then: in turns, in CUDA graphs of calls that rotate over operands larger than L2, random normal
    data, medians; each must be right. A line is printed for each after its first turn, and the best of the last heat is
    kept, for this GPU, driver and version, in $SIMLAYOUT_CACHE or ~/.cache/simlayout. From then on `matmul` uses it for
    such products, except with tune="off". Compiling is not counted in --seconds, and takes some seconds a kernel and CPU
    the first time. Ctrl-C keeps the best so far.

    An epilogue is named as matmul's arguments are: bias, residual, multiply, alpha (of any number but 1), and one
    activation, relu, gelu, gelu_tanh or silu. With --groups M are the rows of all groups, whose sizes are drawn, with a
    standard deviation of half their mean, because the GPU alone knows those of a program. `grouped_matmul` then uses what is
    kept for so many rows in so many groups.

    --all-layers FILE holds lines such as `4096 14336 4096 bf16`, with spaces or commas (# begins a comment), or JSON:
    [[4096, 14336, 4096, "bf16"]] (the dtype may be left out), or objects that name any option: {"M": 4096, "N": 2048,
    "K": 7168, "dtype": "e4m3", "scaled": "lines", "groups": 64}. `-` is stdin.
    """

OF_MEASURING = "dtype", "out", "order", "batch", "scaled", "epilogue", "groups", "seconds"
"""The options that say what is measured, and for how long: None where they are not given, and `usual` is meant."""


def describe(parser):
    """The parser of `simlayout tune`."""
    parser.answer(tune, EXAMPLES, NOTES)
    parser.add_argument("sizes", nargs="*", type=integer(), metavar="M N K", help="of a product")
    add(parser, "--dtype", of="tune")
    add_own(parser, "--out", metavar="TYPE", values=lambda: registry.TUNE_OUTS, help="of C (default: as matmul's)")
    add_own(parser, "--order", default="NT", metavar="XY", values=lambda: registry.TUNE_ORDERS,
            help="of A and B: N with contiguous rows, T a transpose (default: NT)")
    parser.add_argument("--batch", type=integer(), default=1, metavar="N", help="so many products at once (default: 1)")
    parser.add_argument("--scaled", nargs="?", const="lines", default="", metavar="HOW",
                        help="with a scale for each row and column of C (lines, what it is alone), for all (tensor), or by "
                             "blocks of 128 of K: rows of A x columns of B that share one, 1x128, 128x1, 1x1 or 128x128")
    parser.add_argument("--epilogue", default="", metavar="WORDS",
                        help="what is done to elements of C, such as \"bias gelu\"")
    parser.add_argument("--groups", type=integer(), default=0, metavar="N",
                        help="so many groups of rows, each with a B of its own: of grouped_matmul")
    add(parser, "--seconds", of="tune")
    parser.add_argument("--all-layers", metavar="FILE", help="measure the products that a file names")
    parser.add_argument("--list", action="store_true", help="say what is kept, of every GPU")
    parser.add_argument("--forget", action="store_true", help="delete what is kept: of M N K, or all of it")
    add(parser, "--json")
    parser.set_defaults(usual={name: parser.get_default(name) for name in OF_MEASURING}, **dict.fromkeys(OF_MEASURING))


def tune(options):
    """`simlayout tune`."""
    if len(options.sizes) not in (0, 3):
        raise SimlayoutError(f"{' '.join(map(str, options.sizes))} is no product: give M, N and K")
    asked_for = [bool(options.sizes) and not options.forget, options.all_layers is not None, options.list, options.forget]
    if sum(asked_for) != 1:
        raise SimlayoutError("give M N K, --all-layers FILE, --list or --forget, one of them")
    if options.list or options.forget:
        _refuse_others(options)
    if options.list:
        found = registry.all_kept()
        tell(options.json, lambda: _plain(found), lambda: fit(registry.listed(found)))
    elif options.forget:
        gone = registry.forget(tuple(options.sizes) or None)
        tell(options.json, {"deleted": gone}, f"{gone} deleted")
    else:
        _measure(options)
    return 0


def _refuse_others(options):
    """Raises SimlayoutError for options that would choose nothing: as if --forget --groups 4 deleted groups alone."""
    others = [name for name in OF_MEASURING if getattr(options, name) is not None]
    if others:
        raise SimlayoutError(f"{', '.join(f'--{name}' for name in others)}: this says what to measure; --list takes no such "
                             "option, and --forget M N K deletes all that is kept of these sizes, of any type and groups")


def _measure(options):
    """Measures what the options ask for; the JSON has what was kept, also where an interrupt ends it."""
    vars(options).update({name: usual for name, usual in options.usual.items() if getattr(options, name) is None})
    found = []
    try:
        registry.tune_all(_products(options), options.seconds or registry.TUNE_SECONDS, teller(options.json), found)
    finally:
        if found and options.json:
            deliver(options.json, json_text(_plain(found)) + "\n")


def _plain(found):
    return {"kept": [asdict(one) for one in found]}


def _products(options):
    """The products that the options ask for."""
    usual = registry.Asked(*(options.sizes or (1, 1, 1)), options.dtype, options.out, options.order, options.batch,
                           options.scaled, options.epilogue, options.groups)
    if options.all_layers is None:
        return [usual]
    with given_file(options.all_layers) as name:
        with reading(options.all_layers):
            text = Path(name).read_text(TEXT)
    return registry.asked_in(text, options.all_layers, usual)
