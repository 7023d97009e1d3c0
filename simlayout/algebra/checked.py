"""Arrays of integers that compute as Python's do, and refuse what has no value in 64 bits: see `exact`."""

import operator

import numpy as np

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
"""What 64 bits hold."""

MOST_SHIFT = 63

KEEP = f"keep every step within {LEAST} .. {GREATEST}"


class Fault(Exception):
    """An operation without a value: what it is, and the index of the first point at which it has none, in its operands (axes
    of one element may be longer in the domain)."""

    def __init__(self, text, index=()):
        super().__init__(text)
        self.text, self.index = text, index


class Unseen(Exception):
    """NumPy would compute something that `Checked` does not see."""


class Misuse(Exception):
    """An index function does with its arguments what only a lone int could do."""


class Checked(np.ndarray):
    """int64 values of an index function at many points. span: (least, greatest) that they may be; None for an array that
    NumPy made without an operator (a slice, a copy of another type), which the operators refuse."""

    span = None

    def __array_finalize__(self, source):
        self.span = None

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method != "__call__" or options or ufunc not in _OPERATIONS and ufunc is not np.divmod:
            raise Unseen(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else ""))
        if ufunc is np.divmod:
            return _apply(np.floor_divide, inputs), _apply(np.remainder, inputs)
        return _apply(ufunc, inputs)                      # `out` is left alone: x += 1 makes another x, as with ints

    def __array_function__(self, function, types, arguments, options):
        if function is np.where and len(arguments) == 3 and not options:
            return _where(*arguments)
        raise Unseen(f"np.{function.__name__}")

    def __bool__(self):
        raise Misuse("an index function must not branch on its arguments (if, and, or, not, min, max): write "
                     "arithmetic, such as (x < 16) * a + (x >= 16) * b, or np.minimum(x, 15)")

    def __index__(self):
        raise Misuse("an index function must not use its arguments as counts or as places in a list: write arithmetic, "
                     "or look them up in a NumPy array")

    __int__ = __index__

    def _no_array(self, *_):
        raise Misuse("an index function must not treat its arguments as an array (x[0], len(x), x.shape, x.max(), for): it "
                     "is called with one point as well as with many, so write arithmetic")

    __len__ = __getitem__ = __setitem__ = __iter__ = __contains__ = _no_array

    def __float__(self):
        raise Fault("float(x) is no integer: write // and integers")


_ALLOWED = ("astype", "dtype")                           # what `as_index` asks of an array

for _name in dir(np.ndarray):
    if not _name.startswith("__") and _name not in _ALLOWED:
        setattr(Checked, _name, property(Checked._no_array))


def checked(values, span=None):
    """A Checked array of integers; span: as of it, computed where it is not given."""
    array = np.ndarray.view(np.asarray(values, np.int64), Checked)
    array.span = span or (int(values.min()), int(values.max()))
    return array


# ---- operators --------------------------------------------------------------------------------------------------------

def operand(value):
    """(values, least, greatest): an int, or an int64 array."""
    if isinstance(value, Checked):
        if value.span is None:
            raise Unseen("a slice or a copy")
        return np.ndarray.view(value, np.ndarray), *value.span
    if isinstance(value, np.ndarray) and value.ndim:     # a Checked one has returned by now
        raise Unseen("an array from outside")
    if isinstance(value, np.bool_):
        raise Fault("a NumPy bool is no integer (its + is `or`): look up ints")
    try:
        value = operator.index(value)
    except TypeError:
        raise Fault(f"{value!r} is no integer: an index function computes with integers alone") from None
    return value, value, value


def _apply(ufunc, inputs):
    """What a ufunc gives for operands of which one is Checked."""
    symbol, python, span, refuse = _OPERATIONS[ufunc]
    operands = [operand(x) for x in inputs]
    if refuse is not None:
        refuse(symbol, *operands)
    least, greatest = span(*(o[1:] for o in operands))
    if least < LEAST or greatest > GREATEST:
        operands = [(v, v, v) if isinstance(v, int) else (v, int(v.min()), int(v.max())) for v, *_ in operands]
        least, greatest = span(*(o[1:] for o in operands))
    values = [o[0] for o in operands]
    large = least < LEAST or greatest > GREATEST or any(isinstance(v, int) and not LEAST <= v <= GREATEST for v in values)
    return _one_by_one(symbol, python, values) if large else checked(ufunc(*values), (least, greatest))


def _one_by_one(symbol, python, values):
    """The same with Python's integers, where the ranges do not tell that nothing leaves 64 bits."""
    exact = [np.asarray(v, object) for v in values]
    results = np.asarray(np.frompyfunc(python, len(exact), 1)(*exact), object)
    _refuse_where((results < LEAST) | (results > GREATEST), symbol, values, f"leaves 64 bits: {KEEP}")
    return checked(results.astype(np.int64))


def _refuse_where(wrong, symbol, values, why):
    """Raises the Fault of the first point at which an operation is wrong."""
    wrong = np.broadcast_to(np.asarray(wrong, bool), np.broadcast_shapes(np.shape(wrong), *map(np.shape, values)))
    if wrong.any():
        index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        there = [int(np.broadcast_to(v, wrong.shape)[index]) if np.ndim(v) else v for v in values]
        raise Fault(f"{_written(symbol, there)} {why}", index)


