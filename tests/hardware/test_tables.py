"""One fact, one table: a new element type or architecture is one row, and no package keeps a second copy of a table."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cuda_kernels
import simlayout
from simlayout.algebra.dtypes import DTYPES, TYPES
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.hardware.tables.arch import ARCHES, FEATURES
from simlayout.hardware.tables.mma import MMAS
from simlayout.hardware.tables.tensor_ops import TENSOR_OPS

PACKAGES = [Path(package.__file__).parent for package in (simlayout, cuda_kernels)]
HOMES = {"dtypes.py", "arch.py", "swizzle_modes.py"}
"""The files of the tables."""

STORAGES = {row.storage for row in TYPES.values()} | {f"uint{8 << i}" for i in range(4)}
WARP_NAMES = {"LANES", "WARP", "WARP_SIZE", "WARP_LANES", "WARPSIZE"}


def sources():
    """(path, syntax tree) of every module that is not a table of facts and not emitted."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            if path.name not in HOMES and "emitted" not in path.parts:
                yield path, ast.parse(path.read_text())


def named(value):
    """The last word of a value that names something: float16 of np.float16, of np.dtype(np.float16) and of "float16"."""
    if isinstance(value, ast.Call) and value.args:
        return named(value.args[0])
    if isinstance(value, ast.Attribute):
        return value.attr.removeprefix("c_")
    return value.id.removeprefix("c_") if isinstance(value, ast.Name) else getattr(value, "value", None)


def keys_of(node):
    return {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)}


def tells_types(node):
    """Whether a dict says again of at least two element types how wide they are or what stores them, or of widths which
    integers have them."""
    pairs = keys_of(node)
    told = [named(value) in STORAGES or named(value) in (TYPES[key].bits, TYPES[key].bits / 8)
            for key, value in pairs.items() if key in TYPES]
    widths = [key in (8, 16, 32, 64) and named(value) == f"uint{key}" for key, value in pairs.items()]
    return any(len(found) > 1 and all(found) for found in (told, widths))


def tells_swizzles(node):
    """Whether a dict says something of the spans or the names of TMA's swizzle modes."""
    keys = set(keys_of(node))
    spans, names = set(SWIZZLE_MODES) - {0}, {str(mode) for mode in SWIZZLE_MODES.values()}
    return spans <= keys <= set(SWIZZLE_MODES) or len(keys & names) > 1


def tells_lanes(node):
    """Whether an assignment names the 32 lanes of a warp again."""
    return isinstance(node.value, ast.Constant) and node.value.value == 32 and any(
        isinstance(target, ast.Name) and target.id.lstrip("_") in WARP_NAMES for target in node.targets)


def asks_capability(node):
    """Whether a comparison has a compute capability in it, which a feature's name should stand for."""
    capabilities = {a.capability for a in ARCHES.values() if a.capability} | {f.since for f in FEATURES.values()}
    return any(isinstance(side, ast.Tuple) and all(isinstance(e, ast.Constant) for e in side.elts)
               and tuple(e.value for e in side.elts) in capabilities for side in (node.left, *node.comparators))


def is_target(node):
    """Whether a text is a target that belongs to one architecture alone, such as sm_90a."""
    return node.value in {a.target for a in ARCHES.values()} - set(ARCHES)


RULES = ((ast.Dict, tells_types), (ast.Dict, tells_swizzles), (ast.Assign, tells_lanes), (ast.Compare, asks_capability),
         (ast.Constant, is_target))

PLANTED = [
    (tells_types, 'SIZES = {"f16": 2, "bf16": 2, "f32": 4}'), (tells_types, 'BITS = {"f64": 64, "e3m4": 8, "s4": 4}'),
    (tells_types, 'STORAGE = {"f16": np.float16, "bf16": np.uint16}'),
    (tells_types, 'NAMES = {"b32": "uint32", "s32": "int32"}'),
    (tells_types, "RAW = {8: np.uint8, 16: np.uint16}"), (tells_types, 'C = {"u64": c_uint64, "s32": ctypes.c_int32}'),
    (tells_swizzles, "MODES = {0: 0, 128: 1, 64: 2, 32: 3}"), (tells_swizzles, "SPANS = {32: 1, 64: 2, 128: 3}"),
    (tells_swizzles, 'NAMES = {"SWIZZLE_NONE": 0, "SWIZZLE_128B": 128}'),
    (tells_lanes, "WARP = 32"), (asks_capability, "hopper = capability == (9, 0)"),
    (asks_capability, "if found < (8, 0): pass"), (is_target, 'def cubin(text, arch="sm_90a"): pass'),
]


def copies(tree):
    """[(rule, line)] of what a module says that a table says."""
    return [(rule.__name__, node.lineno) for node in ast.walk(tree) for kind, rule in RULES
            if isinstance(node, kind) and rule(node)]


def test_no_module_says_again_what_a_table_says():
    found = [f"{path}:{line}: {rule}" for path, tree in sources() for rule, line in copies(tree)]
    assert not found, "read these from simlayout.algebra.dtypes, swizzle_modes or hardware.tables.arch"


@pytest.mark.parametrize(("rule", "text"), PLANTED, ids=[text for _, text in PLANTED])
def test_a_second_copy_is_found(rule, text):
    assert copies(ast.parse(text)) == [(rule.__name__, 1)]


