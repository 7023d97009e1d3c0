"""Where the headers of the wheel nvidia-cutlass lie."""

from importlib.util import find_spec
from pathlib import Path


def headers():
    """The include folder of CUTLASS, None without the wheel."""
    found = find_spec("cutlass_library")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0]) / "source" / "include"
    return folder if folder.is_dir() else None
