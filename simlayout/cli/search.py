"""search: a layout of a tile that serves several instructions, an order of rows that saves a layout, and the layouts of
whole kernels."""

import keyword
import re
from contextlib import contextmanager
from math import prod

from simlayout.algebra import dtype_of
from simlayout.cli import registry
from simlayout.cli.layouts import first_conflict
from simlayout.cli.options import add, given_layout, integer
from simlayout.cli.text import field, fit, tell
from simlayout.codegen.index_text import parse_index
from simlayout.codegen.tile_text import MAX_INSTRUCTIONS, TileText, tile_of_text
from simlayout.errors import ParseError, SimlayoutError
from simlayout.hardware import arch_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH, widest_load
from simlayout.progress import progress
from simlayout.proofs import Access, verify
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import ALL_FAMILIES, FAMILIES, costs, rearrange, search_plan
from simlayout.synthesis import search as search_layouts
from simlayout.synthesis.cost import replaceable
from simlayout.testing.written import test_source
from simlayout.wording import counted
from simlayout.workers import workers

EXAMPLES = """
    simlayout search '(16,64):(64,1)'
    simlayout search '(16,64):(64,1)' --op ldmatrix.x4 st.shared.b128 --families swizzle pad rotation f2
    simlayout search '(64,64):(64,1)' --op st.shared.b128 ldmatrix.x4.trans \\
        --op ld.shared.b32 --lanes 'tid + 32*i, 2*k' --domain i=2 k=32         # stored by rows, read by columns as well
    simlayout search '(64,64):(64,1)' --op st.shared.b128 ldmatrix.x4.trans --test     # a pytest file: ... > test_tile.py
    simlayout search 'row * 64 + col' --domain row=64 col=64
    simlayout search '(16,256):(256,1)' --layers 2 --limit 5 --json \\
        --access 'ldmatrix.x4: i, 16*(tid % 16) + 8*(tid // 16) for i<16' \\
        --access 'ldmatrix.x4: tid % 16, 16*k + 8*(tid // 16) for k<16'
    simlayout search '(32,32):(32,1)' --dtype f32 --op ld.shared.b32 --budget 4352 --families pad
    simlayout search '(64,128):(128,1)' --families tma         # what TMA can write
    simlayout search '(16,64):(64,1)' --families f2 --base 512 --prove
    simlayout search '(64,64):(64,1)' --op 'ldmatrix.x4 on sm_90' 'ds_write_b128 on gfx942' \\
        --access 'ds_read_b128 on gfx942: tid % 16, 8*(tid // 16) + 32*k for k<2'          # one layout for two vendors
    simlayout search '(16,16):(16,1)' --rearrange              # another order of rows instead of another layout
    simlayout search --kernel mma_permuted                     # a kernel's layouts, from its accesses alone
    simlayout search --kernel mma_crosswise --set c_store=scalar --jobs 2
    """

NOTES = """
    LAYOUT is the plain tile, row-major say, or a formula, of which the shape and the order of its strides count; with
    --kernel the tiles are the kernel's. Each --op (ldmatrix.x4, unless an --access is given) moves the whole tile as it
    naturally does (see `simlayout help check`), or as the --lanes behind it says; each --access says which coordinates
    thread tid gives: INSTRUCTION: ROW, COLUMN [for LOOP<TRIPS, ...], also tid<64 for two warps. An instruction is one of
    --arch, or says itself on which chip: 'ds_read_b128 on gfx942'; one layout may serve several chips. A layout is scored
    over all of them: excess wavefronts, then wasted bytes, then integer operations of the emitted addresses, then how soon
    its pattern begins again. Where none is free of conflicts, what each access costs in the best one follows, and why.

    families: swizzle (CuTe's, --layers 2 for one over the other), pad (rows further apart), rotation, f2 (every invertible
    XOR of the offset's bits, counted by which chunks share banks), and tma (what TMA writes). The first line says whether
    all layouts were tried or excluded: then none has less excess than the least one. --prove adds what is proved of each
    family and the best layout's certificate. Ctrl-C ends a search with what it has. The exit code is 1 if no layout is free
    of conflicts.
    """


