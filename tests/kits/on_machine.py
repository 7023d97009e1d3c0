"""A Hopper configuration on the CPU machine."""

from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run


def on_machine(config, a, b, sms=2, **options):
    """The Run of a @ b by a Hopper configuration on the CPU machine, with a grid for so many SMs."""
    return run(kernel_of(config), a, b, device="cpu", sms=sms, **options)
