-- Lua at work for test/workload/runtimes.py: callbacks from C (sort, gsub, pcall, load), metamethods, iterators, closures, methods, tail calls, coroutines that others
-- resume, errors, strings, tables, garbage. Runs in Lua 5.1 to 5.4 and LuaJIT.
--
-- usage: luaload.lua SECONDS       works so long
--        luaload.lua FILE STACKS   writes to FILE what debug.getinfo() says of its own stack in so many callbacks (as test/run/lua_stack.lua), renaming nothing after each
local left = tonumber(arg[2])
local want = left and io.open(arg[1], 'a')
local ends = os.time() + (left and 600 or tonumber(arg[1]))
local load, unpack = loadstring or load, unpack or table.unpack
local getinfo, random, rename = debug.getinfo, math.random, os.rename
local outside = {}
local runtime = jit and 'luajit' or 'lua'

local function frame(i, line)
  local name, file = i.name, i.source:sub(1, 1) == '@' and i.source:sub(2) or i.short_src
  if not name or name == '?' or name == '' or name == 'integer index' then
    name = i.what == 'main' and 'main chunk' or i.what == 'C' and '?' or 'function <' .. file .. ':' .. i.linedefined .. '>'
  end
  return name .. ' ' .. (i.what == 'C' and runtime or file .. ':' .. (line or i.currentline)) .. '\n'
end

local function frames(line)
  local text, level = {}, 3
  while true do
    local i = getinfo(level - 1, 'nSl')
    if not i then return table.concat(text) .. (outside[coroutine.running() or 0] or '') end
    if i.what ~= 'tail' then
      text[#text + 1] = frame(i, line)
      line = nil
    end
    level = level + 1
  end
end

local function ask(once)
  if not want or random(once) > 1 then return 1 end
  local text = frames(getinfo(1, 'l').currentline + 2)
  want:write('rename ' .. runtime .. '\n', text, '\n') want:flush()
  rename('', '')
  left = left - 1
  if left == 0 then os.exit(0) end
  return 1
end

local function resume(co, ...)
  if want then outside[co] = 'resume ' .. runtime .. '\n' .. frames(getinfo(1, 'l').currentline + 1) end
  local ok, value = coroutine.resume(co, ...)
  if not ok then error(value, 0) end
  return value
end

-- Shapes: metamethods
local Shape = {}
Shape.__index = function(_, key) ask(200) return Shape[key] end
Shape.__add = function(a, b) ask(40) return Shape.new(a.side + b.side) end
Shape.__lt = function(a, b) ask(300) return a.side < b.side end
Shape.__concat = function(a, b) ask(20) return tostring(a) .. tostring(b) end
Shape.__tostring = function(self) ask(30) return 'shape ' .. rawget(self, 'side') end
Shape.__call = function(self, n) ask(30) return self:area() * n end
function Shape.new(side) return setmetatable({side = side}, Shape) end
function Shape:area() ask(50) return self.side * self.side end

local function shapes(n)
  local list, sum = {}, Shape.new(0)
  for i = 1, n do list[i] = Shape.new(i * 7919 % 101) end
  table.sort(list)
  for i = 1, n, 10 do sum = sum + list[i] end
  return sum(2) + #(sum .. sum)
end

-- Words: callbacks of strings and of sorting
local function words(n)
  local text = {}
  for i = 1, n do text[i] = ('abcdefghij'):sub(1, i % 9 + 1) .. i end
  table.sort(text, function(a, b) ask(800) return #a < #b or #a == #b and a < b end)
  local joined = table.concat(text, ' '):gsub('%a+', function(w) ask(300) return w:upper() end)
  local count = {}
  for w in joined:gmatch('%S+') do count[#w] = (count[#w] or 0) + ask(500) end
  return #joined
end

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end

local function loop(n, sum)
  if n == 0 then ask(10) return sum end
  return loop(n - 1, sum + n % 3)
end

-- Errors through calls of C
local function checked(n)
  local ok, message = pcall(function()
    if n % 3 == 0 then error({n = n}) end
    ask(50)
    return n % 2 == 0 and n or nil + n
  end)
  local _, text = xpcall(function() return ok and n or error(message) end, function(e) ask(30) return tostring(e) end)
  return text
end

-- Coroutines: a producer that another one filters
local function numbers(n)
  return coroutine.create(function() for i = 1, n do ask(300) coroutine.yield(i) end end)
end

local function odd(from)
  return coroutine.create(function()
    while true do
      local v = resume(from)
      if not v then return end
      if v % 2 == 1 then ask(200) coroutine.yield(v) end
    end
  end)
end

local function filtered(n)
  local co, sum = odd(numbers(n)), 0
  for v in function() return resume(co) end do sum = sum + v end
  return sum
end

local function walk(tree, visit)
  for _, child in ipairs(tree) do walk(child, visit) end
  visit(tree)
end

local function grow(depth)
  local tree = {}
  for i = 1, depth do tree[i] = grow(depth - 1) end
  return tree
end

local function made(n)
  local f = load('local ask, n = ...\nlocal sum = 0\nfor i = 1, n do\n  sum = sum + ask(200) * i\nend\nreturn sum')
  return f(ask, n)
end

local jobs = {
  function() return shapes(60) end, function() return words(120) end, function() return fib(15) end, function() return loop(200, 0) end,
  function() for i = 1, 20 do checked(i) end end, function() return filtered(60) end, function() walk(grow(5), function(t) ask(400) t.seen = true end) end,
  function() return made(50) end,
}

repeat
  for _, job in ipairs(jobs) do job() end
until os.time() > ends
