"""The lessons: every notebook runs, is up to date, and keeps its answers; every exercise knows right from wrong."""

import ast
import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import pytest
from lesson_answers import RIGHT, WRONG
from lesson_leaks import answer_forms, leaked
from places import DATA
from tiers import sweep_but
from written_source import functions_of

import simlayout as sl
from cuda_kernels.run import device as launch
from simlayout.cli import main
from simlayout.errors import SimlayoutError
from simlayout.hardware.banks.records import load_records
from simlayout.lessons import beside, check, gpu_or_cpu, lesson, lessons, measured
from simlayout.lessons.catalogue import LANGUAGES
from simlayout.lessons.counted import ACCESSES, PATTERNS, TOTALS
from simlayout.lessons.translation import columns

matplotlib.use("Agg")
NUMBERS = [one.number for one in lessons()]
SOURCES = Path(sl.__file__).parent / "lessons" / "src"
EVERY = [one for language in LANGUAGES for one in lessons(language)]
in_every_language = pytest.mark.parametrize("one", EVERY, ids=[one.file for one in EVERY])
IDS = [key for one in lessons() for key in one.exercises]


def cells_of(one, kind="code"):
    """[(id, text)] of the cells of a Lesson's notebook."""
    return [(cell["id"], "".join(cell["source"])) for cell in json.loads(one.notebook)["cells"] if cell["cell_type"] == kind]


def run_cells(number, wanted="", language="en"):
    """Executes the code cells of a notebook that match a regular expression, in order, in one fresh namespace."""
    namespace = {"__name__": "__main__"}
    for name, text in cells_of(lesson(number, language)):
        if not re.search(wanted, text):
            continue
        functions_of(text, namespace, f"<lesson {number}, {name}>")


# ---- the notebooks ---------------------------------------------------------------------------------------------------

NONE_YET = {"en": ("your guess  none yet", "\nmeasured    "), "zh": ("你的预测    还没有", "\n实测        ")}


@pytest.mark.parametrize("number, language", [
    pytest.param(number, language, marks=() if language == "en" and number in NUMBERS[::3] else pytest.mark.sweep)
    for language in LANGUAGES for number in NUMBERS])
def test_every_notebook_runs_from_top_to_bottom(number, language, capsys):
    from matplotlib import pyplot

    pyplot.close("all")
    run_cells(number, language=language)
    figures = len(pyplot.get_fignums())
    pyplot.close("all")
    out, (guess, counted) = capsys.readouterr().out, NONE_YET[language]
    assert out.count(guess) >= 5 and out.count(counted) >= 3 and figures >= 3


