"""The host side of matmul on a fake driver that computes with NumPy from the bytes of a launch's parameters."""

import dataclasses
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from fake_driver import DTYPES
from host_kit import Device, aligned, host, install, numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from tiers import given_few

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul import product, recipe
from simlayout.errors import DeviceError, SimlayoutError

BF16 = np.dtype(ml_dtypes.bfloat16)


def laid_out(array, how):
    """The same values in another layout: "C", "F" (last two dimensions exchanged), "sliced" (rows further apart), "odd" (off
    16 bytes) or "strided" (no dimension contiguous)."""
    if how == "C" or array.ndim == 0:
        return aligned(array)
    if how == "F" and array.ndim > 1:
        return aligned(np.ascontiguousarray(array.swapaxes(-1, -2))).swapaxes(-1, -2)
    if how == "sliced":
        return spread(array, [0] * (array.ndim - 1) + [8], 1, 0)
    if how == "odd":
        return spread(array, [0] * (array.ndim - 1) + [3], 1, 1)
    if how == "strided":
        return spread(array, [0] * array.ndim, 2, 0)
    return aligned(array)


def spread(array, more, step, skip):
    shape = [step * n + m for n, m in zip(array.shape, more)]
    flat = aligned(np.zeros(int(np.prod(shape)) + 64, array.dtype))[skip:]
    whole = np.lib.stride_tricks.as_strided(flat, shape, np.cumprod([array.itemsize, *shape[:0:-1]])[::-1])
    view = whole[tuple(slice(0, step * n, step) for n in array.shape)]
    view[...] = array
    return view


LAYOUTS = ("C", "F", "sliced", "odd", "strided")
SHAPES = st.sampled_from([1, 1, 2, 3, 8, 16, 17, 20])


@st.composite
def products(draw):
    M, N, K = (draw(SHAPES) for _ in range(3))
    batch = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 3)))]
    shapes = []
    for core in ((M, K), (K, N)):
        own = [n if draw(st.booleans()) else 1 for n in batch][draw(st.integers(0, len(batch))):]
        shapes.append((*own, *core))
    a, b = shapes
    if len(a) == 2 and draw(st.booleans()):
        a = (K,)
    if len(b) == 2 and draw(st.booleans()):
        b = (K,)
    return a, b


def expected(a, b):
    return np.matmul(a.astype(np.float32), b.astype(np.float32))


def check(machine, shapes, layouts, dtype, out, capability=(9, 0)):
    _, torch = machine
    a, b = (laid_out(numbers(s, DTYPES[dtype], i), how) for i, (s, how) in enumerate(zip(shapes, layouts)))
    want = expected(a, b)
    if out is None:
        got = host.matmul(torch.Tensor(a), torch.Tensor(b)).array
        assert got.dtype == a.dtype
    else:
        kind, how = out
        place = laid_out(np.full(want.shape, np.nan, DTYPES[kind]), how)
        given_out = torch.Tensor(place)
        assert host.matmul(torch.Tensor(a), torch.Tensor(b), given_out) is given_out
        got = place
    assert got.shape == want.shape
    assert np.array_equal(got.astype(np.float32), want)


@given_few(100, 8_000, products(), st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
           st.sampled_from(["f16", "bf16"]),
           st.none() | st.tuples(st.sampled_from(["f16", "bf16", "f32"]), st.sampled_from(LAYOUTS)))
def test_every_shape_layout_and_dtype_gives_numpys_product(shapes, layouts, dtype, out):
    with pytest.MonkeyPatch.context() as patch:
        check(install(patch, sms=4), shapes, layouts, dtype, out)


@settings(max_examples=300, deadline=None)
@given(products(), st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
       st.none() | st.tuples(st.just("f16"), st.sampled_from(LAYOUTS)))
def test_an_ampere_gpu_gives_numpys_product_through_mma_sync(shapes, layouts, out):
    with pytest.MonkeyPatch.context() as patch:
        check(install(patch, capability=(8, 6)), shapes, layouts, "f16", out)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=0, max_size=4), st.lists(st.integers(1, 3), min_size=0, max_size=4))
def test_shapes_are_joined_or_refused_as_numpy_does(a, b):
    try:
        want = np.matmul(np.zeros(a, np.float32), np.zeros(b, np.float32)).shape
    except ValueError as error:
        with pytest.raises(SimlayoutError) as raised:
            product.result_shape(tuple(a), tuple(b))
        told = str(error)
        if "core dimension" in told or "enough dimensions" in told:
            assert str(raised.value).split(":")[1] == told.split(":")[1]
    else:
        assert product.result_shape(tuple(a), tuple(b)) == want


