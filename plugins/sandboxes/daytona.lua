-- Daytona: the control plane is REST (API base), the box itself a REST service behind a proxy ("toolbox").
-- Source: @daytonaio/sdk 0.218 and the daemon's own source of June 2026. A command runs in a session of its own, for the
-- one-shot call merges the streams and gives nothing before the end. A log is always whole, so it is asked for with pauses
-- that grow; what our text prints is short lines, which the session passes on one by one.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "daytona", about = "Daytona: containers and VMs, asleep they keep their disk",
  url = "https://app.daytona.io/api", hosts = p.list { "*.daytona.io", "*.daytona.work", "*.daytona.app" },
  env = { key = "DAYTONA_API_KEY", url = "DAYTONA_API_URL" },
  -- the version decides how the service answers: from 0.167 on, output comes apart and as JSON
  auth = p.list { "Authorization: Bearer {key}", "X-Daytona-SDK-Version: 0.218.0", "X-Daytona-Source: sandglass" },
  hide = p.list { "token", "authToken" },
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

-- Asks until the box is in the state that is wanted.
local function until_state(id, want, host)
  local pause, waited = 0.1, 0
  while true do
    local s = host.http { path = "/sandbox/" .. id, want = "json" }.json
    if s.state == want then return s end
    if FINAL[s.state] then
      host.fail("bad", "daytona: the box is '%s' instead of '%s'%s", tostring(s.state), want,
        s.errorReason and (": " .. s.errorReason) or "")
    end
    host.sleep(pause)
    waited = waited + pause
    if waited > 600 then host.fail("bad", "daytona: the box is still '%s' after ten minutes", tostring(s.state)) end
    pause = math.min(pause * 1.2, 1)
  end
end

local function gib(bytes) return bytes and bytes > 0 and math.max(1, bytes // (1 << 30)) or nil end

local function dockerfile(o)
  if type(o.build) == "string" then return o.build end
  if type(o.build) == "table" then return o.build.text end
  return o.image and ("FROM %s\n"):format(o.image) or nil
end

function M.open(o, host)
  local body = {
    name = o.name, labels = o.tags, env = o.env, target = o.region, snapshot = o.snapshot or o.template, secrets = o.secrets,
    public = false, autoStopInterval = math.max(1, (o.ttl + 59) // 60), autoDeleteInterval = 24 * 60,
    cpu = o.limits.cpu_milli > 0 and math.max(1, o.limits.cpu_milli // 1000) or nil, memory = gib(o.limits.mem_bytes),
    disk = gib(o.limits.disk_bytes), sandboxClass = o.size, user = o.options.user, volumes = o.options.volumes,
  }
  if dockerfile(o) then body.buildInfo = { dockerfileContent = dockerfile(o) } end
  if #o.hosts > 0 then
    body.domainAllowList = table.concat(o.hosts, ",")
  else
    body.networkBlockAll = true
  end
  local made = host.http { method = "POST", path = "/sandbox", json = body, want = "json" }.json
  if type(made.id) ~= "string" then host.fail("bad", "daytona: the answer to POST /sandbox names no box") end
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
  if r.status == 404 then host.fail("gone", "daytona: the box '%s' is no more", box.id) end
  local state = r.json and r.json.state
  if state == "stopped" or state == "archived" then
    host.fail("gone", "daytona: the box '%s' was stopped behind our back", box.id)
  elseif FINAL[state] then
    host.fail("gone", "daytona: the box '%s' is %s", box.id, state)
  end
end

function M.exec(box, text, host)
  local session = "sg-" .. host.uuid()
  local base = toolbox(box, "/process/session")
  local function ask(r)
    r.accept = { [404] = true, [410] = true, [502] = true, [504] = true }
    local a = host.http(r)
    if a.status >= 300 then
      is_there(box, host)
      host.fail("cut", "daytona: %s", p.error_text(a.body or ""))
    end
    return a.json or {}
  end
  ask { method = "POST", url = base, json = { sessionId = session } }
  local cmd = ask { method = "POST", url = base .. "/" .. session .. "/exec",
    json = { command = text, runAsync = true, suppressInputEcho = true } }.cmdId
  if not cmd then host.fail("cut", "daytona: the command has no id") end
  local at = base .. "/" .. session .. "/command/" .. cmd
  local seen, pause, ended = 0, 0.02, false
  while true do
    local log = ask { url = at .. "/logs" }.stdout or ""
    if #log > seen then
      host.out(log:sub(seen + 1))
      seen, pause = #log, 0.02
    end
    if ended then break end
    if log:find("\n@[xl.!][^\n]*\n*$") or log:find("^@[xl.!][^\n]*\n*$") then break end
    ended = ask { url = at }.exitCode ~= nil
    if not ended then
      host.sleep(pause)
      pause = math.min(pause * 1.3 + #log / 4e7, 1)   -- the whole log comes each time
    end
  end
  host.http { method = "DELETE", url = base .. "/" .. session, accept = { [404] = true, [502] = true } }
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

function M.url(box, port, host)
  local a = host.http { path = ("/sandbox/%s/ports/%d/preview-url"):format(box.id, port), want = "json" }.json
  return { url = a.url, headers = { ["x-daytona-preview-token"] = a.token } }
end

return M
