"""wgmma: four warps multiply tiles together, asynchronously (PTX ISA: Asynchronous warpgroup level matrix instructions).

The warps of a warpgroup issue the same wgmma, each in its own turn. The products are computed when the first wait covers
them, from what shared memory holds then: as late as PTX allows.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SHARED_BYTES, AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.waiting import waits
from simlayout.machine.hazards.guards import Fenced, InFlight, Registers
from simlayout.machine.hazards.proxies import CELL
from simlayout.machine.hazards.touches import Touch

WARPS = 4
"""Warps of a warpgroup: consecutive ones, the first a multiple of 4."""

REGISTERS = 65_536
"""Registers of an SM (CUDA C++ Programming Guide, technical specifications)."""


class Product:
    """One wgmma of a warpgroup. what: all that its warps must agree on.

    arrays, a_registers, metadata: by warp of the warpgroup, its accumulators, its part of A, if that comes from registers,
    and of wgmma.sp its register of metadata.
    group: the number of its group, counted from 1, when it is committed; reads: the Touches of its operands. results: the
    registers of each warp, as bytes, once it is computed and the newest of its accumulators.
    """

    def __init__(self, warpgroup, what, site):
        self.warpgroup, self.what, self.site = warpgroup, what, site
        self.name, self.a, self.b, self.scale_d, self.negated, self.selector, *self.trans = what
        self.arrays, self.a_registers, self.reads, self.group = [None] * WARPS, [None] * WARPS, [], None
        self.metadata = [None] * WARPS
        self.results = None

    def operands(self):
        """[(descriptor, int64 [n] the 16-byte cells that it addresses)] of B, and of A where it is in shared memory."""
        op = op_of(self)
        both = (self.b, op.n, op.k, op.b, self.trans[1]), (self.a, 64, op.stored, op.a, self.trans[0])
        return [(bits, operand(bits, *shape)[1]) for bits, *shape in both if bits is not None]

    def tell(self, kind, warp=None, wavefronts=0):
        """Tells who watches the run of an Event at its operands."""
        cta = self.warpgroup.cta
        if cta.launch.watch is not None:
            cells = np.concatenate([cells for _, cells in self.operands()])
            cta.tell(kind, self.name, warp, cells, wavefronts=wavefronts)

    def adds_to(self, arrays: list) -> bool:
        """Whether its accumulators are these, by warp, as far as warps have issued it: some may be ahead of others."""
        return any(mine is other for mine, other in zip(self.arrays, arrays) if mine is not None)

    def place(self, warp):
        """The Place of a warp that issued it."""
        return warp.place(range(LANES), self.name, self.site)

    def state(self):
        """Which wait covers it, as text."""
        return self.warpgroup.state(self)


class Warpgroup:
    """Four warps of a CTA and the wgmma that they have under way. It is the agent of what these read (see `Touch`)."""

    def __init__(self, cta, number):
        self.cta, self.number = cta, number
        self.engine = None if cta.shadow is None else cta.clocks.engine()
        self._products, self._issued = [], [0] * WARPS   # not yet computed; how many each warp has issued
        self._forgotten = self._computed = 0             # products that are no longer kept; groups that are computed
        self._ends, self._committed = [], [0] * WARPS    # products before the end of each group; groups of each warp
        self._held = {}                                  # accumulators (the first warp's array) -> their newest values

    def issue(self, member, what, site):
        """(The next Product of a warp 0..3, whether this warp is the first to issue it); all four must issue the same."""
        index = self._issued[member] - self._forgotten
        self._issued[member] += 1
        if index == len(self._products):
            self._products.append(Product(self, what, site))
            return self._products[-1], True
        known = self._products[index]
        if known.what != what:
            raise MachineError(f"warps of warpgroup {self.number} issue different wgmma, {_shown(known.what)} and "
                               f"{_shown(what)}: all four must execute the same ones")
        return known, False

    def commit(self, member):
        """Closes the open group of a warp."""
        self._committed[member] += 1
        number, end = self._committed[member], self._issued[member]
        if number > len(self._ends):
            self._ends.append(end)
            for product in self._products[(self._ends[-2] if number > 1 else 0) - self._forgotten:end - self._forgotten]:
                product.group = number
                for touch in product.reads:
                    touch.number = number
        elif self._ends[number - 1] != end:
            raise MachineError(f"warps of warpgroup {self.number} commit {self._ends[number - 1]} and {end} wgmma up to "
                               f"group {number}: all four must execute the same ones")

    def covered(self, member, pending):
        """The number of the newest group that a wait of a warp covers."""
        return max(self._committed[member] - pending, 0)

    def complete(self, number):
        """Whether all warps have committed the group of this number."""
        return min(self._committed) >= number

    def lacking(self, number):
        """What a wait for this group waits for, as text."""
        first = WARPS * self.number
        missing = [str(first + i) for i, done in enumerate(self._committed) if done < number]
        return (f"wgmma.wait_group for group {number} of warpgroup {self.number}, not yet committed by "
                f"warp{'s' * (len(missing) > 1)} {', '.join(missing)}")

    def compute(self, number):
        """Computes all groups up to this number."""
        if number <= self._computed:
            return
        self._computed = number
        count = self._ends[number - 1] - self._forgotten
        todo, self._products = self._products[:count], self._products[count:]
        self._forgotten += count
        for product in todo:
            product.tell("read", wavefronts=_wavefronts(product.name, product.a is None))
        chains = _chains(todo)
        for i, chain in enumerate(chains):
            first, last = chain[0], chain[-1]
            key = id(first.arrays[0])
            held = self._held.pop(key, None)
            c = (_gathered(first) if held is None else held) if first.scale_d else None
            products = multiplied(chain, c, self.cta)
            later = [other[0] for other in chains[i + 1:]] + self._products
            if any(p.adds_to(first.arrays) for p in later):
                self._held[key] = products               # later products go on from here, not from the registers
            last.results = _scattered(op_of(last), products)

    def state(self, touch):
        """Which wait covers a Product, or what it reads, as text."""
        number = touch.group if isinstance(touch, Product) else touch.number
        if number is None:
            return "its group is not committed"
        pending = max(self._committed) - number
        return f"only wgmma.wait_group {pending}{' or less' * (pending > 0)} covers it"

    def finish(self):
        """At the end of the CTA: products that nothing has waited for."""
        return self._products


def _shown(what):
    name, a, b, *_ = what
    return f"{name} (A {'in registers' if a is None else hex(a)}, B {b:#x})"


def _chains(products):
    """Products by accumulators, cut where the next does not simply go on: another name, or not added to what was."""
    chains, newest = [], {}                              # id of accumulators -> their last chain
    for product in products:
        chain = newest.get(id(product.arrays[0]))
        if chain and product.scale_d and chain[-1].name == product.name:
            chain.append(product)
        else:
            newest[id(product.arrays[0])] = chain = [product]
            chains.append(chain)
    return chains


# ---- where elements lie ----------------------------------------------------------------------------------------------


@lru_cache(None)
def _places(name, operand):
    """int64 [64, columns of D or of A]: where an element lies in registers [4 warps, registers, 32 lanes, elements of one],
    by the fragment of the wgmma."""
    from simlayout.hardware import fragment

    held = fragment(name, operand)
    coordinates, each = held.coordinates(), held.per_register
    thread, value = np.indices(coordinates.shape[:2])
    register = thread // LANES * held.registers + value // each
    places = np.empty(held.shape, np.int64)
    places[coordinates[..., 0], coordinates[..., 1]] = (register * LANES + thread % LANES) * each + value % each
    return places


@lru_cache(1024)
def operand(bits, rows, k, dtype, transposed):
    """(int64 [k, rows] element indices into shared memory, int64 [n] the 16-byte cells) that a descriptor addresses."""
    from simlayout.algebra import dtype_of
    from simlayout.hardware.matrix.descriptor import Descriptor
    from simlayout.hardware.matrix.operand_tile import operand_addresses

    addresses = operand_addresses(Descriptor.decode(bits), rows, k, dtype, "MN" if transposed else "K")
    return np.ascontiguousarray(addresses.T) // dtype_of(dtype).bytes, np.unique(addresses // CELL)


def _gathered(product):
    """D as the registers of the four warps hold it, [64, N]."""
    op = op_of(product)
    values = np.stack([array.values.reshape(-1, LANES) for array in product.arrays])
    return values.view(TYPES[op.d].plain).reshape(-1).take(_places(product.name, "D"))


def _scattered(op, values):
    """The inverse: what the registers of each warp hold, uint8 [4, bytes]."""
    flat = np.empty(values.size, values.dtype)
    flat[_places(op.name, "D")] = values
    return flat.reshape(WARPS, -1).view(np.uint8)


def op_of(product):
    """Its TensorOp."""
    from simlayout.numerics import tensor_op

    return tensor_op(product.name)


def multiplied(chain, c, cta):
    """c plus the products of a chain of equal wgmma, [64, N]; c None: zeros."""
    from simlayout.hardware import metadata_nibbles
    from simlayout.numerics.product import multiplied as added_up
    from simlayout.numerics.rules import rule

    op, metadata = op_of(chain[0]), None
    a = np.concatenate([_a_of(p, op, cta) for p in chain])
    b = np.concatenate([_read(p.b, op.n, op.k, op.b, p.trans[1], cta) for p in chain])
    if op.sparse:
        nibbles = [metadata_nibbles(op.name, np.concatenate(p.metadata), p.selector) for p in chain]
        metadata = np.concatenate(nibbles, axis=-1)
    c = np.zeros((64, op.n), TYPES[op.d].plain) if c is None else c
    return added_up(op, rule(op.name), a.T, b, c, metadata)


def _a_of(product, op, cta):
    """What is stored of its A, raw bits [k, 64]; negated where its product is: the bits of the sums are the same, whoever
    has the sign."""
    a = (_from_registers(product, op) if product.a is None else
         _read(product.a, 64, op.stored, op.a, product.trans[0], cta))
    return a ^ a.dtype.type(1 << TYPES[op.a].bits - 1) if product.negated else a


def _read(bits, rows, k, dtype, transposed, cta):
    """An operand's raw bits, [k, rows]."""
    return cta.shared.words(TYPES[dtype].raw).take(operand(bits, rows, k, dtype, transposed)[0])


