-- Checks over a recorded session; the same file runs offline (sandglass verify --with FILE) and live (sg.check).
--   local v = require "sandglass.verify"
--   return v.checks(function(log, t)
--     local edit, pass = log:last "kind:edit,write", log:last 'cmd:"make test*" exit=0'
--     t:check("tests ran after the last edit", not edit or (pass and pass.id > edit.id), { edit, pass })
--     t:none("no network", log:find "kind:connect")
--   end)
-- A row is an action or another event as src/query/row.h says, with cost ($), dur_s, wait_s besides. Reads only.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local M = {}
local checks_mt = { __name = "checks", __metatable = false }
local PAGE = 1000

local function call(op, args)
  local v, err = rt.call(op, args)
  if err then fail("%s", err.msg or tostring(err)) end
  return v
end

-- Rows ------------------------------------------------------------------------------------------------------------

local SCALED = { cost = { "cost_uusd", 1e6 }, dur_s = { "dur_us", 1e6 }, wait_s = { "wait_us", 1e6 } }

local function row(r)
  for name, from in pairs(SCALED) do
    if r[from[1]] then r[name] = r[from[1]] / from[2] end
  end
  return r
end

-- The log ----------------------------------------------------------------------------------------------------------

local Log = {}
Log.__index = Log
Log.__name = "log"
Log.__metatable = false

local function filter(what, f)
  if f == nil then return "" end
  return check.arg(what, "the filter", f, "string")
end

-- All rows that match, oldest first, as an iterator: for e in log:each "kind:exec" do ... end
function Log:each(f)
  f = filter("each", f)
  local page, i, after = {}, 0, 0
  return function()
    i = i + 1
    if i > #page then
      if after == nil then return nil end
      local v = call("log.find", { filter = f, after = after, max = PAGE })
      page, i = v.rows, 1
      after = #page == PAGE and page[#page].id or nil
      if #page == 0 then return nil end
    end
    return row(page[i])
  end
end

