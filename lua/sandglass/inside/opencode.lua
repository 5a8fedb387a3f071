-- OpenCode's server: HTTP for requests, server-sent events for its reports. Its questions are only
-- claims. A program in its sandbox that has the server's password (in the agent's environment) can
-- answer in our place, and the agent continues; this is reported as odd. Only the sandbox contains
-- such programs.
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local people = require "sandglass.people".sg
local permits = require "sandglass.inside.permit"
local server = require "sandglass.inside.server"
local basic = require "sandglass.inside.http".basic
local told = require "sandglass.inside.told"
local given, line_of, str = told.given, told.line_of, told.str

local M = { name = "serve", loads = true }
local SESSION_S = 120

local STATUS = { running = "in_progress", completed = "completed", error = "failed" }
local OPTIONS = {
  { id = "once", kind = "allow_once", name = "Allow once" }, { id = "always", kind = "allow_always", name = "Always" },
  { id = "reject", kind = "reject_once", name = "Reject" },
}

local function table_of(v) return type(v) == "table" and v or {} end

local function title_of(name, input)
  return ("%s %s"):format(name, str(input.command or input.filePath or input.path or input.pattern or input.url or input.description or ""))
end

-- A write has its text, an edit both texts; else what it says it did.
local function diffs_of(input, meta)
  local path = given(input.filePath)
  if path and input.oldString then return { { path = path, old = input.oldString, new = input.newString } } end
  if path and input.content then return { { path = path, new = input.content } } end
  if type(meta.diff) == "string" then return { { path = path, new = meta.diff } } end
end

local parts = {}
function parts.text(s, p)
  if s.role[p.messageID] == "user" or s.over[p.id] or not table_of(p.time)["end"] then return end
  s.over[p.id] = true
  s.told.piece("text", p.text, p.id)
  s.told.flush()
end
function parts.reasoning(s, p)
  if s.over[p.id] or not table_of(p.time)["end"] then return end
  s.over[p.id] = true
  s.told.piece("thought", p.text, p.id)
  s.told.flush()
end
function parts.tool(s, p)
  local state = table_of(p.state)
  if not STATUS[state.status] then return end   -- its arguments are still being written
  local input, meta = table_of(state.input), table_of(state.metadata)
  s.told.call(p.callID, {
    name = p.tool, title = given(state.title) or title_of(p.tool, input), status = STATUS[state.status], args = next(input) and input or nil,
    text = given(state.output) or given(state.error), diffs = diffs_of(input, meta), paths = input.filePath and { input.filePath } or nil,
  })
end
parts["step-finish"] = function(s, p)
  local t = table_of(p.tokens)
  local u = s.usage
  u["in"], u.out = u["in"] + (math.tointeger(t.input) or 0), u.out + (math.tointeger(t.output) or 0)
  local cost = type(p.cost) == "number" and p.cost > 0 and ("%.4f USD"):format(p.cost) or nil
  s.told.put("usage", ("%d tokens in, %d out"):format(u["in"], u.out), { used = u["in"] + u.out, cost = cost })
end
function parts.retry(s, p)
  s.told.put("notice", ("asks its model again, attempt %s: %s"):format(str(p.attempt), str(table_of(table_of(p.error).data).message)))
end

local function reply(s, id, how, why)
  s.asking[id], s.replied[id] = nil, how
  server.later(s, "POST", "/permission/" .. id .. "/reply", { reply = how, message = why })
end

local function permission(s, p)
  local meta, tool = table_of(p.metadata), p.permission or p.type or "permission"
  local patterns, always = table_of(p.patterns), table_of(p.always)
  local call = table_of(p.tool).callID
  local known = call and s.told.known(call) or {}
  local args = {}
  for k, v in pairs(table_of(known.args)) do args[k] = v end
  for k, v in pairs(meta) do args[k] = v end
  if tool == "bash" then args.command = args.command or patterns[1] end
  if tool == "edit" then args.path = args.filePath or args.filepath or patterns[1] end
  local options = { table.unpack(OPTIONS) }
  options[2] = { id = "always", kind = "allow_always", name = "Always: " .. table.concat(always, ", ") }
  local title = title_of(tool, args):gsub("%s+$", "") .. (tool ~= "bash" and patterns[1] and " " .. patterns[1] or "")
  s.titles[p.id] = title
  local d = permits.ask(s.told, s.box, { call = call, tool = tool, args = args, title = title, options = options })
  if d.is_edited then return reply(s, p.id, "reject", "The user wants this instead: " .. (d.edited or "do it differently")) end
  if not d.allowed then return reply(s, p.id, "reject", d.why or "refused") end
  reply(s, p.id, "once")
