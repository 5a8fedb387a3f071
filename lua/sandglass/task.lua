-- Structured concurrency. A task belongs to the block that started it; nothing outlives its block.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail, pack, unpack = rt.fail, table.pack, table.unpack
local type, pairs, ipairs, pcall, error, select = type, pairs, ipairs, pcall, error, select

local sg = {}
local Task, Channel = {}, {}
local task_mt, channel_mt

local function timeout_error(where, us)
  return rt.err { code = "timeout", msg = ("%s: no end after %gs"):format(where, us / 1e6), at = rt.core.where() }
end

-- The result of a task: its values, or nil and the error.
local function outcome(t)
  t.seen = true
  if t.err then return nil, t.err end
  return unpack(t.results, 2, t.results.n)
end

-- Tasks ----------------------------------------------------------------------------------------------------------

-- Waits for the task: its values, or nil and an error. A time-out leaves it running.
function Task:await(timeout)
  check.self(task_mt, self, "task", "await")
  local t, us = self.task, check.us(check.arg("await", "timeout", timeout, "time?"))
  if not t.done then
    t.awaiters = t.awaiters or {}
    t.awaiters[#t.awaiters + 1] = rt.current()
    local late = rt.wait_at_most(us)
    for i, a in ipairs(t.awaiters) do
      if a == rt.current() then table.remove(t.awaiters, i) break end
    end
    if late and not t.done then return nil, timeout_error("await", us) end
  end
  return outcome(t)
end

function Task:cancel(why)
  check.self(task_mt, self, "task", "cancel")
  check.arg("cancel", "why", why, "string?")
  rt.cancel(self.task, rt.err { code = "cancelled", msg = "cancelled", why = why })
end

function Task:done()
  check.self(task_mt, self, "task", "done")
  return self.task.done == true
end

-- Leaving the block of a `local t <close>`: cancelled and waited for.
function Task:close()
  self:cancel "its block has ended"
  local t = self.task
  t.seen = true
  if not t.done then
    t.awaiters = t.awaiters or {}
    t.awaiters[#t.awaiters + 1] = rt.current()
    repeat rt.wait() until t.done
  end
end

task_mt = check.class("sg.Task", "task", Task)

function sg.spawn(fn, ...)
  check.arg("spawn", "the first argument", fn, "function")
  local here = rt.current() or fail "spawn: outside of any task"
  local t = rt.spawn(rt.home(here), fn, ...)
  return check.new(task_mt, { id = t.id, task = t })
end

-- Blocks ---------------------------------------------------------------------------------------------------------

-- Runs fn() in a scope of its own; returns when it and all tasks it started have ended. The first failure cancels the
-- others and is raised here.
function sg.scope(fn)
  check.arg("scope", "the argument", fn, "function")
  local s = rt.scope_open(true)
  local r = pack(xpcall(fn, rt.as_error))
  local abort = rt.current().abort
  local lost = rt.scope_close(s, r[1])
  if not r[1] then error(r[2], 0) end
  if abort and abort.scope == s then error(abort.err, 0) end
  if lost then error(lost, 0) end
  return unpack(r, 2, r.n)
end

function sg.shield(fn, ...)
  check.arg("shield", "the argument", fn, "function")
  return rt.shield(fn, ...)
end

function sg.sleep(s)
  local us = check.us(check.arg("sleep", "the time", s, "time"))
  local ok, err = rt.call("sleep", { us = us })
  if not ok then error(err, 0) end
end

-- Runs run(i) for 1..n as tasks, at most `limit` at a time, all in their own scope. after(i, task)
-- is called for each end in order and returns true to stop the rest.
local function group(where, n, limit, timeout_us, run, after)
  local s = rt.scope_open(false)
  s.watching = true
  local owner, late, started, told, tasks = rt.current(), false, 0, 0, {}
  local drop = timeout_us and rt.later("sleep", { us = timeout_us }, function() late = true rt.wake(owner) end)
  local over
  local function look()
    local open = 0
    for i = 1, started do
      local t = tasks[i]
      if t.done and not t.told then
        t.told, t.seen = true, true
        told = told + 1
        over = after(i, t) or over
      elseif not t.done then
        open = open + 1
      end
    end
    return open
  end
  local ok, err = pcall(function()
    while not over and not late and told < n do
      local open = look()
      while not over and started < n and open < limit do
        started = started + 1
        tasks[started] = rt.spawn(s, run, started)
        open = open + 1
      end
      if over or told >= n then break end
      rt.wait()
    end
  end)
  s.watching = false
  if drop and not late then drop() end
  local stop = late and timeout_error(where, timeout_us) or nil
  rt.scope_close(s, ok and not over and not late, stop or (not ok and err) or nil)
  if not ok then error(err, 0) end
  for i = 1, started do tasks[i].seen = true end
  return stop, tasks
end

-- value, error and "raised" of an ended task of a group.
local function ended(t)
  if t.err then return nil, t.err, true end
  local v, e = t.results[2], t.results[3]
  if v == nil and rt.is_error(e) then return nil, e, false end
  if v == nil then v = false end   -- a list without holes
  return v
end

local GROUP = { limit = "integer", timeout = "time", on_error = "string" }

local function many(where, n, o, run)
  o = check.options(where, o, GROUP)
  if o.limit and o.limit < 1 then fail("%s: limit: expected at least 1, got %d", where, o.limit) end
  local collect = o.on_error == "collect"
  if o.on_error and not collect and o.on_error ~= "cancel" then
    fail("%s: on_error is \"cancel\" or \"collect\", not \"%s\"", where, o.on_error)
  end
  local results, first, raised = {}, nil, false
  local stop, tasks = group(where, n, o.limit or n, check.us(o.timeout), run, function(i, t)
    local v, e, r = ended(t)
    if e and not collect then
      first, raised = first or e, r
      return true
    end
    results[i] = e or v
  end)
  if first and raised then error(first, 0) end
  if first then return nil, first end
  if stop and not collect then return nil, stop end
  for i = 1, n do
    if results[i] == nil then
      local t = tasks[i]
      if t and not t.err then results[i] = ended(t) else results[i] = stop end
    end
  end
  return results
end

-- fn(item, i) for each item, at the same time. Results in the order of the list; nil becomes false.
function sg.map(list, fn, o)
  check.arg("map", "the list", list, "table")
  check.arg("map", "the function", fn, "function")
  return many("map", #list, o, function(i) return fn(list[i], i) end)
end

-- All functions of a table at the same time; results under the same keys.
function sg.all(fns, o)
  check.arg("all", "the argument", fns, "table")
  local keys = {}
  for k, fn in pairs(fns) do
    check.arg("all", "'" .. tostring(k) .. "'", fn, "function")
    keys[#keys + 1] = k
  end
  local list, err = many("all", #keys, o, function(i) return fns[keys[i]]() end)
  if not list then return nil, err end
  local out = {}
  for i, k in ipairs(keys) do out[k] = list[i] end
  return out
end

-- The first value wins, the rest is cancelled and waited for. Only if all fail: nil and the last error.
function sg.race(fns, o)
  check.arg("race", "the argument", fns, "table")
  o = check.options("race", o, { timeout = "time" })
  for i, fn in ipairs(fns) do check.arg("race", "function " .. i, fn, "function") end
  if #fns == 0 then fail "race: no functions" end
  local won, last
  local stop = group("race", #fns, #fns, check.us(o.timeout), function(i) return fns[i]() end, function(i, t)
    local v, e = ended(t)
    if e then
      last = e
      return false
    end
    won = won or { v, i }
    return true
  end)
  if won then return won[1], won[2] end
  return nil, stop or last
end

-- Runs fn() with a time limit. Returns its values, or nil and an error with code "timeout". Raises fn's errors.
function sg.timeout(s, fn, ...)
  local us = check.us(check.arg("timeout", "the time", s, "time"))
  check.arg("timeout", "the function", fn, "function")
  local args, task = pack(...), nil
  local stop, tasks = group("timeout", 1, 1, us, function() return fn(unpack(args, 1, args.n)) end,
    function(_, t) task = t end)
  task = task or tasks[1]
  if task.err and stop then return nil, stop end
  if task.err then error(task.err, 0) end
  return unpack(task.results, 2, task.results.n)
end

-- Channels -------------------------------------------------------------------------------------------------------

local function first_waiting(list)
  while list[1] do
    local w = table.remove(list, 1)
    if w.task.waiting == w then return w end
  end
end

-- Waits until there is room or a receiver takes the value. false: the channel is closed.
function Channel:send(v)
  check.self(channel_mt, self, "channel", "send")
  if v == nil then fail "send: can't send nil" end
  local s = self.state
  if s.closed then return false end
  local w = first_waiting(s.receivers)
  if w then
    rt.wake(w.task, v)
    return true
  end
  if #s.items < s.room then
    s.items[#s.items + 1] = v
    return true
  end
  w = { task = rt.current(), value = v }
  s.senders[#s.senders + 1] = w
  return rt.wait(w) == true
end

-- The next value; nil when the channel is closed and empty.
function Channel:recv(timeout)
  check.self(channel_mt, self, "channel", "recv")
  local us = check.us(check.arg("recv", "timeout", timeout, "time?"))
  local s = self.state
  if #s.items > 0 then
    local v = table.remove(s.items, 1)
    local w = first_waiting(s.senders)
    if w then
      s.items[#s.items + 1] = w.value
      rt.wake(w.task, true)
    end
    return v
  end
  local w = first_waiting(s.senders)
  if w then
    rt.wake(w.task, true)
    return w.value
  end
  if s.closed then return nil end
  w = { task = rt.current() }
  s.receivers[#s.receivers + 1] = w
  local late, v = rt.wait_at_most(us, w)
  if late and v == "late" then return nil, timeout_error("recv", us) end
  return v
end

function Channel:close()
  check.self(channel_mt, self, "channel", "close")
  local s = self.state
  s.closed = true
  for _, list in ipairs { s.receivers, s.senders } do
    for w in function() return first_waiting(list) end do rt.wake(w.task) end
  end
end

function Channel:each()
  check.self(channel_mt, self, "channel", "each")
  return function() return self:recv() end
end

channel_mt = check.class("sg.Channel", "channel", Channel)

-- n values fit in; 0 (the default): send waits for a taker.
function sg.channel(n)
  check.arg("channel", "the size", n, "integer?")
  return check.new(channel_mt, { state = { room = n or 0, items = {}, senders = {}, receivers = {} } })
end

return { sg = sg }
