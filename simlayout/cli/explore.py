"""explore: the page that shows a layout's tile, banks, phases and counts, served on 127.0.0.1 or written to a file."""

import webbrowser

from simlayout.cli import registry
from simlayout.cli.options import add, given_layout, integer
from simlayout.cli.text import tell
from simlayout.errors import SimlayoutError
from simlayout.files import check_ending

EXAMPLES = """
    simlayout explore
    simlayout explore 'Sw<3,3,3> o (128,64):(64,1)' --op ldmatrix.x4 --port 8000 --no-browser
    simlayout explore '(64,64):(64,1)' --op st.shared.b128 ldmatrix.x4.trans        # several accesses of one tile
    simlayout explore '(64,64):(64,1)' --arch gfx942 --op ds_read_b128 --lanes 'tid % 16, 8*(tid // 16)'
    simlayout explore --kernel mma_permuted
    simlayout explore report.json                   # what `simlayout run --json report.json program.py` wrote
    simlayout explore '(16,64):(64,1)' -o page.html
    """

NOTES = """
    LAYOUT may be the file of a report (what `simlayout run --json` or `trace --json` wrote); its lines are
    then shown with their counts, and the banks of a line's costliest instruction.

    The page is served on 127.0.0.1 alone until Ctrl-C. Everything on it is computed here; it loads nothing from a network.
    With -o one self-contained HTML file is written instead: it counts without Python while its sliders move, for a course
    page, say, and has the lines of a report with their banks.
    """


def describe(parser):
    """The parser of `simlayout explore`."""
    parser.answer(explore, EXAMPLES, NOTES)
    parser.add_argument("layout", nargs="?", metavar="LAYOUT", type=layout_or_report,
                        help="what the page starts with, or a report.json; quote it for the shell; - reads it from stdin")
    add(parser, "--dtype")
    add(parser, "--op", of="explore", nargs="+", default=[])
    add(parser, "--lanes", default=[])
    add(parser, "--domain", "--arch")
    add(parser, "--kernel")
    parser.add_argument("--port", type=integer(0, 65535), metavar="N", default=0,
                        help="where to listen (default: any port that is free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    add(parser, "--output", "--json")


def layout_or_report(text):
    """The text of a layout, or the name of a report."""
    return text if text.endswith(".json") else given_layout(text)


def explore(options):
    """`simlayout explore`."""
    from simlayout.explorer.worked import worked

    if options.output is not None:
        check_ending(options.output, ".html", ".htm")
        if options.port:
            raise SimlayoutError("--output writes the page, which nobody serves then: leave out --port")
    state, sources = _asked(options)
    worked(state.without_view(), sources)       # a text that cannot be read is told here, before a page opens
    return _write(state, sources, options) if options.output is not None else _serve(state, sources, options)


def _asked(options):
    """(the State that the options name, the Sources)."""
    from simlayout.explorer.report import read_report
    from simlayout.explorer.sources import Sources
    from simlayout.explorer.state import State, Use, state_of
    from simlayout.hardware.tables.arch import widest_load

    lines, title = (), ""
    if options.layout and options.layout.endswith(".json"):
        lines, title, options.layout = read_report(options.layout), options.layout, None
    sources = Sources(registry.KERNELS, lines, title)
    if options.kernel:
        if options.layout or options.op or options.lanes:
            raise SimlayoutError("--kernel brings its own layout and accesses: leave out LAYOUT, --op and --lanes")
        parts = sources.parts(options.kernel)
        return (State("", parts[0][0].dtype, kernel=options.kernel) if parts else State()), sources
    shown = [line for line in lines if line["state"]]
    if shown:                                            # what costs most is why somebody looks
        return state_of(max(shown, key=lambda line: line["excess"])["state"]), sources
    domain = ", ".join(f"{name}={trips}" for name, trips in options.domain)
    lanes = dict(options.lanes)
    uses = tuple(Use("", op, lanes.get(at, ""), domain if at in lanes or len(options.op) < 2 else "")
                 for at, op in enumerate(options.op or [widest_load(options.arch)]))
    given = {name: value for name in ("layout", "dtype", "arch") if (value := getattr(options, name)) is not None}
    return State(**given, accesses=uses), sources


def _write(state, sources, options):
    from simlayout.explorer.page import exported_page
    from simlayout.files import write_whole

    page = exported_page(state, sources)
    write_whole(options.output, page)
    count = len(page.encode())
    tell(options.json, {"output": options.output, "bytes": count}, f"wrote {options.output}: {count} bytes")
    return 0


def _serve(state, sources, options):
    """Serves until Ctrl-C, which is how one ends it: exit code 0."""
    from simlayout.explorer.server import Server

    with Server(options.port, state, sources=sources) as server:
        tell(options.json, {"url": server.url}, f"{server.url} (Ctrl-C ends it)")
        if not options.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
