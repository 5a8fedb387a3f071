-- Models by name. `scripted:NAME` is a list of turns that runs here; every other one is asked through the supervisor.
--
-- A scripted model is a Lua file that returns a list of turns:
--   { say = "text", call = { "shell", { cmd = "make" } }, expect = "pattern that the last result must contain",
--     on = { denied = { turns }, edited = { turns }, failed = { turns }, allowed = { turns } }, think = seconds }
-- call may be a list of calls; say, call may be functions of the last result. A branch runs before the turns after it.
-- The file may also return a function of the task that returns the list.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local M = { sg = {} }
local model_mt = check.class("sg.Model", "model", {}, { options = true, turns = true })

local function providers()
  local names = { "scripted" }
  for _, name in ipairs(rt.env.providers or {}) do
    if name ~= "scripted" then names[#names + 1] = name end
  end
  return names
end

-- Turns of scripted:NAME; a name that ends in .lua is a file beside the script.
local function load_turns(spec, name)
  local module = name:match "%.lua$" and name or "sandglass.scripted." .. name
  local ok, turns = pcall(rt.require, module)
  if not ok then
    if turns.code == "cancelled" then error(turns, 0) end
    local missing = ("require: can't find '%s'"):format(module)
    if module == name and (turns.msg or ""):sub(1, #missing) == missing then fail("model script '%s' not found", name) end
    fail("model '%s': %s", spec, turns.msg or tostring(turns))
  end
  if type(turns) ~= "function" and (type(turns) ~= "table" or #turns == 0) then
    fail("model '%s': the file must return a list of turns", spec)
  end
  return turns
end

-- "provider:name" or what sg.model gave before. `unnamed`: nobody has named one.
function M.model(spec, o, unnamed)
  if type(spec) == "table" and rt.core.metatable(spec) == model_mt then return spec end
  check.arg("model", "the name", spec, "string")
  check.arg("model", "the options", o, "table?")
  local provider, name = spec:match "^([%w_.-]+):(.+)$"
  local known = providers()
  if not provider then
    fail("model '%s': a name is provider:model, for example scripted:demo (providers: %s)", spec,
      table.concat(known, ", "))
  end
  local found
  for _, p in ipairs(known) do found = found or p == provider end
  if not found then
    fail("model '%s': no provider '%s'%s; providers here: %s", spec, provider, check.suggest(provider, known),
      table.concat(known, ", "))
  end
  return check.new(model_mt, {
    name = spec, provider = provider, options = o, unnamed = unnamed == true, turns = provider == "scripted" and load_turns(spec, name) or nil,
  })
end
function M.sg.model(spec, o) return M.model(spec, o) end

-- The scripted engine ---------------------------------------------------------------------------------------------
-- State of a chat: a stack of { list, next index }, and the branches of the turn before.

function M.begin(model)
  return model.turns and { count = 0 } or nil
end

local function first_task(messages)
  for _, m in ipairs(messages) do if m.role == "user" then return m.text end end
  return ""
end

function M.fork(state)
  if not state then return nil end
  if not state.stack then return { count = 0 } end
  local copy = { stack = {}, count = state.count, branches = state.branches }
  for i, s in ipairs(state.stack) do copy.stack[i] = { s[1], s[2] } end
  return copy
end

local function as_list(branch) return branch[1] ~= nil and type(branch[1]) == "table" and branch or { branch } end

local function next_turn(state)
  while #state.stack > 0 do
    local top = state.stack[#state.stack]
    local turn = top[1][top[2]]
    if turn then
      top[2] = top[2] + 1
      return turn
    end
    state.stack[#state.stack] = nil
  end
end

local TURN = check.spec("sg.Turn", {
  say = "string|function", call = "table|function", expect = "string", on = "table", think = "time", stop = "string",
})
local BRANCHES = { denied = true, edited = true, failed = true, allowed = true }

local function check_turn(model, n, turn)
  check.options(("model '%s': turn %d"):format(model.name, n), turn, TURN)
  for name in pairs(turn.on or {}) do
    if not BRANCHES[name] then
      fail("model '%s': turn %d: no branch '%s'%s", model.name, n, name, check.suggest(name, BRANCHES))
    end
  end
end

local function calls_of(turn, n, last)
  local call = turn.call
  if type(call) == "function" then call = call(last) end
  if not call then return {} end
  if type(call[1]) == "string" then call = { call } end
  local list = {}
  for i, c in ipairs(call) do list[i] = { id = ("c%d_%d"):format(n, i), name = c[1], args = c[2] or {} } end
  return list
end

-- About four bytes a token: enough to see budgets work without a provider.
local function tokens(messages)
  local n = 0
  for _, m in ipairs(messages) do n = n + #(m.text or "") + (m.calls and 40 * #m.calls or 0) end
  return n // 4
end

-- The reply of a scripted model to the chat as it stands. last: { text, how } of the results since its turn before.
function M.reply(model, state, messages, last)
  if not state.stack then
    local turns = model.turns
    if type(turns) == "function" then turns = turns(first_task(messages)) end
    state.stack = { { turns, 1 } }
  end
  if state.branches and last.how then
    local branch = state.branches[last.how]
    if branch then state.stack[#state.stack + 1] = { as_list(branch), 1 } end
  end
  state.branches = nil
  local turn = next_turn(state)
  if not turn then
    return { text = "", calls = {}, usage = { ["in"] = tokens(messages), out = 0, cached = 0 }, stop = "end" }
  end
  state.count = state.count + 1
  check_turn(model, state.count, turn)
  if turn.expect and not (last.text or ""):find(turn.expect) then
    return nil, rt.err {
      code = "model", msg = ("%s: turn %d: '%s' not found in the last result"):format(model.name, state.count, turn.expect)
        .. (model.unnamed and "; no model is named (--model PROVIDER:NAME), so the demo's turns were played" or ""),
      why = last.text and (#last.text > 200 and last.text:sub(-200) or last.text) or "the last turn had no result",
    }
  end
  local say = turn.say
  if type(say) == "function" then say = say(last) end
  local calls = calls_of(turn, state.count, last)
  state.branches = turn.on
  return {
    text = say or "", calls = calls, stop = turn.stop or (#calls > 0 and "calls" or "end"),
    usage = { ["in"] = tokens(messages), out = (#(say or "") + 40 * #calls) // 4, cached = 0 },
  }, nil, turn.think and check.us(turn.think)
end

return M
