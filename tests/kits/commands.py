"""What commands of the command line print, and how they refuse."""

import json

from simlayout.cli import main


def printed(capsys, *words, code=0):
    """What a command prints to stdout: all that it says."""
    assert main(list(words)) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def answered(capsys, *words, code=0):
    """The object that a command prints with --json, in one line."""
    assert main([*words, "--json"]) == code
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


def refused(capsys, *words):
    """The one line on stderr of a command that must exit with 2 and print nothing else."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("simlayout: ") and err.endswith("\n") and err.count("\n") == 1
    return err
