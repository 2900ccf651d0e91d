"""Protocol buffers by their wire format alone (protobuf.dev, encoding): what pprof.py and otlp.py share."""


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
