-- The live parts of Daytona's toolbox, over a WebSocket: the logs of a command, and terminals (PTY
-- sessions). A terminal is a bash of the sandbox. Its input is recorded; policy checks only the
-- start of bash.
local s = require "sandglass.serve"
local sg = require "sandglass"
local p = require "sandglass.plugin"
local sandbox = require "sandglass.plugin_sandbox"

local M = { MARK = { out = "\1\1\1", err = "\2\2\2" },
  NO_INTERPRETER = "sandglass offers no code interpreter of Daytona's: process.code_run runs a program, a session or a terminal keeps its state" }

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
  local t = b.ptys[id] or s.fail(404, ("there is no PTY session '%s'"):format(id), "PTY_SESSION_NOT_FOUND")
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

-- The SDKs show what an interpreter says, and nothing of a refused upgrade.
local function interpreter(q, b)
  socket_only(q)
  return s.socket(b, offered(q)[1], function(write)
    write(s.encode { type = "error", name = "NotOffered", value = M.NO_INTERPRETER, traceback = "" }, true)
    write(s.encode { type = "control", text = "completed" }, true)
  end, function() end)
end

local at = "/toolbox/{box}/process/pty"
M.routes = {
  { "GET", "/toolbox/{box}/process/interpreter/execute", interpreter },
  { "GET", at .. "/create-connect", create_connect },
  { "POST", at, create },
  { "GET", at, list, bare = true },
  { "GET", at .. "/{id}", function(_, b, id) return 200, seen(pty_of(b, id)) end, bare = true },
  { "GET", at .. "/{id}/connect", connect },
  { "POST", at .. "/{id}/resize", resize },
  { "DELETE", at .. "/{id}", delete },
}

return M
