-- The session of `sandglass hook`: an agent that runs on the host, outside of any box, tells through its hooks what it is about
-- to do. That is checked against policy and recorded here. The agent isn't isolated: its other actions are not seen.
local rt = require "sandglass.runtime"
local sg = require "sandglass"
local tell = require "sandglass.inside.told"
local permits = require "sandglass.inside.permit"

local IDLE = "12h"   -- an agent silent for this long has ended
local args = sg.args { agent = "agent", cwd = "", "session?" }
local over = false

local told = tell.new(function(body) rt.tell("agent.told", body) end)

local function title_of(name, input)
  return ("%s %s"):format(name, input.command or input.file_path or input.path or input.pattern or input.url or input.description or "")
end

local function text_of(v)
  if v == nil or v == rt.core.null then return nil end
  if type(v) == "string" then return v end
  if type(v) == "table" and (v.stdout or v.stderr) then return tostring(v.stdout or "") .. tostring(v.stderr or "") end
  return rt.core.encode(v)
end

local on = {}

function on.PreToolUse(e)
  local name, input = tostring(e.tool_name or "?"), type(e.tool_input) == "table" and e.tool_input or {}
  told.call(e.tool_use_id or "?", { name = name, title = title_of(name, input), status = "pending", args = input })
  local d = permits.ask(told, { id = nil }, { call = e.tool_use_id or "", tool = name, args = input, title = title_of(name, input) })
  local edited
  if d.is_edited and d.edited then
    edited = {}
    for k, v in pairs(input) do edited[k] = v end
    edited.command = d.edited
  end
  local otherwise = d.is_edited and not edited
  local why = edited and "The user has changed the command." or otherwise and "The user wants this done differently." or d.why
  return { allowed = d.allowed and not otherwise, why = why, input = edited }
end

function on.PostToolUse(e)
  told.call(e.tool_use_id or "?", { status = "completed", text = text_of(e.tool_response) })
end
function on.UserPromptSubmit(e) told.put("prompt", tostring(e.prompt or ""), { text = e.prompt }) end
function on.SessionStart(e)
  told.put("session", ("%s over its hooks, %s"):format(args.agent, tostring(e.source or "begins")), {
    protocol = "hooks", session = e.session_id, how = e.source, name = args.agent,
  })
end
function on.Stop(e)
  if type(e.last_assistant_message) == "string" then told.put("text", e.last_assistant_message, { text = e.last_assistant_message }) end
  told.put("turn", "end_turn", { stop = "end_turn" })
end
function on.Notification(e) told.put("notice", tostring(e.message or "")) end
function on.SessionEnd(e) over = true end

local v = assert(rt.call("agent.start", {
  name = args.agent, task = "works in " .. args.cwd .. ", outside of any sandbox; reported by its hooks", model = "outside", tools = sg.json.list(),
}))
local me = rt.current()
me.agent = v.agent
rt.agents[v.agent] = { task = me, inbox = {} }

local function serve(r)
  rt.current().agent = v.agent
  local e = type(r.args) == "table" and r.args or {}
  local ok, answer = pcall(on[r.tool] or function() told.put("odd", "a hook that is not known: " .. r.tool) end, e)
  if not ok then
    local wrong = rt.as_error(answer)
    answer = { allowed = false, why = tostring(wrong) }
  end
  rt.shield(function() rt.call("mcp.answer", { request = r.request, structured = answer or { allowed = true } }) end)
end

while not over do
  local r, err = sg.timeout(IDLE, function() return rt.call("mcp.next", {}) end)
  if not r then
    if err.code == "timeout" then break end
    error(err, 0)
  end
  if r.eof then break end
  if r.request then
    local t = sg.spawn(serve, r)
    if r.tool == "SessionEnd" then t:await() end
  end
end
rt.call("agent.end", { agent = v.agent, stop = "end", ok = true, steps = 0 })
