-- @NAME@.lua: the same task, several attempts at the same time, each in its own copy of one prepared box.
--   sandglass run @NAME@.lua -- "Write a file notes.txt that says hello."
--   sandglass run @NAME@.lua -- --repo . --test "make test" --models anthropic:sonnet,openai:gpt-5 "Make the tests pass"
-- Without models it plays @NAME@.script.lua twice: no key, no cost.
local sg = require "sandglass"

local a = sg.args { repo = "", test = "true", models = "", prepare = "true", "task?" }
local task = a.task or "Write a file notes.txt that says hello."
local models = {}
for name in a.models:gmatch "[^,]+" do models[#models + 1] = name end
if #models == 0 then models = { "scripted:@NAME@.script.lua", "scripted:@NAME@.script.lua" } end

-- Prepared once; a fork of it costs next to nothing.
local base <close> = sg.sandbox { name = "base", repo = a.repo ~= "" and a.repo or nil }
assert(base:run(a.prepare, { timeout = "10m" }))

local budget = sg.budget { usd = 3.00, time = "30m" }            -- all attempts draw from it
local results = sg.map(models, function(model, i)
  local box = assert(base:fork { name = "try-" .. i })
  local r, err = sg.agent.run {
    name = "try-" .. i, task = task, box = box, model = model, budget = budget:part { usd = 1.00 },
  }
  if not r then return nil, err end                              -- one that fails does not stop the others
  local t = assert(box:exec(a.test, { timeout = "5m" }))
  return { box = box, model = model, ok = t.ok, lines = box:diff().lines }
end, { limit = 3, timeout = "25m", on_error = "collect" })

-- The smallest change that passes wins.
local best
for i, r in ipairs(results) do                                   -- in the order of the models: a value or an error
  if sg.is_error(r) then sg.warn("%s: %s", models[i], r)
  elseif r.ok and (not best or r.lines < best.lines) then best = r end
end
if not best then sg.exit(1, "no attempt passed '%s'", a.test) end
print(("best: %s with %d changed lines"):format(best.model, best.lines))
if a.repo ~= "" then
  assert(best.box:merge { into = a.repo, mode = "branch", review = true })
end
