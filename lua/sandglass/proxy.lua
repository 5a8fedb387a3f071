-- The way of a box to models, repositories and registries, with credentials that are put on outside.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local call, fail = rt.call, rt.fail
local type, pairs, ipairs = type, pairs, ipairs

local M = { sg = {} }
local Proxy = {}
local proxy_mt

local PROXY = check.spec("sg.ProxyOpts", { name = "string", routes = "table", tool_gate = "boolean", budget = "table", prompt_host = "string" })
local ROUTE = check.spec("sg.ProxyRoute", {
  provider = "string", url = "string", speak = "string", git = "boolean", rewrite = "boolean", allow = "list",
  header = "table", basic = "table", login = "string", tls = "boolean",
})
local BUDGET = { usd = "number", tokens = "integer", calls = "integer" }

local function limits(b)
  if not b then return nil end
  b = check.options("proxy: budget", b, BUDGET)
  return { uusd = b.usd and (b.usd * 1000000 + 0.5) // 1 | 0, tokens = b.tokens, calls = b.calls }
end

-- Opens nothing yet: the proxy opens with a sandbox that gets it (sg.sandbox { proxies = { px } },
-- or net = { only = px }).
function M.sg.proxy(o)
  o = check.options("proxy", o, PROXY)
  if not o.routes then fail "proxy: it needs 'routes'" end
  for name, r in pairs(o.routes) do
    if type(name) ~= "string" or type(r) ~= "table" then
      fail "proxy: routes holds names with tables: { [\"api.anthropic.com\"] = { speak = \"anthropic\", ... } }"
    end
    check.options("proxy: route '" .. name .. "'", r, ROUTE)
  end
  local v, err = call("proxy.open", {
    name = o.name, routes = o.routes, tool_gate = o.tool_gate, limits = limits(o.budget), prompt_host = o.prompt_host,
  })
  if not v then error(err, 0) end
  return check.new(proxy_mt, {
    id = v.key, name = o.name or "proxy", spec = v.proxy, url = v.url, urls = v.urls or {}, key = v.key,
  })
end

-- {calls, in, out, uusd, usd, refused} of the boxes that are open now.
function Proxy:used()
  check.self(proxy_mt, self, "proxy", "used")
  local v, err = call("proxy.usage", { key = self.key })
  if not v then return nil, err end
  v.calls, v["in"], v.out, v.uusd = v.calls or 0, v["in"] or 0, v.out or 0, v.uusd or 0
  v.refused, v.usd = v.refused or 0, v.uusd / 1000000
  return v
end

function Proxy:close() return true end

proxy_mt = check.class("sg.Proxy", "proxy", Proxy, { url = true, urls = true, key = true, spec = true })

-- The data of proxies that a box is given.
function M.specs(list)
  if list == nil then return nil end
  local out = {}
  for i, px in ipairs(list) do
    if type(px) ~= "table" or rt.core.metatable(px) ~= proxy_mt then fail "sandbox: 'proxies' is a list of sg.proxy" end
    out[i] = px.spec
  end
  return out
end

return M
