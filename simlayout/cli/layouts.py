"""check, explain and emit: one layout, one instruction, one warp."""

from contextlib import contextmanager
from dataclasses import replace

from simlayout.algebra.notation import bytes_for_elements, swizzle_of_bytes
from simlayout.cli.options import NATURALLY, WORDS, add, add_access
from simlayout.cli.text import LABEL, WIDTH, field, fit, tell
from simlayout.codegen import check as check_emitted
from simlayout.codegen import emit as emit_access
from simlayout.codegen.emit import checked_name
from simlayout.codegen.tile_text import access_of_text
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.banks.phases import phases
from simlayout.hardware.banks.retries import rounds
from simlayout.hardware.tables.arch import widest_load
from simlayout.proofs import verify
from simlayout.proofs.access import at_loops
from simlayout.testing.written import test_source
from simlayout.wording import counted, plural


def describe_check(parser):
    """The parser of `simlayout check`."""
    parser.answer(check, """
        simlayout check '(16,64):(64,1)' --dtype f16 --op ldmatrix.x4
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)' --strict          # exit code 1 if there are conflicts
        simlayout check '(128,32):(40,1)' --op ldmatrix.x4.trans       # rows of 32, 40 apart
        simlayout check '(64,64):(1,64)' --op ldmatrix.x4.trans        # column-major
        simlayout check 'row * 64 + (col ^ ((row & 7) << 3));' --domain row=64 col=64 --op st.shared.b64
        simlayout check '(32,32):(33,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32 --json
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)' --test                 # as a pytest file: ... > test_tile.py
        """, NATURALLY + WORDS + """
    Conflicts are an answer: the exit code is 0. Under a layout that has some stands a better one, if a short search finds
    it; `simlayout search` looks further, and for several accesses at once.
    """)
    add_access(parser)
    add(parser, "--json", "--strict", "--test")


def describe_explain(parser):
    """The parser of `simlayout explain`."""
    parser.answer(explain, """
        simlayout explain '(16,64):(64,1)'
        simlayout explain '(16,64):(64,1)' --op ldmatrix.x4 --index 2
        simlayout explain 'row * 64 + col' --domain row=16 col=64 --op ld.shared.b128
        simlayout explain '(32,32):(32,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32
        """, NATURALLY + WORDS)
    add_access(parser)
    add(parser, "--index", default=0)
    add(parser, "--json")


def describe_emit(parser):
    """The parser of `simlayout emit`."""
    parser.answer(emit, """
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --op ldmatrix.x4
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --unit bytes --cuda
        simlayout emit 'Sw<3,3,3> o (64,64):(64,1)' --op st.shared.b128 --cuda --name store_tile
        simlayout emit 'r * 64 + (c ^ r % 8 * 8);' --domain r=16 c=64 --cuda --name load_tile
        simlayout emit 'Sw<3,3,3> o (64,64):(64,1)' --op ds_write_b128 --arch gfx942 --unit bytes --hip
        simlayout emit '(16,64):(64,1)' --allow-conflicts
        """, NATURALLY)
    add_access(parser)
    parser.add_argument("--unit", choices=("elements", "bytes"), default="elements",
                        help="what the function returns (default: %(default)s)")
    language = parser.add_mutually_exclusive_group()
    language.add_argument("--cuda", action="store_true", help="CUDA C++ instead of Python")
    language.add_argument("--hip", action="store_true", help="HIP C++, which is the same text")
    parser.add_argument("--name", metavar="NAME", help="of the function (default: tile)")
    parser.add_argument("--allow-conflicts", action="store_true", help="emit also what has bank conflicts")
    add(parser, "--json")


@contextmanager
def _default_op(options):
    """An error that names the instruction which is taken without --op says so."""
    try:
        yield
    except SimlayoutError as error:
        if options.op is None and (op := widest_load(options.arch)) in str(error):
            first, *rest = str(error).split("\n")
            first += f"; without --op this is about {op}, the widest load: name another instruction by --op"
            error.args = ("\n".join((first, *rest)), *error.args[1:])
        raise


def analysed(options):
    """(access, certificate, analysis) of the command line; raises what `verify` refuses."""
    with _default_op(options):
        access = access_of_text(options)
        certificate = verify(access, arch=options.arch)
        return access, certificate, access.analyze(options.arch)


