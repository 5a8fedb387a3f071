-- `sandglass mcp serve`: does what a client of ours asks for over MCP. One task for each request, so that they overlap.
local sg = require "sandglass"
local rt = require "sandglass.runtime"
local a = sg.args { repo = "" }
local repo = a.repo ~= "" and a.repo or nil
local boxes, running = {}, {}   -- by name, by request
local clients = {}              -- by label: { agent, names, opening }; over HTTP there are several
local nr_clients = 0

local function failed(err) return { text = tostring(err), error = true } end

local function open(client, name, empty)
  local box, err = sg.sandbox { name = name, repo = not empty and repo or nil, keep = not empty and repo ~= nil or nil }
  if not box then return nil, err end
  boxes[name] = box
  client.names[#client.names + 1] = name
  return box
end

local function is_own(client, name)
  for _, have in ipairs(client.names) do if have == name then return true end end
  return false
end

-- The box that is meant: one of the client's own. The default one is made when it is first needed, by one task only.
local function box_of(client, args)
  local names = client.names
  if args.sandbox_id and args.sandbox_id ~= "default" then
    if is_own(client, args.sandbox_id) then return boxes[args.sandbox_id] end
    return nil, ("sandbox not found: '%s'%s"):format(args.sandbox_id, #names > 0 and "; open: " .. table.concat(names, ", ") or "")
  end
  local name = not args.sandbox_id and names[1] or client.default
  while client.opening do sg.sleep "10ms" end
  if boxes[name] then return boxes[name] end
  client.opening = true
  local box, err = open(client, name)
  client.opening = nil
  return box, err
end

local tools = {}

function tools.sandbox_create(p, client)
  local name = (p.name or "box"):gsub("[^%w_-]", "-"):sub(1, 40)
  local base, n = name, 1
  while boxes[name] or name:find "^default" do
    n = n + 1
    name = base .. "-" .. n
  end
  local box, err = open(client, name, p.empty)
  if not box then return failed(err) end
  return { structured = { sandbox_id = name, workspace = box.workspace, profile = box.profile } }
end

function tools.sandbox_exec(p, box)
  if (p.cmd == nil) == (p.argv == nil) then return failed "give either cmd or argv" end
  if p.argv and #p.argv == 0 then return failed "argv is empty" end
  local r, err = box:exec(p.cmd or p.argv, {
    cwd = p.cwd, env = p.env, stdin = p.stdin, timeout = p.timeout_ms and p.timeout_ms .. "ms" or nil,
  })
  if not r then return failed(err) end
  return { structured = {
    exit_code = r.code, signal = r.signal and tostring(r.signal), stdout = r.out, stderr = r.err, truncated = r.cut,
    duration_ms = r.ms, event = r.event,
    note = r.edited and "the reviewer changed this command before it ran; it ran as: " .. (r.ran or "?") or nil,
  } }
end

function tools.sandbox_read(p, box)
  local data, err = box:read(p.path, { from = p.offset, len = p.limit })
  if not data then return failed(err) end
  return { text = data, path = p.path, sandbox = p.sandbox_id }
end

function tools.sandbox_write(p, box)
  local id, err = box:write(p.path, p.content)
  if not id then return failed(err) end
  return { text = ("wrote %d bytes to %s"):format(#p.content, p.path) }
end

function tools.sandbox_edit(p, box)
  if p.old == "" then return failed "old is empty; use sandbox_write for a new file" end
  local id, err = box:edit(p.path, p.old, p.new, { all = p.all })
  if not id then return failed(err) end
  return { text = "edited " .. p.path }
end

local LISTED = 1000
function tools.sandbox_list(p, box, client)
  local paths, err = box:glob(p.pattern or "*")
  if not paths then return failed(err) end
  local shown, all = setmetatable({}, rt.core.array_mt), setmetatable({}, rt.core.array_mt)
  for i = 1, math.min(#paths, LISTED) do shown[i] = paths[i] end
  for i, name in ipairs(client.names) do all[i] = name end
  return { structured = { paths = shown, more = #paths > LISTED and #paths - LISTED or nil, sandboxes = all } }
end

function tools.sandbox_diff(p, box)
  local d, err = box:diff(p.base)
  if not d then return failed(err) end
  return { structured = { files = setmetatable(d.files, rt.core.array_mt), patch = d:patch() } }
end

function tools.sandbox_snapshot(p, box)
  local s, err = box:snapshot(p.label)
  if not s then return failed(err) end
  return { structured = { snapshot = s.event, tree = s.oid, label = s.label } }
end

function tools.sandbox_rollback(p, box)
  local id, err = box:rollback(p.to)
  if not id then return failed(err) end
  return { text = "rolled back to " .. tostring(p.to) }
end

function tools.sandbox_close(p, box, client)
  local name = box.name
  for i, have in ipairs(client.names) do
    if boxes[have] == box then
      name = have
      table.remove(client.names, i)
      boxes[have] = nil
      break
    end
  end
  local done, err = box:close()
  if not done then return failed(err) end
  return { text = "closed " .. name }
end

local function serve(r, client)
  local me = rt.current()
  me.tool = r.tool
  local ok, answer = pcall(function()
    local run = tools[r.tool]
    if not run then return failed("unknown tool '" .. r.tool .. "'") end
    if r.tool == "sandbox_create" then return run(r.args, client) end
    local box, err = box_of(client, r.args)
    if not box then return failed(err) end
    return run(r.args, box, client)
  end)
  if not ok then answer = failed(answer) end
  answer.request = r.request
  running[r.request] = nil
  me.tool = nil
  rt.shield(function() rt.call("mcp.answer", answer) end)
end

-- A client is an agent of this session under the name that it gave; its requests are children of a task of its own, so
-- that one can be stopped without the others.
local function begin(label)
  local v, err = rt.call("agent.start", {
    name = label, task = "tools over MCP", model = "outside", tools = setmetatable({}, rt.core.array_mt),
  })
  if not v then error(err, 0) end
  nr_clients = nr_clients + 1
  local client = {
    agent = v.agent, names = {}, wants = sg.channel(1000), label = label,
    default = nr_clients == 1 and "default" or ("default-" .. nr_clients),
  }
  clients[label] = client
  client.task = sg.spawn(function()
    rt.current().agent = v.agent
    rt.agents[v.agent] = { task = rt.current(), inbox = {} }
    while true do
      local r = client.wants:recv()
      if not r then break end
      running[r.request] = sg.spawn(serve, r, client)
    end
  end)
  return client
end

local function leave(client, why)
  local me = rt.current()
  clients[client.label] = nil
  client.task:cancel(why)
  client.task:await()
  me.agent = client.agent
  for _, name in ipairs(client.names) do
    boxes[name]:close()
    boxes[name] = nil
  end
  rt.call("agent.end", { agent = client.agent, stop = "end", ok = true, steps = 0 })
  me.agent = 0
end

local function hand_on(r)
  local client = clients[r.client] or begin(r.client)
  if not client.task:done() then return client.wants:send(r) end
  local answer = failed "the user has stopped this agent; nothing more runs for it in this session"
  answer.request = r.request
  rt.call("mcp.answer", answer)
end

while true do
  local r, err = rt.call("mcp.next", {})
  if not r then error(err, 0) end
  if r.eof then break end
  if r.cancel then
    if running[r.cancel] then running[r.cancel]:cancel "cancelled by the client" end
  elseif r.leave then
    if clients[r.leave] then sg.spawn(leave, clients[r.leave], "the client has gone") end
  else
    hand_on(r)
  end
end
for _, client in pairs(clients) do leave(client, "the client has gone") end
