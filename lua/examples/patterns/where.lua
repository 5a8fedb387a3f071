-- Where do key, prompt and source lie? Canaries of each, and a search of all that a box can read, in four arrangements.
--   CANARY_KEY=canary-key-1 sandglass run where.lua      (a made-up key; its form is what the search looks for)
local sg = require "sandglass"
local PROMPT = "You are careful. (canary-prompt-1)"
local key = sg.secret "CANARY_KEY"             -- a name: its value is put on the wire outside, no script has it

-- The reach of an agent in a sandbox: environment and command line of all processes, and all files
-- but those of /usr. The brackets keep the search from finding itself. The last arrangement proves
-- that it finds a key that is there.
local SEARCH = [[{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n'
grep -raohsE 'canary-[a-z]+-[0-9]' /workspace /home /root /tmp /run /etc /var /opt; } |
grep -aoE 'canary-(ke[y]|promp[t]|sourc[e])-' | sort | uniq -c]]

local function proxy(prompt_host)
  return sg.proxy { name = "llm", prompt_host = prompt_host, routes = {
    model = { speak = "anthropic", url = "http://127.0.0.1:9", header = { ["x-api-key"] = key } } } }
end

local function look(name, o, files)
  local box <close> = sg.sandbox { name = name, proxies = o.px and { o.px }, env = o.env }
  assert(box:write("main.c", "int answer = 42; /* canary-source-1 */\n"))
  for path, text in pairs(files or {}) do assert(box:write(path, text)) end
  local r = assert(box:run(SEARCH))
  local found = { event = r.event }
  for n, what in r.out:gmatch "(%d+) canary%-(%a+)" do found[what] = math.tointeger(n) end
  return found
end

-- The same search by an agent whose loop, prompt and key are out here.
local function outside()
  local found
  local tool = sg.tool { name = "look", run = function()
    found = look("tool", {})
    return "done"
  end }
  assert(sg.agent.run { name = "outside", task = "where", system = PROMPT, model = "scripted:obeys.lua", tools = { tool } })
  return found
end

local px, px2 = proxy(), proxy "prompt.txt"
local rows = {
  { "box as a tool", outside() },
  { "agent inside, key by proxy", look("inside", { px = px, env = { KEY = px.key } }, { ["AGENT.md"] = PROMPT }) },
  { "agent inside, prompt by proxy", look("prompt", { px = px2, env = { KEY = px2.key } }) },
  { "agent inside with its key", look("loss", { env = { KEY = "canary-key-0" } }, { ["AGENT.md"] = PROMPT }) },
}
print(("%-31s %6s %6s %6s  %s"):format("found in the box (times)", "key", "prompt", "source", "event"))
for _, row in ipairs(rows) do
  local f = row[2]
  print(("%-31s %6d %6d %6d  #%d"):format(row[1], f.key or 0, f.prompt or 0, f.source or 0, f.event))
end
