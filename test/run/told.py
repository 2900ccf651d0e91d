"""Two lists of stacks, each a list of its frames' texts: how many are equal. py_same.py and beam_same.py read them."""


def tell(want, have):
    """Prints "N stacks of M frames, E equal" (-1: not as many of them), and the first that differs."""
    equal = sum(a == b for a, b in zip(want, have))
    print('%d stacks of %d frames, %d equal' % (len(have), sum(map(len, have)), equal if len(want) == len(have) else -1))
    for a, b in zip(want, have):
        if a != b:
            print('want %s\ngot  %s' % ('\n     '.join(a[:40]), '\n     '.join(b[:40])))
            break
