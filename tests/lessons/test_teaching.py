"""The page for teachers says what is there, gives nothing away, and says the same in each language."""

import doctest
import re

import pytest
from glossary import GLOSSARY
from lesson_answers import RIGHT
from lesson_leaks import leaked
from places import ROOT

from simlayout.cli import main
from simlayout.lessons import lessons, teaching
from simlayout.lessons.catalogue import LANGUAGES
from simlayout.lessons.translation import columns

FIGURES = ROOT / "figures"


def table(text, number):
    """The cells of a page's table of that number, without its head: [[text of a cell]]."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [re.split(r"(?<!\\)\|", row.strip("|"))for row in tables[number].splitlines()[2:]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_week_has_every_lesson_once_after_those_that_it_needs_and_figures_that_there_are(language):
    days = table(teaching(language), 0)
    taught = [int(number) for day in days for number in day[1].split(",")]
    assert sorted(taught) == [one.number for one in lessons()] and [day[0].strip() for day in days] == list("12345")
    figures = [name for day in days for name in re.findall(r"`(\w+)`", day[2])]
    assert figures and all((FIGURES / f"{name}.svg").is_file() for name in figures)
    assert all(f"**{name}**" in (FIGURES / "README.md").read_text() for name in figures)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_goes_wrong_names_exercises_that_there_are_and_gives_no_answer(language):
    asked = [name.strip() for row in table(teaching(language), 1) for name in row[1].split(",")]
    assert set(asked) <= set(RIGHT) and {name.split(".")[0] for name in asked} >= {"1", "5", "9"}
    assert leaked("", teaching(language), list(RIGHT)) == []


def test_the_pages_say_the_same_in_both_languages():
    pages = [teaching(language) for language in LANGUAGES]
    for number, kept in ((0, (0, 1, 2)), (1, (1,))):
        assert len({str([[row[i] for i in kept] for row in table(page, number)]) for page in pages}) == 1
    assert [len(re.findall("^## ", page, re.M)) for page in pages] == [3, 4]
    assert [[cell.strip() for cell in row] for row in table(pages[1], 2)] == [[one.english, one.chinese] for one in GLOSSARY]
    assert all(columns(line) <= 125 for page in pages for line in page.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_examples_of_the_page_do_what_they_show(language):
    told = []
    examples = doctest.DocTestParser().get_doctest(teaching(language), {}, "teaching", "teaching.md", 0)
    result = doctest.DocTestRunner().run(examples, out=told.append)
    assert result.attempted >= 3 and result.failed == 0, "".join(told)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_command_prints_the_page(language, capsys):
    assert main(["lesson", "teaching", "--language", language]) == 0
    assert capsys.readouterr().out == teaching(language)