def check(options):
    """`simlayout check`."""
    access, certificate, analysis = analysed(options)
    excess = int(analysis.excess.sum())
    if options.test:
        source = test_source([access])
        tell(options.json, {"layout": str(access.tile), "source": source}, source.rstrip())
    else:
        better = _better_layout(access) if excess else None
        tell(options.json, lambda: _report(access, certificate, analysis, better),
             lambda: _table(access, options.lanes, analysis, better))
    return 1 if options.strict and excess else 0


def _better_layout(access):
    """As `synthesis.better_layout`, whose import takes longer than to check a layout that needs no other."""
    from simlayout.synthesis.cost import better_layout

    return better_layout(access)


def _better(better):
    """The lines of `check` about a better layout, or about none."""
    if better is None:
        return "no swizzle or padding was found at once: `simlayout search` looks further, for several accesses together"
    waste = f", {counted(better.wasted_bytes, 'byte')} wasted" if better.wasted_bytes else ""
    return f"{better.layout}: excess {better.excess}{waste} (`simlayout search` finds more)"


def _report(access, certificate, analysis, better):
    """What `check --json` prints."""
    tile, each = access.tile, analysis.as_dict()
    totals = {name: int(getattr(analysis, name).sum()) for name in ("wavefronts", "ideal", "excess", "conflicts")}
    return {"layout": str(tile), "one_to_one": True, "size": tile.size, "wasted_elements": tile.cosize - tile.size,
            "dtype": access.dtype, "op": access.instruction, "arch": analysis.arch.name, "domain": access.domain,
            "accesses": len(analysis), **totals, "conflict_free": totals["excess"] == 0,
            "first_conflict": first_conflict(access, analysis), "exact": each["exact"], "caveat": each["caveat"],
            "provenance": each["provenance"], "claims": certificate.claims, "digest": certificate.digest,
            "each": {name: each[name] for name in totals},
            "better": better and {"layout": str(better.layout), "family": better.family, "excess": better.excess,
                                  "wasted_bytes": better.wasted_bytes, "operations": better.ops}}


def _table(access, lanes, analysis, better):
    """What `check` prints: at most 100 columns."""
    tile = access.tile
    excess, conflicts = int(analysis.excess.sum()), int(analysis.conflicts.sum())
    loops = ", ".join(f"{name} < {trips}" for name, trips in access.domain.items())
    lines = [
        field("layout", tile),
        field("one-to-one", f"yes: {tile.size} elements of {access.dtype}, {tile.cosize - tile.size} wasted"
              + (bytes_for_elements(tile, access.dtype) or swizzle_of_bytes(tile, access.dtype))),
        field("access", f"{access.instruction} on {analysis.arch.name}, {lanes or 'the natural way'}, for {loops}"),
        field("instructions", len(analysis)),
        field(plural(analysis.arch.vendor.wavefront), int(analysis.wavefronts.sum())),
        field("ideal", int(analysis.ideal.sum())),
        field("excess", excess),
        field("conflicts", conflicts),
        field("conflict-free", "no" if excess else "yes"),
    ]
    if excess:
        lines.append(field("first", first_conflict(access, analysis)))
    lines.append(field("exact", "yes" if analysis.exact else f"not known exactly: {analysis.caveat}"))
    lines.append(field("provenance", analysis.provenance))
    return "\n".join([*lines, *([field("better", _better(better))] if excess else [])])


