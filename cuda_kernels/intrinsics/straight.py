"""Instructions made of several: a function of one f32 as straight PTX, whose text the CPU machine runs as it stands.

One statement for the compiler is less than many: it unrolls loops only as far as their bodies stay small.
"""

from functools import cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction


def bits_of(number):
    """A constant of f32 as PTX writes its bits.

    >>> bits_of(1)
    '0f3F800000'
    """
    return f"0f{int(np.float32(number).view(np.uint32)):08X}"


def straight(name, text, doc):
    """The Instruction y = name(x) of f32. text: lines "opcode destination, source, ...;" of PTX's arithmetic of f32, which
    name registers and constants as of `bits_of`; the last line alone writes y.

    >>> float(straight("twice", "add.rn.f32 y, x, x;", "").twin(None, np.float32(1.5)))
    3.0
    """
    lines = [line.replace(",", " ").split() for line in text.split(";") if line.strip()]
    steps = [(opcode, words) for opcode, *words in lines]
    places = {"x": "$1", "y": "$0"}
    own = [words[0] for _, words in steps if words[0] not in places]
    ptx = [f"{opcode} {', '.join(places.get(word, word) for word in words)};" for opcode, words in steps]
    registers = f".reg .f32 {', '.join(dict.fromkeys(own))}; " if own else ""

    def twin(warp, x):
        held = {"x": np.atleast_1d(np.asarray(x, np.float32))}
        with np.errstate(all="ignore"):
            for opcode, (to, *sources) in steps:
                held[to] = _function(opcode)(*(held[s] if s in held else _constant(s) for s in sources))
        return held["y"] if np.ndim(x) else held["y"][0]

    return Instruction(name, f"{{ {registers}{' '.join(ptx)} }}", ("f32",), ("f32",), twin, ordered=False, doc=doc)


@cache
def _function(opcode):
    """What an opcode with its modifiers does to lanes."""
    from simlayout.machine.ptx.opcodes.lanes import lane_op

    name, *modifiers = opcode.split(".")
    return lane_op(name, tuple(modifiers)).function


def _constant(word):
    """f32 [1] of a constant as PTX writes it."""
    return np.array([int(word.removeprefix("0f"), 16)], np.uint32).view(np.float32)
