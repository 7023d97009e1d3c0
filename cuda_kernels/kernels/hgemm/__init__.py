"""cuda_hgemm's kernel in four layouts of its shared memory."""
