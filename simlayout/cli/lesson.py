"""lesson: notebooks to learn from, copied and opened."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from simlayout.cli.options import add, add_own
from simlayout.cli.text import fit, tell
from simlayout.errors import SimlayoutError
from simlayout.files import make_folder, reading, write_whole
from simlayout.lessons.catalogue import LANGUAGES, lessons, teaching, theory
from simlayout.lessons.catalogue import lesson as lesson_of
from simlayout.lessons.notebook import SOURCE, install_cell, notebook_text

EXAMPLES = """
    simlayout lesson                                      # which lessons there are
    simlayout lesson 1
    simlayout lesson 1 --language zh                      # in Chinese
    simlayout lesson 5 --to lessons --no-open
    simlayout lesson 5 --no-open --alone                  # a file to upload to Colab
    simlayout lesson 1 --no-open --source https://a.org/simlayout-0.1.0-py3-none-any.whl
    simlayout lesson theory                               # the model on a page
    simlayout lesson teaching                             # for teachers: a week, figures, what goes wrong
    """

NOTES = """
    Copies the notebook of a lesson into a folder and opens it with Jupyter (`pip install notebook`). In it you predict every
    number before you see it, and exercises check themselves: simlayout.lessons.check("1.1", answer); with hints=2 a wrong
    answer also hears where to look, with hints=3 what kind of change helps. No GPU is needed. The first cell brings
    simlayout where it is missing, as on Colab: by pip, from PyPI (once it is released) or the --source that the copy was
    given; or, --alone, the copy carries it. A copy in which you have written is not overwritten without --force. With --json
    the lessons are listed, or the copy is made and not opened.
    """

THEORY, TEACHING = "theory", "teaching"
PAGES = {THEORY: theory, TEACHING: teaching}
JUPYTERS = ("jupyterlab", "notebook")
"""Python modules that open a notebook, the preferred one first."""


def describe(parser):
    """The parser of `simlayout lesson`."""
    parser.answer(run, EXAMPLES, NOTES)
    add_own(parser, "lesson", nargs="?", metavar="N", help=f"1 to {len(lessons())}, {THEORY} or {TEACHING} (default: list "
            "them)", values=lambda: [*PAGES, *(one.number for one in lessons())])
    parser.add_argument("--language", choices=LANGUAGES, default=LANGUAGES[0], help="of the lesson's text and hints "
                        "(default: %(default)s); what else functions print is English")
    parser.add_argument("--to", metavar="FOLDER", help="where the copy goes; made if need be (default: here)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--alone", action="store_true", help="the copy carries simlayout itself (more than a megabyte) and "
                       "runs as it is, on Colab too, without PyPI")
    where.add_argument("--source", metavar="ADDRESS", help="what the copy's first cell has pip install where simlayout is "
                       'missing: a wheel\'s address or file name, a repository ("git+https://..."), a folder ("./..."; '
                       f"default: {SOURCE}, on PyPI)")
    parser.add_argument("--no-open", dest="open", action="store_false", help="only copy it")
    parser.add_argument("--force", action="store_true", help="overwrite a copy that was changed")
    add(parser, "--json")


def run(options):
    """`simlayout lesson`."""
    given = {"--alone": options.alone, "--source": options.source is not None, "--to": options.to is not None,
             "--force": options.force}
    if any(given.values()) and options.lesson in (None, *PAGES):
        option = next(name for name in given if given[name])
        raise SimlayoutError(f"{option} is for the copy of a lesson: give its number too, 1 to {len(lessons())}")
    if options.lesson is None:
        known = {str(one.number): {"title": one.title, "minutes": one.minutes, "exercises": one.exercises}
                 for one in lessons(options.language)}
        last = (f"{THEORY}: the model on one page, what it cannot say, where it was measured",
                f"{TEACHING}: a page for teachers",
                f"languages: {', '.join(LANGUAGES)} (--language)",
                "`simlayout lesson 1` copies a notebook here and opens it in Jupyter; --alone makes one for Colab")
        tell(options.json, known, fit("\n".join([*map(str, lessons(options.language)), *last])))
    elif options.lesson in PAGES:
        page = PAGES[options.lesson](options.language)
        tell(options.json, {options.lesson: page}, page.rstrip())
    else:
        one = _numbered(options.lesson, options.language)
        folder = Path(options.to or ".")
        if folder.suffix == ".ipynb":
            raise SimlayoutError(f"--to {options.to}: give the folder; the copy in it has the lesson's own name")
        path = copy(one, folder, _notebook(one, options.alone, _address(options.source)), options.force)
        tell(options.json, {"copied": str(path)}, f"{path}: lesson {options.lesson}")
        if options.open and options.json is None:
            open_notebook(path)
    return 0


def _numbered(text, language):
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise SimlayoutError(f"lesson {text!r}: give a number from 1 to {len(lessons())}, {THEORY} or {TEACHING}")
    return lesson_of(int(text), language)


def _address(text):
    """What pip is to install, None if nothing was said; SimlayoutError for what pip would take as an option, or could not be
    one line of a notebook."""
    if text is not None and (not text.strip() or text.startswith("-") or not text.isprintable()):
        raise SimlayoutError(f"--source {text!r}: give what pip installs, in one line: the address or file name of a wheel, "
                             'a repository ("git+https://...") or a folder ("./...")')
    return text


def _notebook(lesson, alone, source):
    """The notebook of a Lesson, str: one that carries simlayout, or has pip install it from a source (None: PyPI)."""
    if alone:
        from simlayout.lessons.alone import HIDDEN, carrying_cell

        return notebook_text(lesson.source, carrying_cell(), HIDDEN, lesson.language)
    if source is None:
        return lesson.notebook
    return notebook_text(lesson.source, install_cell(source, lesson.language), language=lesson.language)


def copy(lesson, folder, text, force=False):
    """Writes the notebook of a Lesson, its text, into a folder, whole or not at all, and returns its path.

    The folder is made if need be. A file of that name stays if it is the same; SimlayoutError if it is another one, unless
    force is True.
    """
    path = folder / f"{lesson.file}.ipynb"
    if path.exists() and not force:
        with reading(path):
            same = path.read_bytes() == text.encode()
        if same:
            return path
        raise SimlayoutError(f"{path} is there, and differs from this copy: it may hold your answers; copy --to "
                             "another folder, or --force to overwrite it")
    make_folder(folder)
    write_whole(path, text)
    return path


def open_notebook(path):
    """Opens a notebook with the Jupyter of this Python until that ends, or says how to open it where there is none."""
    module = next((name for name in JUPYTERS if find_spec(name)), None)
    if module is None:
        print(f"open it with Jupyter (pip install notebook; jupyter notebook {path}); for Colab copy it with --alone")
    else:
        subprocess.run([sys.executable, "-m", module, str(path)], check=False)
