-- Builds a policy: plain data that src/action/policy.h describes and C judges. Only the functions in `when` stay here.
--   local p = require "sandglass.policy"
--   return p.rules { default = "ask", p.allow "look" { cmd = { "ls *" } }, p.deny "force" { cmd = "git push ... -f" } }
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local M = {}
local rules_mt, rule_mt = { __name = "policy rules", __metatable = false },
  { __name = "policy rule", __metatable = false }
local functions, lines = {}, {}      -- when functions by number, and by the line of their rule

local LIST = "string|list"
local RULE = check.spec("sg.Rule", {
  kind = LIST, cmd = LIST, path = LIST, host = LIST, tool = LIST, agent = LIST, box = LIST, url = LIST, method = LIST,
  lifts = LIST,
  where = "string",
  tainted = "boolean",
  match = "string", when = "function", why = "string", say = "string", risk = "string", confirm = "string",
  limit = "table",
  timeout = "time", on_timeout = "string",
})
local function set(...)
  local t = {}
  for _, name in ipairs { ... } do t[name] = true end
  return t
end
local WORDS = {
  kind = set("exec", "read", "write", "edit", "connect", "model", "host", "mcp", "ask", "snapshot", "rollback",
    "merge", "put", "get", "shell", "fetch", "port"),
  where = set("box", "host"), risk = set("low", "medium", "high"), confirm = set "type",
  on_timeout = set("deny", "hold", "allow"), default = set("allow", "ask", "deny", "boxed", "careful"),
}

local function word(where, key, v)
  local bare = v:match "^!?(.*)$"
  if not WORDS[key][bare] then fail("%s: no %s '%s'%s", where, key, bare, check.suggest(bare, WORDS[key])) end
end

local function line_of(at) return tonumber(at and at:match ":(%d+)$") or 1 end

local function check_lists(where, o)
  for _, key in ipairs { "kind", "cmd", "path", "host", "tool", "agent", "box", "url", "method", "lifts" } do
    local v = o[key]
    for i, item in ipairs(type(v) == "table" and v or { v }) do
      if type(item) ~= "string" or item == "" then fail("%s: item %d of '%s' is not a string", where, i, key) end
      if key == "kind" then word(where, key, item) end
    end
    if type(v) == "table" and #v == 0 then fail("%s: '%s' is an empty list, which nothing matches", where, key) end
  end
end

-- One rule; its line is where its name stands.
local function rule(verdict)
  return function(name)
    check.arg(verdict, "the name", name, "string")
    local line = line_of(rt.core.where())
    return function(o)
      local where = ("rule '%s'"):format(name)
      check.options(where, o, RULE)
      check_lists(where, o)
      for _, key in ipairs { "where", "risk", "confirm", "on_timeout" } do
        if o[key] then word(where, key, o[key]) end
      end
      if o.say and verdict ~= "deny" then
        fail("%s: 'say' is the text that a model receives with a denial; use 'why'", where)
      end
      if (o.timeout or o.on_timeout) and verdict ~= "ask" then
        fail("%s: only an ask waits, so it alone has a time-out", where)
      end
      local limit = o.limit and check.options(where .. ": limit", o.limit, { time = "time!" })
      local r = {
        name = name, verdict = verdict, line = line, timeout_us = check.us(o.timeout),
        limit = limit and { time_us = check.us(limit.time) },
      }
      for _, key in ipairs { "kind", "cmd", "path", "host", "tool", "agent", "box", "url", "method", "lifts",
        "where", "tainted", "match", "why", "say", "risk", "confirm", "on_timeout" } do
        r[key] = o[key]
      end
      if o.when then
        functions[#functions + 1] = o.when
        r.when = #functions
        lines[line] = lines[line] or #functions
      end
      return setmetatable(r, rule_mt)
    end
  end
end

M.allow, M.ask, M.deny = rule "allow", rule "ask", rule "deny"

function M.rules(o)
  check.arg("rules", "the argument", o, "table")
  local out = { rules = setmetatable({}, rt.core.array_mt) }
  for k, v in pairs(o) do
    if type(k) == "number" then
      if rt.core.metatable(v) ~= rule_mt then
        fail("rules: element %d is not a rule (p.allow \"name\" { ... }; are the braces missing?)", k)
      end
      out.rules[k] = v
    elseif k == "default" then
      check.arg("rules", "default", v, "string")
      word("rules", "default", v)
      out.default = v
    else
      fail("rules: unknown option '%s'%s", tostring(k), check.suggest(k, { "default" }))
    end
  end
  return setmetatable(out, rules_mt)
end

-- For boot.lua: what the file returned, as JSON-able data.
function M.result(v, file)
  if rt.core.metatable(v) ~= rules_mt then
    error(rt.err { code = "script",
      msg = ("%s: a policy file returns p.rules { ... }, not a %s"):format(file, type(v)) }, 0)
  end
  return { file = file, default = v.default, rules = v.rules }
end

local Command = {}
Command.__index = Command

-- The words that are not options: what the command works on.
function Command:targets()
  local out, plain = {}, false
  for i = 2, #self.words do
    local w = self.words[i]
    if plain or w:sub(1, 1) ~= "-" or w == "-" then
      out[#out + 1] = w
    elseif w == "--" then
      plain = true
    end
  end
  return out
end

function Command:has(flag)
  for _, w in ipairs(self.words) do if w == flag then return true end end
  return false
end

-- Answers one JUDGE frame; runs outside of any task, so nothing in it can wait.
function M.judge(body)
  local fn = functions[body.when or 0] or functions[lines[body.line or 0] or 0]
  if not fn then return { err = { msg = "no such rule" } } end
  local act = body.act or {}
  act.commands = act.commands or {}
  for _, c in ipairs(act.commands) do
    c.words = c.words or {}
    setmetatable(c, Command)
  end
  local ok, match, why = pcall(fn, act)
  if not ok then return { err = { msg = tostring(rt.as_error(match)) } } end
  return { match = match and true or false, why = why ~= nil and tostring(why) or nil }
end

return setmetatable(M, { __metatable = false, __index = function(_, k)
  fail("policy has no '%s'%s", tostring(k), check.suggest(k, M))
end })
