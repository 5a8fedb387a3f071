#!/usr/bin/env bash
# A persistent Python in the sandbox keeps variables from one piece of code to the next; each piece is an action with
# its status.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >turns.lua <<'L'
return { { call = { "python", { code = "kept = 21" } } }, { call = { "python", { code = "kept * 2" } } }, { say = "done" } }
L
cat >s.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox {}
local py = assert(box:interpreter "python")
local function try(what, code, status, out, o)
  local r, e = py:run(code, o)
  local good = r and r.code == status and r.out == out or not r and e.code == status
  print((good and "GOOD " or "BAD ") .. what .. (good and "" or ": " .. (r and r.code .. " " .. r.out .. r.err or tostring(e))))
end
try("a variable", "x = 40", 0, "")
try("is kept", "def f(n):\n    return x + n\nf(2)", 0, "42\n")
try("an exception", "1/0", 1, "")
try("a program's output", "import os; _ = os.system('echo sub')", 0, "sub\n")
try("a time limit", "while True: pass", "timeout", nil, { timeout = 1 })
try("keeps the interpreter", "x", 0, "40\n")
local r = sg.agent.run { task = "go", box = box, model = "scripted:turns.lua", tools = { "python" } }
local last
for _, m in ipairs(r.messages) do if m.role == "tool" then last = m.text end end
print((last and last:find "^42" and "GOOD" or "BAD") .. " a tool of agents " .. tostring(last))
L
timeout 100 "$SANDGLASS" run --no-tui --no-input --policy any.lua s.lua </dev/null >log 2>&1
sed -n 's/.* note: //p' log | grep '^GOOD\|^BAD' >"$t/out"
while read -r how what; do
	[ "$how" = GOOD ]
	ok $? "$what"
done <"$t/out"
is "$(grep -c . "$t/out")" 7 "all of it was tried"
finish
