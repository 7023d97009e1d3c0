"""Measured fragment maps in a file: each different map once, and which form and operand has which."""

import io
import json

import numpy as np

from simlayout.files import write_whole


def save(path, head, maps):
    """Writes an .npz. head: what, where and when, for JSON; maps: {form: {operand: int16 array}}."""
    names, which, numbers, shapes, data = [], [], {}, [], []         # equal arrays are written once
    for form, operands in maps.items():
        for operand, coordinates in operands.items():
            array = np.ascontiguousarray(coordinates, np.int16)
            key = array.shape, array.tobytes()
            if key not in numbers:
                numbers[key] = len(numbers)
                shapes.append(json.dumps(array.shape))
                data.append(array.reshape(-1))
            names.append(f"{form}|{operand}")
            which.append(numbers[key])
    file = io.BytesIO()
    np.savez_compressed(file, head=json.dumps(head), names=names, which=np.array(which, np.int32), shapes=shapes,
                        data=np.concatenate([np.empty(0, np.int16), *data]))
    write_whole(path, file.getvalue())


def load(path):
    """(head, {form: {operand: int16 array}}) of a file."""
    with np.load(path) as file:
        head, names, which, data = json.loads(str(file["head"])), file["names"], file["which"], file["data"]
        shapes = [json.loads(str(s)) for s in file["shapes"]]
    ends = np.cumsum([int(np.prod(s)) for s in shapes])
    arrays = [data[end - int(np.prod(s)):end].reshape(s) for s, end in zip(shapes, ends)]
    maps = {}
    for name, i in zip(names, which):
        form, operand = str(name).split("|")
        maps.setdefault(form, {})[operand] = arrays[i]
    return head, maps
