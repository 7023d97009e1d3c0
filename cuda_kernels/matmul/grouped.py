"""grouped_matmul: each group of rows of a times a matrix of its own, as a mixture of experts has them.

The sizes of the groups stay on the GPU: the host knows the number of rows and of groups, launches one kernel for all of
them, and waits for nothing. A grouped Recipe is kept and bound to addresses as every other (`matmul`).
"""

from dataclasses import replace
from typing import Any

from cuda_kernels.kernels.hopper.grouping import check_offsets, scales_of_groups
from cuda_kernels.kernels.hopper.rules import fault_of
from cuda_kernels.kernels.hopper.scaling import scaled_by, scales_of
from cuda_kernels.matmul.recipe import Prepared, Recipe, check_types, launched, result_of
from cuda_kernels.matmul.steps import GroupedSteps, steps_for
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.kernel import Kernel


class GroupedRecipe(Recipe):
    """The Recipe of a grouped product. read: the Operands by the names of `grouped_matmul`'s arguments; out: an Operand,
    None for a new array; kernel, overlap, tune: as of `grouped_matmul`."""

    expected = "kernel is a name, a Kernel or a Hopper configuration, tune a name or seconds, and overlap is True or False"
    kinds = {"offsets": "offsets are int32"} | dict.fromkeys(("scale_a", "scale_b"), "scales are float32")

    def __init__(self, cuda, read, out, kernel, overlap, tune):
        a, b, offsets = (read[name] for name in ("a", "b", "offsets"))
        scales = {name: read[name] for name in ("scale_a", "scale_b") if name in read}
        check_types(a, b)
        shape, groups = _shapes(a, b, offsets)
        dtype = out.dtype if out else result_of(a.dtype, bool(scales))
        of_scales, step = _scales(a, b, scales)
        if fault := fault_of((a.dtype, b.dtype), dtype, scaled_by(*of_scales.values()) if scales else ""):
            raise SimlayoutError(fault)
        super().__init__(cuda, read, out, shape, dtype)
        if out and shape[1] > 1 and out.strides[1] != out.itemsize and 0 not in shape:
            raise SimlayoutError("the rows of out are not contiguous: pass another out")
        if groups and 0 not in shape:
            aligned = {name: x is None or x.address % 16 == 0 for name, x in (("a", a), ("b", b), ("c", out))}

            def built(use_kept):
                builder, named = steps_for(kernel, cuda, self.device, (a.dtype, b.dtype), dtype, aligned, overlap, of_scales,
                                           use_kept=use_kept, builder=GroupedSteps)
                if not isinstance(builder, GroupedSteps):
                    raise DeviceError(f"a grouped product needs a kernel for Hopper, and {named.name} is none: use "
                                      'kernel="auto" on a GPU of compute capability 9.0')
                builder.step_groups = step
                builder.build((a.shape, a.strides), (b.shape, b.strides), (shape, self.strides), named)
                return builder

            self.follow(built, tune)


def _shapes(a, b, offsets):
    """((rows, N), groups). Raises SimlayoutError for Operands of other shapes."""
    if len(a.shape) != 2 or len(b.shape) != 3 or a.shape[1] != b.shape[1]:
        raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: pass a of (rows, K) and b of (groups, K, N)")
    check_offsets(offsets.shape, offsets.strides, TYPES[offsets.dtype].storage, b.shape[0])
    if a.shape[1] == 0:
        raise SimlayoutError("K is 0: which rows of out would be zero, the device alone knows; clear out instead")
    return (a.shape[0], b.shape[2]), b.shape[0]


