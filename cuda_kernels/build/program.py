"""A kernel for an architecture, as something to compile and to keep."""

from dataclasses import dataclass

from simlayout.kernel import Kernel


@dataclass(frozen=True)
class Program:
    """A Kernel and an architecture. Its repr names all that the machine code depends on, so the cache keeps it by that."""

    kernel: Kernel
    arch: str

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory per CTA, in bytes."""
        return self.kernel.shared_bytes

    def __repr__(self):
        return f"Program({self.kernel.name!r}, {self.kernel.options!r}, {self.arch!r})"

    def compile(self) -> tuple[str, bytes]:
        """(name of the entry, machine code); no GPU needed."""
        from cuda_kernels.build.assembler import program
        from cuda_kernels.build.compile import ptx

        return program(ptx(self.kernel, self.arch), self.arch)
