-- Calls every operation of src/wire/host.h: once as it is meant, once (or more) as it is not. Prints TAP lines without
-- numbers, then the operations that it called. The runtime's own `call` is used, so that nothing is checked on
-- this side of the wall.
local sg = require "sandglass"
local rt = require "sandglass.runtime"
local a = sg.args { repo = "", host = "", gone = "" }
local asked = {}

local function say(ok, name, got) print((ok and "ok " or "not ok ") .. name .. (ok and "" or ": " .. tostring(got))) end
local function call(op, args)
  asked[op] = true
  return rt.call(op, args or {})
end
-- The call's value, which `check` finds right.
local function good(op, args, check)
  local v, e = call(op, args)
  local ok = v ~= nil and (not check or check(v))
  say(ok, op, e or sg.json.encode(v or "nothing"))
  return v or {}
end
-- It is refused with this code.
local function bad(op, args, code, how)
  local v, e = call(op, args)
  say(v == nil and e.code == code, op .. " " .. how, e and e.code .. ": " .. e.msg or "no error")
end

-- what waits must be cancelled by a time-out, and end
local function cancelled(op, args)
  local v, e = sg.timeout(0.3, function() return call(op, args) end)
  say(v == nil and e.code == "timeout", op .. " is cancelled by a time-out", e and e.code or "no error")
end

-- boxes
local b = good("box.open", { name = "first", repo = a.repo }, function(v) return v.workspace == "/workspace" end)
local box = b.box
bad("box.open", { backend = "nonsense" }, "script", "of an unknown driver")
bad("box.open", { repo = 7 }, "script", "with a path of the wrong type")
bad("box.open", { repo = a.gone }, "io", "of a folder that is not there")

-- files
good("box.write", { box = box, path = "f.txt", data = "one\n" }, function(v) return v.event > 0 end)
bad("box.write", { box = box, path = "f.txt" }, "script", "without data")
bad("box.write", { box = box, path = "/nowhere/at/all", data = "x" }, "io", "where nothing can be written")
good("box.read", { box = box, path = "f.txt" }, function(v) return v.data == "one\n" end)
bad("box.read", { box = box, path = "absent" }, "io", "of a file that is not there")
bad("box.read", { box = box }, "io", "without a path")
good("box.edit", { box = box, path = "f.txt", old = "one", new = "two" })
bad("box.edit", { box = box, path = "f.txt", old = "three", new = "x" }, "io", "of missing text")
good("box.glob", { box = box, pattern = "*.txt" }, function(v) return v.paths[1] == "f.txt" end)
bad("box.glob", { box = 99999, pattern = "*" }, "backend", "in no box")
good("box.url", { box = box, port = 8000 }, function(v) return v.url:find "^http://127.0.0.1:%d+$" ~= nil end)
good("box.notices", { box = box }, function(v) return type(v.notices) == "table" end)
bad("box.notices", { box = 99999 }, "backend", "of no box")
bad("box.url", { box = 99999, port = 8000 }, "backend", "of no box")
bad("box.url", { box = box, port = 70000 }, "script", "of an invalid port")
good("box.get", { box = box, path = "f.txt", host = a.host .. "/got" })
bad("box.get", { box = box, path = "f.txt" }, "script", "without a place for it")
good("box.put", { box = box, path = "put.txt", host = a.host .. "/got" })
bad("box.put", { box = box, path = "put.txt", host = a.gone }, "io", "of a file that is not there")

-- commands
good("box.exec", { box = box, cmd = "cat f.txt; cat put.txt >&2; exit 3" },
  function(v) return v.code == 3 and v.out == "two\n" and v.err == "two\n" end)
bad("box.exec", { box = box }, "script", "without a command")
bad("box.exec", { box = box, argv = { "a\0b" } }, "script", "with a NUL byte")
bad("box.exec", { box = box, cmd = "sleep 60", timeout_us = 200000 }, "timeout", "longer than it may take")
bad("box.exec", { box = "first", cmd = "true" }, "backend", "in a box by its name")
cancelled("box.exec", { box = box, cmd = "sleep 60" })

