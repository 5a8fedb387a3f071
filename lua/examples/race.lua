-- race.lua: three attempts in three forks of one prepared sandbox; the smallest passing diff wins.
-- sandglass run race.lua -- --repo . --models scripted:fix,scripted:docs "Make the tests pass"
local sg = require "sandglass"
local a  = sg.args { repo = ".", models = "scripted:fix,scripted:docs,scripted:demo", prepare = "true", "task" }
local base <close> = sg.sandbox { repo = a.repo, name = "base" }
assert(base:run(a.prepare, { timeout = "10m" }))                -- run: exit 0 or an error
local models = {}
for name in a.models:gmatch "[^,]+" do models[#models + 1] = name end
local budget  = sg.budget { usd = 3.00, time = "30m" }          -- shared: children draw from it
local results = sg.map(models, function(model, i)
  local box = assert(base:fork { name = "try-" .. i })
  local r, err = sg.agent.run { task = a.task, box = box, model = model, budget = budget:part { usd = 1.00 } }
  if not r then return nil, err end                             -- one failure does not stop the others
  local t = assert(box:exec("make test", { timeout = "5m" }))
  return { box = box, model = model, ok = t.ok, size = box:diff().lines }
end, { limit = 3, timeout = "25m", on_error = "collect" })
local best
for i, r in ipairs(results) do                                  -- r is a value or an error, in input order
  if sg.is_error(r) then sg.warn("%s: %s", models[i], r)
  elseif r.ok and (not best or r.size < best.size) then best = r end
end
if not best then sg.exit(1, "no attempt passed the tests") end
sg.note("winner %s with %d changed lines", best.model, best.size)
best.box:merge { into = a.repo, mode = "branch", branch = "sandglass/" .. best.model:gsub("%W", "-"), review = true }
