"""plot: figures of a layout, an access, a fragment, a TMA box or a kernel, into a file."""

import re

from simlayout.algebra import F2Map, parse
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.cli import registry
from simlayout.cli.layouts import analysed, indexed
from simlayout.cli.options import add, add_own, fragments, given_text, kernels, whole
from simlayout.cli.text import tell
from simlayout.codegen.notations import open_names
from simlayout.codegen.tile_text import tile_of_text
from simlayout.errors import SimlayoutError
from simlayout.hardware import fragment as fragment_of
from simlayout.kernel import Problem
from simlayout.plots.matrix import bits

EXAMPLES = """
    simlayout plot '(16,64):(64,1)' -o before.svg
    simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' --op ldmatrix.x4 --index 1 -o after.png
    simlayout plot '(16,64):(64,1)' --kind compare --with 'Sw<3,3,3> o (16,64):(64,1)' -o both.svg
    simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' --kind layout --by bank -o layout.svg
    simlayout plot '(16,64):(64,1)' --kind phases --op ldmatrix.x4 -o phases.svg
    simlayout plot m16n8k16.f32.f16.f16.f32 --kind fragment --operand A -o a.svg
    simlayout plot SWIZZLE_128B --kind tma -o tma.svg
    simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' --kind f2 -o matrix.svg
    simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' --kind copy --op st.shared.b128 --index 0 1 -o copy.svg
    simlayout plot mma_permuted --kind plan -M 4096 -N 4096 -K 4096 -o plan.svg
    simlayout plot mma_permuted --kind pipeline --stages 3 -o pipeline.svg
    simlayout plot wgmma_specialized --kind pipeline --steps 8 -o tma.svg
    """

NOTES = """
    FILE is FILE.svg or FILE.png. What WHAT is, by kind:
      banks     a LAYOUT, --op: who is served in which bank and wavefront (the default)
      compare   a LAYOUT and --with another: the same before and after
      layout    a LAYOUT, --by offset, bank or chunk: where each coordinate lies, and what lies where
      phases    a LAYOUT, --op: the row that each lane names, and the banks that each phase fills
      fragment  an mma or wgmma, --operand: who holds which elements, in the PTX manual's form T0:{a0,a1}
      tma       SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B, or all: where the chunks of a box land
      f2        a LAYOUT whose bits XOR: its matrix over F2
      copy      a LAYOUT, --op: which element each lane moves, in the tile and in shared memory; --index may name several
      plan      a kernel (see `simlayout kernels`), -M -N -K (4096 each unless told), --stages: its accesses, wavefronts
                and shares of the clocks
      pipeline  a kernel with stages: what threads or TMA copy, what is read and released when, as the CPU machine runs it
    """

SPANS = {str(mode): span for span, mode in SWIZZLE_MODES.items()}
SIZES = {"M": 4096, "N": 4096, "K": 4096}
MOST_STEPS = 64


def add_command(commands, command, add_access, naturally):
    """Adds `plot`. command: makes a parser with examples; add_access: adds the arguments that name an access; naturally:
    what help says of it."""
    parser = command(commands, "plot", plot, "draw a layout, an access, a fragment or a kernel", EXAMPLES, NOTES + naturally)
    add_access(parser, "WHAT", "a layout, an instruction or a kernel, see below; quote it for the shell",
               subjects)
    parser.add_argument("--kind", choices=tuple(KINDS), default="banks", help="of figure, see below (default: %(default)s)")
    add(parser, "--index", nargs="+", default=[0])
    parser.add_argument("--with", dest="other", metavar="LAYOUT", type=given_text, help="of compare: the other layout")
    parser.add_argument("--by", choices=("offset", "bank", "chunk"), default="offset",
                        help="of layout: what a cell says (default: %(default)s)")
    add_own(parser, "--operand", default="A", help="of fragment: A, B, C or D (default: %(default)s)", values=lambda: "ABCD")
    add(parser, "-M", "-N", "-K", "--stages")
    parser.add_argument("--steps", type=whole(1, MOST_STEPS), default=6, metavar="N",
                        help="of pipeline: K steps (default: %(default)s)")
    add(parser, "--output", required=True)
    add(parser, "--json")


def subjects():
    """What WHAT may be, but for layouts."""
    return [*kernels(), *fragments(), *SPANS]


