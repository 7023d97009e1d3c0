"""PTX modules of one warp that load registers from arrays, do something with them, and store registers again.

An array has a row per register and a column per lane: [registers, 32], 4 bytes an element, or 8 for f64.
"""

import numpy as np
from ptx_texts import module

from simlayout import ptx

BYTES = {"f64": 8}


class Text:
    """A body in the making. Registers of a group are called %NAME0, %NAME1, ...; parameters are pointers, in order."""

    def __init__(self):
        self.lines, self.pointers = ["mov.u32 %tid, %tid.x;", "and.b32 %lane, %tid, 31;"], 0
        self.declared = [".reg .b32 %tid, %lane;"]

    def group(self, name, count, type="b32"):
        """Declares registers; gives them as `{%name0, %name1}`."""
        self.declared.append(f".reg .{type} %{name}<{count}>;")
        return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"

    def pointer(self):
        """The name of a 64-bit register with the next argument."""
        name = f"%at{self.pointers}"
        self.declared.append(f".reg .b64 {name}, {name}o;")
        self.lines.append(f"ld.param.u64 {name}, [kernel_param_{self.pointers}];")
        self.pointers += 1
        return name

    def load(self, name, count, type="b32"):
        """Loads a new group from the next argument; gives it as text."""
        text = self.group(name, count, type)
        self._move(name, count, type, "ld.global.{type} %{name}{i}, [{at}o+{offset}];")
        return text

    def store(self, name, count, type="b32"):
        """Stores a group to the next argument."""
        self._move(name, count, type, "st.global.{type} [{at}o+{offset}], %{name}{i};")

    def _move(self, name, count, type, form):
        at, size = self.pointer(), BYTES.get(type, 4)
        self.lines += [f"mul.wide.u32 {at}o, %lane, {size};", f"add.s64 {at}o, {at}o, {at};"]
        self.lines += [form.format(type=type, name=name, i=i, at=at, offset=32 * size * i) for i in range(count)]

    def add(self, *lines):
        """Further instructions."""
        self.lines += lines

    def entry(self, directives="", shared=0):
        """The Entry, with `smem` of so many bytes."""
        body = [*self.declared, f".shared .align 1024 .b8 smem[{max(shared, 16)}];", *self.lines, "ret;"]
        return ptx.load(module("\n".join(body), ["u64"] * self.pointers, directives=directives)).entry()


def elements(registers, dtype, per):
    """Registers [n, 32] as elements [32, n * per], of dtype (bits below 8: as uint8)."""
    n = len(registers)
    words = np.ascontiguousarray(registers.T)            # [32, n]
    if isinstance(dtype, int):                           # bits
        shifts = np.arange(0, 32, dtype, dtype=np.uint32)
        return (words.view(np.uint32)[..., None] >> shifts & ((1 << dtype) - 1)).astype(np.uint8).reshape(32, -1)
    return words.view(dtype).reshape(32, n * per)
