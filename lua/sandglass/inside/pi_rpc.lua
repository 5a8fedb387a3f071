-- pi's RPC mode. pi asks nobody: its calls are judged at the proxy.
local rt = require "sandglass.runtime"
local str = require "sandglass.inside.told".str

local M = { name = "rpc", loads = true }
local INIT_S = 60

local function text_of(content)
  local parts = {}
  for _, b in ipairs(type(content) == "table" and content or {}) do parts[#parts + 1] = b.type == "text" and b.text or nil end
  return table.concat(parts, "\n")
end

local function title_of(name, args)
  args = type(args) == "table" and args or {}
  return ("%s %s"):format(name, args.command or args.path or args.file_path or "")
end

local on = {}
function on.tool_execution_start(s, m)
  s.told.call(m.toolCallId, { name = m.toolName, title = title_of(m.toolName, m.args), status = "in_progress", args = m.args })
end
function on.tool_execution_end(s, m)
  local r = type(m.result) == "table" and m.result or {}
  s.told.call(m.toolCallId, { name = m.toolName, status = m.isError and "failed" or "completed", text = text_of(r.content) })
end
function on.message_end(s, m)
  local msg = type(m.message) == "table" and m.message or {}
  if msg.role ~= "assistant" then return end
  for _, b in ipairs(type(msg.content) == "table" and msg.content or {}) do
    s.told.piece(b.type == "thinking" and "thought" or "text", b.text or b.thinking)
  end
  s.told.flush()
  if type(msg.errorMessage) == "string" then s.wrong = msg.errorMessage end
  if type(msg.usage) == "table" then s.usage = { ["in"] = math.tointeger(msg.usage.input), out = math.tointeger(msg.usage.output) } end
end
function on.agent_end(s, m)
  if m.willRetry == nil then s.done = true end   -- newer ones say when they have settled
end
function on.agent_settled(s) s.done = true end
function on.auto_retry_start(s, m)
  s.wrong = nil
  s.told.put("notice", ("asks its model again, attempt %s: %s"):format(str(m.attempt), str(m.errorMessage)))
end
function on.response(s, m)
  local fn = s.heard[m.id or ""]
  if not fn then s.answers[m.id or ""] = m return end
  s.heard[m.id] = nil
  fn(m)
end
function on.extension_ui_request(s, m)
  if m.id == nil or m.method == "notify" or m.method == "setStatus" or m.method == "setWidget" or m.method == "setTitle" then return end
  s.told.put("odd", ("an extension asks (%s): canceled, because no screen shows it"):format(str(m.method)))
  s.wire.send { type = "extension_ui_response", id = m.id, cancelled = true }
end

function M.pump(s)
  local m, err = s.wire.recv()
  if not m then return nil, err end
  if on[m.type] then s.wire.take(on[m.type], s, m) end
  return true
end

local function ask(s, command)
  s.nr = s.nr + 1
  command.id = "sg-" .. s.nr
  local ok, err = s.wire.send(command)
  while ok and not s.answers[command.id] do ok, err = M.pump(s) end
  if not ok then return nil, err end
  local r = s.answers[command.id]
  s.answers[command.id] = nil
  if r.success then return type(r.data) == "table" and r.data or {} end
  return nil, rt.err { code = "backend", msg = ("%s: %s"):format(command.type, str(r.error)), cause = r }
end

function M.open(w, x)
  local s = { wire = w, told = x.told, box = x.box, answers = {}, heard = {}, nr = 0 }
  local v, err = w.within(x.start_s or INIT_S, "the agent does not answer", ask, s, { type = "get_state" })
  if not v then return nil, err end
  s.id = v.sessionId or v.sessionFile
  local how = x.session and "resumed" or "new"
  s.told.put("session", ("pi over RPC, %s session"):format(how), { protocol = "rpc", session = s.id, how = how, name = "pi" })
  return s
end

function M.prompt(s, text)
  s.done, s.wrong = nil, nil
  local v, err = ask(s, { type = "prompt", message = text })
  if not v then
    if s.wire.late or err.cause == nil then return nil, err end
    return { stop = "error", error = str(err) }
  end
  local ok = true
  while ok and not s.done do ok, err = M.pump(s) end
  if not ok then return nil, err end
  return { stop = s.wrong and "error" or "end_turn", error = s.wrong, usage = s.usage }
end

function M.cancel(s) s.wire.send { type = "abort" } end

-- heard(why): it has taken it, or why not.
function M.steer(s, text, heard)
  s.nr = s.nr + 1
  s.heard["sg-" .. s.nr] = function(m) heard(not m.success and str(m.error) or nil) end
  s.wire.send { type = "steer", id = "sg-" .. s.nr, message = text }
end

return M
