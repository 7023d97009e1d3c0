"""The oracles use the strategies of the tests beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kits"))

collect_ignore = ["blackwell_dsl.py"]
"""A program that needs CuTe DSL to be imported: test_blackwell.py runs it."""
