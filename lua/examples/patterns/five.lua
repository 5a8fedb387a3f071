-- Five repositories in one sandbox: merged back all or none. In one of them, another change of the same line came first.
--   sandglass run --policy policy.lua five.lua -- --dir DIR     (DIR holds git repositories api web docs lib ops, each with a file VERSION)
local sg = require "sandglass"
local a = sg.args { dir = "." }
local names = { "api", "web", "docs", "lib", "ops" }
local repos = {}
for _, n in ipairs(names) do repos[n] = a.dir .. "/" .. n end

local box <close> = sg.sandbox { name = "all", repos = repos }
for _, n in ipairs(names) do assert(box:write(n .. "/VERSION", "2.0 by the agent\n")) end

do                                             -- meanwhile: one of them gets another version
  local other <close> = sg.sandbox { name = "other", repos = { docs = repos.docs } }
  assert(other:write("docs/VERSION", "1.1 by another author\n"))
  assert(other:merge { mode = "apply" })
end

-- The repositories' files on the host, read through a new sandbox, which has them unchanged.
local function on_host(when)
  local look <close> = sg.sandbox { name = "look", repos = repos }
  local said, changed = {}, 0
  for i, n in ipairs(names) do
    local v = assert(look:read(n .. "/VERSION")):gsub("\n", "")
    said[i] = n .. ": " .. v
    if v:find "agent" then changed = changed + 1 end
  end
  print(("%-16s %s"):format(when, table.concat(said, ", ")))
  return changed
end

local event, err = box:merge { mode = "apply" }
print("first merge      " .. (event and "done, event #" .. event or "refused: " .. tostring(err)))
local none = on_host "on the host"

assert(box:write("docs/VERSION", "1.1 by another author\n"))   -- resolved: theirs stays
event, err = box:merge { mode = "apply" }
print("second merge     " .. (event and "done, event #" .. event or "refused: " .. tostring(err)))
local four = on_host "on the host"
if none ~= 0 or four ~= 4 then sg.exit(1, "%d and %d repositories were changed, not 0 and 4", none, four) end
