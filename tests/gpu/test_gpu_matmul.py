"""matmul on a GPU of compute capability 9.0, with torch's tensors; skipped where there is none."""

import random
import threading

import pytest
from cut_tiles import assert_cut, cut_small_tiles
from torch_kit import ALONE, normal, on_hopper, torch, view

from cuda_kernels import matmul, plan_matmul
from cuda_kernels.build.program import Program
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run import driver
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import DEFAULT_TARGET

pytestmark = on_hopper

LIMIT = {"torch.float16": 1e-3, "torch.bfloat16": 4e-3, "torch.float32": 1e-3}


def error(c, a, b):
    """The largest error relative to what c's type may have."""
    want = torch.matmul(a.double(), b.double())
    worst = ((c.double() - want).abs() / (want.abs() + a.shape[-1] ** 0.5)).max().item()
    return worst / max(LIMIT[str(c.dtype)], LIMIT[str(a.dtype)])


@pytest.mark.parametrize("seed", range(200))
def test_random_products_of_all_strides_types_and_batches_are_right(seed):
    source = random.Random(seed)
    torch.manual_seed(seed)
    M, N, K = (source.choice([1, 3, 8, 17, 64, 130, 257, 512, 1000]) for _ in range(3))
    dtype = source.choice([torch.float16, torch.bfloat16])
    batch = [source.choice([1, 2, 3]) for _ in range(source.randrange(3))]
    of_a, of_b = ([n if source.random() < 0.6 else 1 for n in batch] for _ in range(2))
    a, b = view(source, normal(*of_a, M, K, dtype=dtype)), view(source, normal(*of_b, K, N, dtype=dtype))
    out = None
    if source.random() < 0.6:
        shape = torch.matmul(a, b).shape
        out = view(source, torch.full(shape, float("nan"), device="cuda", dtype=source.choice([dtype, torch.float32])))
    assert error(matmul(a, b, out), a, b) < 1


@pytest.mark.parametrize("name", HOPPER)
@pytest.mark.parametrize("shape", [(1000, 1336, 1112), (520, 264, 72), (64, 64, 64), (1, 8, 8)], ids=str)
def test_every_kernel_is_right_where_it_is_asked_for_by_name(name, shape):
    M, N, K = shape
    a, b = normal(M, K), normal(K, N)
    assert error(matmul(a, b, kernel=name), a, b) < 1


@pytest.mark.parametrize("name", ["mma_tma", "wgmma_tma", "warptile", "mma_swizzled"])
def test_kernels_of_the_ladder_are_right_at_20_ragged_shapes(name):
    source = random.Random(name)
    for _ in range(20):
        M, N, K = (source.randint(1, 700) for _ in range(3))
        dtype = torch.bfloat16 if name == "warptile" or (name in HOPPER and source.random() < 0.5) else torch.float16
        a, b = normal(M, K, dtype=dtype), normal(N, K, dtype=dtype).T
        assert error(matmul(a, b, kernel=name), a, b) < 1, (M, N, K, dtype)


OPTIONS = [
    Hopper(c_major="M"), Hopper(tile_n=96, stages=6), Hopper(tile_n=176), Hopper(tile_n=176, c_major="M"),
    Hopper(64, 16, 12, 1, c_major="M"), Hopper(192, 192, 3, 2, producer=1), Hopper(256, 128, 3, 1, producer=1, cluster_m=2),
    Hopper(256, 64, 4, 1, producer=1, c_major="M", split=True), Hopper(128, 128, 3, 1, producer=1, resident=2),
    Hopper(256, 160, 3, 2, bands=2, split=True), Hopper(256, 192, 3, 1, bands=2, c_major="M", cluster_n=2),
    Hopper(128, 64, 4, 1, bands=2, split=True, cluster_m=2), Hopper(128, 104, 5, 2, 64),
    Hopper(64, 72, 8, 2, 32, c_major="M"),
    Hopper(192, 88, 5, 1, 48, c_major="M", producer=1, split=True), Hopper(256, 152, 3, 1, 64, bands=2, cluster_n=2),
    Hopper(64, 256, 2, 1, producer=1, resident=2), Hopper(128, 128, 4, 1, slices=4), Hopper(64, 32, 8, 1, slices=8),
    Hopper(128, 120, 4, 2, slices=2), Hopper(192, 64, 4, 1, producer=1, slices=3, c_major="M"),
    Hopper(64, 48, 8, 1, slices=4, cluster_m=2), Hopper(128, 96, 5, 1, slices=2, cluster_m=2, cluster_n=2, c_major="M"),
    Hopper(64, 64, 8, 1, cluster_m=4, cluster_n=2), Hopper(128, 96, 6, 2, cluster_m=2, cluster_n=2, split=True),
    Hopper(128, 176, 5, 2, 64, bands=2, pingpong=True), Hopper(64, 104, 8, 2, 64, pingpong=True, split=True, cluster_m=2),
    Hopper(128, 112, 6, 2, bands=2, pingpong=True, split=True, c_major="M", cluster_n=4),
    Hopper(128, 200, 4, 1, bands=2, pingpong=True, cluster_m=2, store="sectors"),
    Hopper(128, 136, 3, 2, bands=2, pingpong=True, cluster_n=2, store="sectors"), Hopper(192, 72, 4, 1, store="sectors"),
    Hopper(64, 256, 4, 1, pingpong=True, out="f32", store="direct"),
    Hopper(64, 112, 8, 1, cluster_m=2, cluster_n=4, c_major="M", split=True), Hopper(128, 160, 5, 2, cluster_n=4),
    Hopper(128, 64, 2, 1, producer=1, resident=2, slices=2), Hopper(128, 96, 4, 1, out="f32", store="direct", c_major="M")]