def _from_registers(product, op):
    words = np.stack([np.stack([np.broadcast_to(r, LANES) for r in part]) for part in product.a_registers])
    words = words if words.dtype.kind == "f" else words.astype(np.uint32)
    return words.view(TYPES[op.a].raw).reshape(-1).take(_places(product.name, "A")).T


class WarpgroupTwins(WarpPart):
    """What a Warp does as one of the four of its warpgroup."""

    def wgmma_fence(self) -> None:
        """wgmma.fence: orders what this warp did with its registers before the wgmma that follow."""
        self.require_convergence("wgmma.fence")
        for array in tuple(self.arrays):
            if not isinstance(array.guard, InFlight):
                array.guard = Fenced(unused=True)

    def wgmma(self, name: str, accumulators: Registers, a: Any, b: Any, scale_d: Any, trans_a: int = 0, trans_b: int = 0,
              negated: bool = False, metadata: Any = None, selector: int = 0) -> None:
        """wgmma.mma_async: D = A B + D (scale_d 0: D = A B; negated: -A B), asynchronously.

        accumulators: a RegisterArray with this warp's registers of D: f32 [N / 2] (in C order, if it has several axes), s32
        the same as b32, f16 as b32 [N / 4]. a: a 64-bit matrix descriptor (int), or four registers [32], this warp's part of
        A. b: a descriptor. trans_a, trans_b: 1 for an MN-major operand. metadata, selector: of wgmma.sp, this warp's
        register of metadata [32] and the sparsity selector.
        """
        self.require_convergence(name)
        what = self._described(name, accumulators, a, b, scale_d, negated, selector, trans_a, trans_b)
        group = self.cta.warpgroup(self)
        product, first = group.issue(self.warp_index % WARPS, what, self.site)
        member = self.warp_index % WARPS
        product.arrays[member] = accumulators
        product.a_registers[member] = None if what[1] is not None else tuple(np.array(r) for r in a)
        if metadata is not None:
            product.metadata[member] = np.array(np.broadcast_to(metadata, LANES)).astype(np.uint32)
        wavefronts = _wavefronts(name, what[1] is None) if first else 0
        self.cta.launch.recorder.count(name, self.counted_at, wavefronts)
        self._watch_operands(product, first)
        if first:
            product.tell("multiply", self)
        if accumulators.guard is None and self.cta.launch.log is not None:
            self.cta.launch.log.add("missing wgmma fence", None, self.place(range(LANES), name))
        accumulators.guard = InFlight(product)

    def _described(self, name, accumulators, a, b, scale_d, negated, selector, trans_a, trans_b):
        from simlayout.numerics import tensor_op

        op = tensor_op(name)
        if op.family not in ("wgmma", "wgmma.sp"):
            raise MachineError(f"{name} is no wgmma: write it as wgmma.m64n256k16.f32.f16.f16")
        wanted = 64 * op.n // (WARPS * LANES) * TYPES[op.d].bytes
        if not isinstance(accumulators, Registers) or accumulators.values.nbytes // LANES != wanted:
            raise MachineError(f"{name}: the accumulators are a register array of {wanted // 4} registers, not "
                               f"{accumulators!r}")
        registers = isinstance(a, tuple | list)
        if registers and len(a) != 4:
            raise MachineError(f"{name}: A comes from 4 registers, not {len(a)}")
        a = None if registers else int(self.agree(a, "the descriptor of A"))
        return (name, a, int(self.agree(b, "the descriptor of B")), bool(self.agree(scale_d, "scale-d")), negated,
                selector, int(trans_a), int(trans_b))

    def _watch_operands(self, product, first):
        """Tells the shadow what the wgmma reads."""
        cta = self.cta
        for bits, cells in product.operands():
            if first and CELL * int(cells[-1]) + CELL > cta.shared.size:
                raise AddressError(f"{product.name}: descriptor {bits:#x} reaches byte {CELL * int(cells[-1]) + CELL - 1} "
                                   f"of {cta.shared.size} bytes of shared memory: ask for more dynamic shared memory "
                                   f"({SHARED_BYTES}) or fix it")
            if cta.shadow is not None:
                touch = Touch(self, product.name, cells, CELL, np.arange(len(cells)) % LANES)
                touch.agent = product.warpgroup
                cta.shadow.check_async_read(touch)
                if first:
                    cta.shadow.async_read(touch)
                    product.reads.append(touch)

    def wgmma_commit(self) -> None:
        """wgmma.commit_group: closes the group of all wgmma since the last one."""
        self.require_convergence("wgmma.commit_group")
        self.cta.warpgroup(self).commit(self.warp_index % WARPS)

    @waits
    def wgmma_wait(self, pending: int) -> Iterator[tuple]:
        """wgmma.wait_group: until all groups but the newest `pending` are complete, in all four warps."""
        self.require_convergence("wgmma.wait_group")
        group, member = self.cta.warpgroup(self), self.warp_index % WARPS
        number = group.covered(member, pending)
        if not number:
            return
        yield (lambda: group.complete(number)), (lambda: group.lacking(number))
        group.compute(number)
        if self.cta.shadow is not None:
            self.cta.clocks.learn(self.threads(self.lane), group.engine, number)
        for array in tuple(self.arrays):
            product = array.guard.product if isinstance(array.guard, InFlight) else None
            if product is not None and product.results is not None:
                array.fill(product.results[member])
                array.guard = Fenced()

    @waits
    def setmaxnreg(self, count: int, increase: Any) -> Iterator[tuple]:
        """setmaxnreg: each thread of the warpgroup gets `count` registers, from those that others of its CTA gave back."""
        instruction = f"setmaxnreg.{'inc' if increase else 'dec'} {count}"
        self.require_convergence(instruction)
        if count % 8 or not 24 <= count <= 256:
            raise MachineError(f"{instruction}: give 24 to 256 registers, a multiple of 8")
        cta = self.cta
        held = cta.registers[self.warp_index]
        if (count < held) if increase else (count > held):
            raise MachineError(f"{instruction} by a thread that has {held}: "
                               f"{'.inc cannot give back' if increase else '.dec cannot take more'}")
        yield (lambda: LANES * (count - held) <= cta.free_registers,
               lambda: f"{instruction}, which lacks {LANES * (count - held) - cta.free_registers} registers")
        cta.free_registers -= LANES * (count - held)
        cta.registers[self.warp_index] = count
        cta.resized[self.warp_index] = self.place(np.flatnonzero(self.active), instruction)


@lru_cache(None)
def _wavefronts(name, registers):
    from simlayout.hardware.matrix.wgmma import operand_wavefronts

    return operand_wavefronts(name, "registers" if registers else "shared")[0]
