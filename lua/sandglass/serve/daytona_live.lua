-- The live parts of Daytona's toolbox, over a WebSocket: the logs of a command, and terminals (PTY
-- sessions). A terminal is a bash of the sandbox. Its input is recorded; policy checks only the
-- start of bash.
local s = require "sandglass.serve"
local sg = require "sandglass"
local p = require "sandglass.plugin"
local sandbox = require "sandglass.plugin_sandbox"

local repl = require "sandglass.serve.repl"

local M = { MARK = { out = "\1\1\1", err = "\2\2\2" } }

local function socket_only(q)
  if not q.socket then s.fail(426, "this is a WebSocket: ask for the upgrade", "UPGRADE_REQUIRED") end
end

-- The SDKs of JavaScript take no longer messages.
local MESSAGE = 32768

local function in_messages(write, data)
  for at = 1, #data, MESSAGE do if not write(data:sub(at, at + MESSAGE - 1)) then return false end end
end

-- Logs -------------------------------------------------------------------------------------------------------------

function M.logs(q, b, c)
  socket_only(q)
  return s.socket(b, nil, function(write)
    local was
    s.follow(c, function(stream, data)
      local mark = stream ~= was and M.MARK[stream] or ""
      was = stream
      return in_messages(write, mark .. data)
    end)
  end)
end

-- Terminals --------------------------------------------------------------------------------------------------------

local EXITED = "X-Daytona-Pty-Exit-Control"   -- offered by clients that also want the end as a message

local function seen(t)
  return { id = t.id, cwd = t.cwd, envs = next(t.envs) and t.envs or {}, cols = t.cols, rows = t.rows, createdAt = t.born, active = true,
    lazyStart = false }
end

local function pty_of(b, id)
  local t = b.ptys[id] or s.fail(404, ("PTY session '%s' not found"):format(id), "PTY_SESSION_NOT_FOUND")
  if not t.c then s.fail(409, ("the PTY session '%s' is being made"):format(id), "PTY_SESSION_NOT_READY") end
  return t
end

local function size(n, usual)
  local v = math.tointeger(tonumber(n or usual))
  if not v or v < 1 or v > 1000 then s.fail(400, "a terminal has 1 to 1000 columns and rows", "BAD_REQUEST") end
  return v
end

local function open(b, a)
  local t = { id = a.id, cols = size(a.cols, 80), rows = size(a.rows, 24), cwd = a.cwd or b.box.workspace, envs = a.envs or {}, born = s.now() }
  if type(t.id) ~= "string" or t.id == "" then s.fail(400, "id is required", "BAD_REQUEST") end
  if b.ptys[t.id] then s.fail(409, ("there is a PTY session '%s' already"):format(t.id), "PTY_SESSION_EXISTS") end
  local env = { TERM = "xterm-256color" }
  for k, v in pairs(t.envs) do env[k] = v end
  local function forget() if b.ptys[t.id] == t then b.ptys[t.id] = nil end end   -- not one that has the name after it
  b.ptys[t.id] = t
  local ok, c = pcall(s.start, b, { argv = { "bash", "-i" }, cwd = t.cwd, env = env, pty = true, cols = t.cols, rows = t.rows, stdin_open = true },
    function(stream) if not stream then forget() end end)
  if not ok then
    forget()
    error(c, 0)
  end
  t.c = c
  return t
end