end

-- Its questions: one question with choices becomes ours; others get the answer that no user is there.
local function question(s, p)
  local q = table_of(table_of(p.questions)[1])
  local choices = {}
  for i, o in ipairs(table_of(q.options)) do choices[i] = type(o) == "table" and o.label or nil end
  local d
  s.titles[p.id] = str(q.question)
  if #table_of(p.questions) == 1 and #choices > 0 then d = people.ask { text = str(q.question), choices = choices, risk = "low" } end
  s.asking[p.id], s.replied[p.id] = nil, d and d.choice or "reject"
  if d and d.choice then return server.later(s, "POST", "/question/" .. p.id .. "/reply", { answers = { { d.choice } } }) end
  s.told.put("odd", "asked the user without an answer: " .. str(q.question))
  server.later(s, "POST", "/question/" .. p.id .. "/reject", {})
end

local function asks(s, p, fn)
  if type(p.id) ~= "string" or s.asking[p.id] or p.sessionID ~= s.id and not s.children[p.sessionID] then return end
  s.asking[p.id] = task.spawn(function()
    local ok, e = pcall(fn, s, p)
    e = not ok and rt.as_error(e) or nil
    if not e then return end
    if e.code == "cancelled" then error(e, 0) end   -- the canceling side has answered
    s.told.put("odd", "refused, since its question can't be checked: " .. e.msg)
    reply(s, p.id, "reject", "this can't be checked")
  end)
end

local on = {}
on["message.updated"] = function(s, p)
  local info = table_of(p.info)
  if info.sessionID == s.id and info.id then s.role[info.id] = info.role end
end
on["message.part.updated"] = function(s, p)
  local part = table_of(p.part)
  if part.sessionID ~= s.id and not s.children[part.sessionID] then return end
  if parts[part.type] then parts[part.type](s, part) end
end
on["permission.asked"] = function(s, p) asks(s, p, permission) end
on["question.asked"] = function(s, p) asks(s, p, question) end
-- One that we did not send. A refusal is mostly its own: with one question it refuses all that wait.
local function replied(s, p, how)
  local id = given(p.requestID) or given(p.permissionID) or ""
  local t, ours, title = s.asking[id], s.replied[id], s.titles[id]
  s.asking[id], s.replied[id], s.titles[id] = nil, nil, nil
  if ours and (ours == how or not how) or p.sessionID ~= s.id and not s.children[p.sessionID] then return end
  s.told.put(how == "reject" and "notice" or "odd", ("its question was answered in the sandbox, not by you: %s: %s"):format(how or "?", title or str(id)), {
    why = "every program with its server's password can answer",
  })
  if t then t:cancel "answered in the sandbox" end
end
on["permission.replied"] = function(s, p) replied(s, p, given(p.reply) or given(p.response)) end
on["question.replied"] = function(s, p)
  local first = table_of(table_of(p.answers)[1])
  replied(s, p, given(first[1]) and str(first[1]) or nil)
end
on["question.rejected"] = function(s, p) replied(s, p, "reject") end
on["session.created"] = function(s, p)
  local info = table_of(p.info)
  if info.id and info.parentID == s.id then s.children[info.id] = true end   -- its own sub-agents
end
on["session.updated"] = function(s, p)
  local info = table_of(p.info)
  if info.id ~= s.id or type(info.title) ~= "string" or info.title == s.title then return end
  s.title = info.title
  s.told.put("title", info.title)
end
on["session.status"] = function(s, p)
  local status = table_of(p.status)
  if p.sessionID ~= s.id then return end
  if status.type == "busy" then s.busy = true end
  if status.type == "retry" then s.told.put("notice", ("asks its model again, attempt %s: %s"):format(str(status.attempt), str(status.message))) end
  if status.type == "idle" and s.busy then s.done = true end
end
on["session.error"] = function(s, p)
  if p.sessionID and p.sessionID ~= s.id then return end
  local e = table_of(p.error)
  if e.name == "MessageAbortedError" then
    s.stopped = true
  else
    s.wrong = str(table_of(e.data).message or e.name or "error")
  end
