"""A notebook on a machine that has nothing else of simlayout, such as Colab: its first cell installs what all cells need."""

import importlib
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest
from distributions import ROOT, data_files, outside

import simlayout as sl
from simlayout.cli import main
from simlayout.lessons import lessons
from simlayout.lessons.notebook import INSTALL

PREINSTALLED = ("ipykernel", "nbclient", "nbformat", "matplotlib>=3.8", "numpy>=2.0")
"""What Colab has and the notebooks need; Numba it has too, which they can do without."""

EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=None, startup_timeout=600, iopub_timeout=600, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
print(sum("image/png" in output.get("data", {}) for output in outputs), "figures")
print("".join(output.text for output in outputs if output.output_type == "stream"))
"""
"""Python that executes the notebook of a path in the working directory, and prints what it printed."""


WORKS = SimpleNamespace(returncode=0)
"""What subprocess.run returns of a pip that could do it."""

SHADOWED = """
import importlib.util, subprocess, sys
from pathlib import Path
from types import SimpleNamespace

def pip(command, **options):
    package = Path(sys.path[-1]) / "simlayout"
    if command[-1] == "simlayout":
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "lessons.py").touch()
    return SimpleNamespace(returncode=0)

sys.path[:0], sys.path[len(sys.path):] = sys.argv[2:3], sys.argv[3:]
assert importlib.util.find_spec("simlayout").origin is None
subprocess.run = pip
exec(sys.argv[1])
import simlayout.lessons
print(simlayout.lessons.__file__)
"""
"""Python that runs a first cell (argument 1) with a pip that only writes a package into a folder (3); an earlier folder of
the path (2) has a folder of its name."""


WITHOUT_PIP = """
import json, sys
sys.path += sys.argv[2:]
try:
    import simlayout
    sys.exit("simlayout is here")
except ImportError:
    pass
cells = json.load(open(sys.argv[1]))["cells"]
import matplotlib; matplotlib.use("Agg")
names = {"__name__": "__main__"}
for cell in cells:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
import cuda_kernels
print("from", sys.modules["simlayout"].__file__, cuda_kernels.__file__)
"""
"""Python that runs the code cells of a notebook (argument 1) where there are other packages (2 ...), but no simlayout."""


def run_first_cell(monkeypatch, missing=(), pip=WORKS, source="simlayout"):
    """Executes a notebook's first cell where some modules are missing until pip ran; returns what pip was given, a list."""
    real, missing, ran = importlib.import_module, set(missing), []

    def import_module(name):
        if name in missing:
            missing.remove(name)
            raise ImportError(name)
        return real(name)

    monkeypatch.setitem(sys.modules, "simlayout", sl)                      # and so it stays, whatever the cell removes
    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.setattr(subprocess, "run", lambda given, **options: ran.append(given) or pip)
    exec(compile(INSTALL.format(source=repr(source)), "<first cell>", "exec"), {})
    return ran


@pytest.mark.parametrize("missing, wanted", [
    ((), []), (("simlayout.lessons",), ["a.whl"]), (("matplotlib",), ["matplotlib>=3.8"]),
    (("matplotlib", "simlayout.lessons"), ["a.whl", "matplotlib>=3.8"])])
def test_the_first_cell_installs_what_is_missing_and_nothing_else(missing, wanted, monkeypatch):
    ran = run_first_cell(monkeypatch, missing, source="a.whl")
    assert [given[-1] for given in ran] == wanted
    assert all(given[:4] == [sys.executable, "-m", "pip", "install"] for given in ran)


def test_a_first_cell_that_cannot_install_says_what_pip_said_and_what_to_do(monkeypatch):
    refuses = SimpleNamespace(returncode=1, stderr="ERROR: No matching distribution found for simlayout\n")
    with pytest.raises(RuntimeError) as caught:
        run_first_cell(monkeypatch, ["simlayout.lessons"], refuses)
    said = str(caught.value)
    assert said.startswith("pip could not install simlayout:\n\nERROR: No matching distribution found for simlayout\n\n")
    assert "set SOURCE at the top of this cell" in said and "pip wheel --no-deps ." in said
    assert caught.value.__suppress_context__


def test_a_folder_of_that_name_is_not_taken_for_the_package(tmp_path):
    for folder in ("here/simlayout", "site"):                              # a clone, say: a namespace package to Python
        (tmp_path / folder).mkdir(parents=True)
    code = [SHADOWED, INSTALL.format(source='"simlayout"'), str(tmp_path / "here"), str(tmp_path / "site")]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", *code], capture_output=True, text=True)
    assert done.stdout == f"{tmp_path / 'site' / 'simlayout' / 'lessons.py'}\n", done.stderr


