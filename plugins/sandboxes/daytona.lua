-- Daytona: containers and VMs, asleep they keep their disk
-- The control plane is REST (API base), the box itself a REST service behind a proxy ("toolbox").
-- Source: @daytonaio/sdk 0.218 and the daemon's own source of June 2026. Of its ways to run something only the one-shot call
-- takes one request; a session's log is always whole, by lines, without NUL, and has to be asked for again and again.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "daytona", about = "Daytona: containers and VMs, asleep they keep their disk",
  url = "https://app.daytona.io/api", hosts = p.list { "*.daytona.io", "*.daytona.work", "*.daytona.app" },
  env = { key = "DAYTONA_API_KEY", url = "DAYTONA_API_URL" },
  -- the version decides how the service answers: from 0.167 on, output comes apart and as JSON
  auth = p.list { "Authorization: Bearer {key}", "X-Daytona-SDK-Version: 0.218.0", "X-Daytona-Source: sandglass" },
  hide = p.list { "token", "authToken" },
  poll = 20,
  -- list prices of 2026, in millionths of a dollar per hour: a vCPU, a GiB of memory, a GiB of disk
  prices = { cpu = 50400, memory = 16200, disk = 108 },
}

local FINAL = { error = true, build_failed = true, destroyed = true, destroying = true }

local function box_of(s, o)
  local hour = (s.cpu or 1) * M.prices.cpu + (s.memory or 1) * M.prices.memory + (s.disk or 3) * M.prices.disk
  return {
    id = s.id, tag = s.labels and s.labels["sandglass-box"] or o and o.tag, toolbox = s.toolboxProxyUrl, region = s.target,
    class = s.sandboxClass, uusd_hour = math.floor(hour),
  }
end

-- Polls until the sandbox has the expected state.
local function until_state(id, want, host)
  local pause, waited = 0.1, 0
  while true do
    local s = host.http { path = "/sandbox/" .. id, want = "json" }.json
    if s.state == want then return s end
    if FINAL[s.state] then
      host.fail("bad", "daytona: the sandbox is '%s' instead of '%s'%s", tostring(s.state), want,
        s.errorReason and (": " .. s.errorReason) or "")
    end
    host.sleep(pause)
    waited = waited + pause
    if waited > 600 then host.fail("bad", "daytona: the sandbox is still '%s' after 10 min", tostring(s.state)) end
    pause = math.min(pause * 1.2, 1)
  end
end

