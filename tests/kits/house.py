"""The import graph of the house: which module names which, lazy imports and names in strings included.

    python tests/kits/house.py          prints the rooms from top to bottom, and which rooms each of them names

An import counts wherever it stands, inside a function too. A string counts if it is the dotted name of a module, with or
without ":name" behind it; so does the beginning of an f-string, as in f"simlayout.lessons.exercises.{name}". Of `import
simlayout as sl` what is used counts, since simlayout itself loads nothing.
"""

import ast
import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from places import ROOT

PACKAGES = ("cuda_kernels", "simlayout")

FLOORS = (
    ("cuda_kernels.__main__",),
    ("cuda_kernels.lab",),
    ("cuda_kernels.job",),
    ("cuda_kernels.conformance",),
    ("cuda_kernels.bench",),
    ("cuda_kernels",),
    ("cuda_kernels.matmul",),
    ("cuda_kernels.run",),
    ("cuda_kernels.kernels",),
    ("cuda_kernels.emitted",),
    ("cuda_kernels.build",),
    ("cuda_kernels.intrinsics",),
    ("simlayout.__main__",),
    ("simlayout.cli",),
    ("simlayout",),
    ("simlayout.explorer", "simlayout.lessons", "simlayout.clinic"),
    ("simlayout.guide",),
    ("simlayout.plots",),
    ("simlayout.testing",),
    ("simlayout.nsight",),
    ("simlayout.programs",),
    ("simlayout.ptx",),
    ("simlayout.machine",),
    ("simlayout.machine.python", "simlayout.machine.ptx"),
    ("simlayout.machine.ptx.compiled",),
    ("simlayout.machine.ptx.warps",),
    ("simlayout.machine.ptx.looks",),
    ("simlayout.machine.ptx.lowering",),
    ("simlayout.machine.ptx.passes",),
    ("simlayout.machine.ptx.opcodes", "simlayout.machine.ptx.parser", "simlayout.machine.ptx.declared"),
    ("simlayout.machine.ptx.memory", "simlayout.machine.ptx.cxx", "simlayout.machine.ptx.syntax",
     "simlayout.machine.ptx.faults"),
    ("simlayout.machine.engine",),
    ("simlayout.machine.hazards", "simlayout.machine.arithmetic"),
    ("simlayout.synthesis",),
    ("simlayout.codegen",),
    ("simlayout.plan", "simlayout.sources"),
    ("simlayout.proofs",),
    ("simlayout.kernel",),
    ("simlayout.numerics",),
    ("simlayout.hardware",),
    ("simlayout.hardware.matrix",),
    ("simlayout.hardware.banks",),
    ("simlayout.hardware.tables",),
    ("simlayout.algebra",),
    ("simlayout.arguments", "simlayout.drawn", "simlayout.errors", "simlayout.excess", "simlayout.files", "simlayout.jit",
     "simlayout.collector", "simlayout.lazy", "simlayout.pages", "simlayout.interrupts", "simlayout.progress",
     "simlayout.shown", "simlayout.wording", "simlayout.workers"),
)
"""The rooms from top to bottom; those of one floor do not name each other, but for the ground, which is the last. A folder
stands for all in it that has no line of its own, a package for its __init__ alone. What `python -m` runs is at the top."""


class Arrow(NamedTuple):
    """source, target: modules; line: of the source; named: whether a string names the target, and no import does."""

    source: str
    target: str
    line: int
    named: bool

    def __str__(self):
        return f"{self.source}, line {self.line}: {self.target}"


@cache
def modules():
    """{dotted name: Path} of every module of the two packages."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}
"""{room: its floor}, 0 at the top."""


def room_of(module):
    """The room of a module, or None: itself or the nearest folder above it that has a line in FLOORS.

    >>> room_of("simlayout.hardware.banks.fast"), room_of("simlayout"), room_of("simlayout.shed")
    ('simlayout.hardware.banks', 'simlayout', None)
    >>> room_of("cuda_kernels.emitted.__main__")
    'cuda_kernels.__main__'
    """
    if module.endswith(".__main__"):
        return f"{module.partition('.')[0]}.__main__"
    name = module
    while name and name not in FLOOR_OF:
        name = name.rpartition(".")[0]
    return None if name in PACKAGES and name != module else name or None


def module_named(name):
    """The module that a dotted name stands for, or that holds what it stands for; None where it is none of ours.

    >>> module_named("simlayout.algebra.layout.Layout"), module_named("numpy.linalg")
    ('simlayout.algebra.layout', None)
    """
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


@cache
def parsed(module):
    """The syntax tree of a module."""
    return ast.parse(modules()[module].read_text())


@cache
def lazy_names(package):
    """{name: module} of what a package brings by `simlayout.lazy.when_used`, from its stub; None if it is not lazy."""
    stub = modules()[package].with_suffix(".pyi")
    if not stub.exists():
        return None
    imports = (node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom))
    return {alias.name: f"{package}.{alias.name}" if node.module == package else node.module
            for node in imports for alias in node.names}


def _home(package, name):
    """The module that `from package import name` brings; None for a lazy package's own facts, such as its version."""
    if f"{package}.{name}" in modules():
        return f"{package}.{name}"
    names = lazy_names(package) if package in modules() else None
    return package if names is None else names.get(name)


