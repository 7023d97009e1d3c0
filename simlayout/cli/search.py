"""search: which layout of a tile serves all of some instructions."""

import sys

from simlayout.algebra import dtype_of, parse
from simlayout.cli.layouts import check_size
from simlayout.cli.text import print_json
from simlayout.hardware import arch_of
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import search as search_layouts
from simlayout.synthesis.search import FAMILIES

EXAMPLES = """
    simlayout search '(16,64):(64,1)'
    simlayout search '(16,64):(64,1)' --op ldmatrix.x4 st.shared.b128 --families swizzle pad rotation
    simlayout search '(16,256):(256,1)' --layers 2 --limit 5 --json
    simlayout search '(32,32):(32,1)' --dtype f32 --op ld.shared.b32 --budget 4352 --families pad
    """

NOTES = """
    LAYOUT is the plain tile, row-major say. Each instruction moves the whole tile as it naturally does (see `simlayout check
    --help`); a layout is scored over all of them: excess wavefronts, then wasted bytes, then integer operations of the
    emitted addresses. The first line says whether all layouts of the families were tried: then none has less excess than
    the least one. Ctrl-C ends a search with what it has. The exit code is 1 if no layout is free of conflicts.
    """


def add_command(commands, command):
    """Adds `search` to the commands; command: the function that makes a parser with examples."""
    parser = command(commands, "search", search, "find the layout that serves some instructions at once", EXAMPLES, NOTES)
    parser.add_argument("layout", metavar="LAYOUT", help="the plain tile, such as '(16,64):(64,1)'; quote it for the shell")
    parser.add_argument("--dtype", default="f16", help="of the elements (default: %(default)s)")
    parser.add_argument("--op", nargs="+", default=["ldmatrix.x4"], metavar="INSTRUCTION",
                        help="PTX names (default: ldmatrix.x4)")
    parser.add_argument("--families", nargs="+", default=["swizzle"], choices=FAMILIES, help="of layouts (default: swizzle)")
    parser.add_argument("--layers", type=int, default=1, choices=(1, 2), help="swizzles one over the other (default: 1)")
    parser.add_argument("--limit", type=int, default=5, metavar="N", help="layouts to show (default: %(default)s)")
    parser.add_argument("--budget", type=int, metavar="BYTES", help="that the tile may take at most")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def search(options):
    """`simlayout search`: exit code 0 if a layout without conflicts was found, 1 if not."""
    tile, dtype = parse(options.layout), dtype_of(options.dtype)
    check_size(tile, dtype, arch_of("sm_90"))
    accesses = [natural_access(tile, op, dtype, op) for op in dict.fromkeys(options.op)]
    found = search_layouts(accesses, tuple(dict.fromkeys(options.families)), options.layers, max(options.limit, 1),
                           options.budget, _progress if sys.stderr.isatty() else None)
    if options.json:
        print_json(_report(found))
    else:
        print(found)
    return 0 if found.conflict_free else 1


def _progress(done, total):
    print(f"{done} of {total} layouts", end="\r" if done < total else "\n", file=sys.stderr, flush=True)


def _report(found):
    """What `search --json` prints."""
    rows = [{"family": c.family, "layout": str(c.layout), "excess": c.excess, "wasted_bytes": c.wasted_bytes,
             "operations": c.operations} for c in found.candidates]
    return {"candidates": rows, "conflict_free": found.conflict_free, "examined": found.examined, "total": found.total,
            "exhausted": found.exhausted, "least_excess": found.least}
