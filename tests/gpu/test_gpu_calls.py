"""Thousands of calls of every kind of product on two streams: the bits of the first ones, and nothing that piles up; skipped
where there is no GPU of compute capability 9.0."""

import gc
import os
import threading

from cut_tiles import assert_cut
from torch_kit import normal, on_hopper, torch

from cuda_kernels import grouped_matmul, matmul, plan_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.recipe import RECIPES, WORKSPACES
from cuda_kernels.run import driver

pytestmark = on_hopper

SPLIT, SLICED = Hopper(tile_n=64, stages=4, split=True), Hopper(64, 64, 8, 1, slices=2)
BY_SECTORS = Hopper(128, 136, 3, 2, bands=2, pingpong=True, store="sectors")
TOLERATED = 16 << 20
"""Bytes that the process may grow by in 10,000 calls."""


class Products:
    """Products of all kinds on a stream, with what the first call of each made."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.calls = self._calls()
            self.first = [call(None).clone() for call in self.calls]
            self.wrong = torch.zeros(len(self.calls), device="cuda", dtype=torch.bool)

    def _calls(self):
        """[call(out), which makes an out where that is None]."""
        bf16, e4m3 = torch.bfloat16, torch.float8_e4m3fn
        a, w, deep, wide = normal(300, 520, dtype=bf16), normal(264, 520, dtype=bf16).T, normal(128, 4096), normal(4096, 256)
        like, bias = normal(300, 264, dtype=bf16), normal(264, dtype=bf16)
        a8, w8, s8 = normal(257, 432, dtype=e4m3), normal(136, 432, dtype=e4m3).T, (normal(257, 432) * 20).to(torch.int8)
        of_rows, of_columns = torch.rand(257, 1, device="cuda") + 0.5, torch.rand(1, 136, device="cuda") + 0.5
        blocks_a, blocks_b = torch.rand(257, 4, device="cuda") + 0.5, torch.rand(4, 2, device="cuda") + 0.5
        ends = torch.tensor([70, 70, 73, 203, 257], device="cuda", dtype=torch.int32)
        of_groups, experts8 = torch.rand(5, 136, device="cuda"), normal(5, 136, 432, dtype=e4m3).transpose(1, 2)
        tokens, experts = normal(257, 264, dtype=bf16), normal(5, 264, 136, dtype=bf16)
        odd, apart, sectors = normal(133, 203), normal(260, 144)[::2, ::2], (normal(300, 64), normal(64, 1352))
        mine = torch.zeros(300, 264, device="cuda", dtype=bf16)
        prepared = plan_matmul(a, w, mine, residual=mine, beta=0.0, bias=bias)
        return [
            lambda out: matmul(a, w, out), lambda out: matmul(deep, wide, out, kernel=SPLIT),
            lambda out: matmul(deep, wide, out, kernel=SLICED), lambda out: matmul(odd, odd.T[:, :71], out),
            lambda out: matmul(apart, apart.T, out), lambda out: matmul(*sectors, out, kernel=BY_SECTORS),
            lambda out: matmul(a, w, out, bias=bias, residual=like, activation="gelu", multiply=like),
            lambda out: matmul(deep, wide, out, activation="silu", alpha=0.25, kernel=SPLIT),
            lambda out: matmul(a8, w8, out), lambda out: matmul(a8, w8, out, scale_a=of_rows, scale_b=of_columns),
            lambda out: matmul(a8, w8, out, scale_a=blocks_a, scale_b=blocks_b), lambda out: matmul(s8, s8.T, out),
            lambda out: grouped_matmul(tokens, experts, ends, out),
            lambda out: grouped_matmul(a8, experts8, ends, out, scale_a=of_rows, scale_b=of_groups),
            lambda out: prepared()]

    def call(self, count):
        """So many calls, one kind after the other, to a new out or over the last one; what differs from the first call's is
        kept in `wrong`, on the GPU, so that nothing waits."""
        with torch.cuda.stream(self.stream):
            outs = [None] * len(self.calls)
            for i in range(count):
                kind, turn = i % len(self.calls), i // len(self.calls)
                if outs[kind] is not None and turn % 3:
                    outs[kind].fill_(1)
                outs[kind] = self.calls[kind](outs[kind] if turn % 3 else None)
                self.wrong[kind] |= (outs[kind].view(torch.uint8) != self.first[kind].view(torch.uint8)).any()
            self.stream.synchronize()


def held():
    """What the process holds: bytes of torch's tensors; the matmul's workspaces, kernels and recipes; open files; threads;
    and, in pages, its memory."""
    torch.cuda.synchronize()
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1])
    kept = len(WORKSPACES._by_stream), len(driver.cuda()._kernels), len(RECIPES)
    return (torch.cuda.memory_allocated(), *kept, len(os.listdir("/proc/self/fd")), threading.active_count()), resident


def test_ten_thousand_calls_of_all_kinds_on_two_streams_keep_the_first_ones_bits_and_nothing_more():
    for config in (SPLIT, SLICED):
        assert_cut(config, 128, 256, 4096, torch.cuda.get_device_properties(0).multi_processor_count)
    both = [Products() for _ in range(2)]

    def call(count):
        threads = [threading.Thread(target=products.call, args=(count,)) for products in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    call(1000)
    before, resident = held()
    call(5000)
    after, resident_after = held()
    assert not any(products.wrong.any() for products in both), [products.wrong.tolist() for products in both]
    assert after == before
    assert (resident_after - resident) * os.sysconf("SC_PAGE_SIZE") < TOLERATED
