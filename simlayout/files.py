"""Files that are written whole or not at all."""

import json
import os
import tempfile
from pathlib import Path

from simlayout.errors import SimlayoutError


def check_writable(path):
    """Raises SimlayoutError unless `write_whole` could write there: to ask before long work, not after it."""
    path = Path(path)
    if path.is_dir():
        raise SimlayoutError(f"cannot write {path}: it is a folder")
    handle, temporary = _temporary_beside(path)
    os.close(handle)
    os.unlink(temporary)


def _temporary_beside(path):
    """(open handle, name) of a new file in the same folder; raises SimlayoutError where there can be none."""
    try:
        return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise SimlayoutError(f"cannot write {path}: {error.strerror or error}") from None


def write_whole(path, content):
    """Writes text or bytes to a file through a temporary one beside it, so that no reader sees half of it.

    Raises SimlayoutError if the folder does not exist or cannot be written.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = _temporary_beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise SimlayoutError(f"cannot write {path}: {error.strerror or error}") from None


def write_record(path, head, **lists):
    """Writes JSON, whole or not at all: what `head` (a dict) holds, then each list with an item per line."""
    parts = [json.dumps(head, indent=1)[:-2]]
    for name, items in lists.items():
        lines = ",\n  ".join(json.dumps(item) for item in items)
        parts.append(f' {json.dumps(name)}: [\n  {lines}\n ]')
    write_whole(path, ",\n".join(parts) + "\n}\n")