def describe(parser):
    """The parser of `simlayout search`."""
    parser.answer(search, EXAMPLES, NOTES)
    parser.add_argument("layout", metavar="LAYOUT", nargs="?", type=given_layout,
                        help="the plain tile, such as '(16,64):(64,1)'; quote it for the shell; - reads it from stdin")
    add(parser, "--dtype", default=None)
    add(parser, "--op", nargs="+", default=[])
    add(parser, "--lanes", default=[])
    add(parser, "--domain", "--arch")
    parser.add_argument("--access", action="append", default=[], metavar="TEXT",
                        help="'INSTRUCTION: COORDINATES [for LOOP<TRIPS, ...]'; may be repeated")
    add(parser, "--kernel")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the kernel")
    parser.add_argument("--rearrange", action="store_true", help="leave the layout, look for an order of ldmatrix's rows")
    parser.add_argument("--families", nargs="+", choices=ALL_FAMILIES,
                        help="of layouts (default: swizzle; all but tma for a kernel)")
    parser.add_argument("--layers", type=integer(1, 2), default=1, metavar="N",
                        help="swizzles one over the other, 1 or 2 (default: 1)")
    add(parser, "--limit", of="search", default=5)
    parser.add_argument("--budget", type=integer(), metavar="BYTES", help="that the tile may take at most")
    parser.add_argument("--base", type=integer(), metavar="BYTES",
                        help="only layouts that begin again every so many bytes, for tiles that start at any multiple of it")
    parser.add_argument("--jobs", type=integer(1, 1024), default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--prove", action="store_true", help="print the proofs of each family and of the best layout")
    add(parser, "--test", "--json")


def search(options):
    """`simlayout search`: exit code 0 if a layout (or an order) without conflicts was found, 1 if not."""
    if (options.layout is None) == (options.kernel is None):
        raise SimlayoutError("give a LAYOUT or --kernel NAME, and not both")
    if options.kernel is None and options.set:
        raise SimlayoutError("--set is an option of a kernel: give --kernel NAME")
    if options.kernel is not None:
        return _of_kernel(options)
    if options.test and options.rearrange:
        raise SimlayoutError("--test tests a layout, and --rearrange leaves it: use one of them")
    accesses = _accesses(options)
    return _rearranged(accesses, options) if options.rearrange else _of_tile(accesses, options)


# ---- the accesses that the options name --------------------------------------------------------------------------------

def _accesses(options):
    """The Accesses of --op and --access to the tile."""
    tile, loops = tile_of_text(TileText(options.layout, options.dtype or "f16", domain=options.domain),
                               [lanes for _, lanes in options.lanes])
    plain, dtype = replaceable(tile), dtype_of(options.dtype or "f16")
    with_lanes = dict(options.lanes)
    texts = [_text_of(options.op[at], lanes, loops) for at, lanes in options.lanes]
    ops = [op for at, op in enumerate(options.op) if at not in with_lanes]
    if not (options.op or options.access):
        ops = [widest_load(options.arch)]
    natural = [natural_access(plain, name, dtype, op, arch) for op in dict.fromkeys(ops)
               for name, arch in [_on_chip(op, options.arch)]]
    unused = set(loops) - {"tid"} - {name for _, text in options.lanes for name in _NAMES.findall(text)}
    if unused:
        raise SimlayoutError(f"--domain {' '.join(sorted(unused))}: no --lanes has this variable")
    return natural + [parse_access(text, plain, dtype.name, options.arch)
                      for text in dict.fromkeys([*texts, *options.access])]


_NAMES = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _text_of(op, lanes, loops):
    """The text of an access, as `parse_access` reads it, of --op, --lanes and the loops of --domain that these name."""
    own = [f"{name}<{trips}" for name, trips in loops.items() if name == "tid" or name in _NAMES.findall(lanes)]
    return f"{op}: {lanes}" + (f" for {', '.join(own)}" if own else "")


_ACCESS = re.compile(r"\s*([\w.:]+?(?:\s+on\s+\w+)?)\s*:\s(.*?)(?:\sfor\s(.*))?", re.DOTALL | re.ASCII)
_LOOP = re.compile(r"\s*([A-Za-z_]\w{0,30})\s*<\s*([0-9]{1,6})\s*", re.ASCII)


def _on_chip(text, arch):
    """"ds_read_b128 on gfx942" -> ("ds_read_b128", "gfx942"); without a chip it is that of `arch`."""
    name, _, chip = text.strip().partition(" on ")
    return name.strip(), chip.strip() or arch


def parse_access(text, tile, dtype, arch=DEFAULT_ARCH):
    """The Access that a text `INSTRUCTION [on ARCH]: COORDINATES [for LOOP<TRIPS, ...]` denotes; nothing is evaluated as
    Python.

    The threads are tid, one warp of them unless the loops say otherwise. Raises ParseError for what is no such text.

    >>> from simlayout.algebra import Layout
    >>> a = parse_access("ldmatrix.x4: tid % 16, 16*k + 8*(tid // 16) for k<4", Layout((16, 64), (64, 1)), "f16")
    >>> a.instruction, a.domain, a.coordinate(17, 2)
    ('ldmatrix.x4', {'tid': 32, 'k': 4}, (1, 40))
    """
    match = _ACCESS.fullmatch(text)
    if not match:
        raise ParseError(f"{text!r} is no access: write 'INSTRUCTION: ROW, COLUMN for LOOP<TRIPS', as in "
                         "'ldmatrix.x4: tid % 16, 8*k for k<4'")
    name, chip = _on_chip(match[1], arch)
    warp = arch_of(chip).lanes
    domain = {"tid": warp}
    for part in match[3].split(",") if match[3] else ():
        loop = _LOOP.fullmatch(part)
        if not loop or int(loop[2]) < 1 or keyword.iskeyword(loop[1]) or loop[1] != "tid" and loop[1] in domain:
            raise ParseError(f"{part.strip()!r} in {text!r} is no loop, or comes twice: write NAME<TRIPS, as in k<4")
        domain[loop[1]] = int(loop[2])
    if prod(domain.values()) > MAX_INSTRUCTIONS * warp:
        raise SimlayoutError(f"{text!r} spans {prod(domain.values()) // warp} instructions: at most {MAX_INSTRUCTIONS}")
    return Access(text, name, tile, parse_index(match[2], domain), domain, dtype, excess=None, arch=chip)


@contextmanager
def _search_arguments(options):
    """The arguments of `search` that the command line gives, as a dict; processes end with it."""
    pool = workers(options.jobs) if options.jobs > 1 else None
    try:
        with progress("layouts") as moved:
            yield {"layers": options.layers, "limit": options.limit, "budget": options.budget, "base": options.base,
                   "progress": moved, "executor": pool}
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)


