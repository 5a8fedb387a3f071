-- Commands in a persistent shell, in a remote sandbox. A file scan after a command that ends on its
-- own must find the files of that end. Prints "same N", and one line for each command with late
-- files.
local sg = require "sandglass"
local a = sg.args { "how", rounds = "30" }
local how = sg.json.decode(a.how)
how.name, how.repo = "c", "repo"
local box <close> = sg.sandbox(how)
local sh <close> = assert(box:shell())
local same = 0

local function check(cmd)
  local r = assert(sh:run(cmd))
  local d = assert(box:diff(r.event, assert(box:snapshot())))
  if #d == 0 then same = same + 1 else print(("late after '%s': %s"):format(cmd, d:stat())) end
end

-- the same seed each time: writes of all sorts
local seed = 20
local function some(n) seed = (seed * 1103515245 + 12345) % 2147483648; return seed // 65536 % n end
local kinds = {
  function(f) return ("head -c %d /dev/urandom >%s"):format(some(200000), f) end,
  function(f) return ("echo %d >>%s"):format(some(1000), f) end,
  function(f) return ("rm -rf %s d; mkdir -p d/%d; echo x >d/%d/y"):format(f, some(9), some(9)) end,
  function(f) return ("ln -sf nowhere l%d; chmod %o %s 2>/dev/null"):format(some(4), 384 + some(8), f) end,
  function(f) return ("(sleep 0.0%d; echo late >%s) & wait"):format(some(9), f) end,
  function(f) return ("for i in 1 2 3 4 5 6 7 8 9; do echo $i >%s.$i; done"):format(f) end,
  function() return "true" end,
}
for _ = 1, math.tointeger(a.rounds) do check(kinds[some(#kinds) + 1]("f" .. some(5))) end

-- the mark itself, printed by the command, whole and in part, and something written after it
sh:run "M=${PS1%%:*}"
for _, said in ipairs { "$M", "$M:0", "$M:0:x\\036", "$M\\036", "$M:1$M:2\\036", "$M:999999:\\036" } do
  check(([[printf "%s"; sleep 0.2; date +%%N >after; head -c 100000 /dev/urandom >more]]):format(said))
end

-- a job that continues: the next scan finds its files as of the prompt
sh:run "(for i in 1 2 3 4 5 6 7 8; do echo $i >job; sleep 0.1; done) &"
local waited = 0
repeat sg.sleep(0.3); waited = waited + 1 until box:read "job" == "8\n" or waited == 60
local r = assert(sh:run "true")
print("job " .. box:read("job"):gsub("\n", "") .. " " .. #assert(box:diff(r.event, assert(box:snapshot()))))

-- one that is stopped, and what came before
local _, err = sh:run("echo before >stopped; sleep 100", { timeout = 0.3 })
print("stopped " .. err.code .. " " .. box:read("stopped"))
check "echo again >stopped"
print("same " .. same)
