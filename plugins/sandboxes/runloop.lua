-- Runloop: devboxes, asleep they keep their disk
-- Source: @runloop/api-client 1.32. Plain REST. execute waits up to 25 s for the end of a command and carries what it put
-- out, so our text is asked in pieces; a command's id makes it safe to send twice.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "runloop", about = "Runloop: devboxes, asleep they keep their disk",
  url = "https://api.runloop.ai", hosts = p.list { "*.runloop.ai" },
  env = { key = "RUNLOOP_API_KEY", url = "RUNLOOP_BASE_URL", tunnel_url = "RUNLOOP_TUNNEL_URL" },
  auth = p.list { "Authorization: Bearer {key}" },
  hide = p.list { "auth_token" },
  poll = 20,
  -- list prices of 2026 by size, in millionths of a dollar per hour
  prices = { X_SMALL = 66600, SMALL = 133200, MEDIUM = 266400, LARGE = 532800, X_LARGE = 1065600, XX_LARGE = 2131200 },
}

local function box_of(d)
  local size = d.launch_parameters and d.launch_parameters.resource_size_request
  return { id = d.id, tag = d.metadata and d.metadata["sandglass-box"], uusd_hour = M.prices[size or "SMALL"] or M.prices.SMALL }
end

local OVER = { failure = true, shutdown = true }

local function until_running(id, host)
  while true do
    local r = host.http { method = "POST", path = ("/v1/devboxes/%s/wait_for_status"):format(id), again = true,
      json = { statuses = p.list { "running", "failure", "shutdown" } }, accept = { [408] = true } }
    local d = r.json or {}
    if r.status ~= 408 and d.status == "running" then return d end
    if OVER[d.status] then
      host.fail("bad", "runloop: the devbox is '%s'%s", d.status, d.failure_reason and (": " .. tostring(d.failure_reason)) or "")
    end
    if r.status ~= 408 then host.sleep(0.5) end
  end
end

function M.open(o, host)
  if o.image then
    host.fail("unable", "runloop: an image must be made a blueprint first; then template = \"its name\"")
  end
  local launch = { keep_alive_time_seconds = o.ttl, resource_size_request = o.size,
    network_policy_id = o.options.network_policy_id }
  if o.limits.cpu_milli > 0 or o.limits.mem_bytes > 0 then
    launch.resource_size_request = "CUSTOM_SIZE"
    launch.custom_cpu_cores = math.max(1, o.limits.cpu_milli // 1000)
    launch.custom_gb_memory = math.max(1, o.limits.mem_bytes >> 30)
  end
  local d = host.http { method = "POST", path = "/v1/devboxes", want = "json", headers = { ["x-request-id"] = "sandglass-" .. o.tag },
    json = { name = o.name, metadata = o.tags, environment_variables = o.env, secrets = o.secrets, blueprint_name = o.template,
      snapshot_id = o.snapshot, launch_parameters = launch } }.json
  if type(d.id) ~= "string" then host.fail("bad", "runloop: the answer to POST /v1/devboxes names no devbox") end
  host.keep(box_of(d))
  local box = box_of(until_running(d.id, host))
  if not o.options.network_policy_id then box.lacks = p.list { "the network is open: options.network_policy_id names a policy" } end
  return box
end

local function devbox(box, tail) return "/v1/devboxes/" .. box.id .. tail end

local function is_there(box, host, msg)
  local r = host.http { path = devbox(box, ""), accept = { [404] = true } }
  local status = r.json and r.json.status
  if r.status == 404 or OVER[status] or status == "suspended" then
    host.fail("gone", "runloop: the devbox '%s' %s", box.id, status and "is " .. status or "no longer exists")
  end
  host.fail("cut", "runloop: %s", msg)
end

function M.exec(box, text, host)
  local r = host.http { method = "POST", path = devbox(box, "/execute?last_n=5000"), accept = { [404] = true, [400] = true }, first = 60,
    json = { command = text, command_id = host.uuid(), optimistic_timeout = 25 } }
  if r.status >= 300 then is_there(box, host, (p.error_text(r.body or ""))) end
  local e = r.json
  while true do
    if type(e) ~= "table" or type(e.status) ~= "string" or type(e.execution_id) ~= "string" then
      host.fail("bad", "runloop: the answer is not from the API: %s", p.error_text(r.body or ""))
    end
    if e.status == "completed" then break end
    local again = host.http { method = "POST", again = true, first = 60, accept = { [408] = true, [404] = true },
      path = devbox(box, ("/executions/%s/wait_for_status?last_n=5000"):format(e.execution_id)),
      json = { statuses = p.list { "completed" }, timeout_seconds = 25 } }
    if again.status == 404 then is_there(box, host, "the command no longer exists") end
    if again.status ~= 408 and again.json then e = again.json end
  end
  host.out((e.stdout or "") .. "\n")
end

function M.write(box, path, bytes, host)
  local mark = "sandglass" .. host.uuid()
  local body = ('--%s\r\nContent-Disposition: form-data; name="path"\r\n\r\n%s\r\n--%s\r\nContent-Disposition: form-data; '
    .. 'name="file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n%s\r\n--%s--\r\n'):format(mark, path, mark, bytes, mark)
  host.http { method = "POST", path = devbox(box, "/upload_file"), body = body, again = true,
    headers = { ["Content-Type"] = "multipart/form-data; boundary=" .. mark } }
end

function M.close(box, host)
  host.http { method = "POST", path = devbox(box, "/shutdown"), json = {}, accept = { [404] = true }, again = true }
end

function M.alive(box, ttl, host) host.http { method = "POST", path = devbox(box, "/keep_alive"), again = true } end
function M.sleep(box, how, host) host.http { method = "POST", path = devbox(box, "/suspend"), json = {} } end

function M.wake(box, host)
  host.http { method = "POST", path = devbox(box, "/resume"), json = {} }
  until_running(box.id, host)
end

function M.list(tags, host)
  local found, after = p.list {}, nil
  repeat
    local page = host.http { path = "/v1/devboxes?limit=100" .. (after and "&starting_after=" .. after or ""), want = "json" }.json
    for _, d in ipairs(page.devboxes or {}) do
      local mine = not OVER[d.status]
      for k, v in pairs(tags) do mine = mine and d.metadata and d.metadata[k] == v end
      if mine then found[#found + 1] = box_of(d) end
      after = d.id
    end
  until not page.has_more
  return found
end

function M.address(box, port, host)
  local t = host.http { method = "POST", path = devbox(box, "/enable_tunnel"), json = { auth_mode = "authenticated" }, want = "json" }.json
  local elsewhere = host.urls.tunnel_url   -- not Runloop's own: the host's first word is a directory there
  local url = elsewhere and ("%s/%d-%s"):format(elsewhere:gsub("/$", ""), port, t.tunnel_key)
    or ("https://%d-%s.tunnel.runloop.ai"):format(port, t.tunnel_key)
  return { url = url,
    headers = { ["X-Runloop-Tunnel-Authorization"] = "Bearer " .. tostring(t.auth_token) } }
end

return M
