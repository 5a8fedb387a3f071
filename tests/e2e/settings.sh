#!/usr/bin/env bash
# Settings with an effect outside the console: approvals.timeout, user, keep.days, tools of a project. `config` names
# the source of each.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS

mkdir -p "$HOME/.config/sandglass" "$t/proj/.git" "$t/tools/bin" "$t/other"
printf '#!/bin/sh\necho tool here\n' >"$t/tools/bin/mytool"
chmod -R a+rX "$t/proj" "$t/tools" "$t/other"
chmod +x "$t/tools/bin/mytool"
cat >"$HOME/.config/sandglass/config.lua" <<'L'
local c = require "sandglass.config"
c.approvals = { timeout = "1s" }
c.user = "Ann of Test"
c.keep = { days = 30 }
return c
L
cd "$t/proj" || exit 1
setting() { # command...: value and source of a setting
	"$@" --json | jq -r '"\(.value) \(.source)"'
}
like "$(setting "$sg" config user)" '^Ann of Test user .*config.lua$' "config says where a value comes from"
is "$(SANDGLASS_USER=Bob setting "$sg" config user)" 'Bob variable SANDGLASS_USER' "a variable goes before the file"
fails "a setting that is none names the nearest" "2 usage 'keep.dais' 'keep.days'" "$sg" config keep.dais
cat >"$t/profiles.lua" <<'L'
local c = require "sandglass.config"
c.model = "anthropic:sonnet"
c.keep = { file = "1M", days = 3 }
c.profiles = { ci = { model = "scripted:demo", keep = { file = "2M" }, env = { WORD = "hidden-value" }, models = { far = { plugin = "openai_chat", url = "http://127.0.0.1:9/v1", idle = "2s" } } } }
return c
L
like "$(setting "$sg" --config "$t/profiles.lua" config model)" '^anthropic:sonnet user ' 'without --profile a file says what it says'
like "$(setting "$sg" --config "$t/profiles.lua" --profile ci config model)" '^scripted:demo profile .*profiles.lua$' '--profile: its part goes before'
is "$(setting "$sg" --config "$t/profiles.lua" --profile ci config keep.file_bytes | cut -d' ' -f1)" 2097152 'also within a table'
like "$("$sg" --config "$t/profiles.lua" --profile ci config keep.file)" 'keep.file_bytes +2097152' 'the name in the file finds it'
like "$("$sg" --config "$t/profiles.lua" --profile ci config)" 'keep.days +3 +\(user' 'of which the rest stays'
like "$("$sg" --config "$t/profiles.lua" --profile ci config)" 'models.far.idle_us +2000000' 'a row of models'
unlike "$("$sg" --config "$t/profiles.lua" --profile ci config)" 'hidden-value' 'values of variables are shown nowhere'
fails 'one that there is not' "2 usage 'cj' 'ci'" "$sg" --config "$t/profiles.lua" --profile cj run --dry-run any.lua
printf 'require("sandglass").note("x")\n' >"$t/any.lua"
like "$("$sg" --config "$t/profiles.lua" --profile ci run --dry-run "$t/any.lua" 2>&1)" 'model +scripted:demo' 'a run has it'
printf 'local c = require "sandglass.config"\nc.profiles = { ci = { modell = "a:b" } }\nreturn c\n' >"$t/wrong.lua"
fails 'a mistake is reported with its line' "3 script wrong.lua:2 'profiles.ci.modell' 'model'" "$sg" --config "$t/wrong.lua" config
printf 'local c = require "sandglass.config"\nc.sessions = "~/elsewhere"\nreturn c\n' >"$t/else.lua"
SANDGLASS_CONFIG=$t/else.lua timeout 60 "$sg" run --no-tui "$t/any.lua" --name moved </dev/null >"$t/out" 2>&1
ls "$HOME"/elsewhere/*moved*.glass >"$t/out" 2>&1
ok $? 'sessions: they lie where the file says'
like "$(SANDGLASS_CONFIG=$t/else.lua "$sg" ls)" '  moved$' 'and are found there'
unlike "$("$sg" ls --all 2>&1)" 'moved' 'and nowhere else'
unlike "$(SANDGLASS_CONFIG=$t/else.lua SANDGLASS_SESSIONS=$t/third "$sg" ls 2>&1)" 'moved' 'a variable goes before the file'
printf 'local c = require "sandglass.config"\nc.aprovals = { timeout = "1s" }\nreturn c\n' >"$t/wrong.lua"
fails "so does one in a file, with its line" '3 script wrong.lua:2 aprovals approvals' "$sg" --config "$t/wrong.lua" config

cat >"$t/asks.lua" <<'L'
local p = require "sandglass.policy"
return p.rules { p.ask "look twice" { cmd = "touch asked" } }
L
cat >"$t/ask.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
local r, err = box:exec "touch asked"
print(r and "ran" or err.code)
L
id=$("$sg" run -d --policy "$t/asks.lua" "$t/ask.lua" 2>"$t/out")
wait_for 15 sh -c "! '$sg' ls --live | grep -q '$id'"
ok $? "an approval that nobody gives ends by itself"
like "$("$sg" events "$id" --json)" '"kind":"note".*denied' "it was denied"

printf 'local sg = require "sandglass"\nlocal b = sg.ask { text = "now?", choices = { "yes", "no" } }\nprint(b.choice)\n' >"$t/q.lua"
id=$("$sg" run -d "$t/q.lua" 2>"$t/out")
wait_for 10 sh -c "'$sg' events '$id' --json | grep -q '\"kind\":\"ask\"'"
q=$("$sg" events "$id" --json | grep -m1 '"kind":"ask"' | grep -oE '"seq":[0-9]+' | cut -d: -f2)
"$sg" answer "$q" yes -S "$id" >"$t/out" 2>&1
ok $? "a question is answered"
like "$("$sg" events "$id" --json | grep '"ask.answered"')" '"name":"Ann of Test"' "under the name that the settings say"
wait_for 10 sh -c "! '$sg' ls --live | grep -q '$id'"

printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { name = "b" }\nlocal r = box:exec "mytool"\nprint(r.out ~= "" and r.out or "none")\n' >"$t/tool.lua"
notes() { "$sg" events --json | grep '"kind":"note"'; }
"$sg" run --no-tui --root "$t/tools" "$t/tool.lua" >"$t/out" 2>&1 </dev/null
like "$(notes)" "tool here" "a box is given tools"
"$sg" run --no-tui "$t/tool.lua" >"$t/out" 2>&1 </dev/null
like "$(notes)" "tool here" "the next session of the project has them"
like "$(cat "$t/out")" "host directories for this project.s sandboxes: $t/tools" "and says so"
like "$("$sg" config)" "tools .*$t/tools.*remembered for this project" "config lists them"
(cd "$t/other" && "$sg" run --no-tui "$t/tool.lua" >"$t/out" 2>&1 </dev/null)
like "$(notes)" "none" "another project has not"
"$sg" run --no-tui --root none "$t/tool.lua" >"$t/out" 2>&1 </dev/null
like "$(notes)" "none" "--root none forgets them"
"$sg" run --no-tui "$t/tool.lua" >"$t/out" 2>&1 </dev/null
like "$(notes)" "none" "for good"

old=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
touch -d '40 days ago' "$old"
"$sg" run --no-tui "$t/tool.lua" >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" "1 session older than 30 days removed \(setting keep.days\)" "keep.days takes away what is older"
[ ! -e "$old" ]
ok $? "it is gone"

# --- what every box and session gets from the file ---
cat >"$HOME/.config/sandglass/config.lua" <<'L'
local c = require "sandglass.config"
c.limits = { pids = 77, mem = "300M" }
c.env = { FROM_FILE = "of the file", BOTH = "file" }
c.expose = { ".env" }
c.keep = { hash_only = { "*.big" } }
c.budget = { actions = 3 }
c.approvals = { arm_ms = 700 }
c.a11y = true
c.pool = { size = 0 }
return c
L
mkdir -p "$t/repo"
echo SECRET=1 >"$t/repo/.env"
cat >"$t/every.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = sg.args[1], env = { BOTH = "script" }, limits = { pids = 88 } }
print(box:exec "echo $FROM_FILE, $BOTH; cat .env; echo x >a.big; ls").out)
local two <close> = sg.sandbox { name = "c" }
L
sed -i 's/box:exec "\(.*\)").out/box:exec("\1").out/' "$t/every.lua"
"$sg" run --no-tui "$t/every.lua" -- "$t/repo" >"$t/out" 2>&1 </dev/null
is $? 0 "a script with settings of the file"
note=$(notes)
like "$note" 'of the file, script' "env: the file's, and the script's before it"
like "$note" 'SECRET=1' "expose: a file that would be masked is there"
like "$("$sg" events --json | grep '"kind":"box.open"' | head -1)" '"mem_bytes":314572800.*"pids":88' "limits: the file's, and the script's before it"
like "$("$sg" events --json | grep '"kind":"box.open"' | tail -1)" '"pids":77' "the file's alone"
like "$("$sg" events --json | grep '"snapshot.taken"' | grep a.big)" '"hash_only":true' "keep.hash_only: only the hash of such a path is kept"
like "$("$sg" events --json | grep '"budget.new"')" '"actions":3' "budget: what the session may use up"
is "$("$sg" config approvals.arm_ms --json | jq .value)" 700 "and config shows them"
for word in keys filters mask; do
	printf 'local c = require "sandglass.config"\nc.%s = {}\nreturn c\n' $word >"$t/wrong.lua"
	fails "a name that means nothing is refused: $word" "3 script wrong.lua:2 '$word'" "$sg" --config "$t/wrong.lua" config
done
printf 'return { pool = { idle = "1s" } }\n' >"$t/wrong.lua"
fails "and so is one in a table" "3 script 'pool.idle'" "$sg" --config "$t/wrong.lua" config
mkdir "$t/scripts" "$t/here"
printf 'local sg = require "sandglass"\nprint(sg.agent.run { task = "x", tools = {}, model = sg.args.model }.text)\n' >"$t/scripts/says.lua"
echo 'return { { say = "I lie where you are" } }' >"$t/here/turns.lua"
says() { "$sg" run -C "$t/here" "$t/scripts/says.lua" --no-input --model scripted:turns.lua 2>&1 </dev/null; }
like "$(says)" 'where you are' '--model scripted:FILE: in the folder that one is in'
echo 'return { { say = "I lie beside the script" } }' >"$t/scripts/turns.lua"
like "$(says)" 'beside the script' 'unless it lies beside the script'
if command -v tmux >/dev/null; then
	printf 'local sg = require "sandglass"\nlocal b = sg.ask { text = "now?", choices = { "yes", "no" } }\nprint(b.choice)\n' >"$t/q.lua"
	tmux -S "$t/tmux" -f /dev/null new-session -d -x 100 -y 24 "LC_ALL=C.UTF-8 $sg run '$t/q.lua'; exec sleep 600"
	wait_for 30 sh -c "tmux -S '$t/tmux' capture-pane -p | grep -q 'now?'"
	is "$(tmux -S "$t/tmux" display-message -p '#{alternate_on}')" 0 "a11y: line mode on a terminal"
	tmux_end tmux -S "$t/tmux"
	sed -i 's/^c.a11y.*/c.ascii = true/' "$HOME/.config/sandglass/config.lua"
	tmux -S "$t/tmux" -f /dev/null new-session -d -x 100 -y 24 "LC_ALL=C.UTF-8 $sg run '$t/q.lua'; exec sleep 600"
	wait_for 30 sh -c "tmux -S '$t/tmux' capture-pane -p | grep -q 'AGENT'"
	like "$(tmux -S "$t/tmux" capture-pane -p)" '^-{60}' "ascii: the console draws with ASCII only"
	unlike "$(tmux -S "$t/tmux" capture-pane -p)" '─' "and nothing else"
	tmux -S "$t/tmux" kill-server
else
	skip "no tmux: make deps installs it"
fi
finish
