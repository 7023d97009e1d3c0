"""The command `simlayout`: every answer of the library that fits a terminal.

>>> main(["check", "(16,64):(64,1)", "--op", "ldmatrix.x4", "--strict", "--json"]) # doctest: +ELLIPSIS
{"accesses": ...
1

Exit codes: 0 answered, 1 the answer is no (`--strict`, a wrong product), 2 the question cannot be answered or the answer
cannot be written (one line on stderr says why), 130 interrupted, 141 nobody reads the output.

Importing this module loads nothing, not even NumPy. Slow imports happen where Ctrl-C ends in one line.
"""

import os
import signal
import sys
from contextlib import contextmanager, nullcontext, suppress

from simlayout.errors import SimlayoutError

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments=None):
    """Runs one command line (a list of str; None: the process's own) and returns its exit code. Raises nothing."""
    try:
        if sys.stdout is None:
            return _failed("stdout is closed: give the answer somewhere to go, /dev/null say")
        with _quick_end() if arguments is None else nullcontext():
            options = _parsed(arguments)
        code = options if isinstance(options, int) else _answered(options)
        from simlayout.files import flush_stdout

        flush_stdout()
        return code
    except SimlayoutError as error:
        return _failed(error)
    except MemoryError as error:
        return _failed(f"not enough memory: {error or 'use a smaller problem'}")
    except KeyboardInterrupt:
        _complain("interrupted")
        return _interrupted(arguments)
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except UnicodeEncodeError as error:
        return _failed(f"stdout cannot show {error.object[error.start:error.end]!a}: set PYTHONIOENCODING=utf-8")
    except OSError as error:
        _silence_stdout()
        return _failed(f"cannot write {error.filename or 'to stdout'}: {error.strerror or error}")


def _interrupted(arguments):
    """The exit code; ends the process where that would wait for work which nobody wants any more."""
    from simlayout.interrupts import busy

    if arguments is None and busy():
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(INTERRUPTED)
    return INTERRUPTED


@contextmanager
def _quick_end():
    """While modules load, Ctrl-C ends the process at once, because an exception might be lost in the code that they run."""
    def ended(*_):
        with suppress(OSError):
            os.write(2, b"simlayout: interrupted\n")
        os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield                                           # ignored, as under nohup, or somebody else's
        return
    signal.signal(signal.SIGINT, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parsed(arguments):
    """What the command line says, as options; an exit code where it has been answered with that."""
    from simlayout.cli.commands import command_line

    parser = command_line()
    if "_ARGCOMPLETE" in os.environ:                    # the shell asks what may come next: argcomplete answers, and exits
        import argcomplete

        argcomplete.autocomplete(parser)
    try:
        return parser.parse_args(arguments)
    except SystemExit as leaving:                       # --help, --version, or a usage error already told
        return leaving.code or 0


def _answered(options):
    """The exit code of a command that has been run."""
    from simlayout.files import STDIO, check_writable

    if getattr(options, "json", None) not in (None, STDIO):
        check_writable(options.json)                    # before the work, not after it
    return options.run(options)


def _failed(error):
    """One line on stderr; on a terminal also what follows it, such as the caret under a parse error."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    _complain(first, more if sys.stderr is not None and sys.stderr.isatty() else ())
    return 2


def _complain(text, more=()):
    """Prints a text to stderr, if that can be written."""
    from simlayout.cli.text import one_line

    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print("\n".join([f"simlayout: {one_line(text)}", *more]), file=sys.stderr, flush=True)


def _silence_stdout():
    """Lets the interpreter's last flush of stdout go nowhere instead of failing again."""
    with suppress(OSError, ValueError):                 # ValueError: there is no file under this stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
