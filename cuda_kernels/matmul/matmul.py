"""matmul: NumPy's product of arrays that already lie on a GPU.

A Recipe holds everything that a call needs, and is made once per description of the arguments (shapes, strides, dtypes,
device, kernel). For each set of addresses it keeps the launches, with their tensor maps encoded. A call that was made before
takes two look-ups.
"""

import sys
from threading import Lock
from types import MappingProxyType
from typing import Any

from cuda_kernels.kernels.hopper.rules import fault_of
from cuda_kernels.kernels.hopper.scaling import scaled_by, scales_of
from cuda_kernels.matmul import arrays
from cuda_kernels.matmul.arrays import contiguous, extent, look, operand
from cuda_kernels.matmul.finish import NAMES, PLAIN, finish_of
from cuda_kernels.matmul.product import check_strides, result_shape
from cuda_kernels.matmul.steps import steps_for
from cuda_kernels.matmul.workspace import Workspaces
from cuda_kernels.run import driver
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.kernel import Kernel

_NEW = (-1,)
"""The description of an out that is yet to be made."""

ROLES = "a", "b", "c", "scratch", "split", "counters"
"""Whose addresses a launch needs, in the order in which they are passed on; those of scales, bias and so on follow."""

CACHE_SIZE = 256
"""Recipes in the cache, and launches per recipe; the oldest goes first."""

MOST_SECONDS = 3600
"""That a product may be measured for."""

_recipes = {}
_lock = Lock()
_workspaces = Workspaces()


def _cache(cache, key, value):
    with _lock:
        while len(cache) >= CACHE_SIZE:
            del cache[next(iter(cache))]
        cache[key] = value
    return value


RESULTS = {"f16": "f16", "bf16": "bf16", "e4m3": "bf16", "e5m2": "bf16", "s8": "s32", "u8": "s32"}
"""Types of operands -> of a result for which no out was given; of integers that are scaled it is bf16."""


