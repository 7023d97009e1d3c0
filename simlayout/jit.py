"""Compiles functions with Numba when they are first called, and keeps them on disk where a folder can be written.

Numba is imported with this module, so whoever can do without it imports this one when it pays.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path

from numba import njit
from numba.core.caching import NullCache
from numba.extending import register_jitable

from simlayout.interrupts import apart
from simlayout.progress import waiting


class _Forgiving:
    """Numba's cache of a function, for which a full disk or a damaged file is no reason not to run."""

    def __init__(self, cache):
        self._cache = cache

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def load_overload(self, *arguments):
        """What was kept, or None."""
        try:
            return self._cache.load_overload(*arguments)
        except Exception:                                # whatever a pickle that is cut short raises
            return None

    def save_overload(self, *arguments):
        """Keeps it, if it can; what cannot be added to is made anew the next time."""
        try:
            self._cache.save_overload(*arguments)
        except Exception:
            with suppress(OSError):
                self._cache.flush()


def kept(function: Callable) -> bool:
    """Whether something of a function of `jit` lies compiled on the disk, or need not be compiled, so that its first call is
    quick."""
    if not hasattr(function, "_cache"):                  # NUMBA_DISABLE_JIT
        return True
    try:
        return bool(function._cache._cache_file._load_index())
    except Exception:                                    # no folder, or a damaged file
        return False


LONGEST = 300.0
"""Seconds that a process waits for another that compiles, which may have been stopped."""


@contextmanager
def _alone(folder: str | os.PathLike[str], longest: float = LONGEST) -> Iterator[bool]:
    """Lets one process at a time compile for a cache folder; the others wait, and then find what it has kept. Yields whether
    this one is alone: Windows has no such lock, a folder may not be writable, and nobody waits longer than `longest`
    seconds. The system releases the lock of a process that dies.
    """
    try:
        import fcntl

        os.makedirs(folder, exist_ok=True)
        file = open(os.path.join(folder, "compiling.lock"), "ab")
    except (ImportError, OSError):
        yield False
        return
    with file:
        alone = _taken(partial(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB), longest)
        try:
            yield alone
        finally:
            if alone:                                    # said, because a forked child may still have the file open
                fcntl.flock(file, fcntl.LOCK_UN)


def _taken(take, longest):
    """Calls take() until it takes the lock, the time is over, or the drive has no locks: whether it took it."""
    try:
        take()
        return True
    except BlockingIOError:
        until = time.monotonic() + longest
    except OSError:
        return False
    with waiting("simlayout: waits for another process, which compiles the machine"):
        while time.monotonic() < until:
            time.sleep(0.05)
            with suppress(BlockingIOError):
                take()
                return True
    return False


ONCE = "once for this installation, which takes half a minute to a minute"

ROOMS = ("hardware/banks", "machine/arithmetic", "machine/ptx/compiled", "machine/ptx/memory", "machine/ptx/opcodes",
         "numerics")
"""Where functions are compiled that call those of other files, or what is compiled is listed."""


@cache
def source_stamp() -> tuple[float, int]:
    """(when the newest file of ROOMS was written, the bytes of all of them): another one after every change."""
    found = [path.stat() for room in ROOMS for path in (Path(__file__).parent / room).glob("*.py")]
    return max(each.st_mtime for each in found), sum(each.st_size for each in found)


def jit(function: Callable) -> Callable:
    """The function, compiled when first called, without Python's lock; kept in a cache folder (NUMBA_CACHE_DIR, or
    __pycache__), if one can be written. Divisions by zero make infinities and NaN, as in NumPy.

    It is compiled in a thread of its own, so that Ctrl-C is heard meanwhile (see `interrupts`).

    What is kept is made anew when a file changes that holds a compiled function, because such a function may call others.
    """
    try:
        compiled = njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:                                 # no folder can be written
        compiled = njit(nogil=True, error_model="numpy")(function)
    if compiled is not function:                         # else NUMBA_DISABLE_JIT
        if hasattr(compiled._cache, "_cache_file"):      # type: ignore[attr-defined]
            compiled._cache._cache_file._source_stamp = source_stamp()          # type: ignore[attr-defined]
        compiled._cache = _Forgiving(compiled._cache)    # type: ignore[attr-defined]
        compiled._compile_for_args = partial(_told, compiled, compiled._compile_for_args)    # type: ignore[attr-defined]
    return compiled


def _told(compiled, compile, *args, **named):
    """compile(*args, **named), apart, and by one process of those that share a cache folder; whoever waits for long is told
    for what, wherever the call came from."""
    once = isinstance(compiled._cache._cache, NullCache)
    told = f"simlayout: compiles the machine, {'for this process alone: set NUMBA_CACHE_DIR' if once else ONCE}"
    with nullcontext() if once or kept(compiled) else _alone(compiled._cache.cache_path):
        with nullcontext() if kept(compiled) else waiting(told):
            return apart(compile, *args, **named)


def address_in_process(function: Callable, arguments: tuple) -> int:
    """Where in this process a function of `jit` is, compiled for such arguments: compiled code may call it there."""
    _told(function, function.compile, arguments)         # type: ignore[attr-defined]
    made = function.overloads[arguments]                 # type: ignore[attr-defined]
    return made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name)


def within(function: Callable) -> Callable:
    """The function as part of the compiled ones that call it, which keep it; Python calls it as it is. Of a function that
    Python may call compiled, Numba makes more: that took a fifth of the time in which the machine is compiled."""
    return register_jitable(error_model="numpy")(function)


def inlined(function: Callable) -> Callable:
    """As `within`, but copied into each that calls it: a call takes 50 ns, because references are counted."""
    return register_jitable(error_model="numpy", forceinline=True)(function)
