"""Atomics: atom and red on shared, global and generic addresses."""

import re
from functools import partial
from typing import NamedTuple

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.arithmetic.floats import add_f64_in_l2, f32
from simlayout.machine.hazards.scopes import is_narrow, value_bytes
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.groups import window
from simlayout.machine.ptx.opcodes.rows import Place, reader, writer

SCOPES = {"cta", "cluster", "gpu", "sys"}
_OTHERS = {"global", "shared", "shared::cta", "shared::cluster", *SCOPES, *syntax.VECTORS}
_ORDERS = {"relaxed", "acquire", "release", "acq_rel"}
_TYPE = re.compile("(?:b|u|s|f|bf)[0-9]+(?:x2)?")
_U1 = np.uint64(1)

_REDUCED = {("add", "u32"), ("add", "s32"), *((o, t) for o in ("min", "max") for t in ("u32", "s32")),
            *((o, "b32") for o in ("and", "or", "xor"))}
"""Atomics of a whole warp on one address that ptxas computes in registers first (REDUX), so that one lane goes to memory."""

_COUNTED = {("add", "u32", 1), ("inc", "u32", -1), ("inc", "u32", 2**32 - 1)}
"""(operation, type, operand) of what ptxas takes for counting lanes; .inc wraps to 0 at its operand, and 2**32 - 1 wraps by
itself."""

_SCANNED = {"add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum,
            "max": np.maximum}
_INTEGERS = {f"{kind}{bits}" for kind in "usb" for bits in (32, 64)}
"""Operations of such integers whose results, one after another, NumPy has at once."""

OPERATIONS = {
    "add": lambda held, b, c: held + b,
    "sub": lambda held, b, c: held - b,
    "and": lambda held, b, c: held & b,
    "or": lambda held, b, c: held | b,
    "xor": lambda held, b, c: held ^ b,
    "exch": lambda held, b, c: b,
    "cas": lambda held, b, c: np.where(held == b, c, held),
    "inc": lambda held, b, c: np.where(held >= b, np.uint64(0), held + _U1),
    "dec": lambda held, b, c: np.where((held == 0) | (held > b), b, held - _U1),
    "min": lambda held, b, c: np.minimum(held, b),
    "max": lambda held, b, c: np.maximum(held, b),
}
"""Operation -> (what is there, operand, second operand) -> what is there then, on carriers (PTX ISA: atom)."""

_ADDED_IN_L2 = {"f32": f32("add", "rn", True), "f64": add_f64_in_l2}


class _Said(NamedTuple):
    """What the modifiers of an atomic say. plain: those of its name that are neither operation nor type."""

    operation: str
    type: str
    order: str
    plain: tuple[str, ...]


def _said(modifiers):
    """The _Said of modifiers, in any order, as ptxas takes them."""
    order, operation, type, plain = "relaxed", None, None, ()
    for modifier in modifiers:
        if modifier in _ORDERS:
            order = modifier
        elif modifier in OPERATIONS:
            operation = modifier
        elif modifier == "noftz":
            plain += (modifier,)
        elif _TYPE.fullmatch(modifier):
            type = modifier
        elif modifier not in _OTHERS and not modifier.startswith("L2::"):
            raise MachineError(f"the machine has no .{modifier} here")
    if operation is None or type is None:
        raise MachineError(f"no {'type' if operation else 'operation'} among {', '.join(modifiers)}")
    return _Said(operation, type, order, plain)


def atomic(instruction, names):
    """atom and red: the lanes one after another, in their order."""
    space, count, (operation, type, order, plain) = window(instruction), instruction.count, _said(instruction.modifiers)
    operands = list(instruction.operands)
    target = operands.pop(0) if instruction.opcode == "atom" else None
    row, offset = names.address(operands[0])
    offset = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
    sources = [_places(one, type, names, names.source) for one in operands[1:3]]
    targets = None if target is None else _places(target, type, names, names.result)
    name = ".".join((instruction.opcode, "shared", operation, *plain, type))
    update = Update(operation, type, count, names.optimized and
                    _merged(instruction, operation, type, target, operands, names))

    again = target is not None and id(instruction) in names.tried_again
    watched = bool(names.by_order.sources)
    follows = partial(names.behind, instruction) if any(one is instruction for one in names.by_order.sources) else None

    def run(warp):
        if again:
            warp.may_try_again()
        values = [np.stack([warp.rows[place.row] for place in part], axis=1) for part in sources]
        where = warp.rows[row] + offset
        if watched:
            warp.comes_in_turn(space, where.view(np.int64), follows)
        held = warp.atomic(space, name, where, update, values, order)
        if targets is not None:                          # nobody waits for what a red leaves behind by another one
            warp.looked()
        for i, place in enumerate(targets or ()):
            if place.row is not None:
                warp.put_bits(place.row, held[:, i])

    alone = order == "relaxed" and count == 1 and not is_narrow(instruction.name)
    return {"run": run, "within": names.bounds(operands[0]), "waits": id(instruction) in names.asked,
            "updates": value_bytes(type) * alone}