class _Finder(ast.NodeVisitor):
    """Collects the arrows of a module's syntax tree, and in `unread` the lines of import_module that name nothing."""

    def __init__(self, module, is_package):
        self.module, self.arrows, self.doors, self.unread = module, [], {}, []
        self.package = module if is_package else module.rpartition(".")[0]

    def add(self, name, line, named=False):
        target = module_named(name or "")
        if target and target != self.module:
            self.arrows.append(Arrow(self.module, target, line, named))

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name in PACKAGES:
                self.doors[alias.asname or alias.name] = alias.name
            else:
                self.add(alias.name, node.lineno)

    def visit_ImportFrom(self, node):
        parts = self.package.split(".")
        above = ".".join(parts[:len(parts) - node.level + 1]) if node.level else ""
        package = ".".join(filter(None, (above, node.module)))
        for alias in node.names:
            self.add(_home(package, alias.name), node.lineno)

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in self.doors:
            self.add(_home(self.doors[node.value.id], node.attr), node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if called in ("import_module", "__import__") and not _beginning(node.args[0]):
            self.unread.append(node.lineno)
        self.generic_visit(node)

    def visit_JoinedStr(self, node):
        self.add(_beginning(node), node.lineno, named=True)
        self.generic_visit(node)

    def visit_Constant(self, node):
        name = _beginning(node)
        if name and ".".join(name.split(".")[:2]) in modules():
            self.add(name, node.lineno, named=True)


def _beginning(node):
    """The dotted name that a string or the beginning of an f-string is, or None."""
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        found = re.fullmatch(r"(\w+(?:\.\w+)*)\.", str(node.values[0].value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = re.fullmatch(r"(\w+(?:\.\w+)+)(:\w+)?", node.value)
    else:
        found = None
    return found and found[1]


def looked_through(module, tree, is_package=False):
    """The Finder of a syntax tree: its `arrows` and `unread`."""
    finder = _Finder(module, is_package)
    finder.visit(tree)
    return finder


@cache
def _finders():
    return {module: looked_through(module, parsed(module), path.name == "__init__.py") for module, path in modules().items()}


@cache
def arrows():
    """All Arrows from one module to another."""
    lazy = (Arrow(module, target, 1, True) for module in modules() for target in (lazy_names(module) or {}).values())
    return tuple([arrow for finder in _finders().values() for arrow in finder.arrows] + list(dict.fromkeys(lazy)))


def circles():
    """The groups of modules that import one another in a circle, also when they are called: a frozenset for each."""
    graph = {}
    for arrow in arrows():
        if not arrow.named:
            graph.setdefault(arrow.source, set()).add(arrow.target)
    reached = {}
    for module in graph:
        found, todo = set(), [module]
        while todo:
            new = graph.get(todo.pop(), set()) - found
            found |= new
            todo += new
        reached[module] = found
    return {frozenset(other for other in found if module in reached.get(other, ())) for module, found in reached.items()
            if module in found}


def unread():
    """{module: lines} of the imports whose module no text in the call names."""
    return {module: finder.unread for module, finder in _finders().items() if finder.unread}


def is_down(source, target):
    """Whether a room may name another: one below it, or both are of the ground. A module in no room may name nothing."""
    if not {source, target} <= set(FLOOR_OF):
        return False
    ground = len(FLOORS) - 1
    return source == target or FLOOR_OF[source] < FLOOR_OF[target] or FLOOR_OF[source] == FLOOR_OF[target] == ground


def between_rooms(chosen=None):
    """{(room, room): how many arrows} where the rooms differ; of the arrows given, else of all."""
    pairs = ((room_of(a.source), room_of(a.target)) for a in (arrows() if chosen is None else chosen))
    return Counter(pair for pair in pairs if pair[0] != pair[1])


def drawn():
    """The graph of the rooms as text: a line for each room, with the rooms that it names and how often."""
    lines, found = [], between_rooms()
    for room in FLOOR_OF:
        named = {target: count for (source, target), count in found.items() if source == room}
        said = (f"{'' if is_down(room, t) else 'UP '}{t} {named[t]}" for t in sorted(named, key=FLOOR_OF.get))
        lines.append(f"{room:28} {', '.join(said)}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    print(drawn())
