-- sg.chat: a conversation with a model and its tools. sg.agent.run: the usual loop over it.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local models = require "sandglass.model"
local tools = require "sandglass.tools"
local schema = require "sandglass.schema"
local task = require "sandglass.task".sg
local people = require "sandglass.people".sg
local boxes = require "sandglass.box"
local project = require "sandglass.project"
local call, fail = rt.call, rt.fail

local sg = { agent = {}, model = models.sg.model, tool = tools.sg.tool }
local Chat = {}
local chat_mt

local STEPS = 100            -- of an agent that has no budget of steps
local SAME = 4               -- asks you after this many equal calls in a row
local MEDIA = 50             -- images and files of a conversation; the oldest are left out
local MEDIA_BYTES = 15000000 -- in base64
local REPAIRS = 3            -- bad arguments in a row that a model may repair

-- Chat -----------------------------------------------------------------------------------------------------------

local CHAT = { model = "string|sg.Model", system = "string", tools = "list", box = "sg.Box", history = "list",
  options = "table" }

-- Warns a script without a model, so that a user does not take the demo's model for a real one.
local warned
local function default_model()
  if not rt.env.model and not warned then
    people.warn "no model is named: 'scripted:demo' plays its few turns, whatever the task is (--model PROVIDER:NAME, or SANDGLASS_MODEL)"
  end
  warned = true
  return models.model(rt.env.model or "scripted:demo", nil, not rt.env.model)
end

function sg.chat(o)
  o = check.options("chat", o, CHAT)
  local model = o.model and models.model(o.model) or default_model()
  local list, by_name = {}, {}
  for i, t in ipairs(o.tools or {}) do
    t = tools.find(t)
    if by_name[t.name] then fail("chat: two tools with the name '%s'", t.name) end
    if t.needs_box and not o.box then fail("chat: tool '%s': missing option 'box'", t.name) end
    list[i], by_name[t.name] = t, t
  end
  local messages = {}
  for i, m in ipairs(o.history or {}) do messages[i] = m end
  if o.system and not (messages[1] and messages[1].role == "system") then
    table.insert(messages, 1, { role = "system", text = o.system })
  end
  return check.new(chat_mt, {
    id = 0, messages = messages, model = model, tools = list,
    state = { by_name = by_name, box = o.box, options = o.options, script = models.begin(model), last = {}, bad = 0,
      sizes = {} },
  })
end

