"""Why one of numba-cuda's tests does not pass: from what it raised, or from a table of causes that were looked into."""

import re

KNOWN = (
    ("test_cpu_and_cuda_(reuse|targets)",
     "numba 0.68 stamps sources by hash, numba-cuda 0.30.4 by time: each throws away the cache of the other"),
    ("test_dispatcher_cpointer_arguments", "the test reads 6 elements past its arrays of 10: found by the machine"),
    ("test_struct_model_type_arr", "the test writes 10 elements of arrays of 1: found by the machine"),
    ("test_no_lineinfo_in_asm", "kernels are compiled with line information, which the Trace needs"),
    ("test_device_arch_specific", "the test has tensormap.replace write 128 bytes of an array of 4: found by the machine"),
)
"""(pattern of the test's name, cause) of tests that fail for a reason of their own."""

TOO_LARGE = {
    "test_issue_9229": "too large for a CPU: a grid of 5,663,031,296 threads",
    "test_managed_alloc_driver_undersubscribe": "too large for a CPU: 8.6 GB of managed memory, a tenth of an H100's",
}
"""{test: why it is not run}."""


def reason_of(name: str, text: str) -> tuple[str, str]:
    """(outcome, reason) of a test that did not pass, by its name and by what pytest shows of it.

    >>> reason_of("test_x", "E   simlayout.errors.MachineError: cuCtxCreate of the CUDA driver is not simulated")
    ('refused', 'cuCtxCreate of the CUDA driver is not simulated')
    >>> reason_of("test_x", "E   AssertionError: 1 != 2")
    ('failed', 'AssertionError: 1 != 2')
    """
    for pattern, cause in KNOWN:
        if re.search(pattern, name):
            return "failed", cause
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    refused = [line for line in lines if "MachineError: " in line]
    if refused and not any("AssertionError" in line for line in lines):
        return "refused", refused[-1].partition("MachineError: ")[2]
    if lines:
        return "failed", next((line for line in lines if "Error" in line), lines[0])[:300]
    return "failed", (text.strip().splitlines() or ["it says nothing"])[-1][:300]