def _written(symbol, values):
    """"3 // 0"."""
    shown = [str(v) if v >= 0 else f"({v})" for v in values]
    return f" {symbol} ".join(shown) if len(shown) == 2 else f"{symbol}{shown[0]}"


def _no_zero(symbol, x, y):
    if y[1] <= 0 <= y[2]:
        _refuse_where(y[0] == 0, symbol, (x[0], y[0]), "divides by zero: keep the divisor away from 0 on the whole domain")


def _in_shifts(symbol, x, y):
    if y[1] < 0 or y[2] > MOST_SHIFT:
        _refuse_where(np.less(y[0], 0) | np.greater(y[0], MOST_SHIFT), symbol, (x[0], y[0]),
                      f"shifts by less than 0 or more than {MOST_SHIFT}")


def _no_negative(symbol, x, y):
    if y[1] < 0:
        _refuse_where(np.less(y[0], 0), symbol, (x[0], y[0]), "is a fraction: keep the exponent at least 0")


def _no_fraction(symbol, x, y):
    _refuse_where(True, symbol, (x[0], y[0]), "is a fraction: divide with //")


def _corners(function):
    """The span of a function that grows or falls steadily in each operand."""
    def span(x, y):
        ends = [function(a, b) for a in x for b in y]
        return min(ends), max(ends)
    return span


def _quotients(x, y):
    divisors = [d for d in (*y, -1, 1) if y[0] <= d <= y[1] and d]
    ends = [a // d for a in x for d in divisors] or [0]
    return min(ends), max(ends)


def _remainders(x, y):
    if y[0] > 0:
        return (0, min(x[1], y[1] - 1)) if x[0] >= 0 else (0, y[1] - 1)
    return min(y[0] + 1, 0), max(y[1] - 1, 0)


def _bits(x, y):
    """Of | and ^: as many bits as the larger operand has."""
    power = 1 << max(v.bit_length() for v in (*x, *y))
    return (-power if min(x[0], y[0]) < 0 else 0), power - 1


def _and_bits(x, y):
    over = [v[1] for v in (x, y) if v[0] >= 0]
    return (0, min(over)) if over else _bits(x, y)


def _shifted(x, y):
    return _corners(operator.lshift)(x, (max(y[0], 0), min(max(y[1], 0), 64)))


def _powers(x, y):
    size, most = max(map(abs, x)), min(max(y[1], 0), 64)
    return -(size ** most) if x[0] < 0 else 0, max(size ** most, 1)


def _magnitudes(x):
    return 0 if x[0] <= 0 <= x[1] else min(map(abs, x)), max(map(abs, x))


def _truth(*_):
    return 0, 1


def _power(a, b):
    return a ** (b if abs(a) < 2 else min(b, 64))


_OPERATIONS = {
    # ufunc: how it is written, on Python's integers, the span of the results, what it refuses
    np.add: ("+", operator.add, lambda x, y: (x[0] + y[0], x[1] + y[1]), None),
    np.subtract: ("-", operator.sub, lambda x, y: (x[0] - y[1], x[1] - y[0]), None),
    np.multiply: ("*", operator.mul, _corners(operator.mul), None),
    np.floor_divide: ("//", operator.floordiv, _quotients, _no_zero),
    np.remainder: ("%", operator.mod, _remainders, _no_zero),
    np.true_divide: ("/", None, None, _no_fraction),
    np.power: ("**", _power, _powers, _no_negative),
    np.bitwise_and: ("&", operator.and_, _and_bits, None),
    np.bitwise_or: ("|", operator.or_, _bits, None),
    np.bitwise_xor: ("^", operator.xor, _bits, None),
    np.left_shift: ("<<", operator.lshift, _shifted, _in_shifts),
    np.right_shift: (">>", operator.rshift, _corners(lambda a, b: a >> min(max(b, 0), 64)), _in_shifts),
    np.invert: ("~", operator.invert, lambda x: (~x[1], ~x[0]), None),
    np.negative: ("-", operator.neg, lambda x: (-x[1], -x[0]), None),
    np.positive: ("+", operator.pos, lambda x: x, None),
    np.absolute: ("abs ", abs, _magnitudes, None),
    np.minimum: ("min", min, lambda x, y: (min(x[0], y[0]), min(x[1], y[1])), None),
    np.maximum: ("max", max, lambda x, y: (max(x[0], y[0]), max(x[1], y[1])), None),
    np.less: ("<", operator.lt, _truth, None),
    np.less_equal: ("<=", operator.le, _truth, None),
    np.greater: (">", operator.gt, _truth, None),
    np.greater_equal: (">=", operator.ge, _truth, None),
    np.equal: ("==", operator.eq, _truth, None),
    np.not_equal: ("!=", operator.ne, _truth, None),
}


def _where(condition, x, y):
    (chosen, *_), (x, *of_x), (y, *of_y) = map(operand, (condition, x, y))
    span = min(of_x[0], of_y[0]), max(of_x[1], of_y[1])
    if span[0] < LEAST or span[1] > GREATEST:
        raise Unseen("np.where")
    return checked(np.where(chosen != 0, x, y), span)