# ---- answers -----------------------------------------------------------------------------------------------------------

def _of_tile(accesses, options):
    for access in accesses:
        verify(access)                      # stores of several lanes to the same bytes, too, which `search` only counts
    with _search_arguments(options) as arguments:
        result = search_layouts(accesses, tuple(dict.fromkeys(options.families or ["swizzle"])), **arguments)
    if options.test:
        if not result:
            raise SimlayoutError("--test: no layout of the families is allowed, so there is none to test")
        source = test_source(result.best.accesses)
        tell(options.json, {"layout": str(result.best.layout), "source": source}, source.rstrip())
        return _status(result)
    reason = _none(result, options)
    reasons = [reason] if reason else []
    tell(options.json, lambda: {**_report(result, options.prove), "reason": reason},
         lambda: fit("\n".join([*(reasons or [str(result)]), *_proofs(result, options.prove), *_cost_lines(result)])))
    return _status(result)


def _status(result):
    """The exit code: 0 if the best layout is free of conflicts, 1 if not, or if none was tried."""
    return 0 if result and not result.best.excess else 1


def _none(result, options):
    """Why there is no layout at all: a line that names the options which allow none; None where there are some."""
    if result.total:
        return None
    if result.least_bytes is not None:
        return (f"no layout was tried: the smallest takes {result.least_bytes} bytes: give --budget {result.least_bytes} or "
                "more")
    limits = [f"--{name} {value}" for name in ("budget", "base") if (value := getattr(options, name)) is not None]
    if not limits:
        return "no layout was tried: the families have none: give other --families"
    return f"no layout was tried: none is allowed by {' and '.join(limits)}: give more, or other --families"


