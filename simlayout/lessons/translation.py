"""A lesson's Markdown in another language, whose code is that of the English source.

A translation, such as `src/1_banks.zh.md`, has the prose. Each of its blocks fenced as python stands for the next block of
the English source, and has nothing but that block's comments, translated, in order. So a line of code is written once, and
a lesson does the same in each language.
"""

import io
import re
import tokenize
from unicodedata import east_asian_width

from simlayout.errors import SimlayoutError

FENCED = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
"""A block of code in a source."""

_WIDE = "[\u3400-\u9fff\uff00-\uffef\u3000-\u303f\u201c\u201d\u2014\u2026]"
_BREAK = re.compile(rf"(?<={_WIDE})\n *(?={_WIDE})|(?<=[\uff0c\u3002\uff1a\uff1b\u3001\uff09])\n *(?=[^\n #-])")
"""A line break between two characters of Chinese text, or behind its punctuation within a paragraph."""


def columns(text):
    """How many columns of a terminal a text takes: two for each Chinese character.

    >>> columns("bank 冲突")
    9
    """
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def translated(source, translation):
    """The Markdown of a lesson in another language: the prose of a translation, and the code of the English source.

    source, translation: Markdown, str. A line break in a Chinese sentence, which Markdown would show as a space, is left
    out. Raises SimlayoutError if the translation has another number of blocks, or a block another number of
    comments, or a line that is none.

    >>> print(translated("Text.\\n\\n```python\\nx = 1  # one\\n```\\n", "文\\n字。\\n\\n```python\\n# 一\\n```\\n"))
    文字。
    <BLANKLINE>
    ```python
    x = 1  # 一
    ```
    <BLANKLINE>
    """
    prose, blocks = FENCED.split(translation)[::2], FENCED.findall(source)
    if len(prose) != len(blocks) + 1:
        raise SimlayoutError(f"the translation has {len(prose) - 1} blocks of code, the English source {len(blocks)}")
    texts = [_BREAK.sub("", text) for text in prose]
    codes = map(with_comments, blocks, FENCED.findall(translation))
    return "".join(f"{text}```python\n{code}```\n" for text, code in zip(texts, codes)) + texts[-1]


def with_comments(code, comments):
    """Python code with other comments in the place of its own.

    code: str; comments: lines, each a comment that begins with #. Raises SimlayoutError unless there are as many as in the
    code.

    >>> with_comments("x = '#'  # a sharp\\n", "# 井号\\n")
    "x = '#'  # 井号\\n"
    """
    given, lines = comments.splitlines(), code.splitlines(keepends=True)
    found = _comments(code) if "#" in code else []       # an example of a doctest, which is no Python, has none
    wrong = next((line for line in given if not line.startswith("#")), None)
    if wrong is not None:
        raise SimlayoutError(f"a block of a translation has comments alone, and this line is none: {wrong!r}")
    if len(given) != len(found):
        raise SimlayoutError(f"{len(given)} comments for the {len(found)} of the block that begins with "
                             f"{code.partition(chr(10))[0]!r}")
    for one, comment in zip(found, given):
        (row, first), (_, last) = one.start, one.end
        lines[row - 1] = lines[row - 1][:first] + comment + lines[row - 1][last:]
    return "".join(lines)


def _comments(code):
    """The tokens of Python code that are comments."""
    return [one for one in tokenize.generate_tokens(io.StringIO(code).readline) if one.type == tokenize.COMMENT]
