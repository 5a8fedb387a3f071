-- Boxes, processes, shells, snapshots, diffs: handles over the operations of the same names.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local proxy = require "sandglass.proxy"
local call, fail = rt.call, rt.fail
local type, pairs, ipairs, setmetatable, math = type, pairs, ipairs, setmetatable, math

local M = {}
local Box, Proc, Shell = {}, {}, {}
local box_mt, proc_mt, shell_mt
local open = {}   -- handles by their ids

-- It lies elsewhere now: another box has taken its place.
local function moved(self, v)
  self.workspace = v.workspace or "/workspace"
end

-- A resumed session has opened its sandboxes again.
function rt.box_moved(v)
  if open[v.box] then moved(open[v.box], v) end
end

-- A box that dies ------------------------------------------------------------------------------------------------

local DIED = { interrupted = true, io = true, backend = true }

-- With on_lost = "restore" a new sandbox replaces a dead one. Running commands still fail, with
-- code "lost" and the present state.
local function restored(self, id, err)
  local s = self.state
  while s.restoring do call("sleep", { us = 20000 }) end
  if self.id ~= id then return s.lost end
  if s.closed then return err end
  s.restoring = true
  local v, why = rt.shield(call, "box.restore", { box = id })   -- a task that is cancelled here opens it for the others
  s.restoring = false
  if not v then err.why = "it could not be opened again: " .. tostring(why) end
  if not v or not v.box then return err end
  s.lost = rt.err { code = "lost", event = err.event, cause = err, why = err.why,
    msg = ("sandbox '%s' died during this call; the handle now uses sandbox '%s' with the files of the last snapshot; "
      .. "later changes are lost and its processes have ended"):format(self.name, v.name) }
  open[self.id], open[v.box] = nil, self
  self.id, self.name = v.box, v.name
  moved(self, v)
  return s.lost
end

-- call() for an operation of the box.
local function ask(self, op, args, on_chunk)
  local v, err = call(op, args, on_chunk)
  if v or self.state.on_lost ~= "restore" or not DIED[err.code] then return v, err end
  return nil, restored(self, args.box or self.id, err)
end

-- Commands -------------------------------------------------------------------------------------------------------

local EXEC = check.spec("sg.ExecOpts", {
  timeout = "time", cwd = "string", env = "table", stdin = "string", on_out = "function", net = "string|list",
  user = "string", label = "string", on_interrupted = "string", parallel = "boolean",
})

-- "host:port" each, or "host", with "*" for a part of it.
local function hosts(where, net)
  if type(net) ~= "table" then return end
  for i, h in ipairs(net) do
    if type(h) ~= "string" then fail("%s: net[%d]: expected \"host:port\", got %s", where, i, check.type_of(h)) end
    if h == "" or h:find "[%s/@?#]" then
      fail("%s: net: '%s' is not a host: write \"example.org:443\", without scheme or path", where, h)
    end
  end
end

local function command(where, cmd, o, args)
  if type(cmd) == "string" then
    args.cmd = cmd
  elseif type(cmd) == "table" then
    if #cmd == 0 then fail("%s: an empty command", where) end
    for i, w in ipairs(cmd) do
      if type(w) ~= "string" then
        fail("%s: argument %d of the command: expected a string, got %s", where, i, check.type_of(w))
      end
    end
    args.argv = cmd
  else
    fail("%s: command: expected a string (for sh -c) or a list of arguments, got a %s", where, check.type_of(cmd))
  end
  hosts(where, o.net)
  if o.user then fail("%s: user: commands run as the sandbox's one user; leave it out", where) end
  args.cwd, args.stdin, args.net, args.label = o.cwd, o.stdin, o.net, o.label
  args.timeout_us = check.us(o.timeout)
  args.stream = (o.on_out ~= nil and o.on_out ~= rt.recorded) or nil
  args.parallel = o.parallel
  if o.on_interrupted and o.on_interrupted ~= "error" then
    fail("%s: on_interrupted is \"error\", not \"%s\"", where, o.on_interrupted)
  end
  args.on_interrupted = o.on_interrupted
  if o.env then
    for k, v in pairs(o.env) do
      if type(k) ~= "string" or type(v) ~= "string" then fail("%s: env holds names with string values", where) end
    end
    args.env = o.env
  end
  return args
end

