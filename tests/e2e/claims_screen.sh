#!/usr/bin/env bash
# Claims on the screen: an agent whose claim the recording does not support carries a mark in the fleet, K lists the claims,
# Enter goes to the evidence; a replay ends with a summary, on the screen and by lines.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC
cd "$t" || exit 1
mkdir repo && git -C repo init -q && git -C repo commit -q --allow-empty -m start
cat >turns.lua <<'L'
return {
  { say = "I write it.", call = { "shell", { cmd = "echo one >words.txt" } } },
  { say = "I created `words.txt`.\nI created `notes.md`." },
}
L
cat >one.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "repo", name = "one" }
assert(sg.agent.run { name = "liar", task = "write words", box = box, model = "scripted:turns.lua", tools = { "shell" } })
L
"$sg" run one.lua --no-tui --name one </dev/null >"$t/out" 2>&1
is $? 0 'an agent that claims a file which it did not write'
id=$("$sg" ls one --json | jq -r .session)
is "$("$sg" claims "$id" --json | jq -r '"\(.kind) \(.verdict)"' | sort | tr '\n' ' ')" 'files supported files unsupported ' 'the checks know it'
"$sg" replay "$id" --no-tui </dev/null >"$t/out" 2>&1
is "$(sed -n '/^summary: /,$p' "$t/out" | sed 's/: .*//' | tr -d ' ' | tr '\n' ' ')" 'summary claims unsupported unmerged continue ' 'by lines, the replay ends with a summary'
like "$(grep '^claims: ' "$t/out")" '2, 1 not supported' 'of its claims'
like "$(grep -A1 '^unmerged: ' "$t/out" | tr '\n' ' ')" "unmerged: 1 file continue: sandglass merge $id" 'its unmerged files, and how to continue'
is "$("$sg" replay "$id" --no-tui --json </dev/null | grep -vc '^{"schema":1')" 0 'JSON lines have events alone'
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p -t a >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
tm -f /dev/null new-session -d -s a -x 80 -y 24 "NO_COLOR=1 LC_ALL=C.UTF-8 $sg replay $id; exec sleep 60"
wait_for 10 shows '^C[.] liar'
ok $? 'the agent carries a mark, also without color'
wait_for 5 shows "1 of 2 claims not supported .*1|1 of 2 claims not supported"
ok $? 'and the summary stands below'
tm send-keys -t a K
wait_for 5 shows '^ x unsupported +liar'
ok $? 'K lists the claims'
tm send-keys -t a g
tm send-keys -t a Enter
seq=$("$sg" claims "$id" --json | jq -r 'select(.verdict == "supported") | .evidence[0]')
wait_for 5 shows "event $seq / "
ok $? 'Enter moves the cursor to the evidence'
tm kill-server
finish
