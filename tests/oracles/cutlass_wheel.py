"""What the wheel nvidia-cutlass brings: CUTLASS's headers and examples."""

from importlib.util import find_spec
from pathlib import Path

import pytest

FOUND = find_spec("cutlass_library")
SOURCE = Path(FOUND.submodule_search_locations[0]) / "source" if FOUND else Path("missing")
INCLUDES = [f"-I{SOURCE / folder}" for folder in ("include", "tools/util/include")]

needs_cutlass = pytest.mark.skipif(not (SOURCE / "include").is_dir(), reason="needs nvidia-cutlass: the extra oracles")
