"""From a lesson's Markdown to its notebook.

A source is Markdown. Each block fenced as python is a code cell; the text between blocks is a Markdown cell, and a new one
begins at each heading. A translation has the prose alone (`simlayout.lessons.translation`). The first two code cells are the
same in all lessons: one installs simlayout where it is missing, and stands alone, as on Colab a notebook is all that there
is; one imports it.
"""

import json
import re

from simlayout.lessons.translation import FENCED, with_comments

SOURCE = "simlayout"
"""What the first cell of a notebook has pip install where simlayout is missing."""

INSTALL = """\
import importlib
import subprocess
import sys

# What pip installs if simlayout is missing here, as on Colab: its name on PyPI, or the address of a
# wheel, of a repository ("git+https://...") or of a folder ("./...").
SOURCE = {source}

for module, wanted in {{"simlayout.lessons": SOURCE, "matplotlib": "matplotlib>=3.8"}}.items():
    try:
        importlib.import_module(module)
    except ImportError:
        sys.modules.pop("simlayout", None)  # any folder of that name, such as a checkout
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", wanted]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"pip could not install {{wanted}}:\\n\\n{{done.stderr.strip()}}\\n\\n"
                "If simlayout is not on PyPI, set SOURCE at the top of this cell, and run it again. "
                "It may be the name of a wheel that you upload: `pip wheel --no-deps .` in a "
                "checkout makes one; on Colab, drop it into Files at the left. Or where simlayout is "
                "installed, `simlayout lesson N --alone` makes a copy that carries it.") from None
        importlib.invalidate_caches()
"""

COMMENTS = {"zh": """\
# 如果这里没有 simlayout（例如在 Colab 上），pip 装什么：它在 PyPI 上的名字，
# 或者一个 wheel、仓库（"git+https://..."）、文件夹（"./..."）的地址。
# 任何同名的文件夹，例如一份源码
"""}
"""Language -> the comments of INSTALL."""

START = """\
import simlayout as sl
from simlayout.lessons{} import beside, check, measured
"""

MODULES = {"en": "", "zh": ".zh"}
"""Language -> what a notebook's second cell imports from, behind simlayout.lessons."""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

_HEADING = re.compile(r"^(?=#{1,3} )", re.M)


def install_cell(source=SOURCE, language="en"):
    """The first code cell of a notebook, str. source: what it has pip install where simlayout is missing: a name, or an
    address on one line. language: of its comments.

    >>> install_cell("https://a.b/c.whl").splitlines()[6]
    'SOURCE = "https://a.b/c.whl"'
    """
    code = INSTALL.format(source=json.dumps(source, ensure_ascii=False))     # of printable text, it is Python's literal too
    return with_comments(code, COMMENTS[language]) if language in COMMENTS else code


def notebook_text(markdown, first=None, metadata=None, language="en"):
    """The notebook of a lesson's Markdown: JSON of nbformat 4.5 as text, with numbered cells and without outputs.

    first: its first code cell, which brings simlayout where it is missing; None: `install_cell`. metadata: of that cell.
    language: of the lesson.

    >>> notebook = json.loads(notebook_text("# A\\n\\nText.\\n\\n## B\\n\\n```python\\n1 + 1\\n```\\n"))
    >>> [(cell["id"], cell["cell_type"], cell["source"]) for cell in notebook["cells"]][3:]
    [('cell-04', 'markdown', ['## B']), ('cell-05', 'code', ['1 + 1'])]
    """
    first, cells = install_cell(language=language) if first is None else first, []
    start = START.format(MODULES[language])
    for kind, text in _parts(markdown):
        cells.append(_cell(kind, text, len(cells) + 1))
        if len(cells) == 1:
            cells += [_cell("code", first, 2) | {"metadata": metadata or {}}, _cell("code", start, 3)]
    notebook = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _parts(markdown):
    """(kind, text) of the cells that a source has itself, in order."""
    texts = FENCED.split(markdown)                      # text, code, text, code, ..., text
    for number, text in enumerate(texts):
        if number % 2:
            yield "code", text
        else:
            yield from (("markdown", part) for part in _HEADING.split(text) if part.strip())


def _cell(kind, text, number):
    """One cell as nbformat has it."""
    cell = {"cell_type": kind, "id": f"cell-{number:02}", "metadata": {},
            "source": text.strip("\n").splitlines(keepends=True)}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell
