-- Messages and questions to users, and the events that a script may watch.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local sg = {}

local function text_of(where, fmt, ...)
  if fmt == nil then fail("%s: the text is nil", where) end
  if select("#", ...) == 0 then return tostring(fmt) end
  return string.format(check.arg(where, "the format", fmt, "string"), ...)
end

function sg.note(fmt, ...) rt.tell("note", { level = "note", text = text_of("note", fmt, ...) }) end
function sg.warn(fmt, ...) rt.tell("note", { level = "warn", text = text_of("warn", fmt, ...) }) end

-- A named place in the timeline.
function sg.mark(label)
  check.arg("mark", "the label", label, "string")
  rt.tell("note", { level = "mark", text = label })
end

function sg.progress(done, total, text)
  check.arg("progress", "done", done, "number")
  check.arg("progress", "total", total, "number?")
  check.arg("progress", "text", text, "string?")
  rt.tell("note", {
    level = "progress", done = math.floor(done), total = total and math.floor(total), text = text or "",
  })
end

function sg.notify(text, o)
  check.arg("notify", "the text", text, "string")
  o = check.options("notify", o, { title = "string" })
  local v, err = rt.call("notify", { text = text, title = o.title })
  if not v then return nil, err end
  return true
end

-- { team = "core", nightly = true, draft = false }: a label with a value, one without, and a removed one.
function sg.label(labels)
  check.arg("label", "the labels", labels, "table")
  local words = setmetatable({}, rt.core.array_mt)
  for name, value in pairs(labels) do
    check.arg("label", "a name", name, "string")
    if type(value) == "string" then
      words[#words + 1] = name .. "=" .. value
    else
      check.arg("label", name, value, "boolean")
      words[#words + 1] = value and name or name .. "-"
    end
  end
  if not words[1] then return true end
  table.sort(words)
  local v, err = rt.call("label", { words = words })
  if not v then return nil, err end
  return true
end

-- Holds the session so far against a check file (sandglass.verify): true and the results, or false and the results;
-- nil and an error when the file itself cannot be run.
function sg.check(file)
  check.arg("check", "the file", file, "string")
  local v, err = rt.call("check", { file = file })
  if not v then return nil, err end
  return v.ok == true, v.results or {}
end

local ASK = { text = "string!", choices = "list", form = "table", default = "any", timeout = "time", risk = "string" }
local RISKS = { low = true, medium = true, high = true }

-- Asks a user; waits as long as it takes, or until the time-out gives the default.
function sg.ask(o)
  if type(o) == "string" then o = { text = o } end
  o = check.options("ask", o, ASK)
  if o.risk and not RISKS[o.risk] then fail("ask: no risk '%s'%s", o.risk, check.suggest(o.risk, RISKS)) end
  if o.choices and o.default ~= nil then
    local found
    for _, c in ipairs(o.choices) do found = found or c == o.default end
    if not found then fail("ask: the default '%s' is not among the choices", tostring(o.default)) end
  end
  local v, err = rt.call("ask", {
    text = o.text, choices = o.choices, form = o.form, default = o.default, timeout_us = check.us(o.timeout),
    risk = o.risk,
  })
  if not v then return nil, err end
  return v
end

local EVENTS = { action = true, held = true, verdict = true, output = true, step = true, ["end"] = true }

-- fn(body) for each such event from now on; it sees, it cannot change anything.
function sg.on(event, fn)
  check.arg("on", "the event", event, "string")
  check.arg("on", "the function", fn, "function")
  if not EVENTS[event] then fail("on: unknown event '%s'%s", event, check.suggest(event, EVENTS)) end
  local list = rt.observers[event] or {}
  rt.observers[event] = list
  list[#list + 1] = fn
  local names = {}
  for name in pairs(rt.observers) do names[#names + 1] = name end
  rt.tell("observe", { events = names })
end

return { sg = sg }
