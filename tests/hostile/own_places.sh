#!/usr/bin/env bash
# A sandbox never reaches what sandglass keeps for itself: the control socket, the signing key, the configuration, other
# sessions; nor what a person typed into a shell. Whatever repository, root or copied file leads there.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cd "$t" || exit 1
data=$HOME/.local/share/sandglass state=$HOME/.local/state/sandglass config=$HOME/.config/sandglass
mkdir -p "$config" "$HOME/.ssh" "$HOME/tool/bin" "$HOME/tool/certs"
echo 'return {}' >"$config/config.lua"
echo typed-password >"$HOME/.bash_history"
echo typed-password >"$HOME/.python_history"
printf '#!/bin/sh\necho tool-runs\n' >"$HOME/tool/bin/tool" && chmod 755 "$HOME/tool/bin/tool"
printf -- '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' >"$HOME/tool/certs/ca.pem"
printf -- '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' >"$HOME/tool/certs/own.pem"
printf 'hidden' >"$HOME/.ssh/id_ed25519"
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow" }\n' >allow.lua
python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1)
import time; time.sleep(100)' "$HOME/tool/agent.sock" &
listener=$!
wait_for 30 test -S "$HOME/tool/agent.sock"
cat >see.lua <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "", root = "", expose = "" }
local o = { name = "see" }
if a.repo ~= "" then o.repo = a.repo end
if a.root ~= "" then o.roots = { a.root } end
if a.expose ~= "" then o.expose = { a.expose } end
local ok, box = pcall(sg.sandbox, o)
if not ok then return print("open=" .. tostring(box)) end
local where = a.root ~= "" and a.root or "."
print("open=yes")
print("found=" .. assert(box:exec(("find %s -path '*sandglass*' ! -type d -size +0 2>/dev/null; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"%s/tool/agent.sock\"); print(\"connected\")' 2>/dev/null"):format(where, where))).out:gsub("%s+", " "))
print("typed=" .. assert(box:exec(("grep -rls typed-password %s; grep -rls hidden %s/.ssh; grep -rls 'PRIVATE KEY' %s"):format(where, where, where))).out:gsub("%s+", " "))
print("tool=" .. assert(box:exec(("%s/tool/bin/tool; cat %s/tool/certs/ca.pem | wc -l"):format(where, where))).out:gsub("%s+", " "))
print("unhide=" .. assert(box:exec(("umount %s/.local/state/sandglass 2>/dev/null; chmod 777 %s/.local/state/sandglass 2>/dev/null; ls -A %s/.local/state/sandglass 2>/dev/null"):format(where, where, where))).out:gsub("%s+", " "))
box:close()
L
see() { # words for the script...
	timeout 60 "$sg" run see.lua --policy allow.lua --no-input -- "$@" >out 2>&1 </dev/null
}
note() { sed -n "s/.*$1=//p" out | head -1; }
see --root "$HOME"
like "$(note open)" yes 'a root that holds our directories can be opened'
is "$(note found | tr -d ' ')" '' 'nothing of ours is visible below it, and no socket'
is "$(note typed | tr -d ' ')" '' 'nor a history, a key or a directory of keys'
like "$(note tool)" '^tool-runs 3' 'tools and certificates are'
is "$(note unhide | tr -d ' ')" '' 'and hidden files stay hidden'
see --repo "$HOME"
like "$(note open)" yes 'a repository that holds our directories can be opened'
is "$(note found | tr -d ' ')" '' 'nothing of ours is visible in it, and no socket'
is "$(note typed | tr -d ' ')" '' 'nor a history or a key'
see --repo "$HOME" --expose '*'
is "$(note found | tr -d ' ')" '' 'not even if everything is to be exposed'
for dir in "$state" "$data" "$config" "$XDG_RUNTIME_DIR/sandglass" "$data/sessions"; do
	see --repo "$dir"
	unlike "$(note open)" yes "a repository that is our ${dir#"$t"} is refused"
	see --root "$dir"
	unlike "$(note open)" yes "and so is such a root"
done
ln -s "$state" link
see --repo link
unlike "$(note open)" yes 'a link to it is refused'
if [ "$(id -u)" = 0 ] && mkdir bound && mount --bind "$state" bound 2>/dev/null; then
	see --repo "$t/bound"
	unlike "$(note open)" yes 'and a bind mount of it'
	umount bound
fi
cat >copy.lua <<'L'
local sg = require "sandglass"
local a = sg.args { from = "", to = "" }
local box <close> = sg.sandbox { name = "copy" }
local r, err = box:put(a.from, "got")
print("put=" .. (r and "done" or "refused"))
assert(box:write("new", "x"))
r, err = box:get("new", a.to)
print("get=" .. (r and "done" or "refused"))
local ok = pcall(sg.sandbox, { name = "low", options = { lowers = { [""] = { a.from:match("(.*)/") } } } })
print("lowers=" .. (ok and "done" or "refused"))
L
timeout 60 "$sg" run copy.lua --policy allow.lua --no-input -- --from "$state/key" --to "$config/policy.lua" >out 2>&1 </dev/null
is "$(note put)" refused 'the signing key cannot be put into a sandbox'
is "$(note get)" refused 'nor our configuration be written from one'
[ ! -e "$config/policy.lua" ]
ok $? 'it is not there'
is "$(note lowers)" refused 'a script cannot name what a sandbox begins on as it is'
timeout 60 "$sg" run copy.lua --policy allow.lua --no-input -- --from "$t/allow.lua" --to "$t/fetched" >out 2>&1 </dev/null
is "$(note put) $(note get)" 'done done' 'other files go both ways'
kill "$listener" 2>/dev/null
finish