def plot(options):
    """`simlayout plot`."""
    from simlayout import plots
    from simlayout.plots.files import format_of

    format_of(options.output)
    if options.kind != "copy" and len(options.index) > 1:
        raise SimlayoutError(f"--index: {options.kind} draws one instruction; give several with --kind copy")
    if options.other is not None and options.kind != "compare":
        raise SimlayoutError("--with names the second layout of --kind compare")
    plots.library.matplotlib().use("agg")                # into a file: no window
    drawn, said = KINDS[options.kind](options, plots)
    plots.save(drawn, options.output)
    plots.close(drawn)
    tell(options.json, {"kind": options.kind, "output": options.output, "shows": said}, f"wrote {options.output}: {said}")
    return 0


def _counts(analysis, index):
    return f"{int(analysis.wavefronts[index])} wavefronts, ideal {int(analysis.ideal[index])}"


def _banks(options, plots):
    access, analysis = indexed(options, options.index[0])
    title = f"{access.instruction}, instruction {options.index[0]} of {len(analysis)}: {access.tile}"
    return plots.banks(analysis, options.index[0], title=title), _counts(analysis, options.index[0])


def _compare(options, plots):
    if options.other is None:
        raise SimlayoutError("--kind compare draws two layouts: name the other with --with LAYOUT")
    first, analysis = indexed(options, options.index[0])
    options.layout = options.other
    second, other = indexed(options, options.index[0])
    titles = [f"{access.instruction} of {access.tile}" for access in (first, second)]
    said = f"{_counts(analysis, options.index[0])}; then {_counts(other, options.index[0])}"
    return plots.comparison(analysis, other, options.index[0], titles), said


def _layout(options, plots):
    tile, _ = tile_of_text(options)
    return plots.layout_map(tile, options.by, options.dtype), f"{tile.size} elements of {options.dtype}"


def _phases(options, plots):
    access, analysis = indexed(options, options.index[0])
    return plots.matrix_phases(access, options.index[0]), _counts(analysis, options.index[0])


def _fragment(options, plots):
    operand = None if re.match(r"(ld|st)matrix", options.layout) else options.operand
    found = fragment_of(options.layout, operand)
    return plots.fragment(found), f"{found.shape[0]} x {found.shape[1]} {found.dtype}, {found.values} per thread"


def _tma(options, plots):
    if options.layout == "all":
        return plots.tma_modes(), "four modes"
    if options.layout not in SPANS:
        raise SimlayoutError(f"no swizzle mode {options.layout!r}: give {', '.join(SPANS)} or all")
    return plots.tma(plots.atom(SPANS[options.layout])), "1024 bytes"


def _f2(options, plots):
    bare = not options.domain and open_names(options.layout) == ()
    layout = parse(options.layout) if bare else None
    if not isinstance(layout, F2Map):
        layout, _ = tile_of_text(options)
    made, _ = bits(layout)
    return plots.matrix(layout, options.dtype), f"{made.outputs} x {made.inputs} bits, rank {made.rank}"


def _copy(options, plots):
    access, _, analysis = analysed(options)
    for index in options.index:
        indexed(options, index)
    title = f"{access.instruction}: {access.tile}"
    total = sum(int(analysis.wavefronts[i]) for i in options.index)
    return plots.copy_map(access, options.index, title=title), f"{total} wavefronts"


def _kernel(options):
    """The kernel that the command line names."""
    kernel = registry.named(options.layout)
    return kernel if options.stages is None else kernel.variant(stages=options.stages)


def _plan(options, plots):
    problem = [getattr(options, name) or size for name, size in SIZES.items()]
    kernel = _kernel(options).fitted(Problem(*problem))
    made = plots.plan_sheet(kernel.plan, problem, kernel.name)
    return plots.sheet(made), f"{sum(line.wavefronts for line in made.lines)} wavefronts"


def _pipeline(options, plots):
    made = plots.of_kernel(_kernel(options), options.steps)
    return plots.pipeline(made), f"{made.stages} stage{'s' * (made.stages > 1)}, {made.clocks} clocks"


KINDS = {"banks": _banks, "compare": _compare, "layout": _layout, "phases": _phases, "fragment": _fragment, "tma": _tma,
         "f2": _f2, "copy": _copy, "plan": _plan, "pipeline": _pipeline}
"""Kind -> function of (options, simlayout.plots) that gives (Axes, what to say)."""
