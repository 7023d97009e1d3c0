"""Kernels on the machine: lanes that part and meet, rewriting, line numbers, grids."""

import ast
import sys

import numpy as np
import pytest
from machine_kit import (
    Instruction,
    ctaid_x,
    fails,
    ld_global,
    line_of,
    st_global,
    tid_x,
    together,
    values,
    vote,
)

from cuda_kernels import intrinsics
from simlayout.errors import MachineError, SimlayoutError
from simlayout.machine import run


def test_a_lane_varying_if_takes_both_arms_and_merges_what_they_assign():
    def kernel(out, n):
        tid = tid_x()
        if tid % 3 == 0:
            x = tid + 100
            y = 7
        else:
            x = -tid
            y = 7
        st_global(out + 4 * tid, x * y)

    assert values(kernel, 5).tolist() == [7 * (t + 100 if t % 3 == 0 else -t) for t in range(32)]


def test_nested_divergence_narrows_the_mask_and_skips_arms_without_lanes():
    def kernel(out):
        tid = tid_x()
        lanes = 0
        if tid < 20:
            if tid >= 8:
                lanes = vote()
            elif tid > 40:
                lanes = 1 // 0                           # never executed: no lane comes here
            else:
                lanes = vote() + 100
        st_global(out + 4 * tid, lanes)

    assert values(kernel).tolist() == [108] * 8 + [12] * 12 + [0] * 12


def test_a_condition_on_which_all_active_lanes_agree_is_taken_as_it_is():
    def kernel(out):
        tid = tid_x()
        if tid // 32 == 1:
            together()
            for _ in range(4):
                if tid >= 32:
                    break
            st_global(out + 4 * tid, vote())

    assert values(kernel, block=64).tolist() == [-1] * 32 + [32] * 32


def test_and_or_not_and_chained_comparisons_work_lane_by_lane_and_guard_their_right_side():
    def kernel(out, table, n):
        tid = tid_x()
        kept = 0
        if tid < n and ld_global(table + 4 * tid) > 3:   # the load is out of bounds in lanes >= n
            kept = 1
        if tid >= n or not ld_global(table + 4 * tid) > 3:
            kept += 2
        if 4 < tid <= 9 < n * 2:
            kept += 4
        if n == 10 and not n > 10:
            kept += 8
        st_global(out + 4 * tid, kept)

    table = np.arange(10, dtype=np.int32)
    expected = [(1 if t < 10 and t > 3 else 0) + (2 if t >= 10 or t <= 3 else 0) + (4 if 4 < t <= 9 else 0) + 8
                for t in range(32)]
    assert values(kernel, table, 10).tolist() == expected


def test_conditional_expressions_min_and_max_and_casts_work_lane_by_lane():
    def kernel(out, table):
        tid = tid_x()
        a = ld_global(table + 4 * tid) if tid < 10 else -1
        b = max(min(tid, 20), 5, 3)
        c = 1 if 2 > 1 else 0
        st_global(out + 4 * tid, 1000 * a + b + c + int(tid > 3) + min(3, 4))

    table = np.arange(10, dtype=np.int32)
    expected = [1000 * (t if t < 10 else -1) + max(min(t, 20), 5) + 1 + (t > 3) + 3 for t in range(32)]
    assert values(kernel, table).tolist() == expected


def test_augmented_assignment_never_changes_an_array_that_another_name_holds():
    def kernel(out):
        tid = tid_x()
        x = tid
        x += 1
        x <<= 1
        st_global(out + 4 * tid, x + tid)

    assert values(kernel).tolist() == [2 * (t + 1) + t for t in range(32)]


def test_a_name_assigned_in_one_arm_only_keeps_that_value_in_its_lanes():
    def kernel(out):
        tid = tid_x()
        if tid < 4:
            x = tid * 2
        if tid < 4:
            st_global(out + 4 * tid, x)

    assert values(kernel)[:5].tolist() == [0, 2, 4, 6, -1]


def test_uniform_values_that_agree_in_both_arms_stay_uniform():
    def kernel(out):
        tid = tid_x()
        if tid < 4:
            n = 3
        else:
            n = 3
        for i in range(n):
            st_global(out + 4 * tid, i)

    assert values(kernel).tolist() == [2] * 32


