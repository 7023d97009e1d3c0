"""Measured fragment maps in a file: each different map once, and which form and operand has which."""

import io
import json

import numpy as np

from simlayout.files import write_whole


def save(path, head, maps):
    """Writes an .npz. head: what, where and when, for JSON; maps: {form: {operand: int16 array}}."""
    names, which, known, shapes, data = [], [], {}, [], []
    for form, operands in maps.items():
        for operand, made in operands.items():
            made = np.ascontiguousarray(made, np.int16)
            key = made.shape, made.tobytes()
            if key not in known:
                known[key] = len(known)
                shapes.append(json.dumps(made.shape))
                data.append(made.reshape(-1))
            names.append(f"{form}|{operand}")
            which.append(known[key])
    made = io.BytesIO()
    np.savez_compressed(made, head=json.dumps(head), names=names, which=np.array(which, np.int32), shapes=shapes,
                        data=np.concatenate([np.empty(0, np.int16), *data]))
    write_whole(path, made.getvalue())


def load(path):
    """(head, {form: {operand: int16 array}}) of a file."""
    with np.load(path) as held:
        head, names, which, data = json.loads(str(held["head"])), held["names"], held["which"], held["data"]
        shapes = [json.loads(str(s)) for s in held["shapes"]]
    ends = np.cumsum([int(np.prod(s)) for s in shapes])
    known = [data[end - int(np.prod(s)):end].reshape(s) for s, end in zip(shapes, ends)]
    maps = {}
    for name, i in zip(names, which):
        form, operand = str(name).split("|")
        maps.setdefault(form, {})[operand] = known[i]
    return head, maps
