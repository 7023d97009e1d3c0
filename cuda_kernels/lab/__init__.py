"""Experiments and what is fitted to their records; not in the wheel, and nothing outside imports it.

`rates`: clocks of mma instructions. `neighbours`: what L2 delivers. `tuning`: times of many configurations, in a
`tuning_record`, to which `tuning_fit` fits the cost model and from which `tuning_learn` learns its trees. `stalls`: what the
warps of kernels wait for, by Nsight Compute. `racecheck`: `rings` and products under compute-sanitizer, beside the machine.
On a `computer`: `counting`, how fast `simlayout.analyze` is, `products`, how fast `simlayout.mma`, and `simulators`, how
fast the machine. What they found is in tests/data.
"""
