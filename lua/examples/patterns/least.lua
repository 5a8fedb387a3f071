-- Least privilege: what could each party reach, had it ill will? Each of them tries, here and now; canaries of the key, the
-- prompt, the source, a file of the host and another box say what it got.
--   CANARY_KEY=canary-key-1 sandglass run --policy policy.lua least.lua -- --home /home/me
local sg = require "sandglass"
local a = sg.args { home = "/root" }
local PROMPT = "You are careful. (canary-prompt-1)"
local key = sg.secret "CANARY_KEY"

local LOOK = ([[{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n'; cat HOME/.ssh/id_* HOME/.netrc
grep -rahosE 'canary-[a-z]+-[0-9]+' /workspace /home /root /tmp /run /etc /var; } 2>/dev/null |
grep -aoE 'canary-(ke[y]|promp[t]|sourc[e]|hos[t]|othe[r])-' | sort -u
(exec 3<>/dev/tcp/127.0.0.1/PORT) 2>/dev/null && echo canary-model-; (exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo canary-net-; true]]):gsub("HOME", a.home)

local COLS = { "key", "prompt", "source", "host", "other", "model", "net" }
print(("%-26s %5s %7s %7s %6s %6s %6s %5s"):format("could reach", "key", "prompt", "source", "host", "other", "model", "net"))
local function row(name, got)
  local cells = {}
  for i, c in ipairs(COLS) do cells[i] = got[c] and "yes" or "-" end
  print(("%-26s %5s %7s %7s %6s %6s %6s %5s"):format(name, table.unpack(cells)))
  return got
end
local function found(text)
  local got = {}
  for what in text:gmatch "canary%-(%a+)%-" do got[what] = true end
  return got
end

-- This script: it has no file, no variable, no socket; a secret is a name to it.
local mine = { prompt = true }
mine.key = tostring(key):find "canary" ~= nil
mine.host = io.open ~= nil or os.getenv ~= nil or os.execute ~= nil
row("this script", mine)

local other <close> = sg.sandbox { name = "other" }
assert(other:write("b.c", "/* canary-other-1 */\n"))
local function try(name, o, files)
  local box <close> = sg.sandbox { name = name, env = o.env, proxies = o.px and { o.px } }
  assert(box:write("main.c", "/* canary-source-1 */\n"))
  for path, text in pairs(files or {}) do assert(box:write(path, text)) end
  local port = o.px and o.px.urls.model:match ":(%d+)" or "1"
  return row(name, found(assert(box:exec({ "bash", "-c", (LOOK:gsub("PORT", port)) }, { timeout = "30s" })).out))
end
local px = sg.proxy { name = "llm", routes = { model = { speak = "anthropic", url = "http://127.0.0.1:9", header = { ["x-api-key"] = key } } } }
local tool = try("the shell of a box", {})
local inside = try("an agent inside", { px = px, env = { KEY = px.key } }, { ["AGENT.md"] = PROMPT })
row("a tool of the host", (function()
  local r, err = sg.host.exec { "cat", a.home .. "/.netrc" }    -- what no rule names is not run
  return r and found(r.out) or { denied = err.code }
end)())
if tool.key or tool.prompt or tool.host or tool.other or tool.net or tool.model or not tool.source then sg.exit(1, "the box is not what it should be") end
if inside.key or inside.host or inside.other or inside.net or not inside.prompt then sg.exit(1, "nor is that of an agent inside") end
