#!/usr/bin/env bash
# One session in several time zones: each console shows its local time and names the zone, also if the next console is
# elsewhere. The recording holds only UTC.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
[ -e /usr/share/zoneinfo/Asia/Tokyo ] || { skip 'no time zones are installed'; finish; }
sg=$SANDGLASS
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
mkdir "$SANDGLASS_SESSIONS"
cat >zone.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "zone" }
assert(box:exec "echo one")
assert(box:exec "echo two")
L
id=$(TZ=UTC "$sg" run -d zone.lua --hold 'cmd:*two*' 2>"$t/out")
like "$id" '^s-' 'a session begins'
tm() { tmux -f /dev/null -S "$t/tmux" "$@"; }
console() { # name, zone
	tm new-session -d -s "$1" -x 120 -y 30 "TZ=$2 LC_ALL=C.UTF-8 $sg attach $id; exec sleep 60"
}
screen() { tm capture-pane -p -t "$1"; }
shows() { screen "$1" >"$t/screen"; grep -qE -- "$2" "$t/screen"; }
# the clock of console $1 is that of zone $2, whose names are $3, give or take 20 seconds
clock_of() {
	local seen now off
	wait_for 15 shows "$1" "[0-9:]{8} ($3)\$"
	ok $? "$1: the zone is on the screen ($3)"
	seen=$(screen "$1" | grep -oE "[0-9]{2}:[0-9]{2}:[0-9]{2} ($3)\$" | head -1 | cut -c1-8)
	now=$(date +%s)
	off=$(((now - $(TZ=$2 date -d "$(TZ=$2 date +%F) ${seen:-00:00:00}" +%s) + 86400 + 20) % 86400))
	[ -n "$seen" ] && [ $off -le 40 ]
	ok $? "$1: $seen is the time there"
}
console tokyo Asia/Tokyo
console la America/Los_Angeles
clock_of tokyo Asia/Tokyo JST
clock_of la America/Los_Angeles 'PST|PDT'
tm kill-session -t tokyo
console kathmandu Asia/Kathmandu
clock_of kathmandu Asia/Kathmandu '\+0545'
clock_of la America/Los_Angeles 'PST|PDT'
tm send-keys -t kathmandu L
wait_for 10 shows kathmandu 'log of .* times in \+0545'
ok $? 'the log says it as well'

# the machine itself moves: its zone file is replaced while a console is open
zone_file() { cp "/usr/share/zoneinfo/$1" "$t/new-zone" && mv "$t/new-zone" "$t/localtime"; }
zone_file Asia/Tokyo
console moves ":$t/localtime"
wait_for 15 shows moves ' JST$'
ok $? 'a console shows the zone of the machine'
zone_file America/Los_Angeles
wait_for 15 shows moves '[0-9:]{8} P[SD]T$'
ok $? 'and the new one when the machine is elsewhere'

at() { TZ=$1 "$sg" events "$id" | head -1 | grep -oE '[0-9]{2}:[0-9]{2}:[0-9]{2} [A-Z+0-9]+' | head -1; }
like "$(at Asia/Tokyo)" ' JST$' 'events: with the zone'
a=$(at UTC) b=$(at Asia/Kathmandu)
is $((($(date -ud "1970-01-02 ${b% *}" +%s) - $(date -ud "1970-01-02 ${a% *}" +%s) + 86400) % 86400)) 20700 \
	'events: the same moment, five hours and three quarters on'
like "$("$sg" events "$id" --json | head -1)" '"time": ?"[0-9-]{10}T'"${a% *}"'\.[0-9]{6}Z"' 'the record has it in UTC'
line=$(TZ=Asia/Tokyo timeout 20 "$sg" attach "$id" --no-tui </dev/null 2>&1 | grep -E '^[0-9]{2}:' | head -3)
like "$(printf '%s\n' "$line" | head -1)" '^[0-9:]{8} JST ' 'line mode says the zone in its first line'
unlike "$(printf '%s\n' "$line" | sed 1d)" 'JST' 'and not again'
tm kill-server
finish
