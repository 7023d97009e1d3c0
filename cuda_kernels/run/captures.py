"""What streams that are being captured into CUDA graphs end with: whether a product is captured right behind another."""

from ctypes import addressof, c_int, c_size_t, c_uint64, c_void_p

ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE (cuda.h): of any other capture, such as one that has failed, the driver says nothing."""

STREAMS = 64
"""Streams of which something is kept; behind so many it starts anew, because streams come and go."""


class Captures:
    """The captures of all streams. library: libcuda of CUDA 12.3 or newer, or something with the same functions."""

    def __init__(self, library):
        self._look = library.cuStreamGetCaptureInfo_v3
        self._look.argtypes, self._look.restype = (c_void_p,) * 7, c_int
        self._ours = {}

    def last(self, stream):
        """(number of the capture, handle of the node) that a stream's capture ends with; None where there is no capture, or
        not one node."""
        status, number, graph, nodes, edges, count = c_int(), c_uint64(), c_void_p(), c_void_p(), c_void_p(), c_size_t()
        found = status, number, graph, nodes, edges, count
        if self._look(stream, *map(addressof, found)) or status.value != ACTIVE or count.value != 1:
            return None
        return number.value, c_void_p.from_address(nodes.value).value

    def ends_with_ours(self, stream):
        """Whether a stream's capture ends with the launch that was noted last."""
        last = self.last(stream)
        return last is not None and self._ours.get(stream) == last

    def note(self, stream):
        """Says that a stream's capture ends with a launch that others may overlap."""
        if len(self._ours) >= STREAMS:
            self._ours.clear()
        self._ours[stream] = self.last(stream)