function Log:find(f)
  local out = {}
  for e in self:each(f) do out[#out + 1] = e end
  return out
end

function Log:first(f)
  local r = call("log.find", { filter = filter("first", f), max = 1 }).rows[1]
  return r and row(r)
end

function Log:last(f)
  local r = call("log.find", { filter = filter("last", f), max = 1, last = true }).rows[1]
  return r and row(r)
end

function Log:count(f) return call("log.count", { filter = filter("count", f) }).n end

-- One event or action by its number.
function Log:row(id)
  check.arg("row", "the number", id, "integer")
  return row(call("log.row", { id = id }).row)
end

Log.event = Log.row   -- events have the same numbers

local function fold(self, what, field, f, start, step)
  check.arg(what, "the field", field, "string")
  local acc, money = start, field == "cost" or field == "cost_uusd"
  for e in self:each(f) do
    local v = e[field]
    -- what an answer cost stands with its model call, too
    local twice = money and e.event == "model.reply" and not (f or ""):find("reply", 1, true)
    if type(v) == "number" and not twice then acc = step(acc, v) end
  end
  return acc
end

-- Of a field ("cost", "dur_s", "wait_s", "tokens", ...) over the rows that match (all, without a filter).
function Log:sum(field, f)
  return fold(self, "sum", field, f, 0, function(a, v) return a + v end)
end
function Log:max(field, f)
  return fold(self, "max", field, f, 0, function(a, v) return v > a and v or a end)
end

-- A SELECT over the record (schema/README.md): a list of rows by the names of the columns; numbers are numbers.
function Log:sql(text)
  check.arg("sql", "the text", text, "string")
  return call("log.sql", { sql = text }).rows
end

-- What an action wrote: "out" (without a second argument), "err" or "pty"; at most the first and last megabyte.
function Log:output(e, stream)
  local id = type(e) == "table" and e.id or e
  check.arg("output", "the action", id, "integer")
  return call("log.output", { id = id, stream = stream or "out" }).text
end

-- Numbers of the actions whose output matches a POSIX extended regular expression.
function Log:grep(regex)
  check.arg("grep", "the expression", regex, "string")
  return call("log.grep", { regex = regex }).ids
end

-- What an action, or everything, changed: a list of {id, box, op, path, by}; id is the snapshot that saw it.
function Log:changes(e)
  return call("log.changes", { id = type(e) == "table" and e.id or e }).changes
end

-- The newest recorded tree of each box's workspace as one text, and the same from all recorded changes, one by one.
function Log:final_tree() return call("log.tree", { how = "final" }).tree end
function Log:rebuild_tree() return call("log.tree", { how = "rebuild" }).tree end

-- {id, name, live, head, script, agents = {{id, name, task, model, stop, text}}}
function Log:session() return call("log.session", {}) end

-- The tests ----------------------------------------------------------------------------------------------------------

local Test = {}
Test.__index = Test
Test.__name = "tests"
Test.__metatable = false

local function numbers(evidence)
  local out = setmetatable({}, rt.core.array_mt)
  if type(evidence) ~= "table" then evidence = { evidence } end
  if evidence.id then evidence = { evidence } end
  for _, e in pairs(evidence) do
    local id = type(e) == "table" and (e.id or e.action or e.seq) or e
    if math.type(id) == "integer" and #out < 20 then out[#out + 1] = id end
  end
  return out
end

-- The classes of a failure; suites count them.
local CLASSES = { "knowledge", "reasoning", "context", "instruction", "tool use", "safety", "communication", "operational",
  "coordination" }

local function class_of(o)
  if not (o and o.class) then return nil end
  for _, c in ipairs(CLASSES) do if c == o.class then return c end end
  fail("check: no class '%s'%s", tostring(o.class), check.suggest(tostring(o.class), CLASSES))
end

local function note(self, name, result, text, evidence, o)
  check.arg("check", "the name", name, "string")
  self.list[#self.list + 1] = { name = name, result = result, text = text, evidence = numbers(evidence),
    class = class_of(o), part = o and o.part, at = rt.core.where() }
  return result == "ok"
end

local function outcome(ok, o) return ok and "ok" or (o and o.warn and "warn" or "failed") end

-- @ok: true or false; @evidence: rows or numbers that show it; @o: { warn = true, text = "..." }.
function Test:check(name, ok, evidence, o)
  return note(self, name, outcome(ok, o), o and o.text, evidence, o)
end

function Test:none(name, rows, o)
  check.arg("none", "the rows", rows, "table")
  return note(self, name, outcome(#rows == 0, o),
    #rows == 0 and "none" or ("%d found"):format(#rows), rows, o)
end

function Test:some(name, rows, o)
  check.arg("some", "the rows", rows, "table")
  return note(self, name, outcome(#rows > 0, o), ("%d found"):format(#rows), rows, o)
end

function Test:max(name, value, most, o)
  check.arg("max", "the value", value, "number")
  check.arg("max", "the limit", most, "number")
  return note(self, name, outcome(value <= most, o), ("%.6g of at most %.6g"):format(value, most), o and o.evidence, o)
end

function Test:min(name, value, least, o)
  check.arg("min", "the value", value, "number")
  check.arg("min", "the limit", least, "number")
  return note(self, name, outcome(value >= least, o), ("%.6g of at least %.6g"):format(value, least), o and o.evidence, o)
end

-- As check, but what does not hold is a warning, which fails nothing.
function Test:warn(name, ok, evidence, o)
  return note(self, name, ok and "ok" or "warn", o and o.text, evidence, o)
end

function Test:equal(name, got, want, o)
  local same = got ~= nil and got == want
  local text = same and "equal" or ("%s, not %s"):format(tostring(got):sub(1, 60), tostring(want):sub(1, 60))
  return note(self, name, outcome(same, o), text, o and o.evidence, o)
end

-- For suites: the required result. Other checks judge the steps to it: a right result by wrong steps fails.
function Test:result(name, ok, evidence, o)
  return note(self, name, outcome(ok, o), o and o.text, evidence, { part = "result", class = o and o.class })
end

function Test:skip(name, why) return note(self, name, "skipped", why) end

-- A check file ends with: return v.checks(function(log, t) ... end)
function M.checks(fn)
  check.arg("checks", "the argument", fn, "function")
  return setmetatable({ fn = fn }, checks_mt)
end

-- For boot.lua: runs what the file returned. A check that raises is one that failed, with its place; the others stand.
function M.run(v, file)
  if rt.core.metatable(v) ~= checks_mt then
    error(rt.err { code = "script", msg = ("%s: a check file returns v.checks(function(log, t) ... end), not a %s")
      :format(file, type(v)) }, 0)
  end
  local t = setmetatable({ list = setmetatable({}, rt.core.array_mt) }, Test)
  local ok, e = pcall(v.fn, setmetatable({}, Log), t)
  if not ok then
    e = rt.as_error(e)
    t.list[#t.list + 1] = { name = "runs to its end", result = "error", text = tostring(e.msg or e), at = e.at }
  end
  return { results = t.list }
end

return setmetatable(M, { __metatable = false, __index = function(_, k)
  fail("verify has no '%s'%s", tostring(k), check.suggest(k, M))
end })
