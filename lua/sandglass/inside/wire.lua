-- A program in a box that speaks JSON, one object per line, on its stdin and stdout: what every protocol of this directory
-- stands on. The conversation is a pure function of the frames: the lines that it printed are the record's.
--   w.send(object)            one line to it: true, or nil and an error
--   w.on_event                fn(object) of each that it prints, when set
--   w.recv()                  the next object; nil and an error at its end (w.late says what took too long)
--   w.take(fn, ...)           fn's values for a message; if fn raises, the message is reported and nothing is returned
--   w.within(seconds, what, fn, ...)  fn's values; if it takes longer the program is ended, which ends all waiting calls
--   w.aside(heard)            its output goes to heard(line), nil at its end: it is a server, spoken with otherwise (server.lua)
--   w.kill(signal?)           ends it; w.gone(): the error for waiting calls after its end
--   w.shut(seconds)           closes its stdin, lets it end, kills it then
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local call = rt.call

local M = {}
local SHOWN, LINE_MAX = 200, 16 << 20

local function object_of(line)
  local v = line:sub(1, 1) == "{" and rt.core.decode(line) or nil
  return type(v) == "table" and v or nil
end

-- Stderr, and lines that are not objects: kept for the message at a failed end, and reported at
-- times.
local function odd(w, line)
  w.nr_odd = w.nr_odd + 1
  if w.nr_odd <= 20 then
    w.told("odd", ("printed %d bytes that are no message: %s"):format(#line, line:sub(1, 60)), { bytes = #line, text = line:sub(1, SHOWN) })
  end
end

-- The end of a program, as an error for the calls that still wait for it.
local function gone(w)
  local r, err = w.proc:wait()
  local where = w.turn and "in the middle of its turn" or "before its turn"
  if w.late then return rt.err { code = "timeout", msg = w.late } end
  if not r then
    local code = err.code == "cancelled" and "backend" or err.code
    return rt.err { code = code, msg = ("the agent's sandbox ended %s: %s"):format(where, err.msg), event = err.event }
  end
  local how = r.oom and "ran out of memory (the memory limit of its sandbox killed it)" or r.signal and "was killed by " .. r.signal
    or "ended with status " .. tostring(r.code)
  return rt.err { code = "backend", msg = ("the agent %s %s"):format(how, where), why = w.last ~= "" and w.last or nil, event = r.event }
end

-- box:spawn's options; told(what, say, fields) puts into the record what the agent tells.
function M.open(box, argv, env, told)
  local proc, err = box:spawn(argv, { env = env })
  if not proc then return nil, err end
  local w = { proc = proc, nr_odd = 0, last = "", told = told }
  local lines = proc:lines { max = LINE_MAX, on_err = function(s) w.last = (s:match "([^\n]+)\n*$" or w.last):sub(1, SHOWN) end }

  function w.send(object)
    local ok, wrong = proc:write(rt.core.encode(object) .. "\n")
    if not ok then return nil, rt.err { code = "backend", msg = "the agent accepts no message: " .. wrong.msg, event = wrong.event } end
    return true
  end

  function w.recv()
    for line in lines do
      local object = object_of(line)
      if object then
        if w.on_event then w.on_event(object) end
        return object
      end
      if line ~= "" then
        w.last = line:sub(1, SHOWN)
        odd(w, line)
      end
    end
    return nil, gone(w)
  end

  function w.take(fn, ...)
    local r = table.pack(pcall(fn, ...))
    if r[1] then return table.unpack(r, 2, r.n) end
    local e = rt.as_error(r[2])
    if e.code ~= "script" then error(e, 0) end   -- its task is to end
    w.nr_odd = w.nr_odd + 1
    if w.nr_odd <= 20 then told("odd", "an invalid message: " .. e.msg:gsub("^sandglass/[^%s:]+:%d+: ", "")) end
  end

  -- The next line, and the object that it is, if it is one; nil, nil at the end.
  function w.line()
    for line in lines do
      local object = object_of(line)
      if object and w.on_event then w.on_event(object) end
      if not object and line ~= "" then w.last = line:sub(1, SHOWN) end
      return object, line
    end
  end

  -- Its own end and status; or nil and an error.
  function w.ended()
    local r = proc:wait()
    if r and not r.signal and not w.late then return r end
    return nil, gone(w)
  end

  local function after(seconds, fn) return rt.later("sleep", { us = (seconds * 1000000) // 1 | 0 }, fn) end
  local function kill(signal) rt.later("proc.kill", { proc = proc.id, signal = signal or "KILL" }, function() end) end
  w.kill = kill
  function w.gone() return gone(w) end

  local aside
  function w.aside(heard)
    aside = task.spawn(function()
      for line in lines do
        if line ~= "" then w.last = line:sub(1, SHOWN) end
        heard(line)
      end
      heard(nil)
    end)
  end

  function w.within(seconds, what, fn, ...)
    local fired
    local drop = after(seconds, function()
      fired, w.late = true, ("%s after %gs"):format(what, seconds)
      kill()
    end)
    local r = table.pack(pcall(fn, ...))
    if not fired then drop() end
    if not r[1] then error(r[2], 0) end
    return table.unpack(r, 2, r.n)
  end

  function w.shut(seconds)
    local fired
    call("proc.write", { proc = proc.id, data = "", eof = true })
    local drop = after(seconds or 2, function()
      fired = true
      kill()
    end)
    if aside then aside:await() else for _ in lines do end end
    proc:wait()
    if not fired then drop() end
  end
  return w
end

return M
