-- A third-party agent inside a sandbox: it speaks with its model through a proxy that has the key; its calls are checked
-- against policy and recorded out here. One profile per agent: plugins/agents/NAME.lua, or a file of the user's own, which is a table of
--   program, about, versions, install, speak ("anthropic" "openai" "gemini"), provider (default), model (default),
--   argv(x), env(x), files(x)? (path below the agent's home -> text), line(event)? (an event that it prints -> note, final text),
--   control? { NAME of a protocol -> { argv(x), program?, env(x)?, files(x)?, mode? (the agent's own), asks?, serves? (sandbox-agent's
--   name of it), wake(x, box)? (before it is started again with x.session), late_history? (ACP: it shows a session that it has loaded
--   after it says that it has) } }, best? (one of them), settings? (files of its own that are rules),
--   kept? (the place below its home of its own sessions, which forks get; default: terminal.kept, else all of its home),
--   credential?, server? (of one whose model is its maker's server: the variable that the box must have, and HOST:PORT)
--   host? (of its maker's API, for a login), route? (to it, as in sg.proxy; without one the provider's),
--   terminal? { argv(x), env(x)?, files(x)?, asks?, again?, kept? } (in its own interface). again: the arguments that continue its
--   own session; the user's arguments are then left out. kept: the session's place below its home. x.args: the user's arguments.
--   x.chosen: a model was chosen. x.login { plan, tier }: it uses a login of its maker's, with a placeholder in its files.
--   x.proxy: the proxy as such. Its files have the settings that skip its first dialogs.
-- x = { program, command?, path (more directories of programs), task, model (without its provider), url (of its route), key (the placeholder),
--       home, session? (its own, to continue), again (bool: it has done something before), mode?, asks (bool: it shall ask for
--       everything), beside? (another program that this one starts), port, password (of a server that it is) }.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local task = require "sandglass.task".sg
local box_lib = require "sandglass.box"
local proxy = require "sandglass.proxy".sg
local people = require "sandglass.people".sg
local tell = require "sandglass.inside.told"
local wires = require "sandglass.inside.wire"
local home = require "sandglass.inside.home"
local kept = require "sandglass.inside.kept"
local terminal = require "sandglass.inside.terminal"
local certificate = require "sandglass.inside.certificate"
local call, fail = rt.call, rt.fail
local type, pairs, ipairs, pcall, error, tostring = type, pairs, ipairs, pcall, error, tostring

local M = { sg = {} }

local AGENTS = { "claude", "codex", "opencode", "gemini", "pi", "deepagents", "amp", "cursor", "copilot", "custom" }
-- How one can be spoken with; "print": its command line does the task and prints what happens.
local PROTOCOLS = {
  { name = "print", module = "print" },
  { name = "acp", module = "acp" },              -- Agent Client Protocol
  { name = "acp-v2", module = "acp2", of = "acp", draft = true },   -- its version 2: only if it is named
  { name = "stream", module = "stream" },        -- Claude Code's stream-json
  { name = "app-server", module = "app_server" },-- Codex
  { name = "rpc", module = "pi_rpc" },           -- pi
  { name = "serve", module = "opencode" },       -- OpenCode's server
  { name = "sandbox-agent", module = "sandbox_agent" },
}
local INSIDE = check.spec("sg.InsideOpts", {
  agent = "string!", task = "string", terminal = "table", login = "table", name = "string", model = "string", program = "string", command = "list", roots = "list", path = "string",
  repo = "string|table", env = "table", net = "list", limits = "table", budget = "table", timeout = "time",
  tool_gate = "boolean", prompt_host = "string", keep = "boolean", on_event = "function", accept = "string", backend = "string",
  options = "table", trace = "string|boolean", hold_exec = "string|list", honeytokens = "boolean|list",
  control = "string", start = "time", beside = "string", mode = "string", linger = "time", idle = "time",
  port = "integer", token = "string", serves = "string", kept = "string",
  image = "string|table", build = "string|table", copy = "boolean", user = "string", expose = "list", mask = "table", proxies = "list",
})

local function profile_of(name)
  for _, known in ipairs(AGENTS) do
    if known == name then return rt.require("sandglass.agents." .. name) end
  end
  if not name:find "%.lua$" then
    fail("inside: unknown agent '%s'%s (known: %s; or a profile of your own: FILE.lua)", name, check.suggest(name, AGENTS), table.concat(AGENTS, ", "))
  end
  local own = rt.require(name)
  for _, field in ipairs { "argv", "env", "speak", "provider", "model" } do
    if type(own) ~= "table" or own[field] == nil then fail("inside: %s is not an agent profile: missing '%s'", name, field) end
  end
  own.name, own.install = own.name or name:match "([^/]+)%.lua$", own.install or "install it"
  return own
end

-- An agent whose model is its vendor's server would wait for a login, which is impossible in a sandbox.
local function credentials_given(profile, o)
  local name, server = profile.credential, profile.server
  if not name or (o.env or {})[name] then return end
  fail('inside: %s has its model on its maker\'s server: it needs its own credential and a way there, which a script gives: '
    .. 'sg.inside { agent = "%s", env = { %s = ... }, net = { "%s" }, ... }', profile.name, profile.name, name, server)
end

local function protocol_of(profile, wish)
  local names, module, key = {}, nil, nil
  local name = wish or profile.best or "print"
  for _, p in ipairs(PROTOCOLS) do
    if p.name == "print" or (profile.control or {})[p.of or p.name] then
      names[#names + 1] = not p.draft and p.name or nil
      if p.name == name then module, key = p.module, p.of or p.name end
    end
  end
  if not module then fail("inside: %s doesn't support control '%s'; supported: %s", profile.name, name, table.concat(names, ", ")) end
  return name, rt.require("sandglass.inside." .. module), (profile.control or {})[key]
end

-- "anthropic:sonnet" -> "anthropic", "sonnet".
local function model_of(profile, model)
  model = model or profile.provider .. ":" .. profile.model
  local provider, name = model:match "^([^:]+):(.+)$"
  if not provider then return profile.provider, model end
  return provider, name
end

local function environment(r)
  local x, profile = r.x, r.profile
  local env = { HOME = r.x.home, PWD = r.x.cwd, LANG = "C.UTF-8", NO_COLOR = "1", TERM = "dumb" }
  local dir = x.program:match "^(.*)/[^/]*$"
  env.PATH = (x.path and x.path .. ":" or "") .. (dir and dir .. ":" or "") .. (r.image_path or "/usr/local/bin:/usr/bin:/bin")
  for k, v in pairs(profile.env(x)) do env[k] = v end
  if r.how.env then for k, v in pairs(r.how.env(x)) do env[k] = v or nil end end   -- false: it is not set
  for k, v in pairs(r.o.env or {}) do env[k] = v end
  return env
end

-- Programs of an image are where its own PATH says.
local function path_of_image(r)
  local o = r.o
  if not o.image and not o.build and (o.backend or rt.env.backend or "process") == "process" then return end
  local found = r.box:exec 'echo "$PATH"'
  local path = found and found.ok and found.out:match "^(/[^\n]*)"
  return path or nil
end

-- In plain words, no shell: rules over commands then see what it is.
local function program_there(r, argv, env)
  local test = { "test", "-x", argv[1] }
  if not argv[1]:find("/", 1, true) then
    test = { "test" }
    for dir in env.PATH:gmatch "[^:]+" do
      for _, w in ipairs { "-o", "-x", dir .. "/" .. argv[1] } do test[#test + 1] = w end
    end
    table.remove(test, 2)
  end
  local there, err = r.box:exec(test, { env = env })
  if not there then return nil, err end
  if there.ok then return true end
  if r.image_path then
    return nil, rt.err { code = "backend", msg = ("inside: '%s' not found in the sandbox; add it to the image: %s"):format(argv[1],
      r.how.install or r.profile.install) }
  end
  return nil, rt.err { code = "backend", msg = ("inside: '%s' not found in the sandbox; %s, and give its directory with --root"):format(argv[1],
    r.how.install or r.profile.install) }
end

-- One run: r.box and r.wire exist while the agent is awake; r.x.session is the session to continue.
local function new_run(o)
  local profile = profile_of(o.agent)
  local provider, model = model_of(profile, o.model)
  local control, protocol, how = protocol_of(profile, o.control)
  local r = { o = o, profile = profile, provider = provider, model = model, control = control, protocol = protocol, inbox = {}, turns = 0 }
  r.how = how or { argv = profile.argv }
  if o.terminal then r.how = profile.terminal or { argv = profile.argv } end
  r.name = o.name or profile.name
  return r
end

-- The agent's home and workspace in the sandbox: on a remote host they differ each time, also in a
-- resumed session.
local function at_home(r, box) r.x.cwd, r.x.home = box.workspace, home.of(box) end

-- The agent's own first, then those that the script gives.
local function proxies_of(r)
  local list = { r.px or nil }
  for _, p in ipairs(r.o.proxies or {}) do list[#list + 1] = p end
  return #list > 0 and list or nil
end

local function open_box(r)
  local o = r.o
  local box = box_lib.open_of(r.state, {
    name = r.box_name or r.name, repo = o.repo, net = o.net, proxies = proxies_of(r), image = o.image, build = o.build, copy = o.copy,
    user = o.user, expose = o.expose, mask = o.mask, limits = o.limits, keep = o.keep, accept = o.accept,
    backend = o.backend, options = o.options, roots = o.roots, trace = o.trace == nil and "exec" or o.trace, hold_exec = o.hold_exec,
    honeytokens = o.honeytokens,
  })
  r.state = box.state.owner   -- its files and its home, for when it wakes in another sandbox
  at_home(r, box)
  return box
end

-- The route of an agent that uses a login: its maker's host by name. profile.route: what differs from a provider's (its own paths,
-- TLS that ends at the proxy).
local function login_route(r)
  local own = r.profile.route
  if not own then return { provider = r.provider, login = r.o.login.name } end
  local route = { login = r.o.login.name, url = r.o.login.url or "https://" .. r.profile.host }
  for k, v in pairs(own) do route[k] = v end
  return route
end

local function first_box(r)
  local o = r.o
  r.px = not r.how.plain and proxy.proxy {
    name = r.profile.name, tool_gate = o.tool_gate, prompt_host = o.prompt_host,
    routes = o.login and { [r.profile.host] = login_route(r) } or { model = { provider = r.provider } },
  }
  r.x = {
    program = o.program or r.how.program or r.profile.program, command = o.command, path = o.path, task = o.task, model = r.model,
    url = r.px and (r.px.urls.model or r.px.urls[r.profile.host]) or "", proxy = r.px and r.px.url, login = o.login, key = r.px and r.px.key or "", args = o.terminal and o.terminal.args or {}, chosen = o.model ~= nil, mode = o.mode or r.how.mode, profile = r.profile,
    asks = r.how.asks, beside = o.beside, start_s = o.start and check.us(o.start) / 1e6 or nil,
    port = o.port or math.random(40000, 48000), password = o.token or ("%016x"):format(math.random(0)), serves = o.serves or r.how.serves,
    late_history = r.how.late_history,
  }
  r.box = open_box(r)
  r.box_name = r.box.name
  r.image_path = path_of_image(r)
  r.home = home.new(r.profile, r.x, r.how)
  local ok, err = r.home.write(r.box)
  if not ok then return nil, err end
  return program_there(r, r.how.argv(r.x), environment(r))
end

local function wake_step(r, step, say, why) rt.tell("agent.told", { what = "wake", say = say, step = step, why = why }) end

-- Copies its own session, for forks of this session (cli/front/fork_inside.c reads the reports).
local function keep_session(r)
  local id = r.session and (r.session.id or r.x.session)
  if not id or not (r.session.loads or r.protocol.loads) or r.unkept then return end
  local me = rt.current()
  me.agent = r.parent   -- not the agent's action, and not of its budget
  local ok, text, why = pcall(kept.take, r.box, r.x.home, kept.place(r.profile, r.o))
  me.agent = r.agent
  if not ok then error(text, 0) end
  if why then
    r.unkept = true
    rt.tell("agent.told", { what = "notice", say = "its session can't be copied, so no fork can load it: " .. tell.line_of(why) })
  end
  if not text then return end
  r.kept = { text = text, session = id, turn = r.turns }
  rt.tell("agent.told", { what = "kept", say = "its session was copied for forks", session = id })
end

-- In a fork its home is empty: it gets its settings, which name the model, and the copy of its session.
local function follow_fork(r)
  local name = rt.fork_model
  if name and r.forked ~= name then
    r.forked, r.wire, r.session = name, nil, nil
    r.x.model, r.x.chosen, r.x.forked = select(2, model_of(r.profile, name)), true, true
    r.home, r.x.session = home.new(r.profile, r.x, r.how), nil   -- without a copy it begins a new one
  elseif not r.kept or kept.there(r.box, r.x.home, kept.place(r.profile, r.o)) then
    return true
  end
  local ok, err = r.home.write(r.box)
  if ok and r.kept then
    r.x.session = r.kept.session
    ok, err = kept.bring(r.box, r.x.home, r.kept.text)
  end
  if ok then return true end
  return nil, rt.is_error(err) and err or rt.err { code = "backend", msg = "inside: can't bring back its session: " .. tostring(err) }
end

-- The agent sleeps or is gone: it starts again in the same sandbox, with its files, home, and
-- session. Each step is reported.
local function wake(r)
  if r.wire and (not rt.fork_model or r.forked == rt.fork_model) then return true end
  local again = r.x.session ~= nil or r.turns > 0
  if again and r.box then
    local there = r.box:exec { "true" }
    if not there or not there.ok then
      call("box.close", { box = r.box.id, wait = true, asleep = true })
      r.box = nil
    end
  end
  if not r.box then
    wake_step(r, "box", "its sandbox is opened again, with its files and its home")
    local ok, box = pcall(open_box, r)
    if not ok then return nil, rt.as_error(box) end
    r.box = box
  end
  at_home(r, r.box)
  if again or rt.fork_model then
    local ok, err = follow_fork(r)
    if not ok then return nil, err end
  end
  if r.x.session and r.how.wake then r.how.wake(r.x, r.box) end
  if again then wake_step(r, "start", "it is started again") end
  local err
  r.told = tell.new(function(body) rt.tell("agent.told", body) end)
  r.told.keep = function()
    if not r.kept or #r.kept.text <= kept.OFTEN_MAX then keep_session(r) end
  end
  r.x.told, r.x.box = r.told, r.box
  r.wire, err = wires.open(r.box, r.how.argv(r.x), environment(r), r.told.put)
  if not r.wire then return nil, err end
  r.wire.on_event = r.o.on_event
  r.session, err = r.protocol.open(r.wire, r.x)
  if not r.session then
    r.wire.shut(0)
    r.wire = nil
    return nil, err
  end
  r.x.session = r.session.id or r.x.session
  if again then wake_step(r, "awake", "it is awake, with its session") end
  return true
end

local function sleep(r, why, close_box)
  if r.wire then
    r.wire.shut(3)
    r.wire, r.session = nil, nil
  end
  if close_box and r.box then
    call("box.close", { box = r.box.id, wait = true, asleep = true })
    r.box = nil
  end
  wake_step(r, "asleep", why, nil)
end

-- Your messages in the order of arrival; nil without any.
local function said(r)
  if not r.inbox[1] then return nil end
  local parts = {}
  while r.inbox[1] do parts[#parts + 1] = table.remove(r.inbox, 1).text or "" end
  return table.concat(parts, "\n")
end

-- fn as a task that nobody waits for, of this agent.
local function beside(r, fn)
  rt.spawn(nil, function()
    rt.current().agent = r.agent
    local ok, e = pcall(fn)
    e = not ok and rt.as_error(e)
    if e and e.code ~= "cancelled" then rt.tell("agent.told", { what = "odd", say = tell.line_of(tostring(e)) }) end
  end)
end

-- Words in the middle of a turn, for those that can take them there; from the others they wait for its end.
local function steer(r)
  beside(r, function()
    local text = said(r)
    if not text or not r.session or not r.wire then return end
    r.protocol.steer(r.session, text, function(why)
      if not why then return rt.tell("agent.told", { what = "prompt", say = tell.line_of(text), text = text }) end
      rt.tell("agent.told", { what = "notice", say = "it accepts no messages during its turn: " .. tell.line_of(why) .. "; they wait for the end" })
      table.insert(r.inbox, 1, { text = text })
    end)
  end)
end

local BREAK_S = 10

-- You interrupt its turn: it receives an interrupt if its protocol has one; an agent that doesn't react is ended.
local function break_off(r, why)
  beside(r, function()
    if not r.wire or not r.wire.turn or r.broken then return end
    local w = r.wire
    r.broken = true
    rt.tell("agent.told", { what = "notice", say = "its turn was interrupted: " .. tell.line_of(why or "by the user") })
    if r.session and r.protocol.cancel then r.protocol.cancel(r.session) else return w.kill() end
    rt.call("sleep", { us = BREAK_S * 1000000 })
    if r.broken and w.turn and r.wire == w then w.kill() end
  end)
end

-- Sends one prompt and waits for its end. A broken connection is closed; a started prompt is never sent again.
local function prompt(r, text)
  r.x.task, r.x.again = text, r.turns > 0
  local awake, err = wake(r)
  if not awake then return nil, err end
  r.turns = r.turns + 1
  r.begun = text
  rt.tell("agent.told", { what = "prompt", say = tell.line_of(text), text = text })
  r.told.begin()
  r.wire.turn, r.broken = true, nil
  r.slot.heard = r.protocol.steer and function() steer(r) end
  local t
  if r.o.timeout then
    t, err = r.wire.within(check.us(r.o.timeout) / 1e6, "no end of its turn", r.protocol.prompt, r.session, text)
  else
    t, err = r.protocol.prompt(r.session, text)
  end
  r.slot.heard = nil
  r.told.flush()
  if t and not t.gone and not r.protocol.once then keep_session(r) end
  if r.broken and (t and t.stop ~= "end_turn" or not t and err.code == "backend") then   -- an end that you asked for is not a failure
    t = t or { gone = true }
    t.stop, t.error, t.refused = "cancelled", nil, nil
  end
  r.x.session = r.session.id or r.x.session   -- also of one that was killed in its turn
  if t and not t.gone and not r.protocol.once then r.wire.turn = nil else r.wire, r.session = nil, nil end
  if not t then return nil, err end
  rt.tell("agent.told", { what = "turn", say = tell.line_of(t.error or t.stop or "end"), stop = t.stop, usage = t.usage, text = t.error })
  t.text = r.told.text or t.text
  return t
end

-- Waits for words of users, asleep after a while. nil: nobody said anything in time.
local function await_words(r)
  local o = r.o
  if not o.linger or r.forked then return said(r) end   -- a fork onto another model ends with its turn
  local me, over, idle = rt.current(), false, false
  local function wait_for(us, fn)
    return rt.later("sleep", { us = us }, function()
      fn()
      rt.wake(me)
    end)
  end
  local drop_over = wait_for(check.us(o.linger), function() over = true end)
  local drop_idle = wait_for(check.us(o.idle or 60), function() idle = true end)
  r.slot.heard = function() rt.wake(me) end
  rt.tell("agent.state", { state = "wait" })
  local ok, raised = pcall(function()
    while not r.inbox[1] and not over do
      rt.wait()
      if idle and drop_idle then
        drop_idle = nil
        sleep(r, "no messages: the agent sleeps until your next message", true)
      end
    end
  end)
  r.slot.heard = nil
  if not over then drop_over() end
  if drop_idle and not idle then drop_idle() end
  if not ok then error(raised, 0) end
  return said(r)
end

-- The end of a supervisor interrupted it. Its work meanwhile is unknown, so the user decides
-- whether it continues. Who forks onto another model has decided.
local function go_on(r, err)
  if rt.fork_model and r.forked ~= rt.fork_model then return true end
  if err.code ~= "interrupted" then return false end
  if r.o.linger then return false end   -- the next words wake it
  local d = people.ask {
    text = ("%s was interrupted in the middle of its turn. Wake it, with its own session, and continue?"):format(r.name),
    choices = { "continue", "stop" }, default = "stop", risk = "low",
  }
  return d and d.choice == "continue"
end

local INTERRUPTED = "You were interrupted in the middle of your work. Look at the current state, then continue."
local AFTER_REFUSAL = "What you asked for was refused: %s. Find another way, or say what you need."

local function converse(r)
  local text, t, err, told_off = r.o.task .. box_lib.left_out(r.box), nil, nil, 0
  while text do
    local ok
    ok, err = call("agent.turn", { agent = r.agent, n = r.turns + 1 })
    if not ok then break end
    rt.tell("agent.state", { state = "run" })
    local asked = text
    r.begun = nil
    t, err = prompt(r, text)
    text = nil
    if t and t.refused and told_off < 3 then
      told_off = told_off + 1
      text = AFTER_REFUSAL:format(t.refused)   -- its protocol has no words for why
    elseif not t and go_on(r, err) then
      text = r.begun and (not rt.fork_model or r.kept and r.kept.turn == r.turns) and INTERRUPTED or asked
    else
      if not t then wake_step(r, "gone", tostring(err), err.code) end
      if t or r.o.linger then text = await_words(r) or said(r) end
    end
  end
  if not t then return nil, err end
  return t
end

-- Cancels it: open requests get an answer, its turn may finish, then it is ended.
local function stop(r)
  if not r.wire or not r.session then return end
  if not r.wire.turn or not r.protocol.cancel then return r.wire.shut(2) end
  pcall(r.wire.within, 5, "it does not stop", function()
    r.protocol.cancel(r.session)
    if not r.wire.server then
      call("proc.write", { proc = r.wire.proc.id, data = "", eof = true })
      while r.wire.recv() do end
      return
    end
    while not r.session.done and r.protocol.pump(r.session) do end   -- a server runs until it is ended
    r.wire.shut(2)
  end)
  rt.tell("agent.told", { what = "turn", say = "cancelled", stop = "cancelled" })
end

-- Its own interface, to its end; users attach to it and leave as they like.
local function in_terminal(r)
  local o = r.o.terminal
  rt.tell("agent.state", { state = "run" })
  local env = terminal.environment(environment(r), o, r.box)
  local argv = r.how.argv(r.x)
  local function start(words)
    if r.x.login and r.profile.route and r.profile.route.tls then
      local there, why = certificate.write(r.box, r.x.home)
      if not there then return nil, why end
    end
    return terminal.run(r.box, r.name, words, env, o)
  end
  local res, err = start(argv)
  while not res and err.code == "interrupted" do   -- its supervisor died, and the session was resumed
    local own = terminal.own_session(r.box, r.x.home, r.how)
    local how = own and " with its own session" .. (#r.x.args > 0 and ", without the arguments given to it" or "") or ""
    wake_step(r, "terminal", "the agent starts again" .. how, err.code)
    res, err = start(own and terminal.again(r.how, r.x, own) or argv)
  end
  if not res then return nil, err end
  local how = res.signal and "killed by " .. res.signal or nil
  return { code = res.code or 128, stop = how, error = how, event = res.event }
end

local function answer_of(r, t)
  local ok = t.error == nil and (t.stop == "end_turn" or t.stop == "cancelled" and false or t.stop == nil)
  local code = t.code
  if r.wire then r.wire.shut(3) end
  local usage = r.px and r.px:used() or { calls = 0, ["in"] = 0, out = 0, uusd = 0, usd = 0 }
  local settings, patch = {}, nil
  if r.box then settings, patch = r.home.changed(r.box) end
  if #settings > 0 then
    rt.tell("agent.told", { what = "settings", say = "it changed its own settings: " .. table.concat(settings, ", "), paths = settings, text = patch })
  end
  return {
    ok = ok and (code == nil or code == 0), code = code or (ok and 0 or 1), text = t.text or "", error = t.error or (not ok and t.stop or nil), err = t.err,
    stop = t.stop, box = r.box, usage = usage, settings = settings, settings_patch = patch, session = r.x.session, turns = r.turns,
    control = r.control, event = t.event,
  }
end

local function body(o)
  local me = rt.current()
  local r = new_run(o)
  local v, err = call("agent.start", {
    name = r.name, task = o.task or "", model = not r.how.plain and r.provider .. ":" .. r.model or "", interactive = o.terminal and true or nil, tools = setmetatable({}, rt.core.array_mt),
    limits = o.budget and check.limits("inside: budget", o.budget) or nil,
  })
  if not v then return nil, err end
  local parent = me.agent
  me.agent, r.agent, r.parent = v.agent, v.agent, parent
  r.slot = { task = me, inbox = r.inbox, break_off = function(why) break_off(r, why) end }
  rt.agents[v.agent] = r.slot
  local answer
  local ok, raised = pcall(function()
    local ready
    ready, err = first_box(r)
    if not ready then
      if r.box then r.box:close() end
      return
    end
    local t
    if o.terminal then t, err = in_terminal(r) else t, err = converse(r) end
    if t then
      if not r.box then r.box = open_box(r) end   -- it slept at the end
      answer = answer_of(r, t)
    end
  end)
  rt.agents[v.agent] = nil
  rt.shield(function()
    if not ok then stop(r) end
    call("agent.end", {
      agent = v.agent, stop = answer and answer.ok and "done" or not ok and rt.as_error(raised).code == "cancelled" and "stopped" or "error",
      ok = answer and answer.ok or false, steps = r.turns,
      text = answer and (answer.error or answer.text) or tostring(err or raised or ""),
    })
  end)
  me.agent = parent
  if not ok then error(raised, 0) end
  if not answer then return nil, err end
  return answer
end

-- Runs the agent until it ends: { ok, code, text, error?, stop, box, usage, settings (files of its own that it changed),
-- settings_patch?, session (its own), turns, control }.
function M.sg.inside(o)
  o = check.options("inside", o, INSIDE)
  if not o.task and not o.terminal then fail "inside: it needs 'task', a string" end
  local profile = profile_of(o.agent)
  if o.login and not (profile.host and profile.terminal) then fail("inside: %s can't use a login; give it a key", profile.name) end
  protocol_of(profile, o.control)
  credentials_given(profile, o)
  local t <close> = task.spawn(body, o)
  local answer, err = t:await()
  if not answer and err.code == "script" then error(err, 0) end
  return answer, err
end

return M
