-- The first chunk of a host. It is given `core` (src/script/env.h) and returns the function that takes frames.
-- Here: the error type, tasks and their scopes, calls to the supervisor, require, the script's globals.
-- What is local to the host's other modules they get as require "sandglass.runtime".

local core = ...
local co_create, co_resume, co_yield, co_status = coroutine.create, coroutine.resume, coroutine.yield, coroutine.status
local co_isyieldable = coroutine.isyieldable
local pack, unpack, concat = table.pack, table.unpack, table.concat
local format, type, error, pcall, xpcall, select = string.format, type, error, pcall, xpcall, select
local setmetatable, tostring, pairs, ipairs = setmetatable, tostring, pairs, ipairs

local rt = { core = core, env = {}, observers = {}, agents = {},
  tainted = {} }            -- agents that have read what came from outside
local current            -- the task that runs now
local now_us, start_us = 0, 0

-- Errors ---------------------------------------------------------------------------------------------------------

local Error = { __name = "sg.Error", __metatable = false }
Error.__index = Error

local EXIT = { script = 3, denied = 4, budget = 5, timeout = 5, backend = 6, model = 7, cancelled = 130, diverged = 10 }

function Error.__tostring(e)
  local text = e.msg or e.code
  if e.why and not text:find(e.why, 1, true) then text = text .. ": " .. e.why end
  if e.code == "script" and e.at and not text:find("^[^%s:]+:%d+: ") then text = text .. " at " .. e.at end
  if e.hint then text = text .. ". " .. e.hint end
  return text
end

-- Makes an error value; `e` has at least code and msg.
function rt.err(e)
  e.exit = e.exit or EXIT[e.code] or 1
  return setmetatable(e, Error)
end
local err = rt.err

function rt.is_error(v) return type(v) == "table" and core.metatable(v) == Error end
local is_error = rt.is_error

-- A mistake in the script: raises at the line of the script that led here.
function rt.fail(fmt, ...)
  local at = core.where() or (current and current.at) or rt.script   -- a tail call leaves no line behind
  error(err { code = "script", msg = select("#", ...) > 0 and format(fmt, ...) or fmt, at = at, trace = core.trace() },
    0)
end
local fail = rt.fail

-- Whatever was raised becomes an error value.
local function as_error(e)
  if is_error(e) then return e end
  local kind = type(e)
  local msg = (kind == "string" or kind == "number") and tostring(e) or ("(error object is a " .. kind .. ")")
  return err { code = "script", msg = msg, at = core.where(), trace = core.trace(),
    cause = kind == "table" and e or nil }
end
rt.as_error = as_error

-- Tasks ----------------------------------------------------------------------------------------------------------
-- A task is a coroutine with a place in the tree of scopes. It waits by parking a table in task.waiting; the code that wakes
-- it puts it at the end of the ready list. Order is first in, first out, and nothing else.

local WAIT = {}          -- what a parked coroutine yields
local ready, first, last = {}, 1, 0
local calls, next_call, under_way = {}, 2, 0   -- call 1 was boot.lua itself
local next_task = 1
local root

local function wake(t, ...)
  if not t.waiting then return end
  t.waiting = nil
  t.values = select("#", ...) > 0 and pack(...) or nil
  last = last + 1
  ready[last] = t
end
rt.wake = wake

-- Raises if the task is to stop (and nothing shields it).
local function checkpoint(t)
  if t.shielded > 0 then return end
  if t.cancelled then error(t.cancelled, 0) end
  if t.abort then error(t.abort.err, 0) end
end

function rt.current() return current end

-- Waits until wake(task, ...); returns what was given. If `w` is a call (it has an id), cancelling the task drops the
-- call and continues to wait for its answer.
local NOTHING = {}
local function park(w)
  local t = current
  if not t then fail "can't wait here: no task is running" end
  if not co_isyieldable() then fail "can't wait here: inside a sort, gsub, or metamethod of the C library" end
  t.waiting = w or NOTHING
  co_yield(WAIT)
  local values = t.values
  if not values then return end
  t.values = nil
  return unpack(values, 1, values.n)
end

