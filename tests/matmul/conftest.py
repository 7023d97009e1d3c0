"""What tests of matmul share: a GPU that is not there, but records what it is told to do."""

import pytest
from host_kit import install


@pytest.fixture
def machine(monkeypatch):
    """(library, torch) of `host_kit.install`."""
    return install(monkeypatch)
