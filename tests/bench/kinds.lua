-- One backend: the time to open a sandbox, the round trip of a command, and sandboxes that stay
-- open for a look at their memory. ROW|open, the median of five|the first|a command, the median of
-- 21 (microseconds).
local sg = require "sandglass"
local a = sg.args { how = "{}", n = 5, execs = 21, stay = 2 }
local function median(list)
  table.sort(list)
  return list[#list // 2 + 1] * 1e6 // 1 | 0
end
local function open()
  local how = sg.json.decode(a.how)
  local t0 = os.clock()
  local box = sg.sandbox(how)
  return box, os.clock() - t0
end
local opened, first = {}, nil
for i = 1, a.n do
  local box, took = open()
  opened[i], first = took, first or took
  box:close()
end
local box = open()
local word = box.caps.shell and { "true" } or { "python", "-c", "" }
local function once()
  local t0 = os.clock()
  assert(box:run(word))
  return os.clock() - t0
end
once()
print "EXECS"
local took = {}
for i = 1, a.execs do took[i] = once() end
print(("ROW|%d|%d|%d|%s"):format(median(opened), first * 1e6 // 1 | 0, median(took), box.profile))
if a.stay > 0 then
  print "ONE"
  sg.sleep(3)   -- looked at
  for _ = 1, a.stay do assert(open():run(word)) end
  print "MORE"
  sg.sleep(60)
end
