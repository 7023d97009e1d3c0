"""matmul: NumPy's product of arrays that already lie on a GPU."""

from typing import Any

from cuda_kernels.kernels.hopper.rules import fault_of
from cuda_kernels.kernels.hopper.scaling import scaled_by, scales_of
from cuda_kernels.matmul.arrays import contiguous
from cuda_kernels.matmul.finish import NAMES, PLAIN, finish_of
from cuda_kernels.matmul.product import result_shape
from cuda_kernels.matmul.recipe import Prepared, Recipe, check_types, launched, result_of
from cuda_kernels.matmul.steps import steps_for
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.kernel import Kernel


class ProductRecipe(Recipe):
    """The Recipe of a product. read: the Operands by the names of `matmul`'s arguments; out: an Operand, None for a new
    array; kernel, overlap, tune: as of `matmul`; finishing: its activation, alpha and beta."""

    expected = ("kernel, tune and activation are names, alpha and beta numbers, and overlap is True or False: one of them "
                "is nothing of the kind (an array of one number: pass float(x))")
    kinds = dict.fromkeys(NAMES, "its type is out's") | dict.fromkeys(("scale_a", "scale_b"), "scales are float32")

    def __init__(self, cuda, read, out, kernel, overlap, tune, finishing):
        a, b = read["a"], read["b"]
        check_types(a, b)
        shape, scales = result_shape(a.shape, b.shape), _scales(read)
        finishes = finishing != PLAIN or not NAMES.isdisjoint(read)
        dtype = out.dtype if out else result_of(a.dtype, finishes or bool(scales))
        strides = out.strides if out else contiguous(shape, TYPES[dtype].bytes)
        added = {name: x for name, x in read.items() if name in NAMES}
        finish = finish_of(finishing, added, b.shape, shape, strides, dtype)
        scaled = scaled_by(*scales.values()) if scales else ""
        if fault := fault_of((a.dtype, b.dtype), dtype, scaled, str(finish.epilogue)):
            raise SimlayoutError(fault)
        super().__init__(cuda, read, out, shape, dtype)
        if 0 in a.shape[-1:] and 0 not in shape:
            if finish:
                raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: no kernel finishes sums of nothing")
            self.clears, self.simple = True, False
        elif 0 not in shape:
            aligned = {name: x is None or x.address % 16 == 0 for name, x in (("a", a), ("b", b), ("c", out))}
            aligned["added"] = all(x.address % 16 == 0 for x in added.values())
            given = (a.shape, a.strides), (b.shape, b.strides), (shape, strides)

            def built(use_kept):
                builder, named = steps_for(kernel, cuda, self.device, (a.dtype, b.dtype), dtype, aligned, overlap, scales,
                                           finish, use_kept)
                builder.build(*given, named)
                return builder

            self.follow(built, tune)


def _scales(read):
    """{"a", "b": Scales} of the Operands "scale_a" and "scale_b"; {} without scales."""
    a, b, *scales = (read[name] for name in ("a", "b", "scale_a", "scale_b") if name in read)
    if len(scales) == 1:
        raise SimlayoutError("scale_a and scale_b go together: pass both, of a single 1 where nothing is to be scaled")
    if not scales:
        return {}
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: only a product of two matrices is scaled")
    return {which: scales_of(f"scale_{which}", x.shape, x.strides, TYPES[x.dtype].storage, lines, a.shape[1])
            for which, x, lines in zip("ab", scales, (a.shape[0], b.shape[1]))}


def _read(a, b, scale_a, scale_b, bias, residual, multiply):
    """{name: array} of what a call reads."""
    if scale_a is None and scale_b is None and bias is None and residual is None and multiply is None:
        return {"a": a, "b": b}
    named = {"scale_a": scale_a, "scale_b": scale_b, "bias": bias, "residual": residual, "multiply": multiply}
    return {"a": a, "b": b} | {name: x for name, x in named.items() if x is not None}


