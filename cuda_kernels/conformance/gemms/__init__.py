"""Whole GEMMs on a GPU beside what is predicted of them: `counts` of every access, with Nsight Compute and `sass`, and
`bits` of C, against the CPU machine's."""