def in_no_language(text):
    """The syntax of a cell, without its texts and with English in the place of its language."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
        if isinstance(node, ast.ImportFrom):
            node.module = node.module.removesuffix(".zh")
    return ast.dump(tree)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_translated_notebook_has_the_code_of_the_english_one(number):
    english, translated = (cells_of(lesson(number, language)) for language in LANGUAGES)
    assert [name for name, _ in english] == [name for name, _ in translated]
    for (name, one), (_, other) in zip(english, translated):
        assert in_no_language(one) == in_no_language(other), name


@pytest.mark.skipif(not (find_spec("nbclient") and find_spec("ipykernel")), reason="nbclient and ipykernel run notebooks")
@pytest.mark.parametrize("one", sweep_but(EVERY[:1], [EVERY[0], *lessons("zh")]), ids=lambda one: one.file)
def test_every_notebook_runs_in_jupyter(one, monkeypatch):           # of a translation: the English code runs above
    import nbformat
    from nbclient import NotebookClient

    root = str(Path(sl.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", root)
    notebook = nbformat.reads(one.notebook, 4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=None, startup_timeout=600, iopub_timeout=600, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    said = {"en": "no answer yet", "zh": "还没有答案"}[one.language]
    assert any(said in output.get("data", {}).get("text/plain", "") for output in shown)


@in_every_language
def test_every_notebook_has_numbered_cells_without_outputs(one):
    made = json.loads(one.notebook)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in made["cells"]] == [f"cell-{i + 1:02}" for i in range(len(made["cells"]))]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in made["cells"] if "outputs" in cell)


def test_there_is_a_lesson_for_every_source_and_no_other():
    assert sorted(path.stem for path in SOURCES.iterdir()) == sorted(one.file for one in EVERY)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_section_that_teaches_has_a_picture(number):
    for section in lesson(number).source.split("\n## ")[1:]:
        title = section.split("\n", 1)[0]
        assert title.startswith(("Exercise", "What to remember")) or re.search(r"sl\.plots\.|\.plot\(", section), title


BEGINS = {"en": "# Lesson {}: {}\n", "zh": "# 第 {} 课：{}\n"}
LASTS = {"en": r"About\s{}\sminutes", "zh": "大约 {} 分钟"}
EXERCISE = {"en": "Exercise", "zh": "练习"}


@in_every_language
def test_a_lesson_begins_with_its_title_and_asks_for_a_guess_before_each_result(one):
    assert one.source.startswith(BEGINS[one.language].format(one.number, one.title))
    assert re.search(LASTS[one.language].format(one.minutes), one.source)
    lines = (SOURCES / f"{one.file}.md").read_text().splitlines()
    assert all(columns(line) <= 100 for line in lines if not re.match(r"\[[^]]+\]: http", line))
    guessed = False
    for name, text in cells_of(one)[1:]:
        if "beside(guess" in text:
            assert guessed, f"{name} shows a result without a guess before it"
            guessed = False
        guessed = guessed or re.search(r"^guess = None  # .+$", text, re.M) is not None
    assert not guessed, "a guess without a result"


@in_every_language
def test_a_lesson_asks_its_exercises_in_order_and_contains_no_answer(one):
    code, text = ("\n\n".join(text for _, text in cells_of(one, kind)) for kind in ("code", "markdown"))
    asked = tuple(dict.fromkeys(re.findall(r'check\("(\d+\.\d)"', code)))
    assert asked == one.exercises and 2 <= len(asked) <= 3
    assert re.findall(rf"^## {EXERCISE[one.language]} (\S+)$", text, re.M) == list(asked)
    assert leaked(code, text, asked) == []


@pytest.mark.parametrize("number", sweep_but([1], [number for number in NUMBERS if number != 10]))
def test_the_explorer_opens_what_a_lesson_says(number, tmp_path, capsys):
    told, = re.findall(r"`simlayout (explore[^`]*)`", lesson(number).source)
    assert main([*shlex.split(told), "-o", str(tmp_path / "page.html")]) == 0, capsys.readouterr().err


def test_an_answer_in_plain_sight_would_be_found():
    for exercise, forms in answer_forms().items():
        for form in forms:
            assert form in leaked("", f"Try `{form}`.", [exercise])
    assert leaked("x = 0\nplace = lambda row, col: (32*row + (col ^ row))", "", ["1.3"]) == ["32 * row + (col ^ row)"]
    assert {key for key, forms in answer_forms().items() if not forms} == {"3.1", "6.1"}          # bare numbers


# ---- the exercises ---------------------------------------------------------------------------------------------------

def test_the_answers_here_are_those_of_all_exercises():
    assert list(RIGHT) == IDS == list(WRONG) and len(IDS) == 28


@pytest.mark.parametrize("exercise", IDS)
def test_right_answers_pass(exercise):
    for answer in RIGHT[exercise]:
        verdict = check(exercise, answer)
        assert verdict and str(verdict).startswith(f"{exercise}: right"), str(verdict)


@pytest.mark.parametrize("exercise", IDS)
def test_wrong_answers_get_a_hint_that_names_where_they_fail(exercise):
    for answer, part in WRONG[exercise]:
        verdict = check(exercise, answer)
        assert not verdict and str(verdict).startswith(f"{exercise}: not yet\n"), (answer, str(verdict))
        assert part in " ".join(str(verdict).split()), (part, str(verdict))
        assert all(len(line) <= 100 for line in str(verdict).splitlines()) and len(str(verdict).splitlines()) <= 20
    first = str(check(exercise, WRONG[exercise][0][0]))
    assert re.search(r"\blanes? \d|thread \d|\(\d+, \d+\)|step \d|row = \d|row \d|tid = \d|line \d", first), first


def test_a_hint_that_shows_some_words_of_a_bank_says_that_there_are_more():
    assert "word 128 ...\n" in str(check("1.1", [128 * lane for lane in range(32)]))


def test_an_exercise_without_an_answer_says_what_it_asks():
    for exercise in IDS:
        verdict = check(exercise, None)
        assert not verdict and not verdict.answered and str(verdict).startswith(f"{exercise}: no answer yet (")
        assert repr(verdict) == str(verdict)
    assert check("1.1", [0] * 32).answered


def test_an_unknown_exercise_is_refused():
    with pytest.raises(SimlayoutError, match="no exercise '11.1'; there are 1.1, 1.2, "):
        check("11.1", 3)
    with pytest.raises(SimlayoutError, match="no lesson 11; there are 1, 2, "):
        lesson(11)


# ---- a GPU, if there is one ------------------------------------------------------------------------------------------

OLD = "numba-cuda 0.22.2 is too old, the kernels need 0.30: pip install"


@pytest.mark.parametrize("capability, installed, number, why", [
    pytest.param((7, 5), "0.30.0", 7, "the GPU has compute capability 7.5; this needs 8.0 (cp.async)",
                 marks=pytest.mark.sweep),
    ((7, 5), "0.30.0", 8, "the GPU has compute capability 7.5; this needs 8.0 (cp.async)"),
    ((8, 9), "0.30.0", 8, "the GPU has compute capability 8.9; wgmma needs 9.0 (sm_90a)"),
    pytest.param((8, 0), "0.22.2", 7, OLD, marks=pytest.mark.sweep), ((9, 0), "0.22.2", 8, OLD),
    pytest.param((8, 0), None, 7, "numba-cuda is not installed", marks=pytest.mark.sweep),
    ((9, 0), None, 8, "numba-cuda is not installed")])
def test_a_gpu_that_runs_no_kernel_leaves_a_lesson_to_the_cpu_machine(capability, installed, number, why,
                                                                      monkeypatch, capsys):
    cuda = pytest.importorskip("numba.cuda")
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "get_current_device", lambda: SimpleNamespace(compute_capability=capability))
    monkeypatch.setattr(launch, "version", lambda name: installed or lacks(name))
    run_cells(number, "^import simlayout as sl|^from cuda_kernels.job import|gpu_or_cpu[(]")
    said = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"on the CPU machine: {why}") for line in said) == 1
    assert said[-1].startswith("device: CPU machine")


def lacks(name):
    raise launch.PackageNotFoundError(name)


@pytest.mark.parametrize("fault", [RuntimeError("unsupported PTX\nlog ..."), ImportError("unsupported PTX"), OSError()])
def test_a_gpu_that_refuses_leaves_the_job_to_the_cpu_machine_with_the_reason(fault, monkeypatch, capsys):
    def refuses():
        raise fault

    assert gpu_or_cpu(lambda: None, lambda: "gpu", refuses) == "gpu" and not capsys.readouterr().out
    for problem, gpu in ((lambda: None, refuses), (refuses, lambda: "gpu")):
        assert gpu_or_cpu(problem, gpu, lambda: "cpu") == "cpu"
        first = (str(fault).splitlines() or [""])[0]
        assert capsys.readouterr().out == f"on the CPU machine: the GPU did not do it ({type(fault).__name__}: {first})\n"
    with pytest.raises(type(fault)):
        gpu_or_cpu(lambda: "no GPU", lambda: "gpu", refuses)


def test_the_oldest_numba_cuda_is_the_one_that_the_package_asks_for(monkeypatch):
    tomllib = pytest.importorskip("tomllib")             # from Python 3.11 on
    project = tomllib.loads((DATA.parents[1] / "pyproject.toml").read_text())["project"]
    wanted, = (one for one in project["optional-dependencies"]["cuda"] if one.startswith("numba-cuda"))
    assert wanted.endswith(">=" + ".".join(map(str, launch.NUMBA_CUDA)))
    for found, too_old in (("0.29.9", True), ("0.9", True), ("0.30", False), ("0.30rc1", False), ("0.100.2", False),
                           ("1.0", False)):
        monkeypatch.setattr(launch, "version", lambda name, found=found: found)
        assert (launch.numba_cuda_problem() is not None) == too_old, found


# ---- what was measured -----------------------------------------------------------------------------------------------

def test_every_pattern_was_measured_as_the_lessons_say():
    records = {file: load_records(DATA / file)[1] for file in {row[3] for row in PATTERNS.values()}}
    for name, (instruction, addresses, wavefronts, file, label) in PATTERNS.items():
        same = [int(cases.wavefronts[i]) for cases in records[file] if cases.instruction == instruction
                for i, given in enumerate(cases.addresses)
                if cases.labels[i] == label and cases.active[i].all() and (given == addresses).all()]
        assert same and set(same) == {wavefronts}, name
        assert sl.analyze(instruction, addresses).wavefronts.tolist() == [wavefronts]


def test_every_access_of_a_kernel_was_measured_as_the_lessons_say():
    files = {file: json.loads((DATA / file).read_text()) for *_, file in ACCESSES.values()}
    for (variant, access), (*numbers, file) in ACCESSES.items():
        one, = (v for v in files[file]["variants"] if v["variant"] == variant)
        found, = (a for a in one["accesses"] if a["access"] == access)
        assert [found[what][1] for what in ("executions", "wavefronts", "ideal")] == numbers
        assert numbers[1] % numbers[0] == 0 and measured(variant, access).value == numbers[1] // numbers[0]


def test_every_total_was_measured_as_the_lessons_say():
    bench = json.loads((DATA / "h200_bench.json").read_text())["rows"]
    wgmma = json.loads((DATA / "h200_wgmma.json").read_text())["rows"]
    smallest, = (row for row in wgmma if row["config"].get("body") == "wgmma_tma")
    persistent, = (row for row in wgmma if row["config"] == {})
    seen = {name: round(bench[name]["8192"]["tflops"]) for name in TOTALS if name in bench}
    seen |= {"wgmma_tma": smallest["gmma"], "wgmma_persistent": persistent["gmma"],
             "wgmma_persistent, stage C": persistent["STSM"][1]}
    assert seen == {name: number for name, (number, *_) in TOTALS.items()}
    assert smallest["shape"] == [512, 512, 512] and persistent["shape"] == [1024, 1536, 512]
    assert f"{persistent['STSM'][0]} stmatrix.x4" in TOTALS["wgmma_persistent, stage C"][1]


def test_what_was_not_measured_is_refused():
    for name in (("ld.shared.b32 stride 99",), ("mma_base, 1 stage", "load Z")):
        with pytest.raises(SimlayoutError, match="nothing measured is called"):
            measured(*name)


def test_a_guess_stands_beside_the_model_and_the_measurement(capsys):
    beside(3, 32, measured("ld.shared.b32 stride 32"))
    lines = capsys.readouterr().out.splitlines()
    assert [line[:12].strip() for line in lines] == ["your guess", "the model", "measured", ""]
    assert lines[0].endswith(" 3") and "h200_cases.npz" in lines[-1]
    beside(None, "x " * 100)
    assert all(len(line) <= 100 for line in capsys.readouterr().out.splitlines())
