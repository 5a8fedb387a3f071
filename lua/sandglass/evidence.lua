-- The events of a session that can bear out a statement about one agent: its own runs and changes, sandbox by sandbox. An event
-- of another agent or sandbox never does; an event that can't be attributed makes the statement unknown.
local M = {}

-- Changes of files; without snapshots (an import): the files that were written and edited.
local function edits_of(log)
  local out = log:changes()
  if #out > 0 or #log:sql "SELECT 1 FROM event WHERE kind=210 LIMIT 1" > 0 then return out, true end
  for e in log:each "kind:write,edit" do
    if type(e.path) == "string" and e["end"] == "ok" then
      out[#out + 1] = { id = e.id, path = e.path, op = "M", by = { e.id }, agents = { e.agent_id or 0 }, box = e.box_id or 0 }
    end
  end
  return out, false
end

-- The @x of the functions below: the agents, sandboxes, and changes of @log, read once.
function M.of(log)
  local s = log:session()
  local x = { log = log, agents = s.agents, agent = {}, box = {}, changes = {} }
  for _, a in ipairs(s.agents) do x.agent[a.id] = a end
  for _, b in ipairs(s.boxes) do x.box[b.id] = b end
  local all
  all, x.snapshots = edits_of(log)
  for _, c in ipairs(all) do
    if not M.trial(x, c.box) then x.changes[#x.changes + 1] = c end
  end
  return x
end

-- Is it a sandbox in which you repeated a recorded command?
function M.trial(x, box)
  local b = x.box[box]
  return b ~= nil and b.trial == 1
end

-- The id of the sandbox whose files @box has: a resumed session opens a new one in the place of an old one.
function M.home(x, box)
  local b = x.box[box]
  while b and (b.was or 0) > 0 and b.was < b.id do
    box = b.was
    b = x.box[box]
  end
  return box or 0
end

function M.box_name(x, box) return x.box[box] and x.box[box].name or "?" end

-- Did the run @e see the files of the sandbox @box as they were after event @seq? It did in @box, or in a copy made after @seq.
function M.covers(x, e, box, seq)
  local at, depth = M.home(x, e.box_id), 0
  if at == box then return true end
  while x.box[at] and (x.box[at].fork or 0) > 0 and depth < 1000 do
    local upto = x.box[at].upto or 0
    at, depth = M.home(x, x.box[at].fork), depth + 1
    if at == box then return upto >= seq end
  end
  return false
end

local function includes(list, v)
  for _, w in ipairs(list or {}) do if w == v then return true end end
  return false
end

-- "own": @c was changed by @agent and by no other; "other": it was not; "unknown": it may have been.
function M.whose(x, agent, c)
  if includes(c.agents, agent.id) then return #c.agents == 1 and "own" or "unknown" end
  return #(c.agents or {}) == 0 and includes(M.boxes(x, agent), M.home(x, c.box)) and "unknown" or "other"
end

-- The sandboxes that an agent was given or acted in.
function M.boxes(x, agent)
  if agent.boxes then return agent.boxes end
  local out, seen = {}, {}
  local function take(box)
    box = M.home(x, box)
    if not seen[box] then out[#out + 1] = box end
    seen[box] = true
  end
  if (agent.box or 0) > 0 then take(agent.box) end
  for _, r in ipairs(x.log:sql(("SELECT DISTINCT box FROM event WHERE kind=100 AND agent=%d AND box>0"):format(agent.id))) do
    if not M.trial(x, r.box) then take(r.box) end
  end
  agent.boxes = out
  return out
end

-- The sandboxes that a statement about the agent's work is about: those with its changes, else its own, else those of @runs.
function M.concern(x, agent, runs)
  local out, seen = {}, {}
  local function take(box)
    if not seen[box] then out[#out + 1] = box end
    seen[box] = true
  end
  for _, c in ipairs(x.changes) do
    if not c.hash_only and c.path:sub(1, 5) ~= ".git/" and includes(c.agents, agent.id) then take(M.home(x, c.box)) end
  end
  if #out == 0 and (agent.box or 0) > 0 then take(M.home(x, agent.box)) end
  if #out == 0 then for _, e in ipairs(runs) do take(M.home(x, e.box_id)) end end
  return out
end

local function below(x, child, agent)
  local at, depth = x.agent[child], 0
  while at and depth < 1000 do
    if at.parent == agent.id then return true end
    at, depth = x.agent[at.parent or 0], depth + 1
  end
  return false
end

-- Those of @rows that belong to @agent, in order; then the newest that it may have caused (of no
-- agent in its sandbox, or of an agent that it started), and the newest of another agent.
function M.split(x, agent, rows)
  local own, near, other = {}, nil, nil
  for _, e in ipairs(rows) do
    local id = e.agent_id or 0
    if M.trial(x, e.box_id) then goto continue end
    if id == agent.id then own[#own + 1] = e
    elseif below(x, id, agent) or id == 0 and includes(M.boxes(x, agent), M.home(x, e.box_id)) then near = e
    else other = e end
    ::continue::
  end
  return own, near, other
end

-- "agent 'bob' in sandbox 'two' (#75)": an action that the statement can't rest on.
function M.named(x, e)
  local a = x.agent[e.agent_id or 0]
  return ("%s%s (#%d)"):format(a and ("agent '%s'"):format(a.name) or "no agent",
    e.box_id and (" in sandbox '%s'"):format(M.box_name(x, e.box_id)) or "", e.id)
end

-- The verdict where an agent has no run of its own: @what of "tests", "a push", ...
function M.none(x, near, other, what)
  if near then return "unknown", {}, ("%s: run by %s, not by this agent"):format(what, M.named(x, near)) end
  if other then return "unsupported", {}, ("%s: run by %s, not by this agent"):format(what, M.named(x, other)) end
end

return M
