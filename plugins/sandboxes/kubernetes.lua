-- Kubernetes: a pod per sandbox, in a cluster of yours
-- The plain API: pods, and their exec over a WebSocket (v5.channel.k8s.io, else v4). KUBERNETES_API_URL names the API server,
-- KUBERNETES_TOKEN a token that may create, get, list and delete pods, pods/exec and networkpolicies. The cluster's own CA goes into
-- SSL_CERT_FILE. With neither of the two, the kubeconfig is used ($KUBECONFIG, ~/.kube/config) as kubectl, which has to be there, uses it:
-- certificates, exec plugins, namespace. options = { context = "NAME" } takes another context than the current one, whatever is set.
-- A pod's lifetime can't be extended from outside, so its first process watches the time of a file of ours.
-- Where the cluster has kubernetes-sigs/agent-sandbox, options = { claim = "NAME of a warm pool" } claims a pod of that pool instead (may create,
-- get, list, patch and delete sandboxclaims, get sandboxes): image, limits and user are its template's, and the claim has a time to live.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "kubernetes", about = "Kubernetes: one pod per sandbox, in your cluster",
  url = "https://kubernetes.default.svc", hosts = p.list {},
  env = { key = "KUBERNETES_TOKEN", url = "KUBERNETES_API_URL" },
  auth = p.list { "Authorization: Bearer {key}" }, keyless = "loopback", login = "kubeconfig",
  hint = "without KUBERNETES_API_URL the kubeconfig is used, as kubectl uses it; "
    .. "within a pod the token is in /var/run/secrets/kubernetes.io/serviceaccount/token, and SSL_CERT_FILE names ca.crt beside it",
}

local ALIVE = "/tmp/.sandglass-alive"
local LONGEST = 24 * 3600     -- seconds, whatever happens
local POLICY = "sandglass-closed"

local CLAIMS = "/apis/extensions.agents.x-k8s.io/v1beta1"

local function pods(box, tail) return ("/api/v1/namespaces/%s/pods%s"):format(box.namespace, tail or "") end
local function pod(box, tail) return pods(box, "/" .. (box.pod or box.id) .. (tail or "")) end
local function claims(box, tail) return ("%s/namespaces/%s/sandboxclaims%s"):format(CLAIMS, box.namespace, tail or "") end

-- Values of labels: letters, digits, '-', '_', '.', at most 63, a letter or digit at both ends.
local function label(s) return (s:gsub("[^%w%-_.]", "-"):sub(1, 63):gsub("^[^%w]+", ""):gsub("[^%w]+$", "")) end

local function labels_of(tags)
  local out = {}
  for k, v in pairs(tags) do out[k] = label(v) end
  return out
end

local function box_of(v)
  local m = v.metadata
  return { id = m.name, claim = v.kind == "SandboxClaim" or nil, namespace = m.namespace or "default", tag = (m.annotations or {})["sandglass-box"] or (m.labels or {})["sandglass-box"] }
end