local function gib(bytes) return bytes and bytes > 0 and math.max(1, bytes // (1 << 30)) or nil end

local function dockerfile(o, host)
  if o.build and next(o.build.args or {}) then
    host.fail("unable", "daytona: args of a Dockerfile are not supported; write ARG %s=value into it", next(o.build.args))
  end
  if o.build then return o.build.text end
  return o.image and ("FROM %s\n"):format(o.image) or nil
end

function M.open(o, host)
  local body = {
    name = o.name, labels = o.tags, env = o.env, target = o.region, snapshot = o.snapshot or o.template, secrets = o.secrets,
    public = false, autoStopInterval = math.max(1, (o.ttl + 59) // 60), autoDeleteInterval = 24 * 60,
    cpu = o.limits.cpu_milli > 0 and math.max(1, o.limits.cpu_milli // 1000) or nil, memory = gib(o.limits.mem_bytes),
    disk = gib(o.limits.disk_bytes), gpu = o.options.gpu, sandboxClass = o.size, user = o.options.user, volumes = o.options.volumes,
  }
  local text = dockerfile(o, host)
  if text then body.buildInfo = { dockerfileContent = text } end
  if #o.hosts > 0 then
    body.domainAllowList = table.concat(o.hosts, ",")
  else
    body.networkBlockAll = true
  end
  local made = host.http { method = "POST", path = "/sandbox", json = body, want = "json" }.json
  if type(made.id) ~= "string" then host.fail("bad", "daytona: the answer to POST /sandbox names no sandbox") end
  host.keep(box_of(made, o))
  local s = until_state(made.id, "started", host)
  local box = box_of(s, o)
  if not box.toolbox then
    box.toolbox = host.http { path = "/sandbox/" .. s.id .. "/toolbox-proxy-url", want = "json" }.json.url
  end
  return box
end

local function toolbox(box, path) return box.toolbox:gsub("/$", "") .. "/" .. box.id .. path end

-- 404 of the toolbox may be one session that is gone, so the box itself is asked.
local function is_there(box, host)
  local r = host.http { path = "/sandbox/" .. box.id, accept = { [404] = true } }
  if r.status == 404 then host.fail("gone", "daytona: the sandbox '%s' no longer exists", box.id) end
  local state = r.json and r.json.state
  if state == "stopped" or state == "archived" then
    host.fail("gone", "daytona: the sandbox '%s' was stopped by another client", box.id)
  elseif FINAL[state] then
    host.fail("gone", "daytona: the sandbox '%s' is %s", box.id, state)
  end
end

-- stdout and stderr come as one, at the end; our text tells all on stdout, a piece at a time (poll).
function M.exec(box, text, host)
  local r = host.http { method = "POST", url = toolbox(box, "/process/execute"),
    json = { command = text, timeout = M.poll + 20 }, accept = { [404] = true, [408] = true, [502] = true, [504] = true } }
  if r.status >= 300 then
    is_there(box, host)
    host.fail("cut", "daytona: %s", p.error_text(r.body or ""))
  end
  if type(r.json) ~= "table" or type(r.json.result) ~= "string" then
    host.fail("bad", "daytona: the answer is not from the sandbox's toolbox: %s", p.error_text(r.body or ""))
  end
  host.out(r.json.result .. "\n")
end

function M.write(box, path, bytes, host)
  local mark = "sandglass" .. host.uuid()
  local body = ('--%s\r\nContent-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: application/octet-stream'
    .. '\r\n\r\n%s\r\n--%s--\r\n'):format(mark, bytes, mark)
  host.http { method = "POST", url = toolbox(box, "/files/upload-v2?path=" .. sandbox.escape(path)), body = body, again = true,
    headers = { ["Content-Type"] = "multipart/form-data; boundary=" .. mark } }
end

function M.close(box, host)
  host.http { method = "DELETE", path = "/sandbox/" .. box.id, accept = { [404] = true, [409] = true } }
end

function M.alive(box, ttl, host)
  host.http { method = "POST", path = "/sandbox/" .. box.id .. "/last-activity", json = {} }
end

function M.sleep(box, how, host)
  local verb = how == "pause" and box.class and box.class ~= "container" and "pause" or "stop"
  host.http { method = "POST", path = ("/sandbox/%s/%s"):format(box.id, verb) }
  until_state(box.id, verb == "pause" and "paused" or "stopped", host)
  return verb == "pause" and "memory" or nil
end

function M.wake(box, host)
  host.http { method = "POST", path = "/sandbox/" .. box.id .. "/start" }
  until_state(box.id, "started", host)
end

function M.list(tags, host)
  local found, cursor = p.list {}, nil
  repeat
    local query = "labels=" .. sandbox.escape(p.encode(tags)) .. (cursor and "&cursor=" .. sandbox.escape(cursor) or "")
    local page = host.http { path = "/sandbox?" .. query, want = "json" }.json
    for _, s in ipairs(page.items or page) do
      if not FINAL[s.state] then found[#found + 1] = box_of(s) end
    end
    cursor = type(page.nextCursor) == "string" and page.nextCursor ~= "" and page.nextCursor or nil
  until not cursor
  return found
end

function M.address(box, port, host)
  local a = host.http { path = ("/sandbox/%s/ports/%d/preview-url"):format(box.id, port), want = "json" }.json
  return { url = a.url, headers = { ["x-daytona-preview-token"] = a.token } }
end

return M
