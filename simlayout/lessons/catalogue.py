"""The lessons, and their texts."""

from dataclasses import dataclass
from importlib.resources import files

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.lessons.notebook import notebook_text
from simlayout.lessons.translation import columns, translated
from simlayout.shown import Shown

LANGUAGES = ("en", "zh")
"""English, in which the code is kept too, and Chinese."""

_ROWS = (
    # number, file, minutes, title in each language
    (1, "1_banks", 30, {"en": "Banks and wavefronts", "zh": "bank 与 wavefront"}),
    (2, "2_wide", 30, {"en": "Wide accesses, and when lanes pair up", "zh": "宽访问，以及 lane 何时配对"}),
    (3, "3_ldmatrix", 35, {"en": "ldmatrix: phases, and .trans", "zh": "ldmatrix：phase 与 .trans"}),
    (4, "4_fragments", 35, {"en": "Fragments: who holds which element", "zh": "片段：谁持有哪个元素"}),
    (5, "5_swizzle", 45, {"en": "A swizzle from nothing", "zh": "从零推出 swizzle"}),
    (6, "6_choice", 35, {"en": "Padding, rotation or XOR", "zh": "填充、循环移位还是 XOR"}),
    (7, "7_kernel", 45, {"en": "From formula to kernel", "zh": "从公式到 kernel"}),
    (8, "8_hopper", 45, {"en": "Hopper: TMA, descriptors, wgmma", "zh": "Hopper：TMA、描述符、wgmma"}),
    (9, "9_races", 40, {"en": "Races and asynchronous copies", "zh": "数据竞争与异步拷贝"}),
    (10, "10_own", 40, {"en": "Your own kernel", "zh": "你自己的 kernel"}),
)


@dataclass(frozen=True)
class Lesson(Shown):
    """One lesson in one language. number: 1 to 10; file: name of its source, and of copies of its notebook, without ending;
    minutes: that it takes; language: one of LANGUAGES."""

    number: int
    file: str
    title: str
    minutes: int
    language: str = "en"

    @property
    def exercises(self) -> tuple[str, ...]:
        """The ids of its exercises, a tuple."""
        from simlayout.lessons.verdict import exercises

        return tuple(exercises(self.number))

    @property
    def source(self) -> str:
        """Its Markdown, str; that of a translation has the code of the English source."""
        text = _text("src", f"{self.file}.md")
        return text if self.language == LANGUAGES[0] else translated(lesson(self.number).source, text)

    @property
    def notebook(self) -> str:
        """Its notebook, str: JSON of nbformat 4, without outputs."""
        return notebook_text(self.source, language=self.language)

    def __str__(self):
        return (f"{self.number:<2} {self.title}{' ' * (44 - columns(self.title))}  {self.minutes} minutes  "
                f"exercises {', '.join(self.exercises)}")


@typed()
def lessons(language: str = "en") -> tuple[Lesson, ...]:
    """All Lessons in a language, in order; SimlayoutError for a language that there is not.

    >>> lessons("zh")[0].file
    '1_banks.zh'
    """
    ending = _ending(language)
    return tuple(Lesson(number, file + ending, titles[language], minutes, language)
                 for number, file, minutes, titles in _ROWS)


@typed()
def lesson(number: int, language: str = "en") -> Lesson:
    """The Lesson of that number in a language; SimlayoutError, with the numbers that there are, if there is none.

    >>> lesson(5).title
    'A swizzle from nothing'
    """
    known = {one.number: one for one in lessons(language)}
    if number not in known:
        raise SimlayoutError(f"no lesson {number}; there are {', '.join(map(str, known))}")
    return known[number]


@typed()
def theory(language: str = "en") -> str:
    """The model on a page, Markdown whose examples are doctests: what it says, what it cannot say, where it was measured.

    Raises SimlayoutError for a language that there is not.

    >>> print(theory().splitlines()[0])
    # The model on a page
    """
    text = _text(f"theory{_ending(language)}.md")
    return text if language == LANGUAGES[0] else translated(theory(), text)


@typed()
def teaching(language: str = "en") -> str:
    """How to teach with the lessons, on a page, Markdown; SimlayoutError for a language that there is not.

    >>> print(teaching().splitlines()[0])
    # Teaching with the lessons
    """
    return _text(f"teaching{_ending(language)}.md")


def _ending(language):
    """Of the names of files in a language; SimlayoutError if there is none."""
    if language not in LANGUAGES:
        raise SimlayoutError(f"no lessons in {language!r}; there are {', '.join(LANGUAGES)}")
    return "" if language == LANGUAGES[0] else f".{language}"


def _text(*path):
    return files(__package__).joinpath(*path).read_text("utf-8")
