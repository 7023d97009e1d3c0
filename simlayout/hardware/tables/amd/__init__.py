"""AMD's chips, a file each: what it is, which lanes its LDS serves together, and who says so.

A file is all that a new chip needs.
"""

from importlib import import_module
from pkgutil import iter_modules

CHIPS = tuple(import_module(f"{__name__}.{name}").CHIP
              for name in sorted((module.name for module in iter_modules(__path__) if module.name.startswith("gfx")),
                                 key=lambda name: (len(name), name)))
"""The Arch of every chip, oldest first within each line of products."""
