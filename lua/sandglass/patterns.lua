-- Shared by `demo patterns` and `compare --patterns`: canaries and the search for them, a sandbox
-- that dies, orders in a file.
local sg = require "sandglass"
local M = {}

M.PROMPT = "You are careful. (canary-prompt-1)"
M.SOURCE = "int answer = 42; /* canary-source-1 */\n"
M.MODEL = "scripted:patterns"

-- All that a box can read: environment and command line of its processes, all files but those of /usr. The brackets keep it
-- from finding itself.
M.SEARCH = [[{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n'
grep -raohsE 'canary-[a-z]+-[0-9]' /workspace /home /root /tmp /run /etc /var /opt; } |
grep -aoE 'canary-(ke[y]|promp[t]|sourc[e])-' | sort | uniq -c]]

function M.proxy(prompt_host)
  return sg.proxy { name = "llm", prompt_host = prompt_host, routes = {
    model = { speak = "anthropic", url = "http://127.0.0.1:9", header = { ["x-api-key"] = sg.secret "CANARY_KEY" } } } }
end

-- A box with the source in it, and what else @o and @files say.
function M.box(name, o, files)
  local box = sg.sandbox { name = name, proxies = o.px and { o.px }, env = o.env, trace = o.trace }
  assert(box:write("main.c", M.SOURCE))
  for path, text in pairs(files or {}) do assert(box:write(path, text)) end
  return box
end

function M.look(name, o, files)
  local box <close> = M.box(name, o, files)
  local r = assert(box:run(M.SEARCH))
  local found = { event = r.event, key = 0, prompt = 0, source = 0 }
  for n, what in r.out:gmatch "(%d+) canary%-(%a+)" do found[what] = math.tointeger(n) end
  return found
end

-- An agent inside: a program that has its prompt beside it and does the commands of task "work" in its order.
M.INSIDE = "cat AGENT.md >/dev/null; cat main.c >/dev/null; wc -c main.c > answer.txt; cat answer.txt"
function M.inside_files() return { ["AGENT.md"] = M.PROMPT .. "\n", ["agent.sh"] = M.INSIDE .. "\n" } end

-- The tool "run": commands in the box that @box_of() gives.
function M.run_tool(box_of, each)
  return sg.tool { name = "run", about = "Run a command.", params = { cmd = "string the command" }, run = function(p)
    local r, err = box_of():exec(p.cmd, { timeout = "30s" })
    local again = each and each(p, r, err)
    if again then return again end
    return r and r.out .. r.err, err
  end }
end

-- Takes the box away as soon as the command in it has said that it is there.
function M.dies(box)
  return { on_out = function(s) if s:find "begun" then sg.spawn(function() box:close() end) end end }
end

-- The agent outside whose box dies in mid-execution: its last words and how many turns it had.
function M.outlives(name)
  local box = sg.sandbox { name = name }
  local run = sg.tool { name = "run", params = { cmd = "string the command" }, run = function(p)
    local r, err = box:exec(p.cmd, M.dies(box))
    if r then return r.out end
    sg.note("%s: its sandbox died: %s", name, err)
    box = sg.sandbox { name = name .. "-2" }
    return nil, err
  end }
  local r, err = sg.agent.run { name = name, task = "dies", model = M.MODEL, tools = { run } }
  box:close()
  return r, err
end

return M
