"""Every instruction that acts lane by lane: `lane_op` looks it up in the tables."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from simlayout.errors import InstructionError
from simlayout.machine.ptx.opcodes import (
    lanes_compare,
    lanes_convert,
    lanes_floats,
    lanes_integers,
    lanes_video,
)
from simlayout.machine.ptx.opcodes.forms import Form
from simlayout.machine.ptx.opcodes.lacking import told

TABLES: tuple[Form, ...] = (lanes_integers.FORMS + lanes_video.FORMS + lanes_compare.FORMS + lanes_floats.FORMS
                            + lanes_convert.FORMS)
"""All rows."""

FORMS: dict[str, tuple[Form, ...]] = {}
"""Opcode -> its rows."""

for _form in TABLES:
    FORMS[_form.opcode] = FORMS.get(_form.opcode, ()) + (_form,)


@dataclass(frozen=True)
class LaneOp:
    """What an instruction does in each lane.

    results: the types of the destinations. An instruction may write fewer of them, the first ones: `setp` without |q.
    sources: those of the operands, in PTX's order; "cc", the carry flag, is no operand and comes last.
    function: from the carriers of the sources (`simlayout.machine.arithmetic.primitives`) to that of the result, or to a
    tuple of them. Integers may exceed their type: whoever stores them cuts them to the width of the register.
    section: of the PTX ISA. target: the least architecture that has it.

    The bits are those of an sm_90 GPU, also of functions that PTX calls approximate.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Callable
    section: str
    target: str


@lru_cache(None)
def lane_op(opcode: str, modifiers: tuple[str, ...]) -> LaneOp:
    """The LaneOp of an opcode with its modifiers. They stand in PTX's order, or in another one: ptxas takes most of them,
    and CUDA's headers write min.s32.relu.

    Raises InstructionError for an opcode that is not in the tables, or modifiers that it does not have.

    >>> op = lane_op("mad", ("wide", "s32"))
    >>> op.results, op.sources
    (('s64',), ('s32', 's32', 's64'))
    >>> lane_op("div", ("ftz", "s32"))
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: div.ftz.s32 is not an instruction that is known here; div is: div.INTEGER, \
div.SIGNED, div.RND{.ftz}.f32, div.RND.f64, div.approx{.ftz}.f32, div.full{.ftz}.f32
    """
    forms = FORMS.get(opcode)
    if not forms:
        raise InstructionError(told(opcode))
    for order in chain([modifiers], filter(None, (form.in_order(modifiers) for form in forms))):
        for form in forms:
            found = form.match(order)
            if found is not None:
                return LaneOp(form.types(form.results, found), form.types(form.sources, found), form.build(found),
                              form.section, form.target)
    if opcode in ("add", "sub", "mul", "fma") and modifiers[-1:] == ("f32x2",):
        raise InstructionError(f"{'.'.join((opcode, *modifiers))} needs sm_100 or newer, and the machine is an sm_90: "
                               "compile for sm_90a")
    raise InstructionError(f"{'.'.join((opcode, *modifiers))} is not an instruction that is known here; {opcode} is: "
                           f"{', '.join(form.text for form in forms)}")
