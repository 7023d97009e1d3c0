"""What a product is kept as: everything that a call needs, and what every call does with it.

A Recipe is made once per description of the arguments (shapes, strides, dtypes, device, kernel). For each set of addresses
it keeps the launches, with their tensor maps encoded. A call that was made before takes two look-ups. Which products there
are is said above: `matmul`, and `grouped`, of groups of rows.
"""

import sys
from threading import Lock
from typing import Any

from cuda_kernels.matmul import arrays
from cuda_kernels.matmul.arrays import TAKEN, contiguous, extent, look, operand
from cuda_kernels.matmul.product import check_strides
from cuda_kernels.matmul.workspace import Workspaces
from cuda_kernels.run import driver
from cuda_kernels.run.captures import STREAMS
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.kernel import Kernel

NEW = (-1,)
"""The description of an out that is yet to be made."""

ROLES = "c", "scratch", "split", "counters"
"""Whose addresses a launch needs, behind those of what it reads, in the order in which they are passed on."""

CACHE_SIZE = 256
"""Recipes that are kept, and launches per recipe; the oldest goes first."""

RECIPES: dict = {}
WORKSPACES = Workspaces()
_LOCK = Lock()


def keep(kept, key, value):
    """value, kept in RECIPES or among the launches of a Recipe."""
    with _LOCK:
        while len(kept) >= CACHE_SIZE:
            del kept[next(iter(kept))]
        kept[key] = value
    return value


RESULTS = {"f16": "f16", "bf16": "bf16", "e4m3": "bf16", "e5m2": "bf16", "s8": "s32", "u8": "s32"}
"""Types of operands -> of a result for which no out was given; of integers that are scaled it is bf16."""


