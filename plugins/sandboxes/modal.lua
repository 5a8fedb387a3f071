-- Modal: containers of gVisor, asleep their files are an image
-- Source: modal 0.11.1 (npm) and the messages in modal 1.6.4 (PyPI), of sandboxes of the second kind. gRPC, which the vendor
-- may change without notice. The control plane opens and ends sandboxes; commands in one go to its "task command router", at
-- an address and with a credential from the control plane. Output is kept there and read from any offset.
local grpc = require "sandglass.grpc"
local p = require "sandglass.plugin"
local protobuf = require "sandglass.protobuf"

local M = {
  kind = "sandbox", name = "modal", about = "Modal: containers of gVisor, asleep their files are an image",
  url = "https://api.modal.com", hosts = p.list { "*.modal.com", "*.modal.host", "*.modal.run", "*.modal.dev" },
  env = { key = "MODAL_TOKEN_SECRET", id = "MODAL_TOKEN_ID", url = "MODAL_SERVER_URL" },
  -- the kind of client and its version decide what the service answers
  auth = p.list { "x-modal-token-id: {id}", "x-modal-token-secret: {key}", "x-modal-client-type: 8",
    "x-modal-client-version: 1.0.0", "x-modal-libmodal-version: modal-js/0.11.1" },
  -- list prices of 2026, in millionths of a dollar per hour: a core, a GiB of memory; more is charged when more is used
  prices = { cpu = 141912, memory = 24192 },
}

local APP, IMAGE, LIFE_S, KEPT_S = "sandglass", "debian:12", 86400, 7 * 86400
local WORDS_MAX, INPUT_MAX, READ_S, TRIES, ROUNDS = 60000, 1 << 20, 60, 4, 120

local types = protobuf [[
  message Nothing { }
  message AuthTokenGetResponse { string token = 1; }
  message AppGetOrCreateRequest { string app_name = 1; string environment_name = 2; int32 object_creation_type = 3; }
  message AppGetOrCreateResponse { string app_id = 1; }
  message EnvironmentGetOrCreateRequest { string deployment_name = 1; }
  message EnvironmentGetOrCreateResponse { string environment_id = 1; EnvironmentMetadata metadata = 2; }
  message EnvironmentMetadata { EnvironmentSettings settings = 2; }
  message EnvironmentSettings { string image_builder_version = 1; }
  message SecretGetOrCreateRequest { string deployment_name = 1; repeated string required_keys = 7; }
  message SecretGetOrCreateResponse { string secret_id = 1; }

  message Image { repeated string dockerfile_commands = 6; repeated StringPair build_args = 22; }
  message ImageGetOrCreateRequest { Image image = 2; string app_id = 4; string builder_version = 9; }
  message ImageGetOrCreateResponse { string image_id = 1; GenericResult result = 2; }
  message ImageJoinStreamingRequest { string image_id = 1; float timeout = 2; string last_entry_id = 3; }
  message ImageJoinStreamingResponse { GenericResult result = 1; repeated TaskLogs task_logs = 2;
    string entry_id = 3; }
  message TaskLogs { string data = 1; }
  message ImageDeleteRequest { string image_id = 1; }
  message GenericResult { int32 status = 1; string exception = 2; int32 exitcode = 3; }

  message SandboxCreateV2Request { string app_id = 1; Sandbox definition = 2; repeated SandboxTag tags = 4;
    repeated SecretSource secret_sources = 6; }
  message SandboxCreateV2Response { string sandbox_id = 1; string task_id = 3; Router command_router_access = 5; }
  message Sandbox { string image_id = 3; Resources resources = 5; uint32 timeout_secs = 7;
    SchedulerPlacement scheduler_placement = 17; NetworkAccess network_access = 22; string name = 30;
    uint32 idle_timeout_secs = 33; }
  message Resources { uint32 memory_mb = 2; uint32 milli_cpu = 3; }
  message SchedulerPlacement { repeated string regions = 4; }
  message NetworkAccess { int32 type = 1; repeated string allowed_domains = 3; }
  message SandboxTag { string tag_name = 1; string tag_value = 2; }
  message SecretSource { string secret_id = 1; StringMap env = 2; }
  message StringMap { repeated StringPair contents = 1; }
  message StringPair { string key = 1; string value = 2; }
  message Router { string jwt = 1; string url = 2; }
  message SandboxId { string sandbox_id = 1; float timeout = 2; }
  message SandboxWaitV2Response { GenericResult result = 1; }
  message SandboxGetTaskIdV2Response { string task_id = 1; GenericResult task_result = 2; }
  message SandboxGetFromNameV2Request { string sandbox_name = 1; string app_name = 3; }
  message SandboxGetFromNameV2Response { string sandbox_id = 1; }
  message SandboxListV2Request { string app_id = 1; double before_timestamp = 2; repeated SandboxTag tags = 5; }
  message SandboxListV2Response { repeated SandboxInfo sandboxes = 1; }
  message SandboxInfo { string id = 1; double created_at = 3; repeated SandboxTag tags = 6; }
  message SandboxCreateConnectTokenV2Request { string sandbox_id = 1; uint32 port = 3; }
  message SandboxCreateConnectTokenV2Response { string url = 1; string token = 2; }

  message TaskExecStartRequest { string task_id = 1; string exec_id = 2; repeated string command_args = 3;
    int32 stdout_config = 4; int32 stderr_config = 5; }
  message TaskExecStdioReadRequest { string task_id = 1; string exec_id = 2; uint64 offset = 3; int32 file_descriptor = 4; }
  message TaskExecStdioReadResponse { bytes data = 1; }
  message TaskExecStdinWriteRequest { string task_id = 1; string exec_id = 2; uint64 offset = 3; bytes data = 4;
    bool eof = 5; }
  message TaskSnapshotFilesystemRequest { string task_id = 1; string snapshot_id = 2; int64 ttl_seconds = 3; }
  message TaskSnapshotFilesystemResponse { string image_id = 1; }
]]
local CREATE_IF_MISSING, SUCCESS, BLOCKED, ALLOWLIST, PIPE, TO_STDOUT = 1, 1, 2, 3, 1, 2