def alone(code):
    """Runs code in a Python of its own, in which the tables are new."""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_new_element_type_is_one_row():
    pytest.importorskip("ml_dtypes")
    alone("""
import numpy as np
import ml_dtypes
from simlayout.algebra import dtypes
row = dtypes.DType("e3m4", 8, "float8_e3m4", tma=0, exponent=3, fraction=4, accumulators=("f32",))
dtypes.DTYPES["e3m4"] = dtypes.TYPES["e3m4"] = row
import simlayout as sl
from cuda_kernels.conformance.fragments.bits import from_registers, one, to_numbers, to_registers
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.tables.mma import per_register
from simlayout.numerics.formats import decode, exact
bits = np.arange(256, dtype=np.uint8)
wanted = bits.view(ml_dtypes.float8_e3m4).astype(np.float64)
np.testing.assert_array_equal(exact("e3m4", bits), wanted)
finite = wanted[np.isfinite(wanted)]
assert (row.largest, 2.0 ** row.exponents[0]) == (finite.max(), float(ml_dtypes.finfo(ml_dtypes.float8_e3m4).tiny))
np.testing.assert_array_equal(to_numbers(bits, "e3m4"), wanted)
assert to_numbers([one("e3m4")], "e3m4") == 1 and per_register("e3m4") == 4
patterns = np.arange(128).reshape(32, 4)
assert (from_registers(to_registers(patterns, "e3m4"), "e3m4") == patterns).all()
assert TensorMap("e3m4", (64, 8), (64,), (64, 8), swizzle=64).box_bytes == 512
tile = sl.Swizzle(3, 4, 3) @ sl.Layout((16, 128), (128, 1))
a = sl.Access("A", "ldmatrix.x4", tile, lambda tid: (tid % 16, 16 * (tid // 16)), dtype="e3m4")
assert sl.verify(a).excess == 0
""")


def test_a_new_architecture_is_one_row():
    alone("""
import importlib.util
import sys
from pathlib import Path
import simlayout as sl
name = "simlayout.hardware.tables.arch"              # before the package that holds it, which makes tables of these
spec = importlib.util.spec_from_file_location(name, Path(sl.__file__).parent / "hardware" / "tables" / "arch.py")
sys.modules[name] = arch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(arch)
arch.ARCHES["sm_130"] = arch.Arch("sm_130", (13, 0), 99 * 1024, 100 * 1024, "a test")
import numpy as np
from simlayout.hardware.tables.tensor_ops import tensor_op
from simlayout.cli import main
assert arch.arch_of("sm_130a").target == "sm_130" and arch.arch_of("sm_130").reserved_bytes_per_cta == 1024
assert sl.analyze("ld.shared.b32", 4 * np.arange(32), arch="sm_130").wavefronts.tolist() == [1]
assert "sm_130" in tensor_op("m16n8k16.f32.f16.f16.f32").arches and "sm_130" not in tensor_op(
    "wgmma.m64n8k16.f32.f16.f16").arches
assert main(["check", "(16,64):(64,1)", "--arch", "sm_130"]) == 0
""")


def test_types_are_as_wide_as_their_fields():
    for row in TYPES.values():
        assert row.raw.itemsize == max(1, row.bytes) and row.plain.itemsize == max(1, row.bytes)
        if row.exponent:
            assert row.limits is None and 1 + row.exponent + row.fraction == {"tf32": 19}.get(row.name, row.bits)
    assert set(DTYPES) == {name for name, row in TYPES.items() if row.bits >= 8}


@pytest.mark.parametrize("name", [name for name, row in TYPES.items() if row.exponent])
def test_floats_have_the_limits_that_their_dtypes_say(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    row = TYPES[name]
    info = ml_dtypes.finfo(row.numpy)
    fraction = info.nmant if name != "tf32" else 10
    assert (row.exponents[0], row.fraction) == (info.minexp, fraction)
    assert row.largest == (float(info.max) if name != "tf32" else (2 - 2.0**-10) * 2.0**127)
    assert np.isnan(np.array(row.nan, row.raw).view(row.numpy).astype(np.float64))


def test_accumulators_are_the_sums_of_the_instructions():
    for op in (*MMAS.values(), *TENSOR_OPS.values()):
        d, a = (op.types[0], op.types[1]) if hasattr(op, "types") else (op.d, op.a)
        assert d in TYPES[a].accumulators
    for name, row in TYPES.items():
        assert set(row.accumulators) == {op.d for op in TENSOR_OPS.values() if op.a == name}


def test_modes_are_numbered_one_by_one():
    for field in ("span", "bits", "tensor_map", "wgmma", "tcgen05", "period"):
        assert len({getattr(mode, field) for mode in SWIZZLE_MODES.values()}) == len(SWIZZLE_MODES)
    assert [mode.wgmma for mode in SWIZZLE_MODES.values() if mode.span] == [3, 2, 1]
    found = [(mode.mask, mode.period) for mode in SWIZZLE_MODES.values()]
    assert found == [(0, 128), (0x10, 256), (0x30, 512), (0x70, 1024)]


def test_the_command_line_names_every_architecture_of_nvidia_and_the_command_that_names_all():
    from simlayout.cli.options import SHARED

    told = SHARED["--arch"]["help"][""]
    assert all(name in told for name, arch in ARCHES.items() if arch.capability) and "simlayout chips" in told
