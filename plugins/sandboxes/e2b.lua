-- E2B: microVMs, asleep they keep memory or disk
-- Source: e2b 2.51 and the open source of envd and the API of August 2026. The control plane is REST; in the box envd speaks
-- Connect-RPC as JSON, a message a head of five bytes. What nobody reads of a stream is lost there, so our text keeps it.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "e2b", about = "E2B: microVMs, asleep they keep memory or disk",
  url = "https://api.e2b.app", hosts = p.list { "*.e2b.app", "*.e2b.dev", "*.e2b.pro" },
  env = { key = "E2B_API_KEY", url = "E2B_API_URL", sandbox_url = "E2B_SANDBOX_URL" },
  auth = p.list { "X-API-KEY: {key}" },
  hide = p.list { "envdAccessToken", "trafficAccessToken" },
  uusd_hour = 108900,   -- list price of 2026 of the default template: 2 vCPU, 512 MiB
}

local function box_of(s)
  local price = s.cpuCount and s.memoryMB and s.cpuCount * 50400 + s.memoryMB * 16200 // 1024
  return {
    id = s.sandboxID, tag = s.metadata and s.metadata["sandglass-box"], domain = s.domain, token = s.envdAccessToken,
    traffic = s.trafficAccessToken, version = s.envdVersion, uusd_hour = price or M.uusd_hour,
  }
end

-- Older deployments know only the paths without a version.
local function first_of(host, method, new, old, body, old_body)
  local r = host.http { method = method, path = new, json = body, accept = { [404] = true, [405] = true } }
  local unknown = r.status == 405 or r.status == 404 and not (r.json and r.json.code)
  if unknown then r = host.http { method = method, path = old, json = old_body or body } end
  if r.status >= 300 then host.fail("gone", "e2b: %s", p.error_text(r.body)) end
  if type(r.json) ~= "table" or not r.json.sandboxID then
    host.fail("bad", "e2b: what answers at %s is not the API: %s", new, p.error_text(r.body or ""))
  end
  return r.json
end

function M.open(o, host)
  if o.image or o.build then
    host.fail("unable", "e2b: an image must be made a template first (e2b template build); then template = \"its name\"")
  end
  local body = {
    templateID = o.template or o.snapshot or "base", metadata = o.tags, timeout = o.ttl, envVars = o.env,
    allow_internet_access = #o.hosts > 0, network = #o.hosts > 0 and { allowOut = o.hosts, denyOut = p.list { "0.0.0.0/0" } } or nil,
    autoPause = o.options.idle ~= nil or nil,
  }
  local old = { secure = true }
  for k, v in pairs(body) do old[k] = v end
  local box = box_of(first_of(host, "POST", "/v2/sandboxes", "/sandboxes", body, old))
  box.tag = o.tag
  host.keep(box)
  return box
end

local function envd(box, host)
  return host.urls.sandbox_url or ("https://49983-%s.%s"):format(box.id, type(box.domain) == "string" and box.domain or "e2b.app")
end

local function headers(box, kind)
  return { ["E2b-Sandbox-Id"] = box.id, ["E2b-Sandbox-Port"] = "49983", ["X-Access-Token"] = box.token, ["Content-Type"] = kind,
    ["Connect-Protocol-Version"] = "1" }
end

-- An invalid key fails here, not later as an expired sandbox token.
local function is_there(box, host, msg, code)
  local r = host.http { path = "/sandboxes/" .. box.id, accept = { [404] = true } }
  if r.status == 404 then host.fail("gone", "e2b: the sandbox '%s' no longer exists: %s", box.id, msg) end
  if r.json and r.json.state == "paused" then host.fail("gone", "e2b: the sandbox '%s' was paused by another client", box.id) end
  host.fail(code or "cut", "e2b: %s", msg)
end

-- The stream ends with a message of its own; without it, it broke off.
function M.exec(box, text, host)
  local ended, wrong = false, nil
  local body = p.encode { process = { cmd = "/bin/sh", args = p.list { "-c", text } }, stdin = false }
  local take = sandbox.envelopes(function(flags, message)
    local v = p.decode(message) or {}
    if flags & 2 ~= 0 then
      ended, wrong = true, v.error
    elseif v.event and v.event.data and v.event.data.stdout then
      host.out(sandbox.base64_decode(v.event.data.stdout))
    end
  end)
  local r = host.stream({ method = "POST", url = envd(box, host) .. "/process.Process/Start", bare = true, idle = 120,
    headers = headers(box, "application/connect+json"), body = sandbox.envelope(0, body),
    accept = { [401] = true, [403] = true, [404] = true, [502] = true } }, take)
  if r.status == 401 or r.status == 403 or wrong and wrong.code == "unauthenticated" then
    local msg = r.status ~= 200 and p.error_text(r.body or "") or wrong.message or wrong.code
    is_there(box, host, ("the sandbox '%s' no longer accepts its token: %s; open another sandbox"):format(box.id, msg), "denied")
  end
  if r.status ~= 200 then is_there(box, host, (p.error_text(r.body or ""))) end
  if wrong then host.fail("cut", "e2b: %s", wrong.message or wrong.code) end
  if not ended then host.fail("cut", "e2b: the answer was cut off") end
end

function M.write(box, path, bytes, host)
  host.http { method = "POST", url = envd(box, host) .. "/files?path=" .. sandbox.escape(path), bare = true, body = bytes,
    headers = headers(box, "application/octet-stream"), again = true }
end

function M.close(box, host)
  host.http { method = "DELETE", path = "/sandboxes/" .. box.id, accept = { [404] = true }, again = true }
end

function M.alive(box, ttl, host)
  host.http { method = "POST", path = ("/sandboxes/%s/timeout"):format(box.id), json = { timeout = ttl }, again = true }
end

function M.sleep(box, how, host)
  host.http { method = "POST", path = ("/sandboxes/%s/pause"):format(box.id), json = { memory = how == "pause" },
    accept = { [409] = true } }
  return how == "pause" and "memory" or nil
end

function M.wake(box, host)
  local body = { timeout = box.ttl or 900 }
  local s = first_of(host, "POST", ("/v2/sandboxes/%s/connect"):format(box.id), ("/sandboxes/%s/connect"):format(box.id), body)
  local now = box_of(s)
  now.tag, now.token = box.tag, now.token or box.token
  host.keep(now)
end

function M.list(tags, host)
  local words = {}
  for k, v in pairs(tags) do words[#words + 1] = sandbox.escape(k) .. "=" .. sandbox.escape(v) end
  local found, next_token = p.list {}, nil
  repeat
    local page = host.http { path = "/v2/sandboxes?state=running,paused&metadata=" .. sandbox.escape(table.concat(words, "&"))
      .. (next_token and "&nextToken=" .. sandbox.escape(next_token) or "") }
    for _, s in ipairs(type(page.json) == "table" and page.json or {}) do found[#found + 1] = box_of(s) end
    next_token = page.headers["x-next-token"]
  until not next_token or next_token == ""
  return found
end

function M.address(box, port, host)
  if host.urls.sandbox_url then   -- one address for all boxes: headers say which, and where in it
    return { url = host.urls.sandbox_url, headers = { ["E2b-Sandbox-Id"] = box.id, ["E2b-Sandbox-Port"] = tostring(port),
      ["e2b-traffic-access-token"] = type(box.traffic) == "string" and box.traffic or nil } }
  end
  return { url = ("https://%d-%s.%s"):format(port, box.id, type(box.domain) == "string" and box.domain or "e2b.app"),
    headers = type(box.traffic) == "string" and { ["e2b-traffic-access-token"] = box.traffic } or nil }
end

return M
