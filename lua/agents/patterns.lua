-- `sandglass compare --patterns`: the same task once with the box as a tool and once with the agent in the box, and what
-- users argue about measured here and now. The agent inside is a program of ours that does the same commands; no model is
-- asked. Its last note is the table, as JSON.
local sg = require "sandglass"
local P = require "sandglass.patterns"
local opt = sg.args { context = "" }   -- --context: a directory that an image with argument PROMPT is built from
local rows = {}
local function ms(s) return math.floor(s * 1000000 + 0.5) / 1000 end
local function timed(fn, ...)
  local t0 = os.clock()
  local v = fn(...)
  return os.clock() - t0, v
end
local function median(t)
  table.sort(t)
  return t[(#t + 1) // 2]
end
-- Figures travel as text: bodies of the record hold integers only.
local function row(what, tool, inside, how, event)
  rows[#rows + 1] = { what = what, tool = tostring(tool), inside = tostring(inside), how = how, event = event }
  sg.progress(#rows, 12, what)
end
local function f(x) return ("%.1f ms"):format(ms(x)) end

-- 1. From a changed prompt to the first action by it. Inside it is a file of the agent's, and so is its program: a box has them by
-- being filled anew, or by an image that is built anew.
do
  local how = "median of 3; inside: its files put into a new box; --image NAME measures an image to build"
  local function fill(_)
    local own <close> = P.box("own", {}, P.inside_files())
    assert(own:run "cat AGENT.md")
  end
  if opt.context ~= "" then
    how = "median of 3; inside: an image built by the container engine and a box of it"
    local run = os.time()                      -- else the engine has the image of the last time
    function fill(i)
      local own <close> = sg.sandbox { name = "image", backend = "container",
        build = { dir = opt.context, net = "none", args = { PROMPT = ("%s%d, %d"):format(P.PROMPT, i, run) } } }
      local r = assert(own:run "cat /AGENT.md")
      if not r.out:find(("%d, %d"):format(i, run), 1, true) then sg.exit(1, "an old prompt answered") end
    end
  end
  local box <close> = P.box("tool", {})
  local began, first
  local run = P.run_tool(function() return box end, function() first = first or os.clock() - began end)
  local a, b = {}, {}
  for i = 1, 3 do
    began, first = os.clock(), nil
    assert(sg.agent.run { name = "v" .. i, task = "say", system = P.PROMPT .. i, model = P.MODEL, tools = { run } })
    a[i] = first
    b[i] = timed(fill, i)
  end
  row("changed prompt to first action", f(median(a)), f(median(b)), how)
end

-- 2-4. Readable in the sandbox: key, prompt, source.
local px = P.proxy()
local at_tool, at_inside = P.look("as-tool", {}), P.look("inside", { px = px, env = { KEY = px.key } }, P.inside_files())
local loss = P.look("key-inside", { env = { KEY = "canary-key-0" } }, P.inside_files())
row("key found in the box", at_tool.key, ("%d (placed inside: %d)"):format(at_inside.key, loss.key), "times; by value", at_inside.event)
row("prompt found in the box", at_tool.prompt, at_inside.prompt, "times", at_inside.event)
row("source found in the box", at_tool.source, at_inside.source, "times", at_tool.event)

-- 5. The same task.
local box = P.box("work", { trace = "exec" })
local t0, used, calls = os.clock(), 0, 0
local run = P.run_tool(function() return box end, function(_, r) used, calls = used + (r and r.ms or 0), calls + 1 end)
local r = assert(sg.agent.run { name = "outside", task = "work", model = P.MODEL, tools = { run } })
local tool_s = os.clock() - t0
local tool_files = #box:diff().files
box:close()
t0 = os.clock()
local own = P.box("own", { px = px, env = { KEY = px.key }, trace = "exec" }, P.inside_files())
local inner = assert(own:run "sh agent.sh")
local inside_s, own_files = os.clock() - t0, #own:diff().files
row("the same task", f(tool_s), f(inside_s), ("answers: %s; %s"):format(r.text:match "%d+" or "?", inner.out:match "%d+" or "?"), inner.event)
row("box awake, of it executing", ("%s, %d ms"):format(f(tool_s), used), ("%s, %d ms"):format(f(inside_s), inner.ms),
  "time paid by the hour against time paid by execution")
row("files in the box", tool_files, own_files, "changed or added; inside: its own among them")

-- 8. Calls.
local one = timed(function() return assert(own:run "true") end)
local hundred = timed(function() for _ = 1, 100 do assert(own:run "true") end end)
local inside1 = assert(own:run "/bin/true").ms
local inside100 = timed(function() return assert(own:run "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done") end)
row("1 call", f(one), f(inside1 / 1000), "judged, recorded, its files looked at; inside: as the box counts it")
row("100 calls", f(hundred), f(inside100), "inside: a loop of its own, one action")

-- 10. Boxes in parallel.
local four = timed(function()
  assert(sg.map({ 1, 2, 3, 4 }, function(i)
    local b <close> = sg.sandbox { name = "p" .. i }
    return assert(b:run "echo $$").out
  end))
end)
local nested = own:exec "unshare -U true"
row("boxes in parallel", ("4 in %s"):format(f(four)), nested and nested.ok and "?" or "1 (its own)", "another one from inside: refused")

-- 11. Ways out.
local port = px.urls.model:match ":(%d+)"
local function ways(b)
  local n = 0
  for _, to in ipairs { "127.0.0.1/" .. port, "192.0.2.1/80" } do
    local c = b:exec { "timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/" .. to }
    n = n + (c and c.ok and 1 or 0)
  end
  return n
end
local bare <close> = sg.sandbox { name = "bare" }
row("ways out of the box", ways(bare), ways(own), "inside: the proxy of its model")
own:close()

-- 12. The box dies.
local after, err = P.outlives "agent"
local dying = sg.sandbox { name = "dying" }
local gone = dying:exec("echo begun; sleep 600; echo I continue", P.dies(dying))
row("agent when its box dies", after and ("continues: %s"):format(after.text) or tostring(err), gone and "?" or "gone with it", "taken away in mid-execution")

print(sg.json.encode { rows = rows })
if at_tool.key + at_tool.prompt + at_inside.key > 0 or loss.key == 0 then sg.exit(1, "a canary was found where it must not be, or not where it lay") end
if not after or gone then sg.exit(1, "the boxes did not die as they should") end