local function environment(o)
  local list = p.list {}
  for k, v in pairs(o.env) do list[#list + 1] = { name = k, value = v } end
  for k, v in pairs(o.secrets or {}) do
    local name, key = v:match "^([^/]+)/(.+)$"
    list[#list + 1] = { name = k, valueFrom = { secretKeyRef = { name = name or v, key = key or k } } }
  end
  return #list > 0 and list or nil
end

local function resources(l, gpus)
  local most = {
    cpu = l.cpu_milli > 0 and l.cpu_milli .. "m" or nil, memory = l.mem_bytes > 0 and tostring(l.mem_bytes) or nil,
    ["ephemeral-storage"] = l.disk_bytes > 0 and tostring(l.disk_bytes) or nil, ["nvidia.com/gpu"] = gpus and tostring(gpus),
  }
  return next(most) and { limits = most, requests = most } or nil
end

local function first_process(ttl)
  return ("touch %s; trap 'exit 0' TERM; while [ $(($(date +%%s) - $(stat -c %%Y %s))) -lt %d ]; do sleep 5 & wait $!; done"):format(
    ALIVE, ALIVE, ttl)
end

local function spec_of(o)
  local user = o.options.user or 1000
  local folder = p.list { { name = "workspace", mountPath = "/workspace" }, { name = "tmp", mountPath = "/tmp" } }
  return {
    restartPolicy = "Never", automountServiceAccountToken = false, enableServiceLinks = false, activeDeadlineSeconds = LONGEST,
    terminationGracePeriodSeconds = 1, nodeSelector = o.options.node, runtimeClassName = o.options.runtime_class,
    securityContext = { runAsUser = user, runAsGroup = user, fsGroup = user, runAsNonRoot = user ~= 0,
      seccompProfile = { type = "RuntimeDefault" } },
    volumes = p.list { { name = "workspace", emptyDir = p.decode "{}" }, { name = "tmp", emptyDir = p.decode "{}" } },
    containers = p.list { {
      name = "box", image = o.image or o.template or "debian:12", command = p.list { "sh", "-c", first_process(o.ttl) },
      workingDir = "/workspace", env = environment(o), resources = resources(o.limits, o.options.gpu), volumeMounts = folder,
      securityContext = { allowPrivilegeEscalation = false, capabilities = { drop = p.list { "ALL" } } },
    } },
  }
end

-- One policy for all closed boxes of a namespace: nothing in, nothing out.
local function close_network(namespace, host)
  host.http { path = ("/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies"):format(namespace), accept = { [409] = true },
    json = { apiVersion = "networking.k8s.io/v1", kind = "NetworkPolicy", metadata = { name = POLICY },
      spec = { podSelector = { matchLabels = { ["sandglass-net"] = "closed" } }, policyTypes = p.list { "Ingress", "Egress" } } } }
end

local HOPELESS = { ErrImagePull = true, ImagePullBackOff = true, InvalidImageName = true, ErrImageNeverPull = true,
  CreateContainerConfigError = true, CreateContainerError = true, RunContainerError = true, CrashLoopBackOff = true }

-- Why it doesn't run, from the pod's status: reason, text.
local function trouble(v)
  local s = v.status or {}
  for _, c in ipairs(s.containerStatuses or {}) do
    local state = c.state or {}
    if state.waiting and HOPELESS[state.waiting.reason] then return state.waiting.reason, state.waiting.message or "" end
    if state.terminated and state.terminated.reason == "OOMKilled" then return "OOMKilled", "its memory limit has ended all of it" end
    if state.terminated then
      return state.terminated.reason or "ended", state.terminated.message or ("exit %s"):format(tostring(state.terminated.exitCode))
    end
  end
  if s.phase == "Failed" or s.phase == "Succeeded" then return s.reason or s.phase, s.message or "" end
end

local function waiting(v)
  for _, c in ipairs((v.status or {}).conditions or {}) do
    if c.type == "PodScheduled" and c.status == "False" then return (c.reason or "?") .. ": " .. (c.message or "") end
  end
  return "phase " .. tostring((v.status or {}).phase)
end

local function until_ready(box, o, host)
  local pause, waited, said = 0.1, 0, nil
  local most = tonumber(o.options.start) or 300
  while true do
    local v = host.http { path = pod(box), want = "json" }.json
    local reason, text = trouble(v)
    if reason then host.fail("bad", "kubernetes: the pod does not start: %s: %s", reason, text) end
    for _, c in ipairs((v.status or {}).conditions or {}) do
      if c.type == "Ready" and c.status == "True" and v.status.phase == "Running" then return v end
    end
    if waited > most then host.fail("bad", "kubernetes: the pod does not run after %d seconds: %s", most, waiting(v)) end
    if waited > 3 and said ~= waiting(v) then
      said = waiting(v)
      host.say("kubernetes: the pod waits: %s", said)
    end
    host.sleep(pause)
    waited = waited + pause
    pause = math.min(pause * 1.3, 2)
  end
end

-- Claims -----------------------------------------------------------------------------------------------------------

local HOPELESS_CLAIM = { InvalidMetadata = true, EnvVarsInjectionRejected = true, VolumeClaimTemplatesError = true, ClaimExpired = true,
  SandboxExpired = true, TemplateNotFound = true, WarmPoolNotFound = true }

-- Seconds of the date of an HTTP answer, which is always of UTC; nil: it is none.
local function seconds_of(date)
  local day, name, year, hour, minute, second = tostring(date):match "(%d+) (%a%a%a) (%d%d%d%d) (%d+):(%d+):(%d+)"
  local month = name and (("JanFebMarAprMayJunJulAugSepOctNovDec"):find(name, 1, true) or -1) + 2
  if not month or month % 3 ~= 0 then return nil end
  local function stamp(t) return os.time { year = t.year, month = t.month, day = t.day, hour = t.hour, min = t.min, sec = t.sec, isdst = false } end
  local now = os.time()
  return stamp { year = year, month = month // 3, day = day, hour = hour, min = minute, sec = second } + now - stamp(os.date("!*t", now))
end

-- The time by the cluster's clock, which decides when a claim is over, and need not be ours.
local function until_time(ttl, host)
  local r = host.http { path = "/version", accept = { [401] = true, [403] = true, [404] = true } }
  return os.date("!%Y-%m-%dT%H:%M:%SZ", (seconds_of(r.headers.date) or os.time()) + ttl)
end

-- The box of a claim with its pod and container, once there are any.
local function found(box, o, host)
  if not box.claim or box.pod then return box end
  local pause, waited, most, said = 0.1, 0, tonumber(o.options.start) or 300, nil
  local name
  repeat
    local v = host.http { path = claims(box, "/" .. box.id), want = "json" }.json
    local ready = {}
    for _, c in ipairs((v.status or {}).conditions or {}) do if c.type == "Ready" then ready = c end end
    local why = ("%s: %s"):format(ready.reason or "no word of it yet", ready.message or "")
    if HOPELESS_CLAIM[ready.reason] then host.fail("bad", "kubernetes: the claim gets no pod: %s", why) end
    name = ready.status == "True" and ((v.status or {}).sandbox or {}).name
    if not name then
      if waited > most then host.fail("bad", "kubernetes: the claim has no pod after %d seconds: %s", most, why) end
      if waited > 3 and said ~= why then
        said = why
        host.say("kubernetes: the claim waits: %s", why)
      end
      host.sleep(pause)
      waited, pause = waited + pause, math.min(pause * 1.3, 2)
    end
  until name
  local v = host.http { path = ("/apis/agents.x-k8s.io/v1beta1/namespaces/%s/sandboxes/%s"):format(box.namespace, name), want = "json" }.json
  local full = {}
  for k, one in pairs(box) do full[k] = one end
  full.pod = ((v.metadata or {}).annotations or {})["agents.x-k8s.io/pod-name"] or name
  full.container = until_ready(full, o, host).spec.containers[1].name
  return full
end

local run

local function claim(o, box, labels, host)
  for _, what in ipairs { "image", "template" } do
    if o[what] then host.fail("unable", "kubernetes: the pods of a warm pool have an image of their own: leave %s away, or options.claim", what) end
  end
  if next(o.secrets or {}) then host.fail("unable", "kubernetes: a claim takes no secrets by reference; put them into the pool's template") end
  local env = environment(o)
  local r = host.http { path = claims(box), accept = { [404] = true }, json = {
    apiVersion = "extensions.agents.x-k8s.io/v1beta1", kind = "SandboxClaim",
    metadata = { name = box.id, labels = labels, annotations = { ["sandglass-box"] = o.tag } },
    spec = { warmPoolRef = { name = o.options.claim }, lifecycle = { shutdownTime = until_time(o.ttl, host), shutdownPolicy = "Delete" },
      additionalPodMetadata = { labels = { ["sandglass-net"] = labels["sandglass-net"] } }, env = env } } }
  if r.status == 404 then
    host.fail("unable", "kubernetes: this cluster has no sandbox claims (kubernetes-sigs/agent-sandbox, extensions.agents.x-k8s.io/v1beta1): "
      .. "leave options.claim away")
  end
  host.keep(box)
  local full = found(box, o, host)
  if not run(full, { "sh", "-c", "mkdir -p /workspace && [ -w /workspace ]" }, "", host) then
    host.fail("bad", "kubernetes: the pods of this pool have no /workspace that their user may write: give the template an emptyDir there")
  end
  return full
end

function M.open(o, host)
  if o.build then host.fail("unable", "kubernetes: a cluster builds no images: push one to its registry, then image = \"its name\"") end
  local closed = o.options.network ~= "open"
  if closed and #o.hosts > 0 then
    host.fail("unable", "kubernetes: a network policy knows no names of hosts; options = { network = \"open\" } opens all of it, "
      .. "net = \"none\" closes it")
  end
  local login = host.login or {}
  local namespace = o.options.namespace or o.region or login.namespace or "default"
  if closed then close_network(namespace, host) end
  local labels = labels_of(o.tags)
  labels["sandglass-net"] = closed and "closed" or "open"
  local name = o.name:lower():gsub("[^%w%-]", "-"):sub(1, 63):gsub("%-+$", "")
  if o.options.claim then
    local box = { id = name, claim = true, context = login.context, namespace = namespace, tag = o.tag,
      lacks = p.list { "limits and user are those of the warm pool's template", closed and "the network is as closed as the cluster's network "
        .. "plugin keeps its policies" or "the network is open" } }
    return claim(o, box, labels, host)
  end
  local v = host.http { path = ("/api/v1/namespaces/%s/pods"):format(namespace), want = "json",
    json = { apiVersion = "v1", kind = "Pod", metadata = { name = name, labels = labels, annotations = { ["sandglass-box"] = o.tag } },
      spec = spec_of(o) } }.json
  if not v.metadata or not v.metadata.name then host.fail("bad", "kubernetes: the answer is not from the API: no pod in the answer") end
  local box = box_of(v)
  box.namespace, box.context = namespace, login.context
  box.lacks = p.list { closed and "the network is as closed as the cluster's network plugin keeps its policies" or "the network is open" }
  host.keep(box)
  until_ready(box, o, host)
  return box
end

local function is_there(box, host, msg)
  local r = host.http { path = pod(box), accept = { [404] = true } }
  if r.status == 404 then host.fail("gone", "kubernetes: the pod '%s' no longer exists: %s", box.id, msg) end
  local reason, text = trouble(r.json or {})
  if reason then host.fail("gone", "kubernetes: the pod '%s' has ended: %s: %s", box.id, reason, text) end
  host.fail("cut", "kubernetes: %s", msg)
end

local PIECE = 32768

-- Runs a command with input and passes its output to host.out. Returns true if it succeeded.
function run(box, words, input, host)
  local query = {}
  box = found(box, host, host)
  for i, w in ipairs(words) do query[i] = "command=" .. sandbox.escape(w) end
  local s, refused = host.socket { protocols = "v5.channel.k8s.io, v4.channel.k8s.io", idle = 120, accept = { [404] = true, [400] = true, [500] = true },
    path = pod(box, "/exec?container=" .. (box.container or "box") .. "&stdin=true&stdout=true&stderr=true&tty=false&" .. table.concat(query, "&")) }
  if not s then is_there(box, host, (p.error_text(refused.body or ""))) end
  for at = 1, #input, PIECE do s:send("\0" .. input:sub(at, at + PIECE - 1)) end
  if s.protocol == "v5.channel.k8s.io" then s:send "\255\0" end
  local status, noise = nil, ""
  for m in function() return s:next() end do
    local channel = m:byte(1)
    if channel == 1 then
      host.out(m:sub(2))
    elseif channel == 2 and #noise < 300 then
      noise = noise .. m:sub(2)
    elseif channel == 3 and #m > 1 then
      local v = p.decode(m:sub(2))
      status = type(v) == "table" and v or status
    end
  end
  if not status then is_there(box, host, "the connection to the command was cut off") end
  if status.status ~= "Success" and status.reason ~= "NonZeroExitCode" then
    is_there(box, host, status.message or noise)
  end
  return status.status == "Success"
end

-- The text comes as input: a line of words would be too long for some who stand between. Version 4 of the channels knows no
-- end of input, so the text says where it ends.
function M.exec(box, text, host) run(box, { "sh" }, text .. "\nexit 0\n", host) end

-- Writing the same once more does no harm.
function M.write(box, path, bytes, host)
  local good, wrong
  for try = 1, 3 do
    good, wrong = pcall(run, box, { "sh", "-c", ('head -c %d >"$0"'):format(#bytes), path }, bytes, host)
    if good then return end
    if type(wrong) ~= "table" or (wrong.code ~= "cut" and wrong.code ~= "unreached") then break end
    host.sleep(0.2 * try)
  end
  error(wrong, 0)
end

function M.close(box, host)
  host.http { method = "DELETE", path = box.claim and claims(box, "/" .. box.id) or pod(box), accept = { [404] = true }, again = true,
    json = { apiVersion = "v1", kind = "DeleteOptions", gracePeriodSeconds = 0, propagationPolicy = "Background" } }
end

function M.alive(box, ttl, host)
  if not box.claim then return M.exec(box, "touch " .. ALIVE, host) end
  host.http { method = "PATCH", path = claims(box, "/" .. box.id), again = true, headers = { ["Content-Type"] = "application/merge-patch+json" },
    json = { spec = { lifecycle = { shutdownTime = until_time(ttl, host) } } } }
end

function M.list(tags, host)
  local words, all = {}, p.list {}
  for k, v in pairs(labels_of(tags)) do words[#words + 1] = k .. "=" .. v end
  local function add(of, accept)
    local more
    repeat
      local r = host.http { path = of .. "?limit=500&labelSelector=" .. sandbox.escape(table.concat(words, ","))
        .. (more and "&continue=" .. sandbox.escape(more) or ""), want = not accept and "json" or nil, accept = accept }
      if r.status ~= 200 or not r.json then return end   -- a server answers in plain text for an unknown group
      for _, v in ipairs(r.json.items) do
        v.kind = v.kind or of ~= "/api/v1/pods" and "SandboxClaim" or nil
        if not v.metadata.deletionTimestamp then
        all[#all + 1] = box_of(v)
        all[#all].context = (host.login or {}).context
      end
      end
      more = r.json.metadata and r.json.metadata.continue
    until not more or more == ""
  end
  add "/api/v1/pods"
  add(CLAIMS .. "/sandboxclaims", { [403] = true, [404] = true })   -- a cluster without them, or a token for pods alone
  return all
end

-- Through the API server, which requires the token.
function M.address(box, port, host)
  box = found(box, host, host)
  return { url = (host.login and host.login.url or host.urls.url or M.url) .. pod(box, (":%d/proxy/"):format(port)), headers = not host.keyless and { Authorization = "Bearer {key}" } or nil }
end

return M