-- Bytes at the end of `s` that begin a character whose rest has not come yet.
local function unfinished(s)
  for back = 1, math.min(3, #s) do
    local b = s:byte(-back)
    if b >= 0xC0 then
      local need = b >= 0xF0 and 4 or b >= 0xE0 and 3 or 2
      return need > back and back or 0
    end
    if b < 0x80 then return 0 end
  end
  return 0
end

-- A tool's ctx.stream. It does nothing: output is recorded and shown as it arrives in any case.
function rt.recorded() end

-- Hands whole characters to fn(chunk, stream).
local function whole_characters(fn)
  local rest = {}
  return function(body)
    local stream = body.stream or "out"
    local s = (rest[stream] or "") .. (body.data or "")
    local n = unfinished(s)
    rest[stream] = n > 0 and s:sub(-n) or nil
    s = n > 0 and s:sub(1, -n - 1) or s
    if s ~= "" then fn(s, stream) end
  end
end

local SIGNALS = {
  [1] = "SIGHUP", [2] = "SIGINT", [3] = "SIGQUIT", [4] = "SIGILL", [5] = "SIGTRAP", [6] = "SIGABRT", [7] = "SIGBUS",
  [8] = "SIGFPE", [9] = "SIGKILL", [10] = "SIGUSR1", [11] = "SIGSEGV", [12] = "SIGUSR2", [13] = "SIGPIPE",
  [14] = "SIGALRM", [15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS",
}

local function result(v)
  v.out, v.err = v.out or "", v.err or ""
  if math.type(v.signal) == "integer" then v.signal = SIGNALS[v.signal] or "signal " .. v.signal end
  v.ok = v.code == 0 and v.signal == nil
  v.cut = v.cut or false
  return v
end

-- An operation of a box whose process died under it: the box was put back, so it may be asked for once more.
local function again_if_interrupted(self, op, args, on_chunk, o)
  local v, err = ask(self, op, args, on_chunk)
  if v or err.code ~= "interrupted" or not err.retry or o.on_interrupted == "error" then return v, err end
  args.retry_of = err.event
  return ask(self, op, args, on_chunk)
end

function Box:exec(cmd, o)
  check.self(box_mt, self, "box", "exec")
  o = check.options("exec", o, EXEC)
  local args = command("exec", cmd, o, { box = self.id })
  local v, err = again_if_interrupted(self, "box.exec", args, args.stream and whole_characters(o.on_out), o)
  if not v then return nil, err end
  return result(v)
end

local SHOWN = 32768 -- of each end of an output

-- Bytes from..to of an output of which `text` holds all, or both ends.
local function part(text, total, from, to)
  if #text >= total and total <= 2 * SHOWN then return text:sub(from + 1, to), false end
  local head = text:sub(from + 1, math.min(to, SHOWN))
  local first = total - SHOWN   -- of the tail
  local tail = to > first and text:sub(#text - SHOWN + 1 + math.max(from - first, 0), #text - (total - to)) or ""
  return head .. tail, #head + #tail < to - from
end

-- Commands (texts for sh) one after another in one go: one action, one way there and back. A list of results, one for each
-- that ran; o.stop: the first that fails is the last. A batch that a user edited has one result.
function Box:batch(list, o)
  check.self(box_mt, self, "box", "batch")
  check.arg("batch", "the commands", list, "table")
  if #list == 0 then fail "batch: no commands" end
  for i, cmd in ipairs(list) do
    if type(cmd) ~= "string" or cmd == "" then fail("batch: command %d: expected a text for sh, got %s", i, check.type_of(cmd)) end
  end
  local spec = { stop = "boolean" }
  for k, v in pairs(EXEC) do spec[k] = v end
  o = check.options("batch", o, spec)
  local args = command("batch", "true", o, { box = self.id, stop = o.stop })
  args.cmd, args.batch = nil, setmetatable(table.move(list, 1, #list, 1, {}), rt.core.array_mt)
  local v, err = again_if_interrupted(self, "box.exec", args, args.stream and whole_characters(o.on_out), o)
  if not v then return nil, err end
  if not v.batch or #v.batch == 0 then return { result(v) } end   -- none of them was begun
  local results = {}
  for i, p in ipairs(v.batch) do
    local r = { code = p.code, ok = p.code == 0, event = v.event, ms = v.ms, out_bytes = p.out[2] - p.out[1] }
    local cut
    r.out, cut = part(v.out or "", v.out_bytes, p.out[1], p.out[2])
    r.err, r.cut = part(v.err or "", v.err_bytes, p.err[1], p.err[2])
    r.cut = r.cut or cut
    results[i] = r
  end
  return results
end

local function shown(cmd)
  local s = type(cmd) == "table" and table.concat(cmd, " ") or cmd
  s = s:gsub("%s+", " ")
  return #s > 60 and s:sub(1, 57) .. "..." or s
end

function Box:run(cmd, o)
  check.self(box_mt, self, "box", "run")
  local r, err = self:exec(cmd, o)
  if not r then return nil, err end
  if r.ok then return r end
  local how = r.oom and "out of memory" or r.code and "exit " .. r.code or "killed by " .. (r.signal or "a signal")
  local last = (r.err ~= "" and r.err or r.out):match "([^\n]*)\n*$"
  return nil, rt.err {
    code = "exit", msg = how .. ": " .. shown(cmd), why = last ~= "" and last or nil, event = r.event, cause = r,
    at = rt.core.where(),
  }
end

function Box:spawn(cmd, o)
  check.self(box_mt, self, "box", "spawn")
  o = check.options("spawn", o, EXEC)
  local v, err = ask(self, "box.spawn", command("spawn", cmd, o, { box = self.id }))
  if not v then return nil, err end
  return check.new(proc_mt, { id = v.proc, event = v.event, box = self, buffer = { out = "", err = "" } })
end

-- A connection to a server that listens in the box on its own loopback: read, lines, write, wait as of a process; kill closes
-- it. o.wait: how long to retry, for a server that is still starting.
function Box:dial(port, o)
  check.self(box_mt, self, "box", "dial")
  check.arg("dial", "the port", port, "integer")
  o = check.options("dial", o, { wait = "time" })
  local v, err = ask(self, "box.dial", { box = self.id, port = port, timeout_us = check.us(o.wait) })
  if not v then return nil, err end
  return check.new(proc_mt, { id = v.proc, event = v.event, box = self, buffer = { out = "", err = "" } })
end

function Box:shell(o)
  check.self(box_mt, self, "box", "shell")
  o = check.options("shell", o, { cwd = "string", env = "table" })
  local v, err = ask(self, "shell.open", { box = self.id, cwd = o.cwd, env = o.env })
  if not v then return nil, err end
  return check.new(shell_mt, { id = v.shell, box = self })
end

-- An interpreter that keeps its variables from one piece of code to the next.
local Interpreter = {}
local interpreter_mt
local WORD_MOST = 100000     -- of code as an argument; longer code is its client's standard input

function Box:interpreter(language, o)
  check.self(box_mt, self, "box", "interpreter")
  check.arg("interpreter", "the language", language, "string?")
  o = check.options("interpreter", o, { cwd = "string" })
  language = language or "python"
  local engine = (rt.require "sandglass.interpreter").languages[language]
  if not engine then
    return nil, rt.err { code = "backend", msg = ("interpreter: unknown language '%s': expected python or node"):format(language) }
  end
  if self.caps.shell == false then
    return nil, rt.err { code = "backend", msg = "interpreter: this sandbox has its own interpreter; use box:shell()" }
  end
  local s = self.state
  s.interpreters = (s.interpreters or 0) + 1
  local name = (".sandglass-%s-%s-%d"):format(language, tostring(self.id), s.interpreters)
  local proc, err = self:spawn(engine.start_words(name), { cwd = o.cwd })
  if not proc then return nil, err end
  local client
  client, err = rt.require "sandglass.interpreter".client_of(proc, name)
  if not client then return nil, rt.is_error(err) and err or rt.err(err) end
  return check.new(interpreter_mt, { id = proc.id, box = self, state = { proc = proc, words = { engine.program, client } } })
end

-- Takes the value or the error of structured code, which is between NUL bytes, out of its output. Returns two functions: one
-- receives each part of the output, the other ends it. Adds the value or error to `found`; passes other output to fn(text, stream).
local function structured_output(found, fn)
  local held = { out = "", err = "" }   -- from the first NUL on
  local function hear(text, stream)
    local at = held[stream] == "" and (text:find("\0", 1, true) or #text + 1) or 1
    if at > 1 then fn(text:sub(1, at - 1), stream) end
    held[stream] = held[stream] .. text:sub(at)
  end
  return hear, function()
    for stream, text in pairs(held) do
      text = text:gsub("\0sandglass:([^\0]*)\0", function(json)
        for k, v in pairs(rt.core.decode(json) or {}) do found[k] = v end
        return ""
      end)
      if text ~= "" then fn(text, stream) end
    end
  end
end

-- Runs code and prints the value of its last expression. Returns a result like exec's; code is 1 after an exception. o.env: for
-- this code alone. With o.structured the result has value, or error, name, and traceback, which are not in its output.
function Interpreter:run(code, o)
  check.self(interpreter_mt, self, "interpreter", "run")
  check.arg("run", "the code", code, "string")
  o = check.options("run", o, { timeout = "time", on_out = "function", env = "table", structured = "boolean" })
  local _, bad = utf8.len(code)
  if bad then return nil, rt.err { code = "io", msg = ("run: the code isn't UTF-8 (byte %d)"):format(bad) } end
  local long = #code > WORD_MOST or code:find("\0", 1, true) ~= nil
  local asked = { env = o.env and next(o.env) and o.env or nil, structured = o.structured or nil, stdin = long or nil }
  local words = { self.state.words[1], self.state.words[2], long and "" or code, next(asked) and rt.core.encode(asked) or nil }
  local stdin = long and code or nil
  if not o.structured then return self.box:exec(words, { timeout = o.timeout, on_out = o.on_out, stdin = stdin }) end
  local found, text = {}, { out = {}, err = {} }
  local hear, over = structured_output(found, function(piece, stream)
    table.insert(text[stream], piece)
    if o.on_out then o.on_out(piece, stream) end
  end)
  local r, err = self.box:exec(words, { timeout = o.timeout, on_out = hear, stdin = stdin })
  over()
  if not r then return nil, err end
  for k, v in pairs(found) do r[k] = v end
  r.out, r.err = table.concat(text.out), table.concat(text.err)
  return r
end

function Interpreter:close() self.state.proc:close() end

-- Processes ------------------------------------------------------------------------------------------------------

-- The next bytes of the process: data, stream; nil at the end.
function Proc:read()
  check.self(proc_mt, self, "proc", "read")
  local v, err = call("proc.read", { proc = self.id })
  if not v then return nil, err end
  if v.eof then return nil end
  return v.data or "", v.stream or "out"
end

-- Lines of stdout, without their ends; stderr goes to o.on_err. A line beyond o.max bytes comes in pieces of that.
function Proc:lines(o)
  check.self(proc_mt, self, "proc", "lines")
  o = check.options("lines", o, { on_err = "function", max = "integer" })
  local buffer, from, parts, held, done = "", 1, {}, 0, false
  local function line_with(rest)
    parts[#parts + 1] = rest
    local line = #parts == 1 and rest or table.concat(parts)
    parts, held = {}, 0
    return line
  end
  return function()
    while true do
      local nl = buffer:find("\n", from, true)
      if nl then
        local line = line_with(buffer:sub(from, nl - 1))
        from = nl + 1
        return line
      end
      parts[#parts + 1] = from <= #buffer and buffer:sub(from) or nil
      held, buffer, from = held + #buffer - from + 1, "", 1
      if done or held > (o.max or math.maxinteger) then
        local line = held > 0 and line_with "" or nil
        if line or done then return line end
      end
      local data, stream = self:read()
      if not data then
        done = true
      elseif stream == "out" then
        buffer = data
      elseif o.on_err then
        o.on_err(data)
      end
    end
  end
end

function Proc:write(s, o)
  check.self(proc_mt, self, "proc", "write")
  check.arg("write", "data", s, "string")
  o = check.options("write", o, { eof = "boolean" })
  local v, err = call("proc.write", { proc = self.id, data = s, eof = o.eof })
  if not v then return nil, err end
  return true
end

function Proc:kill(signal)
  check.self(proc_mt, self, "proc", "kill")
  check.arg("kill", "signal", signal, "string|integer?")
  local v, err = call("proc.kill", { proc = self.id, signal = signal })
  if not v then return nil, err end
  return true
end

function Proc:wait()
  check.self(proc_mt, self, "proc", "wait")
  local v, err = ask(self.box, "proc.wait", { proc = self.id })
  if not v then return nil, err end
  return result(v)
end

function Proc:close()
  call("proc.kill", { proc = self.id })
  call("proc.wait", { proc = self.id })
end

-- Shells ---------------------------------------------------------------------------------------------------------

function Shell:run(cmd, o)
  check.self(shell_mt, self, "shell", "run")
  check.arg("run", "command", cmd, "string")
  o = check.options("run", o, { timeout = "time", on_out = "function" })
  local v, err = ask(self.box, "shell.run", {
    shell = self.id, cmd = cmd, timeout_us = check.us(o.timeout), stream = o.on_out ~= nil or nil,
  }, o.on_out and whole_characters(o.on_out))
  if not v then return nil, err end
  return result(v)
end

function Shell:send(text)
  check.self(shell_mt, self, "shell", "send")
  check.arg("send", "text", text, "string")
  local v, err = call("shell.send", { shell = self.id, data = text })
  if not v then return nil, err end
  return true
end

function Shell:close() call("shell.close", { shell = self.id }) end

-- Files ----------------------------------------------------------------------------------------------------------

local function path_arg(where, path)
  check.arg(where, "path", path, "string")
  if path:find("\0", 1, true) or path == "" then fail("%s: '%s' is not a path", where, path) end
  return path
end

function Box:read(path, o)
  check.self(box_mt, self, "box", "read")
  o = check.options("read", o, { from = "integer", len = "integer" })
  local v, err = ask(self, "box.read", { box = self.id, path = path_arg("read", path), off = o.from, len = o.len })
  if not v then return nil, err end
  return v.data or ""
end

-- The event's number, or nil and the error.
local function event_of(self, op, args)
  local v, err = ask(self, op, args)
  if not v then return nil, err end
  return v.event or 0
end

function Box:write(path, data)
  check.self(box_mt, self, "box", "write")
  check.arg("write", "data", data, "string")
  return event_of(self, "box.write", { box = self.id, path = path_arg("write", path), data = data })
end

function Box:edit(path, old, new, o)
  check.self(box_mt, self, "box", "edit")
  check.arg("edit", "old text", old, "string")
  check.arg("edit", "new text", new, "string")
  o = check.options("edit", o, { all = "boolean" })
  if old == "" then fail "edit: the old text is empty" end
  return event_of(self, "box.edit", { box = self.id, path = path_arg("edit", path), old = old, new = new, all = o.all })
end

function Box:glob(pattern)
  check.self(box_mt, self, "box", "glob")
  check.arg("glob", "pattern", pattern, "string")
  local v, err = ask(self, "box.glob", { box = self.id, pattern = pattern })
  if not v then return nil, err end
  return v.paths or {}
end

-- An address on the host that leads to a port of the box's own loopback.
function Box:url(port)
  check.self(box_mt, self, "box", "url")
  check.arg("url", "port", port, "integer")
  if port < 1 or port > 65535 then fail("url: invalid port: %d (expected 1 to 65535)", port) end
  local v, err = ask(self, "box.url", { box = self.id, port = port })
  if not v then return nil, err end
  return v.url
end

function Box:put(host, path)
  check.self(box_mt, self, "box", "put")
  return event_of(self, "box.put", { box = self.id, host = path_arg("put", host), path = path_arg("put", path) })
end

function Box:get(path, host)
  check.self(box_mt, self, "box", "get")
  return event_of(self, "box.get", { box = self.id, path = path_arg("get", path), host = path_arg("get", host) })
end

-- Versions -------------------------------------------------------------------------------------------------------

local snap_mt = check.class("sg.Snap", "snapshot", {}, { label = true, oid = true })

function Box:snapshot(label)
  check.self(box_mt, self, "box", "snapshot")
  check.arg("snapshot", "label", label, "string?")
  local v, err = call("box.snapshot", { box = self.id, label = label })
  if not v then return nil, err end
  return check.new(snap_mt, { event = v.event, oid = v.oid, label = label, name = label or v.event })
end

local function version(where, v)
  if v == nil or type(v) == "string" or math.type(v) == "integer" then return v end
  if type(v) == "table" and rt.core.metatable(v) == snap_mt then return v.event end
  fail("%s: expected a snapshot, a label, or an event number, got %s", where, check.type_of(v))
end

function Box:rollback(to)
  check.self(box_mt, self, "box", "rollback")
  if to == nil then fail "rollback: to what? (a snapshot, a label or the number of an event)" end
  return event_of(self, "box.rollback", { box = self.id, to = version("rollback", to) })
end

function Box:fork(o)
  check.self(box_mt, self, "box", "fork")
  o = check.options("fork", o, { name = "string", at = "any" })
  local v, err = call("box.fork", { box = self.id, name = o.name, at = version("fork", o.at) })
  if not v then return nil, err end
  return M.handle(v, self.state.on_lost)
end

local CONTEXT = 3   -- lines around a change, in every diff
local Diff = {}
local diff_mt = { __name = "sg.Diff", __metatable = false }
check.classes["sg.Diff"] = Diff
function diff_mt.__index(self, k)
  if type(k) == "number" then return self.files[k] end
  if Diff[k] then return Diff[k] end
  fail("diff has no '%s'%s", tostring(k), check.suggest(k, Diff))
end
function diff_mt.__len(self) return #self.files end
function diff_mt.__tostring(self) return self:stat() end

-- "src/lex.c | 8 +++---" for each file, then the sum.
function Diff:stat()
  local lines, added, removed = {}, 0, 0
  for i, f in ipairs(self.files) do
    local plus, minus = f.added or 0, f.removed or 0
    added, removed = added + plus, removed + minus
    local scale = math.max(1, (plus + minus) / 30)
    lines[i] = ("%s | %s"):format(f.path, f.note or (f.binary and "binary") or ("%d %s%s"):format(plus + minus,
      ("+"):rep(math.ceil(plus / scale)), ("-"):rep(math.ceil(minus / scale))))
  end
  lines[#lines + 1] = ("%d file%s changed, %d added, %d removed"):format(#self.files, #self.files == 1 and "" or "s",
    added, removed)
  return table.concat(lines, "\n")
end

function Diff:patch() return self.patch_text end

-- { context = n }: lines around each change, at most the three that the diff has.
function Diff:text(o)
  o = check.options("text", o, { context = "integer" })
  local n = o.context or CONTEXT
  if n < 0 or n > CONTEXT then fail("text: context is 0 to %d", CONTEXT) end
  return n == CONTEXT and self.patch_text or require("sandglass.hunks").context(self.patch_text, n)
end

function Box:diff(from, to)
  check.self(box_mt, self, "box", "diff")
  local v, err = call("box.diff", { box = self.id, from = version("diff", from), to = version("diff", to) })
  if not v then return nil, err end
  return rt.core.handle(setmetatable({ files = v.files or {}, lines = v.lines or 0, patch_text = v.patch or "" },
    diff_mt))
end

-- The branches of all targets that the merge brought.
local function brought(targets)
  local all = {}
  for _, t in ipairs(targets or {}) do
    for _, b in ipairs(t.branches or {}) do
      if b.ref then all[#all + 1] = { name = b.name, ref = b.ref, commits = b.commits } end
    end
  end
  return all
end

local MODES = { apply = true, commits = true, branch = true, patch = true }
function Box:merge(o)
  check.self(box_mt, self, "box", "merge")
  o = check.options("merge", o,
    { into = "string", mode = "string", branch = "string", review = "boolean", message = "string", ignored = "boolean" })
  if o.mode and not MODES[o.mode] then fail("merge: unknown mode '%s'%s", o.mode, check.suggest(o.mode, MODES)) end
  local v, err = call("box.merge", {
    box = self.id, into = o.into, mode = o.mode, branch = o.branch, review = o.review, message = o.message,
    ignored = o.ignored,
  })
  if not v then return nil, err end
  return v.event or 0, {
    ref = v.ref, taken = v.taken or {}, left = v.left or {}, partly = v.partly or {}, by = v.by,
    comments = v.comments or {}, counts = v.counts, paths = v.paths, unmerged = v.unmerged, notices = v.notices or {},
    branches = brought(v.targets), branches_left = v.branches_left or {},
  }
end

local MERGE_BOXES = {
  boxes = "list", into = "string", mode = "string", branch = "string", review = "boolean", message = "string",
  take = "string|list", leave = "string|list",
}
check.spec("sg.MergeOpts", MERGE_BOXES)

local function patterns(name, v)
  local list = type(v) == "string" and { v } or v or {}
  for i, p in ipairs(list) do
    if type(p) ~= "string" then fail("merge: %s[%d]: expected a string, got %s", name, i, check.type_of(p)) end
  end
  return #list > 0 and setmetatable(table.move(list, 1, #list, 1, {}), rt.core.array_mt) or nil
end

-- Merges several sandboxes in one step: all or none.
function M.merge(o)
  o = check.options("merge", o, MERGE_BOXES)
  if not o.boxes or #o.boxes < 2 then fail "merge: boxes: expected a list of two sandboxes or more" end
  if o.mode and (not MODES[o.mode] or o.mode == "patch") then
    fail("merge: mode is \"branch\", \"commits\", or \"apply\", not \"%s\"", o.mode)
  end
  local ids, seen = setmetatable({}, rt.core.array_mt), {}
  for i, box in ipairs(o.boxes) do
    check.arg("merge", ("boxes[%d]"):format(i), box, "sg.Box")
    if seen[box.id] then fail("merge: boxes: sandbox '%s' is named twice", box.name) end
    ids[i], seen[box.id] = box.id, true
  end
  local v, err = call("boxes.merge", {
    boxes = ids, into = o.into, mode = o.mode, branch = o.branch, review = o.review, message = o.message,
    take = patterns("take", o.take), leave = patterns("leave", o.leave),
  })
  if not v then return nil, err end
  local boxes = {}
  for i, b in ipairs(v.boxes or {}) do
    boxes[i] = {
      name = b.name, event = b.event, ref = b.ref, taken = b.taken or {}, left = b.left or {}, partly = b.partly or {},
      counts = b.counts, paths = b.paths, unmerged = b.unmerged, notices = b.notices or {},
      branches = brought(b.targets), branches_left = b.branches_left or {},
    }
  end
  return v.event or 0, {
    ref = v.ref, group = v.group, between = v.between or {}, both = v.both or {}, by = v.by, comments = v.comments or {},
    boxes = boxes,
  }
end

-- Life -----------------------------------------------------------------------------------------------------------

for _, verb in ipairs { "freeze", "thaw" } do
  Box[verb] = function(self)
    check.self(box_mt, self, "box", verb)
    local v, err = call("box." .. verb, { box = self.id })
    if not v then return nil, err end
    return true
  end
end

function Box:close()
  check.self(box_mt, self, "box", "close")
  if self.state.closed then return true end
  self.state.closed, open[self.id] = true, nil
  local v, err = call("box.close", { box = self.id })
  if not v then return nil, err end
  return true
end

-- The files left out of it and of its recording, as known now.
function Box:notices()
  check.self(box_mt, self, "box", "notices")
  local v, err = call("box.notices", { box = self.id })
  if not v then return nil, err end
  return v.notices or {}
end

-- The same for an agent, in its first message; "" when nothing is left out.
function M.left_out(box)
  local texts = box and box.state.notices
  if not texts or #texts == 0 then return "" end
  return "\n\nAbout your sandbox:\n- " .. table.concat(texts, "\n- ")
end

box_mt = check.class("sg.Box", "box", Box, { profile = true, workspace = true, caps = true, backend = true })
proc_mt = check.class("sg.Proc", "proc", Proc)
shell_mt = check.class("sg.Shell", "shell", Shell)
interpreter_mt = check.class("sg.Interpreter", "interpreter", Interpreter)
M.box_mt = box_mt

function M.handle(v, on_lost)
  local self = check.new(box_mt, {
    id = v.box, name = v.name or ("b" .. v.box), backend = v.backend, profile = v.profile, caps = v.caps or {},
    workspace = v.workspace or "/workspace", state = { project = v.project, notices = v.notices, owner = v.state, on_lost = on_lost },
  })
  open[v.box] = self
  return self
end

local SANDBOX = {
  name = "string", backend = "string", image = "string|table", build = "string|table", repo = "string|table", repos = "table", copy = "boolean",
  net = "string|table", proxies = "list", limits = "table", env = "table", user = "string", keep = "boolean",
  expose = "list", mask = "table", roots = "list",
  accept = "string", options = "table", trace = "string|boolean", hold_exec = "string|list", on_lost = "string",
  honeytokens = "boolean|list",
}
-- Options of a single backend; they travel in `options`.
local OWN = {
  ssh = { host = "string", user = "string", port = "integer", key = "string", config = "string", dir = "string" },
  vm = { kernel = "string", modules = "string", accel = "string" },
  pyodide = { package = "string", node = "string" },
}
local every = {}
for _, spec in ipairs { SANDBOX, OWN.ssh, OWN.vm, OWN.pyodide } do
  for k, v in pairs(spec) do every[k] = v end
end
check.spec("sg.SandboxOpts", every)
local BOX_LIMITS = {
  mem = "size", cpus = "number", pids = "integer", disk = "size", files = "integer", time = "time", gpu = "integer",
}
local HAS_GPUS = { container = true, kubernetes = true, daytona = true }   -- and what a plugin of one's own may have
local BACKENDS = { "process", "container", "vm", "host", "ssh", "e2b", "daytona", "runloop", "modal", "kubernetes",
  "mcp", "pyodide" }

local function known_backend(name)
  for _, b in ipairs(BACKENDS) do if b == name then return end end
  local near = check.nearest(name, BACKENDS)
  if near then fail("sandbox: unknown backend '%s'; did you mean '%s'?", name, near) end
end

local function repositories(o)
  if o.repo ~= nil and o.repos ~= nil then fail "sandbox: 'repo' and 'repos' at once" end
  local r = o.repo == nil and o.repos or o.repo
  if type(r) ~= "table" then return r end
  for name, path in pairs(r) do
    if type(name) ~= "string" or type(path) ~= "string" or name == "" or name:find "[/%z]" or name:sub(1, 1) == "." then
      fail "sandbox: repos holds names (no '/') with paths: { api = \"../api\", web = \"../web\" }"
    end
  end
  return r
end

-- The backend's own options: those of @o and those of o.options.
local function own_options(o, backend)
  local own, spec, all = OWN[backend], {}, nil
  for k, v in pairs(SANDBOX) do spec[k] = v end
  for k, v in pairs(own or {}) do spec[k] = v end
  check.options("sandbox", o, spec)
  for k in pairs(own or {}) do
    if o[k] ~= nil and not all then
      all = {}
      for name, v in pairs(o.options or {}) do all[name] = v end
    end
    if o[k] ~= nil then all[k] = o[k] end
  end
  return all or o.options
end

-- Which processes are recorded below the commands that started them.
local function watching(o)
  local hold = type(o.hold_exec) == "string" and { o.hold_exec } or o.hold_exec
  for i, p in ipairs(hold or {}) do
    if type(p) ~= "string" or p:match "^%s*$" then fail("sandbox: hold_exec: pattern %d: expected a command like \"git push *\"", i) end
  end
  if o.trace ~= nil and o.trace ~= "exec" and type(o.trace) ~= "boolean" then
    fail("sandbox: trace is \"exec\" or false, not \"%s\"", o.trace)
  end
  if o.trace == false and hold then fail "sandbox: hold_exec needs trace" end
  if not o.trace and not hold then return nil end
  return { exec = true, hold = hold }
end

-- GPUs travel in the options: few can ask for them, and nobody else is to leave them out in silence.
local function with_gpus(options, n, backend)
  if not n then return options end
  backend = backend or "process"
  if n < 1 or n > 64 then fail("sandbox: limits: gpu is a number from 1 to 64, not %d", n) end
  if not HAS_GPUS[backend] and not backend:find "%.lua$" then
    fail("sandbox: limits: backend '%s' has no GPUs; use \"container\", \"kubernetes\", or \"daytona\"", backend)
  end
  local all = { gpu = n }
  for name, v in pairs(options or {}) do all[name] = v end
  return all
end

-- Opens a box; raises when that fails, since nothing can follow without it.
function M.sandbox(o) return M.open_with(o, {}) end

-- One whose state a later one can continue when it is closed (asleep); @state: what an earlier one has left.
function M.open_of(state, o) return M.open_with(o, { state = state, stays = true }) end

function M.open_with(o, more)
  local backend = type(o) == "table" and o.backend or rt.env.backend
  local options = own_options(o or {}, backend)
  o = o or {}
  if o.backend then known_backend(o.backend) end
  if o.on_lost and o.on_lost ~= "error" and o.on_lost ~= "restore" then
    fail("sandbox: on_lost is \"error\" or \"restore\", not \"%s\"", o.on_lost)
  end
  if type(o.net) == "string" and o.net ~= "none" then
    fail("sandbox: net is \"none\" or a list of \"host:port\", not \"%s\"", o.net)
  end
  local proxies, net = o.proxies, o.net
  if type(net) == "table" and net.only then
    check.options("sandbox: net", net, { only = "sg.Proxy" })
    proxies, net = { net.only }, nil
  end
  hosts("sandbox", net)
  if o.mask then check.options("sandbox: mask", o.mask, { history = "boolean" }) end
  local limits
  if o.limits then
    local l = check.options("sandbox: limits", o.limits, BOX_LIMITS)
    limits = {
      mem_bytes = l.mem and check.bytes(l.mem), cpus_milli = l.cpus and math.floor(l.cpus * 1000 + 0.5), pids = l.pids,
      disk_bytes = l.disk and check.bytes(l.disk), files = l.files, time_us = check.us(l.time),
    }
    options = with_gpus(options, l.gpu, backend)
  end
  local v, err = call("box.open", {
    state = more.state, stays = more.stays,
    name = o.name, backend = o.backend or rt.env.backend, image = o.image, build = o.build,
    repo = repositories(o), copy = o.copy,
    net = net, proxies = proxy.specs(proxies),
    limits = limits, env = o.env, user = o.user, keep = o.keep, expose = o.expose, mask = o.mask, accept = o.accept,
    options = options, roots = o.roots, trace = watching(o), honeytokens = o.honeytokens,
  })
  if not v then error(err, 0) end
  return M.handle(v, o.on_lost)
end

return M
