#!/usr/bin/env python3
"""Tasks of asyncio that wait for one another, in each way there is. usage: py_async.py FILE STACKS (0: it sleeps) [fsync] [uvloop]

At each of so many moments it writes to FILE what asyncio and the interpreter say of its stack: the frames up to the event loop's Handle._run(), then those of the task
that waits for the one that runs, as told by the tasks themselves (_fut_waiter, the children of gather(), locals of wait(), the tasks of a TaskGroup), and so on, then
the event loop's. Then it asks for its parent's number (getppid), or, with fsync, forces the file to its disk: while that lasts the thread has given the GIL away. uvloop: by the
event loop of that name, which is in C. Lines: "function file:line", an empty line behind each stack."""
import asyncio
import functools
import gc
import os
import sys
import threading
import time

COROUTINE = 0x20 | 0x80 | 0x200  # inspect.CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
GATHERED = asyncio.tasks._GatheringFuture
told = None
call = os.getppid
left = 0
shields = {}
local = threading.local()


def line(f):
    return '%s %s:%d\n' % (f.f_code.co_qualname, f.f_code.co_filename, f.f_lineno)


def coroutines(c):
    """Frames of what a task's coroutine runs, outermost first."""
    while c is not None:
        f = getattr(c, 'cr_frame', None) or getattr(c, 'gi_frame', None) or getattr(c, 'ag_frame', None)
        if f:
            yield f
            kind = 'cr_await' if hasattr(c, 'cr_await') else 'gi_yieldfrom' if hasattr(c, 'gi_yieldfrom') else 'ag_await'
            c = getattr(c, kind)
        elif type(c).__name__ == 'async_generator_asend':  # which does not say whose it is
            c = next(x for x in gc.get_referents(c) if hasattr(x, 'ag_frame'))
        else:
            return


def waits_for(task, x):
    w = task._fut_waiter
    if w is None or w is x:
        return w is x
    if isinstance(w, GATHERED):
        return x in w._children
    if w in shields:
        return shields[w] is x
    f = list(coroutines(task.get_coro()))[-1]
    here, name = f.f_locals, f.f_code.co_qualname
    return (name == '_wait' and x in here['fs'] or name == 'wait_for' and here['fut'] is x
            or name in ('TaskGroup.__aexit__', 'TaskGroup._aexit') and x in here['self']._tasks)


def waiting():
    x = asyncio.current_task()
    while x:
        x = next((t for t in asyncio.all_tasks() if waits_for(t, x)), None)
        if x:
            yield from reversed(list(coroutines(x.get_coro())))


def say(f):
    while f:
        told.write(line(f))
        if f.f_code.co_flags & COROUTINE and not f.f_back.f_code.co_flags & COROUTINE:  # what the event loop has resumed
            told.writelines(line(x) for x in waiting())
        f = f.f_back
    told.write('\n')


def ask():
    global left
    if left:
        left -= 1
        say(sys._getframe()); call()


async def leaf():
    ask()  # the task's first step
    await asyncio.sleep(0)
    ask()
    await asyncio.sleep(0.001)
    ask()  # woken up by a future


async def middle():
    await leaf()
    return 1


async def direct():
    await asyncio.create_task(middle())


async def gathered():
    await asyncio.gather(middle(), direct(), asyncio.sleep(0))


async def waited():
    await asyncio.wait([asyncio.create_task(middle()), asyncio.create_task(leaf())])


async def with_timeout():
    await asyncio.wait_for(asyncio.create_task(direct()), 10)


async def shielded():
    inner = asyncio.ensure_future(middle())
    outer = asyncio.shield(inner)
    shields[outer] = inner
    await outer
    del shields[outer]


async def grouped():
    async with asyncio.TaskGroup() as g:
        g.create_task(middle())
        g.create_task(direct())


async def watched():
    """Somebody else's callbacks come before the one that waits."""
    done = set()
    t = asyncio.create_task(leaf())
    done.add(t)
    t.add_done_callback(done.discard)
    t.add_done_callback(lambda f: None)
    await t


async def numbers():
    for i in range(2):
        await asyncio.create_task(leaf())
        yield i


async def generated():
    async for i in numbers():
        ask()


class Context:
    async def __aenter__(self):
        await direct()

    async def __aexit__(self, *args):
        await direct()


class Own:
    def __await__(self):
        return (yield from asyncio.create_task(leaf()).__await__())


async def entered():
    async with Context():
        await Own()


async def deep(n):
    await (asyncio.create_task(deep(n - 1)) if n else leaf())


async def nested(n):
    await (nested(n - 1) if n else direct())


async def background():
    t = asyncio.create_task(leaf())
    await asyncio.sleep(0.005)
    await t


async def everything():
    for f in direct, gathered, waited, with_timeout, shielded, grouped, watched, generated, entered, background:
        await f()
    await deep(12)
    await nested(20)
    await asyncio.gather(*(f() for f in (grouped, shielded, with_timeout)))


def main():
    global told, left, call
    told, left = open(sys.argv[1], 'w'), int(sys.argv[2])
    if 'fsync' in sys.argv:
        call = functools.partial(os.fsync, told.fileno())
    if 'uvloop' in sys.argv:
        import uvloop
        uvloop.install()
    if not left:  # for a tracer that makes tables of what is imported: --dwarf-pid
        time.sleep(60000)
    while left:
        t = threading.Thread(target=lambda: asyncio.run(everything()))  # loops of two threads, one after the other
        t.start()
        t.join()
        asyncio.run(everything())
    told.close()


main()
