-- What becomes of an agent when its box dies in mid-execution? Once with the box as its tool, once with the agent inside.
--   sandglass run box_dies.lua
local sg = require "sandglass"
local LONG = "echo begun; sleep 600"

-- Takes the box away as soon as the command in it has said that it is there.
local function dies(box)
  return { on_out = function(s) if s:find "begun" then sg.spawn(function() box:close() end) end end }
end
local function outcome(r, err)
  if r then return ("exit %s (event #%d)"):format(tostring(r.code or r.signal), r.event) end
  return ("error '%s' (event #%s)"):format(err.code, tostring(err.event or "?"))
end

-- 1. The box is a tool: the agent lives out here, and works in whatever box there is.
local box, calls = sg.sandbox { name = "first" }, 0
local run = sg.tool {
  name = "run", about = "Run a command.", params = { cmd = "string the command" },
  run = function(p)
    local r, err = box:exec(p.cmd, dies(box))
    calls = calls + 1
    print(("tool    call %d in %s: %s: %s"):format(calls, box.name, p.cmd, outcome(r, err)))
    if r then return r.out end
    box = sg.sandbox { name = "second" }       -- a box costs little: the next call finds a new one
    return nil, err
  end,
}
local r, err = sg.agent.run { name = "outside", task = "box_dies", model = "scripted:obeys.lua", tools = { run } }
print(("tool    the agent: %s after %d turns: %s"):format(r and r.stop or "gone", r and r.steps or 0, r and r.text or tostring(err)))
box:close()

-- 2. The agent is a program in the sandbox: its next steps are lost with the sandbox.
local own = sg.sandbox { name = "inside" }
print("inside  the agent's program: " .. outcome(own:exec(LONG .. "; echo I continue", dies(own))))
local after, gone = own:exec "echo I continue"
print("inside  asked to continue: " .. (after and after.out or tostring(gone)))

if not r or calls ~= 2 then sg.exit(1, "the agent outside did not reach its end") end