-- As park, but raises when the task is cancelled.
function rt.wait(w)
  checkpoint(current or fail "can't wait here: no task is running")
  local values = pack(park(w))
  checkpoint(current)
  return unpack(values, 1, values.n)
end

local function drop(w)
  if w.dropped then return end
  w.dropped = true
  core.send("cancel", w.id, {})
end

-- Ends what the task waits for, so that it can see why.
local function interrupt(t)
  local w = t.waiting
  if not w or t.shielded > 0 then return end
  if w.id then drop(w) else wake(t) end
end

local function cancel(t, e)
  if t.done or t.cancelled then return end
  t.cancelled = e
  interrupt(t)
end
rt.cancel = cancel

-- A scope holds the tasks that were started in one block. A task's own is made when it is first needed.
local function scope_open(explicit)
  local s = { owner = current, outer = current.scope, children = {}, alive = 0, explicit = explicit }
  current.scope = s
  return s
end
rt.scope_open = scope_open

function rt.home(t)
  if not t.scope then t.scope = { owner = t, children = {}, alive = 0 } end
  return t.scope
end

local function scope_cancel(s, e)
  for _, t in pairs(s.children) do cancel(t, e) end   -- by number of the task
end
rt.scope_cancel = scope_cancel

-- Leaves the scope: waits for its tasks (and cancels them first unless `ok`). Returns the first error nobody has seen.
local function scope_close(s, ok, why)
  local t = current
  if not ok then scope_cancel(s, why or err { code = "cancelled", msg = "cancelled: its block has ended" }) end
  while s.alive > 0 do
    if t.shielded == 0 and t.cancelled and not s.cancelled then
      s.cancelled = true
      scope_cancel(s, t.cancelled)
    end
    s.joining = true
    park()
    s.joining = false
  end
  t.scope = s.outer
  if t.abort and t.abort.scope == s then t.abort = nil end
  for _, child in pairs(s.children) do
    if child.err and not child.seen and child.err.code ~= "cancelled" then return child.err end
  end
end
rt.scope_close = scope_close

local function finish(t)
  t.done = true
  local s = t.home
  if s then
    s.alive = s.alive - 1
    if not t.err then s.children[t.id] = nil end
    local awaited = t.awaiters and #t.awaiters > 0
    if t.err and not t.seen and not awaited and s.explicit and not s.owner.done and t.err.code ~= "cancelled" then
      scope_cancel(s, err { code = "cancelled", msg = "cancelled: another task of its scope failed" })
      if not s.owner.abort then
        s.owner.abort = { scope = s, err = t.err }
        if not s.joining then interrupt(s.owner) end
      end
    end
    if s.joining or s.watching then wake(s.owner) end
  end
  if t.awaiters then
    for _, a in ipairs(t.awaiters) do wake(a, "done") end
  end
end

-- The whole life of a task: body, then its implicit scope.
local function live(t, fn, ...)
  local r = pack(xpcall(fn, as_error, ...))
  if not r[1] then r[2] = as_error(r[2]) end   -- a full stack leaves no room for the handler
  local lost = t.scope and scope_close(t.scope, r[1], not r[1] and r[2].code == "cancelled" and r[2] or nil)
  if r[1] and lost then r = { false, lost, n = 2 } end
  if r[1] then t.results = r else t.err = r[2] end
  finish(t)
end

-- Starts fn(...) as a task of `scope` (nil: nobody waits for it). It runs when its turn comes.
function rt.spawn(scope, fn, ...)
  local parent = current
  local t = {
    id = next_task, shielded = 0, home = scope,
    agent = parent and parent.agent or 0, tool = parent and parent.tool, said = parent and parent.said,
    at = core.where() or (parent and parent.at), chat = parent and parent.chat,
  }
  next_task = next_task + 1
  t.co = co_create(live)
  if scope then
    scope.children[t.id] = t
    scope.alive = scope.alive + 1
  end
  t.waiting = WAIT
  wake(t, t, fn, ...)   -- the first resume takes them
  return t
end

-- Calls ----------------------------------------------------------------------------------------------------------

