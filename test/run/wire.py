"""Protocol buffers by their wire format alone (protobuf.dev, encoding): what pprof.py and otlp.py read by, and hostile.py and bombs.py write."""


def number(v):
    out = b''
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(n, v):
    """Of a number, or of bytes: a text, a message, packed numbers."""
    return number(n << 3) + number(v) if isinstance(v, int) else number(n << 3 | 2) + number(len(v)) + v


def varint(b, i):
    v = shift = 0
    while True:
        v |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return v, i


def packed(b):
    """The numbers of a packed field."""
    out, i = [], 0
    while i < len(b):
        v, i = varint(b, i)
        out.append(v)
    return out