def test_a_weight_that_is_not_transposed_is_refused_with_what_would_fit():
    with pytest.raises(SimlayoutError, match=r"a is \(8, 64\), b is \(32, 64\); .* as in b\.T"):
        product.result_shape((8, 64), (32, 64))


def test_empty_products_launch_nothing_and_k_of_zero_gives_zeros(machine):
    library, torch = machine
    assert host.matmul(torch.Tensor(numbers((0, 8))), torch.Tensor(numbers((8, 4)))).shape == (0, 4)
    for how in LAYOUTS:
        out = laid_out(np.full((3, 5, 4), np.nan, np.float16), how)
        around = None if out.base is None else out.base
        host.matmul(torch.Tensor(numbers((3, 5, 0))), torch.Tensor(numbers((0, 4))), torch.Tensor(out))
        assert not out.any()
        assert around is None or not np.isnan(np.asarray(around, np.float32) if around.dtype != np.uint8 else 0).any()
    assert not library.launches


def test_the_four_transposes_are_read_where_they_lie(machine):
    library, torch = machine
    for i, (x, y) in enumerate([("C", "C"), ("C", "F"), ("F", "C"), ("F", "F")]):
        a, b = laid_out(numbers((64, 128)), x), laid_out(numbers((128, 32)), y)
        host.matmul(torch.Tensor(a), torch.Tensor(b))
        config, *_ = library.launches[i]
        majors = "K" if x == "C" else "MN", "MN" if y == "C" else "K"
        assert (config.a_major, config.b_major) == (majors if config.c_major == "N" else majors[::-1])
    assert len(library.launches) == 4


def test_activations_times_weights_are_one_product(machine):
    library, torch = machine
    host.matmul(torch.Tensor(aligned(numbers((4, 8, 64)))), torch.Tensor(aligned(numbers((64, 32)))))
    assert len(library.launches) == 1
    work = product.work_of(((4, 8, 64), (1024, 128, 2)), ((64, 32), (64, 2)), ((4, 8, 32), (512, 64, 2)))
    assert (work.sizes, work.count) == ((32, 32, 64), 1)


def test_a_batch_that_cannot_be_one_is_several_launches(machine):
    library, torch = machine
    a, b = numbers((3, 2, 16, 8), seed=1), numbers((3, 1, 8, 16), seed=2)
    got = host.matmul(torch.Tensor(aligned(a)), torch.Tensor(aligned(b)))
    assert np.array_equal(got.array.astype(np.float32), expected(a, b)) and len(library.launches) == 1
    a, b = numbers((3, 1, 16, 8), seed=1), numbers((1, 2, 8, 16), seed=2)
    got = host.matmul(torch.Tensor(aligned(a)), torch.Tensor(aligned(b)))
    assert np.array_equal(got.array.astype(np.float32), expected(a, b)) and len(library.launches) == 3


def test_what_was_called_before_makes_no_new_plan_and_no_tensor_map(machine):
    library, torch = machine
    a, b, c = (torch.Tensor(aligned(numbers((64, 64)))) for _ in range(3))
    host.matmul(a, b, c)
    encoded = library.encoded
    for _ in range(3):
        host.matmul(a, b, c)
    assert library.encoded == encoded == 3 and len(library.launches) == 4 and len(recipe.RECIPES) == 1
    host.matmul(a, b, torch.Tensor(aligned(numbers((64, 64)))))
    assert library.encoded == 2 * encoded and len(recipe.RECIPES) == 1


def test_plans_and_launches_are_bounded(machine, monkeypatch):
    _, torch = machine
    monkeypatch.setattr(recipe, "CACHE_SIZE", 4)
    a, b = torch.Tensor(aligned(numbers((16, 16)))), torch.Tensor(aligned(numbers((16, 16))))
    for n in range(1, 8):
        host.matmul(a, torch.Tensor(aligned(numbers((16, n)))))
    assert len(recipe.RECIPES) == 4
    for _ in range(8):
        host.matmul(a, b, torch.Tensor(aligned(numbers((16, 16)))))
    assert max(len(plan.launches) for plan in recipe.RECIPES.values()) <= 4