local outgoing = {}      -- of the frame that is being sent; one table for all of them

local function send_call(kind, id, op, args)
  local t = current
  outgoing.op, outgoing.at, outgoing.args = op, core.where() or (t and t.at), args or {}
  outgoing.task, outgoing.agent, outgoing.tool, outgoing.said = t and t.id or 0, t and t.agent or 0, t and t.tool,
    t and t.said
  outgoing.tainted = rt.tainted[outgoing.agent]
  local ok, e = pcall(core.send, kind, id, outgoing)
  outgoing.args = nil
  if not ok then fail("%s: %s", op, e) end
end

function rt.tell(op, args) send_call("tell", 0, op, args) end

local function open_call(op, args, w)
  w.id = next_call
  next_call = next_call + 1
  send_call("call", w.id, op, args)
  calls[w.id] = w
  under_way = under_way + 1
  return w
end

-- Calls @fn(answer) when the operation has ended, in no task. Returns a function that drops it.
function rt.later(op, args, fn)
  local w = open_call(op, args, { fn = fn })
  return function()
    w.fn = nil
    if calls[w.id] then drop(w) end
  end
end

-- The output of a command up to its stop.
local function partial_result(r)
  if type(r) ~= "table" then return nil end
  r.out, r.err, r.cut, r.ok = r.out or "", r.err or "", r.cut or false, false
  return r
end

local function answer_error(e)
  if type(e) ~= "table" then e = { code = "backend", msg = tostring(e) } end
  return err {
    code = e.code or "backend", msg = e.msg or e.code or "failed", why = e.why, rule = e.rule, event = e.event,
    exit = e.exit, hint = e.hint,
    retry = e.retry, result = partial_result(e.result),
  }
end

-- Runs the callback on each chunk in the task itself; a callback that raises stops the call first, then raises.
local function pump(t, w, on_chunk)
  local failed
  while true do
    while w.queue and w.queue[1] do
      local body = table.remove(w.queue, 1)
      if on_chunk and not failed and not t.cancelled then
        local ok, e = pcall(on_chunk, body)
        if not ok then
          failed = e
          drop(w)
        end
      end
    end
    if w.answer then break end
    park(w)
  end
  if failed then error(failed, 0) end
end

-- The one way out: returns the value, or nil and an error.
function rt.call(op, args, on_chunk)
  local t = current
  if not t then fail "can't be called here: no task is running" end
  checkpoint(t)
  if not co_isyieldable() then fail "can't wait here: inside a sort, gsub, or metamethod of the C library" end
  local w = open_call(op, args, { task = t })
  pump(t, w, on_chunk)
  local a = w.answer
  if t.cancelled and a.err and not t.cancelled.result then t.cancelled.result = partial_result(a.err.result) end
  checkpoint(t)
  if a.err then
    local e = answer_error(a.err)
    e.at = core.where() or t.at
    return nil, e
  end
  return a.value == nil and {} or a.value
end

-- Waits at most `us`; returns true when the time is up first.
function rt.wait_at_most(us, w)
  if not us then return false, rt.wait(w) end
  local t = current
  local late = false
  local drop = rt.later("sleep", { us = us }, function() late = true; wake(t, "late") end)
  local ok, e = pcall(rt.wait, w)
  if not late then drop() end
  if not ok then error(e, 0) end
  return late, e
end

function rt.shield(fn, ...)
  local t = current
  t.shielded = t.shielded + 1
  local r = pack(pcall(fn, ...))
  t.shielded = t.shielded - 1
  if not r[1] then error(r[2], 0) end
  return unpack(r, 2, r.n)
end

function rt.now() return now_us end

-- Modules --------------------------------------------------------------------------------------------------------

local loaded, loading = { ["sandglass.runtime"] = rt }, {}
local G                  -- globals of scripts
local L                  -- globals of the library: a script that changes its own breaks only itself

local function chunk_name(name, path)
  if name:sub(1, 10) == "sandglass." or name == "sandglass" then
    return "@sandglass/" .. (name == "sandglass" and "init" or name:sub(11):gsub("%.", "/")) .. ".lua"
  end
  return "@" .. (path or name)
