-- Is a box behind a tool too slow for many small executions? 200 of them four ways, same work, measured here and now.
--   sandglass run executions.lua -- --n 200
local sg = require "sandglass"
local a = sg.args { n = 200 }
local box <close> = sg.sandbox { name = "many" }

-- The work of each execution; its answer is checked, so that no pattern wins by skipping it.
local function square(i) return ("echo $((%d * %d))"):format(i, i) end
local want = 0
for i = 1, a.n do want = want + i * i end

local function sum(text)
  local s = 0
  for n in text:gmatch "%d+" do s = s + math.tointeger(n) end
  return s
end

-- Each way gives the sum of the answers and the number of actions that the gate judged and the record holds.
local ways = {
  { "one by one, each an action", function()
    local s = 0
    for i = 1, a.n do s = s + sum(assert(box:run(square(i))).out) end
    return s, a.n
  end },
  { "four at a time", function()
    local list = {}
    for i = 1, a.n do list[i] = i end
    local got = assert(sg.map(list, function(i) return sum(assert(box:run(square(i), { parallel = true })).out) end,
      { limit = 4 }))
    local s = 0
    for _, v in ipairs(got) do s = s + v end
    return s, a.n
  end },
  { "one shell that keeps its state", function()
    local shell <close> = assert(box:shell())
    local s = 0
    for i = 1, a.n do s = s + sum(assert(shell:run(square(i))).out) end
    return s, a.n
  end },
  { "one script, one action", function()
    local lines = {}
    for i = 1, a.n do lines[i] = square(i) end
    return sum(assert(box:run(table.concat(lines, "\n"))).out), 1
  end },
}

print(("%-33s %8s %8s %13s"):format("way", "actions", "seconds", "ms/execution"))
for _, way in ipairs(ways) do
  local name, run = way[1], way[2]
  local t0 = os.clock()                        -- time of the session: the record holds it too
  local got, actions = run()
  local s = os.clock() - t0
  if got ~= want then sg.exit(1, "%s: the answers add up to %d, not %d", name, got, want) end
  print(("%-33s %8d %8.3f %13.3f"):format(name, actions, s, s * 1000 / a.n))
end
