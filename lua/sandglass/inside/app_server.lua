-- Codex's app-server: JSON-RPC lines without their version. Its own sandbox is off because ours
-- contains it; it asks about every action that it doesn't trust.
local rt = require "sandglass.runtime"
local list = require "sandglass.text".sg.json.list
local rpc = require "sandglass.inside.rpc"
local permits = require "sandglass.inside.permit"
local given = require "sandglass.inside.told".given
local str = require "sandglass.inside.told".str

local M = { name = "app-server", loads = true }
local INIT_S, SESSION_S = 60, 120

local STATUS = { inProgress = "in_progress", completed = "completed", failed = "failed", declined = "failed" }

local function diffs_of(changes)
  local diffs, paths = {}, {}
  for i, c in ipairs(type(changes) == "table" and changes or {}) do
    diffs[i], paths[i] = { path = c.path, new = c.diff }, c.path
  end
  return #diffs > 0 and diffs or nil, #paths > 0 and paths or nil
end

local items = {}
function items.commandExecution(s, it)
  s.told.call(it.id, {
    name = "exec", title = it.command, kind = "execute", status = STATUS[it.status], text = given(it.aggregatedOutput),
    args = { command = it.command, cwd = given(it.cwd) },
  })
end
function items.fileChange(s, it)
  local diffs, paths = diffs_of(it.changes)
  s.told.call(it.id, {
    name = "edit", title = "edit " .. table.concat(paths or {}, " "), kind = "edit", status = STATUS[it.status], diffs = diffs, paths = paths,
  })
end
function items.mcpToolCall(s, it)
  s.told.call(it.id, { name = ("%s:%s"):format(str(it.server), str(it.tool)), title = it.tool, status = STATUS[it.status] })
end
function items.webSearch(s, it) s.told.call(it.id, { name = "web_search", title = "web search " .. str(it.query), status = "completed" }) end

local heard = {}
heard["item/started"] = function(s, p)
  local it = p.item or {}
  if items[it.type] then items[it.type](s, it) end
end
heard["item/completed"] = function(s, p)
  local it = p.item or {}
  if items[it.type] then return items[it.type](s, it) end
  if it.type == "agentMessage" then
    s.told.piece("text", it.text, it.id)
    s.told.flush()
  elseif it.type == "reasoning" then
    s.told.piece("thought", table.concat(type(it.summary) == "table" and it.summary or {}, "\n"), it.id)
    s.told.flush()
  end
