"""Operands of lane-wise instructions: edges of every type, and random ones, as raw bits."""

from lane_twin import width
from lane_twin_floats import FLOATS


def _floats(name):
    """Zeros, least and greatest numbers, halfway cases, infinities, NaN, both signs."""
    form = FLOATS[name]
    one = form.bias << form.fraction
    half = form.fraction // 2
    sizes = {0, 1, 2, 3, (1 << form.fraction) - 1, 1 << form.fraction, (1 << form.fraction) + 1, one - 1, one, one + 1,
             one + (1 << form.fraction) // 2, one + (1 << half), one + (1 << form.fraction) + 1, form.largest,
             form.largest - 1, form.infinity, form.nan, form.nan - 8, one + (3 << form.fraction - 1) // 2}
    if form.infinities:
        sizes |= {form.infinity + 1, form.infinity + (1 << form.fraction - 1) + 5}
    if name in ("f32", "f64"):                                    # halfway between numbers of narrower formats
        for narrow in (10, 7, 3, 2, 23):
            if narrow < form.fraction:
                tie = 1 << form.fraction - narrow - 1
                sizes |= {one + tie, one + tie - 1, one + tie + 1, one + 3 * tie}
        for exponent in (-150, -149, -127, -126, -25, -24, -15, -14, -10, -9, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128):
            field = exponent + form.bias
            if 0 < field < 2 * form.bias + 1:
                sizes |= {field << form.fraction, (field << form.fraction) - 1, (field << form.fraction) + 1,
                          (field << form.fraction) + (1 << form.fraction - 1)}
    return sorted(size | sign for size in sizes if size < form.sign for sign in (0, form.sign))


def _integers(bits):
    top, ones = 1 << bits - 1, (1 << bits) - 1
    return sorted({x & ones for x in (
        0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0xFF00, top - 1, top, top + 1,
        ones - 1, ones, 0x55555555, 0x80000001, 0x0F0F0F0F, 1 << 24, (1 << 24) + 1, (1 << 53) + 1, (1 << 54) + 3,
        (1 << 63) + 1025, (1 << 63) + (1 << 39))})


def edges(name):
    """The raw bits of a type's edges."""
    if name in ("pred", "cc"):
        return [0, 1]
    if name in FLOATS and name != "tf32":
        return _floats(name)
    if name in ("f16x2", "bf16x2", "e4m3x2", "e5m2x2"):
        half = _floats(name[:-2])
        by = 16 if name.endswith("16x2") else 8
        return [half[i] | half[(7 * i + 3) % len(half)] << by for i in range(len(half))]
    return _integers(width(name))


def draw(rng, name, count, edge_share=0.6):
    """Raw bits of a type: edges, numbers near one, and any bits."""
    pool = edges(name)
    made = []
    for _ in range(count):
        kind = rng.random()
        if kind < edge_share:
            made.append(pool[rng.integers(len(pool))])
        elif kind < edge_share + 0.2 and name in ("f32", "f64"):
            form = FLOATS[name]
            field = form.bias + int(rng.integers(-30, 40))
            made.append(field << form.fraction | int(rng.integers(1 << form.fraction)) | int(rng.integers(2)) * form.sign)
        else:
            made.append(int.from_bytes(rng.bytes(8), "little") & (1 << width(name)) - 1)
    return made


def operands(rng, opcode, sources, count):
    """[count] tuples of raw bits for an instruction."""
    rows = list(zip(*(draw(rng, name, count) for name in sources)))
    for i in range(0, count, 4):                                  # operands that are equal, or cancel
        first = rows[i][0]
        same = [j for j, name in enumerate(sources) if name == sources[0]]
        if len(same) > 1:
            row = list(rows[i])
            row[same[-1]] = first ^ (1 << width(sources[0]) - 1 if i % 8 else 0)
            rows[i] = tuple(row)
    return [defined(opcode, row) for row in rows]


def defined(opcode, row):
    """Operands for which PTX defines a result: the base of fns is a bit's place."""
    return (row[0], row[1] & 31, *row[2:]) if opcode == "fns" else row