function Chat:user(text)
  check.self(chat_mt, self, "chat", "user")
  check.arg("user", "the text", text, "string")
  self.messages[#self.messages + 1] = { role = "user", text = text }
end

-- Adds the user's message that came meanwhile.
function Chat:inject(text)
  check.self(chat_mt, self, "chat", "inject")
  check.arg("inject", "the text", text, "string")
  self.messages[#self.messages + 1] = { role = "user", text = "(message of the user) " .. text }
end

local function tool_list(chat)
  local list = setmetatable({}, rt.core.array_mt)
  for i, t in ipairs(chat.tools) do list[i] = { name = t.name, about = t.about, schema = t.schema } end
  return list
end

-- The model's options, and those that the chat adds.
local function options_of(chat)
  local made, own = chat.model.options, chat.state.options
  if not made or not own then return own or made end
  local all = {}
  for k, v in pairs(made) do all[k] = v end
  for k, v in pairs(own) do all[k] = v end
  return all
end

-- A fork continues with another model, which gets the current conversation.
local function follow_fork(chat)
  local name, s = rt.fork_model, chat.state
  if not name or s.forked == name then return end
  s.forked = name
  chat.model = models.model(name)
  s.script, s.window, s.used = models.begin(chat.model), nil, nil
end

-- One model call: a reply with text, calls, usage, stop.
function Chat:send(o)
  check.self(chat_mt, self, "chat", "send")
  o = check.options("send", o, { on_text = "function" })
  local s, reply, err, think, v = self.state, nil, nil, nil, nil
  for try = 1, 2 do
    local before = s.forked
    follow_fork(self)
    if try == 1 or s.forked ~= before then
      reply = nil
      if s.script then
        reply, err, think = models.reply(self.model, s.script, self.messages, s.last)
        if not reply then return nil, err end
        if think then task.sleep(think / 1e6) end
      end
    end
    v, err = call("model.call", {
      model = self.model.name, messages = setmetatable(self.messages, rt.core.array_mt), tools = tool_list(self),
      options = options_of(self),
      stream = o.on_text ~= nil or nil, reply = reply,
    }, o.on_text and function(body) o.on_text(body.data or "") end)
    if v or err.code ~= "interrupted" then break end   -- asking again has no effect but its price
  end
  if not v then return nil, err end
  v.text, v.calls, v.usage, v.stop = v.text or "", v.calls or {}, v.usage or {}, v.stop or "end"
  s.last = {}
  s.window = v.window or s.window
  s.used = (v.usage["in"] or 0) + (v.usage.out or 0)
  self.messages[#self.messages + 1] = {
    role = "assistant", text = v.text, calls = #v.calls > 0 and v.calls or nil,
    raw = v.raw, dialect = v.dialect,   -- as the provider said it: goes back to it unchanged
  }
  local t = rt.current()
  t.said = v.text ~= "" and (#v.text > 400 and v.text:sub(1, 400) or v.text) or nil
  return v
end

-- A tool of the script is announced, and judged if it works on the host side.
local function permitted(t, args)
  if t.gated or (t.builtin and t.where ~= "host") then return true end
  if t.name == "ask_user" and t.builtin then return true end   -- the question itself is the action
  return call("tool.call", { name = t.name, where = t.where, args = args, risk = t.risk, ask = t.ask })
end

-- The recorded result of a tool: the text that a model is shown, or the reason of the failure.
local function end_text(value, why)
  if why then return tostring(why) end
  if value == nil then return nil end
  local ok, text = pcall(tools.to_text, value)
  return ok and text or nil
end

local function run_tool(chat, t, args)
  local allowed, err = permitted(t, args)
  if not allowed then return nil, err end
  local ctx = { box = chat.state.box, chat = chat, stream = rt.recorded }
  local me = rt.current()
  local tool_before, chat_before = me.tool, me.chat
  me.tool, me.chat = t.name, chat
  local ok, value, why
  if t.timeout then
    ok, value, why = pcall(task.timeout, t.timeout, t.run, args, ctx)
  else
    ok, value, why = pcall(t.run, args, ctx)
  end
  me.tool, me.chat = tool_before, chat_before
  if t.where == "host" and not (t.builtin and t.name == "ask_user") then rt.tainted[me.agent or 0] = true end
  if ok and value == nil and why ~= nil and not rt.is_error(why) then
    why = rt.err { code = "io", msg = tostring(why) }
  end
  if not ok then
    local e = rt.as_error(value)
    if not t.builtin and not t.gated then
      rt.tell("tool.end", { event = allowed.event, ok = false, text = end_text(nil, e) })
    end
    if e.code == "script" or e.code == "cancelled" or e.code == "budget" then error(e, 0) end
    value, why = nil, e
  end
  if ok and not t.builtin and not t.gated then
    rt.tell("tool.end", { event = allowed.event, ok = why == nil, text = end_text(value, why) })
  end
  return value, why, ctx.edited
end

-- Runs one tool call: arguments, policy, run. The value, or nil and an error; the third result says "edited".
function Chat:call(c)
  check.self(chat_mt, self, "chat", "call")
  check.arg("call", "the call", c, "table")
  local s = self.state
  local t = s.by_name[c.name]
  if not t then
    s.bad = s.bad + 1
    return nil, rt.err { code = "model",
      msg = ("no tool '%s'%s"):format(tostring(c.name), check.suggest(c.name, s.by_name)) }
  end
  if c.bad then
    s.bad = s.bad + 1
    return nil, rt.err { code = "model", msg = ("%s: the arguments are not JSON (%s): %s"):format(t.name,
      tostring(c.why), c.bad) }
  end
  local args, wrong
  if t.unchecked then args = type(c.args) == "table" and c.args or {} else args, wrong = schema.check(t.schema, c.args or {}) end
  if not args then
    s.bad = s.bad + 1
    return nil, rt.err { code = "model", msg = ("%s: %s"):format(t.name, wrong) }
  end
  s.bad = 0
  return run_tool(self, t, args)
end

-- The same result without its images.
local function without_media(m)
  return { role = m.role, call = m.call, name = m.name, error = m.error,
    text = m.text .. ("\n[the images and files of this old result (%d) were left out]"):format(#m.media) }
end

-- The newest images stay within what providers take in one request.
local function bound_media(chat)
  local n, bytes = 0, 0
  for i = #chat.messages, 1, -1 do
    local m = chat.messages[i]
    for _, item in ipairs(m.media or {}) do n, bytes = n + 1, bytes + #item.data end
    if m.media and i < #chat.messages and (n > MEDIA or bytes > MEDIA_BYTES) then chat.messages[i] = without_media(m) end
  end
end

-- Puts the result of a call into the conversation; a denied call is answered too, so that the model sees why.
function Chat:answer(c, value, err, edited)
  check.self(chat_mt, self, "chat", "answer")
  local s = self.state
  local text = err and tools.error_text(err, self) or tools.to_text(value, self)
  self.messages[#self.messages + 1] = { role = "tool", call = c.id, name = c.name, text = text,
    error = err ~= nil or nil, media = not err and tools.media_of(value) or nil }
  bound_media(self)
  local how = err and (err.code == "denied" and "denied" or "failed") or edited and "edited" or "allowed"
  s.last.text = s.last.text and s.last.text .. "\n" .. text or text
  if not s.last.how or s.last.how == "allowed" then s.last.how = how end
  s.last.err = err or s.last.err
end

function Chat:fork()
  check.self(chat_mt, self, "chat", "fork")
  local s, messages = self.state, {}
  for i, m in ipairs(self.messages) do messages[i] = m end
  return check.new(chat_mt, {
    id = 0, messages = messages, model = self.model, tools = self.tools,
    state = {
      by_name = s.by_name, box = s.box, options = s.options, script = models.fork(s.script), bad = 0,
      sizes = {}, window = s.window, used = s.used,
      last = { text = s.last.text, how = s.last.how, err = s.last.err },
    },
  })
end

chat_mt = check.class("sg.Chat", "chat", Chat)

-- The loop -------------------------------------------------------------------------------------------------------

local RUN = check.spec("sg.AgentOpts", {
  task = "string!", model = "string|sg.Model", box = "sg.Box", tools = "list", system = "string",
  budget = "table|sg.Budget",
  done = "function", on = "table", output = "table", history = "list", agents = "list", name = "string",
  compact = "boolean|table", options = "table", instructions = "boolean",
})
local ON = { text = "function", call = "function", result = "function", turn = "function" }
local USUAL = { "shell", "read", "write", "edit", "glob", "grep" }

local SYSTEM = "You work in a sandbox: a Linux system of your own with the project in /workspace. Use the tools; look "
  .. "at results before you continue. A denied call is final: read the reason and find another way or say what you need. "
  .. "When the task is "
  .. "done, answer with one short paragraph and no tool call."

local IMAGE = 1600           -- tokens of an image, about

-- Tokens that a conversation takes, about: four bytes each; what a provider counted for the answer before goes first.
local function size_of(chat)
  local n, sizes = 0, chat.state.sizes
  for _, m in ipairs(chat.messages) do
    if not sizes[m] then
      sizes[m] = #(m.raw or m.text or "") + (m.calls and not m.raw and #rt.core.encode(m.calls) or 0) + 4 * IMAGE * #(m.media or {})
    end
    n = n + sizes[m]
  end
  return math.max(n // 4, chat.state.used or 0)
end

-- Old tool outputs go first; the record keeps them.
local function shorten_results(chat, keep)
  local n = 0
  for i = 1, #chat.messages - keep do
    local m = chat.messages[i]
    if m.media then
      n, m = n + 1, without_media(m)
      chat.messages[i] = m
    end
    if m.role == "tool" and #m.text > 400 then
      n = n + 1
      chat.messages[i] = {
        role = "tool", call = m.call, name = m.name, error = m.error,
        text = m.text:sub(1, 200) .. ("\n[%d bytes of this old result were left out]"):format(#m.text - 200),
      }
    end
  end
  return n
end

-- Then whole turns between the task and the last ones; a result never stays without its call.
local function leave_out_turns(chat, keep)
  local old, first = chat.messages, 1
  while old[first] and old[first].role ~= "assistant" do first = first + 1 end
  local last = math.max(#old - keep, first)
  while old[last] and old[last].role ~= "assistant" do last = last + 1 end
  if not old[last] or last <= first then return 0 end
  local new = table.move(old, 1, first - 1, 1, {})
  new[#new + 1] = { role = "user", text = ("[%d earlier messages were left out here]"):format(last - first) }
  chat.messages = table.move(old, last, #old, #new + 1, new)
  return last - first
end

-- hard: the provider has refused the conversation as too long; 1, then 2 when that did not help.
local function compact(chat, o, hard)
  if o == false then return 0 end
  local window = type(o) == "table" and o.window or chat.state.window or 128000
  local keep = type(o) == "table" and o.keep or 6
  if not hard and size_of(chat) < window * 8 // 10 then return 0 end
  local results, turns = shorten_results(chat, hard and 2 or keep), 0
  chat.state.used = nil
  if hard == 2 or hard and results == 0 or size_of(chat) >= window * 8 // 10 then
    turns = leave_out_turns(chat, hard and 2 or keep)
  end
  if results + turns > 0 then
    people.note("the conversation is shortened: %d old results, %d messages left out", results, turns)
  end
  return results + turns
end

local function same_calls(a, b)
  return a ~= nil and rt.core.encode(a) == rt.core.encode(b)
end

local function signature(calls)
  local list = {}
  for i, c in ipairs(calls) do list[i] = { c.name, c.args } end
  return list
end

local function all_read(chat, calls)
  for _, c in ipairs(calls) do
    local t = chat.state.by_name[c.name]
    if not t or not t.reads then return false end
  end
  return #calls > 1
end

-- Results in the order of the calls, whatever order they ran in. Returns the error of a call that this agent's own budget
-- stopped (a user has said no to more): nothing else of it would run. That of a sub-agent is only its answer.
local function run_calls(chat, calls, on)
  local results, used_up = {}, nil
  local function one(c)
    if on.call then on.call(c) end
    return table.pack(chat:call(c))
  end
  if all_read(chat, calls) then
    results = task.map(calls, one)
  else
    for i, c in ipairs(calls) do results[i] = one(c) end
  end
  for i, c in ipairs(calls) do
    local r = results[i]
    chat:answer(c, r[1], r[2], r[3])
    if on.result then on.result(c, r[1], r[2]) end
    local t = chat.state.by_name[c.name]
    if r[2] and r[2].code == "budget" and t and t.builtin then used_up = r[2] end
  end
  return used_up
end

local function stop_error(code, msg, why)
  return rt.err { code = code, msg = msg, why = why }
end

local function go_on_after_repeats(name, c)
  local d = people.ask {
    text = ("The agent %s made the same call %d times running (%s). Continue?"):format(name, SAME, c.name),
    choices = { "continue", "stop" },
    default = "stop", risk = "low",
  }
  return d and d.choice == "continue"
end

-- Parses text as the JSON that `output` describes: data, or nil and the fault.
local function output_of(text, output_schema)
  local body = text:match "```%a*\n(.-)\n```" or text:match "(%b{})" or text
  local data, wrong = rt.core.decode(body)
  if type(data) ~= "table" then return nil, wrong or "it is not an object" end
  return schema.check(output_schema, data)
end

-- The data of one run.
local function new_run(o)
  local chosen, needs_box, on_list = o.tools or USUAL, false, {}
  for i, t in ipairs(chosen) do
    on_list[i] = tools.find(t)
    needs_box = needs_box or on_list[i].needs_box
  end
  if o.agents and #o.agents > 0 then on_list[#on_list + 1] = sg.agent.task_tool(o.agents) end
  local run = { o = o, on = check.options("agent.run: on", o.on, ON),
    usage = { ["in"] = 0, out = 0, cached = 0, written = 0, calls = 0 }, steps = 0 }
  run.box = o.box
  if needs_box and not run.box then
    run.box = boxes.sandbox {}
    run.own_box = run.box
  end
  local said, skill
  if o.instructions ~= false then said, skill = project.load(run.box) end
  for _, t in ipairs(on_list) do if skill and t.name == skill.name then skill = nil end end   -- the script's own
  if skill then on_list[#on_list + 1] = skill end
  run.output = o.output and schema.compile("agent.run: output", o.output) or nil
  local system = (o.system or SYSTEM) .. (said or "")
  if run.output then
    system = system .. "\nAnswer at the end with JSON of this schema and nothing else: " .. rt.core.encode(run.output)
  end
  run.chat = sg.chat { model = o.model, system = system, tools = on_list, box = run.box, history = o.history,
    options = o.options }
  run.chat:user(o.task .. boxes.left_out(run.box))
  return run
end

local function start_agent(run, me)
  local o, names = run.o, setmetatable({}, rt.core.array_mt)
  for i, t in ipairs(run.chat.tools) do names[i] = t.name end
  local budget_is_handle = o.budget and check.type_of(o.budget) == "sg.Budget"
  local limits = o.budget and not budget_is_handle and check.limits("agent.run: budget", o.budget) or nil
  rt.nr_agents = (rt.nr_agents or 0) + 1
  run.name = o.name
  if not run.name then
    run.name = (rt.script or "agent"):match "([^/]+)$":gsub("%.lua$", "")
    if rt.nr_agents > 1 then run.name = run.name .. "-" .. rt.nr_agents end
  end
  run.max_steps = limits and limits.steps or STEPS
  local v, err = call("agent.start", {
    name = run.name, task = o.task, model = run.chat.model.name, box = run.box and run.box.id, tools = names,
    limits = limits,
    budget = budget_is_handle and o.budget.id or nil,
  })
  if not v then return nil, err end
  run.agent, run.parent = v.agent, me.agent or 0
  rt.tainted[run.agent] = rt.tainted[run.parent]
  me.agent = v.agent
  run.inbox = {}
  rt.agents[v.agent] = { task = me, inbox = run.inbox }
  return v
end

-- One answer. A conversation that the model finds too long is shortened, and asked again.
local function ask_model(run)
  local chat, hard = run.chat, 0
  while true do
    local reply, err = chat:send { on_text = run.on.text }
    local too_long = reply and reply.stop == "window" or not reply and err.code == "limit"
    if not too_long then return reply, err end
    if reply then
      chat.messages[#chat.messages] = nil   -- a refusal for lack of context space adds nothing
      err = stop_error("limit", "the conversation exceeds the context window of the model")
    end
    hard = hard + 1
    if hard > 2 or compact(chat, run.o.compact, hard) == 0 then return nil, err end
  end
end

local function add_usage(run, usage)
  for k in pairs(run.usage) do run.usage[k] = run.usage[k] + (usage[k] or 0) end
  run.usage.calls = run.usage.calls + 1
end

-- Handles an incomplete answer: true continues; false, stop, error ends; nil means that the answer is complete.
local function unfinished(run, reply)
  local chat = run.chat
  if reply.stop == "refused" then
    chat.messages[#chat.messages] = nil
    local why = reply.why or (reply.text ~= "" and reply.text) or nil
    return false, "refused", stop_error("model", "the model refused to answer" .. (why and ": " .. tostring(why) or ""))
  elseif reply.stop == "pause" then
    return true   -- the provider expects the same request with its partial answer
  elseif reply.stop == "length" and #reply.calls == 0 then
    run.cut = (run.cut or 0) + 1
    if run.cut > REPAIRS then
      return false, "error", stop_error("model", ("the answer was cut off at its limit %d times running"):format(run.cut))
    end
    run.begun = (run.begun or "") .. reply.text
    chat:user "(your answer was cut off at its limit: continue exactly where it stopped, or make one call at a time)"
    return true
  end
  run.cut = nil
end

-- Runs one turn. Returns true to continue; or false, stop, error.
local function turn(run)
  local chat, o, on = run.chat, run.o, run.on
  if run.steps >= run.max_steps then
    return false, "steps", stop_error("budget", ("%d steps are used up"):format(run.max_steps))
  end
  run.steps = run.steps + 1
  local ok, err = call("agent.turn", { agent = run.agent, n = run.steps })
  if not ok then return false, err.code == "budget" and "budget" or "denied", err end
  while run.inbox[1] do chat:inject(table.remove(run.inbox, 1).text or "") end
  compact(chat, o.compact)
  if on.turn then on.turn(run.steps) end
  local reply
  reply, err = ask_model(run)
  if not reply then
    return false, err.code == "budget" and "budget" or err.code == "denied" and "denied" or "error", err
  end
  add_usage(run, reply.usage)
  local on_with_it, stop, wrong = unfinished(run, reply)
  if on_with_it ~= nil then return on_with_it, stop, wrong end
  if run.begun then reply.text, run.begun = run.begun .. reply.text, nil end
  run.text = reply.text ~= "" and reply.text or run.text
  if #reply.calls > 0 then
    local now = signature(reply.calls)
    run.same = same_calls(run.before, now) and run.same + 1 or 1
    run.before = now
    if run.same >= SAME then
      if not go_on_after_repeats(run.name, reply.calls[1]) then
        return false, "stopped", stop_error("cancelled", ("the same call %d times running"):format(SAME))
      end
      run.same = 0
    end
    run.idle = 0
    local used_up = run_calls(chat, reply.calls, on)
    if used_up then return false, "budget", used_up end
    if chat.state.bad > REPAIRS then
      return false, "error", stop_error("model", ("%d bad tool calls running"):format(chat.state.bad))
    end
    return true
  end
  if run.inbox[1] then return true end   -- a message arrived meanwhile
  if run.output then
    local data, wrong = output_of(reply.text, run.output)
    run.idle = (run.idle or 0) + 1
    if not data and run.idle > REPAIRS then
      return false, "error", stop_error("model", "the answer doesn't match the requested schema", wrong)
    end
    if not data then
      chat:user("That is not the JSON that was asked for: " .. wrong)
      return true
    end
    run.data = data
  end
  if not o.done then return false, "end" end
  local good, why = o.done()
  if good then return false, "done" end
  run.idle = (run.idle or 0) + 1
  if run.idle > REPAIRS then
    return false, "error", stop_error("model", "the agent stops, but the task is not done", why and tostring(why))
  end
  chat:user("Not done yet" .. (why and ": " .. tostring(why) or "") .. ". Continue.")
  return true
end

local function answer_of(run, stop)
  return {
    text = run.text or "", data = run.data, messages = run.chat.messages, usage = run.usage, steps = run.steps,
    stop = stop,
  }
end

local function body(o)
  local run = new_run(o)
  local function close_own() if run.own_box then run.own_box:close() end end
  local started, err = start_agent(run, rt.current())
  if not started then
    rt.shield(close_own)
    return nil, err
  end
  local stop
  local ok, raised = pcall(function()
    local more
    repeat more, stop, err = turn(run) until not more
  end)
  if not ok then
    raised = rt.as_error(raised)
    stop, err = raised.code == "cancelled" and "stopped" or raised.code == "budget" and "budget" or "error", raised
  end
  rt.agents[run.agent] = nil
  rt.tainted[run.parent] = rt.tainted[run.parent] or rt.tainted[run.agent]
  rt.shield(function()
    call("agent.end", {
      agent = run.agent, stop = stop, ok = err == nil, steps = run.steps, text = err and tostring(err) or run.text,
    })
    close_own()
  end)
  if err then err.answer = answer_of(run, stop) end
  if not ok and raised.code ~= "budget" then error(raised, 0) end
  if err then return nil, err end
  return answer_of(run, stop)
end

-- Runs an agent until its task is done: an answer, or nil and an error (err.answer holds what there is).
function sg.agent.run(o)
  o = check.options("agent.run", o, RUN)
  local t <close> = task.spawn(body, o)
  local answer, err = t:await()
  if not answer and err.code == "script" then error(err, 0) end
  return answer, err
end

local DEFINE = {}
for k, v in pairs(RUN) do DEFINE[k] = v:gsub("!", "") end
DEFINE.about = "string"

-- An agent as a tool that others may call; its one parameter is the task.
function sg.agent.define(o)
  o = check.options("agent.define", o, DEFINE)
  if not o.name then fail "agent.define: option 'name' is missing" end
  return tools.make {
    name = o.name, about = o.about or o.task or "A sub-agent.", params = { task = "string what it shall do" },
    agent = o,
    run = function(p, ctx)
      local copy = {}
      for k, v in pairs(o) do copy[k] = v end
      copy.about = nil
      copy.task = o.task and o.task .. "\n" .. p.task or p.task
      copy.box = copy.box or ctx.box
      local answer, err = sg.agent.run(copy)
      if not answer then return nil, err end
      return answer.text
    end,
  }
end

-- The tool `task`: hands work to one of several defined agents.
function sg.agent.task_tool(agents)
  local names, by_name = {}, {}
  for i, a in ipairs(agents) do
    a = tools.find(a)
    if not a.agent then fail("agents: '%s' is not what sg.agent.define gave", a.name) end
    names[i], by_name[a.name] = a.name, a
  end
  return tools.make {
    name = "task", about = "Hand a part of the work to another agent and wait for its answer.",
    params = { agent = "enum(" .. table.concat(names, ",") .. ") which", task = "string what it shall do" },
    run = function(p, ctx) return by_name[p.agent].run({ task = p.task }, ctx) end,
  }
end

setmetatable(sg.agent, { __metatable = false, __index = function(_, k)
  fail("sg.agent has no '%s'%s", tostring(k), check.suggest(k, sg.agent))
end })

return { sg = sg }
