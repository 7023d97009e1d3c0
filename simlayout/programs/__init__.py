"""Programs for a GPU, run without one: kernels of Numba, CuPy and Triton as they are written, and whole programs.

A SimulatedDevice holds memory, modules of PTX and what was launched; an adapter per library puts it in the driver's place.

    device, modules, attributes        the SimulatedDevice; unset: its memory that nothing has written
    simulated                          one kernel of any library
    execute, children                  a whole program, and the processes that it starts
    numba_*                            numba-cuda; doubles: arithmetic of float64 that its kernels have by accident
    triton_kernels, triton_arguments, cupy_kernels, mlir_kernels     the others
    report, page, uses, mend           what is told at the end, as text and as a page, and the edit that mends an array
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
