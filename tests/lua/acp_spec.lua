-- An agent's request over ACP is checked as the action that it describes, also without a kind. This
-- file plays the agent and the supervisor.
local rt = require "sandglass.runtime"
local real, judged = rt.call, {}
function rt.call(op, args, on_chunk)
  if op ~= "inner.permit" then return real(op, args, on_chunk) end
  judged[#judged + 1] = ("%s %s"):format(args.tool, args.args.command or args.args.path or args.args.file_path or "")
  return { event = 7 }
end
local acp = require "sandglass.inside.acp"
local told = require "sandglass.inside.told"
local spec = require "spec"

-- An agent that asks once for `call`, a ToolCall, and then ends its turn; the option that it was answered with.
local function ask(call)
  local queue, chosen = {}, nil
  local function answer(m, result) queue[#queue + 1] = { id = m.id, result = result } end
  local w = { within = function(_, _, fn, ...) return fn(...) end, take = function(fn, ...) return fn(...) end }
  function w.send(m)
    if m.method == "initialize" then answer(m, { protocolVersion = 1 }) end
    if m.method == "session/new" then answer(m, { sessionId = "S" }) end
    if m.method == "session/prompt" then
      queue[#queue + 1] = {
        id = "a", method = "session/request_permission",
        params = { sessionId = "S", toolCall = call, options = { { optionId = "y", name = "Yes", kind = "allow_once" } } },
      }
      w.prompt = m
    end
    if m.id == "a" then
      chosen = m.result.outcome.optionId
      answer(w.prompt, { stopReason = "end_turn" })
    end
    return true
  end
  function w.recv()
    while not queue[1] do real("sleep", { us = 1000 }) end
    return table.remove(queue, 1)
  end
  local s = acp.open(w, { told = told.new(function() end), box = { id = 1 } })
  acp.prompt(s, "go")
  return chosen
end

spec.it "a permission request is checked as the action that it describes" (function()
  for _, call in ipairs {
    { toolCallId = "1", kind = "execute", title = "`touch a`" },
    { toolCallId = "2", title = "Execute: `touch b`", rawInput = { command = "touch b" } },
    { toolCallId = "3", title = "Write", rawInput = { file_path = "c.txt", content = "x" } },
    { toolCallId = "4", title = "Other", kind = "other", rawInput = { query = "d" } },
  } do spec.eq(ask(call), "y") end
  spec.eq(judged, { "bash touch a", "bash touch b", "edit c.txt", "other " })
end)

-- What an agent's updates become in its turn; each is { session, update }.
local function hear(updates)
  local queue, out, prompt = {}, {}, nil
  local w = { within = function(_, _, fn, ...) return fn(...) end, take = function(fn, ...) return fn(...) end }
  function w.send(m)
    local result = ({ initialize = { protocolVersion = 1 }, ["session/new"] = { sessionId = "main" } })[m.method]
    if m.method == "session/prompt" then
      for _, u in ipairs(updates) do
        queue[#queue + 1] = { method = "session/update", params = { sessionId = u[1], update = u[2] } }
      end
      prompt, result = m, { stopReason = "end_turn" }
    end
    if result then queue[#queue + 1] = { id = m.id, result = result } end
    return true
  end
  function w.recv() return table.remove(queue, 1) end
  local t = told.new(function(body) out[#out + 1] = body.what .. " | " .. body.say end)
  local s = acp.open(w, { told = t, box = { id = 1 } })
  acp.prompt(s, "go")
  t.flush()
  return out, t
end

spec.it "updates of a child session stay apart, whatever their kind" (function()
  local function text(kind, words) return { sessionUpdate = kind, content = { type = "text", text = words } } end
  local out = hear {
    { "child", text("agent_message_chunk", "draft ") }, { "main", text("agent_message_chunk", "The tests ") },
    { "child", text("agent_thought_chunk", "hm") }, { "other", text("agent_message_chunk", "else") },
    { "main", { sessionUpdate = "tool_call", toolCallId = "1", title = "make", kind = "execute", status = "pending" } },
    { "child", { sessionUpdate = "tool_call", toolCallId = "1", title = "rm", kind = "execute", status = "pending" } },
    { "child", { sessionUpdate = "tool_call_update", toolCallId = "1", status = "failed" } },
    { "child", { sessionUpdate = "plan", entries = { { content = "x", status = "completed" } } } },
    { "child", { sessionUpdate = "usage_update", used = 1, size = 2 } },
    { "main", { sessionUpdate = "tool_call_update", toolCallId = "1", status = "completed" } },
    { "main", text("agent_message_chunk", "pass.") },
  }
  local all = table.concat(out, "\n")
  spec.eq(all:find "call | failed", nil)
  spec.eq(all:find "\nplan |" or all:find "\nusage |", nil)
  spec.eq(all:find("call | completed: make", 1, true) ~= nil, true)
  spec.eq(all:find("child | session child: rm", 1, true) ~= nil, true)
  spec.eq(all:find("child | session child: draft", 1, true) ~= nil, true)
  spec.eq(all:find("child | session other: else", 1, true) ~= nil, true)
end)
