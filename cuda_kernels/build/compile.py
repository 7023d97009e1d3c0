"""From a kernel's Python source to GPU code: every instruction it names gets its Numba lowering.

Needs numba-cuda, but no GPU: `ptx(kernel)` compiles anywhere.
"""

from functools import lru_cache
from types import CellType, FunctionType

from cuda_kernels.build.entry import Entry
from cuda_kernels.build.quick import quick_numba
from cuda_kernels.intrinsics import Instruction, Scalar
from cuda_kernels.intrinsics.address import as_address
from cuda_kernels.intrinsics.instruction import numba_type
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.tables.arch import DEFAULT_TARGET

FIRST_MARK = 1_000_001
"""The line number of a kernel's first access in a marked line table."""


def _is_plain(value):
    return isinstance(value, FunctionType) and not (value.__module__ or "").startswith(("numba", "numpy"))


def rebind(function, resolve):
    """A copy of a function in which every global and closure value that it names is `resolve(value)`.

    A copy, because the function itself names the instructions that the CPU machine runs, and Numba takes a name for what it
    stands for in the function's globals and closure.
    """
    names = _names(function.__code__)
    scope = {k: resolve(v) if k in names else v for k, v in function.__globals__.items()}
    cells = tuple(CellType(resolve(c.cell_contents)) for c in function.__closure__ or ())
    bound = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
    bound.__doc__, bound.__module__ = function.__doc__, function.__module__
    return bound


def _names(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            names |= _names(constant)
    return names


class _Binder:
    """Resolves what a kernel names: instructions to intrinsics, plain functions to device functions."""

    def __init__(self, marks=None):
        self.functions, self.marks = {}, marks

    def __call__(self, value):
        if isinstance(value, Instruction | Scalar):
            return value.numba
        if _is_plain(value):
            if value not in self.functions:
                self.functions[value] = self.device(value)
            return self.functions[value]
        return value

    def device(self, function):
        from numba import cuda
        from numba.cuda import types

        compiled = cuda.jit(device=True, inline="always")(rebind(function, self))
        if hasattr(function, "access_name"):
            result = as_address(self._line(function.access_name)) if self.marks else types.uint32
            return cuda.jit(device=True, inline="always")(_narrow(compiled, function.__code__.co_argcount, result))
        return compiled

    def _line(self, access):
        if access not in self.marks:
            raise VerificationError(f"the kernel calls the index function of access {access!r}, which its plan lacks; it "
                                    f"has {', '.join(self.marks)}")
        return self.marks[access]


def _narrow(function, count, result):
    """An index function that takes 32-bit integers (Numba computes in 64; LLVM then narrows it all) and returns them as
    `result` makes them.

    A row per number of arguments, after three others were tried (numba-cuda 0.30.4). With *args Numba's inliner refuses the
    call. A device function that is not inlined, with *args or a declared signature, is compiled for the current device: it
    needs a GPU, which `ptx` does not. An intrinsic with *args that has the index function compiled (compile_internal) works,
    but LLVM then sees other code: the machine code changes, and with it all that was measured would have to be again.
    """
    from numba.cuda import types

    u32 = types.uint32
    by_count = {
        1: lambda a: result(function(u32(a))),
        2: lambda a, b: result(function(u32(a), u32(b))),
        3: lambda a, b, c: result(function(u32(a), u32(b), u32(c))),
        4: lambda a, b, c, d: result(function(u32(a), u32(b), u32(c), u32(d))),
        5: lambda a, b, c, d, e: result(function(u32(a), u32(b), u32(c), u32(d), u32(e))),
        6: lambda a, b, c, d, e, f: result(function(u32(a), u32(b), u32(c), u32(d), u32(e), u32(f))),
    }
    if count not in by_count:
        raise SimlayoutError(f"an index function with {count} arguments: a kernel calls one with 1 to {max(by_count)}, tid "
                             "and loop variables")
    return by_count[count]


def bound_kernel(body, marks=None):
    """The kernel's Python function with Numba's meaning of every name in it.

    marks: {access name: line}; then every instruction on an address of one of these accesses (all that the kernel
    uses) carries that line in the line table: see `cuda_kernels.intrinsics.address`.
    """
    return rebind(body, _Binder(marks))


def signature(types):
    """The Numba signature of a kernel from a text like "u64 u64 s32"."""
    from numba.cuda import types as numba_types

    return numba_types.void(*map(numba_type, types.split()))


def text_of(bound, types, launch_bounds, arch=DEFAULT_TARGET, lineinfo=False):
    """The PTX text of a `bound_kernel`; no GPU needed. types: of its parameters, as of `signature`; launch_bounds: threads
    per CTA, and CTAs per SM at least."""
    from numba import cuda

    digits = arch.removeprefix("sm_")
    number, suffix = digits.rstrip("abcdef"), digits.lstrip("0123456789")
    cc = (int(number[:-1]), int(number[-1])) + ((suffix,) if suffix else ())
    with quick_numba():
        return cuda.compile_ptx(bound, signature(types), cc=cc, launch_bounds=launch_bounds, lineinfo=lineinfo)[0]


@lru_cache(None)
def ptx(kernel, arch=DEFAULT_TARGET, marked=False):
    """The PTX text of a Kernel; no GPU needed. arch: for example "sm_80", "sm_90a". marked: with the lines of
    `marks(kernel)`."""
    types = [argument.type for argument in kernel.signature]
    maps = types.count("map")
    body = bound_kernel(kernel.body, marks(kernel) if marked else None)
    text = text_of(body, " ".join(types).replace("map", "u64"), (kernel.block, kernel.resident), arch, marked)
    entry = Entry.of(text).with_values(maps)
    return str(entry.in_clusters(kernel.cluster) if kernel.cluster > 1 else entry)


def marks(kernel):
    """The line that marks each access of a Kernel, {name: line}, from FIRST_MARK: lines that no source file has."""
    return {access.name: FIRST_MARK + i for i, access in enumerate(kernel.accesses)}