end
on["todo.updated"] = function(s, p)
  if p.sessionID ~= s.id then return end
  local entries, done = {}, 0
  for i, e in ipairs(table_of(p.todos)) do
    entries[i] = { text = e.content, status = e.status, priority = e.priority }
    if e.status == "completed" then done = done + 1 end
  end
  s.told.put("plan", ("%d of %d done"):format(done, #entries), { entries = entries })
end
on["session.diff"] = function(s, p)
  local diffs, paths = {}, {}
  if p.sessionID ~= s.id then return end
  for i, d in ipairs(table_of(p.diff)) do
    paths[i] = d.file
    diffs[i] = { path = d.file, old = given(d.before), new = given(d.after) or given(d.patch) }
  end
  if #diffs == 0 then return end
  local same = table.concat(paths, " ") .. #str(diffs[#diffs].new or "")
  if s.diff == same then return end
  s.diff = same
  s.told.put("diff", "changed: " .. table.concat(paths, " "), { paths = paths, diffs = diffs })
end

function M.pump(s)
  local m, err = s.wire.recv()
  if not m then return nil, err end
  if on[m.type] then s.wire.take(on[m.type], s, table_of(m.properties)) end
  return true
end

local function ask(s, method, path, body)
  local a, err = s.http.ask(method, path, body)
  if not a then return nil, err end
  if a.status < 300 then return table_of(a.json) end
  local data = table_of(table_of(a.json).data)
  return nil, rt.err { code = "backend", msg = ("%s %s: %d %s"):format(method, path, a.status, str(data.message or a.text:sub(1, 200))), cause = a }
end

local function begin(s, x)
  local v, err = s.server.await()
  if v then v, err = ask(s, "GET", "/global/health") end
  if not v then return nil, err end
  s.version = v.version
  v, err = s.server.listen()
  if not v then return nil, err end
  if x.session then
    v, err = ask(s, "GET", "/session/" .. x.session)
    if v then return v, "resumed" end
    if not err.cause then return nil, err end
    s.told.put("notice", "can't load its session, a new one starts: " .. str(err))
  end
  v, err = ask(s, "POST", "/session", { title = line_of(x.task or "") })
  return v, v and "new" or err
end

function M.open(w, x)
  local s = {
    wire = w, told = x.told, box = x.box, asking = {}, replied = {}, titles = {}, role = {}, over = {}, children = {}, usage = { ["in"] = 0, out = 0 },
  }
  s.server = server.new(w, x, { path = "/event", ready = "listening on", headers = { authorization = basic("opencode", x.password) } })
  s.http = s.server.http
  -- what it asked while nobody listened
  function s.server.reopened()
    task.spawn(function()
      local a = s.http.ask("GET", "/permission")
      for _, p in ipairs(table_of(a and a.json)) do asks(s, table_of(p), permission) end
      a = s.http.ask("GET", "/question")
      for _, p in ipairs(table_of(a and a.json)) do asks(s, table_of(p), question) end
      a = s.http.ask("GET", "/session/status")
      if a and a.status == 200 and not table_of(table_of(a.json)[s.id]).type then s.done = s.busy end
    end)
  end
  local v, how = w.within(x.start_s or SESSION_S, "the agent's server opens no session", begin, s, x)
  if not v then return nil, how end
  s.id = v.id
  s.told.put("session", ("OpenCode %s over its server, %s session"):format(str(s.version), how), {
    protocol = "serve", session = s.id, how = how, name = "opencode", version = given(s.version),
  })
  return s
end

local function say(s, text)
  return ask(s, "POST", "/session/" .. s.id .. "/prompt_async", { parts = { { type = "text", text = text } } })
end

function M.prompt(s, text)
  s.busy, s.done, s.wrong, s.stopped = nil, nil, nil, nil
  local ok, err = say(s, text)
  if not ok then
    if s.wire.late or not err.cause then return nil, err end
    return { stop = "error", error = str(err) }
  end
  while ok and not s.done do ok, err = M.pump(s) end
  if not ok then return nil, err end
  return { stop = s.stopped and "cancelled" or s.wrong and "error" or "end_turn", error = s.wrong, usage = s.usage }
end

-- Words in the middle of a turn: it takes them with its next question to the model.
function M.steer(s, text, heard)
  local ok, err = say(s, text)
  heard(not ok and str(err) or nil)
end

function M.cancel(s)
  for id, t in pairs(s.asking) do
    s.asking[id], s.replied[id] = nil, "reject"   -- it refuses them itself
    t:cancel "the turn is cancelled"
  end
  server.later(s, "POST", "/session/" .. s.id .. "/abort", {})
end

return M
