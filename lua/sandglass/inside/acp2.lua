-- The Agent Client Protocol, version 2, as its client (control "acp-v2"). Its schema is a draft, so it is used only if it is named.
-- A turn ends with the state "idle", not with the answer to its prompt; modes are configuration options; sessions are resumed.
local rt = require "sandglass.runtime"
local rpc = require "sandglass.inside.rpc"
local acp = require "sandglass.inside.acp"
local given = require "sandglass.inside.told".given
local str = require "sandglass.inside.told".str

local parts = acp.parts
local M = { name = "acp-v2" }
local INIT_S, SESSION_S = 60, 120
local CHUNKS_MAX = 500   -- of a call; each one has the whole output put together
local STATUS = { paused = "in_progress", cancelled = "failed" }

local function list_of(v) return type(v) == "table" and v or {} end

-- The fields of a call as version 1 has them: a difference is one patch with the paths that it changes.
local function call_fields(u)
  local content, diffs = {}, {}
  for _, item in ipairs(list_of(u.content)) do
    if item.type == "diff" then
      local patch = type(item.patch) == "table" and item.patch.text or nil
      for _, c in ipairs(list_of(item.changes)) do diffs[#diffs + 1] = { path = given(c.path) or given(c.newPath), new = patch } end
    else
      content[#content + 1] = item
    end
  end
  local copy = {}
  for k, v in pairs(u) do copy[k] = v end
  copy.content, copy.status = content, STATUS[u.status] or u.status
  local c = parts.call_fields(copy)
  c.diffs = #diffs > 0 and diffs or nil
  return c
end

-- A whole message; its pieces may have come before.
local function message(what)
  return function(s, u)
    local id, text = str(u.messageId), {}
    if s.pieces[id] then return end
    for i, block in ipairs(list_of(u.content)) do text[i] = parts.text_of(block) or "" end
    s.told.piece(what, table.concat(text), id)
  end
end
local function piece(what)
  return function(s, u)
    s.pieces[str(u.messageId)] = true
    s.told.piece(what, parts.text_of(u.content), given(u.messageId))
  end
end

local updates = {
  agent_message_chunk = piece "text", agent_thought_chunk = piece "thought", agent_message = message "text", agent_thought = message "thought",
  usage_update = parts.updates.usage_update, session_info_update = parts.updates.session_info_update, notice = parts.updates.notice,
}
function updates.tool_call_update(s, u)
  s.told.call(u.toolCallId, call_fields(u))
  if u.status == "completed" or u.status == "failed" or u.status == "cancelled" then s.content[str(u.toolCallId)] = nil end
end
function updates.tool_call_content_chunk(s, u)
  local id = str(u.toolCallId)
  local c = s.content[id] or {}
  s.content[id] = c
  if #c == CHUNKS_MAX and not c.over then
    c.over = true
    s.told.put("odd", ("call %s has more than %d pieces of output: the others are not shown"):format(id, CHUNKS_MAX))
  end
  if c.over then return end
  c[#c + 1] = u.content
  s.told.call(u.toolCallId, call_fields { content = c })
end
function updates.plan_update(s, u)
  if type(u.plan) == "table" and u.plan.type == "items" then parts.updates.plan(s, { entries = list_of(u.plan.entries) }) end
end
function updates.state_update(s, u)
  if u.state ~= "idle" then s.busy = true end
  if u.state ~= "idle" or not s.prompting or not (s.busy or s.accepted and given(u.stopReason)) then return end
  local e = type(u.error) == "table" and u.error or nil
  s.done = { stop = given(u.stopReason) or "end_turn", error = e and str(e.message) or nil }
end
local SILENT = {
  user_message_chunk = true, user_message = true, available_commands_update = true, config_option_update = true, compaction_update = true,
  compaction_summary_chunk = true, terminal_update = true, terminal_output_chunk = true,
}

local function heard(s, method, params)
  if method ~= "session/update" or type(params.update) ~= "table" then return end
  if parts.of_child(s, params) then return end
  local u = params.update
  local fn = updates[u.sessionUpdate]
  if fn then return fn(s, u) end
  if not SILENT[u.sessionUpdate] then s.told.put("odd", "an update that is not known: " .. str(u.sessionUpdate)) end
end

-- What a permission is for: a call, a command, or only its title.
local function permission(s, params)
  local subject = list_of(given(params.subject))
  local id, c
  if subject.type == "tool_call" then
    local u = list_of(subject.toolCall)
    id, c = u.toolCallId, call_fields(u)
    if params.sessionId == s.id then c = s.told.call(u.toolCallId or "?", c) end
  elseif subject.type == "command" then
    id, c = given(subject.toolCallId), { kind = "execute", args = { command = subject.command, workdir = given(subject.cwd) } }
  else
    c = {}
  end
  c.title = c.title or given(params.title)
  return parts.decide(s, id, c, parts.options_of(params))
end

local function serve(s, method, params)
  if method == "session/request_permission" then return permission(s, params) end
  s.told.put("odd", ("asked for %s: refused, nothing of the kind is offered"):format(method))
  return nil, { code = -32601, message = "this client offers no " .. method }
end

local function begin(s)
  local v, err = s.peer.ask("initialize", {
    protocolVersion = 2, info = { name = "sandglass", title = "sandglass", version = "1" }, capabilities = {},
  })
  if not v then return nil, err end
  if v.protocolVersion ~= 2 then
    return nil, rt.err { code = "backend", msg = ("the agent speaks version %s of ACP, expected 2: use control 'acp'"):format(str(v.protocolVersion)) }
  end
  s.info = list_of(v.info)
  s.loads = type(list_of(v.capabilities).session) == "table"
  return true
end

local function session(s, x)
  local where, v, err = { cwd = x.cwd or "/workspace" }, nil, nil
  if x.session and s.loads then
    where.sessionId, s.told.quiet = x.session, true
    v, err = s.peer.ask("session/resume", where)
    s.told.begin()
    s.told.quiet = false
    if v then return v, "resumed", x.session end
    if err.code ~= "backend" or s.wire.late then return nil, err end
    s.told.put("notice", "can't load its session, a new one starts: " .. str(err))
    where.sessionId = nil
  end
  v, err = s.peer.ask("session/new", where)
  if not v then return nil, err end
  return v, "new", v.sessionId
end

local function mode_option(v)
  for _, o in ipairs(list_of(v.configOptions)) do
    if type(o) == "table" and o.category == "mode" and o.type == "select" then return o end
  end
end

local function set_mode(s, option, mode)
  if not option then return nil, rt.err { code = "backend", msg = ("the agent has no modes: can't set '%s'"):format(mode) } end
  local v, err = s.peer.ask("session/set_config_option", { sessionId = s.id, configId = option.configId, type = "id", value = mode })
  if not v then return nil, err end
  s.told.put("mode", mode, { mode = mode })
  return true
end

function M.open(w, x)
  local s = { wire = w, told = x.told, box = x.box, children = { order = {} }, pieces = {}, content = {} }
  s.peer = rpc.new(w, {
    version = "2.0", heard = function(m, p) heard(s, m, p) end, serve = function(m, p) return serve(s, m, p) end,
  })
  local ok, err = w.within(x.start_s or INIT_S, "the agent does not answer initialize", begin, s)
  if not ok then return nil, err end
  local v, how, id = w.within(x.start_s or SESSION_S, "the agent opens no session", session, s, x)
  if not v then return nil, how end
  s.id = id
  local option = mode_option(v)
  s.told.put("session", ("%s %s over ACP version 2, %s session"):format(s.info.name or "an agent", s.info.version or "", how), {
    protocol = "acp-v2", session = id, how = how, name = s.info.name, version = s.info.version, mode = option and str(option.currentValue),
  })
  if x.mode then
    ok, err = w.within(x.start_s or SESSION_S, "the agent does not change its mode", set_mode, s, option, x.mode)
    if not ok then return nil, err end
  end
  return s
end

function M.prompt(s, text)
  s.refused, s.must_hear, s.done, s.busy, s.accepted, s.prompting = nil, nil, nil, nil, nil, true
  local v, err = s.peer.ask("session/prompt", { sessionId = s.id, prompt = { { type = "text", text = text } } })
  s.accepted = v ~= nil
  local ok = v ~= nil
  while ok and not s.done do ok, err = s.peer.pump() end
  s.prompting = false
  parts.tell_children(s)
  if v and not ok then return nil, err end
  if not v then
    if s.wire.late or err.cause == nil then return nil, err end
    return { stop = "error", error = str(err) }
  end
  s.done.refused = parts.unheard(s)
  return s.done
end

M.cancel = acp.cancel

function M.pump(s) return s.peer.pump() end

return M