local call = grpc.new { name = M.name, key = M.env.key, types = types }

-- The control plane --------------------------------------------------------------------------------------------------

local credential   -- of the control plane, for some minutes: used until it is refused

local function plane(host)
  local function ask(r)
    r.service = "modal.client.ModalClient"
    r.headers = { ["x-modal-auth-token"] = credential, ["x-idempotency-key"] = host.uuid() }
    return r
  end
  local function signed(r)
    credential = credential
      or call.unary(host, ask { method = "AuthTokenGet", send = "Nothing", hide = p.list { "1" }, again = true }).token
    return ask(r)
  end
  return {
    unary = function(method, message, r)
      r = r or {}
      r.method, r.message, r.accept = method, message, r.accept or {}
      r.accept[grpc.UNAUTHENTICATED] = true
      for try = 1, 2 do
        local m, status, text = call.unary(host, signed(r))
        if m or status ~= grpc.UNAUTHENTICATED then return m, status, text end
        credential = nil
        if try == 2 then call.refuse(host, r, status, text) end
      end
    end,
    stream = function(method, message, fn)
      local status, text
      for _ = 1, 2 do
        status, text = call.stream(host, signed { method = method, message = message, again = true, timeout = READ_S }, fn)
        if status ~= grpc.UNAUTHENTICATED then break end
        credential = nil
      end
      return status, text
    end,
  }
end

local function app_of(modal)
  return modal.unary("AppGetOrCreate", { app_name = APP, object_creation_type = CREATE_IF_MISSING }, { again = true }).app_id
end

local function result_of(host, what, result)
  if result.status ~= SUCCESS then
    host.fail("bad", "modal: %s: %s", what, result.exception or ("status " .. tostring(result.status)))
  end
end

