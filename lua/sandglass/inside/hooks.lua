-- What the agents' own hooks run: each takes its event to our proxy, and brings the answer back. The first answer of the queue, of the
-- agent's dialog, or of another terminal decides. When the proxy gives no answer, the call is refused.
local quote = require "sandglass.text".sg.quote

local M = {}

M.path = ".sandglass/hook"

local SCRIPT = [[
#!/bin/sh
# Written by sandglass: an event of a hook goes to the policy check outside of this sandbox, the answer comes back.
url=%s key=%s
if command -v curl >/dev/null 2>&1; then
	curl -sSf --noproxy '*' -H "Authorization: Bearer $key" -H 'Content-Type: application/json' --data-binary @- "$url" && exit
elif command -v node >/dev/null 2>&1; then
	node -e 'const [url, key] = process.argv.slice(1), http = require("node:http")
const r = http.request(url, { method: "POST", headers: { authorization: "Bearer " + key, "content-type": "application/json" } }, (a) => {
	a.pipe(process.stdout)
	a.on("end", () => process.exit(a.statusCode === 200 ? 0 : 1))
})
r.on("error", () => process.exit(1))
process.stdin.pipe(r)' "$url" "$key" && exit
else
	exit 0 # it can't ask from this image: the proxy checks the calls of the model alone
fi
echo "Sandglass gave no answer, so this call is refused." >&2
exit 2
]]

-- For hooks that are commands: the text of a script that reads the event and prints the answer. format: "codex", "gemini".
function M.script(x, format) return SCRIPT:format(quote(x.proxy .. "/sandglass-hook/" .. format), quote(x.key)) end

-- The groups of hooks of the given events, as Codex and Gemini CLI have them. timeout: in the unit of the agent.
function M.groups(x, events, timeout)
  local all = {}
  for _, event in ipairs(events) do
    all[event] = { { matcher = "*", hooks = { { type = "command", command = x.home .. "/" .. M.path, timeout = timeout } } } }
  end
  return all
end

local ASK = [[
// Written by sandglass: tool calls are checked against policy outside of this sandbox.
import http from "node:http"

const ask = (event) => new Promise((resolve, reject) => {
  const headers = { authorization: "Bearer %s", "content-type": "application/json" }
  const r = http.request("%s/sandglass-hook/plain", { method: "POST", headers }, (a) => {
    let text = ""
    a.setEncoding("utf8")
    a.on("data", (d) => { text += d })
    a.on("end", () => a.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error("sandglass refused the event: " + a.statusCode)))
  })
  r.on("error", () => reject(new Error("Sandglass gave no answer, so this call is refused.")))
  r.end(JSON.stringify(event))
})
]]

-- For extensions in JavaScript: a module that begins with ask(event), to which `rest` is added.
function M.module(x, rest) return ASK:format(x.key, x.proxy) .. rest end

return M
