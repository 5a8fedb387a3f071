local sg = require "sandglass"
local spec = require "spec"
local it, eq, fails = spec.it, spec.eq, spec.fails
local box = sg.sandbox { name = "b" }

it "an unknown option names the one that was meant, and the line" (function()
  fails("sandbox: unknown option 'netx'; did you mean 'net'? at options_spec.lua:8",
    function() sg.sandbox { netx = "none" } end)
  fails("~exec: unknown option 'timout'; did you mean 'timeout'?", function() box:exec("true", { timout = 3 }) end)
  fails("~map: unknown option 'limits'; did you mean 'limit'?", function() sg.map({}, print, { limits = 3 }) end)
  fails("~agent.run: unknown option 'modell'; did you mean 'model'?",
    function() sg.agent.run { task = "x", modell = "y" } end)
  fails("~tool: unknown option 'runn'; did you mean 'run'?", function() sg.tool { name = "x", runn = print } end)
  fails("~sandbox: limits: unknown option 'memory'; did you mean", function() sg.sandbox { limits = { memory = 1 } } end)
end)

it "a wrong type is reported" (function()
  fails("~sandbox: option 'net': expected string or table, got number", function() sg.sandbox { net = 3 } end)
  fails("~exec: option 'timeout': expected a time (seconds or \"5m\"), got 'soon'",
    function() box:exec("x", { timeout = "soon" }) end)
  fails("~sandbox: limits: option 'mem': expected a size (bytes or \"1G\"), got 'lots'",
    function() sg.sandbox { limits = { mem = "lots" } } end)
  fails("~sleep: the time: expected a time", function() sg.sleep(-1) end)
  fails("~exec: option 'timeout': expected a time", function() box:exec("x", { timeout = {} }) end)
  fails("~exec: command: expected a string (for sh -c) or a list of arguments, got a nil", function() box:exec() end)
  fails("~argument 2 of the command: expected a string", function() box:exec { "a", 3 } end)
  fails("~exec: an empty command", function() box:exec {} end)
  fails("~read: path: expected string, got nil", function() box:read() end)
  fails("~edit: the old text is empty", function() box:edit("x", "", "y") end)
end)

it "an invalid host is refused before a sandbox is opened" (function()
  fails("~sandbox: net: 'https://example.org' is not a host: write \"example.org:443\"",
    function() sg.sandbox { net = { "https://example.org" } } end)
  fails("~sandbox: net: 'not a host' is not a host", function() sg.sandbox { net = { "a:1", "not a host" } } end)
  fails("~sandbox: net[1]: expected", function() sg.sandbox { net = { 80 } } end)
  fails("~exec: net: '' is not a host", function() box:exec("x", { net = { "" } }) end)
end)

it "a missing option is reported" (function()
  fails("~agent.run: option 'task' is missing", function() sg.agent.run {} end)
  fails("~ask: option 'text' is missing", function() sg.ask {} end)
end)

it "unknown names of handles and of sg" (function()
  fails("~box has no 'exce'; did you mean 'exec'?", function() box:exce "ls" end)
  fails("~sg has no 'sandbx'; did you mean 'sandbox'?", function() return sg.sandbx end)
  fails("~sg.host has no 'pus'; did you mean 'push'?", function() return sg.host.pus end)
  fails("~box: can't set 'ident'", function() rawset(box, "ident", nil) box.ident = 5 end)
end)

it "a method without its colon" (function()
  fails("~call it with a colon: box:exec(...)", function() box.exec "ls" end)
end)

it "modes and backends" (function()
  fails("~merge: unknown mode 'aply'; did you mean 'apply'?", function() sg.sandbox {}:merge { mode = "aply" } end)
  fails("~sandbox: unknown backend 'proces'; did you mean 'process'?", function() sg.sandbox { backend = "proces" } end)
  fails("~sandbox: 'repo' and 'repos' at once", function() sg.sandbox { repo = ".", repos = { a = "." } } end)
  fails("~on: unknown event 'hold'; did you mean 'held'?", function() sg.on("hold", print) end)
end)

it "models" (function()
  fails("~model 'antropic:x': no provider 'antropic'; providers here: scripted", function() sg.model "antropic:x" end)
  fails("~model 'scriptd:x': no provider 'scriptd'; did you mean 'scripted'?; providers here: scripted",
    function() sg.model "scriptd:x" end)
  fails("~model 'demo': a name is provider:model", function() sg.model "demo" end)
  fails("~model 'scripted:nothing': require: can't find 'sandglass.scripted.nothing'",
    function() sg.model "scripted:nothing" end)
  fails("~model script 'nothing.lua' not found", function() sg.model "scripted:nothing.lua" end)
end)

it "policies see numbers of a table that has no order" (function()
  fails("~can't walk a table with a table as key", function() for _ in pairs { [{}] = 1 } do end end)
  local n = 0
  for k in pairs { [box] = 1, [true] = 2, [false] = 3, x = 4, [2] = 5, [1.5] = 6 } do
    n = n + 1
    eq(tostring(k), ({ "1.5", "2", "x", "false", "true", "box b" })[n])
  end
  eq(n, 6)
end)

it "words of errors" (function()
  local r, err = box:run "exit 3"
  eq(r, nil)
  eq(tostring(err), "exit 3: exit 3")
  eq(err.code, "exit")
  eq(err.exit, 1)
  eq(err.cause.code, 3)
  r, err = box:read "nothing"
  eq({ r, err.code, tostring(err) }, { nil, "io", "no file nothing" })
  eq(sg.is_error(err), true)
  eq(sg.is_error { code = "x", msg = "y" }, false)
end)

