-- Builds the configuration: an unknown name raises with its line and the nearest name.
--   local c = require "sandglass.config"
--   c.backend = "process"
--   c.keep = { file = "64M", hash_only = { "node_modules/**" } }
--   return c
-- The result is plain data: times as *_us, sizes as *_bytes.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local LIMITS = { mem = "size", cpus = "number", pids = "integer", disk = "size", time = "time" }
-- A type, or a table of fields. { each = T } is a table of names with values of one type; { list =
-- T } a list.
local NAMES = check.spec("sg.Config", {
  model = "string", backend = "string", theme = "string", sessions = "string", policy = "string", ascii = "boolean",
  a11y = "boolean", sync = "boolean", coach = "boolean", accept = "string", box_uid = "integer", user = "string",
  keep = { file = "size", hash_only = { list = "string" }, days = "integer", size = "size", label = { list = "string" }, tokens = "boolean" },
  limits = LIMITS,
  terminal = { prefix = "string" },
  notify = { command = { list = "string" }, bell = "boolean", when = "string", host = "string" },
  approvals = { arm_ms = "integer", next = "boolean", timeout = "time" },
  expose = { list = "string" }, tools = { list = "string" },
  env = { each = "string" }, prices = { each = "table" },
  models = { each = "table" },
  secrets = { each = "string|list" },
  map = { each = "table" }, pager = "string",
  search = { url = "string", shape = "string", method = "string", body = "string", headers = { each = "string|table" },
    results = "string", title = "string", link = "string", text = "string" },
  otlp = { endpoint = "string", headers = { each = "string|table" }, every = "time", content = "boolean" },
  pool = { size = "integer" },
  budget = { usd = "number", tokens = "integer", time = "time", steps = "integer", actions = "integer" },
  profiles = { each = "table" },
})

local function convert(key, types, v)
  if types == "size" then return key .. "_bytes", check.bytes(v) end
  if types == "time" then return key .. "_us", check.us(v) end
  if key == "usd" then return "uusd", math.floor(v * 1000000 + 0.5) end
  if key == "cpus" then return "cpus_milli", math.floor(v * 1000 + 0.5) end
  return key, v
end

-- A row of c.models: its times become microseconds, the rest is for its plugin.
local function provider(where, row)
  local out = {}
  for k, v in pairs(row) do
    if k == "first" or k == "idle" then
      check.arg("config", where .. "." .. k, v, "time")
      out[k .. "_us"] = check.us(v)
    else
      out[k] = v
    end
  end
  return out
end

local function check_value(where, key, types, v)
  if type(types) == "string" then
    check.arg("config", where, v, types)
    return convert(key, types, v)
  end
  check.arg("config", where, v, "table")
  local out = {}
  if types.list then
    out = setmetatable(out, rt.core.array_mt)
    for i, item in ipairs(v) do out[i] = check.arg("config", where .. "[" .. i .. "]", item, types.list) end
    return key, out
  end
  for k, item in pairs(v) do
    if types.each then
      check.arg("config", "a name in " .. where, k, "string")
      check.arg("config", where .. "." .. k, item, types.each)
      out[k] = key == "models" and provider("models." .. k, item) or item
    else
      if not types[k] then fail("config: unknown name '%s.%s'%s", where, tostring(k), check.suggest(k, types)) end
      local name, value = check_value(where .. "." .. k, k, types[k], item)
      out[name] = value
    end
  end
  return key, out
end

-- c.profiles = { ci = { model = "...", accept = "reduced" } }: settings that hold before all others with --profile ci.
local function profiles(v)
  local out = {}
  for name, part in pairs(select(2, check_value("profiles", "profiles", NAMES.profiles, v))) do
    if not name:find "^[%w_-]+$" then fail("config: invalid profile name '%s': expected letters, digits, -, and _", name) end
    out[name] = {}
    for k, item in pairs(part) do
      if not NAMES[k] or k == "profiles" then fail("config: unknown name 'profiles.%s.%s'%s", name, tostring(k), check.suggest(k, NAMES)) end
      local key, value = check_value(("profiles.%s.%s"):format(name, k), k, NAMES[k], item)
      out[name][key] = value
    end
  end
  return out
end

local data, said = {}, {}

local function set(k, v)
  if type(k) ~= "string" or not NAMES[k] then fail("config: unknown name '%s'%s", tostring(k), check.suggest(k, NAMES)) end
  local name, value = k, k == "profiles" and profiles(v)
  if not value then name, value = check_value(k, k, NAMES[k], v) end
  data[name], said[k] = value, v
end

local M = {}
local config = setmetatable({}, {
  __metatable = false, __name = "config",
  __newindex = function(_, k, v) set(k, v) end,
  __index = function(_, k)
    if M[k] then return M[k] end
    if not NAMES[k] then fail("config: unknown name '%s'%s", tostring(k), check.suggest(k, NAMES)) end
    return said[k]
  end,
})

-- For boot.lua: the file returned the builder, a plain table, or nothing.
function M.result(v, file)
  if v ~= nil and v ~= config then
    if type(v) ~= "table" then
      error(rt.err { code = "script",
        msg = ("%s: a configuration file returns its builder, not a %s"):format(file, type(v)) }, 0)
    end
    for k, item in pairs(v) do set(k, item) end
  end
  return data
end

return config
