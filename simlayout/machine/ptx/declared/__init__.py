"""Arrays in shared memory as the source of a kernel declares them, in CUDA C++ or in Python: names, shapes, and edits."""
