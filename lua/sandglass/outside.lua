-- Budgets, the store, secrets, and operations on the host.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local call, fail = rt.call, rt.fail

local sg = { host = {}, env = {} }

-- Budgets --------------------------------------------------------------------------------------------------------

local Budget = {}
local budget_mt

local function new_budget(where, o, parent)
  local v, err = call("budget.new", { parent = parent, limits = check.limits(where, o) })
  if not v then error(err, 0) end
  return check.new(budget_mt, { id = v.budget })
end

-- A smaller budget whose spending also counts against this one.
function Budget:part(o)
  check.self(budget_mt, self, "budget", "part")
  return new_budget("budget part", o, self.id)
end

function Budget:left()
  check.self(budget_mt, self, "budget", "left")
  local v, err = call("budget.left", { budget = self.id })
  if not v then return nil, err end
  return {
    usd = v.uusd and v.uusd / 1e6, tokens = v.tokens, time = v.time_us and v.time_us / 1e6, steps = v.steps,
    actions = v.actions,
  }
end

budget_mt = check.class("sg.Budget", "budget", Budget)
function sg.budget(o) return new_budget("budget", o) end

-- Store ----------------------------------------------------------------------------------------------------------

local Store = {}
local store_mt

local function key_arg(where, k) return check.arg(where, "the key", k, "string") end

function Store:get(k, default)
  check.self(store_mt, self, "store", "get")
  local v, err = call("store.get", { store = self.name, key = key_arg("get", k) })
  if not v then return nil, err end
  if v.value == nil then return default end
  return v.value
end

-- nil removes the key.
function Store:set(k, value)
  check.self(store_mt, self, "store", "set")
  local v, err = call("store.set", { store = self.name, key = key_arg("set", k), value = value })
  if not v then return nil, err end
  return true
end

-- A number is added, anything else is put at the end of a list. Returns what is there now.
function Store:add(k, value)
  check.self(store_mt, self, "store", "add")
  if value == nil then fail "add: the value is nil" end
  local v, err = call("store.add", { store = self.name, key = key_arg("add", k), value = value })
  if not v then return nil, err end
  return v.value
end

function Store:find(text)
  check.self(store_mt, self, "store", "find")
  local v, err = call("store.find", { store = self.name, text = check.arg("find", "the text", text, "string") })
  if not v then return nil, err end
  return v.items or {}
end

function Store:keys()
  check.self(store_mt, self, "store", "keys")
  local v, err = call("store.keys", { store = self.name })
  if not v then return nil, err end
  return v.keys or {}
end

store_mt = check.class("sg.Store", "store", Store)

function sg.store(name)
  check.arg("store", "the name", name, "string?")
  return check.new(store_mt, { name = name or "default" })
end

-- Secrets --------------------------------------------------------------------------------------------------------

local secret_mt = {
  __name = "sg.Secret", __metatable = false,
  __tostring = function(s) return "<secret:" .. s["$secret"] .. ">" end,
  __concat = function() fail "a secret can't become part of a text: its value is not in this process" end,
  __newindex = function() fail "a secret can't be changed" end,
}

-- A placeholder that the host replaces with the value on the wire; scripts never see the value.
function sg.secret(name)
  check.arg("secret", "the name", name, "string")
  if #name > 100 or not name:match "^[%w_][%w_.-]*$" then
    fail("secret: '%s' is not a name: letters, digits, '_', '-' and '.'", name)
  end
  rt.tell("secret", { name = name })
  return rt.core.handle(setmetatable({ ["$secret"] = name }, secret_mt))
end

-- Host -----------------------------------------------------------------------------------------------------------

-- Pushes what was merged with the user's own git, on the host. Always asks.
function sg.host.push(o)
  o = check.options("host.push", o,
    { box = "sg.Box!", remote = "string", branch = "string", ref = "string", force = "boolean" })
  local v, err = call("host.push",
    { box = o.box.id, remote = o.remote, branch = o.branch, ref = o.ref, force = o.force })
  if not v then return nil, err end
  return v
end

-- Runs a program on the host, outside any box. The policy decides; without a rule it asks.
function sg.host.exec(argv, o)
  check.arg("host.exec", "the command", argv, "list")
  o = check.options("host.exec", o, { cwd = "string", env = "table", stdin = "string|sg.Secret", timeout = "time" })
  for i, w in ipairs(argv) do check.arg("host.exec", "word " .. i, w, "string") end
  if #argv == 0 then fail "host.exec: an empty command" end
  local v, err = call("host.exec",
    { argv = argv, cwd = o.cwd, env = o.env, stdin = o.stdin, timeout_us = check.us(o.timeout) })
  if not v then return nil, err end
  v.out, v.err = v.out or "", v.err or ""
  v.ok = v.code == 0 and v.signal == nil
  return v
end

-- The web --------------------------------------------------------------------------------------------------------

local FETCH = {
  url = "string!", method = "string", headers = "table", body = "string", raw = "boolean", max = "size", timeout = "time",
}

-- Content from outside is untrusted: later rules can match that.
local function taint() rt.tainted[rt.current().agent or 0] = true end

-- Fetches a page on the host side: text as a user would read it, or bytes with raw. A status of 400 and more is data.
function sg.host.fetch(o)
  if type(o) == "string" then o = { url = o } end
  o = check.options("host.fetch", o, FETCH)
  for k, v in pairs(o.headers or {}) do
    if type(k) ~= "string" or not (type(v) == "string" or type(v) == "table" and v["$secret"]) then
      fail "host.fetch: headers holds names with strings or secrets"
    end
  end
  local v, err = call("host.fetch", {
    url = o.url, method = o.method and o.method:upper(), headers = o.headers, body = o.body, raw = o.raw,
    max_bytes = check.bytes(o.max), timeout_us = check.us(o.timeout),
  })
  if not v then return nil, err end
  taint()
  v.ok = v.status < 400
  if o.raw then v.data = v.data or "" else v.text = v.text or "" end
  return v
end

local SEARCH = { query = "string!", count = "integer", page = "integer", timeout = "time" }

-- Asks the search service of the configuration: a list of { title, url, text }.
function sg.host.search(o)
  if type(o) == "string" then o = { query = o } end
  o = check.options("host.search", o, SEARCH)
  local v, err = call("host.search", { query = o.query, count = o.count, page = o.page, timeout_us = check.us(o.timeout) })
  if not v then return nil, err end
  taint()
  return v.results or {}
end

setmetatable(sg.host, { __metatable = false, __index = function(_, k)
  fail("sg.host has no '%s'%s", tostring(k), check.suggest(k, sg.host))
end })

for k, v in pairs(rt.env) do sg.env[k] = v end

return { sg = sg }