def first_conflict(access, analysis):
    """One line on the first instruction with excess wavefronts: which lanes, bank and words; None if none has any."""
    if not analysis.excess.any():
        return None
    retries = access.row.rule == "retry"                 # it has rounds, no phases, and even one is more than the ideal
    index = int((analysis.excess if retries else analysis.excess > 0).argmax())
    where = f"instruction {index}{at_loops(access, index)}"
    if retries:
        return f"{where}: {_rounds(analysis, index)}"
    phase, ideal = max(phases(analysis, index), key=lambda p: p.wavefronts), int(analysis.ideal[index])
    queues = {}
    for s in phase.served[:len(phase.served) // phase.times]:
        queues.setdefault(s.bank, []).append(s)
    queue = max(queues.values(), key=len)
    lanes = sorted(lane for s in queue for lane in s.lanes)
    if access.row.rule == "bypass" and len(queue) == 1:
        return f"{where}: what it writes lies in {int(analysis.wavefronts[index])} lines of 128 bytes, not in {ideal}"
    if len(queue) == 1:
        return f"{where}: its lanes pass through the banks {phase.times} times"
    bank = _span("bank", queue[0].bank, queue[0].width)
    words = [_span("", s.word, s.width) for s in queue]
    return _shortened(f"{where}: lanes {_few(lanes)} want {len(queue)} words of {bank}: ", words, WIDTH - LABEL)


def _rounds(analysis, index):
    """What a loop of exchanges costs, and whether lanes are the reason."""
    tried = sum(1 for _ in rounds(analysis.instruction, analysis.addresses[[index]], analysis.active[[index]]))
    if tried == 1:
        return "a loop, of which one round is the least that any layout takes"
    return f"a loop of {tried} rounds: lanes of one bank succeed one after the other (`simlayout explain` lists them)"


def _shortened(text, items, columns):
    """The text and the items in a list, without the items before the last one that do not fit."""
    shown = ", ".join(items)
    for count in range(len(items) - 2, -1, -1):
        if len(text + shown) <= columns:
            break
        shown = ", ".join([*items[:count], "...", items[-1]])
    return text + shown


def _few(lanes):
    """"0-7", "0, 4, 8, 12 ..."."""
    if len(lanes) > 2 and lanes[-1] - lanes[0] == len(lanes) - 1:
        return f"{lanes[0]}-{lanes[-1]}"
    return ", ".join(map(str, lanes[:4])) + (" ..." if len(lanes) > 4 else "")


def _span(what, first, width):
    """"bank 3", "banks 4-7", "32-35"."""
    number = str(first) if width == 1 else f"{first}-{first + width - 1}"
    return f"{what}{'s' if width > 1 else ''} {number}" if what else number


def indexed(options, index):
    """(access, analysis), for an --index that exists."""
    access, _, analysis = analysed(options)
    if not 0 <= index < len(analysis):
        raise SimlayoutError(f"--index {index}: the instructions are 0 to {len(analysis) - 1}")
    return access, analysis


def explain(options):
    """`simlayout explain`."""
    access, analysis = indexed(options, options.index)
    text = analysis.explain(options.index)
    counts = {name: int(getattr(analysis, name)[options.index]) for name in ("wavefronts", "ideal", "excess", "conflicts")}
    tell(options.json, {"layout": str(access.tile), "op": access.instruction, "dtype": access.dtype, "index": options.index,
                        "explanation": text, **counts}, f"{field('layout', access.tile)}\n{fit(text)}")
    return 0


def emit(options):
    """`simlayout emit`."""
    if options.name is not None:
        checked_name(options.name)
    with _default_op(options):
        access = access_of_text(options)
        if not options.allow_conflicts:
            access = _without_conflicts(access, options.arch)
        emitted = emit_access(access, unit=options.unit, arch=options.arch, name=options.name)
    language = "CUDA C++" if options.cuda else "HIP C++" if options.hip else "Python"
    source = (emitted.source if language == "Python" else emitted.cuda).rstrip()
    compared = "as plain Python" if language == "Python" else check_emitted(emitted, access).how
    shown = source if language == "Python" else f"{source}\n// equal to the model {compared}"
    tell(options.json, {"layout": str(access.tile), "op": access.instruction, "unit": options.unit, "source": source,
                        "name": emitted.name,
                        "language": language, "claims": emitted.certificate.claims,
                        "digest": emitted.certificate.digest, "compared": compared}, shown)
    return 0


def _without_conflicts(access, arch):
    """The access, declared free of excess wavefronts. VerificationError, which names the way around it, if it has some."""
    verify(access, arch=arch)
    demanding = replace(access, excess=0)
    try:
        verify(demanding, arch=arch)
    except VerificationError as error:
        reason = str(error).splitlines()[0].split("; try")[0]
        raise VerificationError(f"{reason}; `simlayout search` finds a layout without, and --allow-conflicts emits this one",
                                error.counterexample) from None
    return demanding
