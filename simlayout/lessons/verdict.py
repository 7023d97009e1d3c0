"""check: whether an answer to an exercise is right, and if not, a hint."""

import re
from dataclasses import dataclass
from importlib import import_module

from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.banks.explain import WIDTH
from simlayout.lessons.exercises.asking import Refused
from simlayout.testing.counterexample import CounterexampleError, wrapped

_MODULES = {1: "banks", 2: "wide", 3: "matrices", 4: "fragments", 5: "swizzles", 6: "choice", 7: "kernels", 8: "hopper",
            9: "races", 10: "own"}
"""Lesson -> module of `simlayout.lessons.exercises` with the dict EXERCISES: {id: Exercise}."""


_EXPLAINED = re.compile(r"\S+, access \d+ of \d+ on ")


@dataclass(frozen=True)
class Verdict:
    """What `check` says. exercise: its id; right: also the object's truth; text: lines of at most 100 columns; answered:
    False where the answer was None."""

    exercise: str
    right: bool
    text: str
    answered: bool = True

    def __bool__(self):
        return self.right

    def __str__(self):
        return self.text

    __repr__ = __str__


def exercises(number):
    """{id: Exercise} of one lesson."""
    return import_module(f"simlayout.lessons.exercises.{_MODULES[number]}").EXERCISES


def check(exercise, answer):
    """Checks an answer to an exercise.

    exercise: its id, "1.1" to "10.2". answer: what the exercise asks for; None: not answered yet. Any answer with the
    property that is asked for is right. Returns a Verdict, which a notebook prints; a wrong answer never raises, whatever it
    does. Raises SimlayoutError for an exercise that there is not.

    >>> check("1.1", [4 * lane for lane in range(32)])
    1.1: not yet
    the load takes fewer wavefronts than 8: no two of its lanes share a bank
    """
    one = _exercise(exercise)
    if answer is None:
        return Verdict(exercise, False, f"{exercise}: no answer yet ({one.asks})", answered=False)
    try:
        remark = one.judge(answer)
    except CounterexampleError as error:
        return _not_yet(exercise, _without_explanation(str(error).splitlines()))
    except Refused as refusal:
        return _not_yet(exercise, _folded(refusal))
    except VerificationError as error:
        return _not_yet(exercise, _folded(error))
    except SimlayoutError as error:
        return _not_yet(exercise, [*_folded(error), *wrapped(f"({one.asks})")])
    except Exception as error:                           # an answer may be a function, and it may raise whatever it likes
        return _not_yet(exercise, wrapped(f"the answer could not be tried: {type(error).__name__}: {error} ({one.asks})"))
    return Verdict(exercise, True, "\n".join(wrapped(f"{exercise}: right{f'; {remark}' if remark else ''}")))


def _without_explanation(lines):
    """The text of a counterexample without what its access costs phase by phase: claim, places, and the picture."""
    first = next((i for i, line in enumerate(lines) if _EXPLAINED.match(line)), len(lines))
    drawn = next((i for i, line in enumerate(lines) if line.startswith("bank ")), len(lines))
    return lines[:first] + lines[max(first, drawn):]


def _folded(error):
    """The lines of an error at most 100 columns wide."""
    lines = str(error).splitlines()
    return [line for text in lines for line in ([text] if len(text) <= WIDTH else wrapped(text))]


def _not_yet(exercise, lines):
    return Verdict(exercise, False, "\n".join([f"{exercise}: not yet", *lines]))


def _exercise(name):
    """The Exercise of that id."""
    known = {key: one for number in _MODULES for key, one in exercises(number).items()}
    if name not in known:
        raise SimlayoutError(f"no exercise {name!r}; there are {', '.join(known)}")
    return known[name]
