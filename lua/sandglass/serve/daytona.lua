-- Daytona's API (below /api) and its toolbox (below /toolbox/ID), as its SDKs use them. Boxes have no sessions of their own: a
-- session is a directory with the state that one bash leaves to the next, so that every command is an action of its own.
local rt = require "sandglass.runtime"
local sg = require "sandglass"
local s = require "sandglass.serve"
local live = require "sandglass.serve.daytona_live"

local A = { name = "daytona", env = { DAYTONA_API_URL = "{url}/api", DAYTONA_API_KEY = "dtn_{token}", DAYTONA_TARGET = "local" } }

function A.error(status, text, code, q)
  return { statusCode = status, message = text, error = code, code = code, path = q.path, method = q.method, timestamp = s.now(),
    source = "SANDGLASS" }
end

-- Features of the SDKs that sandboxes lack.
local NOT_OFFERED = {
  ["lsp/"] = "sandglass offers no language servers of Daytona's: start one by a command in a session or a terminal",
  ["computeruse/"] = "sandglass offers no computer use: its sandboxes have no screen, mouse, or keyboard",
}

function A.instead(path)
  local tail = path:match "^/toolbox/[^/]+/(.*)$" or ""
  for start, text in pairs(NOT_OFFERED) do if tail:sub(1, #start) == start then return text end end
end

-- Sandboxes --------------------------------------------------------------------------------------------------------

local MINUTE = 60000000

local function seen(b)
  local a = b.asked
  return {
    id = b.id, organizationId = "sandglass", name = b.name, snapshot = a.snapshot or "sandglass", user = a.user or "agent",
    env = next(a.env or {}) and a.env or {}, labels = a.labels or {}, public = false, target = a.target or "local",
    cpu = math.tointeger(a.cpu) or 1, gpu = 0, memory = math.tointeger(a.memory) or 1, disk = math.tointeger(a.disk) or 3,
    kvm = false, state = b.state, desiredState = b.state, networkBlockAll = b.closed_net, domainAllowList = a.domainAllowList,
    autoStopInterval = a.autoStopInterval or 0, autoArchiveInterval = a.autoArchiveInterval or 0,
    autoDeleteInterval = a.autoDeleteInterval or -1,
    autoDestroyAt = (a.ttlMinutes or 0) > 0 and s.date(b.ttl_from + a.ttlMinutes * MINUTE) or nil,
    createdAt = b.born, updatedAt = b.born, lastActivityAt = s.now(),
    sandboxClass = "container", toolboxProxyUrl = s.base() .. "/toolbox", recoverable = false, volumes = s.list(),
  }
end

-- "a.org, *.b.org": what the program asks for; the policy judges each connection all the same.
local function hosts(list)
  local net = {}
  for name in (list or ""):gmatch "[^,%s]+" do
    net[#net + 1] = name .. ":443"
    net[#net + 1] = name .. ":80"
  end
  return #net > 0 and net or nil
end

-- An image by name; more than that is for the engines of containers.
local function image_of(a)
  local text = type(a.buildInfo) == "table" and a.buildInfo.dockerfileContent
  if not text then return nil end
  local name = text:match "^%s*FROM%s+(%S+)%s*$"
  if sg.env.backend ~= "container" then
    sg.note("daytona: the image was ignored: backend '%s' has no images", sg.env.backend or "process")
    return nil
  end
  if not name then s.fail(400, "an image of more than a FROM line is not built here: give its name", "BAD_REQUEST") end
  return name
end

-- The next due change. It is a stop after autoStopInterval minutes without a request. From then on
-- it is the archive, and the end. The end comes in any case when the time to live is over. The
-- SDKs' minutes are whole ones; fractions are accepted, too.
local to_sleep

local function due(b)
  local next_us, what
  local function at(us, fn) if not next_us or us < next_us then next_us, what = us, fn end end
  local a = b.asked
  local function finish(why)
    return function()
      s.close(b)
      sg.note("daytona: sandbox %s is deleted: %s", b.name, why)
    end
  end
  if b.state == "started" and (a.autoStopInterval or 0) > 0 then
    at(b.touched + a.autoStopInterval * MINUTE // 1, function()
      s.alone(b, function()
        if b.state ~= "started" or b.busy > 0 or s.now_us() < b.touched + a.autoStopInterval * MINUTE // 1 then return due(b) end
        to_sleep(b, "stopped")
        sg.note("daytona: sandbox %s was stopped: unused for %g min", b.name, a.autoStopInterval)
      end)
    end)
  end
  if b.state == "stopped" and (a.autoArchiveInterval or 0) > 0 then
    at(b.since + a.autoArchiveInterval * MINUTE // 1, function() b.state = "archived" due(b) end)
  end
  if b.state ~= "started" and (a.autoDeleteInterval or -1) >= 0 then
    at(b.since + a.autoDeleteInterval * MINUTE // 1, finish(("stopped for %g min"):format(a.autoDeleteInterval)))
  end
  if (a.ttlMinutes or 0) > 0 then at(b.ttl_from + a.ttlMinutes * MINUTE // 1, finish(("its %g min are over"):format(a.ttlMinutes))) end
  s.alarm(b, next_us and math.max(next_us, s.now_us() + (b.busy > 0 and 1000000 or 0)), what)
end

-- A request that only reads the sandbox's data does not count as use.
function A.touched(b, q)
  if not q or q.path:find "^/toolbox/" or q.path:find "/last%-activity$" then b.touched = s.now_us() end
end

function to_sleep(b, state)
  if b.state == "started" then
    s.sleep(b, true)
    b.since = s.now_us()
  end
  b.state = state
  due(b)
end

local function stop(state)
  return function(_, b)
    to_sleep(b, state)
    return 200, seen(b)
  end
end

local function start(_, b)
  s.sleep(b, false)
  b.state, b.touched = "started", s.now_us()
  due(b)
  return 200, seen(b)
end

local function minutes(text, lowest)
  local n = tonumber(text)
  if not n or n < lowest or n > 525600 then s.fail(400, ("'%s' is not a number of minutes"):format(text), "BAD_REQUEST") end
  return n
end

local function interval(name, lowest)
  return function(_, b, text)
    b.asked[name] = minutes(text, lowest)
    if name == "ttlMinutes" then b.ttl_from = s.now_us() end
    due(b)
    return 200, seen(b)
  end
end

local function create(q)
  local a = s.json(q)
  for name, lowest in pairs { autoStopInterval = 0, autoArchiveInterval = 0, autoDeleteInterval = -1, ttlMinutes = 0 } do
    if a[name] then a[name] = minutes(a[name], lowest) end
  end
  local gib = function(n) return n and n > 0 and n .. "G" or nil end
  local b = s.open({
    name = a.name, image = image_of(a), env = next(a.env or {}) and a.env or nil, net = not a.networkBlockAll and hosts(a.domainAllowList) or nil,
    limits = (a.memory or a.disk or a.cpu) and { mem = gib(a.memory), disk = gib(a.disk), cpus = a.cpu } or nil,
  }, { asked = a, state = "started", sessions = {}, ptys = {}, closed_net = not a.domainAllowList, name = a.name, touched = s.now_us(),
    ttl_from = s.now_us() })
  s.can_sleep(b, (a.autoStopInterval or 0) > 0, "autoStopInterval")
  due(b)
  return 200, seen(b)
end

local function list(q)
  local want = q.query.labels and s.json { body = q.query.labels } or {}
  local items = s.list()
  for _, b in ipairs(s.boxes()) do
    local fits = not q.query.name or b.name:sub(1, #q.query.name) == q.query.name
    for k, v in pairs(want) do fits = fits and (b.asked.labels or {})[k] == v end
    if fits then items[#items + 1] = seen(b) end
  end
  return 200, { items = items, total = #items, page = 1, totalPages = 1, nextCursor = rt.core.null }
end

local function delete(_, b)
  local last = seen(b)
  last.state, last.desiredState = "destroyed", "destroyed"
  s.close(b)
  return 200, last
end

local function noted(_, b) return 200, seen(b) end

local function labels(q, b)
  b.asked.labels = s.json(q).labels or {}
  return 200, { labels = b.asked.labels }
end

-- Commands ---------------------------------------------------------------------------------------------------------

function A.ready(b)
  if b.state ~= "started" then s.fail(409, ("the sandbox is %s; start it first"):format(b.state), "SANDBOX_NOT_STARTED") end
end

local function answer(c, more)
  if c.timeout then s.fail(408, tostring(c.wrong), "COMMAND_TIMEOUT") end
  local out = { exitCode = c.code, result = s.clean(s.printed(c)) }
  for k, v in pairs(more or {}) do out[k] = v end
  return 200, out
end

local function execute(q, b)
  local a = s.json(q)
  if type(a.command) ~= "string" or a.command == "" then s.fail(400, "command is required", "BAD_REQUEST") end
  return answer(s.run(b, { cmd = a.command, cwd = a.cwd, env = a.envs, timeout_us = (a.timeout or 0) > 0 and a.timeout * 1000000 // 1 | 0 or nil }))
end

local RUNS = {
  python = { "python3", "-c" }, javascript = { "node", "-e" }, typescript = { "node", "--experimental-strip-types", "-e" },
}

local function code_run(q, b)
  local a = s.json(q)
  local how = RUNS[a.language or "python"]
  if not how then s.fail(400, ("no language '%s': python, javascript, typescript"):format(a.language), "BAD_REQUEST") end
  local argv = { table.unpack(how) }
  argv[#argv + 1] = a.code or ""
  for _, w in ipairs(a.argv or {}) do argv[#argv + 1] = w end
  return answer(s.run(b, { argv = argv, env = a.envs, timeout_us = (a.timeout or 0) > 0 and a.timeout * 1000000 // 1 | 0 or nil }),
    { artifacts = { charts = s.list() } })
end

-- Sessions ---------------------------------------------------------------------------------------------------------

-- The first text of a bash: it reads the state of the one before, and leaves its own at its end.
local STATE = [[unset BASH_ENV SANDGLASS_STATE
eval '[ -f "DIR/state" ] && . "DIR/state"; [ -f "DIR/cwd" ] && cd "$(cat "DIR/cwd")"' 2>/dev/null
trap '{ declare -p; declare -f; alias -p; } >"DIR/state" 2>/dev/null; pwd >"DIR/cwd"' EXIT]]
local FIRST = [[$(mkdir -p DIR && { [ -s DIR/rc ] || printf %s "$SANDGLASS_STATE" >DIR/rc; }; echo DIR/rc)]]

local function session_of(b, id)
  return b.sessions[id] or s.fail(404, ("session '%s' not found"):format(id), "SESSION_NOT_FOUND")
end

local function session_seen(x)
  local commands = s.list()
  for i, c in ipairs(x.commands) do commands[i] = { id = c.id, command = c.text, exitCode = c.code } end
  return { sessionId = x.id, commands = commands }
end

local function session_create(q, b)
  local id = s.json(q).sessionId
  if type(id) ~= "string" or id == "" then s.fail(400, "sessionId is required", "BAD_REQUEST") end
  if b.sessions[id] then s.fail(409, "this session exists already", "SESSION_EXISTS") end
  b.nr_sessions = (b.nr_sessions or 0) + 1
  b.sessions[id] = { id = id, dir = ("/tmp/.session-%d"):format(b.nr_sessions), commands = {} }
  return 201, {}
end

local function session_list(_, b)
  local all, ids = s.list(), {}
  for id in pairs(b.sessions) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do all[i] = session_seen(b.sessions[id]) end
  return 200, all
end

local function session_exec(q, b, id)
  local x, a = session_of(b, id), s.json(q)
  if type(a.command) ~= "string" or a.command == "" then s.fail(400, "command is required", "BAD_REQUEST") end
  local args = { argv = { "bash", "-c", a.command }, env = { BASH_ENV = FIRST:gsub("DIR", x.dir), SANDGLASS_STATE = STATE:gsub("DIR", x.dir) } }
  local c
  if a.runAsync or a.async then
    args.stdin_open = true
    c = s.start(b, args)
  else
    c = s.run(b, args)
  end
  c.id = s.hex(6)
  x.commands[#x.commands + 1] = c
  x.commands[c.id] = c
  if not c.code then return 202, { cmdId = c.id } end
  local out, err = s.clean(s.printed(c, "out")), s.clean(s.printed(c, "err"))
  return 200, { cmdId = c.id, exitCode = c.code, output = out .. err, stdout = out, stderr = err }
end

local function command_of(b, id, cmd)
  return session_of(b, id).commands[cmd] or s.fail(404, ("command '%s' not found in this session"):format(cmd), "COMMAND_NOT_FOUND")
end

local function command(_, b, id, cmd)
  local c = command_of(b, id, cmd)
  return 200, { id = c.id, command = c.text, exitCode = c.code }
end

local function logs(q, b, id, cmd)
  local c = command_of(b, id, cmd)
  if q.query.follow == "true" then return live.logs(q, b, c) end
  local marked, was = {}, nil
  for _, piece in ipairs(c.pieces) do
    marked[#marked + 1] = (piece[1] ~= was and live.MARK[piece[1]] or "") .. piece[2]
    was = piece[1]
  end
  return 200, { output = s.clean(table.concat(marked)), stdout = s.clean(s.printed(c, "out")), stderr = s.clean(s.printed(c, "err")) }
end

local function input(q, b, id, cmd)
  local c = command_of(b, id, cmd)
  local data = s.json(q).data or ""
  if c.code or not c.proc then s.fail(410, "this command has ended", "COMMAND_ALREADY_COMPLETED") end
  s.input(c, data:sub(-1) == "\n" and data or data .. "\n")
  return 204
end

local function session_delete(_, b, id)
  local x = session_of(b, id)
  for _, c in ipairs(x.commands) do if c.proc and not c.code then s.signal(c, "KILL") end end
  b.sessions[id] = nil
  return 204
end

-- Files ------------------------------------------------------------------------------------------------------------

local function path_of(q)
  local path = q.query.path
  if not path or path == "" then s.fail(400, "path is required", "BAD_REQUEST") end
  return path
end

local MODE = { [0] = "---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx" }

local function info(e)
  local bits = tonumber(e.mode, 8)
  local time = os.date("!%Y-%m-%dT%H:%M:%SZ", e.time)
  return { name = e.name, path = e.path, size = e.size, isDir = e.kind == "d", modTime = time, modifiedAt = time, owner = e.user, group = e.group,
    mode = (e.kind == "f" and "-" or e.kind) .. MODE[bits >> 6 & 7] .. MODE[bits >> 3 & 7] .. MODE[bits & 7],
    permissions = ("%04o"):format(bits & 4095) }
end

local function files(q, b)
  local all = s.list()
  for i, e in ipairs(s.entries(b, q.query.path or ".", math.max(1, tonumber(q.query.depth or "1") // 1 | 0))) do all[i] = info(e) end
  return 200, all
end

local function file_info(q, b) return 200, info(s.entries(b, path_of(q), 0)[1] or s.fail(404, "no such file", "FILE_NOT_FOUND")) end
local function download(q, b) return 200, s.read(b, path_of(q)), "application/octet-stream" end

local function upload(q, b)
  local path = q.query.path
  for _, part in ipairs(s.parts(q)) do
    if part.name and part.name:find "path$" then
      path = part.body
    elseif path then
      s.write(b, path, part.body)
    else
      s.fail(400, "a part with the path must come before the file", "BAD_REQUEST")
    end
  end
  return 200, {}
end

local BOUNDARY = "DAYTONA-FILE-BOUNDARY"

local function bulk_download(q, b)
  local out = {}
  for _, path in ipairs(s.json(q).paths or {}) do
    local ok, data = pcall(s.read, b, path)
    if not ok and not (type(data) == "table" and data.refused) then error(data, 0) end
    local body = ok and data or s.encode { statusCode = data.refused, message = data.text, code = data.code }
    out[#out + 1] = ('--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n')
      :format(BOUNDARY, ok and "file" or "error", path:gsub('[\r\n"]', "_"), ok and "application/octet-stream" or "application/json", #body, body)
  end
  return 200, table.concat(out) .. "--" .. BOUNDARY .. "--\r\n", "multipart/form-data; boundary=" .. BOUNDARY
end

-- For what boxes have no operation of their own: a command, with the paths as its words.
local function by(status, text, ...)
  local names = { ... }
  return function(q, b)
    local words = {}
    for i, n in ipairs(names) do words[i] = q.query[n] or "" end
    if words[1] == "" then path_of { query = {} } end
    local code, _, err = s.ask(b, text, table.unpack(words))
    if code ~= 0 then s.fail(err:find "No such file" and 404 or err:find "denied" and 403 or 400, s.clean(err:gsub("%s+$", "")), "FILE_OPERATION_FAILED") end
    return status
  end
end

local function search(q, b)
  local _, out = s.ask(b, 'find "$1" -name "$2"', path_of(q), q.query.pattern or "*")
  local found = s.list()
  for line in s.clean(out):gmatch "[^\n]+" do found[#found + 1] = line end
  return 200, { files = found }
end

local function grep(q, b)
  local _, out = s.ask(b, 'i=-I; grep -I x /dev/null 2>/dev/null; [ $? -le 1 ] || i=; grep -rn $i -e "$2" -- "$1"', path_of(q), q.query.pattern or "")
  local found = s.list()
  for file, line, text in s.clean(out):gmatch "([^\n]-):(%d+):([^\n]*)" do
    found[#found + 1] = { file = file, line = math.tointeger(line), content = text }
  end
  return 200, found
end

-- Replaces every occurrence of a literal text in files and reports each file's result.
local function replace_in(b, path, old, new)
  local data, out, at = s.read(b, path), {}, 1
  while true do
    local from, to = data:find(old, at, true)
    if not from then break end
    out[#out + 1], out[#out + 2] = data:sub(at, from - 1), new
    at = to + 1
  end
  if #out > 0 then s.write(b, path, table.concat(out) .. data:sub(at)) end
end

local function replace(q, b)
  local a, all = s.json(q), s.list()
  if type(a.files) ~= "table" or type(a.pattern) ~= "string" or a.pattern == "" or type(a.newValue) ~= "string" then
    s.fail(400, "files, pattern and newValue are required", "BAD_REQUEST")
  end
  for i, path in ipairs(a.files) do
    local ok, e = pcall(replace_in, b, path, a.pattern, a.newValue)
    if not ok and not (type(e) == "table" and (e.refused or rt.is_error(e))) then error(e, 0) end
    all[i] = { file = path, success = ok, error = not ok and (e.text or tostring(e)) or nil }
  end
  return 200, all
end

-- The link leads to a listener on the host; nothing more is needed than to reach it.
local function link(_, b, port)
  local url, err = b.box:url(math.tointeger(port) or s.fail(400, "'" .. port .. "' is not a port", "BAD_REQUEST"))
  if not url then error(err, 0) end
  return 200, { sandboxId = b.id, port = math.tointeger(port), url = url, token = "local" }
end

local function home() return 200, { dir = "/home/agent" } end
local function work(_, b) return 200, { dir = b.box.workspace } end

A.routes = {
  { "GET", "/api/config", function() return 200, { version = "0.0.0", proxyToolboxUrl = s.base() .. "/toolbox" } end },
  { "POST", "/api/sandbox", create },
  { "GET", "/api/sandbox", list },
  { "GET", "/api/sandbox/{box}", noted, bare = true },
  { "DELETE", "/api/sandbox/{box}", delete, bare = true },
  { "POST", "/api/sandbox/{box}/start", start },
  { "POST", "/api/sandbox/{box}/recover", start },
  { "POST", "/api/sandbox/{box}/stop", stop "stopped" },
  { "POST", "/api/sandbox/{box}/pause", stop "paused" },
  { "POST", "/api/sandbox/{box}/archive", stop "archived" },
  { "POST", "/api/sandbox/{box}/autostop/{minutes}", interval("autoStopInterval", 0), bare = true },
  { "POST", "/api/sandbox/{box}/autopause/{minutes}", noted, bare = true },
  { "POST", "/api/sandbox/{box}/autoarchive/{minutes}", interval("autoArchiveInterval", 0), bare = true },
  { "POST", "/api/sandbox/{box}/autodelete/{minutes}", interval("autoDeleteInterval", -1), bare = true },
  { "POST", "/api/sandbox/{box}/ttl/{minutes}", interval("ttlMinutes", 0), bare = true },
  { "POST", "/api/sandbox/{box}/last-activity", noted, bare = true },
  { "PUT", "/api/sandbox/{box}/labels", labels, bare = true },
  { "GET", "/api/sandbox/{box}/toolbox-proxy-url", function() return 200, { url = s.base() .. "/toolbox" } end, bare = true },
  { "GET", "/api/sandbox/{box}/ports/{port}/preview-url", link },
  { "GET", "/api/sandbox/{box}/ports/{port}/signed-preview-url", link },
  { "POST", "/toolbox/{box}/process/execute", execute },
  { "POST", "/toolbox/{box}/process/code-run", code_run },
  { "POST", "/toolbox/{box}/process/session", session_create },
  { "GET", "/toolbox/{box}/process/session", session_list, bare = true },
  { "GET", "/toolbox/{box}/process/session/{session}", function(_, b, id) return 200, session_seen(session_of(b, id)) end, bare = true },
  { "DELETE", "/toolbox/{box}/process/session/{session}", session_delete },
  { "POST", "/toolbox/{box}/process/session/{session}/exec", session_exec },
  { "GET", "/toolbox/{box}/process/session/{session}/command/{command}", command, bare = true },
  { "GET", "/toolbox/{box}/process/session/{session}/command/{command}/logs", logs, bare = true },
  { "POST", "/toolbox/{box}/process/session/{session}/command/{command}/input", input },
  { "GET", "/toolbox/{box}/files", files },
  { "DELETE", "/toolbox/{box}/files", by(204, '[ "$2" = true ] || exec rm -- "$1"; rm -r -- "$1"', "path", "recursive") },
  { "GET", "/toolbox/{box}/files/info", file_info },
  { "GET", "/toolbox/{box}/files/download", download },
  { "POST", "/toolbox/{box}/files/bulk-download", bulk_download },
  { "POST", "/toolbox/{box}/files/upload", upload },
  { "POST", "/toolbox/{box}/files/upload-v2", upload },
  { "POST", "/toolbox/{box}/files/bulk-upload", upload },
  { "POST", "/toolbox/{box}/files/folder", by(201, 'mkdir -p -m "${2:-755}" -- "$1"', "path", "mode") },
  { "POST", "/toolbox/{box}/files/move", by(200, 'mv -- "$1" "$2"', "source", "destination") },
  { "POST", "/toolbox/{box}/files/permissions", by(200, '[ -z "$2" ] || chmod "$2" -- "$1"', "path", "mode") },
  { "GET", "/toolbox/{box}/files/search", search },
  { "GET", "/toolbox/{box}/files/find", grep },
  { "POST", "/toolbox/{box}/files/replace", replace },
  { "GET", "/toolbox/{box}/user-home-dir", home, bare = true },
  { "GET", "/toolbox/{box}/work-dir", work, bare = true },
  { "GET", "/toolbox/{box}/version", function() return 200, { version = "sandglass" } end, bare = true },
}
for _, list in ipairs { require "sandglass.serve.daytona_git", live.routes } do
  for _, r in ipairs(list) do A.routes[#A.routes + 1] = r end
end
-- stop, start: the client no longer works in the sandbox
for _, r in ipairs(A.routes) do
  r.alone = r[3] == start or (r[2]:find "/stop$" or r[2]:find "/pause$" or r[2]:find "/archive$") ~= nil
end

return A
