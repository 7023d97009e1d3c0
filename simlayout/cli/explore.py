"""explore: the page that shows a layout's tile, banks, phases and counts, served on 127.0.0.1 or written to a file."""

import argparse
import re
import webbrowser
from dataclasses import replace

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
    parser.add_argument("layout", nargs="?", metavar="LAYOUT", help="what the page starts with; quote it for the shell")
    parser.add_argument("--dtype", help="of the elements: f16, f32, ... (default: f16)")
    parser.add_argument("--op", metavar="INSTRUCTION", help="a PTX name (default: ldmatrix.x4)")
    parser.add_argument("--lanes", metavar="TEXT", help="the thread map, as of `simlayout check`")
    parser.add_argument("--domain", metavar="LOOPS", help="the loops around --lanes, as in 'k=4, tid=64'")
    parser.add_argument("--arch", help="sm_75 to sm_100 (default: sm_90)")
    parser.add_argument("--port", type=_port, metavar="N", default=0,
                        help="where to listen (default: any port that is free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="write a self-contained page and serve nothing")


def _port(text):
    if not re.fullmatch("[0-9]{1,5}", text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: an integer from 0 to 65535")
    return int(text)


def explore(options):
    """`simlayout explore`."""
    from simlayout.explorer.state import State, access_of

    given = {name: getattr(options, name) for name in ("layout", "dtype", "op", "lanes", "domain", "arch")}
    state = replace(State(), **{name: text for name, text in given.items() if text is not None})
    access_of(state)                    # a text that cannot be read is told here, before a page opens
    return _write(state, options.output) if options.output else _serve(state, options)


def _write(state, path):
    from simlayout.explorer.page import exported_page
    from simlayout.files import write_whole

    page = exported_page(state)
    write_whole(path, page)
    print(f"wrote {path}: {len(page.encode())} bytes")
    return 0


def _serve(state, options):
    """Serves until Ctrl-C, which is how one ends it: exit code 0."""
    from simlayout.explorer.server import Server

    with Server(options.port, state) as server:
        print(f"{server.url} (Ctrl-C ends it)", flush=True)
        if not options.no_browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