-- processes
local p = good("box.spawn", { box = box, cmd = "read l; echo got $l; sleep 60" }).proc
bad("box.spawn", { box = box, argv = {} }, "script", "without a word")
good("proc.write", { proc = p, data = "it\n" })
bad("proc.write", { proc = 1, data = "x" }, "script", "to no process")
good("proc.read", { proc = p }, function(v) return v.data == "got it\n" and v.stream == "out" end)
cancelled("proc.read", { proc = p })
cancelled("proc.wait", { proc = p })
bad("proc.kill", { proc = p, signal = "NONSENSE" }, "script", "with no signal")
good("proc.kill", { proc = p, signal = "TERM" })
local nobody = good("box.dial", { box = box, port = 9 }).proc
bad("proc.wait", { proc = nobody }, "failed", "of a port where nobody listens")
bad("box.dial", { box = box, port = 70000 }, "script", "to no port")
good("proc.wait", { proc = p }, function(v) return v.signal == 15 or v.code == 143 end)
bad("proc.wait", { proc = 1 }, "script", "for no process")
good("proc.read", { proc = p }, function(v) return v.eof end)
bad("proc.read", { proc = 1 }, "script", "from no process")
bad("proc.write", { proc = p, data = "late" }, "io", "to one that has ended")
bad("proc.resize", { proc = p, cols = 80, rows = 24 }, "script", "of a process without a terminal")
local tty = good("box.spawn", { box = box, cmd = "echo up; read l; stty size", pty = true }).proc
good("proc.read", { proc = tty }, function(v) return v.data:find("up", 1, true) end)
bad("proc.resize", { proc = tty, cols = 0, rows = 24 }, "script", "to nothing")
good("proc.resize", { proc = tty, cols = 101, rows = 31 })
good("proc.write", { proc = tty, data = "\n" })
good("proc.wait", { proc = tty }, function(v) return v.code == 0 and v.out:find("31 101", 1, true) end)

-- shells
local sh = good("shell.open", { box = box }).shell
bad("shell.open", { box = 99999 }, "backend", "in no box")
good("shell.run", { shell = sh, cmd = "cd /tmp; x=7" }, function(v) return v.code == 0 end)
good("shell.run", { shell = sh, cmd = "echo $PWD $x" }, function(v) return v.out:find("/tmp 7", 1, true) end)
bad("shell.run", { shell = sh, cmd = "sleep 60", timeout_us = 300000 }, "timeout", "longer than it may take")
cancelled("shell.run", { shell = sh, cmd = "sleep 60" })
good("shell.send", { shell = sh, data = "\n" })
bad("shell.send", { shell = 1, data = "x" }, "backend", "to no shell")
good("shell.close", { shell = sh })
bad("shell.run", { shell = sh, cmd = "true" }, "backend", "in one that was closed")
bad("shell.close", { shell = 1 }, "backend", "of no shell")

