"""The lessons, and their texts."""

from dataclasses import dataclass
from importlib.resources import files

from simlayout.errors import SimlayoutError

_ROWS = (
    # number, file, title, minutes
    (1, "1_banks", "Banks and wavefronts", 30),
    (2, "2_wide", "Wide accesses, and when lanes pair up", 30),
    (3, "3_ldmatrix", "ldmatrix: phases, and .trans", 35),
    (4, "4_fragments", "Fragments: who holds which element", 35),
    (5, "5_swizzle", "A swizzle from nothing", 45),
    (6, "6_choice", "Padding, rotation or XOR", 35),
    (7, "7_kernel", "From formula to kernel", 45),
    (8, "8_hopper", "Hopper: TMA, descriptors, wgmma", 45),
    (9, "9_races", "Races and asynchronous copies", 40),
    (10, "10_own", "Your own kernel", 40),
)


@dataclass(frozen=True)
class Lesson:
    """One lesson. number: 1 to 10; file: name of its source and of its notebook, without ending; minutes: that it takes."""

    number: int
    file: str
    title: str
    minutes: int

    @property
    def exercises(self):
        """The ids of its exercises, a tuple."""
        from simlayout.lessons.verdict import exercises

        return tuple(exercises(self.number))

    @property
    def source(self):
        """Its Markdown, str."""
        return _text("src", f"{self.file}.md")

    @property
    def notebook(self):
        """Its notebook as it is kept, str: JSON of nbformat 4, without outputs."""
        return _text("notebooks", f"{self.file}.ipynb")

    def __str__(self):
        return f"{self.number:<2} {self.title:<44}  {self.minutes} minutes  exercises {', '.join(self.exercises)}"


def lessons():
    """All Lessons, in order."""
    return tuple(Lesson(*row) for row in _ROWS)


def lesson(number):
    """The Lesson of that number; SimlayoutError, with the numbers that there are, if there is none.

    >>> lesson(5).title
    'A swizzle from nothing'
    """
    for one in lessons():
        if one.number == number:
            return one
    raise SimlayoutError(f"no lesson {number}; there are {', '.join(str(one.number) for one in lessons())}")


def theory():
    """The model on a page, Markdown whose examples are doctests: what it says, what it cannot say, where it was measured."""
    return _text("theory.md")


def _text(*path):
    return files(__package__).joinpath(*path).read_text("utf-8")
