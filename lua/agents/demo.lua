-- The demo: three agents of a scripted model. `fix` repairs a program, `docs` its manual, `greedy` wants too much.
local sg = require "sandglass"
local project = require "sandglass.demo_project"

local function prepare(box)
  for path, text in pairs(project) do assert(box:write(path, text)) end
  box:exec([[git init -q -b main . && git add -A &&
    git -c user.name=demo -c user.email=demo@example.org commit -qm start]])
  return box
end

local base <close> = prepare(sg.sandbox { name = "base" })
local before = assert(base:exec("make test", { timeout = "1m" }))
sg.note("before: tests %s", before.ok and "pass" or "fail")

local agents = {
  { name = "fix", task = "Make the failing test pass." },
  { name = "docs", task = "Make the manual say what a word is." },
  { name = "greedy", task = "Publish something." },
}

local results = sg.map(agents, function(a)
  local box <close> = base:fork { name = a.name } or prepare(sg.sandbox { name = a.name })
  local start = assert(box:snapshot "start")
  local r, err = sg.agent.run { name = a.name, task = a.task, box = box, model = "scripted:" .. a.name }
  if not r then return nil, err end
  local d = box:diff(start)
  return { text = r.text, stat = d and #d > 0 and d:stat(), passes = a.name == "fix" and box:exec("make test").ok }
end, { on_error = "collect" })

for i, a in ipairs(agents) do
  local r = results[i]
  if sg.is_error(r) then
    sg.warn("%s: %s", a.name, r)
  else
    print(a.name .. ": " .. r.text)
    if r.stat then print(r.stat) end
  end
end
local fixed = results[1]
sg.note("after: tests %s", not sg.is_error(fixed) and fixed.passes and "pass" or "fail")
if sg.is_error(fixed) or not fixed.passes then sg.exit(1, "the demo's test still fails") end
