-- Plugins of kind "sandbox": hosted sandboxes behind an HTTP API. Fields of such a file:
--
--   kind = "sandbox", name, about, url, hosts
--   env = { key = "DAYTONA_API_KEY", url = "DAYTONA_API_URL" }
--       names of variables: credentials, and addresses (names that end in url). host.urls has the
--       values of the addresses.
--   auth = { "Authorization: Bearer {key}" }
--       headers of every request; {NAME of env} is filled in outside
--   keyless = "loopback"
--       At http://127.0.0.1, the key may be missing: requests then have no auth, and host.keyless
--       is true.
--   login = "kubeconfig"
--       (shipped plugins only) Used when the options name a context, or when no key is set. The
--       request is authorized as kubectl does it, without auth. host.login is { url, server,
--       namespace, context }.
--   hint                             shown with the error about a missing key
--   hide = { "envdAccessToken" }     fields of answers that are credentials. The plugin sees
--       "{hidden:N}", may use it in a header, and it is filled in outside.
--   open(o, host) -> box
--       box: a plain table with what finds the sandbox again (at least id). Call host.keep(box) as
--       soon as there is an id. o = { name, tag, tags, image, build = { text (of a Dockerfile),
--       args }, snapshot, region, size, env, secrets, hosts, limits, ttl, options }
--   exec(box, text, host)
--       Runs text in the sandbox's sh; its output goes to host.out as it arrives. Exit status and
--       stderr don't matter: the text reports them. If the connection breaks, call
--       host.fail("cut", ...).
--   poll = 20
--       If exec reports all output at its end: exec is called in slices of that many seconds, or
--       until there is output.
--   close(box, host)                 a missing sandbox is not an error
--
-- Optional:
--   alive(box, ttl, host)            extends the sandbox's lifetime
--   sleep(box, how, host), wake(box, host)
--       how = "pause" or "close"; "memory" if processes continue after waking
--   list(tags, host) -> boxes        with these tags, for orphans and lost answers
--   address(box, port, host) -> { url, headers }
--   read(box, path, host) -> bytes, write(box, path, bytes, host)     for large files
--   price(box, o)                    millionths of a dollar per hour
--
-- host.http { method, path or url, json or body, headers, accept = { [404] = true }, once = true }
--   -> { status, body, json, headers }
--   A status outside 2xx and accept is an error. A request that may change something (anything but
--   GET) is never repeated: without an answer it fails with "lost". h2 = true: HTTP/2, also without
--   TLS; then the answer may have trailers. hide = { "5.1" }: credentials in an answer of gRPC, by
--   the numbers of their fields. sandglass.grpc has the calls.
-- host.socket { path or url, protocols = "a, b", headers, idle } -> a WebSocket
--   s.protocol; s:send(bytes, text?); s:next() -> the next message, or nil when it was closed;
--   s:close(). Fails as host.http does, also when the connection breaks.
-- host.stream(request, fn)           calls fn with each piece of the answer
-- host.sleep(seconds)
-- host.all { fn, ... }               runs the functions side by side
-- host.out(text)                     output of the command
-- host.say(text)                     a line for users
-- host.fail(code, format, ...)
--   Codes: "gone" the sandbox is gone, "unreached" nothing was sent, "cut" the connection broke,
--   "lost" unknown whether it was done, "quota", "denied" (the key), "bad" everything else.
local rt = require "sandglass.runtime"
local p = require "sandglass.plugin"

local M = {}
local ops = {}

function M.fail(code, fmt, ...)
  local msg = select("#", ...) > 0 and fmt:format(...) or fmt
  error({ code = code, msg = p.clean(msg):gsub("%s+", " ") }, 0)
end

-- An error of Lua's own is mostly about an answer of another shape than the plugin expects.
local function as_wrong(face, e)
  if type(e) == "table" and e.msg then return { code = e.code or "bad", msg = tostring(e.msg) } end
  return { code = "bad", msg = p.unexpected(face, e) }
end