def test_the_stream_is_the_callers_or_the_librarys_current_one(machine):
    library, torch = machine
    a, b = torch.Tensor(aligned(numbers((16, 16)))), torch.Tensor(aligned(numbers((16, 16))))
    torch.stream = 0xABC0
    host.matmul(a, b)
    host.matmul(a, b, stream=0xDEF0)
    host.matmul(a, b, stream=torch.cuda.ExternalStream(0x7F00_1234_5678))
    assert [x[4] for x in library.launches] == [0xABC0, 0xDEF0, 0x7F00_1234_5678]
    assert [stream for _, stream in torch.made] == [0xABC0, 0xDEF0, 0x7F00_1234_5678]


def test_a_prepared_product_launches_and_keeps_its_arrays(machine):
    library, torch = machine
    a, b = numbers((40, 24)), numbers((24, 48), seed=3)
    c = torch.Tensor(aligned(np.zeros((40, 48), np.float16)))
    prepared = host.plan_matmul(torch.Tensor(laid_out(a, "odd")), torch.Tensor(laid_out(b, "strided")), c)
    assert not library.launches
    assert prepared() is c and prepared(0x10) is c
    assert np.array_equal(c.array.astype(np.float32), expected(a, b))
    assert [type(x[0]).__name__ for x in library.launches] == ["Copy", "Copy", "Hopper"] * 2
    with pytest.raises(SimlayoutError, match="needs out"):
        host.plan_matmul(c, c, None)


def test_tiles_cut_along_k_get_one_workspace_per_stream(machine):
    library, torch = machine
    library.attributes[16] = 8
    a, b = torch.Tensor(aligned(numbers((128, 4096)))), torch.Tensor(aligned(numbers((4096, 256), seed=1)))
    split = Hopper(split=True)
    want = expected(a.array, b.array)
    for stream in (0, 16, 0):
        assert np.array_equal(host.matmul(a, b, kernel=split, stream=stream).array.astype(np.float32), want)
    assert len(library.memory) == 2
    library.captured = True
    made = len(torch.made)
    assert np.array_equal(host.matmul(a, b, kernel=split).array.astype(np.float32), want)
    assert len(library.memory) == 2 and len(torch.made) == made + 2       # out, and a workspace of the graph's own
    library.captured = False
    assert np.array_equal(host.matmul(a, b, kernel=split, stream=2).array.astype(np.float32), want)
    assert len(library.memory) == 2 and len(torch.made) == made + 4       # of all threads' streams that are called 2
    out = torch.Tensor(aligned(np.zeros((128, 256), np.float16)))
    host.plan_matmul(a, b, out, kernel=split)(0)
    assert np.array_equal(out.array.astype(np.float32), want) and len(library.memory) == 2


def test_an_explicit_configuration_is_fitted_to_the_arrays(machine):
    library, torch = machine
    a, b = torch.Tensor(laid_out(numbers((64, 64)), "F")), torch.Tensor(aligned(numbers((64, 65))))
    host.matmul(a, b, kernel=Hopper(tile_m=64, tile_n=128))
    config = library.launches[-1][0]
    assert (config.tile_m, config.tile_n, config.a_major, config.b_major, config.store) == (64, 128, "MN", "MN", "direct")
    assert dataclasses.replace(config, a_major="K", b_major="K", store="tma").tile_m == 64


@pytest.mark.parametrize("options", [dict(c_major="M"), dict(c_major="M", tile_n=48), dict(slices=2), dict(tile_n=80),
                                     dict(c_major="M", store="direct")], ids=str)
@pytest.mark.parametrize("lie_a, lie_b, lie_c", [("C", "C", "C"), ("F", "C", "F"), ("C", "F", "odd"), ("F", "F", "C")])
def test_configurations_that_make_the_transpose_of_c_get_the_operands_exchanged(machine, options, lie_a, lie_b, lie_c):
    library, torch = machine
    a, b = numbers((2, 72, 136)), numbers((136, 200), seed=1)
    out = torch.Tensor(laid_out(np.zeros((2, 72, 200), np.float16), lie_c))
    config = Hopper(**{"tile_m": 64, "tile_n": 64, "stages": 6, **options})
    host.matmul(torch.Tensor(laid_out(a, lie_a)), torch.Tensor(laid_out(b, lie_b)), out, kernel=config)
    assert np.array_equal(out.array.astype(np.float32), expected(a, b))
    assert library.launches[-1][0].c_major == config.c_major


