-- sandbox-agent's HTTP API: ACP, one message per POST, and server-sent events for what the agent says. Any agent that it knows, in
-- any box with a way in to a port: the program is started here, or listens already.
local rt = require "sandglass.runtime"
local task = require "sandglass.task".sg
local acp = require "sandglass.inside.acp"
local server = require "sandglass.inside.server"
local str = require "sandglass.inside.told".str

local M = { name = "sandbox-agent", prompt = acp.prompt, cancel = acp.cancel, pump = acp.pump }
local ECHO_S, ROOM = 2, 1000

local function refused(id, a, err)
  local what = err and str(err) or ("%d %s"):format(a.status, str(type(a.json) == "table" and (a.json.detail or a.json.title) or a.text:sub(1, 200)))
  return { jsonrpc = "2.0", id = id, error = { code = -32603, message = what } }
end

-- Turns the wire into one that sends messages by POST and receives them as events. The answer to a
-- request comes in both: the event's answer keeps the order of messages; the POST's answer serves
-- if no event comes.
function M.open(w, x)
  local path = "/v1/acp/sandglass"
  local s = server.new(w, x, { path = path, headers = x.password and { authorization = "Bearer " .. x.password } or {} })
  local inbox, wanted, posts, listening, over = task.channel(ROOM), {}, {}, false, nil
  local from_server = w.recv

  local function take(m)
    if m.method == nil and m.id ~= nil then
      if not wanted[m.id] then return end
      wanted[m.id] = nil
    end
    inbox:send(m)
  end

  local function read_on()
    while true do
      local m, err = from_server()
      if not m then
        over = err
        return inbox:close()
      end
      take(m)
    end
  end

  function w.recv()
    local m = inbox:recv()
    if m then return m end
    return nil, over or w.gone()
  end

  local function post(m)
    local a, err = s.http.ask("POST", listening and path or path .. "?agent=" .. x.serves, m)
    if m.method == nil or m.id == nil then return end
    if not a and listening then task.sleep(ECHO_S) end   -- with its box gone the events end, too, and say more than this does
    if over then return end
    if not a or a.status >= 300 then return take(refused(m.id, a, err)) end
    if listening then task.sleep(ECHO_S) end
    if type(a.json) == "table" then take(a.json) end
  end

  function w.send(m)
    if m.method and m.id ~= nil then wanted[m.id] = true end
    if listening then
      posts[#posts + 1] = task.spawn(post, m)
      return true
    end
    post(m)   -- the first one starts the agent
    local ok, err = s.listen()
    if not ok then return nil, err end
    listening = true
    task.spawn(read_on)
    return true
  end
  local shut = w.shut
  function w.shut(seconds)
    for _, t in ipairs(posts) do t:cancel() end
    shut(seconds)
  end
  x.over = "sandbox-agent"
  return acp.open(w, x)
end

return M