it "a script error has its line and the way there" (function()
  local ok, err = pcall(function() local function deep() sg.sandbox { x = 1 } end deep() end)
  eq(ok, false)
  eq(err.code, "script")
  eq(err.trace:find("options_spec.lua:97: in deep", 1, true) ~= nil, true, err.trace)
end)

it "args: named, defaults, positionals" (function()
  local a = sg.args { repo = ".", n = 3, fast = false, "task", "files..." }
  eq({ a.repo, a.n, a.fast, a.task, #a.files }, { "here", 3, false, "one", 0 })
  eq(sg.args.repo, "here")
end)

it "text helpers" (function()
  eq(sg.tail("a\nb\nc\n", 2), "b\nc\n")
  eq(sg.tail("a\nb", 1), "b")
  eq(sg.tail("", 3), "")
  eq(sg.quote "it's", [['it'\''s']])
  eq(sg.quote "plain/path.c", "plain/path.c")
  eq(sg.quote "", "''")
  eq(tostring(sg.secret "KEY"), "<secret:KEY>")
  fails("~a secret can't become part of a text", function() return "x" .. sg.secret "KEY" end)
end)

it "times and dates" (function()
  eq(os.date("%Y-%m-%d %H:%M:%S", 86399), "1970-01-01 23:59:59")
  eq(os.date("!%Y", 0), "1970")
  eq(os.date("*t", 3600).hour, 1)
  eq(os.time { year = 2024, month = 2, day = 29, hour = 12 }, 1709208000)
  eq(os.time() > 1600000000, true)
  eq(os.difftime(5, 3), 2.0)
end)

it "numbers of signals have names" (function()
  local r = box:exec "kill -9 $$"
  eq({ r.ok, r.code, r.signal }, { false, nil, "SIGKILL" })
end)

it "json" (function()
  eq(sg.json.encode { b = 1, a = { 1, 2.5, "x\n\"" }, c = sg.json.list {} }, [[{"a":[1,2.5,"x\n\""],"b":1,"c":[]}]])
  eq(sg.json.decode [[{"a":[1,null,{}],"b":null,"c":1.0,"big":9007199254740993}]].big, 9007199254740993)
  eq(sg.json.encode(sg.json.decode [[{"a":[],"b":{},"c":[null]}]]), [[{"a":[],"b":{},"c":[null]}]])
  local v, err = sg.json.decode "{"
  eq({ v, err.code }, { nil, "io" })
  eq(sg.json.path({ message = { content = { { text = "hi" } } } }, "message.content[0].text"), "hi")
  eq(sg.json.path({}, "a.b[2].c"), nil)
  fails("~can't encode a function as JSON", function() sg.json.encode { print } end)
  local loop = {}
  loop.x = loop
  fails("~does it contain itself?", function() sg.json.encode(loop) end)
  fails("~isn't UTF-8", function() sg.json.encode "\xff" end)
end)

it "bytes go through" (function()
  box:write("bin", "\0\xff\xfe x")
  eq(box:read "bin", "\0\xff\xfe x")
end)

it "output comes in whole characters" (function()
  local parts = {}
  box:write("u", "añb語c𝄞déf")
  box:exec("cat u", { on_out = function(s) parts[#parts + 1] = s assert(utf8.len(s), "cut") end })
  eq(table.concat(parts), "añb語c𝄞déf")
  eq(#parts > 1, true)
end)

it "a callback that raises stops the call and is raised" (function()
  fails("~enough", function() box:exec("echo 1234567890", { on_out = function() error "enough" end }) end)
end)

it "store" (function()
  local s = sg.store "t"
  eq(s:get("n", 5), 5)
  eq(s:add("n", 2), 2)
  eq(s:add("n", 3), 5)
  s:set("list", { 1, "two" })
  eq(s:get "list", { 1, "two" })
  eq(s:keys(), { "n", "list" })
  eq(s:find("two")[1].key, "list")
  s:set("n", nil)
  eq(s:get "n", nil)
end)

it "budget" (function()
  local b = sg.budget { usd = 2 }
  eq(b:part { steps = 7 }:left().usd, 1.5)
  fails("~budget: unknown option 'dollars'", function() sg.budget { dollars = 2 } end)
end)

it "ask" (function()
  eq(sg.ask { text = "Which?", choices = { "main", "next" }, default = "next" }.choice, "next")
  fails("~the default 'x' is not among the choices",
    function() sg.ask { text = "?", choices = { "a" }, default = "x" } end)
end)

it "diff" (function()
  box:write("f.txt", "one\n")
  local d = box:diff()
  eq(#d > 0, true)
  eq(d:stat():find "added" ~= nil, true)
  fails("~diff has no 'stats'; did you mean 'stat'?", function() return d.stats end)
end)

it "what a script has not says what it has instead" (function()
  fails("~os.execute: a script can't reach files, processes, or variables of the host; use box:exec", function() os.execute "ls" end)
  fails("~io.open: a script can't reach files", function() io.open "x" end)
  fails("~use sg.args for values", function() os.getenv "HOME" end)
  eq(io.stderr, nil)
end)

it "GPUs require a backend that has them" (function()
  fails("~sandbox: limits: backend 'ssh' has no GPUs", function() sg.sandbox { backend = "ssh", limits = { gpu = 1 } } end)
  fails("~sandbox: limits: gpu is a number from 1 to 64", function() sg.sandbox { backend = "container", limits = { gpu = 0 } } end)
end)
