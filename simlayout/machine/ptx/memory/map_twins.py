"""What a PTX warp does with the bytes of tensor maps, which lie in parameters, in shared or in global memory."""

import numpy as np

from simlayout.errors import AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.touches import Touch
from simlayout.machine.ptx.memory.maps import FIELDS, MAP_BYTES, MARK
from simlayout.machine.ptx.memory.space import PARAMETERS, SHARED, WINDOW

_CELL = 16


class MapTwins:
    """Tensor maps of a PtxWarp. address: generic, an int; those who write are the active lanes, one."""

    def tensor_map(self, address):
        """The TensorMap whose bytes lie at an address."""
        return self.space.maps.named(self.read_map(address), address)

    def read_map(self, address, instruction=None):
        """The bytes at an address. instruction: of the active lane that reads them, None where nothing is looked at."""
        if PARAMETERS <= address < PARAMETERS + WINDOW:
            at = address - PARAMETERS
            if at + MAP_BYTES > len(self.program.parameters):
                raise AddressError(f"a tensor map at byte {at} of {len(self.program.parameters)} bytes of parameters: it "
                                   f"has {MAP_BYTES}")
            return self.program.parameters[at:at + MAP_BYTES].tobytes()
        if SHARED <= address < SHARED + WINDOW:
            rows = self._map_rows(address)
            if self.cta.shadow is not None and instruction is not None:
                self.cta.shadow.read(self._map_touch(instruction, rows))
            return self.cta.shared.load(rows, _CELL).tobytes()
        allocation, first = self._map_in_global(address)
        return allocation.bytes[first:first + MAP_BYTES].tobytes()

    def write_map(self, address, data):
        """Writes bytes to an address in shared or global memory."""
        data = np.frombuffer(data, np.uint8)
        if SHARED <= address < SHARED + WINDOW:
            rows = self._map_rows(address)
            if self.cta.shadow is not None:
                self.cta.shadow.write(self._map_touch("tensormap.replace", rows))
            self.cta.shared.store(rows, data.reshape(-1, _CELL))
        else:
            allocation, first = self._map_in_global(address)
            allocation.bytes[first:first + MAP_BYTES] = data
            self.cta.launch.changes += 1

    def replace_in_map(self, address, field, value, index=None):
        """Changes a field of the map at an address; index: which of several. MachineError where the field cannot hold it."""
        type, shape = FIELDS[field].base, FIELDS[field].shape
        if index is not None and index >= shape[0]:
            raise MachineError(f"tensormap.replace of .{field}[{index}]: a tensor map has {shape[0]} of them, from 0 on")
        if value > np.iinfo(type).max:
            raise MachineError(f"tensormap.replace of .{field} by {value}, which the field cannot hold")
        fields = np.frombuffer(self.read_map(address), FIELDS).copy()
        if index is None:
            fields[field] = value
        else:
            fields[field][0, index] = value
        fields["mark"] = MARK
        self.write_map(address, fields.tobytes())

    def _map_touch(self, instruction, rows):
        return Touch(self, instruction, rows, _CELL, np.full(len(rows), int(np.flatnonzero(self.active)[0])))

    def _map_rows(self, address):
        at = address - SHARED
        lanes = at + _CELL * np.arange(MAP_BYTES // _CELL)
        return self.cta.shared.rows("tensormap.replace", lanes, _CELL)

    def _map_in_global(self, address):
        """(Allocation, where in its bytes) of a map in global memory."""
        lane = np.arange(LANES) == 0
        for allocation, _, offsets in self.space.resolve(np.full(LANES, address, np.uint64), lane, MAP_BYTES):
            if allocation is not None:
                return allocation, int(offsets[0]) + allocation.zero
        raise AddressError(f"a tensor map at {address:#x}, {self.space.nearest(address)}")
