#!/usr/bin/env bash
# Random bytes typed into the real console while high-risk actions wait: 30 seconds, 10 minutes with LONG=1.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need_boxes
command -v python3 >/dev/null || { skip "no python3"; finish; }
py=$here/../fuzz/keys_pty.py
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions TERM=xterm PAGER=cat EDITOR=true VISUAL=true LC_ALL=C.UTF-8
cat >many.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { name = "work" }
local list = {}
for i = 1, 40 do list[i] = i end
sg.map(list, function(i) box:exec(": danger " .. i) end)
L
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.ask "danger" { cmd = ": danger ...", why = "a person looks first", risk = "high" } }
L
seconds=${KEYS_SECONDS:-${LONG:+600}} seconds=${seconds:-25}
seed=${KEYS_SEED:-$RANDOM}
until=$((SECONDS + seconds))
while [ $SECONDS -lt $until ]; do # a session that the keys have ended is begun again
	id=$("$sg" run -d many.lua --policy policy.lua 2>out)
	waits() { "$sg" events "$id" --json 2>/dev/null | grep -q '"kind":"action.held"'; }
	wait_for 30 waits
	ok $? "a session where high-risk actions wait"
	python3 "$py" $((until - SECONDS)) "$seed" -- "$sg" attach "$id" >said 2>&1 </dev/null
	ok $? "$(tail -1 said) (seed $seed)"
	"$sg" events "$id" --json >events
	is "$(grep '"kind":"action.decided"' events | grep -cE '"decision":"(approve|edit|promote)"')" 0 "nothing is approved"
	is "$(grep -c '"kind":"policy.waiver"' events)" 0 "no waiver, no rule"
	[ $bad -eq 0 ] || break
	seed=$((seed + 1))
done
finish
