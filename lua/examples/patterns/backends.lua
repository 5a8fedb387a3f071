-- One script on several backends: the same work wherever a box can be opened from here; where it cannot, why.
--   sandglass run --policy policy.lua backends.lua -- --ssh me@vm1 --image debian:12
local sg = require "sandglass"
local a = sg.args { ssh = "", image = "", config = "" }
local list = { { "process" }, { "container", { image = a.image ~= "" and a.image or nil } }, { "host" } }
if a.ssh ~= "" then list[#list + 1] = { "ssh", { host = a.ssh, config = a.config ~= "" and a.config or nil } } end

-- Nothing in here knows where it runs.
local function work(box)
  assert(box:write("in.txt", "3\n1\n2\n"))
  local start = assert(box:snapshot "start")
  assert(box:run "sort in.txt > out.txt; echo 4 >> in.txt")
  local d = box:diff(start)
  local out = assert(box:read "out.txt")
  assert(box:rollback(start))
  local back = assert(box:run "cat in.txt; ls").out
  return out == "1\n2\n3\n" and back == "3\n1\n2\nin.txt\n" and #d.files == 2
end

local worked = 0
print(("%-10s %-12s %9s %11s  %s"):format("backend", "profile", "open ms", "command ms", "sorted, told, put back"))
for _, b in ipairs(list) do
  local o = { name = b[1], backend = b[1] }
  for k, v in pairs(b[2] or {}) do o[k] = v end
  local t0 = os.clock()
  local ok, box = pcall(sg.sandbox, o)
  if not ok then
    print(("%-10s not here: %s"):format(b[1], (tostring(box):gsub("\n.*", ""))))
  else
    local t1 = os.clock()
    for _ = 1, 10 do assert(box:run "true") end
    local t2 = os.clock()
    local fine, good = pcall(work, box)
    worked = worked + (fine and good and 1 or 0)
    print(("%-10s %-12s %9.1f %11.2f  %s"):format(b[1], box.profile, (t1 - t0) * 1000, (t2 - t1) * 100, fine and (good and "yes" or "no") or tostring(good)))
    if not (fine and good) then sg.exit(1, "%s: not the same work", b[1]) end
    box:close()
  end
end
print(("%d of %d backends did the same work"):format(worked, #list))
if worked == 0 then sg.exit(1, "none worked") end
