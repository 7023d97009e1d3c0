"""What the shell offers after a part of a command line, through argcomplete."""

import os
import subprocess
import sys

import pytest

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
    ("simlayout search x --families ro", {"rotation"}), ("simlayout nonsense-", set())])
def test_the_shell_completes_commands_options_and_choices(line, words):
    assert set(offered(line)) == words
