"""What all tests share: no deadline, and no workers for a test that is named."""

from hypothesis import HealthCheck, settings

settings.register_profile("simlayout", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("simlayout")            # a busy machine fails no test


def pytest_xdist_auto_num_workers(config):
    """None, where all that is asked for are tests by name: they are there before a worker has started. Else xdist's own
    number."""
    return 0 if config.args and all("::" in argument for argument in config.args) else None
