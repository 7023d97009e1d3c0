"""Commands that write files which are checked in."""

from importlib import import_module

import pytest
from places import ROOT


@pytest.mark.parametrize("module", ["cuda_kernels.emitted.__main__", "table"])
@pytest.mark.parametrize("words, status", [(["--help"], 0), (["--wrong"], 2), (["word"], 2)], ids=str)
def test_a_command_that_is_asked_for_help_or_misunderstood_writes_nothing(module, words, status, monkeypatch, capsys):
    def written(path, content):
        raise AssertionError(f"{path} is written")

    monkeypatch.syspath_prepend(str(ROOT / "figures"))
    found = import_module(module)
    monkeypatch.setattr(found, "write_whole", written)
    with pytest.raises(SystemExit) as ended:
        found.main(words)
    assert ended.value.code == status and "usage: " in "".join(capsys.readouterr())
