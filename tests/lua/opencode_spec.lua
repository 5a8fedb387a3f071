-- OpenCode's questions, answered by another program in the sandbox. This file plays the server and
-- the supervisor.
local rt = require "sandglass.runtime"
local real, ended = rt.call, {}
function rt.call(op, args, on_chunk)
  if op == "ask" then
    local held <close> = setmetatable({}, { __close = function() ended[#ended + 1] = args.text end })
    real("sleep", { us = args.text:find "slow" and 60000000 or 1000 })
    return { choice = args.choices[1] }
  end
  if op ~= "inner.permit" then return real(op, args, on_chunk) end
  local held <close> = setmetatable({}, { __close = function() ended[#ended + 1] = args.title end })
  real("sleep", { us = args.title:find "slow" and 60000000 or 1000 })
  if args.title:find "bad" then return nil, rt.err { code = "denied", msg = "denied", why = "no" } end
  return { event = 7 }
end
local sg = require "sandglass"
local opencode = require "sandglass.inside.opencode"
local told = require "sandglass.inside.told"
local spec = require "spec"
local it, eq = spec.it, spec.eq

-- events: { type, properties }; "wait" lets pending questions continue. Returns the reports and the
-- posts.
local function play(events)
  local says, posts = {}, {}
  local s = {
    id = "S", box = { id = 1 }, asking = {}, replied = {}, titles = {}, role = {}, over = {}, children = {},
    told = told.new(function(b) says[#says + 1] = b.what .. " | " .. b.say end),
    http = { ask = function(_, path, body) posts[#posts + 1] = path .. " " .. (body.reply or body.answers and body.answers[1][1] or "") return { status = 200 } end },
  }
  for _, e in ipairs(events) do
    s.wire = { recv = function() return { type = e[1]:find "%." and e[1] or "permission." .. e[1], properties = e[2] } end, take = function(fn, ...) return fn(...) end }
    if e == "wait" then sg.sleep "20ms" else opencode.pump(s) end
  end
  return says, posts
end
local function asked(id, cmd) return { "asked", { id = id, sessionID = "S", permission = "bash", patterns = { cmd }, always = {} } } end
local function replied(id, how, session) return { "replied", { sessionID = session or "S", requestID = id, reply = how } } end

it "a yes that is not ours is reported as odd, and the question is closed" (function()
  local says, posts = play { asked("p", "slow"), "wait", replied("p", "always"), "wait" }
  eq(says, { "odd | its question was answered in the sandbox, not by you: always: bash slow" })
  eq({ posts, ended }, { {}, { "bash slow" } })
end)

it "our own answers come back without a word" (function()
  local says, posts = play { asked("p", "touch a"), asked("q", "bad"), "wait", replied("p", "once"), replied("q", "reject") }
  eq(says, { "permit | allowed: bash touch a", "permit | refused: bash bad" })
  eq(posts, { "/permission/p/reply once", "/permission/q/reply reject" })
end)

it "a yes before our no is reported; the server's own no is not odd; other sessions are ignored" (function()
  local says = play { asked("q", "bad"), "wait", replied("q", "once") }
  eq(says[2], "odd | its question was answered in the sandbox, not by you: once: bash bad")
  eq(play { asked("p", "slow"), "wait", replied("p", "reject") }, { "notice | its question was answered in the sandbox, not by you: reject: bash slow" })
  eq(play { replied("z", "once", "another") }, {})
end)

local function question(id, text)
  return { "question.asked", { id = id, sessionID = "S", questions = { { question = text, options = { { label = "red" }, { label = "blue" } } } } } }
end
local function answered(id, choice)
  return { choice and "question.replied" or "question.rejected", { sessionID = "S", requestID = id, answers = choice and { { choice } } or nil } }
end

it "a question answered inside the sandbox is closed and reported" (function()
  local says, posts = play { question("q", "slow: which?"), "wait", answered("q", "blue"), "wait" }
  eq(says, { "odd | its question was answered in the sandbox, not by you: blue: slow: which?" })
  eq({ posts, ended[#ended] }, { {}, "slow: which?" })
  says, posts = play { question("q", "slow?"), "wait", answered("q"), "wait" }
  eq({ says, posts }, { { "notice | its question was answered in the sandbox, not by you: reject: slow?" }, {} })
end)

it "our own answer comes back without a report; a different answer is reported" (function()
  local says, posts = play { question("q", "which?"), "wait", answered("q", "red") }
  eq({ says, posts }, { {}, { "/question/q/reply red" } })
  says = play { question("q", "which?"), "wait", answered("q", "blue") }
  eq(says, { "odd | its question was answered in the sandbox, not by you: blue: which?" })
end)
