-- Shared by the APIs of `sandglass serve`. The serving process passes each complete request here.
-- It finds the route, and an effect becomes an operation of a sandbox of this session, so that it
-- is checked against policy, recorded, and shown like any other.
--
-- An API is a table. name; env = { NAME = "{url}/api" or "{token}" } of the served programs;
-- error(status, text, code, q) -> the body of a refusal; instead(path) -> a text for a path without
-- a route (or nil); routes = { { "POST", "/sandbox/{box}/stop", fn }, ... }. fn(q, words...) gets
-- the parts in {...}; {box} becomes the sandbox of that id, or the one that of(q) names. It runs as
-- the sandbox's agent unless the route is bare, or alone (M.alone). It returns status, a table
-- (JSON) or a string, the type of a string, and whether {token} in it is filled in outside; or
-- M.stream(...), M.socket(...), { location = url }. q = { method, path, query, headers, body,
-- target (as requested), socket? }. M.fail(status, text, code) refuses.
local rt = require "sandglass.runtime"
local sg = require "sandglass"
local p = require "sandglass.plugin"

local M = { list = p.list, clean = p.clean, encode = p.encode }
local PIECE, HELD = 256 << 10, 64
local ENDED = "COMMAND_ALREADY_COMPLETED"
local boxes, streams, uploads = {}, {}, {}
local nr_boxes, next_stream = 0, 1
local api, base, opts

-- Refusals ---------------------------------------------------------------------------------------------------------

function M.fail(status, text, code) error({ refused = status, text = text, code = code }, 0) end

local STATUS = { denied = 403, budget = 403, timeout = 408, cancelled = 409, limit = 429, io = 404, script = 400 }

local function refusal(q, e)
  if type(e) == "table" and e.refused then return e.refused, api.error(e.refused, e.text, e.code, q) end
  local err = rt.as_error(e)
  local status = STATUS[err.code] or 502
  return status, api.error(status, tostring(err), err.code, q)
end

-- Requests ---------------------------------------------------------------------------------------------------------

local function unescape(s)
  return (s:gsub("%%(%x%x)", function(h) return string.char(tonumber(h, 16)) end))
end
M.unescape = unescape

local function query_of(text)
  local t = {}
  for k, v in text:gmatch "([^&=]+)=?([^&]*)" do t[unescape((k:gsub("+", " ")))] = unescape((v:gsub("+", " "))) end
  return t
end

-- The body as a table; none is an empty one.
function M.json(q)
  if q.body == "" then return {} end
  local v, why = p.decode(q.body)
  if type(v) ~= "table" then M.fail(400, "the body is not a JSON object" .. (why and ": " .. why or ""), "BAD_REQUEST") end
  return v
end

