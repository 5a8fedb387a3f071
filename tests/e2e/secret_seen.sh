#!/usr/bin/env bash
# After output with a live token comes an event that names its shape and place, not its value; once per action.
. "$(dirname "$0")/lib.sh"
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
cat >run.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:run "for i in 1 2 3; do printf 'x=ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 17; done"
box:run "printf 'x=ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 18"
box:run "head -c 65520 /dev/zero | tr '\\0' ' '; printf ' ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 17"
L
"$SANDGLASS" run run.lua --name seen --no-tui --no-input </dev/null >out 2>&1
is $? 0 'commands print'
"$SANDGLASS" events seen --json >events
is "$(jq -r 'select(.kind == "secret.seen") | "\(.body.shape) \(.body.off) \(.body.len)"' events | tr '\n' ,)" 'github 2 40,github 65521 40,' \
	'a token is seen once per command, also across segments; a wrong check digit is none'
is "$(jq -c 'select(.kind == "secret.seen")' events | grep -c zQWB)" 0 'its value is not in the event'
"$SANDGLASS" verify seen >out 2>&1
is $? 0 'the session verifies'
finish
