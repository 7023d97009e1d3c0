"""The kernel of a PTX text, taken apart: what Numba cannot say of a kernel is said in its parameters and directives.

CUDA C++ has `const __grid_constant__ CUtensorMap` and `__cluster_dims__`; numba-cuda has neither. So a kernel is compiled
with addresses in the place of tensor maps and without clusters, and its text is changed as nvcc would have written it (PTX
ISA: kernel function parameters; `.reqnctapercluster`). What does not look as expected is an error, never left as it is.
"""

from dataclasses import dataclass, replace

from simlayout.errors import SimlayoutError


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. type: as PTX writes it, ".u64"; array: its size in brackets, "[128]", or nothing."""

    type: str
    name: str
    array: str = ""

    @classmethod
    def of(cls, line):
        """The Parameter that a line declares."""
        match line.strip().removesuffix(",").split():
            case [".param", first, *types, name]:
                name, bracket, size = name.partition("[")
                return cls(" ".join([first, *types]), name, bracket + size)
        raise SimlayoutError(f"{line.strip()!r} declares no parameter of a kernel")

    def __str__(self):
        return f".param {self.type} {self.name}{self.array}"


@dataclass(frozen=True)
class Entry:
    """A PTX text of one kernel, line by line: what is before it, the line that names it, its parameters, the directives
    behind them (".maxntid 384, 1, 1"), and the rest from the line "{" on. `str` gives the text back.

    >>> entry = Entry.of(".visible .entry f(\\n\\t.param .u64 f_param_0\\n)\\n.maxntid 32, 1, 1\\n{\\n\\tret;\\n}\\n")
    >>> entry.parameters, entry.directives
    ((Parameter(type='.u64', name='f_param_0', array=''),), ('.maxntid 32, 1, 1',))
    >>> print(str(entry.in_clusters(2)).expandtabs(4))
    .visible .entry f(
        .param .u64 f_param_0
    )
    .maxntid 32, 1, 1
    .reqnctapercluster 2, 1, 1
    {
        ret;
    }
    <BLANKLINE>
    """

    before: tuple
    head: str
    parameters: tuple
    directives: tuple
    body: tuple

    @classmethod
    def of(cls, text):
        """The Entry of a text as NVVM writes it, a parameter or directive per line. Raises SimlayoutError for any other."""
        lines = text.split("\n")
        heads = [i for i, line in enumerate(lines) if ".entry " in line and not line.lstrip().startswith("//")]
        if len(heads) != 1:
            raise SimlayoutError(f"a PTX text of one kernel has one line with .entry, this one {len(heads)}")
        (head,) = heads
        try:
            close = lines.index(")", head)
            body = lines.index("{", close)
        except ValueError:
            body = None
        if body is None or not lines[head].endswith("("):
            raise SimlayoutError(f"{lines[head]!r} is not followed by a parameter per line, a line ) and a line {{")
        return cls(tuple(lines[:head]), lines[head], tuple(map(Parameter.of, lines[head + 1:close])),
                   tuple(lines[close + 1:body]), tuple(lines[body:]))

    def __str__(self):
        last = len(self.parameters) - 1
        parameters = [f"\t{parameter}{',' if i < last else ''}" for i, parameter in enumerate(self.parameters)]
        return "\n".join([*self.before, self.head, *parameters, ")", *self.directives, *self.body])

    def in_clusters(self, size):
        """The kernel launched in clusters of `size` CTAs: `__cluster_dims__` of CUDA C++."""
        directives = []
        for directive in self.directives:
            directives.append(directive)
            if directive.startswith(".maxntid "):
                directives.append(f".reqnctapercluster {size}, 1, 1")
        if len(directives) != len(self.directives) + 1:
            raise SimlayoutError(f"a cluster stands behind the one line .maxntid of a kernel, and this one's directives are "
                                 f"{', '.join(self.directives) or 'none'}")
        return replace(self, directives=tuple(directives))

    def with_values(self, count):
        """The kernel whose first `count` parameters, 64-bit addresses, are tensor maps by value, whose address it takes:
        `const __grid_constant__ CUtensorMap`. It then needs no copy of them in global memory."""
        changed = self
        for i in range(count):
            changed = changed._with_value(i)
        return changed

    def _with_value(self, i):
        if i >= len(self.parameters) or (self.parameters[i].type, self.parameters[i].array) != (".u64", ""):
            raise SimlayoutError(f"the kernel's parameter {i} is not one 64-bit address: a value cannot take its place")
        name = self.parameters[i].name
        value = Parameter(".align 64 .b8", name, "[128]")
        return replace(self, parameters=(*self.parameters[:i], value, *self.parameters[i + 1:]),
                       body=tuple(_address_of(name, line) if f"[{name}" in line else line for line in self.body))


def _address_of(name, line):
    """A line that loads a whole parameter, as one that takes its address; a parameter with a longer name is another."""
    if f"[{name}]" not in line and f"[{name}+" not in line:
        return line
    match line.split():
        case ["ld.param.u64", register, place] if place == f"[{name}];":
            register = register.removesuffix(",")
            return f"\tmov.b64 {register}, {name}; cvta.param.u64 {register}, {register};"
    raise SimlayoutError(f"the kernel uses its parameter {name} otherwise than as an address: {line.strip()!r}")
