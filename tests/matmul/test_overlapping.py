"""Which launches overlap the kernel ahead of them, in streams and where a CUDA graph is captured, on a fake driver."""

import ctypes

import numpy as np
import pytest
from fake_driver import FakeLibrary
from host_kit import aligned, host, install, numbers

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.run import driver


def test_kernels_that_wait_for_the_one_before_overlap_it_unless_they_are_not_to(machine):
    library, torch = machine
    library.attributes[16] = 8
    a, b = torch.Tensor(aligned(numbers((128, 4096)))), torch.Tensor(aligned(numbers((4096, 256), seed=1)))
    out = torch.Tensor(aligned(np.zeros((128, 256), np.float16)))
    overlapping, together = (driver.PROGRAMMATIC_SERIALIZATION,), (driver.COOPERATIVE,)
    for overlap, config, wanted in (
            (False, Hopper(), ()), (True, Hopper(), overlapping), (True, Hopper(split=True), overlapping + together),
            (False, Hopper(split=True), together),
            (True, Hopper(128, 128, 4, 1, slices=2), overlapping)):
        host.plan_matmul(a, b, out, kernel=config, overlap=overlap)()
        host.matmul(a, b, out, kernel=config, overlap=overlap)
        assert [launch[5] for launch in library.launches[-2:]] == [wanted] * 2
    host.matmul(a, b, out, kernel="mma_permuted")
    assert library.launches[-1][5] == ()                 # which would not wait


@pytest.mark.parametrize("version, overlaps", [(12020, False), (12030, True)])
@pytest.mark.parametrize("captured", [False, True])
def test_launches_overlap_where_the_driver_can_say_what_a_capture_ends_with(monkeypatch, version, overlaps, captured):
    library = FakeLibrary()
    monkeypatch.setattr(library, "cuDriverGetVersion", lambda at: setattr(ctypes.c_int.from_address(at), "value", version))
    if not overlaps:
        del library.cuStreamGetCaptureInfo_v3            # from 12.3 on
    library, torch = install(monkeypatch, library)
    x, y = (torch.Tensor(aligned(numbers((16, 16)))) for _ in range(2))
    library.captured = captured
    for call in (host.plan_matmul(x, x, y), lambda stream: host.matmul(x, x, y, stream=stream)):
        call(48)
        call(48)
        assert library.launches[-1][5] == (driver.PROGRAMMATIC_SERIALIZATION,) * overlaps


def test_a_captured_product_overlaps_a_product_right_before_it_and_waits_for_anything_else(machine):
    library, torch = machine
    x, y = (torch.Tensor(aligned(numbers((16, 16)))) for _ in range(2))
    overlaps, prepared = (driver.PROGRAMMATIC_SERIALIZATION,), host.plan_matmul(x, x, y)

    def launched(call, stream):
        call(stream)
        return library.launches[-1][5] == overlaps

    for call in (prepared, lambda stream: host.matmul(x, x, y, stream=stream)):
        assert launched(call, 0) and launched(call, 48)             # streams: whatever is ahead
        library.captured = True
        assert [launched(call, 48) for _ in range(3)] == [False, True, True]
        library.ends[48] = [0x99]                                   # a kernel of someone else
        assert [launched(call, 48) for _ in range(2)] == [False, True]
        library.ends[64] = library.ends[48]                         # another stream that waits for this one
        assert [launched(call, 64) for _ in range(2)] == [False, True]
        library.ends[48] = [*library.ends[48], *library.ends[64]]   # and this one for that
        assert [launched(call, 48) for _ in range(2)] == [False, True]
        library.capture += 1                                        # another graph, whose nodes may have the same handles
        assert [launched(call, 48) for _ in range(2)] == [False, True]
        assert launched(call, 0)                                    # which cannot be captured
        library.captured = False
        assert launched(call, 48)


def test_a_capture_that_has_failed_is_not_asked_for_its_end_which_the_driver_does_not_say(machine, monkeypatch):
    library, torch = machine
    x, y = (torch.Tensor(aligned(numbers((16, 16)))) for _ in range(2))
    ask = library.cuStreamGetCaptureInfo_v3

    def told_of_none(stream, status, number, graph, nodes, edges, count):
        ask(stream, status, number, graph, nodes, edges, count)
        ctypes.c_void_p.from_address(nodes).value = None            # and whatever was in memory
        return 0

    monkeypatch.setattr(driver.cuda().captures, "_look", told_of_none)
    library.captured, library.ends[48] = 2, [0x99]                  # CU_STREAM_CAPTURE_STATUS_INVALIDATED
    host.matmul(x, x, y, stream=48)
    assert library.launches[-1][5] == ()


def test_a_launch_that_the_driver_refuses_in_a_capture_is_not_what_the_next_one_overlaps(machine):
    library, torch = machine
    x, y = (torch.Tensor(aligned(numbers((16, 16)))) for _ in range(2))
    for call in (host.plan_matmul(x, x, y), lambda stream: host.matmul(x, x, y, stream=stream)):
        call(48)
        library.captured, library.ends[48] = True, [0x99]           # a kernel of someone else
        library.fails["launch"] = [201]                             # the thread has no context: it is launched in one
        call(48)
        assert library.launches[-1][5] == () and not library.fails["launch"]
        library.captured = False


@pytest.mark.parametrize("early", [False, True])
def test_whether_the_next_kernel_may_begin_early_is_passed_and_not_compiled(machine, early):
    library, torch = machine
    a, b, out = (torch.Tensor(aligned(numbers((64, 64)))) for _ in range(3))
    config = Hopper(64, 64, 4, 1, early=early)
    prepared = host.plan_matmul(a, b, out, kernel=config)
    assert prepared.kernel.options.early == early and not prepared.kernel.compiled_as.options.early
    names = [argument.name for argument in prepared.kernel.signature]
    places = prepared.launches[0].parameters.places
    assert ctypes.c_int32.from_address(places[names.index("early")]).value == early
