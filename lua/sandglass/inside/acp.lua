-- The Agent Client Protocol, version 1, as its client. It offers the agent no files and no terminals of ours: an agent uses its
-- own, inside. A request for one is refused, and told.
local rt = require "sandglass.runtime"
local list = require "sandglass.text".sg.json.list
local rpc = require "sandglass.inside.rpc"
local permits = require "sandglass.inside.permit"
local given = require "sandglass.inside.told".given
local str = require "sandglass.inside.told".str

local M = { name = "acp" }   -- M.parts: what version 2 shares
local INIT_S, SESSION_S, CHILD_TEXT = 60, 120, 16 << 10
local TOOL = { execute = "bash", edit = "edit", read = "read", delete = "edit", move = "edit" }

local function text_of(block)
  block = given(block)
  if type(block) ~= "table" then return nil end
  if block.type == "text" then return block.text end
  if block.type == "resource" and type(block.resource) == "table" then return block.resource.text end
  if block.type == "resource_link" then return block.uri end
end

-- Its output is in one of four places, depending on the agent.
local function output_of(u)
  local parts, diffs = {}, {}
  for _, item in ipairs(type(u.content) == "table" and u.content or {}) do
    if item.type == "content" then parts[#parts + 1] = text_of(item.content) end
    if item.type == "diff" then diffs[#diffs + 1] = { path = item.path, old = given(item.oldText), new = item.newText } end
  end
  local meta = type(u._meta) == "table" and u._meta or {}
  local terminal = meta.terminal_output
  local raw = given(u.rawOutput)
  if #parts == 0 and type(terminal) == "table" then parts[1] = terminal.data end
  if #parts == 0 and type(raw) == "table" then parts[1] = type(raw.output) == "string" and raw.output or raw.stdout end
  if #parts == 0 and type(raw) == "string" then parts[1] = raw end
  for i, p in ipairs(parts) do if type(p) ~= "string" then parts[i] = "" end end
  return #parts > 0 and table.concat(parts, "\n") or nil, #diffs > 0 and diffs or nil
end

local function call_fields(u)
  local paths = {}
  for i, l in ipairs(type(u.locations) == "table" and u.locations or {}) do paths[i] = l.path end
  local text, diffs = output_of(u)
  local args = given(u.rawInput)
  return {
    name = given(u.name), title = given(u.title), kind = given(u.kind), status = given(u.status), text = text, diffs = diffs,
    paths = #paths > 0 and paths or nil, args = type(args) == "table" and next(args) ~= nil and args or nil,
  }
end

local updates = {}
function updates.agent_message_chunk(s, u) s.told.piece("text", text_of(u.content), given(u.messageId)) end
function updates.agent_thought_chunk(s, u) s.told.piece("thought", text_of(u.content), given(u.messageId)) end
function updates.user_message_chunk() end   -- our own words, shown again
function updates.tool_call(s, u) s.told.call(u.toolCallId, call_fields(u)) end
updates.tool_call_update = updates.tool_call
function updates.plan(s, u)
  local entries, done = {}, 0
  for i, e in ipairs(u.entries or {}) do
    entries[i] = { text = e.content, status = e.status, priority = e.priority }
    if e.status == "completed" then done = done + 1 end
  end
  s.told.put("plan", ("%d of %d done%s"):format(done, #entries, entries[1] and ": " .. str(entries[1].text) or ""), { entries = entries })
end
function updates.current_mode_update(s, u) s.told.put("mode", str(u.currentModeId), { mode = u.currentModeId }) end
function updates.usage_update(s, u)
  local cost = type(u.cost) == "table" and ("%s %s"):format(str(u.cost.amount), str(u.cost.currency)) or nil
  s.told.put("usage", ("%s of %s tokens%s"):format(str(u.used), str(u.size), cost and ", " .. cost or ""), {
    used = math.tointeger(u.used), size = math.tointeger(u.size), cost = cost,
  })
end
function updates.session_info_update(s, u)
  if given(u.title) then s.told.put("title", u.title) end
end
function updates.notice(s, u) s.told.put("notice", str(u.title), { text = given(u.description) }) end
local SILENT = { available_commands_update = true, config_option_update = true, compaction_summary_chunk = true }

-- Messages of a session that we did not open: a subagent's, kept apart by its own id.
local function of_child(s, params)
  local id = given(params.sessionId)
  if id == nil or s.id == nil or id == s.id then return false end
  local u, c = params.update, s.children[id]
  if not c then
    c = { text = "" }
    s.children[id], s.children.order[#s.children.order + 1] = c, id
  end
  local text = type(u.content) == "table" and given(u.content.text)
  if u.sessionUpdate == "agent_message_chunk" and text then
    c.text = #c.text < CHILD_TEXT and c.text .. text or c.text
  elseif u.sessionUpdate == "tool_call" then
    s.told.aside(function()
      s.told.put("child", ("session %s: %s"):format(str(id), str(given(u.title) or u.toolCallId)), { session = id, call = u.toolCallId,
        title = given(u.title), kind = given(u.kind) })
    end)
  end
  return true
end

-- At the end of a turn: what each of them has said.
local function tell_children(s)
  for _, id in ipairs(s.children.order) do
    local c = s.children[id]
    if c.text ~= "" then s.told.put("child", ("session %s: %s"):format(str(id), c.text), { session = id, text = c.text }) end
    c.text = ""
  end
end

local function heard(s, method, params)
  if method ~= "session/update" or type(params.update) ~= "table" then return end   -- extensions: in the record as they came
  if of_child(s, params) then return end
  local u = params.update
  local fn = updates[u.sessionUpdate]
  if fn then return fn(s, u) end
  if not SILENT[u.sessionUpdate] then s.told.put("odd", "an update that is not known: " .. str(u.sessionUpdate)) end
end

-- Some agents name no kind when they ask: then it is what its arguments are for.
local function tool_of(c, args)
  local known = TOOL[c.kind] or c.name
  if known then return known end
  if args.command or args.cmd then return "bash" end
  if (args.path or args.file_path or args.filePath) and (args.content or args.old_string or args.oldString) then return "edit" end
  return c.kind or "permission"
end

local function options_of(params)
  local options = {}
  for i, o in ipairs(params.options or {}) do options[i] = { id = o.optionId, kind = o.kind, name = o.name } end
  return options
end

-- @c: the call as call_fields says it; @id: its number.
local function decide(s, id, c, options)
  local args = c.args or {}
  local tool = tool_of(c, args)
  if tool == "bash" and not (args.command or args.cmd) then args = { command = (c.title or ""):gsub("^`(.*)`$", "%1") } end
  if (tool == "edit" or tool == "read") and c.paths and not (args.path or args.file_path or args.filePath) then
    local all = { path = c.paths[1] }
    for k, v in pairs(args) do all[k] = v end
    args = all
  end
  local d = permits.ask(s.told, s.box, { call = id, tool = tool, args = args, title = c.title, options = options })
  if d.is_edited then
    -- another form cannot be said here: this one is refused, and the user's is asked for in the next prompt
    d.why = d.edited and ("run this instead: " .. d.edited) or "do it otherwise"
    d.option = nil
    for _, o in ipairs(options) do if o.kind == "reject_once" then d.option = o end end
  end
  if not d.allowed or d.is_edited then
    s.told.flush()
    s.refused, s.refused_at, s.must_hear = d.why or "refused", s.told.texts, s.must_hear or d.is_edited
  end
  if not d.option then return { outcome = { outcome = "cancelled" } } end
  return { outcome = { outcome = "selected", optionId = d.option.id } }
end

local function permission(s, params)
  local u = params.toolCall or {}
  local c
  if given(params.sessionId) == nil or s.id == nil or params.sessionId == s.id then
    c = s.told.call(u.toolCallId or "?", call_fields(u))
  else
    c = call_fields(u)   -- of a child session: calls of two sessions may have one number
  end
  return decide(s, u.toolCallId, c, options_of(params))
end

local function serve(s, method, params)
  if method == "session/request_permission" then return permission(s, params) end
  s.told.put("odd", ("asked for %s %s: refused, nothing of the kind is offered"):format(method, str(params.path or params.command or "")))
  return nil, { code = -32601, message = "this client offers no " .. method .. "; use your own tools" }
end

local function begin(s, x)
  local v, err = s.peer.ask("initialize", {
    protocolVersion = 1, clientCapabilities = { fs = { readTextFile = false, writeTextFile = false }, terminal = false },
    clientInfo = { name = "sandglass", title = "sandglass", version = "1" },
  })
  if not v then return nil, err end
  if v.protocolVersion ~= 1 then
    return nil, rt.err { code = "backend", msg = ("the agent speaks version %s of ACP, expected 1"):format(str(v.protocolVersion)) }
  end
  s.info = type(v.agentInfo) == "table" and v.agentInfo or {}
  local can = type(v.agentCapabilities) == "table" and v.agentCapabilities or {}
  s.load, s.resume = can.loadSession == true, type(can.sessionCapabilities) == "table" and can.sessionCapabilities.resume ~= nil
  s.loads = s.load or s.resume
  return true
end

local function current_mode(v) return type(v.modes) == "table" and str(v.modes.currentModeId) or "default" end

-- Its own session again if it can: shown again (load) or not (resume); else a new one. One that shows it late has done so when it
-- answers the next question: to be in the mode that it is in.
local function session(s, x)
  local v, err
  local where = { cwd = x.cwd or "/workspace", mcpServers = list() }
  if x.session and (s.load or s.resume) then
    where.sessionId = x.session
    s.told.quiet = true
    v, err = s.peer.ask(s.load and "session/load" or "session/resume", where)
    if v and x.late_history then s.peer.ask("session/set_mode", { sessionId = x.session, modeId = current_mode(v) }) end
    s.told.begin()
    s.told.quiet = false
    if v then return v, s.load and "loaded" or "resumed", x.session end
    if err.code ~= "backend" or s.wire.late then return nil, err end
    s.told.put("notice", "can't load its session, a new one starts: " .. str(err))
    where.sessionId = nil
  end
  v, err = s.peer.ask("session/new", where)
  if not v and type(err.cause) == "table" and err.cause.code == -32000 then err.why = "it requires a login" end
  if not v then return nil, err end
  return v, "new", v.sessionId
end

function M.open(w, x)
  local s = { wire = w, told = x.told, box = x.box, children = { order = {} } }
  s.peer = rpc.new(w, {
    version = "2.0", heard = function(m, p) heard(s, m, p) end, serve = function(m, p) return serve(s, m, p) end,
  })
  local ok, err = w.within(x.start_s or INIT_S, "the agent does not answer initialize", begin, s, x)
  if not ok then return nil, err end
  local v, how, id = w.within(x.start_s or SESSION_S, "the agent opens no session", session, s, x)
  if not v then return nil, how end
  s.id = id
  local modes = type(v.modes) == "table" and v.modes or {}
  local names = {}
  for _, m in ipairs(type(modes.availableModes) == "table" and modes.availableModes or {}) do
    names[#names + 1] = type(m) == "table" and m.id or nil
  end
  s.told.put("session", ("%s %s over %s, %s session"):format(s.info.name or "an agent", s.info.version or "", x.over or "ACP", how), {
    protocol = x.over or "acp", session = id, how = how, name = s.info.name, version = s.info.version, mode = modes.currentModeId,
    modes = #names > 0 and names or nil,
  })
  if x.mode then
    ok, err = w.within(x.start_s or SESSION_S, "the agent does not change its mode", s.peer.ask, "session/set_mode", { sessionId = id, modeId = x.mode })
    if not ok then return nil, err end
    s.told.put("mode", x.mode, { mode = x.mode })
  end
  return s
end

-- Why something was refused, when its turn ended without a word on it: this protocol has none for the reason.
local function unheard(s)
  s.told.flush()
  return (s.must_hear or s.told.texts == s.refused_at) and s.refused or nil
end

function M.prompt(s, text)
  s.refused, s.must_hear = nil, nil
  local v, err = s.peer.ask("session/prompt", { sessionId = s.id, prompt = { { type = "text", text = text } } })
  tell_children(s)
  if not v then
    if s.wire.late or err.cause == nil then return nil, err end
    return { stop = "error", error = str(err) }
  end
  local u = type(v.usage) == "table" and v.usage or {}
  return {
    stop = v.stopReason, refused = unheard(s),
    usage = { ["in"] = math.tointeger(u.inputTokens), out = math.tointeger(u.outputTokens) },
  }
end

-- Open requests get an answer; the open prompt then ends.
function M.cancel(s)
  s.peer.tell("session/cancel", { sessionId = s.id })
  s.peer.drop_theirs { outcome = { outcome = "cancelled" } }
end

function M.pump(s) return s.peer.pump() end

M.parts = {
  text_of = text_of, call_fields = call_fields, options_of = options_of, decide = decide, updates = updates, silent = SILENT, of_child = of_child,
  tell_children = tell_children, unheard = unheard,
}

return M