def _cost_lines(result):
    """If no layout is free of conflicts: lines that say what each access costs in the best one, and why."""
    best = result.best
    if not result or not best.excess:
        return []
    lines = [f"none is free of conflicts; what each access costs in {best.layout}, and why:"]
    for cost in costs(best.accesses):
        label = (f"{cost.access.name}: excess {cost.excess} of "
                 f"{counted(cost.wavefronts, arch_of(cost.access.arch).vendor.wavefront)}")
        lines.append(field("", f"{label}; {_why(cost)}" if cost.excess else label, 2))
    return lines


def _why(cost):
    """Why an access has excess wavefronts."""
    return cost.reason or first_conflict(cost.access, cost.access.analyze())


def _costs(result):
    """`_cost_lines` for --json."""
    return [{"access": c.access.name, "op": c.access.instruction, "wavefronts": c.wavefronts, "ideal": c.ideal,
             "excess": c.excess, "least_excess": c.least, "why": _why(c) if c.excess else None}
            for c in (costs(result.best.accesses) if result else ())]


def _proofs(result, prove):
    """Lines of --prove."""
    return [result.proof, *map(str, [result.best.certificate] if result else ())] if prove else []


def _report(result, prove):
    """What `search --json` prints."""
    rows = [_row(c) | ({"certificate": c.certificate.as_dict()} if prove else {}) for c in result]
    given = {"given": _row(result.given)} if result and result.best is result.given else {}
    return {"candidates": rows, **given, "conflict_free": result.conflict_free, "examined": result.examined,
            "total": result.total, "exhausted": result.exhausted, "least_excess": result.least, "bound": result.bound,
            "families": [vars(share) for share in result.shares], "costs": _costs(result)}


def _row(candidate):
    return {"family": candidate.family, "layout": str(candidate.layout), "excess": candidate.excess,
            "wasted_bytes": candidate.wasted_bytes, "operations": candidate.ops}


def _rearranged(accesses, options):
    if options.families or options.layers != 1 or options.base or options.budget:
        raise SimlayoutError("--rearrange leaves the layout as it is: leave out --families, --layers, --base and --budget")
    results = [rearrange(access) for access in accesses]
    tell(options.json, {"accesses": [_order_report(result) for result in results]},
         fit("\n".join(line for result in results
                       for line in (str(result), *([str(result.certificate)] if options.prove else [])))))
    return 0 if all(result.conflict_free for result in results) else 1


def _order_report(result):
    return {"access": result.access.name, "op": result.access.instruction, "order": result.order,
            "registers": result.registers, "before": result.before, "after": result.after, "least": result.least,
            "conflict_free": result.conflict_free, "reason": result.reason, "claims": result.certificate.claims}


def _of_kernel(options):
    if options.op or options.access or options.dtype or options.rearrange or options.domain or options.test:
        raise SimlayoutError("--kernel brings its own accesses: leave out --op, --access, --domain, --dtype, --rearrange "
                             "and --test")
    kernel = registry.named(options.kernel).variant(**dict(map(_option, options.set)))
    with _search_arguments(options) as arguments:
        tiles = search_plan(kernel.plan, tuple(dict.fromkeys(options.families or FAMILIES)), **arguments)
    tell(options.json, lambda: {"kernel": kernel.name, "tiles": [_tile_report(tile, options.prove) for tile in tiles]},
         lambda: fit("\n\n".join("\n".join([str(tile), *_proofs(tile.result, options.prove)]) for tile in tiles)))
    return 0 if all(tile.result.conflict_free for tile in tiles) else 1


def _tile_report(tile, prove):
    return {"accesses": tile.names, "plain": str(tile.plain), "plain_excess": tile.plain_excess,
            "own": _row(tile.own), "at_least_as_good": tile.at_least_as_good, **_report(tile.result, prove)}


def _option(text):
    """"stages=3" -> ("stages", 3)."""
    name, given, value = text.partition("=")
    if not given or not re.fullmatch(r"[a-z_]+", name):
        raise SimlayoutError(f"--set {text!r}: write OPTION=VALUE, as in c_store=scalar")
    known = {"true": True, "false": False}
    return name, known.get(value.lower(), int(value) if re.fullmatch(r"[0-9]{1,9}", value) else value)
