"""From a lesson's Markdown to its notebook: `python -m simlayout.lessons.build` writes all of them.

A source is Markdown. Each block fenced as python is a code cell; the text between blocks is a Markdown cell, and a new one
begins at each heading. The first code cell, the same in all lessons, imports simlayout, or installs it first.
"""

import json
import re
from pathlib import Path

from simlayout.files import write_whole
from simlayout.lessons.catalogue import lessons

FOLDER = Path(__file__).parent / "notebooks"

START = """\
try:
    import simlayout as sl
except ImportError:  # on Colab, say: it is installed once
    get_ipython().run_line_magic("pip", "install -q 'simlayout[plot]'")
    import simlayout as sl

from simlayout.lessons import beside, check, measured
"""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

_FENCED = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
_HEADING = re.compile(r"^(?=#{1,3} )", re.M)


def notebook_text(source):
    """The notebook of a lesson's Markdown: JSON of nbformat 4.5 as text, with numbered cells and without outputs.

    >>> made = json.loads(notebook_text("# A\\n\\nText.\\n\\n## B\\n\\n```python\\n1 + 1\\n```\\n"))
    >>> [(cell["id"], cell["cell_type"], cell["source"]) for cell in made["cells"]][2:]
    [('cell-03', 'markdown', ['## B']), ('cell-04', 'code', ['1 + 1'])]
    """
    cells = []
    for kind, text in _parts(source):
        cells.append(_cell(kind, text, len(cells) + 1))
        if len(cells) == 1:
            cells.append(_cell("code", START, 2))
    made = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _parts(source):
    """(kind, text) of the cells that a source has itself, in order."""
    texts = _FENCED.split(source)                        # text, code, text, code, ..., text
    for number, text in enumerate(texts):
        if number % 2:
            yield "code", text
        else:
            yield from (("markdown", part) for part in _HEADING.split(text) if part.strip())


def _cell(kind, text, number):
    """One cell as nbformat has it."""
    made = {"cell_type": kind, "id": f"cell-{number:02}", "metadata": {},
            "source": text.strip("\n").splitlines(keepends=True)}
    return made | {"execution_count": None, "outputs": []} if kind == "code" else made


def main():
    """Writes the notebook of every lesson."""
    for one in lessons():
        write_whole(FOLDER / f"{one.file}.ipynb", notebook_text(one.source))


if __name__ == "__main__":
    main()
