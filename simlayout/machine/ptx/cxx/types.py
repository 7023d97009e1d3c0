"""Types of a function's parameters in C++, of its mangled name, and which arrays fit.

PTX says of a pointer only that it has 64 bits. The name of a kernel of CUDA C++ says what it points to, unless it is
extern "C".
"""

import re

import numpy as np

from simlayout.machine.ptx.cxx.mangled import Mangled, read

_FLOATS = {"float": "float32", "double": "float64", "__half": "float16", "half_t": "float16", "_Float16": "float16",
           "__nv_bfloat16": "bfloat16", "bfloat16_t": "bfloat16", "__bf16": "bfloat16", "__nv_fp8_e4m3": "float8_e4m3fn",
           "float_e4m3_t": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2", "float_e5m2_t": "float8_e5m2"}
_INTEGERS = {"short": "int16", "unsigned short": "uint16", "int": "int32", "unsigned int": "uint32", "long": "int64",
             "unsigned long": "uint64", "long long": "int64", "unsigned long long": "uint64", "bool": "bool"}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}
_VECTOR = re.compile(r"(u?(?:short|int|long|longlong)|float|double|__half|__nv_bfloat16)([234])")
_OF_VECTORS = {"short": "int16", "int": "int32", "long": "int64", "longlong": "int64", "float": "float32",
               "double": "float64", "__half": "float16", "__nv_bfloat16": "bfloat16"}


def parameter_types(mangled):
    """The types of a function's parameters as text, or None where its name does not say, or in a way that is not read here.

    >>> parameter_types("_Z9transposePfPKS_i"), parameter_types("_Z3sumIdLi32EEvPKT_PS0_"), parameter_types("plain")
    (['float*', 'float* const*', 'int'], ['const double*', 'double*'], None)
    """
    return read(mangled, Mangled.parameters)


def misfit(type, dtype):
    """Why an array of a dtype is not what a pointer of that type points to, as text that says what to pass; "" if it is, or
    may be: bytes are anything, and so are structs.

    >>> misfit("const float*", np.dtype(np.float64))
    'a float64 array for const float*: pass array.astype(np.float32), or array.view(np.float32) if its bytes are such'
    >>> misfit("float*", np.dtype(np.float32)), misfit("void*", np.dtype(np.float64)), misfit("__half*", np.dtype(np.uint16))
    ('', '', '')
    >>> misfit("__half2*", np.dtype(np.uint32)), misfit("float4*", np.dtype(np.float64))[:58]
    ('', 'a float64 array for float4*: pass array.astype(np.float32)')
    """
    to = re.sub(r"\b(const|volatile|__restrict__) ", "", type).removesuffix("*").rpartition("::")[2]
    if not type.endswith("*") or to.endswith("*") or dtype.itemsize == 1 or dtype.kind not in "biufcV":
        return ""
    if dtype.kind == "V" and not dtype.name.startswith(("bfloat", "float")):
        return ""                                        # a struct; those of ml_dtypes are V too
    kind, vector = dtype.kind, _VECTOR.fullmatch(to)
    nbytes = dtype.itemsize // 2 if kind == "c" else dtype.itemsize
    if vector is not None:
        wanted = "u" * vector[1].startswith("u") + _OF_VECTORS[vector[1].removeprefix("u")]
        size = np.dtype(wanted.replace("bfloat", "uint")).itemsize
        fits = nbytes <= size or kind in "iu" and nbytes == size * int(vector[2])       # a whole one as a number
    elif to in _FLOATS:
        wanted = _FLOATS[to]
        of_name = dtype.name == wanted or kind == "c" and nbytes == _BYTES[wanted]
        fits = of_name or kind in "iu" and nbytes == _BYTES[wanted] == 2                # NumPy itself has no bfloat16
    elif to in _INTEGERS:
        wanted, size = _INTEGERS[to], np.dtype(_INTEGERS[to]).itemsize
        fits = nbytes == size and kind in "iu" or to.startswith("unsigned") and kind not in "iuc" and nbytes <= size
    else:
        return ""
    if fits:
        return ""
    article = "an" if dtype.name[0] in "aeiou" else "a"
    of = f"np.{wanted}" if hasattr(np, wanted) else f"ml_dtypes.{wanted}"
    of = "bool" if wanted == "bool" else of
    return f"{article} {dtype.name} array for {type}: pass array.astype({of}), or array.view({of}) if its bytes are such"