def _scales(a, b, scales):
    """({"a", "b": Scales}, bytes from the scales of one group's b to those of the next) of Operands; {}, 0 without."""
    if not scales:
        return {}, 0
    described = [(name, x.shape, x.strides, TYPES[x.dtype].storage) for name, x in scales.items()]
    of_a = scales_of(*described[0], a.shape[0], a.shape[1])
    of_b, step = scales_of_groups(*described[1], b.shape[0], b.shape[2], a.shape[1])
    if of_a.step == of_a.deep == 0:                      # one for all rows is one for each
        of_a = replace(of_a, grain=1)
    if of_a.by_blocks and of_a.grain > 1:
        raise SimlayoutError("scale_a has a scale for 128 rows, and groups begin at any row: pass one for each row, "
                             f"({a.shape[0]}, {-(-a.shape[1] // 128)})")
    return {"a": of_a, "b": of_b}, step


def _read(a, b, offsets, scale_a, scale_b):
    """{name: array} of what a call reads."""
    if (scale_a is None) != (scale_b is None):
        raise SimlayoutError("scale_a and scale_b go together: pass both, of a single 1 where nothing is to be scaled")
    read = {"a": a, "b": b, "offsets": offsets}
    return read if scale_a is None else read | {"scale_a": scale_a, "scale_b": scale_b}


def grouped_matmul(a: Any, b: Any, offsets: Any, out: Any = None, *, kernel: str | Kernel = "auto", stream: Any = None,
                   overlap: bool = True, scale_a: Any = None, scale_b: Any = None, tune: str | float = "kept") -> Any:
    """out[i] = a[i] @ b[g] for the rows i of each group g, as torch._grouped_mm and torch._scaled_grouped_mm.

    a (rows, K), b (groups, K, N): arrays on one GPU as `matmul` takes them, of any strides that it takes; a is read in place
    where K is contiguous, b where N or K is, of 8-bit elements K; others are copied first. offsets: int32 (groups,) on the
    GPU, contiguous: for each group the number of the row behind its last one; the first group begins at row 0. They are read
    when the product runs, during which they must not change; so nothing waits for them, and a CUDA graph may be replayed
    with others. Groups may be of any size, also empty. Rows behind the last group are not written. Offsets must not fall: a
    group that would end before it begins is taken for empty, and a row that two groups then share holds the product of
    either. An offset below 0 counts as 0, one beyond the rows as their number, so that nothing outside of out is ever
    written.

    out: (rows, N) with contiguous rows, as `matmul`'s, a new array by default. scale_a, scale_b: float32 arrays on the GPU:
    of one element, or scale_a with one for each row of a, (rows,) or (rows, 1), and scale_b with one for each column of each
    b, (groups, N); of 8-bit operands also with scales for every 128 of K, scale_a (rows, K / 128) and scale_b (groups, K /
    128, N) or (groups, K / 128, N / 128), rounded up. kernel, stream, overlap, tune: as of `matmul`, for a GPU of compute
    capability 9.0; a `Hopper` configuration is taken with grouped=True and split=False. What is measured, unless something
    is kept for so many rows in so many groups, has groups of several sizes, whatever offsets say.

    Returns out at once. Raises SimlayoutError for arrays that cannot be multiplied, and DeviceError if there is no GPU that
    can do it; then nothing has been launched. Legal in a CUDA graph capture if the same call was made once before.
    """
    read = _read(a, b, offsets, scale_a, scale_b)
    recipe, addresses = GroupedRecipe.of(read, out, kernel, overlap, tune)
    return launched(recipe, addresses, a, out, stream)


def plan_grouped_matmul(a: Any, b: Any, offsets: Any, out: Any, *, kernel: str | Kernel = "auto", overlap: bool = True,
                        scale_a: Any = None, scale_b: Any = None, tune: str | float = "kept") -> Prepared:
    """Prepares a grouped product for many calls: returns a Prepared, which is called with a stream or without one.

    Arguments, checks and errors are those of `grouped_matmul`. The elements of the arrays, offsets too, may change between
    calls. Calls are legal in a CUDA graph capture.
    """
    if out is None:
        raise SimlayoutError("plan_grouped_matmul needs out: the array that every call writes")
    read = _read(a, b, offsets, scale_a, scale_b)
    recipe, addresses = GroupedRecipe.of(read, out, kernel, overlap, tune)
    return Prepared(recipe, addresses, read, out)
