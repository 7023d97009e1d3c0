"""cuda_hgemm's kernel with four layouts of its shared memory: `plan`, `body`, and the kernels by name in `hgemm`."""
