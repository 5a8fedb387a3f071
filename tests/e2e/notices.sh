#!/usr/bin/env bash
# Data left out of a sandbox or its recording is named everywhere: on the screen, to the script, to the agent, in show
# and verify.
. "$(dirname "$0")/lib.sh"
need_boxes
need jq
sg=$SANDGLASS
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
pem() { printf -- '-----BEGIN %s-----\nMIIBszCCAVmgAwIBAgIUeMIIBszCCAVmgAwIBAgIUeMIIBszCCAVmgAwIBAgIUe\n-----END %s-----\n' "$1" "$1"; }
git init -q r && cd r && echo one >a.txt && git add . && git commit -qm x
echo 'MODE=test' >.env
echo 'odd' >$'line\nbreak.key'
mkdir -p venv/certifi && { echo '# Issuer: CN=A'; pem CERTIFICATE; echo; pem CERTIFICATE; } >venv/certifi/cacert.pem
pem CERTIFICATE >public.key
{ pem CERTIFICATE; pem 'PRIVATE KEY'; } >both.pem
{ pem CERTIFICATE; echo 'password: hunter2'; } >beside.pem
pem CERTIFICATE | head -2 >cut.pem
chmod -R a+rX . && echo x >closed && chmod 000 closed
cd ..

# --- a command ---
timeout 60 "$sg" sandbox exec --repo r -- sh -c 'cat public.key venv/certifi/cacert.pem | grep -c BEGIN; ls both.pem beside.pem cut.pem' </dev/null >out 2>err
is "$(head -1 out)" 3 'public certificates are there, whatever they are called'
is "$(grep -c pem out)" 0 'keys, and certificates with something beside them, are not'
like "$(cat err)" '^sandglass: .*\.env' 'a hidden file is named on stderr'
like "$(cat err)" 'line\\x0abreak.key' 'names stay on one line'
like "$(cat err)" '^sandglass: .*closed' 'so is what the mode keeps the sandbox from reading'

# --- a script and an agent ---
cat >turns.lua <<'L'
return { { say = "done" } }
L
cat >s.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = "r" }
for _, n in ipairs(box:notices()) do
  for _, p in ipairs(n.paths) do if p == ".env" then print("told " .. n.what .. " " .. n.not_in) end end
end
assert(sg.agent.run { task = "hello", model = "scripted:turns.lua", box = box })
L
timeout 60 "$sg" run --no-tui --no-input --policy any.lua s.lua </dev/null >log 2>&1
like "$(cat log)" 'told masked sandbox' 'box:notices() has it'
like "$(grep -v told log)" 'not in this sandbox.*\.env' 'line mode shows it'
id=$(sed -n 's/.*"session":"\(s-[a-z0-9]*\)".*/\1/p' <<<"$("$sg" show --json)" | head -1)
[ -n "$id" ] || id=$("$sg" ls --json | jq -r .session | tail -1)
call=$("$sg" events "$id" --json | jq -r 'select(.kind == "model.call") | .seq' | head -1)
like "$("$sg" show "$id#$call" --json)" 'hello.*About your sandbox.*\.env' 'the first message of an agent names it'
is "$("$sg" show "$id" --json | jq '[.notices[] | select(.not_in == "sandbox" and .what == "masked" and (.paths | index(".env")))] | length')" 1 'show has it'
"$sg" verify "$id" >out 2>&1
is $? 0 'a file hidden from a sandbox is not a gap in the recording'
"$sg" merge "$id" >out 2>&1
is $? 2 'a session without changes has nothing to merge'
cat >m.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "b", repo = "r" }
box:write("new.txt", "new\n")
local _, m = assert(box:merge { mode = "branch", branch = "one" })
for _, n in ipairs(m.notices) do
  for _, p in ipairs(n.paths) do if p == ".env" then print("merged without " .. n.what) end end
end
box:write("more.txt", "more\n")
L
timeout 60 "$sg" run --no-tui --no-input --policy any.lua --name m m.lua </dev/null >log 2>&1
like "$(cat log)" 'merged without masked' 'the result of box:merge names it'
"$sg" merge "$("$sg" ls --json | jq -r 'select(.name == "m") | .session')" --to two --json >out 2>&1
is "$? $(jq '[.result.notices[] | select(.what == "masked" and (.paths | index(".env")))] | length' out)" '0 1' 'and so does that of a merge after the end'
is "$("$sg" events m --json | jq -c 'select(.kind == "merge.done") | [.body.notices[].what] | index("masked") != null' | tr '\n' ' ')" 'true true ' 'and both events'
printf 'local sg = require "sandglass"\nlocal b = sg.sandbox {}\nb:write("x", "x")\n' >none.lua
timeout 60 "$sg" run --no-tui --no-input --policy any.lua --name none none.lua </dev/null >log 2>&1
"$sg" merge "$("$sg" ls --json | jq -r 'select(.name == "none") | .session')" >out 2>&1
is "$? $(grep -c 'no repository to merge into' out)" '2 1' 'a session without a repository is not said to be merged'

# --- hidden, and in git's objects ---
git init -q h && (cd h && { pem 'PRIVATE KEY'; } >id.pem && git add -A && git commit -qm x && chmod -R a+rX .)
printf 'local sg = require "sandglass"\nlocal b <close> = sg.sandbox { repo = "h", mask = %s }\nprint("open")\n' '{ history = true }' >strict.lua
sed 's/, mask = .* }$/ }/' strict.lua >plain.lua
timeout 60 "$sg" run --no-tui --no-input --policy any.lua plain.lua </dev/null >log 2>&1
like "$(cat log)" "git's history: id.pem" "what is hidden and tracked is said to be readable from git's history"
timeout 60 "$sg" run --no-tui --no-input --policy any.lua strict.lua </dev/null >log 2>&1
[ $? -ne 0 ] && ! grep -q 'note: open' log
ok $? 'mask = { history = true } refuses to open it'

# --- deeper than is recorded ---
cat >deep.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "deep", repo = "r" }
box:exec { "python3", "-c", "import os\nfor i in range(4100):\n  os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')\n" }
for _, n in ipairs(box:notices()) do if n.not_in == "recording" then print("gap " .. n.what) end end
L
timeout 60 "$sg" run --no-tui --no-input --policy any.lua deep.lua </dev/null >log 2>&1
like "$(cat log)" 'gap deep' 'a script learns what is not in the recording'
id=$("$sg" events --json | jq -r 'select(.kind == "session.start") | .body.id' | head -1)
is "$("$sg" events "$id" --json | jq -c 'select(.kind == "snapshot.taken") | .body.full')" 'true
false' 'full only when everything was entered'
"$sg" verify "$id" --json >out 2>&1
is $? 1 'an incomplete recording is not ok'
is "$(jq -r 'select(.verdict) | .verdict' out)" incomplete 'and called so'
finish
