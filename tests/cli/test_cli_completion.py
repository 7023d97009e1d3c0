"""What the shell offers after a part of a command line, through argcomplete."""

import argparse
import os
import subprocess
import sys

import pytest

from cuda_kernels.bench.run import Choice
from simlayout import clinic, guide
from simlayout.algebra import dtype_of
from simlayout.cli.commands import command_line
from simlayout.hardware import ARCHES, arch_of, fragment
from simlayout.hardware.tables.instructions import instructions_of

pytest.importorskip("argcomplete", reason='needs argcomplete: pip install -e ".[complete]"')


def offered(line):
    """The words that complete a line: argcomplete writes them to file descriptor 8."""
    read, write = os.pipe()
    told = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "COMP_TYPE": "9",
            "COMP_LINE": line, "COMP_POINT": str(len(line))}
    start = f"import os, sys; os.dup2({write}, 8); from simlayout.cli import main; main()"
    subprocess.run([sys.executable, "-c", start], env={**os.environ, **told}, pass_fds=[write], check=True,
                   capture_output=True)
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.read().split()


@pytest.mark.parametrize("line, words", [
    ("simlayout se", {"search"}), ("simlayout search --fam", {"--families"}),
    ("simlayout search x --families ro", {"rotation"}), ("simlayout nonsense-", set()),
    ("simlayout check x --op ldmatrix.x4", {"ldmatrix.x4", "ldmatrix.x4.trans"}),
    pytest.param("simlayout gemm --kernel mma_pe", {"mma_permuted"}, marks=pytest.mark.sweep),
    pytest.param("simlayout help kern", {"kernels"}, marks=pytest.mark.sweep),
    pytest.param("simlayout lesson th", {"theory"}, marks=pytest.mark.sweep)])
def test_the_shell_completes_commands_options_and_choices(line, words):
    assert set(offered(line)) == words


def of_some_chip(name):
    """The row of an instruction, on a chip that has it."""
    return next(row for chip in ARCHES for row in [instructions_of(chip).get(name)] if row)


READERS = {"--op": of_some_chip, "--follow": lambda name: Choice(follow=name), "--dtype": dtype_of, "--arch": arch_of,
           "page of clinic": clinic.page, "page of guide": guide.page}
"""What reads the values of an option."""

OFFERING = {"--op", "--dtype", "--arch", "--kernel", "--accumulate", "--loads", "--c-store", "--operand", "named",
            "page of clinic", "page of guide",
            "lesson", "sets", "--order", "--out", "--follow", "tutorial", "instructions", "layout of plot", "chip"}


def test_values_are_offered_and_each_is_one_that_the_library_reads():
    (commands,) = (a for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
    seen = set()
    for command, parser in commands.choices.items():
        for action in parser._actions:
            name = action.option_strings[-1] if action.option_strings else action.dest
            name = f"{name} of {command}" if name in ("layout", "page") or command == "ncu" else name
            if getattr(action, "completer", None) is None:
                assert name not in OFFERING
                continue
            values = action.completer(prefix="", parsed_args=None)
            assert values and all(isinstance(value, str) for value in values)
            if name not in seen and name in READERS:
                assert all(READERS[name](value) for value in values)
            seen.add(name)
    assert seen == OFFERING


def test_what_plot_offers_has_a_figure():
    from simlayout.cli.plot import SPANS, subjects

    kernels = {"mma_permuted", "wgmma_persistent"}
    found = set(subjects())
    assert kernels | set(SPANS) < found
    assert fragment(min(name for name in found if name.startswith("m16n8k16")), "A").values
