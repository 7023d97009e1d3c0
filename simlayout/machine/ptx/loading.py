"""Modules of PTX from a text or a file."""

from pathlib import Path

from simlayout.errors import InstructionError, MachineError, ParseError
from simlayout.files import TEXT
from simlayout.machine.ptx.cxx.names import cxx_names
from simlayout.machine.ptx.faults import others, refusal
from simlayout.machine.ptx.module import Module
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.parser.other_files import is_known, what_instead


def read(source: str | Path) -> Module:
    """A Module of PTX text, or of a file that holds it, also with instructions that the machine does not have.

    source: the text, or a path (a Path, or a string without a line break that ends in .ptx). Raises ParseError with file,
    line and column, and MachineError for a file that cannot be read.

    >>> module = read(".version 9.0 .target sm_90 .address_size 64 .entry none() { frob.b32; ret; }")
    >>> [(each.name, each.line) for each in module.unsupported]
    [('frob.b32', 1)]
    """
    if isinstance(source, str) and ("\n" in source or not source.endswith(".ptx")):
        return Module(parse(source, source if "\n" not in source and is_known(source) else "<text>"))
    if not isinstance(source, str | Path):
        raise MachineError(f"PTX is text, or the path of a file with it, not {type(source).__name__}")
    try:
        text = Path(source).read_text(TEXT)
    except UnicodeDecodeError as error:
        name = str(source)
        raise MachineError(what_instead(name) if is_known(name) else f"cannot read {name!r}, no text: {error}") from None
    except (OSError, ValueError) as error:               # ValueError: a NUL in the path
        raise MachineError(f"cannot read {str(source)!r}: {getattr(error, 'strerror', None) or error}") from None
    if not text.strip():
        raise ParseError(f"{source} is empty: PTX begins with '.version'")
    return Module(parse(text, str(source)))


def load(source: str | Path) -> Module:
    """A Module of PTX text, or of a file that holds it, all of whose instructions the machine can execute.

    source: as of `read`. Raises ParseError with file, line and column; InstructionError that lists by name, with the first
    line and how often, all that entries can reach and the machine does not have; MachineError as `read`.

    >>> import numpy as np
    >>> module = load('''.version 9.0 .target sm_90 .address_size 64
    ... .entry twice(.param .u64 out) {
    ...     .reg .u32 %r<3>; .reg .u64 %rd<4>;
    ...     ld.param.u64 %rd1, [out];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %rd2, %r1, 4;
    ...     add.u64 %rd3, %rd1, %rd2;
    ...     shl.b32 %r2, %r1, 1;
    ...     st.global.u32 [%rd3], %r2;
    ...     ret;
    ... }''')
    >>> module, module["twice"]
    (<module <text>, sm_90: twice>, <entry twice(out: .u64)>)
    >>> out = np.zeros(4, np.int32)
    >>> trace = module["twice"].run(1, 4, out)
    >>> out, trace.sectors[0].sectors
    (array([0, 2, 4, 6], dtype=int32), 1)
    """
    module = read(source)
    if found := module.unsupported:
        rest = [name for name, entry in module.entries.items() if not entry.faults]
        raise InstructionError(refusal(module.syntax.path, found) + others(cxx_names(rest).values()))
    return module
