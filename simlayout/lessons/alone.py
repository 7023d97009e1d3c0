"""A notebook that carries simlayout itself and needs no package index, for places such as Colab that have nothing else.

What it carries are the Python, Markdown and other text files of both packages, as compressed JSON in its first code cell.
"""

import base64
import json
import lzma
import textwrap
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("simlayout", "cuda_kernels")
LEFT_OUT = ("__pycache__", "lab")

CARRY = '''\
# @title simlayout itself, for machines that have none: run this cell, there is nothing to read
import base64
import importlib
import json
import lzma
import sys
import tempfile
from pathlib import Path

FILES = """
{files}
"""

try:
    importlib.import_module("simlayout.lessons")
except ImportError:
    sys.modules.pop("simlayout", None)  # any folder of that name, such as a checkout
    folder = tempfile.mkdtemp(prefix="simlayout-")
    carried = json.loads(lzma.decompress(base64.b85decode("".join(FILES.split()))))
    for name, text in carried.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
'''

HIDDEN = {"cellView": "form", "jupyter": {"source_hidden": True}}
"""Metadata of the cell, for Colab and for JupyterLab: its source is folded."""


def carrying_cell():
    """The first code cell of a notebook that carries simlayout, str: more than a megabyte."""
    packed = base64.b85encode(lzma.compress(json.dumps(carried_files()).encode(), preset=9)).decode()
    return CARRY.format(files="\n".join(textwrap.wrap(packed, 100)))


def carried_files():
    """{path from the packages' folder, with slashes: text} of the files of both packages.

    >>> files = carried_files()
    >>> "simlayout/lessons/theory.md" in files, any("/lab/" in name for name in files)
    (True, False)
    """
    texts = {}
    for package in PACKAGES:
        folder = Path(*find_spec(package).submodule_search_locations)
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent)
            if path.is_file() and not set(LEFT_OUT) & set(name.parts):
                texts[name.as_posix()] = path.read_bytes().decode()
    return texts
