"""The command `simlayout`: every answer of the library that fits a terminal.

>>> main(["check", "(16,64):(64,1)", "--op", "ldmatrix.x4", "--strict", "--json"]) # doctest: +ELLIPSIS
{"accesses": ...
1

Exit codes: 0 answered, 1 the answer is no (`--strict`, a wrong product), 2 the question cannot be answered (one line
on stderr says why), 130 interrupted, 141 nobody reads the output.
"""

import os
import sys
from contextlib import suppress

from simlayout.cli.arguments import command_line
from simlayout.cli.text import one_line
from simlayout.errors import SimlayoutError
from simlayout.files import STDIO, check_writable

__all__ = ["main"]


def main(arguments=None):
    """Runs one command line (a list of str; None: the process's own) and returns its exit code. Raises nothing."""
    try:
        parser = command_line()
        if "_ARGCOMPLETE" in os.environ:                # the shell asks what may come next: argcomplete answers, and exits
            import argcomplete

            argcomplete.autocomplete(parser)
        options = parser.parse_args(arguments)
        if getattr(options, "json", None) not in (None, STDIO):
            check_writable(options.json)                # before the work, not after it
        code = options.run(options)
        sys.stdout.flush()
        return code
    except SystemExit as leaving:                   # argparse: --help, --version, or a usage error already told
        return leaving.code or 0
    except SimlayoutError as error:
        return _failed(error)
    except MemoryError as error:
        return _failed(f"not enough memory: {error or 'use a smaller problem'}")
    except KeyboardInterrupt:
        print("simlayout: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 141


def _failed(error):
    """One line on stderr; on a terminal also what follows it, such as the caret under a parse error."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    print(f"simlayout: {one_line(first)}", file=sys.stderr)
    if sys.stderr.isatty():
        print("\n".join(more), file=sys.stderr, end="\n" if more else "")
    return 2


def _silence_stdout():
    """Lets the interpreter's last flush of stdout go nowhere instead of failing again."""
    with suppress(OSError, ValueError):             # ValueError: there is no file under this stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