local function lines_of(o, host)
  if o.image and type(o.image) ~= "string" then host.fail("unable", "modal: image is a name in a registry") end
  local text = o.build and o.build.text or "FROM " .. (o.image or IMAGE)
  local lines = {}
  for line in text:gmatch "[^\r\n]+" do
    lines[#lines + 1] = line
    local verb = line:match "^%s*(%a+)"
    if verb and (verb:upper() == "COPY" or verb:upper() == "ADD") and not line:find "%-%-from=" then
      host.fail("unable", "modal: no files are sent with a Dockerfile, so '%s' has nothing to take: get them by RUN, or keep them "
        .. "in an image", line)
    end
  end
  return lines
end

local function pairs_of(map)
  local list = {}
  for k, v in pairs(map or {}) do list[#list + 1] = { key = k, value = v } end
  return list
end

local function image_of(o, modal, app, host)
  if o.snapshot or o.template then return o.snapshot or o.template end
  local lines = lines_of(o, host)
  local metadata = modal.unary("EnvironmentGetOrCreate", {}, { again = true }).metadata
  local version = metadata and metadata.settings and metadata.settings.image_builder_version
  local made = modal.unary("ImageGetOrCreate", { app_id = app, builder_version = version,
    image = { dockerfile_commands = lines, build_args = pairs_of(o.build and o.build.args) } }, { again = true })
  local result, last, rounds = made.result, nil, 0
  while not result or (result.status or 0) == 0 do
    rounds = rounds + 1
    if rounds > ROUNDS then host.fail("cut", "modal: the image is still being made") end
    if rounds > 1 then host.sleep(0.5) end
    local status, text = modal.stream("ImageJoinStreaming", { image_id = made.image_id, timeout = READ_S - 5,
      last_entry_id = last }, function(m)
        for _, log in ipairs(m.task_logs) do if log.data and log.data:find "%S" then host.say("%s", p.clean(log.data)) end end
        last, result = m.entry_id or last, m.result or result
      end)
    if status ~= 0 and not grpc.passes[status] then
      call.refuse(host, { method = "ImageJoinStreaming" }, status, text)
    end
  end
  result_of(host, ("can't build the image from '%s'"):format(lines[1]), result)
  return made.image_id
end

local function sources_of(o, modal)
  local sources = {}
  for name, secret in pairs(o.secrets or {}) do
    local m = modal.unary("SecretGetOrCreate", { deployment_name = secret, required_keys = { name } }, { again = true })
    sources[#sources + 1] = { secret_id = m.secret_id }
  end
  local env = pairs_of(o.env)
  if #env > 0 then sources[#sources + 1] = { env = { contents = env } } end
  return sources
end

local function tag_list(tags)
  local list = {}
  for k, v in pairs(tags) do list[#list + 1] = { tag_name = k, tag_value = v } end
  return list
end

local asked = {}     -- by tag: what a box was opened with, so that it can wake
local routers = {}   -- by id: the address of a sandbox after its first one became invalid

-- Its name is nobody else's, so that a box is made once, even if the answer gets lost.
local function create(o, image, modal, app)
  local name = o.name
  local l = o.limits
  local milli = l.cpu_milli > 0 and l.cpu_milli or nil
  local mib = l.mem_bytes > 0 and math.max(1, l.mem_bytes >> 20) or nil
  local s = modal.unary("SandboxCreateV2", { app_id = app, tags = tag_list(o.tags), secret_sources = sources_of(o, modal),
    definition = { image_id = image, name = name, timeout_secs = LIFE_S, idle_timeout_secs = o.ttl,
      resources = { milli_cpu = milli, memory_mb = mib }, scheduler_placement = o.region and { regions = { o.region } },
      network_access = { type = #o.hosts > 0 and ALLOWLIST or BLOCKED, allowed_domains = o.hosts } } },
    { hide = p.list { "5.1", "6" }, accept = { [grpc.ALREADY_EXISTS] = name ~= nil } })
    or modal.unary("SandboxGetFromNameV2", { sandbox_name = name, app_name = APP }, { again = true })
  local box = { id = s.sandbox_id, tag = o.tag, task = s.task_id, router = s.command_router_access, region = o.region,
    uusd_hour = ((milli or 125) * M.prices.cpu // 1000) + ((mib or 128) * M.prices.memory // 1024) }
  box.lacks = p.list { "it lives for a day at most" }
  if #o.hosts > 0 then
    table.insert(box.lacks, "the list of hosts holds for names in TLS; names of other hosts can be looked up")
  end
  asked[o.tag] = o
  return box
end

function M.open(o, host)
  local modal = plane(host)
  local app = app_of(modal)
  local box = create(o, image_of(o, modal, app, host), modal, app)
  if not box.id then host.fail("bad", "modal: the answer to SandboxCreateV2 names no sandbox") end
  host.keep(box)
  return box
end

-- Says why a box does not answer.
local function is_there(box, host, text)
  local r = plane(host).unary("SandboxWaitV2", { sandbox_id = box.id, timeout = 0 }, { send = "SandboxId", again = true,
    accept = { [grpc.NOT_FOUND] = true } })
  if not r or r.result then
    host.fail("gone", "modal: the sandbox '%s' no longer exists%s", box.id, r and r.result.exception and ": " .. r.result.exception or "")
  end
  host.fail("cut", "modal: %s", text)
end

-- The router ---------------------------------------------------------------------------------------------------------

local function way_to(box, host, anew)
  local first = box.task and box.router and { task = box.task, router = box.router }
  local way = not anew and (routers[box.id] or first)
  if not way then
    local modal = plane(host)
    local function of(method, r)
      r.accept, r.again = { [grpc.NOT_FOUND] = true }, true
      return modal.unary(method, { sandbox_id = box.id }, r) or is_there(box, host, method .. " does not know it")
    end
    local t = of("SandboxGetTaskIdV2", { send = "SandboxId" })
    if not t.task_id then is_there(box, host, "it has not begun to run") end
    local access = of("SandboxGetCommandRouterAccess", { send = "SandboxId", reply = "Router", hide = p.list { "1" } })
    way = { task = t.task_id, router = access }
    routers[box.id] = way
  end
  if not way.router.url or not way.router.jwt then host.fail("bad", "modal: it is not told how the sandbox is reached") end
  local plain = (host.urls.url or host.options.url or ""):find "^http://"   -- then so is what lies behind it
  return { base = (plain and way.router.url:gsub("^https:", "http:") or way.router.url):gsub("/$", ""), task = way.task,
    jwt = way.router.jwt }
end

local function router_request(way, method, message, r)
  r.service, r.method, r.message = "modal.task_command_router.TaskCommandRouter", method, message
  r.base, r.bare, r.headers = way.base, true, { authorization = "Bearer " .. way.jwt }
  message.task_id = way.task
  return r
end

-- Every request may be sent twice; our ids and offsets tell repeats apart.
local function router(box, host, method, message, r)
  r = r or {}
  r.again, r.accept = true, { [grpc.UNAUTHENTICATED] = true, [grpc.NOT_FOUND] = true }
  for try = 1, 2 do
    local m, status, text = call.unary(host, router_request(way_to(box, host, try == 2), method, message, r))
    if m then return m end
    if status == grpc.NOT_FOUND then is_there(box, host, text) end
    if try == 2 then call.refuse(host, r, status, text) end
  end
end

-- Begins a program as @id.
local function start(box, host, id, argv, input)
  router(box, host, "TaskExecStart", { exec_id = id, command_args = argv, stdout_config = PIPE, stderr_config = TO_STDOUT },
    { reply = "Nothing" })
  for at = 0, input and #input or -1, INPUT_MAX do
    local piece = input:sub(at + 1, at + INPUT_MAX)
    router(box, host, "TaskExecStdinWrite", { exec_id = id, offset = at, data = piece, eof = at + INPUT_MAX > #input },
      { reply = "Nothing" })
  end
end

local at_once = true   -- output may be asked for while the program is being begun: one way there and back

-- Reads the output of @id from @at on; returns status (nil: the connection broke) and text of the
-- end.
local function read_on(box, host, id, at, anew, fn)
  local request = router_request(way_to(box, host, anew), "TaskExecStdioRead", { exec_id = id, offset = at },
    { again = true, timeout = READ_S })
  local ok, status, text = pcall(call.stream, host, request, function(m) fn(m.data or "") end)
  if ok then return status, text end
  if type(status) ~= "table" or (status.code ~= "cut" and status.code ~= "lost" and status.code ~= "unreached") then error(status, 0) end
  return nil, status.msg
end

local function check_end(box, host, status, text)
  if status == grpc.NOT_FOUND then is_there(box, host, text) end
  if status and status ~= grpc.UNAUTHENTICATED and status ~= 8 and not grpc.passes[status] then
    call.refuse(host, { method = "TaskExecStdioRead" }, status, text)
  end
end

-- All that @id puts out, to its end; from where it was when the connection breaks. A silent one is asked for anew now and
-- then, so that a connection that is dead is found out. @begun: a function, when @id may not be known there yet.
local function output(box, host, id, fn, begun)
  local at, tries, status, text = 0, 0, nil, nil
  while true do
    local before = at
    status, text = read_on(box, host, id, at, status == grpc.UNAUTHENTICATED, function(data)
      at = at + #data
      fn(data)
    end)
    if status == 0 then return end
    if begun then   -- perhaps it was asked for too early
      at_once = at_once and status ~= grpc.NOT_FOUND
      while not begun() do host.sleep(0.01) end
      begun = nil
    else
      check_end(box, host, status, text)
      tries = (at > before or status == grpc.DEADLINE_EXCEEDED) and 0 or tries + 1
      if tries > TRIES then host.fail("cut", "modal: %s", text) end
      if tries > 0 then host.sleep(0.05 * 2 ^ tries) end
    end
  end
end

function M.exec(box, text, host)
  local id, begun = host.uuid(), false
  local function begin()
    local argv = { "/bin/sh", "-c", #text > WORDS_MAX and 'eval "$(cat)"' or text }
    start(box, host, id, argv, #text > WORDS_MAX and text or nil)
    begun = true
  end
  if at_once and #text <= WORDS_MAX then
    host.all { begin, function() output(box, host, id, host.out, function() return begun end) end }
  else
    begin()
    output(box, host, id, host.out)
  end
end

function M.write(box, path, bytes, host)
  local said, id = "", host.uuid()
  start(box, host, id, { "/bin/sh", "-c", 'cat >"$1" && echo written', "sh", path }, bytes)
  output(box, host, id, function(data) said = said .. data end)
  if said ~= "written\n" then host.fail("bad", "modal: can't write '%s': %s", path, said) end
end

-- The rest -----------------------------------------------------------------------------------------------------------

local function terminate(box, host)
  local modal = plane(host)
  local gone = { send = "SandboxId", reply = "Nothing", again = true, accept = { [grpc.NOT_FOUND] = true } }
  modal.unary("SandboxTerminateV2", { sandbox_id = box.id }, gone)
  return modal
end

local function drop_image(box, modal)
  if box.asleep then
    modal.unary("ImageDelete", { image_id = box.asleep }, { reply = "Nothing", again = true, accept = { [grpc.NOT_FOUND] = true } })
  end
end

function M.close(box, host)
  drop_image(box, terminate(box, host))
  routers[box.id], asked[box.tag or ""] = nil, nil
end

-- It ends when nothing has run in it for its ttl.
function M.alive(box, ttl, host) start(box, host, host.uuid(), { "true" }) end

function M.sleep(box, how, host)
  local s = router(box, host, "TaskSnapshotFilesystem", { snapshot_id = host.uuid(), ttl_seconds = KEPT_S })
  box.asleep = s.image_id
  host.keep(box)
  terminate(box, host)
end

function M.wake(box, host)
  local o = asked[box.tag] or host.fail("gone", "modal: the options of sandbox '%s' are no longer known", box.id)
  local modal = plane(host)
  local now = create(o, box.asleep, modal, app_of(modal))
  routers[box.id] = nil
  host.keep(now)
  drop_image(box, modal)
end

function M.list(tags, host)
  local modal, found, before = plane(host), p.list {}, nil
  local app = app_of(modal)
  while true do
    local page = modal.unary("SandboxListV2", { app_id = app, before_timestamp = before, tags = tag_list(tags) }, { again = true })
    if #page.sandboxes == 0 then return found end
    local oldest = page.sandboxes[#page.sandboxes].created_at
    for _, s in ipairs(page.sandboxes) do
      local box = { id = s.id }
      for _, t in ipairs(s.tags) do if t.tag_name == "sandglass-box" then box.tag = t.tag_value end end
      found[#found + 1] = box
    end
    if not oldest or (before and oldest >= before) then return found end   -- no older page
    before = oldest
  end
end

function M.address(box, port, host)
  local t = plane(host).unary("SandboxCreateConnectTokenV2", { sandbox_id = box.id, port = port }, { hide = p.list { "2" } })
  return { url = t.url, headers = { Authorization = "Bearer " .. t.token } }
end

return M
