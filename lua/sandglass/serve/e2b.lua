-- E2B's control plane and what its machines serve (envd: Connect-RPC as JSON, and /files), told apart by path; which box is meant
-- stands in the header of the request.
local sg = require "sandglass"
local s = require "sandglass.serve"
local sandbox = require "sandglass.plugin_sandbox"

local A = { name = "e2b", env = { E2B_API_URL = "{url}", E2B_SANDBOX_URL = "{url}", E2B_API_KEY = "e2b_{token}" } }

local CODE = { [400] = "invalid_argument", [403] = "permission_denied", [404] = "not_found", [405] = "unimplemented", [408] = "deadline_exceeded",
  [409] = "already_exists", [410] = "not_found", [429] = "resource_exhausted", [501] = "unimplemented", [502] = "unavailable" }

function A.error(status, text, _, q)
  return { code = q.path:find "^/%a+%.%a+/" and (CODE[status] or "internal") or status, message = text }
end

function A.of(q)
  local id = q.headers["e2b-sandbox-id"]
  return id and s.box(id) or s.fail(502, "The sandbox was not found", "SANDBOX_NOT_FOUND")
end

-- Control plane ----------------------------------------------------------------------------------------------------

local function face(b)
  return { sandboxID = b.id, templateID = b.asked.templateID or "base", clientID = "sandglass", envdVersion = "0.6.2",
    envdAccessToken = "{token}", alias = b.asked.templateID or "base" }
end

local function listed(b)
  local t = face(b)
  t.envdAccessToken = nil
  t.startedAt, t.endAt, t.cpuCount, t.memoryMB, t.diskSizeMB = b.born, "2100-01-01T00:00:00Z", 1, 1024, 3072
  t.metadata, t.state = b.asked.metadata or {}, b.paused and "paused" or "running"
  return t
end

