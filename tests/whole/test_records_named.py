"""Measured data: nothing lies in tests/data that nobody can say the meaning of."""

import pytest
from places import DATA


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir() if path.name != "README.md"))
def test_what_a_record_holds_and_who_wrote_it_is_said(name):
    said = (DATA / "README.md").read_text()
    assert f"`{name}`" in said, f"tests/data/README.md must say what {name} holds and which command wrote it"