local function offered(q)
  local list = {}
  for word in (q.headers["sec-websocket-protocol"] or ""):gmatch "[^,%s]+" do list[#list + 1] = word end
  return list
end

local function attach(q, b, t)
  local list, told = offered(q), false
  for _, word in ipairs(list) do told = told or word == EXITED end
  return s.socket(b, told and EXITED or list[1], function(write)
    write(s.encode { type = "control", status = "connected" }, true)
    s.follow(t.c, function(_, data) return in_messages(write, data) end)
    local over = { exitCode = t.c.code, exitReason = t.c.wrong and tostring(t.c.wrong) or t.c.signal and "it was killed" or nil }
    local reason = s.encode(over)
    if told then
      over.type, over.status = "control", "exited"
      write(s.encode(over), true)
    end
    return 1000, #reason < 120 and reason or s.encode { exitCode = t.c.code }
  end, function(bytes) s.input(t.c, bytes) end)
end

local function create_connect(q, b)
  socket_only(q)
  local envs
  for _, word in ipairs(offered(q)) do
    local text = word:match "^X%-Daytona%-Pty%-Envs~(.*)$"
    if text then
      envs = p.decode(sandbox.base64_decode(text:gsub("-", "+"):gsub("_", "/") .. ("="):rep(-#text % 4)))
      if type(envs) ~= "table" then s.fail(400, "the environment in the subprotocol is not a JSON object", "BAD_REQUEST") end
    end
  end
  return attach(q, b, open(b, { id = q.query.id, cols = q.query.cols, rows = q.query.rows, cwd = q.query.cwd, envs = envs }))
end

local function create(q, b) return 201, { sessionId = open(b, s.json(q)).id } end

local function connect(q, b, id)
  socket_only(q)
  return attach(q, b, pty_of(b, id))
end

local function list(_, b)
  local all, ids = s.list(), {}
  for id in pairs(b.ptys) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do all[i] = seen(b.ptys[id]) end
  return 200, { sessions = all }
end

local function resize(q, b, id)
  local t, a = pty_of(b, id), s.json(q)
  local cols, rows = size(a.cols, t.cols), size(a.rows, t.rows)
  s.resize(t.c, cols, rows)
  t.cols, t.rows = cols, rows
  return 200, seen(t)
end

local function delete(_, b, id)
  s.signal(pty_of(b, id).c, "KILL")
  b.ptys[id] = nil
  return 200, { message = "the PTY session is deleted" }
end

-- Code interpreters: Python, one default context and those that a program makes. The first message asks for one piece of code.
local TIMEOUT = 600            -- seconds, of code that names none

local function execute_code(b, a, write)
  local function tell(message) return write(s.encode(message), true) end
  local c = repl.get(b, a.contextId)
  local seconds = tonumber(a.timeout) or TIMEOUT
  local r, err = repl.run(b, c, a.code, { env = type(a.envs) == "table" and a.envs or nil, timeout = seconds > 0 and seconds or nil },
    function(type, text) tell { type = type, text = text } end)
  if not r and err.code == "timeout" then return 4008, "the code ran longer than its timeout" end
  if not r then tell { type = "error", name = "SandglassError", value = tostring(err), traceback = "" } end
  if r and r.value then tell { type = "stdout", text = r.value .. "\n" } end
  if r and r.error then tell { type = "error", name = r.name, value = r.error, traceback = r.traceback } end
  tell { type = "control", text = r and r.code == 130 and "interrupted" or "completed" }
  return 1000
end

local function interpreter(q, b)
  socket_only(q)
  local asked = sg.channel(1)
  return s.socket(b, offered(q)[1], function(write)
    local a = p.decode(asked:recv() or "")
    if type(a) ~= "table" or type(a.code) ~= "string" then
      write(s.encode { type = "error", name = "BadRequest", value = "the first message is an object with code", traceback = "" }, true)
      return 1008, "no code"
    end
    local ok, code, reason = pcall(s.as, b, execute_code, b, a, write)
    if ok then return code, reason end
    if type(code) == "table" and code.refused then
      write(s.encode { type = "error", name = "NotFound", value = code.text, traceback = "" }, true)
      return 1008, code.text
    end
    error(code, 0)
  end, function(bytes) asked:send(bytes) end)
end

local function context(c) return { id = c.id, active = true, createdAt = c.born, cwd = c.cwd, language = c.language } end

local function contexts(_, b)
  local list = repl.list(b)
  for i, c in ipairs(list) do list[i] = context(c) end
  return 200, { contexts = list }
end

local function create_code_context(q, b)
  local a = s.json(q)
  return 200, context(repl.create(b, a.language, a.cwd))
end

local function delete_context(_, b, id)
  repl.delete(b, id)
  return 200, { message = "the context is deleted" }
end

local at = "/toolbox/{box}/process/pty"
M.routes = {
  { "GET", "/toolbox/{box}/process/interpreter/execute", interpreter },
  { "GET", "/toolbox/{box}/process/interpreter/context", contexts },
  { "POST", "/toolbox/{box}/process/interpreter/context", create_code_context },
  { "DELETE", "/toolbox/{box}/process/interpreter/context/{id}", delete_context },
  { "GET", at .. "/create-connect", create_connect },
  { "POST", at, create },
  { "GET", at, list, bare = true },
  { "GET", at .. "/{id}", function(_, b, id) return 200, seen(pty_of(b, id)) end, bare = true },
  { "GET", at .. "/{id}/connect", connect },
  { "POST", at .. "/{id}/resize", resize },
  { "DELETE", at .. "/{id}", delete },
}

return M
