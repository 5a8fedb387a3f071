-- Calls of gRPC for plugins of kind "sandbox", over host.http and host.stream (plugin_sandbox.lua) and HTTP/2.
--
--   local call = grpc.new { name = "modal", key = "MODAL_TOKEN_SECRET", types = protobuf [[ ... ]] }
--   call.unary(host, r)       -> the answer; or nil, status, message where r.accept[status]
--   call.stream(host, r, fn)  -> status, message; fn gets each message; a stream that breaks off raises as host.stream does
--
-- r = { service, method, send, reply = names of types (METHODRequest and METHODResponse), message, base = another address than
-- the plugin's, headers, bare, hide, again, timeout (seconds, told to the other side) }. A status that may pass is waited for,
-- if nothing was done (too many requests, with the time that the other side asks for) or with `again`.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"
local protobuf = require "sandglass.protobuf"

local STATUS = { [0] = "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
  "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED" }
local PASSES = { [1] = true, [2] = true, [4] = true, [13] = true, [14] = true }
local MOST_TRIES, MOST_WAIT_S = 5, 20

local details = protobuf [[
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message RetryPolicy { float retry_after_secs = 1; }
]]

-- Seconds that the other side asks to wait, if it does.
local function asked_for(ends)
  local s = ends["grpc-status-details-bin"]
  s = s and details.decode("Status", sandbox.base64_decode(s))
  for _, any in ipairs(s and s.details or {}) do
    local policy = (any.type_url or ""):find "RetryPolicy$" and details.decode("RetryPolicy", any.value or "")
    if policy then return policy.retry_after_secs end
  end
end

local M = { NOT_FOUND = 5, ALREADY_EXISTS = 6, DEADLINE_EXCEEDED = 4, UNAUTHENTICATED = 16, passes = PASSES }

function M.new(face)
  local call = {}

  local function request(r)
    local path = ("/%s/%s"):format(r.service, r.method)
    local headers = { ["Content-Type"] = "application/grpc", TE = "trailers",
      ["grpc-timeout"] = r.timeout and ("%dS"):format(r.timeout) or nil }
    for k, v in pairs(r.headers or {}) do headers[k] = v end
    return { method = "POST", path = not r.base and path or nil, url = r.base and r.base .. path, headers = headers, h2 = true,
      bare = r.bare, hide = r.hide, again = r.again, idle = r.timeout and r.timeout + 30 or nil,
      body = sandbox.envelope(0, face.types.encode(r.send or r.method .. "Request", r.message or {})) }
  end

  local function decoded(host, r, body)
    local m, why = face.types.decode(r.reply or r.method .. "Response", body)
    return m or host.fail("bad", "%s (%s): invalid answer: %s", face.name, r.method, why)
  end

  -- Status, message and headers of the end; nil: there was none.
  local function outcome(host, r, ev)
    local ends = ev.headers["grpc-status"] and ev.headers or ev.trailers or {}
    local status = math.tointeger(tonumber(ends["grpc-status"]))
    if not status and not (ev.headers["content-type"] or ""):find "^application/grpc" then
      host.fail("bad", "%s (%s): the answer is not from the API: %s", face.name, r.method, (p.error_text(ev.body or "")))
    end
    local text = (ends["grpc-message"] or ""):gsub("%%(%x%x)", function(x) return string.char(tonumber(x, 16)) end)
    return status, text ~= "" and text or STATUS[status] or "no status", ends
  end

  local function wait_for(status, ends, tries, again)
    if status ~= 8 and not (again and PASSES[status]) or tries > MOST_TRIES then return nil end
    local s = asked_for(ends) or 0.2 * 2 ^ tries
    return s <= MOST_WAIT_S and math.max(s, 0.01) or nil
  end

  function call.refuse(host, r, status, text)
    if status == 16 or status == 7 then sandbox.refuse_key(face.name, face.key, text) end
    if status == 8 then host.fail("quota", "%s refuses more (%s): %s", face.name, STATUS[8], text) end
    host.fail(PASSES[status] and "cut" or "bad", "%s (%s): %s: %s", face.name, r.method, STATUS[status] or status or "cut", text)
  end

  function call.unary(host, r)
    local req, tries = request(r), 0
    while true do
      local ev = host.http(req)
      local status, text, ends = outcome(host, r, ev)
      if status == 0 then
        local m
        sandbox.envelopes(function(flags, body) m = m or flags == 0 and decoded(host, r, body) end)(ev.body or "")
        return m or host.fail("cut", "%s (%s): the answer was cut off", face.name, r.method)
      end
      if r.accept and r.accept[status] then return nil, status, text end
      tries = tries + 1
      local wait = wait_for(status, ends, tries, r.again)
      if not wait then call.refuse(host, r, status, text) end
      host.sleep(wait)
    end
  end

  function call.stream(host, r, fn)
    local ev = host.stream(request(r), sandbox.envelopes(function(_, body) fn(decoded(host, r, body)) end))
    local status, text = outcome(host, r, ev)
    if not status then host.fail("cut", "%s (%s): the answer was cut off", face.name, r.method) end
    return status, text
  end

  return call
end

return M