def test_pointers_into_one_array_merge_and_pointers_into_two_are_refused():
    def good(out):
        tid = tid_x()
        if tid < 16:
            p = out + 4 * tid
        else:
            p = out + 4 * (47 - tid)
        st_global(p, tid)

    def bad(a, b):
        tid = tid_x()
        if tid < 16:
            p = a
        else:
            p = b
        st_global(p, tid)

    assert values(good).tolist() == [*range(16), *range(31, 15, -1)]
    message = fails(MachineError, bad, np.zeros(4, np.int32), np.zeros(8, np.float32))
    assert "keep two pointers" in message


def test_a_range_may_come_from_a_lane_varying_value_that_is_the_same_in_all_lanes():
    def kernel(out):
        tid = tid_x()
        total = 0
        for i in range(tid // 32, 4, tid // 32 + 1):
            total += i
        st_global(out + 4 * tid, total)

    assert values(kernel, block=64).tolist() == [6] * 32 + [4] * 32


def test_what_a_kernel_cannot_contain_is_named_with_its_line():
    def nested():
        def inner():                                     # nested function
            pass
        inner()

    def tries():
        try:                                             # a try
            pass
        except ValueError:
            pass

    assert f":{line_of('nested function')}: a nested function in a kernel" in fails(MachineError, nested)
    assert f":{line_of('a try')}: try in a kernel" in fails(MachineError, tries)


def test_an_instruction_of_the_whole_warp_is_refused_in_a_diverged_branch():
    def kernel():
        if tid_x() < 8:
            together()

    assert "lanes 0-7" in fails(MachineError, kernel)


FACTOR = 1


def scale(x, *, by=3):
    return x * by


def clamp(x, high):
    if x > high:
        x = high
    return x


def test_device_functions_are_rewritten_through_globals_closures_and_attributes():
    def triple(x):
        return scale(x)

    class Namespace:
        clamp = staticmethod(clamp)

    def kernel(out, n):
        tid = tid_x()
        st_global(out + 4 * tid, Namespace.clamp(triple(tid) + scale(tid, by=2), high=n))

    assert values(kernel, 50).tolist() == [min(5 * t, 50) for t in range(32)]


def test_the_original_function_is_untouched_and_its_globals_stay_live(monkeypatch):
    def kernel(out):
        st_global(out + 4 * tid_x(), FACTOR)

    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert values(kernel)[0] == 5
    monkeypatch.setitem(globals(), "FACTOR", 6)
    assert values(kernel)[0] == 6
    assert kernel.__code__.co_argcount == 1


def test_a_kernel_runs_after_a_traceback_in_a_notebook_which_gives_every_node_of_syntax_a_parent():
    def kernel(out):
        st_global(out + 4 * tid_x(), 3 * tid_x())

    expression = ast.parse("x").body[0].value
    expression.ctx.parent = expression                   # as `executing` does; Python has one Load() for all trees
    try:
        assert values(kernel).tolist() == [3 * t for t in range(32)]
    finally:
        del expression.ctx.parent


def test_an_index_function_without_source_runs_as_it_is_and_a_branching_one_is_refused():
    scope = {}
    exec("def index(t):\n    return (t ^ 1) << 2\n\ndef branching(t):\n    return 1 if t else 2\n", scope)
    index, branching = scope["index"], scope["branching"]

    def kernel(out):
        tid = tid_x()
        st_global(out + index(tid), tid)

    def bad():
        branching(tid_x())

    assert values(kernel).tolist() == [t ^ 1 for t in range(32)]
    assert "cannot be read" in (said := fails(MachineError, bad)) and "write it with def" in said


def test_a_python_error_in_a_kernel_points_at_the_users_own_line():
    def helper(x):
        return x + undefined_name                        # the broken line  # noqa: F821

    def kernel():
        helper(1)                                        # its caller

    with pytest.raises(NameError) as caught:
        run(kernel, 1, 32)
    places = [(frame.path.name if hasattr(frame.path, "name") else frame.path, frame.lineno + 1)
              for frame in caught.traceback]
    assert ("test_machine.py", line_of("its caller")) in places
    assert ("test_machine.py", line_of("the broken line")) in places
    if sys.version_info >= (3, 11):
        assert "CTA (0, 0, 0), warp 0" in caught.value.__notes__[0]


@pytest.mark.parametrize("given, said", [
    ((1,), r"kernel\(out, n\) is given 1 argument: missing a required argument: 'n'"),
    ((1, 2, 3), r"kernel\(out, n\) is given 3 arguments: too many positional arguments")])
def test_a_kernel_that_takes_other_arguments_is_named_with_them(given, said):
    def kernel(out, n):
        pass

    with pytest.raises(MachineError, match=said):
        run(kernel, 1, 32, *given)


class Tensor:
    """As torch's, which NumPy adds to."""

    __dlpack__, __array__ = None, lambda self, *how, **options: np.arange(32)


@pytest.mark.parametrize("given", [[1, 2, 3], list(range(32)), Tensor(), None])
def test_what_is_passed_for_an_array_and_is_none_is_told_from_numbers(given):
    def kernel(out):
        st_global(out + 4 * tid_x(), 1)

    with pytest.raises(MachineError, match=rf"`\+` of {type(given).__name__} and s64 .*: memory is passed as a NumPy array"):
        run(kernel, 1, 32, given)


def test_elements_of_an_array_are_refused_with_the_instruction_that_reads_them():
    def reads(a):
        a[tid_x()]

    def writes(a):
        a[tid_x()] = 1

    for kernel in reads, writes:
        with pytest.raises(MachineError, match=r"test_machine.py:\d+: .* without elements: .* ld_global_f32\(a \+ 4 \* i\)"):
            run(kernel, 1, 32, np.zeros(32, np.int32))


@pytest.mark.parametrize("instruction", [intrinsics.ld_global_b32, intrinsics.cp_async_cg_16, intrinsics.bulk_store])
def test_a_number_for_an_address_of_global_memory_is_refused_with_what_such_is(instruction):
    numbers = {"ld_global_b32": (0,), "cp_async_cg_16": (0, 0), "bulk_store": (0, 0, 16)}[instruction.name]

    def kernel():
        instruction(*numbers)

    with pytest.raises(MachineError, match=rf"test_machine.py:\d+: .*{instruction.name} takes an address of global memory"):
        run(kernel, 1, 32, shared_bytes=64)


def test_what_python_says_of_a_device_function_has_its_name():
    def half(x):
        return x // 2

    def kernel(out):
        st_global(out, half())

    with pytest.raises(TypeError, match=r"half\(\) missing 1 required positional argument: 'x'"):
        run(kernel, 1, 32, np.zeros(32, np.int32))


def test_what_numba_wraps_is_unwrapped():
    class Dispatcher:
        def __init__(self, function):
            self.py_func = function

    @Dispatcher
    def kernel(out):
        st_global(out + 4 * tid_x(), 1)

    assert values(kernel).tolist() == [1] * 32


def test_every_warp_of_every_cta_runs_and_missing_lanes_do_not():
    def kernel(out, n):
        tid = tid_x()
        st_global(out + 4 * (ctaid_x() * n + tid), 1000 * ctaid_x() + tid)

    assert values(kernel, 40, block=40, grid=3).tolist() == [1000 * c + t for c in range(3) for t in range(40)]


def test_thread_coordinates_have_x_fastest():
    thread = Instruction(lambda warp: warp.thread)

    def kernel(out):
        x, y, z = thread()
        st_global(out + 4 * tid_x(), 100 * z + 10 * y + x)

    out = np.zeros(64, np.int32)
    run(kernel, 1, (4, 8, 2), out)
    assert out.tolist() == [100 * z + 10 * y + x for z in range(2) for y in range(8) for x in range(4)]


def test_a_numpy_integer_argument_does_not_overflow_in_address_arithmetic():
    def kernel(out, n):
        st_global(out + 4 * tid_x(), n * 65536 * 65536 // 2**32)

    assert values(kernel, np.int32(7)).tolist() == [7] * 32


def test_impossible_launches_are_refused():
    def kernel():
        pass

    for grid, block, options in ((0, 32, {}), (1, 2048, {}), ((1, 1, 1, 1), 32, {}),
                                 (1, 32, {"shared_bytes": 300_000})):
        with pytest.raises(SimlayoutError):
            run(kernel, grid, block, **options)


def test_progress_is_told_after_each_cta():
    def kernel():
        pass

    seen = []
    run(kernel, (2, 2), 32, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
