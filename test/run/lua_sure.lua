-- Small functions that LuaJIT puts into one trace, each with a system call of its own (lua_sure.py).
local ffi = require('ffi')
ffi.cdef[[int getppid(void); int getuid(void); int getgid(void); int geteuid(void); int getegid(void); int getpgrp(void); int getsid(int);]]
local C = ffi.C
local function pp(x) C.getppid() return x + 1 end
local function uu(x) C.getuid() return x * 3 end
local function gg(x) if x % 3 == 0 then C.getgid() end return x end
local V = setmetatable({}, {__add = function(a, b) C.geteuid() return b end})
local function tail(x) return pp(x) end
local function lo(n) local s = 0 for i = 1, n do C.getegid() s = s + i end return s end
local function cc(x) ffi.C.getsid(0) return x % 5 end
local function work(n)
  local s = 0
  for i = 1, n do
    s = pp(uu(s)) % 100003
    if i % 2 == 0 then s = s + uu(i) else s = tail(s) end
    s = gg(s) + (V + i) + cc(i)
    for j = 1, 3 do s = s + pp(j) % 7 end
    s = (s + lo(i % 4)) % 100003
    C.getpgrp()
  end
  return s
end
while true do work(1000) end
