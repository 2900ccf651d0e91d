#!/usr/bin/env python3
"""Python that calls Lua that calls Python, by ctypes and Lua's library, so many times in one another; the innermost renames nothing. together.py LIBRARY FILE DEPTH [SECONDS]:
writes to FILE what the frames of both are, innermost first, as test/run/py_same.py reads it; sleeps so long at its end."""
import ctypes
import os
import sys
import time

lua = ctypes.CDLL(sys.argv[1])
lua.luaL_newstate.restype = ctypes.c_void_p
lua.lua_tointegerx.restype = ctypes.c_longlong
lua.lua_tointegerx.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
lua.luaL_loadbufferx.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_char_p]
lua.lua_pcallk.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p]
lua.lua_getglobal.argtypes = lua.lua_setglobal.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
lua.lua_pushinteger.argtypes = [ctypes.c_void_p, ctypes.c_longlong]
lua.lua_pushcclosure.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
CODE = b'''local function inner(n)
  back(n) return 1
end
function outer(n)
  local x = inner(n) return x
end
'''
depth, want = int(sys.argv[3]), open(sys.argv[2], 'w')


def call(state, n):
    lua.lua_getglobal(state, b'outer')
    lua.lua_pushinteger(state, n)
    lua.lua_pcallk(state, 1, 0, 0, 0, None)
    return n


def back(state):
    n = lua.lua_tointegerx(state, -1, None)
    call(state, n - 1) if n else os.rename('', '')
    return 0


def ask(state):
    try:
        back(state)
    except OSError:
        pass
    return 0


function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(ask)
state = lua.luaL_newstate()
lua.lua_pushcclosure(state, ctypes.cast(function, ctypes.c_void_p), 0)
lua.lua_setglobal(state, b'back')
lua.luaL_loadbufferx(state, CODE, len(CODE), b'@both.lua', None)
lua.lua_pcallk(state, 0, 0, 0, 0, None)
LUA = 'back lua\ninner both.lua:2\nfunction <both.lua:4> both.lua:5\n'  # what C has called has no name
me = os.path.abspath(__file__)
lines = open(me).read().split('\n')
at = lambda text: max(i + 1 for i, line in enumerate(lines) if line.startswith(text))
want.write(''.join('back %s:%d\nask %s:%d\n%s' % (me, at('    call(state, n - 1)'), me, at('        back(state)'), LUA) + (
    'call %s:%d\n' % (me, at('    lua.lua_pcallk')) if i < depth else '') for i in range(depth + 1)) + 'call %s:%d\n<module> %s:%d\n\n' % (
        me, at('    lua.lua_pcallk'), me, at('call(state, depth)')))
want.close()
call(state, depth)
time.sleep(float(sys.argv[4]) if sys.argv[4:] else 0)