def matmul(a: Any, b: Any, out: Any = None, *, kernel: str | Kernel = "auto", stream: Any = None,
           overlap: bool = True, scale_a: Any = None, scale_b: Any = None, alpha: float = 1.0, beta: float | None = None,
           residual: Any = None, bias: Any = None, activation: str | None = None, multiply: Any = None,
           tune: str | float = "kept") -> Any:
    """a @ b by NumPy's rules, for arrays on one GPU; or activation(alpha (a @ b) + beta residual + bias) * multiply.

    a (..., M, K), b (..., K, N): torch, CuPy or Numba arrays, or any with `__cuda_array_interface__` or DLPack; float16 or
    bfloat16, both the same, or float8_e4m3fn and float8_e5m2, or int8 and uint8, also mixed. Vectors and broadcast batches
    are as in numpy.matmul. Strides may be any that are not negative and do not overlap (batch dimensions may repeat). All
    four transposes are read in place; of 8-bit elements an operand in which K is not contiguous is copied first.
    Accumulation is in float32, of 8-bit floats with the 13 bits behind the point that the tensor cores keep, of integers in
    int32, which wraps.

    out: an array of the product's shape, float16, bfloat16 or float32, or int32 of integers without scales, that shares no
    memory with what is read. By default a new array of a's kind and dtype, bfloat16 for 8-bit floats and for integers that
    are scaled, int32 for other integers. scale_a, scale_b: float32 arrays on the GPU, by which a product of two matrices is
    multiplied before it is rounded, as by torch._scaled_mm: of one element, or scale_a with one for each row of a and
    scale_b with one for each column of b. Of 8-bit operands every 128 of K may have scales of its own: scale_a of shape (M,
    K / 128) or (M / 128, K / 128), scale_b (K / 128, N) or (K / 128, N / 128), rounded up, of any strides; then sums of 128
    of K are added in float32, each times its scales.

    alpha, beta: numbers, as float32; residual, multiply: arrays of out's shape, strides and dtype, each of which may be out
    itself; bias: of out's dtype, one for each column; activation: "relu", "gelu", "gelu_tanh" or "silu". What is named is
    done in float32, in the order above, and rounded once (on GPUs of compute capability 9.0; K is at least 1). With beta = 0
    the residual is not read, as in BLAS: out may hold anything then, NaN among it.

    kernel: "auto", a name, a `Kernel` or a `Hopper` configuration, of which the types, the orders of memory, the scales and
    the epilogue become those of the arguments. stream: where to launch, a handle or a torch, CuPy, Numba or cuda.core
    stream; by default the current stream of the arrays' library. overlap: whether the kernel may be launched before the one
    ahead of it in the stream has ended (programmatic dependent launch), where it is one for Hopper, from CUDA 12.3 on; in a
    CUDA graph only behind another such product. It reads and writes memory only once that one has ended, and a kernel behind
    it begins as ever, unless that is launched to overlap, too.

    tune: "kept" (a configuration that was measured on this GPU and is kept on disk, by `simlayout tune` say, is used), "off"
    (it is not), or a number of seconds: where nothing is kept for this product its likeliest configurations are measured
    first, for about so long, and the best is kept; compiling them is not counted. Nothing is measured unasked.

    Returns out at once. The product is complete when the stream has finished its work. Raises SimlayoutError for arrays that
    cannot be multiplied, and DeviceError if there is no GPU that can do it; then nothing has been launched. Legal in a CUDA
    graph capture if the same call was made once before.
    """
    read = _read(a, b, scale_a, scale_b, bias, residual, multiply)
    recipe, addresses = ProductRecipe.of(read, out, kernel, overlap, tune, (activation, alpha, beta))
    return launched(recipe, addresses, a, out, stream)


def plan_matmul(a: Any, b: Any, out: Any, *, kernel: str | Kernel = "auto", overlap: bool = True, scale_a: Any = None,
                scale_b: Any = None, alpha: float = 1.0, beta: float | None = None, residual: Any = None, bias: Any = None,
                activation: str | None = None, multiply: Any = None, tune: str | float = "kept") -> Prepared:
    """Prepares out = a @ b for many calls: returns a Prepared, which is called with a stream or without one.

    Arguments, checks and errors are those of `matmul`. Everything is checked here, and not again in a call. The elements of
    the arrays may change between calls. Calls are legal in a CUDA graph capture.
    """
    if out is None:
        raise SimlayoutError("plan_matmul needs out: the array that every call writes")
    read = _read(a, b, scale_a, scale_b, bias, residual, multiply)
    recipe, addresses = ProductRecipe.of(read, out, kernel, overlap, tune, (activation, alpha, beta))
    return Prepared(recipe, addresses, read, out)
