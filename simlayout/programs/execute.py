"""A Python program, run within this process as Python runs it."""

import builtins
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from io import open_code
from pathlib import Path
from types import ModuleType

import simlayout
from simlayout.files import flush_stdout

INTERRUPTED = 130
_OURS = str(Path(simlayout.__file__).parent) + os.sep


def executed(path: str, arguments: Sequence[str] = (), is_module: bool = False) -> int:
    """Runs the program at a path as `__main__`, with these arguments, and returns its exit code. is_module: the path is the
    name of a module, which is run as `python -m` does.

    What it raises is told on stderr as Python tells it, without the frames of simlayout; Ctrl-C is 130. It is over when its
    threads are that are no daemons.
    """
    code = _ran(path, arguments, is_module)
    try:
        if code != INTERRUPTED:
            _wait()
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _wait():
    """For threads, as Python does at its end: first for the work of pools, whose threads end with it."""
    getattr(sys.modules.get("concurrent.futures.thread"), "_python_exit", lambda: None)()
    while left := [one for one in threading.enumerate() if not one.daemon and one is not threading.current_thread()]:
        left[0].join()


def _ran(given, arguments, is_module):
    """The exit code of the program, when its last line is over."""
    path = os.path.abspath(given)
    folder = os.getcwd() if is_module else os.path.dirname(os.path.realpath(path))     # of a link where it leads to
    module = _as_main(given, path, folder, arguments)
    try:
        if is_module:
            path = _found(given, module)
        with open_code(path) as file:
            code = compile(file.read(), path, "exec")
        exec(code, module.__dict__)
    except SystemExit as leaving:
        return _code(leaving.code)
    except BaseException as error:                       # whatever it is, it is the program's
        _tell(error, path)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _found(name, main):
    """The path of the module of a name, or of a package's `__main__`; `main` is told what it is."""
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):  # one that a package of it imports
            raise
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise SystemExit(f"simlayout: -m {name}: there is no such module, or it is none in Python")
    vars(main).update(__file__=spec.origin, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)
    sys.argv[0] = spec.origin
    return spec.origin


def _as_main(given: str, path: str, folder: str, arguments: Sequence[str]) -> ModuleType:
    """The module `__main__` of a program, which imports from a folder: for good, as what it leaves behind, such as threads
    and what it has registered with atexit, still needs it."""
    module = ModuleType("__main__")
    vars(module).update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.argv, sys.modules["__main__"] = [given, *arguments], module
    sys.path.insert(0, folder)
    return module


def _code(given: object) -> int:
    """The exit code of a SystemExit's: an int is itself, None is 0, anything else is told and is 1."""
    if given is None:
        return 0
    if isinstance(given, int):
        return given & 0xFF
    print(given, file=sys.stderr, flush=True)
    return 1


def _tell(error: BaseException, path: str) -> None:
    """Prints an exception with the frames of the program and of the libraries that it uses."""
    flush_stdout()
    if sys.excepthook is not sys.__excepthook__:         # the program's own
        sys.excepthook(type(error), error, error.__traceback__)
        return
    told = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    chain: list[traceback.TracebackException | None] = [told]
    while chain:
        one = chain.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            kept = [frame for frame in one.stack if frame.filename == path or not frame.filename.startswith(_OURS)]
            one.stack = traceback.StackSummary.from_list(kept)
            chain += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    print("".join(told.format()), end="", file=sys.stderr, flush=True)