local function create(q)
  local a = s.json(q)
  local net
  for _, name in ipairs(type(a.network) == "table" and a.network.allowOut or {}) do
    if type(name) == "string" and not name:find "/" then
      net = net or {}
      net[#net + 1], net[#net + 2] = name .. ":443", name .. ":80"
    end
  end
  local b = s.open({ name = (a.metadata or {}).name, env = next(a.envVars or {}) and a.envVars or nil, net = net },
    { asked = a, id = "i" .. s.hex(10), procs = {}, next_pid = 1000 })
  return 201, face(b), nil, true
end

local function detail(_, b)
  local t = listed(b)
  t.envdAccessToken = "{token}"
  return 200, t, nil, true
end

local function list(q)
  local want, all = {}, s.list()
  for k, v in (q.query.metadata or ""):gmatch "([^&=]+)=([^&]*)" do want[s.unescape(k)] = s.unescape(v) end
  for _, b in ipairs(s.boxes()) do
    local t = listed(b)
    local fits = not q.query.state or q.query.state:find(t.state, 1, true)
    for k, v in pairs(want) do fits = fits and t.metadata[k] == v end
    if fits then all[#all + 1] = t end
  end
  return 200, all
end

local function pause(_, b)
  if b.paused then s.fail(409, "it is paused already") end
  s.sleep(b, true)
  b.paused = true
  return 204
end

local function connect(_, b)
  local was = b.paused
  if was then s.sleep(b, false) end
  b.paused = nil
  return was and 201 or 200, face(b), nil, true
end

local function kill(_, b)
  s.close(b)
  return 204
end

local function snapshot(q, b)
  local snap, err = b.box:snapshot(s.json(q).name)
  if not snap then error(err, 0) end
  return 201, { snapshotID = "snapshot-" .. snap.event, names = s.list() }
end

local function nothing() return 204 end

-- Processes --------------------------------------------------------------------------------------------------------

local function envelope(t, flags) return sandbox.envelope(flags or 0, s.encode(t)) end

local function say(proc, bytes)
  for i = #proc.subs, 1, -1 do proc.subs[i](bytes) end
end

local function ended(c)
  if c.signal then
    return { exitCode = -1, status = "signal: " .. (c.signal == 9 and "killed" or "terminated"), error = "signal: " .. tostring(c.signal) }
  end
  return { exitCode = c.code ~= 0 and c.code or nil, exited = true, status = "exit status " .. c.code,
    error = c.code ~= 0 and "exit status " .. c.code or nil }
end

-- Streams what the process says from now on to its end.
local function follow(proc, first)
  return s.stream(200, "application/connect+json", function(write)
    write(first)
    if proc.last then return write(proc.last) end
    local over = sg.channel(1)
    proc.subs[#proc.subs + 1] = write
    proc.over[#proc.over + 1] = over
    over:recv()
    write(proc.last)
  end)
end

local function told(b, proc)
  return function(c, stream, data)
    if stream then
      for at = 1, #data, 32768 do
        say(proc, envelope { event = { data = { ["std" .. stream] = sandbox.base64_encode(data:sub(at, at + 32767)) } } })
      end
      return
    end
    b.procs[proc.pid] = nil
    proc.last = c.timeout and envelope({ error = { code = "deadline_exceeded", message = tostring(c.wrong) } }, 2)
      or envelope { event = { ["end"] = ended(c) } } .. envelope({}, 2)
    for _, over in ipairs(proc.over) do over:send(true) end
  end
end

local function start(q, b)
  local flags, len = (">BI4"):unpack(q.body .. ("\0"):rep(5))
  if flags & 1 == 1 then s.fail(400, "compressed envelopes are not read here") end
  local a = s.json { body = q.body:sub(6, 5 + len) }
  local p = a.process or {}
  if a.pty then s.fail(501, "sandglass serves no terminals: run the command without pty") end
  if type(p.cmd) ~= "string" then s.fail(400, "process.cmd is required") end
  local argv = { p.cmd, table.unpack(p.args or {}) }
  local ms = tonumber(q.headers["connect-timeout-ms"] or "")
  b.next_pid = b.next_pid + 1
  local proc = { pid = b.next_pid, config = p, tag = a.tag, subs = {}, over = {} }
  local args = { argv = argv, cwd = p.cwd, env = p.envs, stdin_open = a.stdin ~= false, timeout_us = ms and ms > 0 and ms * 1000 // 1 | 0 or nil }
  proc.c = s.start(b, args, told(b, proc))   -- or raises; what it says comes after its follower, which begins before the next answer
  b.procs[proc.pid] = proc
  return follow(proc, envelope { event = { start = { pid = proc.pid } } })
end

local function proc_of(b, a)
  local w = a.process or {}
  for pid, proc in pairs(b.procs) do if pid == w.pid or w.tag and proc.tag == w.tag then return proc end end
  s.fail(404, ("process with pid %s not found"):format(tostring(w.pid or w.tag)))
end

local function attach(q, b)
  local _, len = (">BI4"):unpack(q.body .. ("\0"):rep(5))
  local proc = proc_of(b, s.json { body = q.body:sub(6, 5 + len) })
  return follow(proc, envelope { event = { start = { pid = proc.pid } } })
end

local function processes(_, b)
  local all = s.list()
  for pid, proc in pairs(b.procs) do
    all[#all + 1] = { pid = pid, tag = proc.tag, config = { cmd = proc.config.cmd, args = s.list(proc.config.args), envs = proc.config.envs or {} } }
  end
  return 200, { processes = all }
end

local function input(q, b)
  local a = s.json(q)
  s.input(proc_of(b, a).c, sandbox.base64_decode((a.input or {}).stdin or ""))
  return 200, {}
end

local function close_stdin(q, b)
  s.input(proc_of(b, s.json(q)).c, "", true)
  return 200, {}
end

local function signal(q, b)
  local a = s.json(q)
  s.signal(proc_of(b, a).c, tostring(a.signal):find "KILL" and "KILL" or "TERM")
  return 200, {}
end

-- Files ------------------------------------------------------------------------------------------------------------

local KIND = { f = "FILE_TYPE_FILE", d = "FILE_TYPE_DIRECTORY", l = "FILE_TYPE_SYMLINK" }
local BITS = { [0] = "---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx" }

local function entry(e)
  local bits = tonumber(e.mode, 8)
  return { name = e.name, type = KIND[e.kind] or "FILE_TYPE_UNSPECIFIED", path = e.path, size = tostring(e.size), mode = bits,
    permissions = (e.kind == "f" and "-" or e.kind) .. BITS[bits >> 6 & 7] .. BITS[bits >> 3 & 7] .. BITS[bits & 7], owner = e.user,
    group = e.group, modifiedTime = os.date("!%Y-%m-%dT%H:%M:%SZ", e.time), symlinkTarget = e.link ~= "" and e.link or nil }
end

local function stat(b, path) return entry(s.entries(b, path, 0)[1] or s.fail(404, path .. ": no such file")) end

local function list_dir(q, b)
  local a, all = s.json(q), s.list()
  for i, e in ipairs(s.entries(b, a.path or ".", math.max(1, a.depth or 1))) do all[i] = entry(e) end
  return 200, { entries = all }
end

local function shell(b, text, ...)
  local code, _, err = s.ask(b, text, ...)
  if code ~= 0 then s.fail(err:find "No such file" and 404 or err:find "exists" and 409 or 400, s.clean(err:gsub("%s+$", ""))) end
end

local function make_dir(q, b)
  local path = s.json(q).path or ""
  shell(b, '[ ! -e "$1" ] || { echo "$1 exists" >&2; exit 1; }; mkdir -p -- "$1"', path)
  return 200, { entry = stat(b, path) }
end

local function move(q, b)
  local a = s.json(q)
  shell(b, 'mv -- "$1" "$2"', a.source or "", a.destination or "")
  return 200, { entry = stat(b, a.destination) }
end

local function remove(q, b)
  shell(b, 'ls -d -- "$1" >/dev/null && rm -r -- "$1"', s.json(q).path or "")
  return 200, {}
end

local function download(q, b) return 200, s.read(b, q.query.path or ""), "application/octet-stream" end

local function upload(q, b)
  local all = s.list()
  local function put(path, data)
    if not path or path == "" then s.fail(400, "a path is required") end
    s.write(b, path, data)
    all[#all + 1] = { path = path, name = path:match "[^/]*$", type = "file" }
  end
  if (q.headers["content-type"] or ""):find "multipart" then
    for _, part in ipairs(s.parts(q)) do put(q.query.path or part.file, part.body) end
  else
    put(q.query.path, q.body)
  end
  return 200, all
end

A.routes = {
  { "POST", "/v2/sandboxes", create, bare = true }, { "POST", "/sandboxes", create, bare = true },
  { "GET", "/v2/sandboxes", list, bare = true }, { "GET", "/sandboxes", list, bare = true },
  { "GET", "/sandboxes/{box}", detail, bare = true },
  { "DELETE", "/sandboxes/{box}", kill, bare = true },
  { "POST", "/v2/sandboxes/{box}/connect", connect, bare = true }, { "POST", "/sandboxes/{box}/connect", connect, bare = true },
  { "POST", "/sandboxes/{box}/resume", connect, bare = true },
  { "POST", "/sandboxes/{box}/pause", pause, bare = true },
  { "POST", "/sandboxes/{box}/timeout", nothing, bare = true }, { "POST", "/sandboxes/{box}/refreshes", nothing, bare = true },
  { "POST", "/sandboxes/{box}/snapshots", snapshot },
  { "GET", "/sandboxes/{box}/metrics", function() return 200, s.list() end, bare = true },
  { "GET", "/health", function(q) A.of(q) return 204 end, bare = true },
  { "POST", "/process.Process/Start", start },
  { "POST", "/process.Process/Connect", attach },
  { "POST", "/process.Process/List", processes },
  { "POST", "/process.Process/SendInput", input },
  { "POST", "/process.Process/CloseStdin", close_stdin },
  { "POST", "/process.Process/SendSignal", signal },
  { "POST", "/filesystem.Filesystem/Stat", function(q, b) return 200, { entry = stat(b, s.json(q).path or "") } end },
  { "POST", "/filesystem.Filesystem/ListDir", list_dir },
  { "POST", "/filesystem.Filesystem/MakeDir", make_dir },
  { "POST", "/filesystem.Filesystem/Move", move },
  { "POST", "/filesystem.Filesystem/Remove", remove },
  { "GET", "/files", download },
  { "POST", "/files", upload },
}

return A
