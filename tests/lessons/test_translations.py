"""The lessons in other languages: they have the English code, all of its prose, and one word for each thing."""

import ast
import json
import re
from collections import Counter

import pytest
from glossary import GLOSSARY

from simlayout.errors import SimlayoutError
from simlayout.lessons import lesson, lessons, teaching, theory
from simlayout.lessons.translation import FENCED, translated

CHINESE = lessons("zh")
of_each = pytest.mark.parametrize("one", CHINESE, ids=[one.file for one in CHINESE])
HAN = re.compile("[\u4e00-\u9fff]")


def cells(one):
    """[(kind, text)] of a Lesson's notebook."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(one.notebook)["cells"]]


def code_and_prose(one):
    return ([text for kind, text in cells(one) if kind == wanted] for wanted in ("code", "markdown"))


@of_each
def test_a_translation_does_what_the_english_lesson_does(one):
    for ours, theirs in zip(*(next(code_and_prose(each)) for each in (one, lesson(one.number))), strict=True):
        assert ast.dump(ast.parse(ours.replace("lessons.zh import", "lessons import"))) == ast.dump(ast.parse(theirs))


@of_each
def test_a_translation_says_in_its_language_what_the_english_cells_say(one):
    for ours, theirs in zip(cells(one), cells(lesson(one.number)), strict=True):
        assert ours[0] == theirs[0]
        if ours[0] == "markdown":
            assert HAN.search(ours[1]), f"not translated: {ours[1]}"
            assert marks(ours[1]) == marks(theirs[1])
            assert not code_in(theirs[1]) - code_in(ours[1])


def marks(text):
    """Marks of headings and of the items of lists, and addresses."""
    return re.findall(r"^(?:#+|-) ", text, re.M), re.findall(r"https?:[^)\s]+", text)


def code_in(text):
    """How often each piece of code stands in a text."""
    return Counter(" ".join(part.split()) for part in re.findall(r"`[^`]+`", text))


@of_each
def test_the_comments_of_a_translation_are_translated_but_for_code(one):
    ours, theirs = (re.findall(r"^guess = None  # (.*)$", "\n".join(next(code_and_prose(each))), re.M)
                    for each in (one, lesson(one.number)))
    assert len(ours) == len(theirs)
    for comment, original in zip(ours, theirs):
        assert HAN.search(comment) or comment == original and "True or False" not in comment, comment


@of_each
def test_emphasis_in_chinese_text_is_shown_as_such(one):
    for paragraph in "\n\n".join(list(code_and_prose(one))[1]).split("\n\n"):
        assert unclosed(paragraph) == [], paragraph
    assert unclosed("字**填充（padding）**在") == ["）**在"] and unclosed("字**填充**（padding）在 *那里*。") == []


def unclosed(paragraph):
    """The ends of emphasis that CommonMark takes for a beginning, each between two characters; ["*"] if one has no end."""
    text = re.sub(r"`[^`]*`", "`", paragraph)
    marks = list(re.finditer(r"\*+", text))
    ends = [text[mark.start() - 1:mark.end() + 1] for mark in marks[1::2]]
    return [end for end in ends if re.fullmatch(r"[，。：；、）”`]\*+[^\s，。：；、（）]", end)] + ["*"] * (len(marks) % 2)


def test_the_theory_page_says_in_its_language_what_the_english_one_says_and_shows_the_same():
    ours, theirs = theory("zh"), theory()
    assert FENCED.findall(ours) == FENCED.findall(theirs)
    for said, original in zip(*(FENCED.split(text)[::2] for text in (ours, theirs)), strict=True):
        assert marks(said) == marks(original) and not code_in(original) - code_in(said)
        assert HAN.search(said) or not original.strip()
        assert not [end for paragraph in said.split("\n\n") for end in unclosed(paragraph)]


def test_one_word_stands_for_each_thing():
    texts = {one.file: "\n".join(list(code_and_prose(one))[1]) for one in CHINESE}
    pages = {"theory": theory("zh"), "teaching": teaching("zh").partition("## 术语")[0]}
    for term in GLOSSARY:
        using = [file for file, text in texts.items() if term.chinese in text]
        assert using, f"{term.chinese} is nowhere used"
        first = texts[using[0]]
        if term.told:
            assert term.told in first.replace("*", ""), f"{using[0]} is the first to use {term.chinese}: {term.told}"
        for file, text in (texts | pages).items():
            assert not [other for other in term.never if other in text], (file, term)


ENGLISH = "Text.\n\n```python\nx = 1  # one\ny = '#'\n```\n\nMore.\n\n```python\nz = 2\n```\n"


def test_a_translation_has_one_block_for_each_and_one_comment_for_each():
    made = translated(ENGLISH, "文。\n\n```python\n# 一\n```\n\n更\n多。\n\n```python\n```\n")
    assert made == "文。\n\n```python\nx = 1  # 一\ny = '#'\n```\n\n更多。\n\n```python\nz = 2\n```\n"
    for wrong, said in (("文。\n\n```python\n# 一\n```\n", "has 1 blocks of code, the English source 2"),
                        ("文。\n\n```python\n```\n\n```python\n```\n", "0 comments for the 1 of the block that begins"),
                        ("文。\n\n```python\nx = 1  # 一\n```\n\n```python\n```\n", "this line is none: 'x = 1")):
        with pytest.raises(SimlayoutError, match=re.escape(said)):
            translated(ENGLISH, wrong)
    with pytest.raises(SimlayoutError, match="no lessons in 'de'; there are en, zh"):
        lessons("de")


def test_lines_of_a_paragraph_are_joined_as_chinese_is_written():
    text = "一行，\n`x` 又\n一行 and\nEnglish。\n\n- 甲。\n- 乙，\n  丙\n\n    code\n"
    assert translated("", text) == "一行，`x` 又一行 and\nEnglish。\n\n- 甲。\n- 乙，丙\n\n    code\n"
