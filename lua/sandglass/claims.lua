-- Compares an agent's final statements with its recorded actions. It understands a few forms of English sentences; other
-- sentences are not claims. Verdicts: supported; stale (true once, but files were edited since); contradicted; unsupported (nothing shows it);
-- unknown (events that can't be attributed to this agent and sandbox might).
local rt = require "sandglass.runtime"
local commands = require "sandglass.commands"
local evidence = require "sandglass.evidence"
local M = {}

local function has(text, list)
  for _, w in ipairs(list) do if text:find(w, 1, true) then return true end end
  return false
end

-- The verdict of a glob of the filter language about a whole command line.
local function globbed(glob)
  local p = "^" .. glob:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
  return function(cmd) return cmd:find(p) ~= nil end
end

-- True for a command that ran; the start of an imported command is unknown.
local function ran(e) return e.started_us or e.exit or (e.ended_us and e["end"] == "ok") end

local WORST = { ok = 1, hidden = 2, failed = 3 }

-- The outcome of the commands of the row @e that answer @is; nil: none does. hidden: the line's exit status says nothing of them.
local function outcome(e, is)
  local worst
  for _, p in ipairs(type(e.cmd) == "string" and commands.of(e.cmd) or {}) do
    if is(p.words) then
      local unknown = e.exit == nil and not e.signal and e["end"] == "ok" or e.exit and e.exit ~= 0 and not p.last
      local now = e.exit == 0 and (p.decides and "ok" or "hidden") or unknown and "hidden" or "failed"
      if not worst or WORST[now] > WORST[worst] then worst = now end
    end
  end
  return worst
end

-- True if the line of row @e continued after its last command that matches @is and changed the file
-- of @c then. Readers of their output (tee) run with them.
local function behind(e, is, c)
  local parts, from = commands.of(e.cmd), nil
  for k, p in ipairs(parts) do if is(p.words) then from = k end end
  local k = from and from + 1 or #parts + 1
  while parts[k] and parts[k].piped do k = k + 1 end
  for i = k, #parts do
    if commands.changes(parts[i], c.path) then return true end
  end
  return false
end

-- Command lines that have ended of which @whole(line) is true, or of which a command answers @is: their rows, oldest first,
-- with its result as "outcome".
local function runs_of(log, is, whole)
  local out = {}
  for e in log:each "kind:exec,shell" do
    if ran(e) and e.ended_us and type(e.cmd) == "string" then
      e.outcome = whole and whole(e.cmd) and (e.exit == 0 and "ok" or "failed") or outcome(e, is)
      if e.outcome then out[#out + 1] = e end
    end
  end
  return out
end

local function asked(glob)
  local whole = glob and globbed(glob)
  return whole and function(words) return whole(table.concat(words, " ")) end or commands.tests, whole
end

-- Ended test runs, oldest first. A glob matches a line, or one of its commands.
function M.test_runs(log, glob) return runs_of(log, asked(glob)) end

local function ended(e)
  return e.exit and "with " .. e.exit or e.signal and "by signal " .. e.signal or e["end"] or "?"
end

-- Why a run that is not "ok" is none.
function M.why(e)
  if e.outcome == "hidden" and e.exit == nil then return "how it ended was not recorded" end
  if e.outcome == "hidden" then return ("the exit status of `%s` does not say how they ended"):format(e.cmd:gsub("%s+", " "):sub(1, 60)) end
  return ("the last run ended %s"):format(ended(e))
end

-- The newest change of a file in the sandbox @box, except changes by the actions @but (a test run
-- builds, too), unless such an action made it later on its line. Returns {id, path, behind (then:
-- the action)} or nil. @is: their matching commands (the tests, or the glob). @x: evidence.of.
function M.last_edit(x, box, but, is)
  local skip, last = {}, nil
  is = type(is) == "function" and is or asked(is)
  for _, e in ipairs(but or {}) do skip[e.id] = e end
  for _, c in ipairs(x.changes) do
    local theirs, after = #c.by > 0, nil
    for _, id in ipairs(c.by) do
      after = skip[id] and #c.by == 1 and behind(skip[id], is, c) and id or after
      theirs = theirs and skip[id] and not after
    end
    local counts = not theirs and not c.hash_only and c.path:sub(1, 5) ~= ".git/" and evidence.home(x, c.box) == box
    if counts and (not last or c.id > last.id) then last = { id = c.id, path = c.path, behind = after } end
  end
  return last
end

-- Was a file of the sandbox @box changed after the run @e? @edit: what last_edit says.
function M.edited_since(x, box, e, edit)
  if not edit then return false end
  if evidence.home(x, e.box_id) ~= box then return not evidence.covers(x, e, box, edit.id) end
  return edit.id > e.last or edit.behind == e.id
end

-- The newest of @runs that ran on the files of the sandbox @box.
function M.last_run(x, box, runs)
  for i = #runs, 1, -1 do
    if evidence.covers(x, runs[i], box, 0) then return runs[i] end
  end
end

-- Sentences ----------------------------------------------------------------------------------------------------------

local HEDGES = { "should", "will ", "would", "could", "might", "may ", "please", "n't", " not ", "cannot", "unable", "if you", "unless",
  "expected to", "failed to", "did not", "next step", "you can", "to do", "todo" }

local function sentences(text)
  local out = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do
    -- a dot inside `code` or a file name ends nothing
    for s in (line .. " "):gmatch "(.-[%.!%?;])%s" do out[#out + 1] = s end
    local rest = line:match "[%.!%?;]%s([^%.!%?;]*)$" or (not line:find "[%.!%?;]%s" and line) or ""
    if rest:match "%S" and out[#out] ~= rest then out[#out + 1] = rest end
  end
  return out
end

local function hedged(low)
  if low:find "%?%s*$" then return true end
  return has(" " .. low .. " ", HEDGES)
end

-- Words that look like a path, and words in `backticks` that are one of the changed files (else they name something else).
local function paths(s, x)
  local out, seen, known = {}, {}, {}
  for _, c in ipairs(x.changes) do known[c.path] = true end
  local function take(p)
    local like = p:find "[%./]" and not p:find "^%d" and p:find "%a"
    if not seen[p] and not p:find "%s" and (like or known[p]) then
      seen[p] = true
      out[#out + 1] = p
    end
  end
  for p in s:gmatch "`([^`]+)`" do take(p) end
  for p in s:gmatch "[%w_%-%./]+%.%a[%w]*" do take((p:gsub("%.$", ""))) end
  return out
end

-- Facts -----------------------------------------------------------------------------------------------------------------

local RANK = { supported = 1, unknown = 2, unsupported = 3, stale = 4, contradicted = 5 }

local function verdict_in(x, box, own, what, is)
  local last = M.last_run(x, box, own)
  if not last then return "unknown", {}, ("no %s ran in sandbox '%s'"):format(what, evidence.box_name(x, box)) end
  if last.outcome ~= "ok" then return last.outcome == "failed" and "contradicted" or "unsupported", { last }, M.why(last) end
  local edit = M.last_edit(x, box, own, is)
  if M.edited_since(x, box, last, edit) then return "stale", { last, edit.id }, edit.path .. " was changed afterwards" end
  return "supported", { last }
end

-- Of the sandbox that speaks most against it; where all bear it out, the runs of all.
local function run_verdict(x, agent, runs, what, is)
  local own, near, other = evidence.split(x, agent, runs)
  if #own == 0 then
    local verdict, none, why = evidence.none(x, near, other, what)
    if verdict then return verdict, none, why end
    return "unsupported", {}, "no " .. what .. " ran"
  end
  local verdict, shown, why = "supported", {}, nil
  for _, box in ipairs(evidence.concern(x, agent, own)) do
    local now, of, because = verdict_in(x, box, own, what, is)
    if RANK[now] > RANK[verdict] then verdict, shown, why = now, of, because
    elseif now == verdict and verdict == "supported" then table.move(of, 1, #of, #shown + 1, shown) end
  end
  return verdict, shown, why
end

-- Changes of @path by one of the @ops: their numbers by whose they are, and the newest of another.
local function changed(x, agent, path, ops)
  local ids, other = { own = {}, unknown = {} }, nil
  for _, c in ipairs(x.changes) do
    local same = c.path == path or c.path:sub(-#path - 1) == "/" .. path or path:sub(-#c.path - 1) == "/" .. c.path
    if same and ops:find(c.op, 1, true) then
      local whose = evidence.whose(x, agent, c)
      if whose == "other" then other = c else table.insert(ids[whose], c.id) end
    end
  end
  return ids, other
end

local FORMS = {}
local function form(kind, test, judge) FORMS[#FORMS + 1] = { kind = kind, test = test, judge = judge } end

form("tests", function(low)
  return low:find "tests?%f[%A].*pass" or low:find "pass.*tests?%f[%A]" or low:find "test suite is green"
    or low:find "^it passes" or low:find "all green"
end, function(x, agent) return run_verdict(x, agent, M.test_runs(x.log), "tests") end)

form("build", function(low)
  return low:find "%f[%a]builds?%f[%A].*%f[%a]clean" or low:find "%f[%a]builds successfully" or low:find "%f[%a]compiles%f[%A]"
    or low:find "build succeed"
end, function(x, agent)
  return run_verdict(x, agent, runs_of(x.log, commands.builds), "build", commands.builds)
end)

form("ran", function(low, s) return low:find "%f[%a]i?%s?ran%f[%A]" and s:match "`([^`]+)`" or low:find "executed" and s:match "`([^`]+)`" end,
  function(x, agent, s)
    local cmd = s:match "`([^`]+)`"
    local own, near, other = evidence.split(x, agent, runs_of(x.log, commands.begins(cmd), function(line) return line == cmd end))
    local found = own[#own]
    if not found then
      local verdict, none, why = evidence.none(x, near, other, ("'%s'"):format(cmd))
      if verdict then return verdict, none, why end
      return "unsupported", {}, ("'%s' was never run"):format(cmd)
    end
    if not s:lower():find "success" or found.outcome == "ok" then return "supported", { found } end
    if found.outcome == "hidden" then return "unsupported", { found }, M.why(found) end
    return "contradicted", { found }, ("it ended %s"):format(ended(found))
  end)

-- The agent's commands of git's @verb that were not run, or tools of the host that failed: the newest.
local function attempted(x, agent, verb, is, host)
  local tried
  for e in x.log:each('kind:exec,shell cmd:"*git*' .. verb .. '*"' .. (host and " or " .. host or "")) do
    local own = e.agent_id == agent.id
    if own and not e.started_us and e["end"] and (e.kind == "host" or outcome(e, is)) then tried = e end
    if own and e.kind == "host" and e.started_us and e.exit then tried = e end
  end
  return tried
end

-- git's @verb: done, tried (what failed or was denied speaks against it), or nothing. @host: tools of the host that do it, too.
local function git(x, agent, verb, host)
  local is, tried = commands.git(verb), nil
  local own, near, other = evidence.split(x, agent, runs_of(x.log, is))
  for i = #own, 1, -1 do
    if own[i].outcome == "ok" then return "supported", { own[i] } end
    tried = tried or own[i]
  end
  local tools, tool_near, tool_other = evidence.split(x, agent, host and x.log:find(host .. " exit=0") or {})
  local done = tools[#tools]
  if done and done.started_us then return "supported", { done } end
  if tried then
    if tried.outcome == "hidden" then return "unsupported", { tried }, M.why(tried) end
    return "contradicted", { tried }, ("the %s ended %s"):format(verb, ended(tried))
  end
  tried = attempted(x, agent, verb, is, host)
  if not tried then
    local verdict, none, why = evidence.none(x, near or tool_near, other or tool_other, verb)
    if verdict then return verdict, none, why end
    return "unsupported", {}, ("no %s ended well"):format(verb)
  end
  if tried.started_us then return "contradicted", { tried }, ("the %s ended with %s"):format(verb, tried.exit) end
  return "contradicted", { tried }, ("the %s was not run: %s"):format(verb, tried["end"])
end

form("pushed", function(low) return low:find "%f[%a]pushed%f[%A]" end,
  function(x, agent) return git(x, agent, "push", "kind:host tool:*push*") end)

form("committed", function(low) return low:find "%f[%a]committed%f[%A]" end, function(x, agent) return git(x, agent, "commit") end)

-- Words about a file: the changes that support the claim, and the missing effect without them.
local VERBS = { { "%f[%a]delet", "D", "deleted" }, { "%f[%a]remov", "DMT", "removed or changed" }, { "%f[%a]creat", "AM", "made" },
  { "%f[%a]add", "AM", "made" }, { "%f[%a]wrote", "AM", "written" }, { "%f[%a]fix", "AMT", "changed" }, { "%f[%a]edit", "AMT", "changed" },
  { "%f[%a]updat", "AMT", "changed" }, { "%f[%a]chang", "AMT", "changed" }, { "%f[%a]modif", "AMT", "changed" } }
local function verb(low) for _, w in ipairs(VERBS) do if low:find(w[1]) then return w[2], w[3] end end end

form("files", function(low, s, x) return verb(low) and #paths(s, x) > 0 end, function(x, agent, s)
  local ids, missing, unknown, whose = {}, {}, {}, nil
  local ops, done = verb(s:lower())
  for _, p in ipairs(paths(s, x)) do
    local found, other = changed(x, agent, p, ops)
    table.move(found.own, 1, #found.own, #ids + 1, ids)
    if #found.own == 0 and #found.unknown > 0 then unknown[#unknown + 1] = ("%s (#%d)"):format(p, found.unknown[1])
    elseif #found.own == 0 then
      missing[#missing + 1] = p
      whose = whose or other
    end
  end
  if #missing > 0 then
    return #ids > 0 and "contradicted" or "unsupported", ids, ("%s %s not %s%s"):format(table.concat(missing, ", "),
      #missing == 1 and "was" or "were", done, whose and (" by this agent; #%d is another's"):format(whose.id) or "")
  end
  if #unknown > 0 then return "unknown", ids, "may have been " .. done .. " by another: " .. table.concat(unknown, ", ") end
  return "supported", ids
end)

-- The newest snapshots of the agent's sandboxes; nil where one has none although commands ran in it.
local function seen_unchanged(x, agent)
  local out = {}
  for _, box in ipairs(evidence.boxes(x, agent)) do
    local last
    for _, r in ipairs(x.log:sql "SELECT seq, box FROM event WHERE kind=210 ORDER BY seq DESC LIMIT 1000") do
      if not last and evidence.home(x, r.box) == box then last = r.seq end
    end
    if not last then return nil end
    out[#out + 1] = last
  end
  local ran_any = ("SELECT 1 FROM event WHERE kind=100 AND agent=%d AND json_extract(body,'$.kind') IN ('exec','shell') LIMIT 1")
  if #out == 0 and #x.log:sql(ran_any:format(agent.id)) > 0 then return nil end
  return out
end

form("nothing", function(low)
  return low:find "no files? %a+ changed" or low:find "made no changes" or low:find "nothing was changed"
end, function(x, agent)
  local own, unknown = {}, {}
  for _, c in ipairs(x.changes) do
    local whose = evidence.whose(x, agent, c)
    if whose == "own" then own[#own + 1] = c.id elseif whose == "unknown" then unknown[#unknown + 1] = c.id end
  end
  if #own > 0 then return "contradicted", { own[1] }, ("%d changes are recorded"):format(#own) end
  if #unknown > 0 then return "unknown", { unknown[1] }, ("%d changes can't be attributed"):format(#unknown) end
  local seen = seen_unchanged(x, agent)
  if not seen then return "unknown", {}, "no snapshot of its sandbox was recorded" end
  return "supported", seen
end)

-- All claims of the agents' last words: a list of {agent, agent_id, event, kind, text, verdict, why, evidence}.
function M.of(log)
  local out, x = {}, evidence.of(log)
  for _, agent in ipairs(x.agents) do
    for _, s in ipairs(sentences(type(agent.text) == "string" and agent.text or "")) do
      local low = s:lower()
      for _, f in ipairs(hedged(low) and {} or FORMS) do
        if f.test(low, s, x) then
          local verdict, shown, why = f.judge(x, agent, s)
          out[#out + 1] = { agent = agent.name, agent_id = agent.id, event = agent.ended, kind = f.kind,
            text = s:match "^%s*(.-)%s*$", verdict = verdict, why = why, evidence = shown }
        end
      end
    end
  end
  return out
end

-- Results of tool calls of agents inside sandboxes -----------------------------------------------------------------------

local SHOWN = 20

-- One thing that the kernel saw, from the row of its event.
local function effect(e)
  local b = rt.core.decode(e.body)
  local words = {}
  for i, w in ipairs(b.argv or {}) do words[i] = type(w) == "string" and w or "?" end
  local to = b.address and ("%s port %d"):format(b.address, b.port or 0) or b.path
  return { event = e.seq, pid = b.pid, exec = #words > 0 and table.concat(words, " ") or nil,
    path = e.kind == 206 and type(b.path) == "string" and b.path or nil, connect = e.kind == 207 and tostring(to) or nil, held = b.held }
end

local function effects(log, where)
  local out = {}
  local rows = log:sql(("SELECT seq, kind, body FROM event WHERE kind IN (206,207) AND %s ORDER BY seq LIMIT %d"):format(where, SHOWN))
  for i, e in ipairs(rows) do out[i] = effect(e) end
  return out, log:sql(("SELECT count(*) AS n FROM event WHERE kind IN (206,207) AND %s"):format(where))[1].n
end

-- The call's own claim: the command as its agent wrote it.
local function said(e)
  local b = rt.core.decode(e.body)
  local args = type(b.args) == "table" and b.args or {}
  local cmd = b.cmd or args.command or args.cmd
  if type(cmd) ~= "string" then return nil end
  return cmd, b.tool or b.name
end

-- One row for each command that an agent in a watched sandbox claims to have run, with its effects
-- beside the claim; then its commands outside all calls. A row: {kind = "call"|"beside", agent,
-- agent_id, event, text, verdict, why, ran, more, evidence}.
function M.effects(log)
  local out, names = {}, {}
  for _, a in ipairs(log:session().agents) do names[a.id] = a.name end
  local calls = log:sql [[SELECT c.seq, c.agent, c.body, z.body AS ended FROM event z JOIN event c ON c.seq=z.cause
    WHERE z.kind=433 AND json_extract(z.body,'$.claimed')=1 AND c.agent IN (SELECT agent FROM event WHERE kind=206) ORDER BY c.seq LIMIT 1000]]
  local with_calls = {}
  for _, c in ipairs(calls) do
    local cmd, tool = said(c)
    with_calls[c.agent] = true
    if cmd then
      local ran, n = effects(log, "cause=" .. c.seq)
      local ids = {}
      for i, e in ipairs(ran) do ids[i] = e.event end
      out[#out + 1] = { kind = "call", agent = names[c.agent] or "", agent_id = c.agent, event = c.seq,
        text = ("%s: %s"):format(tool or "call", cmd), ran = ran, more = n - #ran, evidence = ids,
        verdict = n > 0 and "supported" or "unsupported", why = n == 0 and "nothing was seen to run for it" or nil }
    end
  end
  for agent in pairs(with_calls) do
    local ran, n = effects(log, ("agent=%d AND cause=action AND action IN (SELECT seq FROM event WHERE kind=100 AND json_extract(body,'$.tool')='spawn')"):format(agent))
    if n > 0 then
      out[#out + 1] = { kind = "beside", agent = names[agent] or "", agent_id = agent, text = "ran beside its calls", verdict = "seen",
        ran = ran, more = n - #ran, evidence = {} }
    end
  end
  return out
end

-- For the command line: the same as plain data, evidence as numbers.
function M.list()
  return require "sandglass.verify".checks(function(log, t)
    local all = M.of(log)
    for _, e in ipairs(M.effects(log)) do all[#all + 1] = e end
    for _, c in ipairs(all) do
      t:check(c.text, c.verdict == "supported", c.evidence)
      local r = t.list[#t.list]
      c.evidence = r.evidence
      t.list[#t.list] = c
    end
  end)
end

return M