-- versions
good("box.snapshot", { box = box, label = "here" }, function(v) return v.event > 0 end)
bad("box.snapshot", { box = 99999 }, "backend", "of no box")
good("box.diff", { box = box }, function(v) return #v.files >= 2 end)
bad("box.diff", { box = box, from = "no such label" }, "io", "from an unknown label")
good("box.exec", { box = box, cmd = "echo later >f.txt" })
good("box.rollback", { box = box, to = "here" }, function(v) return v.event > 0 end)
good("box.read", { box = box, path = "f.txt" }, function(v) return v.data == "two\n" end)
bad("box.rollback", { box = box, to = "no such label" }, "io", "to an unknown label")
local f = good("box.fork", { box = box, name = "second", at = "here" }, function(v) return v.box ~= box end)
bad("box.fork", { box = box, at = "no such label" }, "io", "at an unknown label")
good("box.restore", { box = box }, function(v) return v.box == nil end)
bad("box.restore", { box = 99999 }, "backend", "of no box")
good("box.read", { box = f.box, path = "f.txt" }, function(v) return v.data == "two\n" end)
good("box.freeze", { box = f.box })
good("box.thaw", { box = f.box })
bad("box.freeze", { box = 99999 }, "backend", "of no box")
bad("box.thaw", {}, "backend", "of no box")
good("box.merge", { box = box, into = a.repo, mode = "branch", branch = "sandglass/every" }, function(v) return v.event > 0 end)
bad("box.merge", { box = 99999 }, "backend", "of no box")
good("host.push", { box = box, branch = "pushed" }, function(v) return v.event > 0 end)
bad("host.push", { box = box, branch = "--delete" }, "script", "of a branch that git would take for an option")
bad("host.push", { box = f.box }, "script", "of a sandbox that was never merged")
good("boxes.merge", { boxes = { box, f.box }, mode = "branch", branch = "sandglass/several", leave = { "*" } },
  function(v) return v.event > 0 and #v.boxes == 2 end)
bad("boxes.merge", { boxes = { box } }, "script", "of one box")

-- a box that is closed while much of it is open; each of these must end
local ends = {}
local waiting = {
  exec = function() return call("box.exec", { box = f.box, cmd = "sleep 60" }) end,
  wait = function()
    local q = call("box.spawn", { box = f.box, cmd = "sleep 60" })
    return call("proc.wait", { proc = q.proc })
  end,
  shell = function()
    local q = call("shell.open", { box = f.box })
    return call("shell.run", { shell = q.shell, cmd = "sleep 60" })
  end,
}
local tasks = {}
for name, fn in pairs(waiting) do
  tasks[name] = sg.spawn(function() ends[name] = { fn() } end)
end
sg.sleep(1)
good("box.close", { box = f.box })
for name, t in pairs(tasks) do
  t:await()
  local v, e = ends[name][1], ends[name][2]
  say(v ~= nil or e ~= nil, "closing a box ends " .. name, "nothing")
end
bad("box.exec", { box = f.box, cmd = "true" }, "backend", "in a closed box")
bad("box.close", { box = f.box }, "backend", "of a closed box")

-- closing at once while files are looked at
local quick = good("box.open", { name = "third", repo = a.repo })
local back = sg.spawn(function() return call("box.snapshot", { box = quick.box, label = "x" }) end)
local forked = sg.spawn(function() return call("box.fork", { box = quick.box }) end)
local rolled = sg.spawn(function() return call("box.rollback", { box = quick.box, to = quick.box }) end)
sg.sleep(0)
good("box.close", { box = quick.box })
back:await() forked:await() rolled:await()
say(true, "closing a box ends what looks at its files")

-- agents, tools, budgets
local ag = good("agent.start", { name = "x", task = "t", model = "scripted", tools = {}, limits = { steps = 5 } }).agent
good("agent.turn", { agent = ag, n = 1 })
good("model.call", { model = "scripted:every", messages = {}, tools = {}, reply = { text = "said", calls = {}, stop = "end",
  usage = { ["in"] = 1, out = 1 } } }, function(v) return v.text == "said" end)
bad("model.call", { model = "nobody:x", messages = {}, tools = {} }, "model", "of an unknown provider")
good("tool.call", { name = "mine", where = "box", args = {} }, function(v) return v.event > 0 end)
good("tool.call", { name = "mine", where = "host", args = {} }, function(v) return v.event > 0 end)
rt.tell("tool.end", { event = ag, ok = true, text = "done" })
good("agent.end", { agent = ag, stop = "end", ok = true, steps = 1 })
local budget = good("budget.new", { limits = { steps = 3 } }).budget
good("budget.left", { budget = budget }, function(v) return v.steps == 3 end)
good("budget.left", { budget = 99999 })

-- users
good("notify", { text = "something" })
good("label", { words = { "team=core", "nightly", "old-" } })
bad("label", { words = { "a b" } }, "script", "of another form")
bad("label", { words = {} }, "script", "without a label")
good("ask", { text = "Which?", choices = { "a", "b" }, default = "b", timeout_us = 200000 }, function(v) return v.choice == "b" end)
bad("ask", { text = "Well?", timeout_us = 200000 }, "timeout", "without a default")
cancelled("ask", { text = "Well?" })

-- store
good("store.set", { store = "every", key = "k", value = { 1, 2 } })
good("store.get", { store = "every", key = "k" }, function(v) return #v.value == 2 end)
good("store.get", { store = "every", key = "none" }, function(v) return v.value == nil end)
good("store.add", { store = "every", key = "n", value = 2 }, function(v) return v.value == 2 end)
good("store.add", { store = "every", key = "n", value = 0.5 }, function(v) return v.value == 2.5 end)
good("store.add", { store = "every", key = "list", value = "x" }, function(v) return v.value[1] == "x" end)
good("store.set", { store = "every", key = "big", value = math.maxinteger })
bad("store.add", { store = "every", key = "big", value = 1 }, "limit", "beyond what a number holds")
good("store.find", { store = "every", text = "k" }, function(v) return #v.items >= 1 end)
good("store.keys", { store = "every" }, function(v) return #v.keys == 4 and v.keys[1] == "big" end)

-- what the project says
good("instructions", { box = box }, function(v) return #v.files == 0 and #v.skills == 0 end)
bad("instructions", { box = 99999 }, "backend", "in no box")
bad("check", { file = "none.lua" }, "io", "of a file that is not there")
bad("skill", { box = box, path = "none/SKILL.md", hash = "" }, "io", "that is not there")

-- the machine, time, modules
good("host.exec", { argv = { "sh", "-c", "cat; exit 2" }, stdin = "in" }, function(v) return v.code == 2 and v.out == "in" end)
bad("host.exec", { argv = {} }, "script", "without a word")
bad("host.exec", { argv = { "sleep", "60" }, timeout_us = 200000 }, "timeout", "longer than it may take")
cancelled("host.exec", { argv = { "sleep", "60" } })
bad("host.fetch", { url = "http://127.0.0.1:1/" }, "net", "of this machine")
bad("host.fetch", { url = "no address" }, "net", "of no address")
bad("host.search", { query = "x" }, "script", "without a service")
bad("box.exec", { box = box, cmd = "true", env = { T = { ["$secret"] = "NAME" } } }, "script", "with a secret")
good("sleep", { us = 1000 })
cancelled("sleep", { us = 60000000 })
good("module", { name = "sandglass.check" }, function(v) return #v.text > 0 end)
bad("module", { name = "no.such.module" }, "io", "that is not there")
bad("nonsense", {}, "script", "unknown operation")

for op in pairs(asked) do print("asked " .. op) end
rt.call("box.close", { box = box })
