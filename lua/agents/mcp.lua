-- `sandglass mcp serve`: does what a client of ours asks for over MCP. One task for each request, so that they overlap.
local sg = require "sandglass"
local rt = require "sandglass.runtime"
local a = sg.args { repo = "" }
local repo = a.repo ~= "" and a.repo or nil
local boxes, names, running = {}, {}, {}
local agent

local function failed(err) return { text = tostring(err), error = true } end

local function open(name, empty)
  local box, err = sg.sandbox { name = name, repo = not empty and repo or nil, keep = not empty and repo ~= nil or nil }
  if not box then return nil, err end
  boxes[name] = box
  names[#names + 1] = name
  return box
end

-- The box that is meant; the default one is made when it is first needed, by one task only.
local opening
local function box_of(args)
  local name = args.sandbox_id or names[1] or "default"
  if boxes[name] then return boxes[name] end
  if args.sandbox_id and name ~= "default" then
    return nil, ("there is no sandbox '%s'%s"):format(name, #names > 0 and "; open: " .. table.concat(names, ", ") or "")
  end
  while opening do sg.sleep "10ms" end
  if boxes[name] then return boxes[name] end
  opening = true
  local box, err = open(name)
  opening = nil
  return box, err
end

local tools = {}

function tools.sandbox_create(p)
  local name = (p.name or "box"):gsub("[^%w_-]", "-"):sub(1, 40)
  local base, n = name, 1
  while boxes[name] or name == "default" do
    n = n + 1
    name = base .. "-" .. n
  end
  local box, err = open(name, p.empty)
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
    note = r.edited and "a person changed this command before it ran; what ran: " .. (r.ran or "?") or nil,
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
function tools.sandbox_list(p, box)
  local paths, err = box:glob(p.pattern or "*")
  if not paths then return failed(err) end
  local shown, all = setmetatable({}, rt.core.array_mt), setmetatable({}, rt.core.array_mt)
  for i = 1, math.min(#paths, LISTED) do shown[i] = paths[i] end
  for i, name in ipairs(names) do all[i] = name end
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

function tools.sandbox_close(p, box)
  local name = box.name
  for i, have in ipairs(names) do
    if boxes[have] == box then
      name = have
      table.remove(names, i)
      boxes[have] = nil
      break
    end
  end
  local done, err = box:close()
  if not done then return failed(err) end
  return { text = "closed " .. name }
end

local function serve(r)
  local me = rt.current()
  me.tool = r.tool
  local ok, answer = pcall(function()
    local run = tools[r.tool]
    if not run then return failed("there is no tool '" .. r.tool .. "'") end
    if r.tool == "sandbox_create" then return run(r.args) end
    local box, err = box_of(r.args)
    if not box then return failed(err) end
    return run(r.args, box)
  end)
  if not ok then answer = failed(answer) end
  answer.request = r.request
  running[r.request] = nil
  me.tool = nil
  rt.shield(function() rt.call("mcp.answer", answer) end)
end

-- Whoever asks is an agent of this session, by the name that it gave.
local function begin(client)
  local v, err = rt.call("agent.start", {
    name = client, task = "tools over MCP", model = "outside", tools = setmetatable({}, rt.core.array_mt),
  })
  if not v then error(err, 0) end
  agent = v.agent
  rt.current().agent = agent
  rt.agents[agent] = { task = rt.current(), inbox = {} }
end

while true do
  local r, err = rt.call("mcp.next", {})
  if not r then error(err, 0) end
  if r.eof then break end
  if r.cancel then
    if running[r.cancel] then running[r.cancel]:cancel "cancelled by the client" end
  else
    if not agent then begin(r.client) end
    running[r.request] = sg.spawn(serve, r)
  end
end
for _, t in pairs(running) do t:cancel "the client has gone" end
for _, name in ipairs(names) do boxes[name]:close() end
if agent then
  rt.call("agent.end", { agent = agent, stop = "end", ok = true, steps = 0 })
  rt.current().agent = 0
end
