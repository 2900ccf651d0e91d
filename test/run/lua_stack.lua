-- A program whose Lua stacks are known: ask writes what debug.getinfo() (which debug.traceback() prints) says of its own stack, and then renames nothing.
--
-- usage: lua_stack.lua FILE calls | coroutines | finalizers | deep N | resumed
-- resumed: it is a coroutine of a program in C (luahost -r), which goes on with it whenever it yields.
-- What a tail call has replaced has no frame in any version; 5.1 counts them, and getinfo() tells of each as "tail", which is left out here: sonde does not show them.
-- Lines of FILE: for each stack its frames, innermost first: "name file:line", of functions in C "name lua", then an empty line. Runs in Lua 5.1 to 5.4 and LuaJIT.

local out = io.open(arg[1], 'a')
local outside = {} -- by coroutine: the frames of who has resumed it
local load = loadstring or load
local unpack = unpack or table.unpack
local getinfo = debug.getinfo
local runtime = jit and 'luajit' or 'lua'

local function file_of(i)
  local kind = i.source:sub(1, 1)
  return (kind == '@' or kind == '=') and i.source:sub(2) or i.short_src
end

local function frame(i, line)
  local name = i.name
  if not name or name == '?' or name == '' or name == 'integer index' then
    name = i.what == 'main' and 'main chunk' or i.what == 'C' and '?' or 'function <' .. file_of(i) .. ':' .. i.linedefined .. '>'
  end
  return name .. ' ' .. (i.what == 'C' and runtime or file_of(i) .. ':' .. (line or i.currentline)) .. '\n'
end

