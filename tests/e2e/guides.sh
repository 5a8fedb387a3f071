#!/usr/bin/env bash
# Every code block of the guides about the console and about plugins works as printed (readme.sh: the other guides).
# Commands of real agents run in agents*.sh, images in ../drivers/agent_image.sh.
. "$(dirname "$0")/lib.sh"
top=$here/../..
lua() { awk '/^```lua$/ { on = 1; next } /^```$/ { on = 0 } on' "$1"; }
commands() { sed -n 's/^    //p' "$1"; } # indented lines of a guide

lua "$top/ui/README.md" >"$t/config.lua"
like "$("$SANDGLASS" config --config "$t/config.lua" notify.host 2>&1)" '^notify.host +box.example.org' 'ui: the notification loads'

need_boxes
cd "$t" || exit 1
git init -q project && git -C project commit -qm first --allow-empty
echo 'local p = require "sandglass.policy" return p.rules { default = "boxed", p.ask "no-push" { cmd = "git push *" } }' >ask.lua
echo 'local sg = require "sandglass" local box <close> = sg.sandbox {} print(box:exec("git push origin main").code)' >held.lua
timeout 60 "$SANDGLASS" run held.lua -d --policy ask.lua >id 2>"$t/out"
id=$(cat id)
held() { "$SANDGLASS" state -S "$id" --json | jq -r '.. | objects | select(has("intent")) | "\(.action) \(.intent)"' >pending 2>/dev/null && [ -s pending ]; }
wait_for 30 held
ok $? 'an action is pending'
read -r act intent <pending

# ssh as the guide uses it: the other host is this one, its shell takes the words joined
ssh() {
	local run=(bash -c)
	[ "$1" != -t ] || { run=(script -qec) && shift; }
	shift
	timeout 60 "${run[@]}" "$*" /dev/null <<<detach
}
sandglass() { timeout 60 "$SANDGLASS" "$@" </dev/null; }
here_is() { sed "s/s-7k2m9q#[0-9]*/$id#$act/; s/s-7k2m9q/$id/; s/69b4dcb9[0-9a-f]*\.\.\./$intent/; s/ sandglass / $(sed 's|/|\\/|g' <<<"$SANDGLASS") /"; }
lines=$(commands "$top/ui/README.md" | grep '^ssh ')
is "$(wc -l <<<"$lines")" 3 'ui: the lines for another device are found'
while read -r line; do
	eval "$(here_is <<<"$line")" >"$t/out" 2>&1
	is $? 0 "ui: $line"
done < <(tac <<<"$lines")
ended() { [ "$("$SANDGLASS" ls --json "$id" | jq -r .state)" != running ]; }
wait_for 30 ended
is "$("$SANDGLASS" events "$id" --json | jq -r 'select(.kind == "action.decided") | .body.decision')" approve 'the action was approved by that line'

# plugins: a list of hosts, the recording of a screen, servers
commands "$top/plugins/README.md" | grep '^local box' >net.lua
sed -i '1i local sg = require "sandglass"' net.lua
echo 'print(assert(box:exec "echo ran").out)' >>net.lua
like "$(sandglass run net.lua --no-tui --no-input 2>&1)" '\bran$' 'plugins: a sandbox with a list of hosts opens'
timeout 60 script -qec "'$SANDGLASS' run -i --name claude -- sh -c 'echo on the screen'" /dev/null </dev/null >"$t/out" 2>&1
id=$("$SANDGLASS" ls --json claude | jq -r .session | head -1)
act=$("$SANDGLASS" events "$id" --json | jq -r 'select(.kind == "action.requested") | .seq' | tail -1)
while read -r line; do
	eval "$(sed "s/ --at 188//; s/s-7k2m9q#[0-9]*/$id#$act/" <<<"$line")" >"$t/out" 2>&1
	is $? 0 "plugins: $line"
done < <(commands "$top/plugins/README.md" | grep -E '^sandglass (replay|export) ')
like "$(head -1 claude.cast)" '"version": *2' 'the asciicast is one'
echo 'import os; print(os.environ["DAYTONA_API_URL"])' >agent.py
python() { python3 "$@"; }
while read -r line; do
	PATH=$t/bin:$PATH
	mkdir -p bin project && ln -sf "$(command -v python3)" bin/python
	eval "$(sed 's|~/project|project|' <<<"$line")" >"$t/out" 2>&1
	is $? 0 "plugins: $line"
done < <(commands "$top/plugins/README.md" | grep -E '^sandglass (serve|mcp serve) ')
finish
