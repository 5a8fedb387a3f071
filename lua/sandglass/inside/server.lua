-- An agent that is a server in its box: requests go over HTTP, and its reports come as server-sent events. Makes of a wire
-- (wire.lua) whose program is such a server one whose messages are those events.
--   s.http             http.lua, with s.headers
--   w.recv()           the object of the next event; a stream that breaks is opened again, and s.reopened() called, if there
--   w.shut(seconds)    ends the program
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local http = require "sandglass.inside.http"

local M = {}
local START_S, LOST_MAX = 60, 5

-- o: path of the events, headers, ready (a pattern of the line that it prints when it listens; else it is tried until it does).
function M.new(w, x, o)
  local s = { http = http.new(x.box, x.port, o.headers) }
  local events, last, lost = nil, nil, 0
  local ready = task.channel(1)
  w.aside(function(line)
    s.dead = line == nil
    if o.ready and line and not line:find(o.ready) then return end
    o.ready = nil
    ready:close()
    if s.dead then
      local r = w.proc:wait()
      s.failed = not r or r.code ~= 0   -- else it has gone into the background, and listens there
      if s.failed then s.http.give_up() end
    end
  end)
  w.server = true
  s.http.wait = START_S

  -- Until it listens: true; nil and an error when it has ended instead. Some lose what they are asked before.
  function s.await()
    if o.ready then ready:recv() end
    if s.dead then return nil, w.gone() end
    return true
  end

  function s.listen()
    local err
    events, err = s.http.events(o.path, last and { ["last-event-id"] = last } or nil)
    s.http.wait = 0   -- from now on it is there, or it has ended
    if not events then return nil, s.failed and w.gone() or err end
    return true
  end

  function w.recv()
    while true do
      local ev = events and events()
      if ev then
        last, lost = ev.id or last, 0
        local object = rt.core.decode(ev.data)
        if type(object) == "table" then
          if w.on_event then w.on_event(object) end
          return object
        end
      else
        events, lost = nil, lost + 1
        if s.shutting then return nil, rt.err { code = "cancelled", msg = "the agent is ended" } end
        if w.late or lost > LOST_MAX or not s.listen() then
          w.kill()
          return nil, w.gone()
        end
        w.told("notice", "the stream of its events was interrupted and is open again")
        if s.reopened then s.reopened() end
      end
    end
  end

  local shut = w.shut
  function w.shut(seconds)
    s.shutting = true
    w.kill "TERM"
    shut(seconds)
    s.http.close()
  end
  return s
end

-- A request whose answer is ignored, in its own task, so that events are still read.
function M.later(s, method, path, body)
  return task.spawn(function()
    local a, err = s.http.ask(method, path, body)
    if a and a.status >= 400 then err = rt.err { code = "backend", msg = ("%s %s: %d %s"):format(method, path, a.status, a.text:sub(1, 200)) } end
    if not a or a.status >= 400 then s.told.put("notice", tostring(err)) end
    return a
  end)
end

return M