@pytest.mark.parametrize("config", OPTIONS, ids=str)
@pytest.mark.parametrize("order", ["NN", "TT"])
def test_every_option_of_the_kernels_is_right_and_gives_the_same_bits_every_time(config, order):
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    assert_cut(config, *config.turned(70, 200), 4000, sms)
    for M, N, K in ((1000, 1336, 1112), (70, 200, 4000), (1, 4096, 520), (3000, 2500, 264)):
        a = normal(M, K) if order[0] == "N" else normal(K, M).T
        b = normal(K, N) if order[1] == "N" else normal(N, K).T
        out = torch.empty(M, N, device="cuda", dtype=torch.float32 if config.out == "f32" else torch.float16)
        try:
            first = matmul(a, b, out, kernel=config).clone()
        except SimlayoutError as refused:                # in these orders it needs more than a CTA has
            assert any(of in str(refused) for of in ("registers", "bytes of shared memory"))
            continue
        assert error(first, a, b) < 1
        for _ in range(5):
            assert torch.equal(matmul(a, b, out, kernel=config), first)


@pytest.mark.parametrize("slices", range(2, 9))
@pytest.mark.parametrize("resident", [1, 2])
def test_as_many_clusters_fit_at_a_time_as_the_grid_assumes(slices, resident):
    config = Hopper(64, 64, 2, 1, producer=1, slices=slices, resident=resident)
    cuda = driver.cuda()
    kernel = cuda.kernel(*Program(kernel_of(config), DEFAULT_TARGET).compile(), config.shared_bytes, 0, "matmul")
    shape = driver.Shape((64 * slices, 1, 1), (config.block, 1, 1), config.shared_bytes, cluster=slices)
    assert cuda.clusters(0, kernel, shape) * slices >= config.slots(cuda.multiprocessors(0))


def test_kernels_that_overlap_wait_for_the_ones_before_them():
    a, b, c, d = (normal(1024, 1024) / 32 for _ in range(4))
    graph = torch.cuda.CUDAGraph()
    chain = [plan_matmul(x, b, y, overlap=True) for x, y in ((a, c), (c, d), (d, c), (c, d))]
    for prepared in chain:
        prepared()
    want = d.clone()
    for x, y in ((a, c), (c, d), (d, c), (c, d)):
        matmul(x, b, y)
        torch.cuda.synchronize()
    assert torch.equal(d, want)
    d.zero_()
    with torch.cuda.graph(graph):
        for prepared in chain * 20:
            prepared()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(d, want)


@pytest.mark.parametrize("config", [Hopper(split=True), Hopper(split=True, cluster_m=2), Hopper(64, 128, 8, split=True),
                                    Hopper(split=True, out="f32", store="direct")], ids=str)
def test_cut_tiles_give_the_same_bits_every_time_and_the_right_ones(config):
    a, b = normal(300, 8000), normal(8000, 700)
    out = torch.empty(300, 700, device="cuda", dtype=torch.float32 if config.out == "f32" else torch.float16)
    assert_cut(config, 300, 700, 8000, torch.cuda.get_device_properties(0).multi_processor_count)
    first = matmul(a, b, out, kernel=config).clone()
    assert error(first, a, b) < 1
    for _ in range(20):
        assert torch.equal(matmul(a, b, out, kernel=config), first)