end

local function require_module(name)
  if type(name) ~= "string" then fail("require: expected a name, got %s", type(name)) end
  if loaded[name] ~= nil then return loaded[name] end
  if loading[name] then fail("require: '%s' needs itself", name) end
  local answer, e = rt.call("module", { name = name })
  if not answer then
    local near = name:sub(1, 4) == "sand" and not name:find "[./]" and name ~= "sandglass"
    fail("require: can't find '%s'%s: %s", name, near and "; did you mean 'sandglass'?" or "", e.msg)
  end
  local library = name:sub(1, 10) == "sandglass." or name == "sandglass"
  local chunk, wrong = core.load(answer.text, chunk_name(name, answer.path), library and L or G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  loading[name] = true
  local ok, value = xpcall(chunk, as_error, name)
  loading[name] = nil
  if not ok then error(value, 0) end
  loaded[name] = value == nil and true or value
  return loaded[name]
end
rt.require = require_module

-- The script's globals --------------------------------------------------------------------------------------------

-- Stable, in Lua: the comparison may wait, and equal elements keep their order in each run.
local function sort(t, less)
  if type(t) ~= "table" then fail("table.sort: expected a table, got %s", type(t)) end
  local n = #t
  if n > 10000000 then fail "table.sort: too many elements" end
  less = less or function(a, b) return a < b end
  local a, b = t, {}
  local width = 1
  while width < n do
    for lo = 1, n, 2 * width do
      local mid, hi = math.min(lo + width, n + 1), math.min(lo + 2 * width, n + 1)
      local i, j = lo, mid
      for k = lo, hi - 1 do
        if i < mid and (j >= hi or not less(a[j], a[i])) then
          b[k] = a[i]
          i = i + 1
        else
          b[k] = a[j]
          j = j + 1
        end
      end
    end
    a, b = b, a
    width = width * 2
  end
  if a ~= t then for i = 1, n do t[i] = a[i] end end
end

-- A coroutine of the script that waits for the supervisor hands the wait on to the task it runs in.
local function resume(co, ...)
  local function pass(ok, tag, ...)
    if ok and tag == WAIT and co_status(co) == "suspended" then
      co_yield(WAIT)
      return pass(co_resume(co))
    end
    return ok, tag, ...
  end
  return pass(co_resume(co, ...))
end

local function wrap(fn)
  local co = co_create(fn)
  local function pass(ok, ...)
    if not ok then error(..., 0) end
    return ...
  end
  return function(...) return pass(resume(co, ...)) end
end

local function line_of(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  return out
end

local function note(text, nl)
  if not nl then return rt.tell("note", { level = "print", text = text, nl = false }) end
  rt.tell("note", { level = "print", text = text })
end

local function os_time(t)
  if t == nil then return now_us // 1000000 end
  return core.ostime(t)
end

local function seed_random(hex)
  local a, b = tonumber(hex:sub(1, 15), 16) or 0, tonumber(hex:sub(16, 30), 16) or 0
  math.randomseed(a, b)
end

-- Functions that scripts lack, with their replacements: the call raises an error; a library's test for their presence doesn't.
local INSTEAD = {
  io = { open = "use box:read and box:write in a sandbox", lines = "use box:read in a sandbox", read = "use sg.ask to ask the user",
    popen = "use box:exec to run a command in a sandbox" },
  os = { execute = "use box:exec to run a command in a sandbox", getenv = "use sg.args for values and sg.secret for credentials",
    exit = "sg.exit ends a script", remove = "use box:exec in a sandbox", rename = "use box:exec in a sandbox",
    tmpname = "a sandbox has its own /tmp" },
}
local function instead(g)
  for lib, names in pairs(INSTEAD) do
    for name, what in pairs(names) do
      g[lib][name] = function() fail("%s.%s: a script can't reach files, processes, or variables of the host; %s", lib, name, what) end
    end
  end
end

local function globals()
  local g = _G
  g.require = require_module
  g.print = function(...) note(concat(line_of(...), "\t"), true) end
  g.io = { write = function(...) note(concat(line_of(...)), false) end }
  g.os = {
    time = os_time,
    clock = function() return (now_us - start_us) / 1e6 end,
    date = function(f, t) return core.date(f or "%c", t or os_time()) end,
    difftime = core.difftime,
  }
  instead(g)
  g.table.sort = sort
  g.coroutine.resume, g.coroutine.wrap = resume, wrap
  local randomseed, random = math.randomseed, math.random
  g.math.randomseed = function(a, ...)
    if a == nil then return randomseed(random(0), random(0)) end
    return randomseed(a, ...)
  end
  return g
end

local function library_globals(g)
  local copy = {}
  for k, v in pairs(g) do
    if type(v) == "table" and v ~= g then
      local t = {}
      for name, item in pairs(v) do t[name] = item end
      v = t
    end
    copy[k] = v
  end
  copy._G = copy
  return copy
end

-- The script's life -----------------------------------------------------------------------------------------------

local function plain_error(e)
  return { code = e.code, msg = e.msg, why = e.why, rule = e.rule, event = e.event, exit = e.exit, hint = e.hint }
end

-- An uncaught error with its line: the text of an action's error does not contain it.
local function last_words(e)
  local text = tostring(e)
  if not e.at or e.code == "script" or e.code == "cancelled" then return text end
  return e.at .. ": " .. text
end

local ended
local function the_end(t)
  ended = true
  local x = rt.exiting
  if x then
    core.send("end", 0, { ok = x.code == 0, code = x.code, why = x.why })
  elseif t.err then
    local e = t.err
    core.send("end", 0, { ok = false, code = e.exit or 3, why = last_words(e), err = plain_error(e), trace = e.trace,
      at = e.at })
  else
    core.send("end", 0, { ok = true, code = 0 })
  end
end

-- Unwinds the whole script; it ends with this status.
function rt.exit(code, why)
  local e = err { code = "cancelled", msg = "the script ends", exit = code }
  if not rt.exiting then rt.exiting = { code = code, why = why } end
  cancel(root, e)
  error(e, 0)
end

local modes = {}

function modes.script(start)
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  chunk(unpack(rt.argv))
end
modes.test = modes.script

-- Policy and config: runs the file once, hands the data over, then serves its functions.
function modes.policy(start)
  local made = require_module "sandglass.policy"
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  core.send("result", 0, made.result(chunk(), start.script))
  rt.judge = made.judge
  rt.wait()
end

function modes.config(start)
  local made = require_module "sandglass.config"
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  core.send("result", 0, made.result(chunk(), start.script))
end

-- Checks over a recorded session: runs them and hands over what they found.
function modes.checks(start)
  local made = require_module "sandglass.verify"
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  core.send("result", 0, made.run(chunk(unpack(rt.argv)), start.script))
end

-- A suite of scenarios: as plain data, and the expectations of one of them over a recorded session.
function modes.suite(start)
  local made = require_module "sandglass.suite"
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  core.send("result", 0, made.run(chunk(), start.script, rt.argv[1]))
end

-- A theme of the console: a table of roles, checked by who asked for it.
function modes.theme(start)
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  local made = chunk()
  if type(made) ~= "table" then error(err { code = "script", msg = start.script .. ": a theme returns a table" }, 0) end
  core.send("result", 0, made)
end

-- A plugin: says what it is, then answers what it is asked.
function modes.plugin(start)
  local made = require_module "sandglass.plugin"
  local chunk, wrong = core.load(start.text, "@" .. start.script, G)
  if not chunk then error(err { code = "script", msg = wrong }, 0) end
  local plugin = chunk()
  core.send("result", 0, made.face(plugin))
  rt.serve = function(ask) return made.serve(plugin, ask) end
  rt.wait()
end

local function start(body)
  start_us = body.t or 0
  rt.argv, rt.script, rt.mode, rt.env = body.args or {}, body.script, body.mode, body.env or {}
  seed_random(body.seed or "0")
  G = globals()
  L = library_globals(G)
  local mode = modes[body.mode or "script"]
  if not mode then
    ended = true
    return core.send("end", 0, { ok = false, code = 70, why = "no mode '" .. tostring(body.mode) .. "'" })
  end
  root = rt.spawn(nil, function() mode(body) end)
  rt.root = root
end

-- Frames ---------------------------------------------------------------------------------------------------------

local on = { start = function(_, body) start(body) end }

function on.answer(id, body)
  local w = calls[id]
  if not w then return end
  calls[id] = nil
  under_way = under_way - 1
  w.answer = body
  if w.task then
    if w.task.waiting == w then wake(w.task) end
  elseif w.fn then
    w.fn(body)
  end
end

function on.chunk(id, body)
  local w = calls[id]
  if not w or not w.task then return end
  w.queue = w.queue or {}
  w.queue[#w.queue + 1] = body
  if w.task.waiting == w then wake(w.task) end
end

function on.message(_, body)
  local a = rt.agents[body.agent or 0]
  if not a then return end
  a.inbox[#a.inbox + 1] = body
  if a.heard then a.heard() end
end

function on.stop(_, body)
  local e = err { code = "cancelled", msg = "stopped", why = body.why }
  if body.turn then   -- only what it does at the moment
    local a = rt.agents[body.agent]
    if a and a.break_off then return a.break_off(body.why) end
    rt.tell("note", { level = "warn", text = "kill --turn: it has no turn of its own to break off; kill without --turn ends it" })
  elseif body.agent then
    local a = rt.agents[body.agent]
    if a then cancel(a.task, e) end
  elseif body.task then
    for _, t in ipairs(rt.all_tasks()) do if t.id == body.task then cancel(t, e) end end
  else
    cancel(root, e)
  end
end

function on.event(_, body)
  if body.event == "box" then return rt.box_moved and rt.box_moved(body.body) end
  if body.event == "model" then
    rt.fork_model = body.body.model
    return
  end
  for _, fn in ipairs(rt.observers[body.event] or {}) do
    rt.spawn(nil, function()
      local ok, e = xpcall(fn, as_error, body.body or {})
      if not ok then
        rt.tell("note", { level = "warn", text = "observer of '" .. body.event .. "': " .. tostring(e) })
      end
    end)
  end
end

function on.judge(id, body)
  if not rt.judge then return core.send("verdict", id, { err = { msg = "no policy is loaded" } }) end
  core.send("verdict", id, rt.judge(body))
end

function on.ask(id, body)
  if not rt.serve then return core.send("value", id, { err = { msg = "no plugin is loaded" } }) end
  local ok, v = xpcall(rt.serve, as_error, body)
  core.send("value", id, ok and { value = v } or { err = { msg = tostring(v) } })
end

-- Every task that is alive, through the tree of scopes.
function rt.all_tasks()
  local list = {}
  local function visit(t)
    if t.done then return end
    list[#list + 1] = t
    local s = t.scope
    while s do
      for _, child in pairs(s.children) do visit(child) end
      s = s.outer
    end
  end
  visit(root)
  return list
end

local function run()
  while first <= last and not ended do
    local t = ready[first]
    ready[first] = nil
    first = first + 1
    current = t
    local ok, e
    local values = t.values
    if t.begun then
      ok, e = co_resume(t.co)
    else
      t.begun, t.values = true, nil
      ok, e = co_resume(t.co, unpack(values, 1, values.n))
    end
    current = nil
    if not ok then error(e, 0) end   -- a mistake of this file: tasks catch their own errors
    if t == root and t.done then the_end(t) end
  end
  if first > last then first, last = 1, 0 end
end

-- Nothing is under way and nobody watches: no frame will ever wake anybody.
local function stuck()
  if ended or under_way > 0 or not root or root.done or rt.judge or rt.serve or next(rt.observers) then return false end
  local places = {}
  for _, t in ipairs(rt.all_tasks()) do places[#places + 1] = core.where(t.co) or t.at end
  cancel(root, err {
    code = "script", msg = "deadlock: every task waits for another task", why = concat(places, ", "),
    at = places[1],
  })
  return true
end

return function(kind, id, body)
  if body.t then now_us = body.t end
  on[kind](id, body)
  repeat run() until not stuck()
  return under_way
end
