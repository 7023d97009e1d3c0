"""Why one of numba-cuda's tests does not pass: from what it raised, or from a table of causes that were looked into."""

import re

from simlayout.programs.numba_core import source_name

KNOWN = (
    ("test_cpu_and_cuda_(reuse|targets)", r"0 != 1 : Counter|2 != 3 : \['cuda_and_cpu", "failed",
     "numba 0.68 stamps sources by hash, numba-cuda 0.30.4 by time: each throws away the cache of the other"),
    ("test_no_lineinfo_in_(asm|device_function)", "DebugDirectivesOnly", "failed",
     "kernels are compiled with line information, which the Trace needs"),
    ("test_no_impl_import", r"numba\.cuda\.np\.", "failed",
     "a simulated device imports all modules of numba-cuda that it replaces something in, which a GPU does not"),
    ("test_laplace_small", "no end within", "failed", "too slow: 1,000 launches of 2,048 warps each"),
    ("test_dispatcher_cpointer_arguments", "AddressError", "refused",
     "the test reads 6 elements past its arrays of 10: found by the machine"),
    ("test_struct_model_type_arr", "AddressError", "refused",
     "the test writes 10 elements of arrays of 1: found by the machine"),
    ("test_device_arch_specific", "AddressError", "refused",
     "the test has tensormap.replace write 128 bytes of an array of 4: found by the machine"),
)
"""(pattern of the test's name, pattern of what it says, outcome, cause) of tests that do not pass for a reason of their own,
which was looked into. None of them is a wrong result of the machine: a test that fails and is not among them may be one."""

TOO_LARGE = {
    "test_issue_9229": "too large for a CPU: a grid of 5,663,031,296 threads",
    "test_managed_alloc_driver_undersubscribe": "too large for a CPU: 8.6 GB of managed memory, a tenth of an H100's",
}
"""{test: why it is not run}. They count as refused."""

DRIVER = (
    (r"cuCtx\w+ of the CUDA driver is not simulated", "contexts beside the primary one"),
    (r"cuIpc\w+ of the CUDA driver is not simulated", "IPC: memory of another process"),
    (r"graph\w* of cuda\.core is not simulated", "graphs of cuda.core"),
    (r"link-time optimization is nvJitLink's", "nvJitLink, the linker"),
    (r"registers of a thread are known when ptxas", "ptxas: registers of machine code"),
)
"""(pattern of a reason, area) of driver API and of what makes machine code. Neither is simulated, and the tests that are
refused because they need it do not count in the share that passes."""


def area_of(reason: str) -> str:
    """The area of DRIVER that a reason names; "" if none.

    >>> area_of("cuIpcGetMemHandle of the CUDA driver is not simulated")
    'IPC: memory of another process'
    """
    return next((area for pattern, area in DRIVER if re.search(pattern, reason)), "")


def reason_of(name: str, text: str) -> tuple[str, str]:
    """(outcome, reason) of a test that did not pass, by its name and by what pytest shows of it.

    >>> reason_of("test_x", "E   simlayout.errors.MachineError: cuCtxCreate of the CUDA driver is not simulated")
    ('refused', 'cuCtxCreate of the CUDA driver is not simulated')
    >>> reason_of("test_x", "E   AssertionError: 1 != 2")
    ('failed', 'AssertionError: 1 != 2')
    """
    for pattern, says, outcome, cause in KNOWN:
        if re.search(pattern, name) and re.search(says, text):
            return outcome, cause
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    refused = [line for line in lines if "MachineError: " in line]
    if refused and not any("AssertionError" in line for line in lines):
        reason = refused[-1].partition("MachineError: ")[2]
        return "refused", re.sub(r"_ZN\w+", lambda symbol: source_name(symbol[0]), reason)
    if lines:
        return "failed", next((line for line in lines if "Error" in line), lines[0])[:300]
    return "failed", (text.strip().splitlines() or ["it says nothing"])[-1][:300]
