-- Tools of MCP servers. sg.mcp gives a list of tools for an agent; each call of one is an action of kind mcp.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local tools = require "sandglass.tools"
local call, fail = rt.call, rt.fail

local sg = {}
local OPTIONS = check.spec("sg.McpOpts", {
  name = "string", command = "list", url = "string", where = "string", box = "sg.Box", only = "list", env = "table",
  headers = "table", cwd = "string", timeout = "time",
})
local NAME_MOST = 64         -- what every model API takes
local READ = "resources/read"   -- the call that reads a resource, for rules: mcp:NAME:resources/read

-- A name of our own for a server that has none.
local function name_of(o)
  local word = o.command and o.command[1] or o.url or "server"
  for i, w in ipairs(o.command or {}) do   -- npx -y @scope/server-x: the package is a better name than npx
    if i > 1 and not w:find "^%-" and (word:find "npx$" or word:find "node$" or word:find "python") then
      word = w
      break
    end
  end
  word = word:gsub("^https?://", ""):match "([^/]+)/?$" or word
  return (word:gsub("%.[a-z]+$", ""):gsub("[^%w_-]", "-"):gsub("^%-+", ""):sub(1, 40))
end

local function tool_name(server, name)
  return (("mcp__" .. server .. "__" .. name):gsub("[^%w_-]", "_"):sub(1, NAME_MOST))
end

local function values(where, t)
  for k, v in pairs(t or {}) do
    if type(k) ~= "string" or not (type(v) == "string" or type(v) == "table" and v["$secret"]) then
      fail("%s holds names with strings or secrets", where)
    end
  end
  return t
end

-- Connects; again after the server has died.
local function connect(state)
  local v, err = call("mcp.open", state.args)
  if not v then return nil, err end
  state.server, state.where = v.server, v.where
  return v
end

local function call_tool(state, name, args, timeout)
  local v, err
  for try = 1, 2 do
    if not state.server then
      local opened
      opened, err = connect(state)
      if not opened then return nil, err end
    end
    v, err = call("mcp.call", { server = state.server, name = name, args = args, timeout_us = timeout })
    if v or err.code ~= "backend" then break end
    call("mcp.close", { server = state.server })   -- it ended: its state is unknown, and the next call starts a new one
    state.server = nil
    if err.event then break end                    -- this call had begun: it is not repeated
  end
  if not v then return nil, err end
  if state.where == "host" then rt.tainted[rt.current().agent or 0] = true end
  if v.is_error then return nil, rt.err { code = "io", msg = v.text ~= "" and v.text or "the tool failed", event = v.event } end
  return v.media and { text = v.text or "", media = v.media } or v.text or ""
end

-- A unique name among the server's tools: tools that differ only in signs (a.b, a/b), or late in
-- the name, get a number.
local function own_name(server, name, seen)
  local plain, nr = tool_name(server, name), 1
  local own = plain
  while seen[own] do
    nr = nr + 1
    own = plain:sub(1, NAME_MOST - #tostring(nr) - 1) .. "_" .. nr
  end
  seen[own] = true
  return own
end

local function make(state, t, timeout, seen, called)
  local schema = t.schema
  schema.properties = schema.properties or {}
  return tools.make {
    name = own_name(state.args.name, t.name, seen), about = t.about, params = schema, where = state.args.where or "host",
    reads = t.reads, gated = true, unchecked = true,
    run = function(p) return call_tool(state, called or t.name, p, timeout) end,
  }
end

-- Reads what a result links to.
local function make_reader(state, timeout, seen)
  return make(state, {
    name = "read_resource", about = "Read a resource of the MCP server " .. state.args.name .. " that a result of it names.",
    reads = true, schema = { type = "object", properties = { uri = { type = "string", description = "its URI" } },
      required = setmetatable({ "uri" }, rt.core.array_mt) },
  }, timeout, seen, READ)
end

local function wanted(only, name)
  if not only then return true end
  for _, pattern in ipairs(only) do
    local p = "^" .. pattern:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$"
    if name:find(p) then return true end
  end
  return false
end

-- The tools of a server, by options or by the name under which `sandglass mcp add` keeps it.
function sg.mcp(o)
  if type(o) == "string" then o = { name = o } end
  o = check.options("mcp", o, OPTIONS)
  if o.name and not o.command and not o.url then
    local known, err = call("mcp.find", { name = o.name })
    if not known then return nil, err end
    for _, k in ipairs { "command", "url", "env", "headers", "cwd" } do
      if o[k] == nil then o[k] = known[k] end
    end
    o.where = o.where or known.where
  end
  if (o.command == nil) == (o.url == nil) then fail "mcp: expected 'command', 'url', or the name of a known server" end
  if o.where and o.where ~= "host" and o.where ~= "box" then fail("mcp: where: expected \"host\" or \"box\", got \"%s\"", o.where) end
  if o.where == "box" and not o.box then fail "mcp: where = \"box\": missing option 'box'" end
  if o.where == "box" and o.url then fail "mcp: a url is reached from the host; leave 'where' out" end
  for i, w in ipairs(o.command or {}) do check.arg("mcp", "word " .. i .. " of the command", w, "string") end
  local state = { args = {
    name = o.name or name_of(o), command = o.command, url = o.url, where = o.where or "host", box = o.box and o.box.id,
    cwd = o.cwd, env = values("mcp: env", o.env), headers = values("mcp: headers", o.headers), timeout_us = check.us(o.timeout),
  } }
  local v, err = connect(state)
  if not v then return nil, err end
  local list, seen = {}, {}
  for _, t in ipairs(v.tools or {}) do
    if wanted(o.only, t.name) then
      local tool = make(state, t, check.us(o.timeout), seen)
      list[#list + 1] = tool
    end
  end
  if v.resources and wanted(o.only, READ) then list[#list + 1] = make_reader(state, check.us(o.timeout), seen) end
  if o.only and #list == 0 then
    return nil, rt.err { code = "script", msg = ("mcp: the server '%s' has no tool that 'only' names"):format(state.args.name) }
  end
  return list
end

return { sg = sg }
