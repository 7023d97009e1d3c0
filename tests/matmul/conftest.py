"""What tests of matmul share: a GPU that is not there, but records what it is told to do."""

import pytest
from host_kit import install


@pytest.fixture
def machine(monkeypatch):
    """(library, torch) of `host_kit.install`."""
    return install(monkeypatch)


@pytest.fixture
def cuda(machine):
    """The Cuda of cuda_kernels.run.driver, over that machine."""
    from cuda_kernels.run import driver

    return driver.cuda()