class Recipe:
    """A product but for addresses: `follow` gives it its steps. cuda: the driver; read: the Operands by the names of the
    call's arguments, "a" and "b" first; out: an Operand, None for a new array; shape, dtype: of out.

    A subclass takes (cuda, read, out, *settings). expected: what its settings are; kinds: name -> which elements there are
    of what is read beside a and b.
    """

    expected: str
    kinds: dict[str, str]

    def __init__(self, cuda, read, out, shape, dtype):
        self.cuda, self.shape, self.dtype, self.roles, size = cuda, shape, dtype, (*read, *ROLES), TYPES[dtype].bytes
        given = [*read.values(), *([out] if out else [])]
        self.device, self.kind, self.launches = one_device(given), read["a"].kind, {}
        for name in ("a", "b"):
            check_strides(name, read[name].shape, read[name].strides, read[name].itemsize, True)
        if out:
            check_out(out, shape)
        self.strides = out.strides if out else contiguous(shape, size)
        self.extents, self.extent = tuple(x.extent for x in read.values()), extent(shape, self.strides, size)
        self.stream = default_stream(given, self.device)
        self.gradients = any(getattr(x.owner, "requires_grad", False) for x in given)
        self.steps, self.scratch, self.split, self.counters, self.kernel = (), 0, 0, 0, None
        self.clears, self.simple = False, True

    @classmethod
    def of(cls, read, out, kernel, overlap, tune, *finishing):
        """(recipe, addresses of what is read and of out) of a call. read: {name: array}, "a" and "b" first; out: None for a
        new array, then its address is 0; the rest: as of `matmul`. A new recipe is made, and everything is checked."""
        looks, addresses = [], []
        for name, x in read.items():
            seen, at = look(x, name)
            looks.append(seen)
            addresses.append(at)
        seen, at = (NEW, 0) if out is None else look(out, "out")
        addresses.append(at)
        key = cls, kernel, overlap, tune, *finishing, *read, *looks, seen
        cuda = driver.cuda()
        if cuda.devices > 1 and any(device is None for device, *_ in (*looks, seen)):
            key += tuple(cuda.device_of(at, name) if at else None for at, name in zip(addresses, (*read, "out")))
        try:
            recipe = RECIPES.get(key)
        except TypeError:
            raise SimlayoutError(cls.expected) from None
        if recipe is None:
            check_tune(tune, kernel)
            if overlap not in (True, False):
                raise SimlayoutError(f"overlap = {overlap!r}: pass True or False")
            operands = {name: operand(x, name, cuda, cls.kinds.get(name, TAKEN)) for name, x in read.items()}
            of_out = None if out is None else operand(out, "out", cuda)
            recipe = keep(RECIPES, key, cls(cuda, operands, of_out, kernel, overlap, tune, *finishing))
        if recipe.gradients:
            no_gradient(*read.values(), out)
        if out is not None:
            recipe.check_overlap(addresses)
        return recipe, addresses

    def follow(self, built, tune):
        """Takes the steps of `built(use_kept)`, a builder of `steps` that has made them, with what they need: for what was
        kept or, where `tune` is seconds, is measured now."""
        builder = built(tune != "off")
        if not isinstance(tune, str):
            from cuda_kernels.matmul.tune.measure import tune_once

            if tune_once(self.cuda, self.device, builder.wanted, tune, self.stream()):
                RECIPES.clear()                          # products of other strides were made without it
                builder = built(True)
        self.steps, self.kernel = tuple(builder.steps), builder.kernel
        self.scratch, self.split, self.counters = builder.scratch, builder.split, builder.counters
        self.simple = not self.scratch and not self.split

    def bind(self, key):
        """The launches for addresses of the roles; kept."""
        addresses = dict(zip(self.roles, key))
        launches = tuple(step.bind(self.cuda, self.device, addresses) for step in self.steps)
        return keep(self.launches, key, launches)

    def check_overlap(self, addresses):
        """Raises SimlayoutError if out shares memory with what is read, judged by their whole extents. It may be what lies
        as it does, the residual or what is multiplied: each element is read before it is written."""
        at_c = addresses[-1]
        end = at_c + self.extent
        for name, at, size in zip(self.roles, addresses, self.extents):
            if at_c < at + size and at < end and size and end > at_c:
                if at == at_c and name in ("residual", "multiply"):
                    continue
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
            split, counters = WORKSPACES.get(self.cuda, self.device, stream, self.split, self.counters)
        own = bool(self.split) and not split
        nbytes = self.scratch + (-(-(self.split + self.counters) // 256) * 256 if own else 0)
        if not nbytes:
            return (0, split, counters), None
        held = self.new(like, (nbytes // 2 + 128,), "f16", pool)
        at = -(-look(held, "workspace")[1] // 256) * 256
        if own:
            split, counters = at + self.scratch, at + self.scratch + self.split
            self.cuda.zero(counters, (1,), (self.counters,), 1, stream, self.device)
        return (at, split, counters), held


MOST_SECONDS = 3600
"""That a product may be measured for."""


def check_tune(tune, kernel):
    """Raises SimlayoutError where `tune`, as of `matmul`, asks for nothing that there is, or there is no choice."""
    if isinstance(tune, str) and tune in ("kept", "off"):
        return
    if isinstance(tune, bool) or not isinstance(tune, int | float) or not 0 < tune <= MOST_SECONDS:
        raise SimlayoutError(f'tune = {tune!r}: choose "kept", "off", or seconds to measure for, up to {MOST_SECONDS}')
    if kernel != "auto":
        raise SimlayoutError(f"tune = {tune!r} chooses a configuration, and kernel={kernel!r} is one: leave out either")


def check_types(a, b):
    """Raises SimlayoutError for Operands whose elements are not multiplied."""
    for name, x in (("a", a), ("b", b)):
        if x.dtype not in RESULTS:
            raise SimlayoutError(f"{name} is {TYPES[x.dtype].storage}; {arrays.TAKEN}")


def result_of(dtype, scaled):
    """The dtype of a result for which no out was given, of operands of a dtype; scaled: whether they have scales."""
    return "bf16" if scaled and RESULTS[dtype] == "s32" else RESULTS[dtype]


def one_device(operands):
    devices = {x.device for x in operands if x.device is not None}
    if len(devices) > 1:
        raise SimlayoutError(f"the arrays are on GPUs {', '.join(map(str, sorted(devices)))}: move them to one")
    return devices.pop() if devices else 0


def check_out(out, shape):
    if out.dtype not in ("f16", "bf16", "f32", "s32"):
        raise SimlayoutError(f"out is {TYPES[out.dtype].storage}: results are float16, bfloat16 or float32, of "
                             "integers int32")
    if not out.writeable:
        raise SimlayoutError("out is read-only")
    if out.shape != shape:
        raise SimlayoutError(f"out has shape {out.shape}, the product {shape}")
    check_strides("out", out.shape, out.strides, out.itemsize, False)


def default_stream(operands, device):
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


def no_gradient(*tensors):
    """Raises SimlayoutError for torch tensors that require a gradient, because this product records none."""
    torch = sys.modules.get("torch")
    if torch and torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors):
        raise SimlayoutError("matmul records no gradient: call it under torch.no_grad(), or on .detach() of the tensors")


def launched(recipe, addresses, a, out, stream):
    """out, or a new array where that is None, behind the launches of a Recipe on a stream, as a caller names it. addresses:
    as of `Recipe.of`."""
    handle = recipe.stream() if stream is None else arrays.handle(stream)
    pool = None if stream is None else handle
    if out is None:
        out = recipe.new(a, recipe.shape, recipe.dtype, pool)
        addresses[-1] = arrays.address(out, recipe.kind)
    key, held = (*addresses, 0, 0, 0), None
    if not recipe.simple:
        if recipe.clears:
            recipe.clear(addresses[-1], handle)
        scratch, held = recipe.take(a, handle, pool)
        key = *addresses, *scratch
    for launch in recipe.launches.get(key) or recipe.bind(key):
        launch(handle)
    del held                                         # its pool gives it out again behind these launches, in stream order
    return out


class Prepared:
    """A product of arrays that is ready to run: call it with a stream (a handle or an object), or without one to use the
    current stream of the arrays' library. It keeps the arrays and a workspace of its own, so only one call may run at a
    time. out: the array of the result; launches: the launches of a call, in order.

    addresses: those of the arrays that it reads, and of out, as of `Recipe.of`."""

    def __init__(self, recipe: "Recipe", addresses: list[int], read: dict[str, Any], out: Any):
        self._recipe, self._keep, self.out = recipe, [*read.values()], out
        stream = recipe.stream()
        scratch, workspace = recipe.take(read["a"], stream, None, private=True)
        if recipe.split:
            recipe.cuda.synchronize(recipe.device, stream)    # the counters are zero before any stream uses them
        self._keep.append(workspace)
        self._at_c = addresses[-1]
        key = *addresses, *scratch
        self.launches = recipe.bind(key) if recipe.steps else ()
        self._stream, self._clears, self._quick = recipe.stream, recipe.clears, {}

    def __call__(self, stream=None):
        """Launches the product and returns out at once."""
        if stream is None:
            stream = self._stream()
        elif type(stream) is not int:
            stream = arrays.handle(stream)
        # each is called as it is on this stream: to look up what does not change took half of our part of a call's time
        for launch, quick in self._quick.get(stream) or self._on(stream):
            if status := quick():
                launch.again(status, stream)
        if self._clears:
            self._recipe.clear(self._at_c, stream)
        return self.out

    def _on(self, stream):
        """[(a launch, its function without arguments)] on a stream, kept."""
        if len(self._quick) >= STREAMS:
            self._quick.clear()
        self._quick[stream] = [(launch, launch.quick(stream)) for launch in self.launches]
        return self._quick[stream]

    @property
    def kernel(self) -> Kernel | None:
        """The Kernel, fitted to the arrays; None if nothing is multiplied."""
        return self._recipe.kernel

    def __repr__(self):
        return f"Prepared({self._recipe.shape}, {self._recipe.dtype}, {self._recipe.kernel and self._recipe.kernel.options})"
