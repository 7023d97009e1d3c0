"""The README and the guide as tests read them: their blocks, by what the fence says.

    python    with >>> a doctest, without a script: its functions test_* are called, and a text that follows at once is
              what it prints
    console   `$ simlayout ...` and what it prints; `...` stands for anything
    sh        commands that are run
    text      what is no code
    (none)    commands that need a GPU, minutes, a browser or an installation: read, not run
"""

import re
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

README = ROOT / "README.md"
GUIDE = sorted((ROOT / "simlayout" / "guide").glob("*.md"))
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
NOTES = ROOT / "cuda_kernels" / "lab" / "notes.md"
TEXTS = (README, *GUIDE, CONTRIBUTING, NOTES)
KINDS = {"python", "console", "sh", "text", ""}


@dataclass(frozen=True)
class Block:
    """One block of code. kind: what its fence says; line: the first line of its body, from 1."""

    path: Path
    kind: str
    line: int
    body: str

    def __str__(self):
        return f"{self.path.stem}:{self.line}"


def blocks(path, kind):
    """The Blocks of a text of one kind."""
    text = path.read_text()
    return [Block(path, kind, text[:found.start(2)].count("\n") + 1, found[2])
            for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M) if found[1] == kind]


def every(kind):
    """The Blocks of all texts of one kind."""
    return [block for path in TEXTS for block in blocks(path, kind)]


def lines(block):
    """The command lines of a Block, without comments."""
    return [re.sub(r"\s+#.*$", "", line) for line in block.body.splitlines() if line and not line.startswith("#")]


def prose(path):
    """A text without its blocks of code."""
    return re.sub(r"^```(\w*)\n(.*?)^```$", "", path.read_text(), flags=re.S | re.M)


def doctest_text(path):
    """The doctests of a text alone, each on the line where it stands."""
    kept = []
    for block in blocks(path, "python"):
        if is_doctest(block):
            kept += [""] * (block.line - 1 - len(kept)) + block.body.splitlines()
    return "\n".join([*kept, ""])


def is_doctest(block):
    """Whether a Python block is one, and no script."""
    return block.body.startswith(">>> ")


def script_name(block):
    """What the text calls the file of a script: the last `NAME.py` before it, or script.py."""
    before = "\n".join(block.path.read_text().splitlines()[:block.line - 1])
    return (["script.py", *re.findall(r"`(\w+\.py)`", before)])[-1]


def output_of(block):
    """What a script prints, "" if nothing is shown: the text block right below it."""
    below = "\n".join(block.path.read_text().splitlines()[block.line - 1:])
    found = re.match(re.escape(block.body) + r"```\n\n```text\n(.*?)^```$", below, re.S | re.M)
    return found[1] if found else ""
