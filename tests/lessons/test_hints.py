"""Hints come in three steps and two languages, and give nothing away; a right answer is drawn."""

import ast
import re
from pathlib import Path

import matplotlib
import pytest
from lesson_answers import RIGHT, WRONG
from lesson_leaks import leaked

import simlayout as sl
from simlayout.errors import SimlayoutError
from simlayout.lessons import check
from simlayout.lessons.exercises.hints import HINTS, LABELS, MORE
from simlayout.lessons.exercises.said import CHINESE, Said
from simlayout.lessons.translation import columns
from simlayout.lessons.zh import check as check_in_chinese

matplotlib.use("Agg")


@pytest.mark.parametrize("exercise", WRONG)
def test_wrong_answers_of_an_exercise_fail_in_different_ways(exercise):
    said = {str(check(exercise, answer)) for answer, _ in WRONG[exercise]}
    assert len(said) == len(WRONG[exercise]) >= 2


def test_every_exercise_has_hints_in_every_language_of_its_own_words():
    for language, hints in HINTS.items():
        assert list(hints) == list(RIGHT), language
        texts = [text for key, hint in hints.items() if key != "6.1" for text in (hint.where, hint.change)]
        assert len(set(texts)) == len(texts)                      # 6.1 asks what 3.1 asks, of another tile
    assert all(re.search("[\u4e00-\u9fff]", text) for hint in HINTS["zh"].values() for text in (hint.where, hint.change))


@pytest.mark.parametrize("language", HINTS)
def test_no_hint_is_an_answer(language):
    for exercise, hint in HINTS[language].items():
        assert leaked("", f"{hint.where} {hint.change}", [exercise]) == []


@pytest.mark.parametrize("exercise", WRONG)
def test_no_verdict_on_a_wrong_answer_has_the_right_one(exercise):
    for answer, _ in WRONG[exercise]:
        said = str(check(exercise, answer, 3))
        assert leaked("", said, [exercise]) == [] and "what mends it" not in said and "no padding of" not in said


@pytest.mark.parametrize("language", HINTS)
def test_each_step_says_more_than_the_one_before(language):
    for exercise in RIGHT:
        first, second, third = (str(check(exercise, None, hints, language)).splitlines() for hints in (1, 2, 3))
        assert len(first) == 1 and second[:1] == third[:1] == first and third[:len(second)] == second
        assert second[1].startswith(LABELS[language][0]) and third[len(second)].startswith(LABELS[language][1])
        assert all(columns(line) <= 100 for line in third[1:])


def test_a_wrong_answer_says_how_to_ask_for_more():
    for hints, last in ((1, MORE["en"][0]), (2, MORE["en"][1])):
        assert str(check("1.1", [0] * 32, hints)).splitlines()[-1] == last
    assert HINTS["en"]["1.1"].change in str(check("1.1", [0] * 32, 3)).splitlines()[-1]
    assert str(check_in_chinese("1.1", [0] * 32)).splitlines()[-1] == MORE["zh"][0]
    assert "hints" not in str(check("1.1", RIGHT["1.1"][0], 3))


@pytest.mark.parametrize("hints, language, part", [
    (0, "en", "hints=0: 1 tells what fails"), (4, "en", "hints=4"), ("2", "en", "hints='2'"),
    (1, "fr", "no hints in 'fr'; there are en, zh")])
def test_hints_that_there_are_not_are_refused(hints, language, part):
    with pytest.raises(SimlayoutError, match=re.escape(part)):
        check("1.1", None, hints, language)


def said_in_code():
    """The sentences that `check` and the exercises say, as they stand in the code."""
    folder = Path(sl.lessons.__file__).parent
    for path in [folder / "verdict.py", *sorted((folder / "exercises").glob("*.py"))]:
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            named = isinstance(call.func, ast.Name) and call.func.id in ("Said", "Refused")
            if named and isinstance(call.args[0], ast.Constant):
                yield call.args[0].value


def test_every_sentence_of_check_has_its_chinese_with_as_many_values_and_none_is_left_over():
    assert set(said_in_code()) == set(CHINESE)
    for english, chinese in CHINESE.items():
        assert english.count("{}") == chinese.count("{}"), english
        assert re.search("[\u4e00-\u9fff]", chinese) or not re.sub(r"pending|lane|value|[^a-z]", "", chinese), english
    assert Said("{}: right; {}", "1.1", Said("it wastes no byte")).text("zh") == "1.1：对了；没有浪费一个字节"


@pytest.mark.parametrize("exercise", WRONG)
def test_a_chinese_notebook_says_in_chinese_what_is_wrong_or_that_a_report_is_english(exercise):
    for answer, _ in WRONG[exercise]:
        first, *lines = str(check_in_chinese(exercise, answer)).splitlines()
        assert first == f"{exercise}：还不对" and re.search("[\u4e00-\u9fff]", lines[0])
    assert str(check_in_chinese(exercise, RIGHT[exercise][0])).startswith(f"{exercise}：对了")
    assert "not yet" in str(check(exercise, WRONG[exercise][0][0]))


UNDRAWN = "9.1", "10.2"                          # a number of groups, two lines: nothing to see


@pytest.mark.parametrize("exercise", [key for key in RIGHT if key not in UNDRAWN])
def test_a_right_answer_is_drawn(exercise):
    from matplotlib import pyplot

    ax = check(exercise, RIGHT[exercise][0]).plot()
    assert ax.figure in map(pyplot.figure, pyplot.get_fignums()) and ax.get_title(loc="left")
    pyplot.close("all")


def test_the_picture_of_a_thread_has_the_element_that_was_asked_for():
    ax = check("8.3", RIGHT["8.3"][0]).plot()
    assert any(text == "T86:{d8,d9}" for label in ax.artists for *_, text in getattr(label, "texts", ()))


def test_only_a_right_answer_that_does_something_to_see_is_drawn():
    for answer in (None, (5, 3)):
        with pytest.raises(SimlayoutError, match="4.1: only a right answer is drawn"):
            check("4.1", answer).plot()
    for exercise in UNDRAWN:
        with pytest.raises(SimlayoutError, match=f"{exercise}: there is nothing to draw"):
            check(exercise, RIGHT[exercise][0]).plot()
