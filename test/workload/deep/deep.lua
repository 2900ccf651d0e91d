-- rename(2) of nothing for ever from N frames of Lua. usage: deep.lua N
local rename = os.rename
local function down(n)
  if n > 1 then
    down(n - 1)
  else
    while true do rename('', '') end
  end
  return n
end
down(tonumber(arg[1]))