def test_a_captured_graph_replays_the_products():
    a, b, c = normal(512, 512), normal(512, 512), normal(512, 512)
    prepared = plan_matmul(a, b, c)
    prepared()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        matmul(a, b, c)
        d = matmul(c, b)
    c.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert error(c, a, b) < 1 and error(d, c, b) < 1


def test_threads_on_streams_of_their_own_do_not_disturb_one_another():
    wrong = []

    def work(seed, M, N, K):
        with torch.cuda.stream(torch.cuda.Stream()):
            a, b = normal(M, K), normal(K, N)
            first = matmul(a, b).clone()
            if error(first, a, b) >= 1:
                wrong.append(seed)
            for i in range(2000):
                c = matmul(a, b)
                if i % 100 == 0 and not torch.equal(c, first):
                    wrong.append((seed, i))
            torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(i, *s)) for i, s in enumerate(
        [(3000, 3000, 4000), (16, 4096, 14336), (512, 512, 1024)])]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_ten_thousand_calls_from_two_threads_on_two_streams_leak_nothing():
    import resource

    def work(seed, count):
        with torch.cuda.stream(torch.cuda.Stream()):
            source = random.Random(seed)
            sizes = [tuple(source.choice([16, 128, 520, 1000]) for _ in range(3)) for _ in range(20)]
            operands = [(normal(M, K), normal(K, N)) for M, N, K in sizes]
            for i in range(count):
                matmul(*operands[i % 20])
            torch.cuda.current_stream().synchronize()

    def both(count):
        threads = [threading.Thread(target=work, args=(seed, count)) for seed in (1, 2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    free, peak = both(1000)
    free_after, peak_after = both(5000)
    assert peak_after - peak < 20_000                    # KiB of the process
    if ALONE:
        assert free_after >= free - 2**22                # bytes of the GPU


BOTH = [(Hopper(tile_n=64, stages=3), (130, 72, 200)), (Hopper(64, 64, 3, 1), (64, 136, 136)),
        (HOPPER["wgmma_tma"], (70, 64, 96)), (HOPPER["wgmma_specialized"], (130, 136, 72)),
        (HOPPER["mma_tma"], (300, 136, 200)), (Hopper(64, 104, 4, 2, 64), (130, 208, 136)),
        (Hopper(stages=3, a_major="MN", b_major="MN"), (136, 264, 200)), (Hopper(stages=3, cluster_m=2), (260, 264, 136)),
        (Hopper(stages=3, split=True), (130, 72, 512)), (Hopper(stages=3, store="direct", out="f32"), (100, 264, 72)),
        (Hopper(tile_n=96, stages=4, slices=4), (130, 72, 520)), (Hopper(64, 40, 4, slices=3, cluster_n=2), (130, 72, 520)),
        (Hopper(tile_n=80, stages=4, c_major="M"), (136, 72, 136)),
        (Hopper(64, 64, 4, 1, cluster_m=4, cluster_n=2), (200, 136, 136)),
        (Hopper(64, 16, 4, 1, pingpong=True, c_major="M"), (1400, 112, 72)),
        (Hopper(192, 160, 3, 1, producer=1, resident=1, a_major="MN"), (200, 72, 136)),
        (Hopper(tile_n=256, stages=3, dtype="bf16", out="bf16"), (130, 264, 136))]


@pytest.mark.parametrize("config, shape", BOTH, ids=str)
@cut_small_tiles()
def test_the_gpu_and_the_cpu_machine_give_the_same_bits(config, shape):
    from on_machine import on_machine

    M, N, K = shape
    kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    a, b = (normal(*size, dtype=kinds[config.dtype]) for size in ((M, K), (K, N)))
    a = a if config.a_major == "K" else a.T.contiguous().T
    b = b.T.contiguous().T if config.b_major == "K" else b
    out = torch.empty((M, N) if config.c_major == "N" else (N, M), device="cuda", dtype=kinds[config.out])
    if config.c_major == "N":
        matmul(a, b, out, kernel=config)
    else:                                                               # columns of a b are rows of its transpose
        matmul(b.T, a.T, out, kernel=config)
        out = out.T
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    assert_cut(config, M, N, K, sms)
    made = on_machine(config, bits(a), bits(b), sms).c
    assert (made == bits(out)).all()


def bits(tensor):
    """A NumPy array as the CPU machine takes it: bf16 as its bits, in the same order of memory."""
    if tensor.stride(0) == 1:
        return bits(tensor.T).T
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()
