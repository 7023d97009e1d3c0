"""MatmulTutorial's kernel with two layouts of its shared memory: `plan`, `body`, and the kernels by name in `tutorial`."""
