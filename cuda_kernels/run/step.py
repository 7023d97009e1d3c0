"""A kernel launch as data: everything except the addresses, which `bind` adds."""

from dataclasses import dataclass

from cuda_kernels.run.driver import Launch, Parameters, Shape
from simlayout.kernel import Map, Pointer


@dataclass(frozen=True)
class Step:
    """A launch without its addresses.

    kernel: its handle. shape: its Shape. maps: (maker, role, offset) of each tensor map; maker is None if it is not used.
    types, values: of the other parameters; a value is a number, or (role, offset). name: for messages. A role names an
    array, as in a kernel's Pointers; offsets are in bytes.
    """

    kernel: int
    shape: Shape
    maps: tuple
    types: str
    values: tuple
    name: str

    def bind(self, cuda, device, addresses):
        """The Launch for {role: address}."""
        makers = [(maker, addresses[role] + offset) for maker, role, offset in self.maps]
        values = [addresses[v[0]] + v[1] if isinstance(v, tuple) else v for v in self.values]
        return Launch(cuda, device, self.kernel, self.shape, Parameters(makers, self.types, values), self.name)


def step_of(kernel, problem, handle, shape, places, maker_of, name):
    """The Step of a Kernel's launch for a Problem. places: {the kernel's role: (role of the array, offset)}; maker_of: gives
    the TensorMapMaker of a Map."""
    maps, values, types = [], [], []
    for argument, value in zip(kernel.signature, kernel.arguments(problem)):
        if argument.type == "map":                       # one that is not used is C's: any address does
            maps.append((maker_of(value), *places[value.role]) if isinstance(value, Map) else (None, *places["c"]))
        else:
            types.append(argument.type)
            values.append(places[value.role] if isinstance(value, Pointer) else value)
    return Step(handle, shape, tuple(maps), " ".join(types), tuple(values), name)
