local sg = require "sandglass"
local spec = require "spec"
local it, eq, fails = spec.it, spec.eq, spec.fails

-- A model from turns that are written here: scripted_turns.lua hands out what is put into turns_store.
local turns = require "turns_store"
local function model(list)
  turns.now = list
  return sg.model "scripted:scripted_turns.lua"
end

local function run(list, o)
  o = o or {}
  o.task, o.model = o.task or "do it", model(list)
  return sg.agent.run(o)
end

it "a run to the end" (function()
  local box <close> = sg.sandbox {}
  local r = assert(run({ { say = "hm", call = { "shell", { cmd = "echo hi" } } }, { say = "bye", expect = "hi" } },
    { box = box }))
  eq({ r.text, r.stop, r.steps, r.usage.calls }, { "bye", "end", 2, 2 })
  eq(#r.messages, 5)
  eq(r.messages[4], { role = "tool", name = "shell", call = "c1_1", text = "hi\n" })
end)

it "a failed expectation ends the script with the result" (function()
  local r, err = run({ { call = { "shell", { cmd = "echo no" } } }, { say = "x", expect = "yes" } })
  eq(r, nil)
  eq(err.code, "model")
  eq(tostring(err), "scripted:scripted_turns.lua: turn 2: 'yes' not found in the last result: no\n")
  eq(err.exit, 7)
  eq(err.answer.stop, "error")
end)

it "a task without a model gets an error" (function()
  local box <close> = sg.sandbox {}
  local r, err = sg.agent.run { task = "make the tests pass", box = box, tools = { "shell" } }
  eq(r, nil)
  eq(tostring(err):match "no model is named %(%-%-model PROVIDER:NAME%)", "no model is named (--model PROVIDER:NAME)")
end)

it "params: the short form becomes JSON Schema" (function()
  local t = sg.tool { name = "x", run = print, params = {
    a = "string what it is", b = "integer? = 10 how many", c = "enum(x,y) mode", d = "string[] files",
      e = "boolean?" } }
  eq(t.schema, {
    type = "object", additionalProperties = false, required = { "a", "c", "d" },
    properties = {
      a = { type = "string", description = "what it is" },
      b = { type = "integer", default = 10, description = "how many" },
      c = { type = "string", enum = { "x", "y" }, description = "mode" },
      d = { type = "array", items = { type = "string" }, description = "files" }, e = { type = "boolean" },
    },
  })
  fails("~parameter 'a': 'strng' is not a type; did you mean 'string'?", function()
    sg.tool { name = "x", run = print, params = { a = "strng what" } }
  end)
end)

it "arguments are repaired where it is clear, and refused in words where not" (function()
  local seen
  local t = sg.tool { name = "t", params = { n = "integer", list = "string[]?", deep = "object?", mode = "enum(a,b)?" },
                      run = function(p) seen = p return "ok" end }
  local c = sg.chat { model = model { { say = "x" } }, tools = { t } }
  local function call(args) return c:call { id = "1", name = "t", args = args } end
  eq(call { n = "7", list = "one", deep = '{"a":1}' }, "ok")
  eq(seen, { n = 7, list = { "one" }, deep = { a = 1 } })
  local v, err = call { n = "many" }
  eq({ v, tostring(err) }, { nil, "t: parameter 'n': expected integer, got string" })
  eq(tostring(select(2, call {})), "t: parameter 'n' is missing")
  eq(tostring(select(2, call { n = 1, lits = {} })), "t: unknown parameter 'lits'; did you mean 'list'?")
  eq(tostring(select(2, call { n = 1, mode = "c" })), "t: parameter 'mode': expected one of a, b, got 'c'")
  eq(tostring(select(2, c:call { id = "1", name = "tt", args = {} })), "no tool 'tt'; did you mean 't'?")
end)

it "bad calls may be repaired three times running" (function()
  local function bad(i) return { call = { "shell", { cmdd = "x" .. i } } } end
  local r, err = run { bad(1), bad(2), bad(3), bad(4), { say = "never" } }
  eq(r, nil)
  eq(err.msg, "4 bad tool calls running")
end)

it "branches: denied, failed, edited, allowed" (function()
  local t = sg.tool { name = "t", params = { how = "string" }, run = function(p)
    if p.how == "failed" then return nil, "no luck" end
    return "fine"
  end }
  local function turn(how) return { call = { "t", { how = how } }, on = {
    failed = { say = "it failed", call = { "t", { how = "again" } } }, allowed = { say = "it went" } } } end
  local r = run({ turn "failed", { say = "end" } }, { tools = { t } })
  eq({ r.text, r.steps }, { "end", 3 })
  r = run({ turn "fine" }, { tools = { t } })
  eq(r.text, "it went")
end)

it "done: the agent continues until the condition holds" (function()
  local n = 0
  local r = run({ { say = "done?" }, { say = "now?" }, { say = "yes" } }, { tools = {}, done = function()
    n = n + 1
    return n == 3, "not yet"
  end })
  eq({ r.stop, r.text, n }, { "done", "yes", 3 })
  local none, err = run({ { say = "done" } }, { tools = {}, done = function() return false, "tests still fail" end })
  eq(none, nil)
  eq(tostring(err), "the agent stops, but the task is not done: tests still fail")
end)

it "steps run out" (function()
  local list = {}
  for i = 1, 9 do list[i] = { call = { "shell", { cmd = "echo " .. i } } } end
  local r, err = run(list, { budget = { steps = 4 } })
  eq(r, nil)
  eq({ err.code, err.exit, err.answer.stop, err.answer.steps }, { "budget", 5, "steps", 4 })
end)

it "the same call four times running asks a person" (function()
  local same = { call = { "shell", { cmd = "true" } } }
  local r, err = run { same, same, same, same, { say = "x" } }
  eq(r, nil)
  eq({ err.msg, err.answer.stop }, { "the same call 4 times running", "stopped" })
end)

it "reads run at the same time, answers keep their order" (function()
  local box <close> = sg.sandbox {}
  box:write("a", "AAA")
  box:write("b", "BBB")
  local r = run({ { call = { { "read", { path = "b" } }, { "read", { path = "a" } } } }, { say = "x" } }, { box = box })
  eq(r.messages[4].text, "    1  BBB")
  eq(r.messages[5].text, "    1  AAA")
end)

it "output: JSON that was asked for" (function()
  local r = run({ { say = "here: {\"n\": \"x\"}" }, { say = "```json\n{\"n\": 4}\n```" } },
    { tools = {}, output = { n = "integer" } })
  eq(r.data, { n = 4 })
end)

it "a script's tool is announced; its error from an action is an answer, its own mistake raises" (function()
  local t = sg.tool { name = "t", run = function(_, ctx) assert(ctx.box:run "false") end }
  local r = run({ { call = { "t", {} } }, { say = "seen", expect = "exit 1: false" } },
    { tools = { t }, box = sg.sandbox {} })
  eq(r.text, "seen")
  local bad = sg.tool { name = "bad", run = function() local x = nil return x.y end }
  fails("~attempt to index a nil value (local 'x')",
    function() run({ { call = { "bad", {} } } }, { tools = { bad } }) end)
end)

it "a tool's time-out is an answer" (function()
  local t = sg.tool { name = "slow", timeout = 2, run = function() sg.sleep(10) end }
  local r = run({ { call = { "slow", {} } }, { say = "late", expect = "timeout" } }, { tools = { t } })
  eq(r.text, "late")
end)

it "sub-agents" (function()
  turns.sub = { { say = "I am the sub-agent" } }
  local helper = sg.agent.define { name = "helper", about = "helps", tools = {}, model = "scripted:scripted_sub.lua" }
  local r = run({ { call = { "task", { agent = "helper", task = "help" } } },
    { say = "ok", expect = "I am the sub%-agent" } },
    { tools = {}, agents = { helper } })
  eq(r.text, "ok")
  r = run({ { call = { "helper", { task = "help" } } }, { say = "ok2", expect = "sub%-agent" } },
    { tools = { helper } })
  eq(r.text, "ok2")
end)

it "the loop by hand" (function()
  local box <close> = sg.sandbox {}
  local c = sg.chat { model = model { { say = "a", call = { "shell", { cmd = "echo 1" } } }, { say = "b" } },
    tools = { "shell" }, box = box }
  c:user "task"
  local r
  repeat
    r = assert(c:send {})
    for _, call in ipairs(r.calls) do c:answer(call, c:call(call)) end
  until #r.calls == 0
  eq(r.text, "b")
  local other = c:fork()
  other:user "more"
  eq(#other.messages - #c.messages, 1)
end)

it "apply_patch" (function()
  local box <close> = sg.sandbox {}
  box:write("f.c", "int a;\nint b;\nint c;\n")
  local patch = require "sandglass.patch"
  local good = "*** Begin Patch\n*** Update File: f.c\n@@\n int a;\n-int b;\n+int bb;\n"
    .. "*** Add File: g.c\n+new\n*** End Patch"
  eq(patch.apply(good, box), "update f.c\nadd g.c")
  eq(box:read "f.c", "int a;\nint bb;\nint c;\n")
  eq(box:read "g.c", "new\n")
  local bad = "*** Begin Patch\n*** Update File: f.c\n@@\n-int zzz;\n+x\n*** Add File: h.c\n+h\n*** End Patch"
  local v, err = patch.apply(bad, box)
  eq({ v, err.msg }, { nil, "patch: f.c: the text of change 1 is not there: int zzz;" })
  eq((box:read "h.c"), nil, "nothing was written")
end)

it "long results are shortened for the model" (function()
  local box <close> = sg.sandbox {}
  local r = run({ { call = { "shell", { cmd = "seq 1 20000" } } }, { say = "x" } }, { box = box })
  local text = r.messages[4].text
  eq(#text < 17000 and text:find "bytes left out" ~= nil, true)
  eq(text:sub(-6), "20000\n")
end)

it "reads lines that are not there, a binary file, and an image" (function()
  local box <close> = sg.sandbox {}
  local chat = sg.chat { box = box, tools = { "read" }, model = "scripted:demo" }
  local function read(args) return chat:call { name = "read", args = args } end
  box:write("text", "a\nb\n")
  box:write("program", "\x7fELF\0\0")
  box:write("image.png", "\x89PNG\r\n\x1a\n\0")
  eq(read { path = "text", from = 9 }, "[it has 2 lines]")
  local value, err = read { path = "program" }
  eq({ value, err.code, err.msg:find "binary file %(6 bytes%)" ~= nil }, { nil, "io", true })
  value = read { path = "image.png" }
  eq({ value.text, value.media[1].mime, value.media[1].data }, { "[image/png, 9 bytes]", "image/png", "iVBORw0KGgoA" })
end)

it "reads what is left out of a long result" (function()
  local box <close> = sg.sandbox {}
  local chat = sg.chat { box = box, tools = { "shell", "read" }, model = "scripted:demo" }
  local function call(name, args)
    local c = { name = name, args = args }
    local value, err = chat:call(c)
    chat:answer(c, value, err)
    return chat.messages[#chat.messages].text
  end
  local text = call("shell", { cmd = "seq 1 9000" })
  local nr = text:match "path output:(%d+)"
  eq(nr, "1", "the notice names the way to read it")
  eq(call("read", { path = "output:1", from = 4500, lines = 2 }):match "4500  4500\n +4501  4501\n%[4499 more lines%]" ~= nil, true)
  text = call("shell", { cmd = "head -c 40000 /dev/zero | tr '\\0' x" })
  eq(text:match "path output:(%d+)", "2")
  eq(call("read", { path = "output:2", from = 20, lines = 1 }):match "20  (x+)", ("x"):rep(2000), "one long line comes in pieces")
  eq(call("read", { path = "output:9" }):find "not kept" ~= nil, true)
  for _ = 1, 8 do call("shell", { cmd = "seq 1 9000" }) end
  eq(call("read", { path = "output:2" }):find "not kept" ~= nil, true, "old ones are forgotten")
  local alone = sg.chat { box = box, tools = { "shell" }, model = "scripted:demo" }
  local value = alone:call { name = "shell", args = { cmd = "seq 1 9000" } }
  eq(value:find "output:" == nil and value:find "bytes left out" ~= nil, true, "a model without the tool gets another way")
end)

it "compaction shortens old results only" (function()
  local box <close> = sg.sandbox {}
  local list = {}
  for i = 1, 6 do list[i] = { call = { "shell", { cmd = "seq 1 900 #" .. i } } } end
  list[7] = { say = "x" }
  local r = run(list, { box = box, compact = { window = 3000, keep = 4 } })
  eq(r.messages[4].text:find "left out" ~= nil, true)
  eq(r.messages[#r.messages - 1].text:find "left out", nil)
end)

it "a paused answer continues, and so does a cut one" (function()
  local r = assert(run { { say = "one ", stop = "pause" }, { say = "two ", stop = "length" }, { say = "three" } })
  eq({ r.text, r.stop, r.steps, r.usage.calls }, { "two three", "end", 3, 3 })
  eq(r.messages[5].role, "user")
  eq(r.messages[5].text:find "cut off" ~= nil, true)
end)

it "an answer that is always cut ends it" (function()
  local list = {}
  for i = 1, 6 do list[i] = { say = "x", stop = "length" } end
  local r, err = run(list)
  eq({ r, err.code, err.answer.stop, err.answer.steps }, { nil, "model", "error", 4 })
end)

it "a refusal is an error, and is not kept" (function()
  local r, err = run { { say = "not that", stop = "refused" } }
  eq({ r, err.code, tostring(err) }, { nil, "model", "the model refused to answer: not that" })
  eq(err.answer.stop, "refused")
  local m = err.answer.messages
  eq(m[#m].role, "user")
end)

it "a conversation that the model finds too long is shortened, once and once more" (function()
  local box <close> = sg.sandbox {}
  local list = {}
  for i = 1, 4 do list[i] = { say = "turn " .. i, call = { "shell", { cmd = "seq 1 900 #" .. i } } } end
  list[5] = { stop = "window" }
  list[6] = { stop = "window" }
  list[7] = { say = "it fits" }
  local r = assert(run(list, { box = box }))
  eq(r.text, "it fits")
  eq(r.messages[2].text, "do it")
  eq(r.messages[3].text, "[6 earlier messages were left out here]")
  eq({ r.messages[4].role, r.messages[4].text, r.messages[5].role }, { "assistant", "turn 4", "tool" })
end)

it "a conversation that never fits is an error of code limit" (function()
  local r, err = run { { stop = "window" }, { stop = "window" }, { stop = "window" } }
  eq({ r, err.code }, { nil, "limit" })
end)

it "a model's own window counts" (function()
  local box <close> = sg.sandbox {}
  local list = {}
  for i = 1, 6 do list[i] = { call = { "shell", { cmd = "seq 1 900 #" .. i } } } end
  list[7] = { say = "x" }
  local r = run(list, { box = box })
  for _, m in ipairs(r.messages) do eq((m.text or ""):find "left out", nil) end
end)

it "images of results: the newest stay, the older ones are named" (function()
  local shot = sg.tool { name = "shot", run = function() return { text = "a page", media = { { mime = "image/png", data = "QUJD" } } } end }
  local chat = sg.chat { model = model { { say = "x" } }, tools = { shot } }
  for i = 1, 52 do
    local c = { id = "c" .. i, name = "shot", args = {} }
    chat:answer(c, assert(chat:call(c)))
  end
  eq({ chat.messages[2].media, chat.messages[2].text }, { nil, "a page\n[the images and files of this old result (1) were left out]" })
  eq({ #chat.messages[3].media, chat.messages[52].text, chat.messages[52].media[1].data }, { 1, "a page", "QUJD" })
end)
