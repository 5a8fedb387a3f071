-- JSON-RPC over a wire (wire.lua), both sides asking. Ids of theirs are echoed as they came, a number or a string; ours and
-- theirs may be the same and are kept apart.
--   p.ask(method, params)        the result; or nil and an error. Everything that comes meanwhile is served.
--   p.post(method, params, fn)   asks while another task pumps: fn(message) with its answer
--   p.tell(method, params)
-- serve(method, params) of M.new answers their requests in a task of its own: a result, or nil and { code, message }.
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local str = require "sandglass.inside.told".str

local M = {}

local function key_of(id) return math.type(id) or type(id), str(id) end
local function key(id) return table.concat({ key_of(id) }, ":") end

-- o: version (of the "jsonrpc" member; nil: none), serve(method, params), heard(method, params)
function M.new(w, o)
  local p, next_id, answers, theirs = { wire = w, waits = {} }, 0, {}, {}

  local function message(m)
    m.jsonrpc = o.version
    return w.send(m)
  end

  local function serve(m)
    local k = key(m.id)
    theirs[k] = task.spawn(function()
      local ok, result, wrong = pcall(o.serve, m.method, m.params or {})
      if not ok and rt.as_error(result).code == "cancelled" then error(result, 0) end
      if not ok then result, wrong = nil, { code = -32603, message = str(rt.as_error(result)) } end
      theirs[k] = nil
      message { id = m.id, result = not wrong and (result == nil and {} or result) or nil, error = wrong }
    end)
  end

  -- They withdraw a request, or everything ends: it is answered all the same.
  local function withdraw(id, answer)
    local t = theirs[key(id)]
    if not t then return end
    theirs[key(id)] = nil
    t:cancel "the agent no longer waits"
    message(answer)
  end

  local function take(m)
    if m.method and m.id ~= nil then
      serve(m)
    elseif m.method == "$/cancel_request" then
      local id = (m.params or {}).requestId
      if id ~= nil then withdraw(id, { id = id, error = { code = -32800, message = "cancelled" } }) end
    elseif m.method then
      o.heard(m.method, m.params or {})
    elseif m.id ~= nil and p.waits[m.id] then
      local fn = p.waits[m.id]
      p.waits[m.id] = nil
      fn(m)
    elseif m.id ~= nil then
      answers[m.id] = m
    end
  end

  function p.pump()
    local m, err = w.recv()
    if not m then return nil, err end
    w.take(take, m)
    return true
  end

  function p.ask(method, params)
    local id = next_id
    next_id = next_id + 1
    local ok, err = message { id = id, method = method, params = params or {} }
    while ok and not answers[id] do ok, err = p.pump() end
    if not ok then return nil, err end
    local a = answers[id]
    answers[id] = nil
    local result = a.result ~= rt.core.null and a.result or {}
    if not a.error and type(result) == "table" then return result end
    local e = type(a.error) == "table" and a.error or {}
    local detail = type(e.data) == "table" and (e.data.message or e.data.details) or nil
    return nil, rt.err {
      code = "backend", msg = ("%s: %s"):format(method, str(e.message or "it failed")), why = type(detail) == "string" and detail or nil,
      cause = e,
    }
  end

  -- Asks while another task reads the wire: calls fn(answer, whole) with the answer.
  function p.post(method, params, fn)
    local id = next_id
    next_id = next_id + 1
    p.waits[id] = fn
    return message { id = id, method = method, params = params or {} }
  end

  function p.tell(method, params) return message { method = method, params = params or {} } end

  -- All requests of theirs that wait for a user get this answer.
  function p.drop_theirs(result)
    for k, t in pairs(theirs) do
      theirs[k] = nil
      t:cancel "the turn is cancelled"
      local kind, id = k:match "^(%a+):(.*)$"
      message { id = kind == "integer" and math.tointeger(tonumber(id)) or id, result = result }
    end
  end
  return p
end

return M
