"""What C's printf makes of a conversion and its value (ISO C, fprintf), in Python's terms."""

import re

WIDE = (b"l", b"ll", b"j", b"z", b"t")
"""Lengths of integers of 64 bits."""

_CUT = {b"hh": 8, b"h": 16}


def number(flags: bytes, length: bytes, kind: str, bits: int) -> bytes:
    """An integer. flags: of the conversion, with width and precision, "%-5"; length: of `WIDE`, "hh", "h" or ""; bits: as
    passed.

    >>> number(b"%+5", b"", "d", 0xFFFFFFFE), number(b"%#", b"ll", "o", 8), number(b"%", b"hh", "i", 300)
    (b'   -2', b'010', b'44')
    """
    width = 64 if length in WIDE else _CUT.get(length, 32)
    value = bits & (1 << width) - 1
    if kind == "c":
        return (flags + b"c") % (value & 255)
    if kind in "di" and value >> width - 1:
        value -= 1 << width
    if kind == "o" and b"#" in flags:
        return text(flags.replace(b"#", b""), b"0%o" % value if value else b"0")
    return (flags + {"i": b"d", "u": b"d"}.get(kind, kind.encode())) % value


def real(flags: bytes, kind: str, value: float) -> bytes:
    """A floating-point number.

    >>> real(b"%.2", "f", 2.345), real(b"%", "a", 1.5), real(b"%", "A", 2.0)
    (b'2.35', b'0x1.8p+0', b'0X1P+1')
    """
    if kind not in "aA":
        return (flags + kind.encode()) % value
    plain = re.sub(r"\.?0*p", "p", value.hex()) if "p" in value.hex() else value.hex()
    return text(flags, (plain.upper() if kind == "A" else plain).encode())


def text(flags: bytes, value: bytes) -> bytes:
    """Bytes."""
    return (flags + b"s") % value