class Recipe:
    """A product but for addresses. a, b, out: Operands, out None for a new array; kernel, overlap, tune: as of `matmul`;
    more: the Operands of what else it reads, by the names of `matmul`'s arguments; finishing: its activation, alpha and
    beta."""

    def __init__(self, cuda, a, b, out, kernel, overlap, tune, more=MappingProxyType({}), finishing=PLAIN):
        check_types(a, b)
        shape = result_shape(a.shape, b.shape)
        finishes, read, scales = finishing != PLAIN or not NAMES.isdisjoint(more), more.values(), _scales(a, b, more)
        self.cuda, self.shape, self.dtype = cuda, shape, out.dtype if out else result_of(a.dtype, finishes or bool(scales))
        self.roles, size = (*ROLES, *more), TYPES[self.dtype].bytes
        strides = out.strides if out else contiguous(shape, size)
        added = {name: x for name, x in more.items() if name in NAMES}
        finish = finish_of(finishing, added, b.shape, shape, strides, self.dtype)
        scaled = scaled_by(*scales.values()) if scales else ""
        if fault := fault_of((a.dtype, b.dtype), self.dtype, scaled, str(finish.epilogue)):
            raise SimlayoutError(fault)
        self.device, self.kind, self.launches = _one_device(a, b, out, *read), a.kind, {}
        for name, x in (("a", a), ("b", b)):
            check_strides(name, x.shape, x.strides, x.itemsize, True)
        if out:
            _check_out(out, shape)
        self.strides, self.extents = strides, (a.extent, b.extent, extent(shape, strides, size), *(x.extent for x in read))
        self.stream = _default_stream([x for x in (a, b, out, *read) if x], self.device)
        self.steps, self.scratch, self.split, self.counters, self.kernel = (), 0, 0, 0, None
        self.clears = 0 in a.shape[-1:] and 0 not in shape
        if self.clears and finish:
            raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: no kernel finishes sums of nothing")
        if 0 not in shape and not self.clears:
            aligned = {name: x is None or x.address % 16 == 0 for name, x in (("a", a), ("b", b), ("c", out))}
            aligned["added"] = all(x.address % 16 == 0 for x in added.values())
            given = (a.shape, a.strides), (b.shape, b.strides), (shape, strides)
            wanted = kernel, cuda, self.device, (a.dtype, b.dtype), self.dtype, aligned, overlap, scales, finish
            builder = built(wanted, given, tune != "off")
            if not isinstance(tune, str):
                from cuda_kernels.matmul.tune.measure import tune_once

                if tune_once(cuda, self.device, builder.wanted, tune, self.stream()):
                    _recipes.clear()                 # products of other strides were made without it
                    builder = built(wanted, given, True)
            self.steps, self.kernel = tuple(builder.steps), builder.kernel
            self.scratch, self.split, self.counters = builder.scratch, builder.split, builder.counters
        self.gradients = any(getattr(x.owner, "requires_grad", False) for x in (a, b, out, *read) if x)
        self.simple = not self.scratch and not self.split and not self.clears

    def bind(self, key):
        """The launches for addresses of the roles; kept."""
        addresses = dict(zip(self.roles, key))
        launches = tuple(step.bind(self.cuda, self.device, addresses) for step in self.steps)
        return _cache(self.launches, key, launches)

    def check_overlap(self, at_a, at_b, at_c, at_more):
        """Raises SimlayoutError if out shares memory with what is read, judged by their whole extents. It may be what lies
        as it does, the residual or what is multiplied: each element is read before it is written."""
        end, names = at_c + self.extents[2], self.roles[len(ROLES):]
        read = (("a", at_a, self.extents[0]), ("b", at_b, self.extents[1]), *zip(names, at_more, self.extents[3:]))
        for name, at, size in read:
            same = at == at_c and name in ("residual", "multiply")
            if at_c < at + size and at < end and size and end > at_c and not same:
                raise SimlayoutError(f"out overlaps {name} in memory, so the product would read what it has written: pass "
                                     "another out")

    def new(self, like, shape, dtype, stream):
        """A new array of the caller's library."""
        return arrays.new(like, self.kind, shape, dtype, self.device, stream)

    def clear(self, at_c, stream):
        """Writes zeros to out: the product where K is 0."""
        self.cuda.zero(at_c, self.strides, self.shape, TYPES[self.dtype].bytes, stream, self.device)

    def take(self, like, stream, pool, private=False):
        """((scratch, split, counters) addresses, what keeps them alive), for use on a stream.

        pool: the handle of the stream whose memory pool the caller's library must use, None for the current one; private:
        all memory is the caller's own, none shared through `Workspaces`.
        """
        split = counters = 0
        if self.split and not private:
            split, counters = _workspaces.get(self.cuda, self.device, stream, self.split, self.counters)
        own = bool(self.split) and not split
        nbytes = self.scratch + (-(-(self.split + self.counters) // 256) * 256 if own else 0)
        if not nbytes:
            return (0, split, counters), None
        keep = self.new(like, (nbytes // 2 + 128,), "f16", pool)
        at = -(-look(keep, "workspace")[1] // 256) * 256
        if own:
            split, counters = at + self.scratch, at + self.scratch + self.split
            self.cuda.zero(counters, (1,), (self.counters,), 1, stream, self.device)
        return (at, split, counters), keep


def check_types(a, b):
    """Raises SimlayoutError for Operands whose elements are not multiplied."""
    for name, x in (("a", a), ("b", b)):
        if x.dtype not in RESULTS:
            raise SimlayoutError(f"{name} is {TYPES[x.dtype].storage}; {arrays.TAKEN}")


def built(wanted, given, use_kept):
    """The Steps of a product. wanted: the first arguments of `steps_for`; given: (shape, strides) of a, b and out."""
    builder, kernel = steps_for(*wanted, use_kept)
    builder.build(*given, kernel)
    return builder


def _one_device(*operands):
    devices = {x.device for x in operands if x is not None and x.device is not None}
    if len(devices) > 1:
        raise SimlayoutError(f"the arrays are on GPUs {', '.join(map(str, sorted(devices)))}: move them to one")
    return devices.pop() if devices else 0


def _tune(tune, kernel):
    """What `tune` asks for. Raises SimlayoutError for anything else, and where there is no choice."""
    if isinstance(tune, str) and tune in ("kept", "off"):
        return tune
    if isinstance(tune, bool) or not isinstance(tune, int | float) or not 0 < tune <= MOST_SECONDS:
        raise SimlayoutError(f'tune = {tune!r}: choose "kept", "off", or seconds to measure for, up to {MOST_SECONDS}')
    if kernel != "auto":
        raise SimlayoutError(f"tune = {tune!r} chooses a configuration, and kernel={kernel!r} is one: leave out either")
    return tune


def result_of(dtype, scaled):
    """The dtype of a result for which no out was given, of operands of a dtype; scaled: whether they have scales."""
    return "bf16" if scaled and RESULTS[dtype] == "s32" else RESULTS[dtype]


def _scales(a, b, more):
    """{"a", "b": Scales} of the Operands "scale_a" and "scale_b" of `more`; {} without scales."""
    scales = [more[name] for name in ("scale_a", "scale_b") if name in more]
    if len(scales) == 1:
        raise SimlayoutError("scale_a and scale_b go together: pass both, of a single 1 where nothing is to be scaled")
    if not scales:
        return {}
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: only a product of two matrices is scaled")
    return {which: scales_of(f"scale_{which}", x.shape, x.strides, TYPES[x.dtype].storage, lines, a.shape[1])
            for which, x, lines in zip("ab", scales, (a.shape[0], b.shape[1]))}


def _check_out(out, shape):
    if out.dtype not in ("f16", "bf16", "f32", "s32"):
        raise SimlayoutError(f"out is {TYPES[out.dtype].storage}: results are float16, bfloat16 or float32, of "
                             "integers int32")
    if not out.writeable:
        raise SimlayoutError("out is read-only")
    if out.shape != shape:
        raise SimlayoutError(f"out has shape {out.shape}, the product {shape}")
    check_strides("out", out.shape, out.strides, out.itemsize, False)


def _default_stream(operands, device):
    """A function that returns the stream to use if the caller names none; the arrays must agree on it."""
    kinds = sorted({x.kind for x in operands if x.kind in ("torch", "cupy")})
    named = {x.stream for x in operands if x.stream is not None}
    sources = [arrays.current_stream(kind, device) for kind in kinds] + [lambda s=s: s for s in named]
    if len(sources) < 2:
        return sources[0] if sources else lambda: 0

    def agreed():
        handles = {source() for source in sources}
        if len(handles) > 1:
            streams = ", ".join(map(hex, sorted(handles)))
            raise SimlayoutError(f"the arrays belong to different streams ({streams}): pass stream=")
        return handles.pop()

    return agreed


def _no_gradient(*tensors):
    """Raises SimlayoutError for torch tensors that require a gradient, because this product records none."""
    torch = sys.modules.get("torch")
    if torch and torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors):
        raise SimlayoutError("matmul records no gradient: call it under torch.no_grad(), or on .detach() of the tensors")


def _named(scale_a, scale_b, bias, residual, multiply):
    """{name: array} of what a call reads beside a and b."""
    if scale_a is None and scale_b is None and bias is None and residual is None and multiply is None:
        return {}
    named = {"scale_a": scale_a, "scale_b": scale_b, "bias": bias, "residual": residual, "multiply": multiply}
    return {name: x for name, x in named.items() if x is not None}


def _lookup(a, b, out, kernel, overlap, tune, more, finishing):
    """(recipe, addresses of a, b and out, those of what else is read) for these arrays. more: of `_named`; finishing:
    activation, alpha and beta. If the recipe is new, everything is checked and it is made."""
    look_a, at_a = look(a, "a")
    look_b, at_b = look(b, "b")
    look_c, at_c = (_NEW, 0) if out is None else look(out, "out")
    cuda, looks, at_more = driver.cuda(), (), ()
    key = look_a, look_b, look_c, kernel, overlap, tune, finishing
    if more:
        looks, at_more = zip(*(look(x, name) for name, x in more.items()))
        key += (*more, *looks)
    if cuda.devices > 1 and None in (look_a[0], look_b[0], look_c[0], *(look[0] for look in looks)):
        key += tuple(cuda.device_of(at, name) if at else None for at, name in
                     zip((at_a, at_b, at_c, *at_more), ("a", "b", "out", *more)))
    try:
        recipe = _recipes.get(key)
    except TypeError:
        raise SimlayoutError("kernel, tune and activation are names, and alpha and beta are numbers: one of them is neither "
                             "(an array of one number: pass float(x))") from None
    if recipe is None:
        operands = [None if x is None else operand(x, name, cuda) for x, name in ((a, "a"), (b, "b"), (out, "out"))]
        read = {name: operand(x, name, cuda, "its type is out's" if name in NAMES else "scales are float32")
                for name, x in more.items()}
        recipe = _cache(_recipes, key, Recipe(cuda, *operands, kernel, overlap, _tune(tune, kernel), read, finishing))
    if recipe.gradients:
        _no_gradient(a, b, out, *more.values())
    if out is not None:
        recipe.check_overlap(at_a, at_b, at_c, at_more)
    return recipe, at_a, at_b, at_c, at_more


def matmul(a: Any, b: Any, out: Any = None, *, kernel: str | Kernel = "auto", stream: Any = None,
           overlap: bool = False, scale_a: Any = None, scale_b: Any = None, alpha: float = 1.0, beta: float | None = None,
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
    done in float32, in the order above, and rounded once (on GPUs of compute capability 9.0; K is at least 1).

    kernel: "auto", a name, a `Kernel` or a `Hopper` configuration, of which the types, the orders of memory, the scales and
    the epilogue become those of the arguments. stream: where to launch, a handle or a torch, CuPy, Numba or cuda.core
    stream; by default the current stream of the arrays' library. overlap: whether the kernel may start while the one ahead
    of it in the stream ends (programmatic dependent launch); it reads and writes the arrays only after that one has ended.

    tune: "kept" (a configuration that was measured on this GPU and is kept on disk, by `simlayout tune` say, is used), "off"
    (it is not), or a number of seconds: where nothing is kept for this product its likeliest configurations are measured
    first, for about so long, and the best is kept; compiling them is not counted. Nothing is measured unasked.

    Returns out at once. The product is complete when the stream has finished its work. Raises SimlayoutError for arrays that
    cannot be multiplied, and DeviceError if there is no GPU that can do it; then nothing has been launched. Legal in a CUDA
    graph capture if the same call was made once before.
    """
    more = _named(scale_a, scale_b, bias, residual, multiply)
    recipe, at_a, at_b, at_c, at_more = _lookup(a, b, out, kernel, overlap, tune, more, (activation, alpha, beta))
    return launched(recipe, a, out, at_a, at_b, at_c, at_more, stream)


def launched(recipe, a, out, at_a, at_b, at_c, at_more, stream):
    """out, or a new array where that is None, behind the launches of a Recipe on a stream, as a caller names it. at_more:
    addresses of what is read beside a and b."""
    handle = recipe.stream() if stream is None else arrays.handle(stream)
    pool = None if stream is None else handle
    if out is None:
        out = recipe.new(a, recipe.shape, recipe.dtype, pool)
        at_c = arrays.address(out, recipe.kind)
    key, keep = (at_a, at_b, at_c, 0, 0, 0, *at_more), None
    if not recipe.simple:
        if recipe.clears:
            recipe.clear(at_c, handle)
        scratch, keep = recipe.take(a, handle, pool)
        key = at_a, at_b, at_c, *scratch, *at_more
    for launch in recipe.launches.get(key) or recipe.bind(key):
        launch(handle)
    del keep                                         # its pool gives it out again behind these launches, in stream order
    return out


class Prepared:
    """A product of three arrays that is ready to run: call it with a stream (a handle or an object), or without one to use
    the current stream of the arrays' library. It keeps the arrays and a workspace of its own, so only one call may run at a
    time. out: the array of the result; launches: the launches of a call, in order."""

    def __init__(self, recipe: "Recipe", a: Any, b: Any, out: Any, addresses: list[int], more: tuple = ()):
        self._recipe, self._keep, self.out = recipe, [a, b, *(x for x, _ in more)], out
        stream = recipe.stream()
        scratch, workspace = recipe.take(a, stream, None, private=True)
        if recipe.split:
            recipe.cuda.synchronize(recipe.device, stream)    # the counters are zero before any stream uses them
        self._keep.append(workspace)
        self._at_c = addresses[2]
        key = (*addresses, *scratch, *(at for _, at in more))
        self.launches = recipe.bind(key) if recipe.steps else ()
        self._stream = recipe.stream

    def __call__(self, stream=None):
        """Launches the product and returns out at once."""
        if stream is None:
            stream = self._stream()
        elif type(stream) is not int:
            stream = arrays.handle(stream)
        for launch in self.launches:
            launch(stream)
        if self._recipe.clears:
            self._recipe.clear(self._at_c, stream)
        return self.out

    @property
    def kernel(self) -> Kernel | None:
        """The Kernel, fitted to the arrays; None if nothing is multiplied."""
        return self._recipe.kernel

    def __repr__(self):
        return f"Prepared({self._recipe.shape}, {self._recipe.dtype}, {self._recipe.kernel and self._recipe.kernel.options})"


def plan_matmul(a: Any, b: Any, out: Any, *, kernel: str | Kernel = "auto", overlap: bool = False, scale_a: Any = None,
                scale_b: Any = None, alpha: float = 1.0, beta: float | None = None, residual: Any = None, bias: Any = None,
                activation: str | None = None, multiply: Any = None, tune: str | float = "kept") -> Prepared:
    """Prepares out = a @ b for many calls: returns a Prepared, which is called with a stream or without one.

    Arguments, checks and errors are those of `matmul`. Everything is checked here, and not again in a call. The elements of
    the arrays may change between calls. Calls are legal in a CUDA graph capture.
    """
    if out is None:
        raise SimlayoutError("plan_matmul needs out: the array that every call writes")
    more = _named(scale_a, scale_b, bias, residual, multiply)
    recipe, *addresses, at_more = _lookup(a, b, out, kernel, overlap, tune, more, (activation, alpha, beta))
    return Prepared(recipe, a, b, out, addresses, tuple(zip(more.values(), at_more)))
