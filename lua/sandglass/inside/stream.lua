-- Claude Code's stream-json: messages both ways, and its questions of permission as control requests, which may be answered with
-- other input than it asked for.
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local permits = require "sandglass.inside.permit"
local str = require "sandglass.inside.told".str

local M = { name = "stream", loads = true }
local INIT_S = 60

local function result_text(content)
  if type(content) == "string" then return content end
  local parts = {}
  for _, b in ipairs(type(content) == "table" and content or {}) do parts[#parts + 1] = b.type == "text" and b.text or nil end
  return table.concat(parts, "\n")
end

-- Edits show in their own arguments.
local function diffs_of(input)
  local path = input.file_path
  if not path then return nil end
  if input.old_string then return { { path = path, old = input.old_string, new = input.new_string } } end
  if input.content then return { { path = path, new = input.content } } end
end

local function title_of(name, input)
  return ("%s %s"):format(name, input.command or input.file_path or input.pattern or input.description or "")
end

local on = {}

function on.assistant(s, m)
  for _, b in ipairs(m.message and m.message.content or {}) do
    if b.type == "text" then s.told.piece("text", b.text, m.uuid) end
    if b.type == "thinking" then s.told.piece("thought", b.thinking, m.uuid) end
    if b.type == "tool_use" then
      local input = type(b.input) == "table" and b.input or {}
      s.told.call(b.id, { name = b.name, title = title_of(b.name, input), status = "in_progress", args = input, diffs = diffs_of(input) })
      if b.name == "TodoWrite" then s.plan(input.todos) end
    end
  end
end

function on.user(s, m)
  local content = m.message and m.message.content
  for _, b in ipairs(type(content) == "table" and content or {}) do
    if b.type == "tool_result" then
      s.told.call(b.tool_use_id, { status = b.is_error == true and "failed" or "completed", text = result_text(b.content) })
    end
  end
end

function on.system(s, m)
  if m.subtype == "init" then
    s.id, s.session, s.version = m.session_id, m.session_id, m.claude_code_version
    if not s.said then
      s.said = true
      s.told.put("session", ("Claude Code %s over stream-json, %s session"):format(m.claude_code_version or "", s.how), {
        protocol = "stream", session = m.session_id, how = s.how, name = "claude", version = m.claude_code_version, mode = m.permissionMode,
      })
    end
  elseif m.subtype == "api_retry" then
    s.told.put("notice", ("asks its model again, attempt %s: %s"):format(str(m.attempt), str(m.error)))
  end
end

function on.result(s, m)
  local u = type(m.usage) == "table" and m.usage or {}
  s.done = {
    stop = m.subtype == "success" and "end_turn" or m.subtype, error = m.is_error and str(m.result or m.subtype) or nil,
    text = m.result, usage = { ["in"] = math.tointeger(u.input_tokens), out = math.tointeger(u.output_tokens) },
  }
end

local function answer(s, id, response)
  s.wire.send { type = "control_response", response = { subtype = "success", request_id = id, response = response } }
end

local function permission(s, id, r)
  local input = type(r.input) == "table" and r.input or {}
  local options = { { id = "allow", kind = "allow_once", name = "Allow" } }
  for _, p in ipairs(type(r.permission_suggestions) == "table" and r.permission_suggestions or {}) do
    local rules = {}
    for i, rule in ipairs(p.rules or {}) do rules[i] = ("%s(%s)"):format(str(rule.toolName), str(rule.ruleContent or "*")) end
    options[#options + 1] = {
      id = p.type or "suggestion", kind = "always",
      name = ("Always: %s %s, kept in %s"):format(p.type or "", table.concat(rules, " ") .. (p.mode or ""), str(p.destination)),
    }
  end
  options[#options + 1] = { id = "deny", kind = "reject_once", name = "Deny" }
  local d = permits.ask(s.told, s.box, {
    call = r.tool_use_id, tool = r.tool_name, args = input, title = title_of(r.tool_name, input), options = options,
  })
  if not d.allowed then return answer(s, id, { behavior = "deny", message = d.why or "refused" }) end
  if d.is_edited and not d.edited then return answer(s, id, { behavior = "deny", message = "The user wants this done differently." }) end
  local new = {}
  for k, v in pairs(input) do new[k] = v end
  if d.edited then new.command = d.edited end
  answer(s, id, { behavior = "allow", updatedInput = new })
end

function on.control_request(s, m)
  local r = m.request or {}
  if r.subtype ~= "can_use_tool" then
    s.told.put("odd", "asked for " .. str(r.subtype) .. ": refused, nothing of the kind is offered")
    s.wire.send { type = "control_response", response = { subtype = "error", request_id = m.request_id, error = "not offered" } }
    return
  end
  local id = m.request_id
  if id == nil then return s.told.put("odd", "asked to be allowed something, without a number to answer: not heard") end
  s.asking[id] = task.spawn(function()
    local ok, e = pcall(permission, s, id, r)
    e = not ok and rt.as_error(e) or nil
    if e and e.code == "cancelled" then error(e, 0) end   -- the canceling side has answered
    s.asking[id] = nil
    if not e then return end
    s.told.put("odd", "denied, since its question can't be checked: " .. e.msg)
    answer(s, id, { behavior = "deny", message = "this can't be checked" })
  end)
end

function on.control_cancel_request(s, m)
  local t = s.asking[m.request_id]
  s.asking[m.request_id] = nil
  if t then t:cancel "the agent no longer waits" end
end

function on.control_response(s, m)
  local r = m.response or {}
  s.answers[r.request_id or ""] = r
end

local QUIET = { stream_event = true, rate_limit_event = true, tool_progress = true }

function M.pump(s)
  local m, err = s.wire.recv()
  if not m then return nil, err end
  if on[m.type] then
    s.wire.take(on[m.type], s, m)
  elseif not QUIET[m.type] then
    s.told.put("odd", "a message of a kind that is not known: " .. str(m.type))
  end
  return true
end

local function control(s, request)
  s.nr = s.nr + 1
  local id = "sg-" .. s.nr
  local ok, err = s.wire.send { type = "control_request", request_id = id, request = request }
  while ok and not s.answers[id] do ok, err = M.pump(s) end
  if not ok then return nil, err end
  local r = s.answers[id]
  if r.subtype == "success" then return r.response or {} end
  return nil, rt.err { code = "backend", msg = ("%s: %s"):format(request.subtype, str(r.error)) }
end

function M.open(w, x)
  local s = { wire = w, told = x.told, box = x.box, asking = {}, answers = {}, nr = 0, how = x.session and "resumed" or "new", session = x.session }
  function s.plan(todos)
    local entries, done = {}, 0
    for i, e in ipairs(type(todos) == "table" and todos or {}) do
      entries[i] = { text = e.content, status = e.status }
      if e.status == "completed" then done = done + 1 end
    end
    s.told.put("plan", ("%d of %d done"):format(done, #entries), { entries = entries })
  end
  local v, err = w.within(x.start_s or INIT_S, "the agent does not answer initialize", control, s, { subtype = "initialize" })
  if not v then return nil, err end
  if x.mode then
    v, err = w.within(x.start_s or INIT_S, "the agent does not change its mode", control, s, { subtype = "set_permission_mode", mode = x.mode })
    if not v then return nil, err end
  end
  return s
end

function M.prompt(s, text)
  s.done = nil
  local ok, err = s.wire.send {
    type = "user", message = { role = "user", content = text }, parent_tool_use_id = rt.core.null, session_id = s.session or "",
  }
  while ok and not s.done do ok, err = M.pump(s) end
  if not ok then return nil, err end
  return s.done
end

function M.cancel(s)
  for id, t in pairs(s.asking) do
    s.asking[id] = nil
    t:cancel "the turn is cancelled"
    answer(s, id, { behavior = "deny", message = "cancelled", interrupt = true })
  end
  s.nr = s.nr + 1
  s.wire.send { type = "control_request", request_id = "sg-" .. s.nr, request = { subtype = "interrupt" } }
end

return M
