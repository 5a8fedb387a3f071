#!/usr/bin/env bash
# A persistent Python or Node in the sandbox keeps variables from one piece of code to the next; each piece is an action
# with its status.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >turns.lua <<'L'
return { { call = { "python", { code = "kept = 21" } } }, { call = { "python", { code = "kept * 2" } } }, { say = "done" } }
L
# before each script: a piece of code in @interpreter, a tool of agents
cat >start.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox {}
local interpreter
local function report(good, what) print((good and "GOOD " or "BAD ") .. what) end
local function try(what, code, status, out, o)
  local r, e = interpreter:run(code, o)
  local good = r and r.code == status and r.out == out or not r and e.code == status
  report(good, what .. (good and "" or ": " .. (r and tostring(r.code) .. " " .. r.out .. r.err or tostring(e))))
  return r
end
local function try_tool(what, tool, turns)
  local r = sg.agent.run { task = "go", box = box, model = "scripted:" .. turns, tools = { tool } }
  local last
  for _, m in ipairs(r.messages) do if m.role == "tool" then last = m.text end end
  report(last and last:find "^42", what .. " " .. tostring(last))
end
L
cat start.lua - >s.lua <<'L'
interpreter = assert(box:interpreter "python")
try("a variable", "x = 40", 0, "")
try("is kept", "def f(n):\n    return x + n\nf(2)", 0, "42\n")
try("an exception", "1/0", 1, "")
try("a program's output", "import os; _ = os.system('echo sub')", 0, "sub\n")
try("a time limit", "while True: pass", "timeout", nil, { timeout = 1 })
try("keeps the interpreter", "x", 0, "40\n")
try("a million bytes of code", "y = '" .. ("z"):rep(1000000) .. "'; print(len(y))", 0, "1000000\n")
local none, why = interpreter:run "# caf\xe9"
report(not none and why.msg:find "byte 6", "code that isn't UTF-8: the error names the byte")
try_tool("a tool of agents", "python", "turns.lua")
local loud = sg.sandbox { env = { PYTHONPATH = "/workspace" } }
loud:write("sitecustomize.py", "print('\\nhello')")
interpreter = assert(loud:interpreter "python")
try("a start-up file that prints", "6 * 7", 0, "42\n\nhello\n")
loud:write("sitecustomize.py", "while True: print('x' * 9999)")
none, why = loud:interpreter "python"
report(not none and why.code == "backend", "one that never stops printing: an error")
L
cat >js.lua <<'L'
return { { call = { "node", { code = "const kept = 21" } } }, { call = { "node", { code = "kept * 2" } } }, { say = "done" } }
L
cat start.lua - >n.lua <<'L'
interpreter = assert(box:interpreter "node")
try("node: a variable", "let x = 40; function f(n) { return x + n }", 0, "")
try("node: is kept", "f(2)", 0, "42\n")
local r = try("node: an exception", "null.length", 1, "")
report(r.err:find "TypeError" and not r.err:find "eval", "node: its trace has the code alone")
try("node: printed output", "console.log('a'); console.error('e'); console.log('b')", 0, "a\nb\n")
try("node: a promise", "const late = await new Promise((r) => setTimeout(() => r(7), 20));\nconst { sep } = await import('path');\nlate + sep", 0, "'7/'\n")
try("node: its declarations are kept", "late", 0, "7\n")
try("node: a module", "require('os').EOL", 0, "'\\n'\n")
try("node: an exit", "process.exit(3)", 3, "")
try("node: a time limit", "while (true);", "timeout", nil, { timeout = 1 })
try("node: a promise without an end", "await new Promise(() => {})", "timeout", nil, { timeout = 1 })
try("node: keeps the interpreter", "x", 0, "40\n")
try("node: a million bytes of code", "'" .. ("z"):rep(1000000) .. "'.length", 0, "1000000\n")
try_tool("node: a tool of agents", "node", "js.lua")
local none, why = box:interpreter "cobol"
report(not none and why.code == "backend", "an unknown language")
L
try() { # script, how many
	timeout 100 "$SANDGLASS" run --no-tui --no-input --policy any.lua "$1" </dev/null >log 2>&1
	sed -n 's/.* note: //p' log | grep '^GOOD\|^BAD' >"$t/out"
	while read -r how what; do
		[ "$how" = GOOD ]
		ok $? "$what"
	done <"$t/out"
	is "$(grep -c . "$t/out")" "$2" "all of $1 was tried"
}
try s.lua 11
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
"$SANDGLASS" events "$file" --json >events
is "$(python3 - <<'P'
import json
events = [json.loads(line) for line in open("events")]
asked = {e["seq"]: e["body"] for e in events if e["kind"] == "action.requested"}
ends = {e["action"]: e["body"] for e in events if e["kind"] == "action.ended"}
print(any(len(b.get("argv", [])) == 3 and b["argv"][2] == "x = 40" for b in asked.values()),
      {(ends[s]["end"], ends[s].get("stopped")) for s, b in asked.items() if b.get("tool") == "spawn"})
P
)" "True {('ok', 9)}" 'the command is the code; an interpreter that its sandbox ends has not failed'
if command -v node >/dev/null; then try n.lua 15; else skip 'node is not installed'; fi
finish