def _places(operand, type, names, place):
    """The Places of a register, of the elements of a vector, or of the halves of a .b128."""
    if type == "b128":
        return [Place(None, "b64", 64)] * 2 if operand == syntax.SINK else names.wide(operand)
    return [place(one, type) for one in (operand.operands if isinstance(operand, syntax.Vector) else (operand,))]


def _merged(instruction, operation, type, target, operands, names):
    """From how many active lanes on those that share an address cost as much as one of them, as ptxas 13.0 compiles it; 0 if
    they never do.

    Where nothing reads what the atomic found: those of _COUNTED become ATOMS.POPC.INC, unless their address is generic or
    one of the cluster's, and operations of _REDUCED on an address that is the same in all lanes become REDUX and an atomic
    of one lane. Where something does, additions to such an address are made by one lane if all add the same, of 64 bits
    too; and else, of 32 bits, in a warp of which all lanes take part, which sums up by shuffles first.
    """
    at, value = operands[0], operands[1]
    direct = "shared" in instruction.spaces
    alone = target is None or names.known.unread(target)
    if alone and direct and (operation, type, names.known.constant(value)) in _COUNTED:
        return 1
    reduced = (operation, type) in _REDUCED
    if not (reduced or (operation, type) == ("add", "u64")) or not names.alike(instruction, at):
        return 0
    if reduced and alone or operation == "add" and names.alike(instruction, value):
        return 1
    return LANES if reduced and operation == "add" else 0


class Update:
    """What an atomic makes of the bits at an address. count: elements of a vector, or halves of a .b128; bytes: of all of
    them; merged: see `_merged`; scans: whether `scan` has it; rounds: whether it adds floats.

    Called, it is that of shared memory, where ptxas makes a loop of floating-point addition: `add operand, held`, of which
    held's NaN passes on. `in_l2` is that of global memory, where the L2 cache adds: f32 with .ftz, f64 with NaN as they are
    (both measured on an H200, 2026-11-23, over 16,384 operands each).
    """

    def __init__(self, operation, type, count, merged=0):
        from simlayout.machine.ptx.opcodes.lanes import lane_op

        if type == "b128" and operation not in ("exch", "cas"):
            raise MachineError(f"atomics of .b128 are .exch and .cas, not .{operation}")
        bits, self.merged, self._whole = width_of(type), merged, type == "b128"
        self.operation, self.count, self.size = operation, count, bits // 8
        if self._whole:
            type, bits, self.count = "b64", 64, 2
        self.bytes, self.dtype = self.size * count, np.dtype(f"u{bits // 8}")
        self._function = OPERATIONS[operation]
        floats = type in ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64")
        self.rounds = floats and operation == "add"
        if floats and operation in ("add", "min", "max"):
            modifiers = ("rn", type) if operation == "add" else (type,)
            function = lane_op(operation, modifiers).function
            self._function = lambda held, b, c: function(b, held)
        self._function_in_l2 = self._function
        if operation == "add" and type in _ADDED_IN_L2:
            added = _ADDED_IN_L2[type]
            self._function_in_l2 = lambda held, b, c: added(held, b)
        self.scans = operation in _SCANNED and count == 1 and type in _INTEGERS
        self._scanned = np.dtype(f"{'i' if type[0] == 's' else 'u'}{bits // 8}")
        self._read, self._make = reader(Place(0, type, bits)), writer(Place(0, type, bits))

    def __call__(self, held, values):
        """held, values: uint64 [lanes, count]; returns what is there then, of the dtype."""
        return self._made(self._function, held, values)

    def in_l2(self, held, values):
        """As the call, where the L2 cache computes."""
        return self._made(self._function_in_l2, held, values)

    def scan(self, first, operands):
        """What lanes at one place find, one after another, and what is there in the end: [m + 1, 1] of the dtype. Only where
        it `scans`. first: what is there, [1, 1] of the dtype; operands: uint64 [m, 1]."""
        row = np.concatenate([first, operands.astype(self.dtype)]).view(self._scanned)
        return _SCANNED[self.operation].accumulate(row, axis=0, dtype=self._scanned).view(self.dtype)

    def _made(self, function, held, values):
        def carrier(bits):
            return self._read(np.ascontiguousarray(bits, np.uint64).reshape(-1))

        b, c = (*map(carrier, values), None)[:2]
        made = np.asarray(self._make(np.asarray(function(carrier(held), b, c))))
        if self._whole and self.operation == "cas":      # both halves, or none
            there = np.asarray(held, np.uint64)
            made = np.where((there == values[0]).all(axis=-1, keepdims=True), values[1], there)
        return made.astype(self.dtype).reshape(held.shape)
