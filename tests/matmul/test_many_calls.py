"""Many calls of every kind of product, from two threads on two streams of a driver that is not there: right, and what is
kept of them is bounded."""

import gc
import threading
import tracemalloc

import ml_dtypes
import numpy as np
from cut_tiles import assert_cut
from host_kit import aligned, host, install, numbers

from cuda_kernels import grouped_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul import recipe
from cuda_kernels.matmul.workspace import STREAMS

F16, E4M3 = np.dtype(np.float16), np.dtype(ml_dtypes.float8_e4m3fn)
SPLIT, DEEP = Hopper(split=True), ((128, 2048), (2048, 256))
KEPT = 4
"""Recipes in the cache, and launches of each: fewer than there are products."""


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def kinds(torch, stream):
    """[(call(), what it makes)] of products on a stream, each to an array of its own."""
    tensor = torch.Tensor
    a, b, deep, wide = (aligned(numbers(shape, F16, i)) for i, shape in enumerate(((72, 64), (64, 40), *DEEP)))
    a8, b8 = aligned(numbers((72, 128), E4M3, 4)), aligned(numbers((2, 40, 128), E4M3, 5))
    ends = np.array([30, 72], np.int32)
    scales, bias = aligned(np.full((72, 1), 0.5, np.float32)), aligned(numbers((40,), F16, 6))
    one, apart = aligned(np.ones((1, 40), np.float32)), aligned(numbers((144, 128), F16, 7))[::2, ::2]
    mine = aligned(np.zeros((72, 40), F16))
    prepared = host.plan_matmul(tensor(a), tensor(b), tensor(mine), bias=tensor(bias))
    given = {"stream": stream}
    of_groups = np.concatenate([product(a8[:30], b8[0].T), product(a8[30:], b8[1].T)])
    return [
        (lambda: host.matmul(tensor(a), tensor(b), **given), product(a, b)),
        (lambda: host.matmul(tensor(a), tensor(b), bias=tensor(bias), activation="relu", **given),
         np.maximum(product(a, b) + bias.astype(np.float32), 0)),
        (lambda: host.matmul(tensor(deep), tensor(wide), kernel=SPLIT, **given), product(deep, wide)),
        (lambda: host.matmul(tensor(deep), tensor(wide), kernel=SPLIT, alpha=0.5, **given), product(deep, wide) / 2),
        (lambda: host.matmul(tensor(apart), tensor(b), **given), product(apart, b)),
        (lambda: host.matmul(tensor(a8), tensor(b8[0].T), scale_a=tensor(scales), scale_b=tensor(one), **given),
         product(a8, b8[0].T) / 2),
        (lambda: grouped_matmul(tensor(a8), tensor(b8.swapaxes(1, 2)), tensor(ends), **given), of_groups),
        (lambda: prepared(stream), product(a, b) + bias.astype(np.float32))]


def test_calls_of_all_kinds_on_two_streams_are_right_and_what_the_host_keeps_of_them_does_not_grow(monkeypatch):
    assert_cut(SPLIT, 128, 256, 2048, sms=8)
    library, torch = install(monkeypatch, sms=8)
    monkeypatch.setattr(recipe, "CACHE_SIZE", KEPT)
    on_streams, wrong = [kinds(torch, stream) for stream in (16, 32)], []

    def work(products, count):
        for i in range(count):
            call, wanted = products[i % len(products)]
            made = call().array
            if not np.array_equal(made, wanted.astype(made.dtype)):
                wrong.append(i)

    def both(count):
        threads = [threading.Thread(target=work, args=(products, count)) for products in on_streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        library.launches.clear()
        torch.made.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    both(16)
    tracemalloc.start()
    try:
        before, after = both(64), both(128)
    finally:
        tracemalloc.stop()
    assert not wrong and after - before < 100_000
    assert len(recipe.RECIPES) <= KEPT and all(len(one.launches) <= KEPT for one in recipe.RECIPES.values())
    assert len(library.memory) == 2                      # a workspace for each stream


def test_streams_that_come_and_go_get_no_more_than_a_few_workspaces(monkeypatch):
    library, torch = install(monkeypatch, sms=8)
    a, b = (torch.Tensor(aligned(numbers(shape, F16))) for shape in DEEP)
    wanted = product(a.array, b.array).astype(F16)
    for stream in range(16, 16 + 2 * STREAMS):
        assert np.array_equal(host.matmul(a, b, kernel=SPLIT, stream=stream).array, wanted)
    assert len(library.memory) == STREAMS
