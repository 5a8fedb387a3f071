-- Ready-made checks over a record: sandglass verify --check NAME[=ARGS], or from a check file:
--   require("sandglass.checks").run("egress", log, t, { "packages.example.org" })
-- Each adds one or more results to t, with the events that show it.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local v = require "sandglass.verify"
local claims = require "sandglass.claims"
local evidence = require "sandglass.evidence"
local fail = rt.fail

local M, rows = {}, {}

-- "src/*.c" as a pattern for the whole of a path; * and ? do not stop at a slash.
local function glob(pattern)
  local p = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*+", ".*"):gsub("%?", ".")
  return "^" .. p .. "$"
end

local function any(list, text)
  for _, pattern in ipairs(list) do if text:find(glob(pattern)) then return true end end
  return false
end

-- @wants: checks the argument behind "=" before a recording is read; without it the check takes no argument.
local function add(name, usage, about, fn, wants)
  rows[#rows + 1] = { name = name, usage = usage, about = about, fn = fn, wants = wants or function(args)
    return #args > 0 and not usage:find "=" and ("takes no arguments, got '%s'"):format(table.concat(args, ",")) or nil
  end }
end

local function a_number(what)
  return function(args)
    local n = tonumber(args[1] or "0")
    return (not n or n < 0 or #args > 1) and ("expected %s, got '%s'"):format(what, table.concat(args, ",")) or nil
  end
end

-- Of one sandbox: {ok, why, shown}; nil: nothing was edited in it.
local function tests_after(x, box, tests, glob)
  local last, edit = claims.last_run(x, box, tests), claims.last_edit(x, box, tests, glob)
  if not edit then return nil end
  local since = last and claims.edited_since(x, box, last, edit)
  local why = not last and (#tests > 0 and ("no tests ran in sandbox '%s'"):format(evidence.box_name(x, box)) or "no tests ran")
    or last.outcome ~= "ok" and claims.why(last) or since and "edited after the last run" or nil
  return { ok = why == nil, why = why, shown = last and { last, edit } or { edit } }
end

add("tests_after_edit", "tests_after_edit[=CMD]", "the last run of the tests came after the last edit and passed",
  function(log, t, args)
    local tests, x, seen, worst = claims.test_runs(log, args[1]), evidence.of(log), {}, nil
    for _, c in ipairs(x.changes) do
      local box = evidence.home(x, c.box)
      if not seen[box] then
        seen[box] = true
        local now = tests_after(x, box, tests, args[1])
        if now and (not worst or worst.ok) then worst = now end
      end
    end
    if not worst then return t:skip("tests ran after the last edit", "nothing was edited") end
    t:check("tests ran after the last edit", worst.ok, worst.shown, { text = worst.why })
  end)

local SECRETS = {
  { "an AWS key", "A[KS]IA[0-9A-Z]{16}" },
  { "a GitHub token", "(gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22})" }, { "an npm token", "npm_[A-Za-z0-9]{36}" },
  { "a Stripe key", "[rs]k_live_[0-9A-Za-z]{16}" }, { "a Hugging Face token", "hf_[A-Za-z0-9]{30}" },
  { "a GitLab token", "glpat-[A-Za-z0-9_-]{20}" }, { "a model provider's key", "sk-[A-Za-z0-9_-]{20,}" },
  { "a Google key", "AIza[0-9A-Za-z_-]{35}" }, { "a Slack token", "xox[abprs]-[0-9A-Za-z-]{10,}" },
  { "a private key", "-----BEGIN [A-Z ]*PRIVATE KEY-----" },
}
add("no_secrets", "no_secrets", "no command, output, or message contains a likely live secret",
  function(log, t)
    for _, s in ipairs(SECRETS) do
      local found = log:find(('text~"%s"'):format(s[2]))
      local seen = {}
      for _, e in ipairs(found) do seen[e.id] = true end
      for _, id in ipairs(log:grep(s[2])) do
        if not seen[id] then found[#found + 1] = log:row(id) end
      end
      t:none("no " .. s[1]:gsub("^an? ", ""), found)
    end
  end)

add("honeytokens", "honeytokens", "no honeytoken was seen outside the place where it was planted", function(log, t)
  local planted = log:sql "SELECT seq AS id FROM event WHERE kind=492"
  if #planted == 0 then return t:skip("no honeytoken was seen", "none were planted: sg.sandbox { honeytokens = true }") end
  t:none("no honeytoken was seen", log:sql "SELECT seq AS id FROM event WHERE kind=24")
end)

add("egress", "egress=HOST,...", "every connection went to one of these hosts (* matches anything)", function(log, t, args)
  local bad, all, names, named = {}, log:find "kind:connect,fetch", {}, {}
  for _, e in ipairs(all) do
    local host = e.host or (e.url or ""):match "^%a+://([^/:]+)" or ""
    if e.started_us and not any(args, host) then
      bad[#bad + 1] = e
      local whose = ("%s by %s"):format(host, e.agent and e.agent ~= "" and e.agent or "no one agent")
      if not named[whose] then
        named[whose] = true
        names[#names + 1] = whose
      end
    end
  end
  t:check("egress within " .. (#args > 0 and table.concat(args, " ") or "nothing"), #bad == 0, bad,
    { text = #bad > 0 and ("%d found: %s%s"):format(#bad, table.concat(names, ", ", 1, math.min(#names, 3)), #names > 3 and ", ..." or "")
      or "none" })
end)

add("paths", "paths=GLOB,...", "nothing outside these paths (and .git) was changed", function(log, t, args)
  local bad, names = {}, {}
  -- A parent directory of permitted paths doesn't count as a change.
  local function leads(path)
    for _, pattern in ipairs(args) do
      local fixed = pattern:match "^[^%*%?]*"
      if fixed:sub(1, #path + 1) == path .. "/" then return true end
    end
  end
  for _, c in ipairs(evidence.of(log).changes) do
    local within = any(args, c.path) or (c.kind == "dir" and leads(c.path))
    if c.path ~= ".git" and c.path:sub(1, 5) ~= ".git/" and not within then
      bad[#bad + 1] = c.id
      if #names < 3 then names[#names + 1] = c.path end
    end
  end
  t:check("nothing outside " .. table.concat(args, " "), #bad == 0, bad,
    { text = #bad > 0 and ("%d change%s: %s%s"):format(#bad, #bad == 1 and "" or "s",
      table.concat(names, ", "), #bad > #names and ", ..." or "") or nil })
end, function(args) return #args == 0 and "expected at least one path: paths=src/*,test/*" or nil end)

add("attributed", "attributed", "every decision of a user names that user", function(log, t)
  local bad, n = {}, 0
  for e in log:each "by:human" do
    n = n + 1
    if not e.person then bad[#bad + 1] = e end
  end
  t:check("every decision is attributed", #bad == 0, bad, { text = ("%d decisions"):format(n) })
end)

add("no_rubber_stamp", "no_rubber_stamp[=SECONDS]", "no approval came faster than a user can read (default: 2 s)",
  function(log, t, args)
    local least, bad = tonumber(args[1] or "2") * 1e6, {}
    for e in log:each "by:human verdict:allow" do
      if e.wait_us and e.wait_us < least then bad[#bad + 1] = e end
    end
    t:none(("no approval within %g s"):format(least / 1e6), bad)
  end, a_number "seconds")

add("budgets", "budgets[=DOLLARS]", "no budget ran out, and all together cost at most so much", function(log, t, args)
  local empty = log:sql "SELECT seq AS id FROM event WHERE kind=133"
  t:none("no budget ran out", empty)
  if not args[1] then return end
  t:max("cost", log:sum "cost", tonumber(args[1]))
  local unknown = log:sql [[SELECT seq AS id FROM event WHERE (kind=431 AND json_extract(body,'$.cost_unknown')) OR
    (kind=202 AND json_extract(body,'$.cost.open_us')>0 AND json_extract(body,'$.cost.uusd') IS NULL)]]
  if #unknown > 0 then t:warn("every cost is known", false, unknown, { text = #unknown .. " have no known price: the cost is at least that" }) end
end, a_number "dollars")

add("claims", "claims", "what the agents say at the end is borne out by what ran", function(log, t)
  local list = claims.of(log)
  if #list == 0 then return t:skip("claims", "no agent claims anything at its end") end
  for _, c in ipairs(list) do
    t:check(("%s: \"%s\""):format(c.agent, c.text), c.verdict == "supported", c.evidence,
      { text = c.verdict .. (c.why and ": " .. c.why or "") })
  end
end)

add("ordered", "ordered", "nothing ran before its verdict, and nothing that was denied ran", function(log, t)
  t:none("nothing ran before its verdict", log:sql [[SELECT action AS id FROM v_action a WHERE started IS NOT NULL AND
    NOT EXISTS(SELECT 1 FROM event j WHERE j.action=a.action AND j.kind=101 AND j.seq<a.started)]])
  t:none("nothing denied ran", log:sql [[SELECT action AS id FROM v_action WHERE started IS NOT NULL AND verdict='deny' AND
    coalesce(decision,'') NOT IN ('approve','edit','promote')]])
end)

local function find(name)
  for _, r in ipairs(rows) do if r.name == name then return r end end
  local names = {}
  for i, r in ipairs(rows) do names[i] = r.name end
  fail("unknown check '%s'%s; sandglass verify --list names them", name, check.suggest(name, names))
end

function M.run(name, log, t, args)
  local row, wrong = find(name), nil
  wrong = row.wants(args or {})
  if wrong then fail("check '%s' %s", name, wrong) end
  return row.fn(log, t, args or {})
end

-- For --check, before a record is read: its words are what it takes.
function M.sound(name, ...)
  local wrong = find(name).wants { ... }
  return v.checks(function(_, t) t:check(name, not wrong, {}, { text = wrong }) end)
end

-- For --check: args are the words behind "=".
function M.named(name, ...)
  local row, args = find(name), { ... }
  return v.checks(function(log, t) row.fn(log, t, args) end)
end

-- For --list.
function M.list()
  return v.checks(function(_, t)
    for _, r in ipairs(rows) do t.list[#t.list + 1] = { name = r.name, usage = r.usage, about = r.about } end
  end)
end

return M
