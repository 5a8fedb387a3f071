-- Somebody else's agent, inside a box: it speaks with its model through a proxy that has the key; what it wants is judged
-- and recorded out here. One profile per agent: plugins/agents/NAME.lua, which is a table of
--   program, about, versions, speak ("anthropic" "openai" "gemini"), provider (default), model (default),
--   argv(x), env(x), files(x)? (path below the agent's home -> text), line(event)? (an event that it prints -> note, final text)
-- x = { program, command?, path (more folders of programs), task, model (without its provider), url (of its route), key (the placeholder), home }.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local task = require "sandglass.task".sg
local box_lib = require "sandglass.box"
local proxy = require "sandglass.proxy".sg
local call, fail = rt.call, rt.fail
local type, pairs, ipairs, pcall, error, tostring = type, pairs, ipairs, pcall, error, tostring

local M = { sg = {} }
local HOME = "/home/agent"

local AGENTS = { "claude", "codex", "opencode", "gemini", "pi", "custom" }
local INSIDE = {
  agent = "string!", task = "string!", name = "string", model = "string", program = "string", command = "list", roots = "list", path = "string",
  repo = "string|table", env = "table", net = "list", limits = "table", budget = "table", timeout = "time",
  tool_gate = "boolean", prompt_host = "string", keep = "boolean", on_event = "function", accept = "string", backend = "string",
  trace = "string|boolean", hold_exec = "string|list",
}

local function profile_of(name)
  for _, known in ipairs(AGENTS) do
    if known == name then return rt.require("sandglass.agents." .. name) end
  end
  fail("inside: no agent '%s'%s (known: %s)", name, check.suggest(name, AGENTS), table.concat(AGENTS, ", "))
end

-- "anthropic:sonnet" -> "anthropic", "sonnet".
local function model_of(profile, model)
  model = model or profile.provider .. ":" .. profile.model
  local provider, name = model:match "^([^:]+):(.+)$"
  if not provider then return profile.provider, model end
  return provider, name
end

local function write_files(box, files)
  for path, text in pairs(files or {}) do
    local full = HOME .. "/" .. path
    -- words, no shell: rules over commands then see what they are
    local r, err = box:exec { "mkdir", "-p", full:match "^(.*)/" }
    if r then r, err = box:exec({ "dd", "status=none", "of=" .. full }, { stdin = text }) end
    if not r then return nil, err end
    if not r.ok then return nil, rt.err { code = "backend", msg = ("inside: '%s' cannot be written: %s"):format(full, r.err) } end
  end
  return true
end

-- What the agent changed of its own settings, for people: they are rules on disk that nobody else sees.
local function settings_changed(box, files)
  local changed = {}
  for path, text in pairs(files or {}) do
    local r = box:exec({ "cat", HOME .. "/" .. path })
    if r and r.ok and r.out ~= text and not r.cut then changed[#changed + 1] = path end
  end
  return changed
end

local function environment(profile, x, extra)
  local env = { HOME = HOME, PWD = "/workspace", LANG = "C.UTF-8", NO_COLOR = "1", TERM = "dumb" }
  local dir = x.program:match "^(.*)/[^/]*$"
  env.PATH = (x.path and x.path .. ":" or "") .. (dir and dir .. ":" or "") .. "/usr/local/bin:/usr/bin:/bin"
  for k, v in pairs(profile.env(x)) do env[k] = v end
  for k, v in pairs(extra or {}) do env[k] = v end
  return env
end

local function json_of(line)
  local v = line:sub(1, 1) == "{" and rt.core.decode(line) or nil
  return type(v) == "table" and v or nil
end

-- Reads what it prints until it ends. The result: its last words, how it ended.
local function follow(o, profile, p, timeout)
  local text, last, errors
  local function read()
    for line in p:lines { on_err = function(s) last = s end } do
      local ev = json_of(line)
      local note, final, wrong
      if ev and profile.line then note, final, wrong = profile.line(ev) else note = not ev and line or nil end
      if ev and o.on_event then o.on_event(ev) end
      if note and note ~= "" then rt.tell("note", { level = "note", text = note }) end
      text, errors = final or text, wrong or errors
    end
    return p:wait()
  end
  local r, err
  if timeout then r, err = task.timeout(timeout, read) else r, err = read() end
  if not r then
    p:kill "SIGKILL"
    if err and (err.code == "backend" or err.code == "interrupted" or err.code == "cancelled") then
      err = rt.err { code = err.code, msg = "the agent's box went away in the middle of its turn: " .. err.msg, event = err.event }
    end
    return nil, err
  end
  if r.signal then
    return nil, rt.err { code = "backend", msg = ("the agent was killed by %s in the middle of its turn"):format(r.signal), event = r.event }
  end
  return { code = r.code, ok = r.ok and not errors, text = text or "", error = errors, err = last, event = r.event }
end

local function body(o)
  local me = rt.current()
  local profile = profile_of(o.agent)
  local provider, model = model_of(profile, o.model)
  local v, err = call("agent.start", {
    name = o.name or o.agent, task = o.task, model = provider .. ":" .. model, tools = setmetatable({}, rt.core.array_mt),
    limits = o.budget and check.limits("inside: budget", o.budget) or nil,
  })
  if not v then return nil, err end
  local parent = me.agent
  me.agent = v.agent
  local answer
  local ok, raised = pcall(function()
    local px = proxy.proxy {
      name = o.agent, tool_gate = o.tool_gate, prompt_host = o.prompt_host, routes = { model = { provider = provider } },
    }
    local x = {
      program = o.program or profile.program, command = o.command, path = o.path, task = o.task, model = model, url = px.urls.model, key = px.key,
      home = HOME,
    }
    local box = box_lib.sandbox {
      name = o.name or o.agent, repo = o.repo, net = o.net, proxies = { px }, limits = o.limits, keep = o.keep, accept = o.accept,
      backend = o.backend, roots = o.roots, trace = o.trace == nil and "exec" or o.trace, hold_exec = o.hold_exec,
    }
    local files = profile.files and profile.files(x)
    local done
    done, err = write_files(box, files)
    if not done then return end
    local env = environment(profile, x, o.env)
    local program, there = profile.argv(x)[1], nil
    there, err = box:exec(program:find("/", 1, true) and { "test", "-x", program } or "command -v " .. program, { env = env })
    if there and not there.ok then
      err = rt.err { code = "backend", msg = ("inside: '%s' is not in the box; %s, and give its folder with --root"):format(x.program, profile.install) }
    end
    if err then
      box:close()
      return
    end
    local p
    p, err = box:spawn(profile.argv(x), { env = env })
    if not p then return end
    if profile.stdin then p:write(profile.stdin(x), { eof = true }) else p:write("", { eof = true }) end
    answer, err = follow(o, profile, p, o.timeout)
    if answer then
      answer.box, answer.usage, answer.settings = box, px:used(), settings_changed(box, files)
      if #answer.settings > 0 then
        rt.tell("note", { level = "warn", text = "the agent changed its own settings: " .. table.concat(answer.settings, ", ") })
      end
    end
  end)
  rt.shield(function()
    call("agent.end", {
      agent = v.agent, stop = answer and answer.ok and "done" or "error", ok = answer and answer.ok or false, steps = 0,
      text = answer and (answer.error or answer.text) or tostring(err or raised or ""),
    })
  end)
  me.agent = parent
  if not ok then error(raised, 0) end
  if not answer then return nil, err end
  return answer
end

-- Runs the agent until it ends: { ok, code, text, error?, box, usage, settings (files of its own that it changed) }.
function M.sg.inside(o)
  o = check.options("inside", o, INSIDE)
  profile_of(o.agent)
  local t <close> = task.spawn(body, o)
  local answer, err = t:await()
  if not answer and err.code == "script" then error(err, 0) end
  return answer, err
end

return M
