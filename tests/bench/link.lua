-- The cost of each operation in a sandbox behind a slow link. One line each: ROW|operation|microseconds, the least of n.
local sg = require "sandglass"
local a = sg.args { how = "{}", n = 5 }
local box <close> = sg.sandbox(sg.json.decode(a.how))
assert(box:write("f.txt", "word 0\n"))
local shell, python
local ways = {
  { "exec", function(i) assert(box:run("echo " .. i)) end },
  { "read", function() assert(box:read "f.txt") end },
  { "edit", function(i) assert(box:edit("f.txt", "word " .. i - 1, "word " .. i)) end },
  { "snapshot", function() assert(box:snapshot()) end },
  { "shell", function(i)
    shell = shell or assert(box:shell())
    assert(shell:run("echo " .. i))
  end },
  { "interpreter", function(i)
    python = python or assert(box:interpreter "python")
    assert(assert(python:run(tostring(i))).out == i .. "\n")
  end },
}
for _, way in ipairs(ways) do
  way[2](1)   -- what is made once is made
  local least = math.huge
  for i = 2, a.n + 1 do
    local t0 = os.clock()
    way[2](i)
    least = math.min(least, os.clock() - t0)
  end
  print(("ROW|%s|%d"):format(way[1], least * 1e6 // 1 | 0))
end
