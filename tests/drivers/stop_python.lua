-- Stops that come too early or too late for their command, and text that no program has read: the next command of a shell is
-- whole all the same. Prints how often it was not.
local sg = require "sandglass"
local a = sg.args { "package", "node", n = 4 }
local box <close> = sg.sandbox { backend = "pyodide", package = a.package, node = a.node, repo = "repo" }
local sh, bad = box:shell(), 0
local function run(code, limit)
  local r, err = sh:run(code, { timeout = limit })
  return r and r.code .. r.out or tostring(err)
end
local function whole(name, code, want)
  local got = run(code, "10s")
  if got == want then return end
  bad = bad + 1
  print(name .. ": " .. got)
  if got:find "ended" or got:find "time is up" then
    sh:close()
    sh = box:shell()
  end
end
local function stop(name, code, limit)
  bad = 0
  for _ = 1, a.n do
    run("import time", "10s")
    run(code, limit)
    whole(name, "time.sleep(0.2)\n40 + 2", "042\n")
  end
  print(name .. " " .. bad)
end
local function left(name, texts)
  bad = 0
  for _, text in ipairs(texts) do
    sh:send(text)
    whole(name, "40 + 2", "042\n")
  end
  print(name .. " " .. bad)
end

stop("early", "40", "1ms")
stop("late", "time.sleep(0.02)", "10ms")
stop("reading", "input()", "60ms")
stop("telling", "import sys\ndef hook(*_):\n  while True: pass\nsys.excepthook = hook\n1 / 0", "100ms")
left("unread", { "y", "3", "hello\n", "yes.\n", "a:b.\n", ".\n", "12:3045.\n" })
bad = 0
run("import io, sys\nsys.stdin, sys.stdout = io.StringIO('x'), io.StringIO()", "10s")
whole("streams", "sys.stdin, sys.stdout = sys.__stdin__, sys.__stdout__", "0")
print("streams " .. bad)
sh:run("import sys\nsys.exit('bye')", { timeout = "10s" })
