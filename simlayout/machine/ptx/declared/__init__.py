"""Arrays in shared memory as the source of a kernel declares them, in CUDA C++ (`cxx_arrays`, `cxx_declarations`) or in
Python (`declarations`): names, shapes, and edits; `shared_arrays`: one, and hazards in its words."""
