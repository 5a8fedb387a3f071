-- E2B's control plane and the services of its machines (envd: Connect-RPC as JSON, and /files),
-- told apart by path. A header of the request names the sandbox. getHost(PORT) answers
-- PORT-ID.localhost:..., over HTTP only; a request there is redirected to a listener on the host.
local rt = require "sandglass.runtime"
local sg = require "sandglass"
local s = require "sandglass.serve"
local sandbox = require "sandglass.plugin_sandbox"
local repl = require "sandglass.serve.repl"

local A = { name = "e2b", env = { E2B_API_URL = "{url}", E2B_SANDBOX_URL = "{url}", E2B_API_KEY = "e2b_{token}" } }

local CODE = { [400] = "invalid_argument", [403] = "permission_denied", [404] = "not_found", [405] = "unimplemented", [408] = "deadline_exceeded",
  [401] = "unauthenticated", [409] = "already_exists", [410] = "not_found", [429] = "resource_exhausted", [507] = "data_loss", [501] = "unimplemented", [502] = "unavailable" }

function A.error(status, text, _, q)
  return { code = q.path:find "^/%a+%.%a+/" and (CODE[status] or "internal") or status, message = text }
end

function A.of(q)
  local id = q.headers["e2b-sandbox-id"]
  return id and s.box(id) or s.fail(502, "The sandbox was not found", "SANDBOX_NOT_FOUND")
end

local wake

function A.ready(b)
  local wakes = b.paused and b.asked.autoResume and b.asked.autoResume.enabled
  if wakes then s.alone(b, function() if b.paused then wake(b, b.timeout) end end) end
  if b.paused then s.fail(502, "The sandbox is paused: connect to it to wake it up", "SANDBOX_PAUSED") end
end

-- Control plane ----------------------------------------------------------------------------------------------------

local function face(b)
  return { sandboxID = b.id, templateID = b.asked.templateID or "base", clientID = "sandglass", envdVersion = "0.6.2",
    envdAccessToken = "{token}", trafficAccessToken = "{token}", alias = b.asked.templateID or "base", domain = "localhost:" .. s.base():match "%d+$" }
end

local function listed(b)
  local t = face(b)
  t.envdAccessToken, t.trafficAccessToken = nil, nil
  t.startedAt, t.endAt, t.cpuCount, t.memoryMB, t.diskSizeMB = b.born, s.date(b.ends), 1, 1024, 3072
  t.metadata, t.state = b.asked.metadata or {}, b.paused and "paused" or "running"
  t.lifecycle = { onTimeout = b.asked.autoPause and "pause" or "kill", autoResume = (b.asked.autoResume or {}).enabled == true }
  return t
end

local SECOND, USUAL = 1000000, 15   -- as E2B's API has it; its SDKs ask for 300

local function time_of(seconds)
  seconds = seconds or USUAL
  if type(seconds) ~= "number" or seconds < 0 or seconds > 2592000 then s.fail(400, "timeout is a number of seconds, at most 30 days") end
  return seconds
end

-- How long it runs from now on; then it is paused, if its program has asked for that, or ends.
local function lasts(b, seconds)
  b.timeout, b.ends = seconds, s.now_us() + math.ceil(seconds * SECOND)
  s.alarm(b, b.ends, function()
    local function over(what) sg.note("e2b: sandbox %s is %s: its %g s are over", b.name, what, seconds) end
    if not b.asked.autoPause then
      s.close(b)
      return over "killed"
    end
    s.alone(b, function()
      if b.paused or s.now_us() < b.ends then return end   -- another task was faster
      s.sleep(b, true)
      b.paused = true
      over "paused"
    end)
  end)
end

function wake(b, seconds)
  seconds = time_of(seconds)
  if b.paused then s.sleep(b, false) end
  b.paused = nil
  lasts(b, seconds)
end