-- Of the function at `level` and its callers; at line `line` of it.
local function frames(level, line)
  local text = {}
  while true do
    local i = getinfo(level + 1, 'nSl')
    if not i then
      return table.concat(text) .. (outside[coroutine.running() or 0] or '')
    end
    if i.what ~= 'tail' then
      text[#text + 1] = frame(i, line)
      line = nil
    end
    level = level + 1
  end
end

local rename, nothing = os.rename, ''
local function ask()
  local text = frames(1, getinfo(1, 'l').currentline + 2)
  out:write('rename ' .. runtime .. '\n', text, '\n') out:flush()
  rename(nothing, nothing)
  return 1
end

local function resume(co, ...)
  outside[co] = 'resume ' .. runtime .. '\n' .. frames(1, getinfo(1, 'l').currentline + 1)
  local ok, value = coroutine.resume(co, ...)
  assert(ok, value)
  return value
end

local Point = {}
Point.__index = function(_, key) if key == 'missing' then ask() end return Point[key] end
Point.__newindex = function(t, key, value) ask() rawset(t, key, value) end
Point.__add = function(a, b) ask() return a end
Point.__unm = function(a) ask() return a end
Point.__concat = function(a, b) ask() return '' end
Point.__eq = function(a, b) ask() return true end
Point.__lt = function(a, b) ask() return true end
Point.__le = function(a, b) ask() return true end
Point.__call = function(self, n) ask() return n end
Point.__tostring = function(self) ask() return 'a point' end
Point.__len = function(self) ask() return 0 end
Point.__mod = function(a, b) ask() return a end
function Point.new() return setmetatable({}, Point) end
function Point:method(n) ask() return self end
function Point.inner(n, f) return n + f() end

local function down(n)
  if n == 0 then ask() else down(n - 1) end
  return n
end

local function tail(n)
  if n == 0 then return ask() end
  return tail(n - 1)
end

local function each(list)
  local i = 0
  return function()
    i = i + 1
    ask()
    return list[i]
  end
end

local function many(...)
  local function inner(...)
    ask()
    return select('#', ...)
  end
  return inner(...), inner(1, ...)
end

function in_globals() ask() end
local nested = {a = {b = {c = function() ask() end}}, [1] = function() ask() end}

local function calls()
  ask()
  down(5)
  tail(3)
  in_globals()
  nested.a.b.c()
  nested[1]()
  many(1, 2, 3)
  local p, q = Point.new(), Point.new()
  p:method(1):method(2)
  Point.inner(1, function() return ask() end)
  local _ = p.missing, p + q, -p, p .. 'x', 'x' .. p, p == q, p < q, p <= q, p(1), p % 1, p % q
  p.new_field = 1
  _ = tostring(p)
  _ = #p
  for v in each({1, 2}) do _ = v end
  table.sort({3, 1, 2}, function(a, b) ask() return a < b end)
  _ = ('abc'):gsub('b', function() ask() end)
  _ = string.gsub('abc', '[ac]', function() return (tostring(p)) end)
  pcall(ask)
  pcall(function() ask() error('no') end)
  xpcall(function() error({}) end, function(e) ask() return e end)
  if not jit then xpcall(function() local x = nil; return x.y end, function(e) ask() return e end) end -- LuaJIT names it __index, sonde does not
  pcall(pcall, pcall, ask)
  load('local ask = ... ; ask()\nfor i = 1, 2 do\n  ask()\nend')(ask)
  load('local ask = ...\nlocal function f() ask() end f()', '=named')(ask)
  load('local ask = ...\nlocal function f() ask() end f()', '@/of/a/file.lua')(ask)
  local f = (p and ask or down)
  f();
  (nil or ask)()
  if _VERSION ~= 'Lua 5.1' then (p and ask or down)(0) end -- which 5.1 takes for a call of down

  (function() ask() end)()
  ask({1, 2, {3, function() return p end}}, p and q or 'x', p ~= nil and 'y', function() return down end)
  do
    local g = down
    g(g(0))
  end
  repeat ask() until true
  local text = {}
  for i = 1, 300 do text[i] = 'x = ' .. i .. ' * (y or 2)' end
  text[301] = 'ask()\n\n\n\nask() local function f() ask() end f()' -- far from where it begins
  load('local ask, x, y = ...\n' .. table.concat(text, '\n'))(ask)
  load('local ask, x, y = ...\n' .. ('\n'):rep(1000) .. 'ask() ' .. ('\n'):rep(500) .. 'ask({x,\n\n x}) y = ask()')(ask)
end

local function coroutines()
  local function body(a)
    ask()
    local b = coroutine.yield(a)
    ask()
    local inner = coroutine.create(function(x) down(x) coroutine.yield(1) table.sort({2, 1}, function(a, b) ask() return a < b end) end)
    resume(inner, 2)
    ask()
    resume(inner)
    coroutine.yield(b)
    ask()
  end
  local co = coroutine.create(body)
  resume(co, 1)
  ask()
  table.sort({2, 1}, function(a, b) if coroutine.status(co) == 'suspended' then resume(co, 2) end return a < b end)
  if coroutine.status(co) == 'suspended' then resume(co) end
  local deep = coroutine.create(function() local function f(n) if n == 0 then coroutine.yield() ask() else f(n - 1) end return n end f(6) ask() end)
  resume(deep)
  resume(deep)
  if _VERSION ~= 'Lua 5.1' then -- resumed behind calls of C
    local behind = coroutine.create(function() pcall(function() pcall(function() coroutine.yield() ask() end) ask() end) ask() end)
    resume(behind)
    resume(behind)
    local sorted = coroutine.create(function() pcall(function() coroutine.yield() table.sort({2, 1}, function(a, b) ask() return a < b end) end) end)
    resume(sorted)
    pcall(resume, sorted)
  end
  ask()
end

local function finalizers() -- of tables: from 5.2 on
  setmetatable({}, {__gc = function() ask() end})
  collectgarbage()
  local done
  setmetatable({}, {__gc = function() ask() done = true end})
  while not done do local _ = {} end
end

local function resumed()
  local function f(n)
    if n == 0 then
      for _ = 1, 2 do coroutine.yield() ask() end
    else
      f(n - 1)
      ask()
    end
    return n
  end
  f(3)
  if _VERSION ~= 'Lua 5.1' then
    pcall(function() f(1) table.sort({2, 1}, function(a, b) ask() return a < b end) end)
  end
  local co = coroutine.create(function() f(2) end)
  while coroutine.status(co) ~= 'dead' do resume(co) end
  coroutine.yield()
  ask()
end

if arg[2] == 'calls' then
  calls()
elseif arg[2] == 'coroutines' then
  coroutines()
elseif arg[2] == 'finalizers' then
  finalizers()
elseif arg[2] == 'deep' then
  down(tonumber(arg[3]))
elseif arg[2] == 'resumed' then
  resumed()
end
