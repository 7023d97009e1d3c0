"""What reductions of bulk copies do to elements: the twin of the machine's."""

import ml_dtypes
import numpy as np

NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "u32": np.uint32,
         "s32": np.int32, "u64": np.uint64, "s64": np.int64, "b32": np.uint32, "b64": np.uint64}


def one_by_one(op, there, comes):
    """What an element becomes: the twin of the reductions, on Python's numbers but where rounding matters."""
    if op in ("add", "min", "max"):
        return there + comes if op == "add" else min(there, comes) if op == "min" else max(there, comes)
    there, comes = int(there), int(comes)
    return {"and": there & comes, "or": there | comes, "xor": there ^ comes, "inc": 0 if there >= comes else there + 1,
            "dec": comes if there == 0 or there > comes else there - 1}[op]
