"""A kernel of PTX for every case: it loads the operands of a thread, executes the instruction, and stores what it wrote."""

from collections.abc import Iterable
from typing import Any

from simlayout.machine.arithmetic.carriers import width_of

VERSION = "9.0"
"""Of PTX: what a driver of CUDA 13.0 takes at most."""

_HEAD = """.version {version}
.target {target}
.address_size 64
"""
_KERNEL = """
.visible .entry {entry}(.param .u64 sources, .param .u64 results, .param .u32 count)
{{
    .reg .pred p<9>; .reg .b8 q; .reg .b16 h<16>; .reg .b32 r<16>; .reg .b64 d<16>;{room}
    mov.u32 r10, %ctaid.x;
    mov.u32 r11, %ntid.x;
    mov.u32 r12, %tid.x;
    mad.lo.u32 r10, r10, r11, r12;
    ld.param.u32 r11, [count];
    setp.ge.u32 p8, r10, r11;
    @p8 bra END;
    mul.wide.u32 d10, r10, 8;
    mul.wide.u32 d11, r11, 8;
    ld.param.u64 d12, [sources];
    ld.param.u64 d13, [results];
    add.u64 d12, d12, d10;
    add.u64 d13, d13, d10;
{body}
END:
    ret;
}}
"""
"""d12, d13: the thread's first operand and result; d11: bytes to the next one. An operand and a result take 8 bytes each."""


def module_of(cases: Iterable[Any], target: str) -> str:
    """A module with a kernel for each case (of `forms`): k0, k1, ... Its arguments: operands uint64 [operands, count],
    results uint64 [results, count], of which the low bits of the type's width are written, and the count.

    >>> from cuda_kernels.conformance.opcodes.forms import chosen
    >>> "mul24.lo.u32 r0, r2, r3;" in module_of(chosen(["mul24.lo.u32"]), "sm_90")
    True
    """
    kernels = [_KERNEL.format(entry=f"k{i}", room=_room(case), body="\n".join("    " + line for line in _body(case)))
               for i, case in enumerate(cases)]
    return _HEAD.format(version=VERSION, target=target) + "".join(kernels)


def register(name: str, i: int) -> str:
    """Register i of a type; 8 bits take one of 16.

    >>> register("s8", 2), register("pred", 0)
    ('h2', 'p0')
    """
    return f"{'p' if name == 'pred' else {16: 'h', 32: 'r', 64: 'd'}[max(width_of(name), 16)]}{i}"


def _room(case):
    """The shared memory of a case, if it has any."""
    return f" .shared .align 16 .b8 room[{case.room}];" if case.room else ""


def _body(case):
    sources, results = case.sources, case.results
    for i, name in enumerate(sources):
        yield from _load(name, i + 2)
        yield "add.u64 d12, d12, d11;"
    if "cc" in sources:
        yield from _set_carry(case, 1 + len(sources))
    yield from case.lines
    if "cc" in results:
        yield from ("mov.u32 r9, 0;", f"{'addc' if case.by_sums else 'subc'}.u32 r9, r9, r9;", "and.b32 r9, r9, 1;")
    for i, name in enumerate(results):
        yield from _store(name, i)
        yield "add.u64 d13, d13, d11;"


def _load(name, i):
    if name == "pred":
        return [f"ld.global.b32 r{i}, [d12];", f"setp.ne.u32 p{i}, r{i}, 0;"]
    if name == "cc":
        return [f"ld.global.b32 r{i}, [d12];"]
    return [f"ld.global.b{max(width_of(name), 16)} {register(name, i)}, [d12];"]


def _set_carry(case, i):
    if case.by_sums:
        return [f"add.cc.u32 r9, r{i}, 0xffffffff;"]
    return ["mov.u32 r9, 0;", f"sub.cc.u32 r9, r9, r{i};"]


def instruction(opcode: str, modifiers: tuple[str, ...], sources: tuple[str, ...], results: tuple[str, ...]) -> list[str]:
    """The lines that execute an instruction of the table: of operands in registers 2, 3, ... to results in 0, 1, ...

    >>> instruction("add", ("u32",), ("u32", "u32"), ("u32",))
    ['add.u32 r0, r2, r3;']
    """
    name = ".".join((opcode, *modifiers))
    written = [register(name, i) for i, name in enumerate(results) if name != "cc"]
    read = [register(name, i + 2) for i, name in enumerate(sources) if name != "cc"]
    to = ("|" if opcode in ("setp", "lop3") else ", ").join(written)
    if opcode == "cvt" and "bf16" in (*results, *sources):
        return _by_bytes(name, results[0], sources[0], to, *read)
    if opcode != "lop3":
        return [f"{name} {', '.join([to, *read])};"]
    return [line for lut in range(256) for line in                    # an immediate: an instruction for each of its values
            (f"setp.eq.u32 p7, {read[3]}, {lut};", f"@p7 {name} {', '.join([to, *read[:3], str(lut), *read[4:]])};")]


def _by_bytes(name, result, source, to, read):
    """The conversion to or from bf16. ptxas 13.0 and 13.5 take a byte of these in a register of 8 bits alone."""
    if width_of(result) == 8:
        return [f"{name} q, {read};", f"cvt.{result[0]}16.{result} {to}, q;"]
    if width_of(source) == 8:
        return [f"cvt.u8.u16 q, {read};", f"{name} {to}, q;"]
    return [f"{name} {to}, {read};"]


def _store(name, i):
    if name == "pred":
        return [f"selp.u32 r{i}, 1, 0, p{i};", f"st.global.b32 [d13], r{i};"]
    if name == "cc":
        return ["st.global.b32 [d13], r9;"]
    return [f"st.global.b{max(width_of(name), 16)} [d13], {register(name, i)};"]
