-- lua_traces.lua COUNT: LuaJIT's traces that take several functions into them; each shape makes a system call of its own. What the compiler cannot know without a check
-- has a snapshot there: only such are here.
local C = require('ffi').C
require('ffi').cdef 'int getppid(void); int getuid(void); int getgid(void); int geteuid(void); int getpgrp(void); int usleep(unsigned);'

local function deep(n)
	if n > 0 then
		return deep(n - 1) + 1
	end
	return C.getppid()
end

local function guarded()
	C.getuid()
end

local function vary(...)
	local first = ...
	if first > 0 then
		C.getgid()
	end
	return first
end

local function inner(t, i)
	local v = t[i]
	if v < 0 then
		return 0
	end
	return v + C.geteuid()
end

local function outer(t)
	local s = 0
	for i = 1, #t do
		s = s + inner(t, i)
	end
	return s
end

-- So many closures of one function that the compiler checks for the function alone
local made, held = {}, {}
for i = 1, 100 do
	made[i] = function()
		local group = C.getpgrp()
		return group + i
	end
end
local function called(i)
	held.run = made[i % 100 + 1]
	return held.run() + 1
end

local t = {1, 2, 3, 4, 5}
for i = 1, tonumber(arg[1]) do
	if i == 1000 then
		C.usleep(300000) -- the traces are there, their unwind tables not before that
	end
	deep(4)
	pcall(guarded)
	vary(i)
	outer(t)
	called(i)
end
