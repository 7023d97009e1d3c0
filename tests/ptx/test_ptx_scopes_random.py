"""Random accesses of eight bytes of global or shared memory, weak ones and strong ones of all scopes and of three sizes, by
warps of CTAs and clusters, against every pair of them.

The twin knows nothing of the machine: each warp's accesses are a chain of nodes, joined at barriers. Two of them race if
nothing orders them and one writes, unless both are strong, of the same bytes, and of scopes that have both.
"""

import itertools
import random
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from machine_kit import every_hazard
from ptx_texts import module
from tiers import given_few

import simlayout as sl

WARPS, WIDTHS = 2, (2, 4, 8)
REACHES = {"weak": -1, "cta": 0, "cluster": 1, "gpu": 2}


@dataclass
class Shape:
    """How a program runs. space: "global" or "shared", of the first CTA of the only cluster."""

    ctas: int
    cluster: int
    together: bool
    space: str


SHAPES = [*(Shape(4, cluster, together, "global") for cluster in (1, 2) for together in (False, True)),
          Shape(1, 1, False, "shared"), Shape(2, 2, False, "shared"), Shape(3, 3, False, "shared")]


def program_of(draws, shape):
    """[("bar", CTA) or ("meet", None) or (what, CTA, warp, scope, width, byte)]: meet is a barrier of every cluster."""
    made = []
    for _ in range(draws.randint(2, 9)):
        what = draws.choice(["ld", "ld", "st", "st", "red", "bar", "meet"])
        if what in ("bar", "meet"):
            made.append((what, draws.randrange(shape.ctas)))
            continue
        width = draws.choice(WIDTHS[what == "red":])
        made.append((what, draws.randrange(shape.ctas), draws.randrange(WARPS),
                     draws.choice(list(REACHES)[what == "red":]), width, draws.randrange(0, 8, width)))
    return made


def text_of(program, shape):
    lines = ["""ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, buffer;
mov.u32 %r4, 0; mapa.shared::cluster.u32 %r5, %r3, %r4; mov.u64 %rd2, 0; or.b32 %r6, %r1, %r2; setp.ne.u32 %p1, %r6, 0;
@!%p1 st.shared.u64 [%r3], %rd2; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""]
    at, space = ("%rd1", "global") if shape.space == "global" else ("%r5", "shared::cluster")
    for n, (what, cta, *how) in enumerate(program):
        if what == "meet":
            lines.append("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
            continue
        lines.append(f"setp.ne.u32 %p1, %r2, {cta}; @%p1 bra L{n};")
        if what == "bar":
            lines.append("bar.sync 0;")
        else:
            warp, scope, width, byte = how
            register, value = {2: "%rs1", 4: "%r7", 8: "%rd3"}[width], int.from_bytes(bytes([n + 1] * width), "little")
            order = scope if scope == "weak" else f"relaxed.{scope}"
            form = f"{what}.{order}.{space}{'.add' * (what == 'red')}.u{8 * width}"
            operands = f"{register}, [{at}+{byte}]" if what == "ld" else f"[{at}+{byte}], {register}"
            lines += [f"setp.ne.u32 %p1, %r1, {32 * warp}; @%p1 bra L{n};", f"mov.u{8 * width} {register}, {value};",
                      f"{form} {operands};"]
        lines.append(f"L{n}:")
    lines += ["cvt.u32.u16 %r8, %rs1; nanosleep.u32 %r8; nanosleep.u32 %r7;",
              "mov.b64 {%r7, %r8}, %rd3; nanosleep.u32 %r7; nanosleep.u32 %r8;"]       # what nothing needs is not loaded
    lines.append("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;")
    return module("\n".join(lines), ["u64"], before=".shared .align 16 .b8 buffer[16];")


def racing(program, shape):
    """The bytes at which two threads race: a graph of what happens before what, and every pair."""
    last, before, accesses = {(c, w): 0 for c in range(shape.ctas) for w in range(WARPS)}, [0], []

    def node(threads):
        before.append(0)
        for one in {last[thread] for thread in threads}:
            before[-1] |= before[one] | 1 << one
        last.update(dict.fromkeys(threads, len(before) - 1))

    for what, cta, *how in program:
        if what == "meet":
            for first in range(0, shape.ctas, shape.cluster):
                node([thread for thread in last if first <= thread[0] < first + shape.cluster])
        elif what == "bar":
            node([thread for thread in last if thread[0] == cta])
        else:
            warp, scope, width, byte = how
            node([(cta, warp)])
            accesses += [(at, what != "ld", REACHES[scope], width, cta, warp, last[cta, warp])
                         for at in range(byte, byte + width)]
    return {x[0] for x, y in itertools.combinations(accesses, 2) if x[0] == y[0] and (x[1] or y[1]) and x[4:6] != y[4:6]
            and not before[y[6]] >> x[6] & 1 and not _morally_strong(x, y, shape)}


def _morally_strong(x, y, shape):
    apart = 0 if x[4] == y[4] else 1 if x[4] // shape.cluster == y[4] // shape.cluster else 2
    return x[3] == y[3] and apart <= min(x[2], y[2])


def found_in(program, shape):
    entry, data = sl.ptx.load(text_of(program, shape)).entry(), np.zeros(8, np.uint8)
    found = every_hazard(lambda: entry.run(shape.ctas, 32 * WARPS, data, hazards="report", cluster=shape.cluster,
                                           together=shape.together))
    return {byte for hazard in found for byte in hazard.bytes}


@given_few(70, 8_000, st.integers(0, 2**32 - 1), st.sampled_from(SHAPES))
def test_races_of_random_scopes_and_sizes_are_those_of_the_twin(seed, shape):
    program = program_of(random.Random(seed), shape)
    assert found_in(program, shape) == racing(program, shape)