local function create(q)
  local a = s.json(q)
  local seconds = time_of(a.timeout)
  if a.mcp then s.fail(400, "sandglass serves no MCP gateway in its sandboxes") end
  if type(a.volumeMounts) == "table" and next(a.volumeMounts) then s.fail(400, "sandglass has no volumes of E2B's") end
  local net
  for _, name in ipairs(type(a.network) == "table" and a.network.allowOut or {}) do
    if type(name) == "string" and not name:find "/" then
      net = net or {}
      net[#net + 1], net[#net + 2] = name .. ":443", name .. ":80"
    end
  end
  local b = s.open({ name = (a.metadata or {}).name, env = next(a.envVars or {}) and a.envVars or nil, net = net },
    { asked = a, id = "i" .. s.hex(10), procs = {}, watchers = {}, next_pid = 1000 })
  s.can_sleep(b, a.autoPause, "autoPause")
  lasts(b, seconds)
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
  s.alarm(b)
  return 204
end

local function connect(q, b)
  local was = b.paused
  local seconds = s.json(q).timeout
  seconds = seconds and time_of(seconds)
  if was or not seconds or s.now_us() + seconds * SECOND > b.ends then wake(b, seconds or b.timeout) end   -- it never shortens
  return was and 201 or 200, face(b), nil, true
end

-- The time of one that runs: a paused one has none until a client connects to it.
local function anew(b, seconds)
  seconds = time_of(seconds)
  if b.paused then s.fail(409, "the sandbox is paused: connect to it, with the time that it is to have") end
  lasts(b, seconds)
  return 204
end

local function timeout(q, b) return anew(b, s.json(q).timeout) end
local function refresh(q, b) return anew(b, s.json(q).duration or b.timeout) end

local function kill(_, b)
  s.close(b)
  return 204
end

local function snapshot(q, b)
  local snap, err = b.box:snapshot(s.json(q).name)
  if not snap then error(err, 0) end
  return 201, { snapshotID = "snapshot-" .. snap.event, names = s.list() }
end

-- Processes --------------------------------------------------------------------------------------------------------

local function envelope(t, flags) return sandbox.envelope(flags or 0, s.encode(t)) end

local function ended(c)
  if c.signal then
    return { exitCode = -1, status = "signal: " .. (c.signal == 9 and "killed" or "terminated"), error = "signal: " .. tostring(c.signal) }
  end
  return { exitCode = c.code ~= 0 and c.code or nil, exited = true, status = "exit status " .. c.code,
    error = c.code ~= 0 and "exit status " .. c.code or nil }
end

-- Streams what a process says to its end: from its beginning, or (later) from now on.
local function follow(proc, later)
  return s.stream(200, "application/connect+json", function(write)
    write(envelope { event = { start = { pid = proc.pid } } })
    s.follow(proc.c, function(stream, data)
      local name = proc.pty and "pty" or "std" .. stream
      for at = 1, #data, 32768 do
        local said = { [name] = sandbox.base64_encode(data:sub(at, at + 32767)) }
        if not write(envelope { event = { data = said } }) then return false end
      end
    end, later)
    local c = proc.c
    if c.timeout then return write(envelope({ error = { code = "deadline_exceeded", message = tostring(c.wrong) } }, 2)) end
    write(envelope { event = { ["end"] = ended(c) } } .. envelope({}, 2))
  end)
end

-- A call whose answer is a stream is refused in the stream: its clients look for the reason nowhere else.
local function streamed(fn)
  return function(q, b)
    local r = table.pack(pcall(fn, q, b))
    if r[1] then return table.unpack(r, 2, r.n) end
    local e = r[2]
    if type(e) ~= "table" or not e.refused then error(e, 0) end
    return 200, envelope({ error = { code = CODE[e.refused] or "internal", message = e.text } }, 2), "application/connect+json"
  end
end

-- Boxes have one user. E2B's programs name "user" or none for the usual one; another is not to run as that one in silence.
local function one_user(q, b)
  local name = sandbox.base64_decode((q.headers.authorization or ""):match "^[Bb]asic%s+(%S+)" or ""):match "^[^:]*"
  if name == "" then name = q.query.username or "" end
  if name == "" or name == "user" then return end
  if not b.user then
    local code, out = s.ask(b, "id -un")
    b.user = code == 0 and out:match "%S+" or "?"
  end
  if name ~= b.user then s.fail(401, ("invalid username: '%s': everything in this sandbox runs as '%s'"):format(name, b.user)) end
end

-- The message of a call whose answer is a stream.
local function message(q)
  local flags, len = (">BI4"):unpack(q.body .. ("\0"):rep(5))
  if flags & 1 == 1 then s.fail(400, "compressed envelopes are not read here") end
  return s.json { body = q.body:sub(6, 5 + len) }
end

local function size(pty)
  local z = type(pty) == "table" and pty.size or {}
  local cols, rows = math.tointeger(z.cols or 80), math.tointeger(z.rows or 24)
  if not cols or not rows or cols < 1 or rows < 1 or cols > 1000 or rows > 1000 then
    s.fail(400, "a terminal has 1 to 1000 columns and rows")
  end
  return cols, rows
end

local function start(q, b)
  one_user(q, b)
  local a = message(q)
  local p = a.process or {}
  if type(p.cmd) ~= "string" then s.fail(400, "process.cmd is required") end
  local ms = tonumber(q.headers["connect-timeout-ms"] or "")
  b.next_pid = b.next_pid + 1
  local proc = { pid = b.next_pid, config = p, tag = a.tag, pty = a.pty ~= nil }
  local args = { argv = { p.cmd, table.unpack(p.args or {}) }, cwd = p.cwd, env = p.envs, stdin_open = a.stdin ~= false or proc.pty,
    timeout_us = ms and ms > 0 and ms * 1000 // 1 | 0 or nil }
  if proc.pty then
    args.pty, args.cols, args.rows = true, size(a.pty)
  end
  proc.c = s.start(b, args, function(stream) if not stream then b.procs[proc.pid] = nil end end)
  b.procs[proc.pid] = proc
  return follow(proc)
end

local function proc_of(b, a)
  local w = a.process or {}
  for pid, proc in pairs(b.procs) do if pid == w.pid or w.tag and proc.tag == w.tag then return proc end end
  s.fail(404, ("process with pid %s not found"):format(tostring(w.pid or w.tag)))
end

local function attach(q, b) return follow(proc_of(b, message(q)), true) end

local function processes(_, b)
  local all = s.list()
  for pid, proc in pairs(b.procs) do
    all[#all + 1] = { pid = pid, tag = proc.tag, config = { cmd = proc.config.cmd, args = s.list(proc.config.args), envs = proc.config.envs or {} } }
  end
  return 200, { processes = all }
end

local function input(q, b)
  local a = s.json(q)
  local given = a.input or {}
  s.input(proc_of(b, a).c, sandbox.base64_decode(given.stdin or given.pty or ""))
  return 200, {}
end

local function update(q, b)
  local a = s.json(q)
  if a.pty then s.resize(proc_of(b, a).c, size(a.pty)) end
  return 200, {}
end

-- Its pieces are given to the process when all of them are here.
local function stream_input(q, b)
  local at, proc = 1, nil
  while at + 5 <= #q.body do
    local flags, len = (">BI4"):unpack(q.body, at)
    if flags & 1 == 1 then s.fail(400, "compressed envelopes are not read here") end
    local a = s.json { body = q.body:sub(at + 5, at + 4 + len) }
    if a.start then proc = proc_of(b, a.start) end
    local given = type(a.data) == "table" and a.data.input
    if given and not proc then s.fail(400, "the first message of the stream is to name the process (start)") end
    if given then s.input(proc.c, sandbox.base64_decode(given.stdin or given.pty or "")) end
    at = at + 5 + len
  end
  return 200, envelope {} .. envelope({}, 2), "application/connect+json"
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
  if code == 0 then return end
  s.fail(err:find "No such file" and 404 or err:find "exists" and 409 or err:find "denied" and 403 or 400, s.clean(err:gsub("%s+$", "")))
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

-- The sandbox's server on a port.
-- The code interpreter, which E2B's template serves on a port of the sandbox ------------------------------------------

local INTERPRETER_PORT = 49999

local function seen_context(c) return { id = c.id, language = c.language, cwd = c.cwd } end

local function execute_code(q, b)
  local a = s.json(q)
  if type(a.code) ~= "string" then s.fail(400, "code is required") end
  local c = repl.get(b, a.context_id, a.language)
  c.count = (c.count or 0) + 1
  local count = c.count
  return s.stream(200, "application/x-ndjson", function(write)
    local function tell(what) return write(s.encode(what) .. "\n") end
    local r, err = repl.run(b, c, a.code, { env = type(a.env_vars) == "table" and a.env_vars or nil },
      function(type, text) tell { type = type, text = text, timestamp = s.now() } end)
    if not r then tell { type = "error", name = "SandglassError", value = tostring(err), traceback = "" } end
    if r and r.value then tell { type = "result", text = r.value, is_main_result = true } end
    if r and r.error then tell { type = "error", name = r.name, value = r.error, traceback = r.traceback } end
    tell { type = "number_of_executions", execution_count = count }
    tell { type = "end_of_execution" }
  end)
end

local function contexts(_, b)
  local list = repl.list(b)
  for i, c in ipairs(list) do list[i] = seen_context(c) end
  return 200, list
end

local function create_context(q, b)
  local a = s.json(q)
  return 201, seen_context(repl.create(b, a.language, a.cwd))
end

local function delete_context(_, b, id)
  repl.delete(b, id)
  return 204
end

local function restart_context(_, b, id)
  repl.restart(b, id)
  return 204
end

local function interpreter_call(q, b)
  local path = (q.target or "/"):match "^[^?]*"
  local id, restart = path:match "^/contexts/([^/]+)(.*)$"
  if path == "/health" then return 200, "" end
  if q.method == "POST" and path == "/execute" then return execute_code(q, b) end
  if q.method == "POST" and path == "/contexts" then return create_context(q, b) end
  if q.method == "GET" and path == "/contexts" then return contexts(q, b) end
  if q.method == "DELETE" and id then return delete_context(q, b, id) end
  if q.method == "POST" and id and restart == "/restart" then return restart_context(q, b, id) end
  s.fail(404, ("the code interpreter serves no %s %s"):format(q.method, path))
end

local function port(q, b, nr)
  local n = math.tointeger(nr)
  if n == INTERPRETER_PORT then return interpreter_call(q, b) end
  if not n or n < 1 or n > 65535 then s.fail(400, "'" .. nr .. "' is not a port") end
  local url, err = b.box:url(n)
  if not url then error(err, 0) end
  return 307, { location = url:gsub("/$", "") .. (q.target:find "^/" and q.target or "/") }
end

local function download(q, b)
  one_user(q, b)
  return 200, s.read(b, q.query.path or ""), "application/octet-stream"
end

local function upload(q, b)
  one_user(q, b)
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

-- Watching: a program of ours in the box looks twice in a second and says what is other. Busybox's find has no -printf.
local WATCH = [[cd -- "$1" 2>/dev/null || { ls -d -- "$1/." >/dev/null; exit 1; }
[ -r . ] || { echo "$1: Permission denied" >&2; exit 1; }
depth=$2
tab=$(printf '\t')
if find . -maxdepth 0 -printf '' 2>/dev/null; then
	look() { find . -mindepth 1 $depth -printf '%i\t%T@/%s\t%m\t./%P\n' 2>/dev/null; }
else
	look() { find . -mindepth 1 $depth -exec stat -c "%i$tab%y/%s$tab%a$tab%n" {} + 2>/dev/null; }
fi
was=$(look)
echo begun
while sleep 0.5; do
	is=$(look)
	[ "$is" = "$was" ] && continue
	printf '%s\n\n%s\n' "$was" "$is" | awk -F "$tab" '
	$0 == "" { later = 1; next }
	{ name = substr($0, length($1 FS $2 FS $3 FS "./") + 1) }
	!later { inode[name] = $1; data[name] = $2; mode[name] = $3; next }
	{
		there[name] = inodes[$1] = 1
		if (inode[name] != $1) created[name] = 1
		else if (data[name] != $2) print "WRITE " name
		else if (mode[name] != $3) print "CHMOD " name
	}
	END {
		for (n in inode) if (!(n in there)) print (inode[n] in inodes ? "RENAME " : "REMOVE ") n
		for (n in created) print "CREATE " n
	}'
	was=$is
done]]

-- told(event) for each change at or below a path, told() at its end; returns when it looks.
local function watch(b, a, told)
  local path = a.path or ""
  if path == "" then s.fail(400, "a path is required") end
  local ready, rest = sg.channel(1), ""
  local c = s.start(b, { argv = { "sh", "-c", WATCH, "sh", path, a.recursive and "" or "-maxdepth 1" }, label = "watches " .. path },
    function(stream, data)
      rest = stream == "out" and rest .. data or rest
      for line in rest:gmatch "([^\n]*)\n" do
        local what, name = line:match "^(%u+) (.*)$"
        if line == "begun" then ready:send(true) elseif what then told { name = name, type = "EVENT_TYPE_" .. what } end
      end
      rest = rest:match "[^\n]*$"
      if not stream then
        ready:close()
        told()
      end
    end)
  if ready:recv() then return c end
  if c.wrong then error(c.wrong, 0) end
  local why = s.printed(c, "err")
  s.fail(s.why(why), s.clean(why:gsub("%s+$", "")))
end

local function watch_dir(q, b)
  local a, events = message(q), sg.channel(1000)
  local c = watch(b, a, function(event) if event then events:send(event) else events:close() end end)
  return s.stream(200, "application/connect+json", function(write)
    local ok, e = pcall(function()
      local event, late
      write(envelope { start = {} })
      repeat
        event, late = events:recv(10)
        local goes_on = (event or late) and write(envelope(event and { filesystem = event } or { keepalive = {} }))
      until not goes_on
      if not event and not late then write(envelope({}, 2)) end   -- everything is sent, also the last output
    end)
    events:close()
    rt.shield(s.signal, c, "KILL")
    if not ok then error(e, 0) end
  end)
end

-- Events that no client has fetched; a late client learns that some are lost.
local EVENTS = 10000

local function create_watcher(q, b)
  local w = { events = s.list(), lost = 0 }
  w.c = watch(b, s.json(q), function(event)
    if event and #w.events < EVENTS then w.events[#w.events + 1] = event elseif event then w.lost = w.lost + 1 end
  end)
  w.id = s.hex(8)
  b.watchers[w.id] = w
  return 200, { watcherId = w.id }
end

local function watcher_of(q, b)
  local id = s.json(q).watcherId
  return b.watchers[id] or s.fail(404, ("watcher %s not found"):format(tostring(id)))
end

local function watcher_events(q, b)
  local w = watcher_of(q, b)
  local events, lost = w.events, w.lost
  w.lost = 0
  if lost > 0 then   -- what is kept comes with the next question
    s.fail(507, ("%d events were lost: at most %d are kept until they are fetched; list the directory itself"):format(lost, EVENTS))
  end
  w.events = s.list()
  return 200, { events = events }
end

local function remove_watcher(q, b)
  local w = watcher_of(q, b)
  b.watchers[w.id] = nil
  s.signal(w.c, "KILL")
  return 200, {}
end

A.routes = {
  { "POST", "/v2/sandboxes", create, bare = true }, { "POST", "/sandboxes", create, bare = true },
  { "GET", "/v2/sandboxes", list, bare = true }, { "GET", "/sandboxes", list, bare = true },
  { "GET", "/sandboxes/{box}", detail, bare = true },
  { "DELETE", "/sandboxes/{box}", kill, bare = true },
  { "POST", "/v2/sandboxes/{box}/connect", connect, alone = true }, { "POST", "/sandboxes/{box}/connect", connect, alone = true },
  { "POST", "/sandboxes/{box}/resume", connect, alone = true },
  { "POST", "/sandboxes/{box}/pause", pause, alone = true },
  { "POST", "/sandboxes/{box}/timeout", timeout, alone = true }, { "POST", "/sandboxes/{box}/refreshes", refresh, alone = true },
  { "POST", "/sandboxes/{box}/snapshots", snapshot },
  { "GET", "/sandboxes/{box}/metrics", function() return 200, s.list() end, bare = true },
  { "GET", "/health", function(q) A.of(q) return 204 end, bare = true },
  { "POST", "/process.Process/Start", streamed(start) },
  { "POST", "/process.Process/Connect", streamed(attach) },
  { "POST", "/process.Process/List", processes },
  { "POST", "/process.Process/SendInput", input },
  { "POST", "/process.Process/StreamInput", stream_input },
  { "POST", "/process.Process/Update", update },
  { "POST", "/process.Process/CloseStdin", close_stdin },
  { "POST", "/process.Process/SendSignal", signal },
  { "POST", "/filesystem.Filesystem/Stat", function(q, b) return 200, { entry = stat(b, s.json(q).path or "") } end },
  { "POST", "/filesystem.Filesystem/ListDir", list_dir },
  { "POST", "/filesystem.Filesystem/MakeDir", make_dir },
  { "POST", "/filesystem.Filesystem/Move", move },
  { "POST", "/filesystem.Filesystem/Remove", remove },
  { "POST", "/filesystem.Filesystem/WatchDir", streamed(watch_dir) },
  { "POST", "/filesystem.Filesystem/CreateWatcher", create_watcher },
  { "POST", "/filesystem.Filesystem/GetWatcherEvents", watcher_events },
  { "POST", "/filesystem.Filesystem/RemoveWatcher", remove_watcher },
  { "GET", "/port/{box}/{port}", port }, { "POST", "/port/{box}/{port}", port }, { "DELETE", "/port/{box}/{port}", port },
  { "POST", "/execute", execute_code },
  { "GET", "/contexts", contexts }, { "POST", "/contexts", create_context },
  { "DELETE", "/contexts/{id}", delete_context }, { "POST", "/contexts/{id}/restart", restart_context },
  { "GET", "/files", download },
  { "POST", "/files", upload },
}

return A
