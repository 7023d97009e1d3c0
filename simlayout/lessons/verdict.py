"""check: whether an answer to an exercise is right, and if not, hints in three steps."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.banks.explain import WIDTH
from simlayout.lessons.exercises.answers import Refused, Right
from simlayout.lessons.exercises.hints import HINTS, LABELS, MORE
from simlayout.lessons.exercises.said import Said, text_of
from simlayout.testing.counterexample import CounterexampleError, wrapped

_MODULES = {1: "banks", 2: "wide", 3: "matrices", 4: "fragments", 5: "swizzles", 6: "choice", 7: "kernels", 8: "hopper",
            9: "races", 10: "own"}
"""Lesson -> module of `simlayout.lessons.exercises` with the dict EXERCISES: {id: Exercise}."""


_EXPLAINED = re.compile(r"\S+, access \d+ of \d+ on ")


@dataclass(frozen=True)
class Verdict:
    """What `check` says. exercise: its id; right: also the object's truth; text: lines of at most 100 columns; answered:
    False where the answer was None; draw: of a right answer, a function that draws what it does, or None."""

    exercise: str
    right: bool
    text: str
    answered: bool = True
    draw: Callable | None = None

    def __bool__(self):
        return self.right

    def __str__(self):
        return self.text

    __repr__ = __str__

    def plot(self) -> Any:
        """Draws what a right answer does: the banks of its access, or its tile. Returns the Axes.

        Raises SimlayoutError for an answer that is not right, and for an exercise that has nothing to draw.

        >>> check("1.1", [32 * lane for lane in range(32)]).plot().get_title(loc="left")
        'ld.shared.b32, instruction 0 of 1'
        """
        if not self.right:
            raise SimlayoutError(f"{self.exercise}: only a right answer is drawn")
        if self.draw is None:
            raise SimlayoutError(f"{self.exercise}: there is nothing to draw")
        return self.draw()


def exercises(number):
    """{id: Exercise} of one lesson."""
    return import_module(f"simlayout.lessons.exercises.{_MODULES[number]}").EXERCISES


@typed(own=("hints",))
def check(exercise: str, answer: Any, hints: int = 1, language: str = "en") -> Verdict:
    """Checks an answer to an exercise.

    exercise: its id, "1.1" to "10.2". answer: what the exercise asks for; None: not answered yet. hints: of a wrong answer
    1 tells what fails, 2 also where to look, 3 also what kind of change helps. language: of what it says.
    Any answer with the property that is asked for is right. Returns a Verdict, which a notebook prints; a wrong answer never
    raises, whatever it does. Raises SimlayoutError for an exercise, a number of hints or a language that there is not.

    >>> check("1.1", [4 * lane for lane in range(32)], hints=2)
    1.1: not yet
    the load takes fewer wavefronts than 8: no two of its lanes share a bank
    where to look: Write down each lane's bank, its word modulo 32. The fullest bank decides.
    (hints=3 says what kind of change helps)
    """
    one = _exercise(exercise)
    if not isinstance(hints, int) or hints not in (1, 2, 3):
        raise SimlayoutError(f"hints={hints!r}: 1 tells what fails, 2 also where to look, 3 also what kind of change helps")
    if language not in HINTS:
        raise SimlayoutError(f"no hints in {language!r}; there are {', '.join(HINTS)}")
    more = _more(exercise, hints, language)
    if answer is None:
        first = Said("{}: no answer yet ({})", exercise, one.asks).text(language)
        return Verdict(exercise, False, "\n".join([first, *more]), answered=False)
    told = _judged(one, answer, language)
    if isinstance(told, Right):
        right = Said("{}: right; {}", exercise, told.remark) if told.remark else Said("{}: right", exercise)
        return Verdict(exercise, True, "\n".join(wrapped(right.text(language))), draw=told.draw)
    first = Said("{}: not yet", exercise).text(language)
    return Verdict(exercise, False, "\n".join([first, *told, *more, *MORE[language][hints - 1:hints]]))


def _judged(exercise, answer, language):
    """The Right of an answer to an Exercise, or the lines that say what fails. What simlayout itself reports is English, as
    everywhere: in another language a line before it says so."""
    own = wrapped(Said("").text(language))
    try:
        return exercise.judge(answer)
    except Refused as error:
        return _folded(text_of(error.said, language))
    except CounterexampleError as error:
        return [*own, *_without_explanation(error.found.splitlines())]
    except VerificationError as error:
        return [*own, *_folded(error)]
    except SimlayoutError as error:
        return [*own, *_folded(error), *wrapped(Said("({})", exercise.asks).text(language))]
    except Exception as error:                           # an answer may be a function, and it may raise whatever it likes
        failed = Said("the answer could not be tried: {}: {} ({})", type(error).__name__, error, exercise.asks)
        return wrapped(failed.text(language))


def _more(exercise, hints, language):
    """The lines of the second and the third hint, as far as they are asked for."""
    hint, (where, change) = HINTS[language][exercise], LABELS[language]
    return [line for text in (where + hint.where, change + hint.change)[:hints - 1] for line in wrapped(text)]


def _without_explanation(lines):
    """The text of a counterexample without what its access costs phase by phase: claim, places, and the picture."""
    first = next((i for i, line in enumerate(lines) if _EXPLAINED.match(line)), len(lines))
    drawn = next((i for i, line in enumerate(lines) if line.startswith("bank ")), len(lines))
    return lines[:first] + lines[max(first, drawn):]


def _folded(error):
    """The lines of an error at most 100 columns wide."""
    lines = str(error).splitlines()
    return [line for text in lines for line in ([text] if len(text) <= WIDTH else wrapped(text))]


def _exercise(name):
    """The Exercise of that id."""
    known = {key: one for number in _MODULES for key, one in exercises(number).items()}
    if not isinstance(name, str) or name not in known:
        text = "" if isinstance(name, str) else ' (give text, such as "1.1")'
        raise SimlayoutError(f"no exercise {name!r}{text}; there are {', '.join(known)}")
    return known[name]
