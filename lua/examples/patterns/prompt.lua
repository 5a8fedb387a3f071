-- How long from a changed prompt to the agent's first action by it? The agent out here with a box as its tool against an
-- agent that is part of its box; the same first action, which shows that it is the new prompt's.
--   sandglass run prompt.lua -- --n 5
--   sandglass run prompt.lua -- --build agent    (a directory with a Dockerfile that puts its ARG PROMPT into /AGENT.md)
local sg = require "sandglass"
local a = sg.args { n = 5, build = "" }

local function prompt(i) return ("You are careful, version %d."):format(i) end
local function median(t)
  table.sort(t)
  return t[(#t + 1) // 2] * 1000
end

-- 1. The prompt is a value of this script: the next question to the model has it, the box stays.
local outside = {}
do
  local box <close> = sg.sandbox { name = "tool" }
  local began
  local say = sg.tool { name = "say", params = { text = "string what" }, run = function(p)
    local r = assert(box:run { "echo", p.text })
    outside[#outside + 1] = os.clock() - began
    return r.out
  end }
  for i = 1, a.n do
    began = os.clock()                         -- the prompt is saved
    assert(sg.agent.run { name = "v" .. i, task = "prompt", system = prompt(i), model = "scripted:obeys.lua", tools = { say } })
  end
end

-- 2. The prompt is a file of the image: a change requires a new sandbox with all that the agent
-- needs, and a new image if the agent comes in one.
local function filled(i)
  local box = sg.sandbox { name = "image" }
  assert(box:write("agent.sh", "#!/bin/sh\necho \"$(cat prompt.txt)\"\n"))
  assert(box:write("prompt.txt", prompt(i) .. "\n"))
  return box, { "sh", "agent.sh" }
end
local run = os.time()                          -- else the engine has the image of the last time
local function built(i)
  return sg.sandbox { name = "image", backend = "container", build = { dir = a.build, net = "none", args = { PROMPT = prompt(i) .. run } } },
    { "cat", "/AGENT.md" }
end
local inside = {}
for i = 1, a.n do
  local began = os.clock()
  local box <close>, argv = (a.build == "" and filled or built)(i)
  local r = assert(box:run(argv))
  if not r.out:find("version " .. i, 1, true) then sg.exit(1, "an old prompt answered") end
  inside[#inside + 1] = os.clock() - began
end

local o, i = median(outside), median(inside)
print(("box as a tool   %8.1f ms from the changed prompt to the first action, same box, %d changes"):format(o, a.n))
print(("agent inside    %8.1f ms, a new %s each time (%.1f times as long)"):format(i, a.build == "" and "box" or "image and box", i / o))
