-- N rented boxes at once, each runs a command: how long all of it takes.
local sg = require "sandglass"
local a = sg.args { n = 10 }
local list = {}
for i = 1, a.n do list[i] = i end
local t0 = os.clock()
local boxes = assert(sg.map(list, function(i) return sg.sandbox { name = "b" .. i, backend = "e2b" } end))
local opened = os.clock() - t0
print("MEASURE open")
sg.sleep(1)
t0 = os.clock()
assert(sg.map(boxes, function(b, i)
  for _ = 1, 3 do
    local r = assert(b:run("echo " .. i))
    if r.out ~= i .. "\n" then sg.exit(1, "wrong answer of box %d: %s", i, r.out) end
  end
end))
print(("ROW|%d|%d|%d"):format(a.n, opened * 1e6 // 1 | 0, (os.clock() - t0) * 1e6 // 1 | 0))
print("MEASURE done")
sg.sleep(1)
for _, b in ipairs(boxes) do b:close() end