-- Parts of a multipart body: { name, file, body } each.
function M.parts(q)
  local mark = (q.headers["content-type"] or ""):match 'boundary="?([^";]+)'
  if not mark then M.fail(400, "the body is not multipart/form-data with a boundary", "BAD_REQUEST") end
  local out, at = {}, 1
  local line = "--" .. mark
  local from = select(2, q.body:find(line, 1, true))
  while from do
    at = q.body:find("\r\n" .. line, from, true)
    local head_end = at and q.body:find("\r\n\r\n", from, true)
    if not at or not head_end or head_end > at then break end
    local head = q.body:sub(from + 1, head_end)
    out[#out + 1] = { name = head:match '[ ;]name="([^"]*)"', file = head:match 'filename="([^"]*)"', body = q.body:sub(head_end + 4, at - 1) }
    from = at + 1 + #line
    if q.body:sub(from + 1, from + 2) == "--" then break end
  end
  return out
end

-- Streams ----------------------------------------------------------------------------------------------------------

-- An answer that comes bit by bit: fn(write) runs in a task of its own; write(bytes) waits while the client is slow, and is
-- false when it has gone; then its task is cancelled.
function M.stream(status, type, fn)
  local s = { id = next_stream, pieces = sg.channel(HELD) }
  next_stream = next_stream + 1
  streams[s.id] = s
  s.task = sg.spawn(function()
    local ok, e = pcall(fn, function(bytes)
      for at = 1, #bytes, PIECE do
        if s.gone then return false end
        s.pieces:send(bytes:sub(at, at + PIECE - 1))
      end
      return not s.gone
    end)
    if not ok then s.wrong = rt.as_error(e) end
    s.pieces:close()
  end)
  return status, { stream = s.id }, type
end

-- A WebSocket, for a route whose q.socket is set: fn(write) runs in a task of its own, write(bytes, text) is a message (text: of
-- characters), false when the client has gone; what fn returns, or nothing, is the code and the reason of the end. heard(bytes, text) gets what the client says.
-- protocol: one of those that were offered.
function M.socket(b, protocol, fn, heard)
  local s = { id = next_stream, pieces = sg.channel(HELD), box = b, heard = heard }
  next_stream = next_stream + 1
  streams[s.id] = s
  s.task = sg.spawn(function()
    local ok, code, reason = pcall(fn, function(bytes, text)
      if not s.gone then s.pieces:send { body = bytes, text = text } end
      return not s.gone
    end)
    if ok then s.code, s.reason = code, reason else s.wrong = rt.as_error(code) end
    s.pieces:close()
  end)
  return 101, { stream = s.id, protocol = protocol }
end

local function more(args)
  local s = streams[args.stream]
  if not s then return { over = true, broken = true } end
  local piece = s.pieces:recv()
  if type(piece) == "table" then return piece end
  if piece then return { body = piece } end
  streams[s.id] = nil
  return { over = true, broken = s.wrong ~= nil or nil, code = s.code, reason = s.reason or s.wrong and tostring(s.wrong) }
end

-- An unread output ends the WebSocket with the reason, unless its own end is already on the way.
local function said(args)
  local s = streams[args.stream]
  if not s or not s.heard then return {} end
  local ok, e = pcall(M.as, s.box, s.heard, args.body, args.text)
  if ok or type(e) == "table" and e.code == ENDED then return {} end
  return { wrong = type(e) == "table" and e.text or tostring(rt.as_error(e)) }
end

local function leave(args)
  uploads[args.upload or 0] = nil
  local s = streams[args.stream]
  if not s then return {} end
  s.gone = true
  streams[s.id] = nil
  s.pieces:close()
  s.task:cancel "the client has gone"
  return {}
end

-- Boxes ------------------------------------------------------------------------------------------------------------

local function hex(n)
  local s = {}
  for i = 1, n do s[i] = ("%02x"):format(math.random(0, 255)) end
  return table.concat(s)
end
M.hex = hex
function M.uuid() return (hex(16):gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)", "%1-%2-%3-%4-")) end

function M.boxes()
  local list = {}
  for _, b in pairs(boxes) do if not b.closing then list[#list + 1] = b end end
  table.sort(list, function(x, y) return x.nr < y.nr end)
  return list
end

function M.box(id)
  if boxes[id] and not boxes[id].closing then return boxes[id] end
  for _, b in ipairs(M.boxes()) do if b.name == id then return b end end
end

local function no_box(id) M.fail(404, ("sandbox '%s' not found"):format(id), "SANDBOX_NOT_FOUND") end

function M.date(us) return os.date("!%Y-%m-%dT%H:%M:%SZ", us // 1000000 | 0) end
function M.now() return M.date(rt.now()) end
function M.now_us() return rt.now() end
function M.base() return base end

-- An error in one of an agent's tasks ends no other task.
local function quietly(fn)
  local ok, e = pcall(fn)
  e = not ok and rt.as_error(type(e) == "table" and e.refused and e.text or e)
  if e and e.code ~= "cancelled" then sg.warn("%s: %s", api.name, tostring(e)) end
  return ok
end

-- A client of a sandbox is an agent of this session. Its requests are children of its own task, so that it can be stopped
-- without the others.
local function begin(name, task)
  local me = rt.current()
  local was = me.agent
  me.agent = M.program or 0
  local v, err = rt.call("agent.start", { name = name, task = task, model = "outside", tools = p.list {} })
  me.agent = was
  if not v then error(err, 0) end
  local who = { agent = v.agent, wants = sg.channel(1000), running = {} }
  who.task = sg.spawn(function()
    rt.current().agent = v.agent
    rt.agents[v.agent] = { task = rt.current(), inbox = {} }
    for fn in function() return who.wants:recv() end do sg.spawn(quietly, fn) end
  end)
  return who
end

-- Runs fn in a task of the agent's and waits for it; raises what it raises.
local function as(who, fn)
  if who.task:done() then M.fail(409, "the user has stopped this agent; nothing more runs for it in this session", "STOPPED") end
  local done = sg.channel(1)
  local task
  who.wants:send(function()
    task = rt.current()
    local r = table.pack(pcall(fn))
    done:send(r)
  end)
  local ok, r = pcall(done.recv, done)
  if not ok then
    if task then rt.cancel(task, rt.err { code = "cancelled", msg = "cancelled by the client" }) end
    error(r, 0)
  end
  if not r[1] then error(r[2], 0) end
  return table.unpack(r, 2, r.n)
end

-- fn(...) in a task of the box's agent.
function M.as(b, fn, ...)
  local given = table.pack(...)
  if api.touched then api.touched(b) end
  return as(b.who, function() return fn(table.unpack(given, 1, given.n)) end)
end

-- Its tasks end, then itself.
local function dismiss(who, ok)
  who.wants:close()
  if not who.task:done() then who.task:await() end
  local me = rt.current()
  local was = me.agent
  me.agent = who.agent
  rt.call("agent.end", { agent = who.agent, stop = ok and "end" or "error", ok = ok, steps = 0 })
  me.agent = was
end

-- Opens a box for a program: o is what sg.sandbox takes. what: fields of the API's own.
function M.open(o, what)
  nr_boxes = nr_boxes + 1
  local b = what
  b.nr, b.id, b.busy, b.born = nr_boxes, b.id or M.uuid(), 0, M.now()
  o.name = (o.name or api.name):gsub("[^%w_.-]", "-"):sub(1, 40)
  b.name = b.name or o.name
  o.repo, o.keep = opts.repo, opts.repo and true or nil
  b.who = begin(b.name, "works through " .. api.name .. "'s API")
  local ok, box = pcall(as, b.who, function() return sg.sandbox(o) end)
  if not ok then
    rt.shield(dismiss, b.who, false)
    error(box, 0)
  end
  b.box = box
  boxes[b.id] = b
  return b
end

-- Runs to its end, also if the client disconnects or you stop the agent in it. One that could not be closed is there
-- as before.
function M.close(b)
  if b.closing or boxes[b.id] ~= b then return end
  b.closing = true
  rt.shield(function()
    local ok, e = b.box:close()
    if not ok and e.code ~= "backend" then   -- that it is gone already
      b.closing = nil
      error(e, 0)
    end
    boxes[b.id] = nil
    dismiss(b.who, true)
  end)
end

-- Runs fn(...) while nothing else puts this box to sleep or wakes it: what fn looks at is true when it acts. Its end waits for none.
function M.alone(b, fn, ...)
  local given = table.pack(...)
  b.turn = b.turn or sg.channel(1)
  rt.shield(b.turn.send, b.turn, true)   -- who goes away in the queue leaves it when his turn has come
  local r = table.pack(pcall(function()
    if M.box(b.id) ~= b then no_box(b.id) end
    return fn(table.unpack(given, 1, given.n))
  end))
  rt.shield(b.turn.recv, b.turn)
  if not r[1] then error(r[2], 0) end
  return table.unpack(r, 2, r.n)
end

-- Freezes or thaws it; raises what prevents that.
function M.sleep(b, asleep)
  local ok, err
  if asleep then ok, err = b.box:freeze() else ok, err = b.box:thaw() end
  if not ok then error(err, 0) end
end

-- Refuses what is to sleep at its time and cannot, while its program still listens: it would run on.
function M.can_sleep(b, wanted, name)
  if not wanted or b.box.caps.freeze then return end
  M.close(b)
  M.fail(400, ("sandboxes of '%s' can't be paused; leave out %s"):format(b.box.backend, name), "BAD_REQUEST")
end

for name, fn in pairs(require "sandglass.serve.command") do M[name] = fn end

-- Files ------------------------------------------------------------------------------------------------------------

-- Busybox's find has no -printf: there each file is asked, and its mode tells the kind.
local LIST = [[if find / -maxdepth 0 -printf '' 2>/dev/null; then
	exec find "$1" -mindepth "$2" -maxdepth "$3" -printf '%y\t%s\t%m\t%u\t%g\t%T@\t%l\t%p\0'
fi
exec find "$1" -mindepth "$2" -maxdepth "$3" -exec sh -c 'for f; do
	said=$(stat -c "%s@%f@%U@%G@%Y" -- "$f") && printf "?\t%s\t%s\t%s\0" "$(echo "$said" | tr @ "\t")" "$(readlink -- "$f")" "$f"
done' sh {} +]]
local KIND = { [4] = "d", [8] = "f", [10] = "l" }

local function entry(line)
  local y, size, mode, user, group, time, link, path = line:match "^(.)\t(%d+)\t(%x+)\t([^\t]*)\t([^\t]*)\t(%d+)[^\t]*\t([^\t]*)\t(.*)$"
  if not y then return nil end
  if y == "?" then
    local bits = tonumber(mode, 16)
    y, mode = KIND[bits >> 12] or "u", ("%o"):format(bits & 4095)
  end
  return { kind = y, size = math.tointeger(size), mode = mode, user = user, group = group, time = math.tointeger(time), link = link,
    path = path, name = path:match "([^/]+)/*$" or "/" }
end

-- The status for what a program of the box has said about a file.
function M.why(text) return text:find "[Dd]enied" and 403 or text:find "File exists" and 409 or 404 end

-- The files at a path (depth 0) or below it: { kind = "f" "d" "l" ..., name, path, size, mode,
-- user, group, time }.
function M.entries(b, path, depth)
  local code, out, err = M.ask(b, LIST, path, tostring(depth > 0 and 1 or 0), tostring(depth))
  if code ~= 0 and out == "" then
    M.fail(M.why(err), p.clean(err ~= "" and err:gsub("%s+$", "") or path .. ": no such file"), "FILE_NOT_FOUND")
  end
  local list = {}
  for line in out:gmatch "([^\0]+)\0" do list[#list + 1] = entry(line) end
  table.sort(list, function(x, y) return x.path < y.path end)
  return list
end

function M.read(b, path)
  local data, err = b.box:read(path)
  if data then return data end
  if err.code ~= "io" and err.code ~= "backend" then error(err, 0) end
  M.fail(M.why(tostring(err)), tostring(err), "FILE_NOT_FOUND")
end

function M.write(b, path, data)
  local ok, err = b.box:write(path, data)
  if ok then return end
  if err.code ~= "io" then error(err, 0) end
  M.fail(tostring(err):find "[Dd]enied" and 403 or 400, tostring(err), "FILE_NOT_WRITTEN")
end

-- Times ------------------------------------------------------------------------------------------------------------

local alarms = sg.channel(1)

local AGAIN, AGAIN_MAX = 1000000, 60000000

-- Calls fn once when it is `at` (microseconds; nil: never), in a task of the service's; replaces what was asked for before. What
-- fails is tried again, less and less often: a box that could not be paused must not run on for good.
function M.alarm(b, at, fn)
  b.due, b.on_due, b.again = at, fn, AGAIN
  if #alarms.state.items == 0 then alarms:send(true) end
end

local function at_its_time(b, fn)
  if quietly(fn) or b.due or boxes[b.id] ~= b then return end
  local wait = b.again
  M.alarm(b, rt.now() + wait, fn)
  b.again = math.min(wait * 2, AGAIN_MAX)
end

local function ring()
  while true do
    local next_us
    for _, b in ipairs(M.boxes()) do
      if b.due and b.due <= rt.now() then
        local fn = b.on_due
        b.due, b.on_due = nil, nil
        sg.spawn(at_its_time, b, fn)
      elseif b.due then
        next_us = math.min(next_us or b.due, b.due)
      end
    end
    alarms:recv(next_us and math.max(0.001, (next_us - rt.now()) / 1e6))
  end
end

-- The service ------------------------------------------------------------------------------------------------------

local function compile(routes)
  for _, r in ipairs(routes) do
    local names = {}
    r.pattern = "^" .. r[2]:gsub("[%-%.%+]", "%%%0"):gsub("{(%w+)}", function(n)
      names[#names + 1] = n
      return "([^/]+)"
    end) .. "$"
    r.names = names
  end
end

local function find(q)
  local other
  for _, r in ipairs(api.routes) do
    local words = table.pack(q.path:match(r.pattern))
    if words[1] and r[1] == q.method then return r, words end
    other = other or words[1] and r[1]
  end
  if other then M.fail(405, ("method %s is not supported for %s (expected %s)"):format(q.method, q.path, other), "METHOD_NOT_ALLOWED") end
  sg.warn("%s: %s %s is not served; the program got an error", api.name, q.method, q.path)
  local instead = api.instead and api.instead(q.path)
  if instead then M.fail(501, instead, "NOT_OFFERED") end
  M.fail(404, ("sandglass serves no %s %s"):format(q.method, q.path), "NOT_SERVED")
end

local function act(q)
  local r, words = find(q)
  local b
  for i, name in ipairs(r.names) do
    words[i] = unescape(words[i])
    if name == "box" then
      b = M.box(words[i]) or no_box(words[i])
      words[i] = b
    end
  end
  if b and api.touched then api.touched(b, q) end
  if r.alone then return M.alone(b, r[3], q, b, table.unpack(words, 2, #r.names)) end
  if r.bare or not b and not api.of then return r[3](q, table.unpack(words, 1, #r.names)) end
  b = b or api.of(q)
  if api.ready then api.ready(b) end
  return as(b.who, function()
    rt.current().tool = api.name .. ":" .. q.method .. " " .. r[2]:gsub("^/%w+/{box}", ""):gsub("^/api", "")
    return r[3](q, b, table.unpack(words, r.names[1] == "box" and 2 or 1, #r.names))
  end)
end

local function http(args)
  local q = { method = args.method, path = args.path, query = query_of(args.query or ""), headers = args.headers or {},
    socket = args.socket, target = args.target, body = (args.upload and table.concat(uploads[args.upload] or {}) or "") .. (args.body or "") }
  if args.upload then uploads[args.upload] = nil end
  local ok, status, value, type_, fill = pcall(act, q)
  if not ok then status, value, type_ = refusal(q, status) end
  if type(value) == "table" and value.stream then
    return { status = status, type = type_, stream = value.stream, protocol = value.protocol }
  end
  if type(value) == "table" and value.location then return { status = status, location = value.location } end
  if type(value) == "table" then value, type_ = p.encode(value), type_ or "application/json" end
  if value and #value > PIECE then
    local whole = value
    local s, v = M.stream(status, type_, function(write) write(whole) end)
    return { status = s, type = type_, stream = v.stream }
  end
  return { status = status, type = value and (type_ or "text/plain; charset=utf-8") or nil, body = value, fill = fill }
end

local tools = { http = http, more = more, said = said, leave = leave }

function tools.part(args)
  local list = uploads[args.upload] or {}
  uploads[args.upload] = list
  list[#list + 1] = args.body
  return {}
end

-- The served program: agents in its sandboxes work for it, and so do models that it calls through us.
local function program(args)
  local v, err = rt.call("agent.start", { name = "program", task = "uses " .. api.name .. "'s API", model = "outside", tools = p.list {} })
  if not v then error(err, 0) end
  M.program = v.agent
  if not args.models then return end
  rt.current().agent = v.agent
  local px, why = rt.call("proxy.open", { name = "models", here = true, key_hash = args.models, tool_gate = false,
    routes = { anthropic = { provider = "anthropic" }, openai = { provider = "openai" } } })
  if not px then error(why, 0) end
  return px
end

function tools.hello(args)
  base = args.url
  local env, px = {}, program(args)
  for k, v in pairs(api.env) do env[k] = v end
  if px then
    env.ANTHROPIC_BASE_URL, env.ANTHROPIC_API_KEY = px.urls.anthropic, "sk-sg-{token}"
    env.OPENAI_BASE_URL, env.OPENAI_API_KEY = px.urls.openai .. "/v1", "sk-sg-{token}"
  end
  return { name = api.name, env = env }
end

local function serve(r)
  local ok, answer = pcall(tools[r.tool] or function() return { status = 500 } end, r.args)
  if not ok then answer = { status = 499, over = true, broken = true, wrong = tostring(answer) } end
  answer.request = r.request
  return answer
end

function M.run_api(which, o)
  api, opts = which, o
  compile(api.routes)
  local running = {}
  local clock = sg.spawn(ring)
  while true do
    local r, err = rt.call("mcp.next", {})
    if not r then error(err, 0) end
    if r.eof then break end
    if r.cancel then
      if running[r.cancel] then running[r.cancel]:cancel "the client has gone" end
    elseif r.request then
      running[r.request] = sg.spawn(function()
        local answer = serve(r)
        running[r.request] = nil
        rt.shield(function() rt.call("mcp.answer", answer) end)
      end)
    end
  end
  clock:close()   -- and wait for it: its open call is answered before the end
  for _, b in ipairs(M.boxes()) do quietly(function() M.close(b) end) end
  rt.call("agent.end", { agent = M.program, stop = "end", ok = true, steps = 0 })
end

return M
