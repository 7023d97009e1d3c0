"""Files that are written whole or not at all, and what is said where one cannot be read."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from simlayout.errors import SimlayoutError

STDIO = "-"
"""The file name of stdin and stdout."""

TEXT = "utf-8-sig"
"""How what users wrote is read: UTF-8, also with the mark at its beginning that editors of Windows make."""


def deliver(target, text):
    """Writes a text to a file, whole or not at all, or to stdout where the target is "-"."""
    if target == STDIO:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_whole(target, text)


def flush_stdout() -> None:
    """As Python does at its end: nothing where a program has closed stdout, or put in its place what is no stream."""
    with suppress(AttributeError, ValueError):
        sys.stdout.flush()


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """What is done within reads a file: raises SimlayoutError that says why it cannot be read, or is no text.

    >>> with reading("none.txt"):
    ...     Path("/no/none.txt").read_text()
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: cannot read none.txt: No such file or directory
    """
    try:
        yield
    except (OSError, ValueError) as error:               # ValueError: no text, or a NUL byte in the name
        raise SimlayoutError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


NOT_OURS = ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError
"""What is raised where a file that can be read is damaged, or another one than was asked for."""


def fault_of(error: Exception) -> str:
    """What is wrong with a file, by what was raised when its parts were looked for.

    >>> for text in '[3', "{}", "[]":
    ...     try:
    ...         json.loads(text)["rows"]
    ...     except NOT_OURS as error:
    ...         print(fault_of(error))
    it is no JSON: Expecting ',' delimiter: line 1 column 3 (char 2)
    it has no 'rows'
    its parts are not those of such a file
    """
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON: {error}"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return str(error).split("\n")[0] if isinstance(error, ValueError) else "its parts are not those of such a file"


def make_folder(path):
    """Makes a folder, and those that it lies in, if need be; raises SimlayoutError where it cannot."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SimlayoutError(f"cannot make the folder {path}: it is a file") from None
    except (OSError, ValueError) as error:               # ValueError: a NUL byte
        raise SimlayoutError(f"cannot make the folder {path}: {getattr(error, 'strerror', None) or error}") from None


def check_folder(path):
    """Raises SimlayoutError unless files could be written into a folder that is there, or that `make_folder` could make.
    Makes nothing."""
    folder = _end_of_links(path)
    there = next(each for each in (folder, *folder.parents) if os.path.exists(each))
    if not os.path.isdir(there):
        raise SimlayoutError(f"cannot make the folder {path}: {there} is a file")
    _try_beside(there / "file", f"into the folder {there}")


def check_ending(path, *endings):
    """Raises SimlayoutError unless a file's name ends in one of these: what is written there is of no other kind.

    >>> check_ending("page.html", ".html", ".htm")
    >>> check_ending("page.pdf", ".html")
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: cannot write page.pdf: name a file that ends in .html
    """
    if not str(path).lower().endswith(endings) and not _is_stream(path):
        raise SimlayoutError(f"cannot write {path}: name a file that ends in {' or '.join(endings)}")


def check_writable(path):
    """Raises SimlayoutError unless `write_whole` could write there: to ask before long work, not after it."""
    if _is_stream(path):
        return
    path = _end_of_links(path)
    _try_beside(path, path)


def _try_beside(path, named):
    """Makes a file in the same folder, and removes it; errors as of `_temporary_beside`."""
    handle, temporary = _temporary_beside(path, named)
    os.close(handle)
    os.unlink(temporary)


def _end_of_links(path):
    """The Path that a name stands for: what a symbolic link points to is written, and the link stays."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:               # ValueError: a NUL byte
        raise SimlayoutError(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None


def _is_stream(path):
    """Whether there is what is no file and no folder, such as /dev/null or a pipe: it is written into, not replaced."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _temporary_beside(path, named):
    """(open handle, name) of a new file in the same folder; raises SimlayoutError where there can be none, which says that
    one cannot write `named`."""
    if os.path.isdir(path):
        raise SimlayoutError(f"cannot write {named}: it is a folder")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise SimlayoutError(f"cannot write {named}: it is there, and may not be changed")
    try:
        name = path.parent / f".{path.name}.{token_hex(4)}"
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), name
    except FileNotFoundError:
        why = f"{path.parent} takes no files" if path.parent.is_dir() else f"there is no folder {path.parent}: make it first"
        raise SimlayoutError(f"cannot write {named}: {why}") from None
    except (OSError, ValueError) as error:
        raise SimlayoutError(f"cannot write {named}: {getattr(error, 'strerror', None) or error}") from None


def write_whole(path, content):
    """Writes text or bytes to a file through a temporary one beside it, so that no reader sees half of it.

    Raises SimlayoutError if the folder does not exist or cannot be written, or the disk is full.
    """
    data = content.encode() if isinstance(content, str) else content
    if _is_stream(path):
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise SimlayoutError(f"cannot write {path}: {error.strerror or error}") from None
        return
    path = _end_of_links(path)
    handle, temporary = _temporary_beside(path, path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if os.path.exists(path):                              # who may read it stays as it was
            os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException as error:                       # an interrupt leaves no temporary file behind either
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise SimlayoutError(f"cannot write {path}: {error.strerror or error}") from None
        raise


def write_record(target, head, **lists):
    """Delivers JSON: what `head` (a dict) holds, then each list with an item per line."""
    parts = [json.dumps(head, indent=1)[:-2]]
    for name, items in lists.items():
        lines = ",\n  ".join(json.dumps(item) for item in items)
        parts.append(f' {json.dumps(name)}: [\n  {lines}\n ]')
    deliver(target, ",\n".join(parts) + "\n}\n")
