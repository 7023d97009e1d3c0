"""The loop that executes steps of one part of a warp until it comes to one that is not compiled, or to where others are.

What a number stands for is said in `encode`.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from simlayout.jit import jit
from simlayout.machine.ptx.compiled.doubts import global_load, global_store, shared_load, shared_store
from simlayout.machine.ptx.compiled.encode import (
    BARRIER,
    BRANCH,
    CALL,
    COMPUTE,
    EXIT,
    GLOBAL,
    JOIN,
    LOAD,
    LOCAL,
    MOVE,
    PARAMETERS,
    RETURN,
    SHARED,
    SPECIAL,
    STORE,
    TAKE,
)
from simlayout.machine.ptx.compiled.rows import LANES, compute
from simlayout.machine.ptx.doubts import CTA, WROTE
from simlayout.machine.ptx.program import ROOM

U64, I64 = np.uint64, np.int64
_ZERO, _ONES = U64(0), U64(0xFFFFFFFFFFFFFFFF)


def _access(bits):
    """(load, store) of so many bits at an address of this process, any alignment."""
    from llvmlite import ir

    width = ir.IntType(bits)

    @intrinsic
    def load(context, address):
        def generate(context, builder, signature, args):
            value = builder.load(builder.inttoptr(args[0], width.as_pointer()), align=1)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))
        return types.uint64(types.int64), generate

    @intrinsic
    def store(context, address, value):
        def generate(context, builder, signature, args):
            low = args[1] if bits == 64 else builder.trunc(args[1], width)
            builder.store(low, builder.inttoptr(args[0], width.as_pointer()), align=1)
            return context.get_dummy_value()
        return types.void(types.int64, types.uint64), generate

    return load, store


_load_8, _store_8 = _access(8)
_load_16, _store_16 = _access(16)
_load_32, _store_32 = _access(32)
_load_64, _store_64 = _access(64)


@jit
def _read(rows, row, how, room):
    """The number of the row that has what a source is read as: the row itself, or row `room`, which then has it extended
    with its sign from 8, 16 or 32 bits, cut to as many, or negated."""
    if how == 0:
        return row
    if how == 3:
        for i in range(LANES):
            rows[room, i] = U64(I64(np.int32(rows[row, i])))
    elif how == 6:
        for i in range(LANES):
            rows[room, i] = rows[row, i] & U64(0xFFFFFFFF)
    elif how == 1:
        for i in range(LANES):
            rows[room, i] = U64(I64(np.int8(rows[row, i])))
    elif how == 2:
        for i in range(LANES):
            rows[room, i] = U64(I64(np.int16(rows[row, i])))
    elif how == 4:
        for i in range(LANES):
            rows[room, i] = rows[row, i] & U64(0xFF)
    elif how == 5:
        for i in range(LANES):
            rows[room, i] = rows[row, i] & U64(0xFFFF)
    else:
        for i in range(LANES):
            rows[room, i] = rows[row, i] ^ U64(1)
    return room


@jit
def _write(rows, row, value, keep, full, lanes):
    """Writes what `keep` has of row `value` to a row, in the lanes whose entry in row `lanes` is all ones."""
    if full:
        for i in range(LANES):
            rows[row, i] = rows[value, i] & keep
    else:
        for i in range(LANES):
            rows[row, i] = (rows[value, i] & keep & rows[lanes, i]) | (rows[row, i] & ~rows[lanes, i])


@jit
def _inside(low, size, total, address):
    return address >= low and address + total <= low + size


@jit
def _locate(rows, base, offset, space, total, write, lanes, memory, ranges, at, cells):
    """Puts into row `at` where in this process the addresses of row `base` are, and of global memory into row `cells` how
    many bytes from the start of all; False if one is outside or not aligned."""
    r, low, size, start = 0, I64(0), memory[1], memory[0]
    if space == LOCAL:
        size, start = memory[3], memory[2]
    elif space == PARAMETERS:
        size, start = memory[5], memory[4]
    for i in range(LANES):
        if rows[lanes, i] == _ZERO:
            continue
        address = I64(rows[base, i]) + offset
        if space == SHARED:
            address &= 0xFFFFFFFF                        # its addresses have 32 bits
        if address & (total - 1):
            return False
        if space == GLOBAL:
            if not (len(ranges) and _inside(ranges[r, 0], ranges[r, 1], total, address)):
                r = 0
                while r < len(ranges) and not _inside(ranges[r, 0], ranges[r, 1], total, address):
                    r += 1
                if r == len(ranges):
                    return False
            if write and not ranges[r, 3]:
                return False
            rows[at, i] = ranges[r, 2] + (address - ranges[r, 0])
            rows[cells, i] = ranges[r, 4] + (address - ranges[r, 0])
        elif not _inside(low, size, total, address):
            return False
        elif space == LOCAL:
            rows[at, i] = start + i * size + address
        else:
            rows[at, i] = start + address
    return True


@jit
def _get(rows, room, at, behind, size, lanes):
    """Loads an element of `size` bytes per lane into row `room`, from `behind` bytes after the addresses of row `at`."""
    for i in range(LANES):
        if rows[lanes, i]:
            address = I64(rows[at, i]) + behind
            if size == 4:
                rows[room, i] = _load_32(address)
            elif size == 8:
                rows[room, i] = _load_64(address)
            elif size == 2:
                rows[room, i] = _load_16(address)
            else:
                rows[room, i] = _load_8(address)


@jit
def _set(rows, row, at, behind, size, lanes):
    """Stores an element of `size` bytes per lane of a row; as `_get`."""
    for i in range(LANES):
        if rows[lanes, i]:
            address = I64(rows[at, i]) + behind
            if size == 4:
                _store_32(address, rows[row, i])
            elif size == 8:
                _store_64(address, rows[row, i])
            elif size == 2:
                _store_16(address, rows[row, i])
            else:
                _store_8(address, rows[row, i])


@jit
def _note(rows, base, offset, keep, lanes, at, common):
    """Notes an access of shared or global memory; keep: the bits that an address has there."""
    n, bits, log_addresses = common.log_used[0], np.uint32(0), common.log_addresses
    for i in range(LANES):
        on = rows[lanes, i] != _ZERO
        log_addresses[n, i] = (I64(rows[base, i]) + offset) & keep if on else 0
        bits |= np.uint32(on) << np.uint32(i)
    common.log_step[n], common.log_lanes[n] = at, bits
    common.log_used[0] = n + 1


@jit
def _fine(rows, space, store, total, lanes, memory, at, cells, who, common):
    """Whether an access is surely nothing to tell of."""
    if space == SHARED and store:
        return shared_store(rows, at, memory[0], total, lanes, who, common.shared_wrote, common.shared_read)
    if space == SHARED:
        return shared_load(rows, at, memory[0], total, lanes, who, common.shared_wrote, common.shared_read)
    if space == GLOBAL and store:
        return global_store(rows, cells, total, lanes, who, common.global_wrote, common.global_read)
    if space == GLOBAL:
        return global_load(rows, cells, total, lanes, who, common.global_wrote, common.global_read)
    if space == LOCAL and who[WROTE]:
        for i in range(LANES):
            if rows[lanes, i]:
                flags = I64(rows[at, i]) - memory[2] + who[WROTE]
                for byte in range(total):
                    if store:
                        _store_8(flags + byte, U64(1))
                    elif not _load_8(flags + byte):
                        return False
    return True


@jit
def _some(rows, lanes):
    total = _ZERO
    for i in range(LANES):
        total |= rows[lanes, i]
    return total != _ZERO


@jit
def _all(rows, lanes):
    total = _ONES
    for i in range(LANES):
        total &= rows[lanes, i]
    return total == _ONES


@jit
def _enter(rows, operands, lanes, at):
    """Notes that lanes call a function; False if some are inside already."""
    inside = operands[1]
    for i in range(LANES):
        if inside >= 0 and rows[lanes, i] and rows[inside, i]:
            return False
    for i in range(LANES):
        if rows[lanes, i]:
            rows[operands[0], i] = U64(at + 1)
            if inside >= 0:
                rows[inside, i] = U64(1)
    return True


@jit
def _return(rows, operands, lanes):
    """Where lanes go on that leave a function; -1 if not all of them go to the same place."""
    to = I64(-1)
    for i in range(LANES):
        if rows[lanes, i]:
            here = I64(rows[operands[0], i])
            if to >= 0 and here != to:
                return I64(-1)
            to = here
    for i in range(LANES):
        if operands[1] >= 0 and rows[lanes, i]:
            rows[operands[1], i] = _ZERO
    return to


@jit
def _copy(rows, copies, lanes, memory, who):
    """Copies what a call passes: see `encode.Encoded`."""
    for c in range(len(copies)):
        row, at, to_row, to, n = copies[c]
        for i in range(LANES):
            if not rows[lanes, i]:
                continue
            local = i * memory[3]
            if row >= 0 and to_row >= 0:
                rows[to_row, i] = rows[row, i]
                continue
            value = rows[row, i] if row >= 0 else _ZERO
            for b in range(n):
                if row < 0:
                    byte = _load_8(memory[2] + local + at + b)
                    if to_row >= 0:
                        value |= byte << U64(8 * b)
                else:
                    byte = value >> U64(8 * b)
                if to_row < 0:
                    _store_8(memory[2] + local + to + b, byte)
                    if who[WROTE]:
                        _store_8(who[WROTE] + local + to + b, U64(1))
            if to_row >= 0:
                rows[to_row, i] = value


@jit
def execute(at, limit, patience, mask, rows, memory, who, steps, common):
    """Executes from step `at` on; returns where it stopped, in state[0] how many steps it has executed, and
    adds the stores that others may see to state[1]; state[2] becomes 1 where it stopped at an access that may have something
    to tell of.

    limit: a place in the order; patience: most steps; mask: uint64 [32], all ones where a lane takes part. rows, memory,
    who: of the warp (`Held`: rows, places, who); steps: an Encoded; common: a Common, which has `state`.
    """
    code, targets, kinds, operands, hows, keeps = (steps.code, steps.targets, steps.kinds, steps.operands, steps.hows,
                                                   steps.keeps)
    elements, offsets, copies, places = steps.elements, steps.offsets, steps.copies, steps.places
    executed, state, ranges, log_used = common.executed, common.state, common.ranges, common.log_used
    room = rows.shape[0] - ROOM
    part, guarded, found, result, cells = room + 4, room + 5, room + 6, room + 7, room + 8
    done = 0
    for i in range(LANES):
        rows[part, i] = mask[i]
    full = _all(rows, part)
    while done < patience:
        kind = kinds[at]
        if kind == SPECIAL or kind == BARRIER:
            break
        lanes, whole, guard = part, full, operands[at, 6]
        if guard >= 0:
            flip = U64(hows[at, 6])
            for i in range(LANES):
                rows[guarded, i] = rows[part, i] & (_ZERO - (rows[guard, i] ^ flip))
            lanes, whole = guarded, full and _all(rows, guarded)
        if kind == BRANCH or kind == CALL or kind == RETURN or kind == EXIT:
            goes = guard < 0 or _some(rows, lanes)
            if goes and guard >= 0 and not whole:
                stays = _ZERO
                for i in range(LANES):
                    stays |= rows[part, i] & ~rows[guarded, i]
                if stays != _ZERO:
                    break
            to = at + 1
            if goes and kind == BRANCH:
                to = targets[at]
            elif goes and kind == RETURN:
                to = _return(rows, operands[at], lanes)
            elif goes and kind == CALL and _enter(rows, operands[at], lanes, at):
                _copy(rows, copies[operands[at, 2]:operands[at, 3]], lanes, memory, who)
                to = targets[at]
            elif goes:
                to = -1                                  # an end, or a call of a function that they are in
            if to < 0:
                break
            executed[at] += 1
            done += 1
            at = to
            if places[at] >= limit:
                break
            continue
        a, to = operands[at, 2], operands[at, 0]
        if kind == COMPUTE:
            x = _read(rows, a, hows[at, 2], room)
            y = _read(rows, operands[at, 3], hows[at, 3], room + 1)
            z = _read(rows, operands[at, 4], hows[at, 4], room + 2)
            compute(code[at], rows, result, x, y, z, _read(rows, operands[at, 5], hows[at, 5], room + 3))
            _write(rows, to, result, keeps[at], whole, lanes)
        elif kind == MOVE:
            _write(rows, to, _read(rows, a, hows[at, 2], room), keeps[at], whole, lanes)
        elif kind == LOAD or kind == STORE:
            space, size, count, offset = hows[at, 0], hows[at, 1], hows[at, 2], offsets[at]
            if whole or _some(rows, lanes):
                if space <= SHARED and log_used[0] == len(common.log_step):
                    break
                if not _locate(rows, a, offset, space, size * count, kind == STORE, lanes, memory, ranges, found, cells):
                    break
                if who[CTA] and not _fine(rows, space, kind == STORE, size * count, lanes, memory, found, cells, who,
                                          common):
                    state[2] = 1
                    break
                if space <= SHARED:
                    keep = I64(0xFFFFFFFF) if space == SHARED else I64(-1)
                    _note(rows, a, offset, keep, lanes, at, common)
                if kind == STORE and space != LOCAL:     # nobody waits for what a lane keeps for itself
                    state[1] += 1
                for e in range(count):
                    if kind == STORE:
                        _set(rows, elements[at, e], found, e * size, size, lanes)
                    elif elements[at, e] >= 0:
                        _get(rows, room, found, e * size, size, lanes)
                        _write(rows, elements[at, e], _read(rows, room, hows[at, 3], room + 1), keeps[at], whole, lanes)
        elif kind == TAKE:
            _copy(rows, copies[a:operands[at, 3]], lanes, memory, who)
        elif kind == JOIN:
            shift = U64(hows[at, 0])
            for i in range(LANES):
                rows[result, i] = rows[a, i] | (rows[operands[at, 3], i] << shift)
            _write(rows, to, result, keeps[at], whole, lanes)
        else:                                            # SPLIT
            shift = U64(hows[at, 0])
            for i in range(LANES):
                rows[room, i] = rows[a, i]
                rows[result, i] = rows[a, i] >> shift
            if to >= 0:
                _write(rows, to, room, keeps[at], whole, lanes)
            if operands[at, 1] >= 0:
                _write(rows, operands[at, 1], result, keeps[at], whole, lanes)
        executed[at] += 1
        done += 1
        at += 1
        if places[at] >= limit:
            break
    state[0] = done
    return at
