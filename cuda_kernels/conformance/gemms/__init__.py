"""Whole kernels on a GPU beside what is predicted of them: `counts` of every access, with Nsight Compute and `sass`, and
`bits` of C, against the CPU machine's. The same of kernels of their own: `hopper`, which has many options, and `exercises`
of the tutorials. `cute`: all cases of CuTe's choice of ldmatrix, proved, run and compared."""
