-- An agent in its own terminal interface: it has a terminal of the sandbox, which clients attach to (`sandglass attach`). Nothing
-- is read from its screen. The proxy, its hooks, and the kernel report its questions and actions.
local rt = require "sandglass.runtime"
local call = rt.call
local ipairs, pairs = ipairs, pairs

local M = {}

-- Names of the client's terminal that every sandbox has a description of.
local COMMON = { ["xterm-256color"] = true, xterm = true, ["screen-256color"] = true, ["tmux-256color"] = true, screen = true,
  linux = true, vt100 = true, dumb = true }

local function described(box, term)
  if COMMON[term] then return true end
  if not term:find "^[%w][%w.+_-]*$" then return false end
  local words = { "test" }
  for _, dir in ipairs { "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo" } do
    for _, w in ipairs { "-o", "-e", ("%s/%s/%s"):format(dir, term:sub(1, 1), term) } do words[#words + 1] = w end
  end
  table.remove(words, 2)
  local r = box:exec(words)
  return r and r.ok or false
end

-- Variables of the client's terminal (o.env) over those that a program without one has.
function M.environment(env, o, box)
  env.NO_COLOR, env.TERM = nil, "xterm-256color"
  for k, v in pairs(o.env or {}) do env[k] = v end
  if not described(box, env.TERM) then env.TERM = "xterm-256color" end
  return env
end

-- { program, the words given here, the user's own }.
function M.words(x, ...)
  local argv = { x.program, ... }
  for _, w in ipairs(x.args) do argv[#argv + 1] = w end
  return argv
end

-- The arguments that continue the agent's own session, if its home has one; nil otherwise.
function M.own_session(box, home, how)
  if not how.again or not how.kept then return nil end
  local found = box:exec { "find", home .. "/" .. how.kept, "-type", "f" }
  return found and found.ok and found.out ~= "" and how.again or nil
end

-- The profile's arguments with `own` directly after the program. It leaves out the user's arguments:
-- one may be the first prompt, which the session already has and which looks like an option's value.
function M.again(how, x, own)
  local first = {}
  for k, v in pairs(x) do first[k] = v end
  first.args = {}
  local argv = how.argv(first)
  local words = { argv[1] }
  for _, list in ipairs { own, { table.unpack(argv, 2) } } do
    for _, w in ipairs(list) do words[#words + 1] = w end
  end
  return words
end

-- Runs argv in a terminal until it ends: { code, signal?, event } or nil and an error.
function M.run(box, name, argv, env, o)
  local v, err = call("box.spawn", {
    box = box.id, argv = argv, env = env, pty = true, cols = o.cols or 80, rows = o.rows or 24, xpixel = o.xpixel, ypixel = o.ypixel,
    record_input = o.record_input or "off", name = name, interactive = true,
  })
  if not v then return nil, err end
  return call("proc.wait", { proc = v.proc })
end

return M
