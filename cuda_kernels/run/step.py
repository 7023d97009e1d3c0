"""A launch of a kernel as data: everything but the addresses, which `bind` adds."""

from dataclasses import dataclass

from cuda_kernels.run.driver import Launch, Parameters, Shape
from simlayout.kernel import Map, Pointer


@dataclass(frozen=True)
class Step:
    """A launch but for addresses: the kernel's handle, its Shape, tensor maps as (maker, role, offset) (maker None: unused),
    and parameters as numbers or (role, offset). Roles name arrays, as those of a kernel's Pointers do."""

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
