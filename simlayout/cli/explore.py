"""explore: the page that shows a layout's tile, banks, phases and counts, served on 127.0.0.1 or written to a file."""

import webbrowser
from dataclasses import replace

from simlayout.cli.options import add, given_text, integer
from simlayout.cli.text import tell

EXAMPLES = """
    simlayout explore
    simlayout explore 'Sw<3,3,3> o (128,64):(64,1)' --op ldmatrix.x4 --port 8000 --no-browser
    simlayout explore '(16,64):(64,1)' -o page.html
    """

NOTES = """
    The page is served on 127.0.0.1 alone until Ctrl-C. Everything on it is computed here; it loads nothing from a network.
    With -o one self-contained HTML file is written instead: it shows the layout without Python, for a course page, say.
    """


def add_command(commands, command):
    """Adds `explore`; command: the function that makes a parser with examples."""
    parser = command(commands, "explore", explore, "a page to try layouts on, served on this machine alone", EXAMPLES, NOTES)
    parser.add_argument("layout", nargs="?", metavar="LAYOUT", type=given_text,
                        help="what the page starts with; quote it for the shell; - reads it from stdin")
    add(parser, "--dtype", "--op", "--lanes", "--domain", "--arch")
    parser.add_argument("--port", type=integer(0, 65535), metavar="N", default=0,
                        help="where to listen (default: any port that is free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    add(parser, "--output", "--json")


def explore(options):
    """`simlayout explore`."""
    from simlayout.explorer.state import State, access_of

    given = {name: getattr(options, name) for name in ("layout", "dtype", "op", "lanes", "arch")}
    given["domain"] = ", ".join(f"{name}={trips}" for name, trips in options.domain) or None
    state = replace(State(), **{name: text for name, text in given.items() if text is not None})
    access_of(state)                    # a text that cannot be read is told here, before a page opens
    return _write(state, options) if options.output else _serve(state, options)


def _write(state, options):
    from simlayout.explorer.page import exported_page
    from simlayout.files import write_whole

    page = exported_page(state)
    write_whole(options.output, page)
    count = len(page.encode())
    tell(options.json, {"output": options.output, "bytes": count}, f"wrote {options.output}: {count} bytes")
    return 0


def _serve(state, options):
    """Serves until Ctrl-C, which is how one ends it: exit code 0."""
    from simlayout.explorer.server import Server

    with Server(options.port, state) as server:
        tell(options.json, {"url": server.url}, f"{server.url} (Ctrl-C ends it)")
        if not options.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