def test_the_packages_declare_every_file_that_is_not_python():
    tomllib = pytest.importorskip("tomllib")                               # from Python 3.11 on
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    declared = [(package, pattern) for package, patterns in tools["package-data"].items() for pattern in patterns]
    files = data_files()
    opened = {f"simlayout/lessons/src/{one.file}.md" for one in lessons()}
    opened |= {"simlayout/lessons/theory.md", "simlayout/hardware/tables/measured/h200.json"}
    assert opened <= files
    assert [file for file in sorted(files) if not any(covers(*one, file) for one in declared)] == []


def covers(package, pattern, file):
    """Whether package data covers a file: "*" is every package, and a pattern's stars stop at slashes."""
    pattern = f"{Path(file).parent if package == '*' else package.replace('.', '/')}/{pattern}"
    return file.count("/") == pattern.count("/") and fnmatch(file, pattern)


def test_a_notebook_that_carries_simlayout_runs_where_there_is_none(tmp_path):
    sites = {str(Path(importlib.import_module(name).__file__).parents[1]) for name in ("numpy", "matplotlib")}
    assert main(["lesson", "1", "--alone", "--no-open", "--to", str(tmp_path)]) == 0
    done = subprocess.run([sys.executable, "-I", "-S", "-c", WITHOUT_PIP, "1_banks.ipynb", *sites], cwd=tmp_path,
                          env=outside(HOME=str(tmp_path)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    simlayout_at, kernels_at = done.stdout.splitlines()[-1].split()[1:]
    for name, at in (("simlayout", simlayout_at), ("cuda_kernels", kernels_at)):
        assert Path(at).parts[-3].startswith("simlayout-") and not Path(at).is_relative_to(ROOT)
        theirs = {path.relative_to(Path(at).parent).as_posix(): path.read_bytes() for path in Path(at).parent.rglob("*")
                  if path.is_file() and "__pycache__" not in path.parts}
        ours = {path.relative_to(ROOT / name).as_posix(): path.read_bytes() for path in (ROOT / name).rglob("*")
                if path.is_file() and not {"__pycache__", "lab"} & set(path.parts)}
        assert theirs == ours
    assert done.stdout.count("your guess  none yet") >= 5


# ---- the same without the repository, which takes minutes and PyPI ---------------------------------------------------

@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """The Python of a fresh environment that has Jupyter's parts, NumPy and Matplotlib, and no simlayout."""
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *PREINSTALLED], check=True)
    return python


def check_whole(done):
    """Fails unless what EXECUTE ran went through to the end, with figures, guesses and measured numbers."""
    assert done.returncode == 0, done.stderr
    figures, printed = done.stdout.split(" figures\n", 1)
    assert int(figures) >= 1 and printed.count("your guess  none yet") >= 5 and "\nmeasured    " in printed


@pytest.mark.sweep
@pytest.mark.parametrize("one", lessons(), ids=lambda one: one.file)
def test_every_notebook_runs_with_the_package_that_it_carries(one, bare_python, tmp_path):
    subprocess.run([bare_python, "-m", "pip", "uninstall", "-qy", "simlayout"], env=outside(), capture_output=True)
    assert main(["lesson", str(one.number), "--alone", "--no-open", "--to", str(tmp_path)]) == 0
    done = subprocess.run([bare_python, "-c", EXECUTE, f"{one.file}.ipynb"], cwd=tmp_path, env=outside(PIP_NO_INDEX="1"),
                          capture_output=True, text=True)
    check_whole(done)


@pytest.mark.sweep
@pytest.mark.parametrize("one", lessons(), ids=lambda one: one.file)
def test_every_notebook_runs_alone_and_installs_what_it_needs(one, wheel, bare_python, tmp_path):
    def run(*arguments, **more):
        return subprocess.run([bare_python, *arguments], cwd=tmp_path, env=outside(**more), capture_output=True, text=True)

    run("-m", "pip", "uninstall", "-qy", "simlayout")
    assert "No module named 'simlayout'" in run("-c", "import simlayout").stderr
    path = tmp_path / f"{one.file}.ipynb"
    path.write_text(one.notebook)
    done = run("-c", EXECUTE, path.name, PIP_FIND_LINKS=str(wheel.parent), PIP_NO_INDEX="1")
    check_whole(done)
    where = run("-c", "import simlayout, cuda_kernels; print(simlayout.__file__, cuda_kernels.__file__)").stdout
    assert where.count(str(bare_python.parents[1])) == 2


@pytest.mark.sweep
def test_a_notebook_that_finds_no_simlayout_says_what_to_do(bare_python, tmp_path):
    subprocess.run([bare_python, "-m", "pip", "uninstall", "-qy", "simlayout"], env=outside(), capture_output=True)
    path = tmp_path / "1_banks.ipynb"
    path.write_text(lessons()[0].notebook)
    done = subprocess.run([bare_python, "-c", EXECUTE, path.name], cwd=tmp_path, env=outside(PIP_NO_INDEX="1"),
                          capture_output=True, text=True)
    assert done.returncode and "No matching distribution found for simlayout" in done.stderr
    assert "set SOURCE at the top of this cell" in done.stderr and "import simlayout as sl" not in done.stderr
