"""Workspace of kernels that cut tiles along K: one per stream, so that launches that may run at once never share one."""

from threading import Lock

from cuda_kernels.kernels.hopper.split import piece_bytes

LARGEST_TILE = 4 * piece_bytes(168)
"""Bytes that one part of the largest tile takes, 256 x 168; what an SM has of cut tiles at a time is no more."""

PER_THREAD = 2
"""The handle of a stream that each host thread has of its own (CU_STREAM_PER_THREAD, cuda.h): one name of many streams."""

STREAMS = 16
"""Streams that get a workspace of their own; calls on further ones bring theirs along."""


class Workspaces:
    """Device memory by (device, stream), allocated on first use and kept."""

    def __init__(self):
        self._by_stream, self._lock = {}, Lock()

    def get(self, cuda, device, stream, nbytes, counter_bytes):
        """(address of nbytes, address of counter_bytes that are zero between launches); (0, 0): the caller must bring them.

        That is so while the stream is captured (a graph may be replayed beside later calls), of PER_THREAD, if more is
        needed than a wave of the largest tiles has, and if too many streams have one.
        """
        room = LARGEST_TILE * cuda.multiprocessors(device)
        counters = -(-counter_bytes // 4096) * 4096
        if nbytes > room or counters > 4096 or stream == PER_THREAD or cuda.capturing(stream):
            return 0, 0
        at = self._by_stream.get((device, stream))
        if at is None:
            with self._lock:
                at = self._by_stream.get((device, stream))
                if at is None:
                    if len(self._by_stream) >= STREAMS:
                        return 0, 0
                    at = cuda.allocate(device, 4096 + room)
                    cuda.zero(at, (1,), (4096,), 1, stream, device)
                    self._by_stream[device, stream] = at
        return at + 4096, at
