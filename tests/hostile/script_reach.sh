#!/usr/bin/env bash
# A script alone reaches no file of the host. It can load Lua below its own directory. Showing an outside file to a
# sandbox is an action with the path in it, and a prompt from a file does not come back to the script.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
mkdir -p proj/agents proj/src elsewhere && git init -q proj && git -C proj commit -q --allow-empty -m one
echo 'return "stolen"' >elsewhere/secret.lua
echo plain >elsewhere/file
ln -s "$t/elsewhere/secret.lua" proj/agents/link.lua
echo 'return "mine"' >proj/agents/mine.lua
echo 'SECRET-PROMPT text' >proj/prompt.txt
echo 'return require("sandglass.policy").rules { default = "boxed" }' >boxed.lua
cat >proj/agents/reach.lua <<'L'
local sg = require "sandglass"
local a = sg.args { out = "" }
local function try(what, f, ...) local ok, v = pcall(f, ...) print(what .. "=" .. (ok and "yes " .. tostring(v) or "no")) end
try("own", require, "mine")
try("link", require, "link")
try("absolute", require, a.out .. "/elsewhere/secret.lua")
try("upward", require, "../../elsewhere/secret.lua")
local function show(what, o) try(what, function() local b = sg.sandbox(o) local r = assert(b:exec(o.roots and "ls " .. o.roots[1] or "ls")).out:gsub("%s+", " ") b:close() return r end) end
show("project", { repo = ".." == "" and "" or a.out .. "/proj" })
show("below", { repo = a.out .. "/proj/src" })
show("outside", { repo = a.out .. "/elsewhere" })
show("named", { repos = { x = a.out .. "/proj", y = a.out .. "/elsewhere" } })
show("root", { roots = { a.out .. "/elsewhere" } })
local px = sg.proxy { name = "p", prompt_host = "../prompt.txt", routes = { model = { url = "http://127.0.0.1:9", speak = "openai" } } }
local seen = {}
local function walk(t) if type(t) == "table" and not seen[t] then seen[t] = true for k, v in pairs(t) do walk(k) walk(v) end elseif type(t) == "string" and t:find("SECRET%-PROMPT") then seen.found = true end end
walk(px)
print("prompt=" .. (seen.found and "seen" or "unseen"))
try("far prompt", function() return sg.proxy { name = "q", prompt_host = "/etc/passwd", routes = { model = { url = "http://127.0.0.1:9", speak = "openai" } } } end)
L
note() { sed -n "s/.*note: $1=//p" out | head -1; }
play() { (cd proj && timeout 90 "$sg" run agents/reach.lua --no-tui --no-input "$@" -- --out "$t") >out 2>&1 </dev/null; }
play --policy boxed.lua 2>/dev/null || play --policy "$t/boxed.lua"
like "$(note own)" '^yes mine' 'a module beside the script is loaded'
for w in link absolute upward; do is "$(note $w)" no "$w: a module elsewhere is not"; done
like "$(note project)" '^yes' 'its own repository needs nobody'
like "$(note below)" '^yes' 'nor a directory of it'
for w in outside named root; do is "$(note $w)" no "$w: a directory of the host needs somebody"; done
is "$(note prompt)" unseen 'a prompt from a file is not in what the script gets'
is "$(note 'far prompt')" no 'and comes from its project only'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
is "$("$sg" events "$file" --json | python3 -c '
import json, sys
print(sum(e["kind"] == "action.requested" and e["body"].get("host_path", "").endswith("/elsewhere") for e in map(json.loads, sys.stdin)))')" 3 'each is an action with its path'
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "boxed", p.allow "else" { kind = "put", path = { "%s/elsewhere" } } }\n' "$t" >allow.lua
play --policy "$t/allow.lua"
for w in outside named root; do like "$(note $w)" '^yes' "$w: a rule can allow the path"; done
like "$(note outside)" 'file' 'and the sandbox has it'
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow", p.deny "else" { kind = "put", path = { "%s/elsewhere" } } }\n' "$t" >deny.lua
play --policy "$t/deny.lua"
for w in outside named root; do is "$(note $w)" no "$w: or deny it"; done
# who names the directory on the command line has said so
printf 'local sg = require "sandglass"\nlocal a = sg.args { repo = "" }\nlocal b <close> = sg.sandbox { repo = a.repo }\nprint("given=" .. assert(b:exec "ls").out)\n' >proj/agents/given.lua
(cd proj && timeout 60 "$sg" run agents/given.lua --no-tui --no-input -- --repo "$t/elsewhere") >out 2>&1 </dev/null
like "$(note given)" 'file' 'a directory that the user names is shown'
finish