@pytest.mark.parametrize("lie_a", ["C", "F", "sliced", "odd", "strided"])
@pytest.mark.parametrize("lie_b, lie_c", [("C", "C"), ("F", "C"), ("F", "odd"), ("strided", "F"), ("odd", "sliced")])
@pytest.mark.parametrize("shape", [(2, 72, 136, 200), (1, 4, 359, 287)], ids=str)
def test_a_kernel_that_reads_b_by_rows_gets_it_so(machine, lie_a, lie_b, lie_c, shape):
    library, torch = machine
    count, M, K, N = shape
    a, b = numbers((count, M, K), BF16), numbers((K, N), BF16, seed=1)
    out = torch.Tensor(laid_out(np.zeros((count, M, N), BF16), lie_c))
    host.matmul(torch.Tensor(laid_out(a, lie_a)), torch.Tensor(laid_out(b, lie_b)), out, kernel="warptile")
    want = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(BF16)
    assert np.array_equal(out.array.astype(np.float32), want.astype(np.float32))
    assert library.launches[-1][0].name == "warptile" or lie_c == "F"


@pytest.mark.parametrize("ctas, split", [(132, True), (40, False)])
def test_tiles_are_cut_in_clusters_only_where_all_that_wait_for_one_another_are_on_the_gpu(monkeypatch, ctas, split):
    library, torch = install(monkeypatch)
    library.ctas = ctas
    a, b = torch.Tensor(aligned(numbers((128, 8192)))), torch.Tensor(aligned(numbers((8192, 64))))
    config = Hopper(64, 64, 4, 1, split=True, cluster_m=2)
    host.matmul(a, b, kernel=config)
    ((program, grid, *_, attributes),) = library.launches
    assert (program.split, attributes) == (split, (6, 2) if split else (6,)) and (grid[0] > 40) == split


def test_bare_addresses_are_told_apart_by_gpu(monkeypatch):
    library, torch = install(monkeypatch, devices=2)
    arrays = [[aligned(numbers((16, 16))) for _ in range(3)] for _ in range(2)]
    for device, group in enumerate(arrays):
        library.places.update({x.ctypes.data: device for x in group})
        host.matmul(*map(Device, group))
    assert [plan.device for plan in recipe.RECIPES.values()] == [0, 1]
    with pytest.raises(SimlayoutError, match="on GPUs 0, 1"):
        host.matmul(Device(arrays[0][0]), Device(arrays[1][1]), Device(arrays[0][2]))


def test_a_thread_without_a_context_gets_the_arrays_one(machine):
    library, torch = machine
    x = torch.Tensor(aligned(numbers((16, 16))))
    library.fails |= {"launch": [201], "encode": [201]}
    host.matmul(x, x)
    assert len(library.launches) == 1 and not library.contexts and library.fails["encode"] == []
    library.fails["launch"] = [1]
    with pytest.raises(DeviceError, match="refused to launch .*: CUDA_ERROR_INVALID_VALUE \\(made up\\)"):
        host.matmul(x, x)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_prepared_product_in_a_thread_without_a_context_gets_one_and_says_what_else_was_refused(monkeypatch, devices):
    library, torch = install(monkeypatch, devices=devices)
    x, out = (torch.Tensor(aligned(numbers((16, 16)))) for _ in range(2))
    prepared = host.plan_matmul(x, x, out)
    for stream in (None, 48, *range(100)):
        prepared(stream)
    assert [launch[4] for launch in library.launches] == [0, 48, *range(100)] and not library.contexts
    library.fails["launch"] = [201] * (devices == 1)
    assert prepared(48) is out and len(library.launches) == 103 and not library.fails["launch"]
    library.fails["launch"] = [1]
    with pytest.raises(DeviceError, match="refused to launch .*: CUDA_ERROR_INVALID_VALUE \\(made up\\)"):
        prepared(48)
    assert len(library.launches) == 103


def test_two_threads_on_two_streams_do_not_disturb_each_other(machine):
    library, torch = machine
    wrong = []

    def work(seed):
        for i in range(40):
            a, b = numbers((8 + i % 5, 16), seed=seed + i), numbers((16, 24), seed=seed)
            got = host.matmul(torch.Tensor(aligned(a)), torch.Tensor(aligned(b)), stream=16 * seed)
            if not np.array_equal(got.array.astype(np.float32), expected(a, b)):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(library.launches) == 80


def test_a_cached_kernel_is_launched_without_importing_numba():
    script = """
import sys
sys.path[:0] = [".", "tests/kits", "tests/matmul"]
import numpy as np, pytest, host_kit
library, torch = host_kit.install(pytest.MonkeyPatch())
import test_matmul_host as test
x = torch.Tensor(test.aligned(test.numbers((16, 16))))
test.host.matmul(x, x)
assert len(library.launches) == 1 and "numba" not in sys.modules and "cuda.core" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
