"""A machine that executes PTX: the text of any compiler, parsed by `grammar.parse` into the data of `syntax`."""