end
heard["turn/plan/updated"] = function(s, p)
  local entries, done = {}, 0
  for i, e in ipairs(p.plan or {}) do
    entries[i] = { text = e.step, status = e.status }
    if e.status == "completed" then done = done + 1 end
  end
  s.told.put("plan", ("%d of %d done"):format(done, #entries), { entries = entries })
end
heard["thread/tokenUsage/updated"] = function(s, p)
  local u = type(p.tokenUsage) == "table" and p.tokenUsage or {}
  local total = type(u.total) == "table" and u.total or {}
  s.usage = { ["in"] = math.tointeger(total.inputTokens), out = math.tointeger(total.outputTokens) }
  s.told.put("usage", ("%s of %s tokens"):format(str(total.totalTokens), str(given(u.modelContextWindow) or "?")), {
    used = math.tointeger(total.totalTokens), size = math.tointeger(given(u.modelContextWindow)),
  })
end
heard["turn/started"] = function(s, p) s.turn = p.turn and p.turn.id end
heard["turn/completed"] = function(s, p)
  local t = p.turn or {}
  local e = type(t.error) == "table" and t.error or nil
  s.done = { stop = t.status == "completed" and "end_turn" or t.status == "interrupted" and "cancelled" or "error", error = e and str(e.message) or nil }
end
heard.warning = function(s, p) s.told.put("notice", str(p.message)) end
heard.error = function(s, p)
  local e = type(p.error) == "table" and p.error or p
  s.told.put("notice", str(e.message))
end

local asks = {}
local OPTIONS = {
  { id = "accept", kind = "allow_once", name = "Accept" }, { id = "acceptForSession", kind = "allow_always", name = "Accept for the session" },
  { id = "decline", kind = "reject_once", name = "Decline" },
}

local function options_of(p)
  local options = { table.unpack(OPTIONS) }
  local rule = given(p.proposedExecpolicyAmendment)
  if type(rule) == "table" then
    options[#options + 1] = { id = "acceptWithExecpolicyAmendment", kind = "always", name = "Always, as a rule on disk: " .. table.concat(rule, " ") }
  end
  return options
end

local function decide(s, o)
  local d = permits.ask(s.told, s.box, o)
  if d.is_edited then
    d.why, d.allowed = d.edited and ("run this instead: " .. d.edited) or "do it otherwise", false
  end
  if d.allowed then return { decision = "accept" } end
  s.told.flush()
  s.refused, s.refused_at, s.must_hear = d.why or "refused", s.told.texts, s.must_hear or d.is_edited
  return { decision = "decline" }
end

-- The text of a quoted shell word; nil: more than a word, or a word that a shell would change.
local function word_of(s)
  local out, at = {}, 1
  while at <= #s do
    local mark, stop = s:sub(at, at), nil
    if mark == "'" then
      stop = s:find("'", at + 1, true)
      out[#out + 1] = stop and s:sub(at + 1, stop - 1)
    elseif mark == '"' then
      stop = at + 1
      while stop <= #s and s:sub(stop, stop) ~= '"' do stop = stop + (s:sub(stop, stop) == "\\" and 2 or 1) end
      local inner = s:sub(at + 1, stop - 1)
      if stop > #s or inner:gsub("\\.", ""):find "[$`]" then return nil end
      out[#out + 1] = inner:gsub('\\(["\\$`])', "%1")
    elseif not mark:find "[%s\\$`;&|<>()*?#~]" then
      stop, out[#out + 1] = at, mark
    end
    if not stop then return nil end
    at = stop + 1
  end
  return table.concat(out)
end

-- The server wraps the model's command into a shell of its own. This unwraps it, so that the
-- command is checked once.
local SHELLS = { sh = true, bash = true, dash = true, zsh = true }
function M.bare(command)
  local shell, rest = command:match "^/?[%w/]-(%w+) %-l?c (.+)$"
  return SHELLS[shell] and word_of(rest) or command
end

asks["item/commandExecution/requestApproval"] = function(s, p)
  local c = s.told.known(p.itemId) or {}
  local command = given(p.command) or c.title or "?"
  if type(command) == "table" then command = table.concat(command, " ") end
  local bare = M.bare(command)
  return decide(s, {
    call = p.itemId, tool = "exec_command", title = given(p.reason) or bare, args = { cmd = bare, workdir = given(p.cwd) }, options = options_of(p),
  })
end
asks["item/fileChange/requestApproval"] = function(s, p)
  local c = s.told.known(p.itemId) or {}
  return decide(s, {
    call = p.itemId, tool = "edit", title = given(p.reason) or c.title, options = OPTIONS,
    args = { path = c.paths and c.paths[1], root = given(p.grantRoot), changes = c.diffs },
  })
end

local function serve(s, method, p)
  if asks[method] then return asks[method](s, p) end
  s.told.put("odd", ("asked for %s: refused, nothing of the kind is offered"):format(method))
  return nil, { code = -32601, message = "this client does not answer " .. method }
end

local function begin(s, x)
  local v, err = s.peer.ask("initialize", { clientInfo = { name = "sandglass", title = "sandglass", version = "1" } })
  if not v then return nil, err end
  s.peer.tell "initialized"
  local o = { cwd = x.cwd or "/workspace", approvalPolicy = x.mode or "untrusted", sandbox = "danger-full-access" }
  if x.session then
    o.threadId, o.model = x.session, x.forked and x.model or nil
    s.told.quiet = true
    v, err = s.peer.ask("thread/resume", o)
    s.told.begin()
    s.told.quiet = false
    if v then
      s.how = "resumed"
      return v
    end
    if err.code ~= "backend" or s.wire.late then return nil, err end
    s.told.put("notice", "can't load its session, a new one starts: " .. str(err))
    o.threadId, o.model = nil, nil
  end
  return s.peer.ask("thread/start", o)
end

function M.open(w, x)
  local s = { wire = w, told = x.told, box = x.box, how = "new" }
  s.peer = rpc.new(w, {
    heard = function(m, p) if heard[m] then heard[m](s, p) end end, serve = function(m, p) return serve(s, m, p) end,
  })
  local v, err = w.within(x.start_s or INIT_S + SESSION_S, "the agent opens no session", begin, s, x)
  if not v then return nil, err end
  s.id = type(v.thread) == "table" and v.thread.id or nil
  s.policy = x.mode or "untrusted"
  s.told.put("session", ("Codex over app-server, %s session"):format(s.how), {
    protocol = "app-server", session = s.id, how = s.how, name = "codex", mode = s.policy,
  })
  return s
end

function M.prompt(s, text)
  s.done, s.refused, s.must_hear, s.turn = nil, nil, nil, nil
  local v, err = s.peer.ask("turn/start", {
    threadId = s.id, input = list { { type = "text", text = text } }, approvalPolicy = s.policy,
    sandboxPolicy = { type = "externalSandbox", networkAccess = "restricted" },
  })
  if not v then
    if s.wire.late or err.cause == nil then return nil, err end
    return { stop = "error", error = str(err) }
  end
  s.turn = s.turn or (type(v.turn) == "table" and v.turn.id or nil)
  local ok = true
  while ok and not s.done do ok, err = s.peer.pump() end
  if not ok then return nil, err end
  s.done.refused = (s.must_hear or s.told.texts == s.refused_at) and s.refused or nil
  s.done.usage = s.usage
  return s.done
end

function M.cancel(s)
  s.peer.drop_theirs { decision = "cancel" }
  if s.turn then rt.shield(function() s.wire.send { id = "cancel", method = "turn/interrupt", params = { threadId = s.id, turnId = s.turn } } end) end
end

-- heard(why): it has taken it, or why not.
function M.steer(s, text, heard)
  if not s.turn then return heard "its turn has not begun" end
  s.peer.post("turn/steer", { threadId = s.id, expectedTurnId = s.turn, input = list { { type = "text", text = text } } }, function(m)
    heard(m.error and str(type(m.error) == "table" and m.error.message or m.error) or nil)
  end)
end

function M.pump(s) return s.peer.pump() end

return M
