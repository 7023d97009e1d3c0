"""What commands of the command line print, and how they refuse."""

import json

from simlayout.cli import main

ANNOUNCED = "simlayout: compiles the machine", "simlayout: waits for another process, which compiles the machine"


def printed(capsys, *words, code=0):
    """What a command prints to stdout: all that it says."""
    assert main(list(words)) == code
    out, err = said(capsys)
    assert err == ""
    return out


def said(capsys):
    """(stdout, stderr) of what ran so far, without the announcement that the machine is being compiled: whoever comes first
    gets it."""
    out, err = capsys.readouterr()
    return out, "".join(line for line in err.splitlines(keepends=True) if not line.startswith(ANNOUNCED))


def answered(capsys, *words, code=0):
    """The object that a command prints with --json, in one line."""
    assert main([*words, "--json"]) == code
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


def refused(capsys, *words):
    """The one line on stderr of a command that must exit with 2 and print nothing else."""
    assert main(list(words)) == 2
    out, err = said(capsys)
    assert out == ""
    assert err.startswith("simlayout: ") and err.endswith("\n") and err.count("\n") == 1
    return err