-- The data that finds a sandbox again goes into addresses, and into the recording.
local function check_box(face, box)
  local id = type(box) == "table" and box.id
  if (type(id) ~= "string" or id == "") and math.type(id) ~= "integer" then
    M.fail("bad", "%s: the answer is not from the API: it names no sandbox", face.name)
  end
end

-- Coroutines of one op ---------------------------------------------------------------------------------------------

local function run(op, co, ...)
  local before = op.now
  op.now = co
  local ok, e = coroutine.resume(co, ...)
  op.now = before
  if coroutine.status(co) ~= "dead" then return end
  local after = op.after[co]
  op.after[co] = nil
  if after then after(ok, e) end
end

local function order(op, todo)
  op.last = op.last + 1
  todo.id = op.last
  op.todo[#op.todo + 1] = todo
  op.waiting[todo.id] = op.now
  return todo.id
end

local function wait(op, id)
  local ev = coroutine.yield()
  if ev.over then op.waiting[id] = nil end
  return ev
end

-- A session keeps the key that it started with; a new key is for the next session.
function M.refuse_key(name, key, msg)
  M.fail("denied", "%s refuses the key in %s: %s; set one that is valid, or 'sandglass secret set %s', and start again", name, key, msg, key)
end

-- An error answer as one line, with what to do.
local function refuse(op, req, ev)
  local face = op.face
  local msg, v = p.error_text(ev.body or "")
  local s = ev.status
  local where = ("%s (%s %s)"):format(face.name, req.method, req.path or req.url)
  if (ev.body or ""):find "^%s*<" and s ~= 502 and s ~= 503 and s ~= 504 then
    M.fail("bad", "%s: the answer is not from the API (status %d): %s", where, s, msg)
  elseif s == 401 or s == 403 then
    if req.bare then M.fail("denied", "%s: the sandbox refuses its own credential: %s", where, msg) end
    if op.login then M.fail("denied", "%s refuses the user of the context '%s' of the kubeconfig: %s", face.name, op.login.context, msg) end
    M.refuse_key(face.name, (face.env or {}).key or "?", msg)
  elseif s == 404 or s == 410 then
    M.fail("gone", "%s: %s", where, msg)
  elseif s == 429 then
    local after = ev.headers and ev.headers["retry-after"]
    M.fail("quota", "%s refuses more (429): %s%s", face.name, msg, after and (" (again after " .. after .. " s)") or "")
  elseif s >= 500 or s == 408 then
    M.fail("cut", "%s is in trouble (status %d): %s", where, s, msg)
  end
  M.fail("bad", "%s: status %d: %s", where, s, msg)
end

local function broken(op, req, ev)
  local where = ("%s (%s %s)"):format(op.face.name, req.method, req.path or req.url)
  local code = ev.unreached and (op.reached and "cut" or "unreached") or req.method ~= "GET" and "lost" or "cut"
  M.fail(ev.code or code, "%s: %s%s", where, ev.wrong, ev.unreached and "; is that address right, and reachable from here?" or "")
end

-- A web page in place of the API's answer: the request had no effect.
local function check_page(face, req, ev)
  local kind = (ev.headers or {})["content-type"] or ""
  if req.method == "GET" or not kind:lower():find "^text/html" then return end
  M.fail("bad", "%s (%s): the answer is not from the API: %s", face.name, req.path or req.url, (p.error_text(ev.body or "")))
end

local function wanted(face, r, stream)
  local body, headers = r.body, {}
  for k, v in pairs(r.headers or {}) do headers[k] = v end
  if r.json then
    body = p.encode(r.json)
    headers["Content-Type"] = headers["Content-Type"] or "application/json"
  end
  local method = r.method or (body and "POST" or "GET")
  return { ["do"] = "http", method = method, path = r.path, url = r.url, headers = headers, body = body, stream = stream,
    h2 = r.h2, hide = r.hide, bare = r.bare, idle = r.idle, first = r.first, again = r.again or method == "GET" or nil, name = face.name }
end

local function host_of(op)
  local face = op.face
  local h = { fail = M.fail, clean = p.clean, encode = p.encode, decode = p.decode, list = p.list, options = op.options,
    urls = op.urls, keyless = op.keyless, login = op.login }

  function h.http(r)
    local todo = wanted(face, r)
    local ev = wait(op, order(op, todo))
    op.reached = op.reached or not ev.unreached
    if ev.wrong then broken(op, todo, ev) end
    if (ev.status < 200 or ev.status > 299) and not (r.accept and r.accept[ev.status]) then refuse(op, todo, ev) end
    check_page(op.face, todo, ev)
    if ev.body and ev.body:find "^%s*[{%[]" then ev.json = p.decode(ev.body) end
    if r.want == "json" and type(ev.json) ~= "table" then
      M.fail("bad", "%s (%s): the answer is not from the API: %s", face.name, r.path or r.url, p.error_text(ev.body or ""))
    end
    return ev
  end

  -- Returns the head's status and trailers; fails when it breaks off.
  function h.stream(r, fn)
    local todo = wanted(face, r, true)
    local id = order(op, todo)
    local head
    while true do
      local ev = wait(op, id)
      if ev.status and not head then head = ev end
      op.reached = op.reached or not ev.unreached
      local good = head and (head.status >= 200 and head.status < 300)
      if ev.chunk and good then fn(ev.chunk) end
      if ev.over then
        if head and not good and not (r.accept and r.accept[head.status]) then
          refuse(op, todo, { status = head.status, body = ev.body, headers = head.headers })
        end
        if ev.wrong then broken(op, todo, ev) end
        return { status = head and head.status, headers = head and head.headers or {}, trailers = ev.trailers or {},
          body = ev.body }
      end
    end
  end

  -- Events of a socket come when they come: what nobody waits for is kept.
  function h.socket(r)
    local todo = wanted(face, { method = "GET", path = r.path, url = r.url, headers = r.headers, bare = r.bare, idle = r.idle })
    todo["do"], todo.protocols, todo.again = "socket", r.protocols, nil
    local s = { got = {}, first = 1, last = 0 }
    local id = order(op, todo)
    op.waiting[id] = nil
    op.sockets[id] = s

    local function event()
      if not s.got[s.first] then
        s.waits = op.now
        coroutine.yield()
        s.waits = nil
      end
      local ev = s.got[s.first]
      s.got[s.first] = nil
      s.first = s.first + 1
      return ev
    end

    function s:send(bytes, text) op.todo[#op.todo + 1] = { ["do"] = "send", to = id, data = bytes, text = text } end

    function s:close()
      if op.sockets[id] and not s.over then op.todo[#op.todo + 1] = { ["do"] = "send", to = id, close = true } end
      op.sockets[id] = nil
    end

    function s:next()
      if s.over then return nil end
      local ev = event()
      if ev.message then return ev.message end
      s.over, s.code = true, ev.closed
      op.sockets[id] = nil
      if ev.wrong then broken(op, todo, ev) end
      return nil
    end

    local ev = event()
    op.reached = op.reached or not ev.unreached
    if not ev.over then
      s.protocol = ev.open
      return s
    end
    s.over = true
    op.sockets[id] = nil
    if ev.wrong then broken(op, todo, ev) end
    if r.accept and r.accept[ev.status] then return nil, ev end
    refuse(op, todo, ev)
  end

  function h.sleep(s) wait(op, order(op, { ["do"] = "sleep", ms = math.floor(s * 1000) })) end

  -- Runs all; when one fails the rest is forgotten and its error is the error of all.
  function h.all(list)
    local me, left, wrong, waiting = op.now, #list, nil, false
    for _, fn in ipairs(list) do
      local co = coroutine.create(fn)
      op.after[co] = function(ok, e)
        left = left - 1
        if not ok and not wrong then wrong = { e } end
        if waiting and (left == 0 or wrong) then
          waiting = false
          run(op, me)
        end
      end
      run(op, co)
    end
    if left > 0 and not wrong then
      waiting = true
      coroutine.yield()
    end
    if wrong then error(wrong[1], 0) end
  end

  function h.out(text) if text ~= "" then op.todo[#op.todo + 1] = { ["do"] = "out", data = text } end end
  function h.keep(box)
    check_box(face, box)
    op.todo[#op.todo + 1] = { ["do"] = "keep", box = box }
  end
  function h.say(fmt, ...) op.todo[#op.todo + 1] = { ["do"] = "say", text = select("#", ...) > 0 and fmt:format(...) or fmt } end
  function h.uuid()
    return (("xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx"):gsub("x", function() return ("%x"):format(math.random(0, 15)) end))
  end
  return h
end

-- Text in lines, as a function that takes pieces.
function M.lines(fn)
  local rest = ""
  return function(piece)
    rest = rest .. piece
    local from = 1
    while true do
      local at = rest:find("\n", from, true)
      if not at then break end
      fn((rest:sub(from, at - 1):gsub("\r$", "")))
      from = at + 1
    end
    rest = rest:sub(from)
  end
end

-- Server-sent events: fn(type, data).
function M.events(fn)
  local kind, data = "message", {}
  return M.lines(function(line)
    if line == "" then
      if #data > 0 then fn(kind, table.concat(data, "\n")) end
      kind, data = "message", {}
    elseif line:sub(1, 5) == "data:" then
      data[#data + 1] = (line:sub(6):gsub("^ ", ""))
    elseif line:sub(1, 6) == "event:" then
      kind = (line:sub(7):gsub("^ ", ""))
    end
  end)
end

-- Messages with a head of five bytes (Connect, gRPC): fn(flags, body).
function M.envelopes(fn)
  local rest = ""
  return function(piece)
    rest = rest .. piece
    while #rest >= 5 do
      local flags, n = (">BI4"):unpack(rest)
      if #rest < 5 + n then break end
      local body = rest:sub(6, 5 + n)
      rest = rest:sub(6 + n)
      fn(flags, body)
    end
  end
end

function M.escape(s)
  return (s:gsub("[^%w%-_.~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

function M.envelope(flags, body) return (">BI4"):pack(flags, #body) .. body end

function M.base64_encode(s) return rt.core.to64(s) end
function M.base64_decode(s) return rt.core.from64(s) end   -- skips other characters

-- Questions --------------------------------------------------------------------------------------------------------

local function answer(op)
  local todo = op.todo
  op.todo = p.list {}
  return { todo = todo, over = op.over, value = op.value, wrong = op.wrong }
end

local function begin(plugin, call, args)
  local fn = plugin[args.fn]
  if type(fn) ~= "function" then return { todo = p.list {}, over = true, wrong = { code = "bad",
    msg = ("%s can't do this (%s)"):format(plugin.name or "the plugin", args.fn) } } end
  local op = { face = plugin, todo = p.list {}, waiting = {}, sockets = {}, after = {}, last = 0, options = args.options or {},
    urls = args.urls or {}, keyless = args.keyless, login = args.login }
  ops[call] = op
  local host = host_of(op)
  local list = args.args or {}
  list[#list + 1] = host
  local co = coroutine.create(function()
    local v = fn(table.unpack(list))
    if args.fn == "open" then check_box(plugin, v) end
    return v
  end)
  op.after[co] = function(ok, v)
    op.over = true
    ops[call] = nil
    if ok then op.value = v else op.wrong = as_wrong(plugin, v) end
  end
  run(op, co)
  return answer(op)
end

local function resume(call, events)
  local op = ops[call]
  if not op then return { todo = p.list {} } end
  for _, ev in ipairs(events) do
    local co = op.waiting[ev.id]
    local socket = op.sockets[ev.id]
    if socket then
      socket.got[socket.last + 1], socket.last = ev, socket.last + 1
      co = socket.waits
    end
    if co and not op.over then run(op, co, ev) end
  end
  return answer(op)
end

function M.serve(plugin, ask)
  if ask.fn == "begin" then return begin(plugin, ask.call, ask.args) end
  if ask.fn == "resume" then return resume(ask.call, ask.args.events) end
  if ask.fn == "drop" then
    ops[ask.call] = nil
    return {}
  end
  error("no function '" .. tostring(ask.fn) .. "'", 0)
end

M.functions = { "open", "exec", "close", "alive", "sleep", "wake", "list", "address", "read", "write", "price" }

return M
