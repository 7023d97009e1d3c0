"""Where things lie: the checkout, and the records that tests compare with."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
