"""What the commands `python -m cuda_kernels...` have alike: their parser and their end."""

import ast
import sys

import house
import pytest

from cuda_kernels.bench.command import driver_version, ended_by, recording_parser_of
from simlayout.errors import DeviceError, ParseError

OTHER_ENDS = {
    "cuda_kernels.conformance.foreign.compile_python": "another module of ours runs it",
    "cuda_kernels.conformance.probe": "another module of ours runs it",
    "cuda_kernels.conformance.programs.numba_child": "another module of ours runs it",
    "cuda_kernels.conformance.rocm": "the one file that an AMD machine needs: it imports nothing of ours",
}


def ended(main, monkeypatch, capsys):
    """(status, stderr) of `python -m this` whose `main` it is."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", type("Spec", (), {"name": "this"}), raising=False)
    with pytest.raises(SystemExit) as end:
        ended_by(main)
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize("status", [None, 0, 1])
def test_a_command_ends_with_what_its_main_returns(status, monkeypatch, capsys):
    assert ended(lambda: status, monkeypatch, capsys) == (status, "")


@pytest.mark.parametrize("error", [DeviceError, ParseError])
def test_a_refusal_ends_a_command_in_one_line_with_status_2(error, monkeypatch, capsys):
    def main():
        raise error("there is no GPU")

    assert ended(main, monkeypatch, capsys) == (2, "python -m this: there is no GPU\n")


def test_an_interrupt_ends_a_command_in_one_line_with_status_130(monkeypatch, capsys):
    def main():
        raise KeyboardInterrupt

    assert ended(main, monkeypatch, capsys) == (130, "python -m this: interrupted\n")


def test_a_bug_ends_a_command_with_its_traceback(monkeypatch, capsys):
    with pytest.raises(ZeroDivisionError):
        ended(lambda: 1 // 0, monkeypatch, capsys)


def test_every_command_ends_so():
    commands = {module: house.parsed(module).body[-1] for module in house.modules()
                if module.startswith(("cuda_kernels.bench", "cuda_kernels.conformance", "cuda_kernels.lab"))}
    run = {module: ast.unparse(last.body) for module, last in commands.items()
           if isinstance(last, ast.If) and ast.unparse(last.test) == "__name__ == '__main__'"}
    assert len(run) > 25
    assert {module for module, end in run.items() if end != "ended_by(main)"} == OTHER_ENDS.keys()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, capsys):
    parser = recording_parser_of("this", "Measures.\n\nMore.")
    assert parser.parse_args([]).json is None
    new = str(tmp_path / "new")
    assert parser.parse_args(["--json", new]).json == new and not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--json", str(tmp_path)])
    assert f"argument --json: cannot write {tmp_path}: it is a folder" in capsys.readouterr().err


def test_without_a_driver_there_is_no_version(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="nvidia-smi does not answer"):
        driver_version()
