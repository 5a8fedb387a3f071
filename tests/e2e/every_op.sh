#!/usr/bin/env bash
# Every operation of a script, valid and invalid, in a real sandbox, and the end of a script's process during an
# operation. After each run the recording verifies and has no open action.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
dir=$here/every_op
mkdir "$t/host" "$t/w"
repo() { # path
	git init -q "$1"
	echo base >"$1/base"
	git -C "$1" add base
	git -C "$1" commit -qm base
	git init -q --bare "$1.git"
	git -C "$1" remote add origin "$1.git"
}
repo "$t/repo"

id=$("$sg" run -d "$dir/every.lua" --policy "$dir/policy.lua" --name every -- --repo "$t/repo" --host "$t/host" --gone "$t/gone" \
	</dev/null 2>"$t/out")
live() { "$sg" ls --live 2>/dev/null | grep -q "$id"; }
ended() { ! live; }
# publishing is always asked for
for ((until = SECONDS + 120; SECONDS < until; )); do
	live || break
	held=$("$sg" state -S "$id" --json 2>/dev/null | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+')
	[ -z "$held" ] || "$sg" approve "$held" -S "$id" >/dev/null 2>&1
	sleep 0.3
done
ended
ok $? 'a script that calls everything comes to its end'
"$sg" events "$id" 2>/dev/null | sed -nE 's/.* print: ((not )?ok|asked) /\1 /p' >"$t/said"
while IFS= read -r line; do
	case $line in
	'ok '*) ok 0 "${line#ok }" ;;
	'not ok '*) ok 1 "${line#not ok }" ;;
	esac
done <"$t/said"
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "session.end") | .body.ok')" true 'and is successful'
# the list is that of wire/host.h as the table has it
want=$(sed -n 's/^	{ "\([a-z.]*\)", op_.*/\1/p' "$here/../../src/ops/op_table.c" | grep -v '^mcp\.\|^proxy\.\|^inner\.' | LC_ALL=C sort | tr '\n' ' ') # mcp.sh, inside.sh and inside_control.sh call those
got=$(sed -n 's/^asked //p' "$t/said" | grep -v '^nonsense$' | LC_ALL=C sort | tr '\n' ' ')
is "$got" "$want" 'no operation was left out'

# seqs of the actions that were asked for and never ended
open_ones() { # session
	"$sg" events "$1" --json 2>/dev/null | awk '
		function after(name) { return match($0, "\"" name "\": ?\"?") ? substr($0, RSTART + RLENGTH) : "" } # the first
		{ kind = after("kind"); sub(/".*/, "", kind) }
		kind == "action.requested" { open[after("seq") + 0] = 1 }
		kind == "action.ended" { delete open[after("action") + 0] }
		END { for (n in open) printf "#%s ", n }'
}
whole() { # session, its former state
	"$sg" verify "$1" >"$t/out" 2>&1
	ok $? "$2: the record verifies"
	is "$(open_ones "$1")" '' "$2: nothing is left open"
}
whole "$id" 'every operation'

# the script's process is killed while it waits
host_of() { # supervisor's pid: the Lua host is among its launcher's children
	for p in $(pgrep -P "$1") $(pgrep -P "$(pgrep -P "$1" | tr '\n' ,)0" 2>/dev/null); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" = sandglass-host ] && echo "$p"
	done | tail -1
}
printf 'local p = require "sandglass.policy"\nreturn p.rules { default = "allow", p.ask "it" { tool = "sg.host.exec", cmd = "true" }, p.ask "model" { kind = "model" } }\n' >"$t/ask.lua"
for op in ${OPS-exec read yes shell snapshot sleep ask held host model}; do
	id=$("$sg" run -d "$dir/pending.lua" --policy "$t/ask.lua" --name "$op" -- "$op" </dev/null 2>"$t/out")
	waits() { "$sg" events "$id" 2>/dev/null | grep -q 'print: waits'; }
	wait_for 20 waits
	ok $? "$op: the script waits"
	sleep 0.7
	pid=$("$sg" events "$id" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | tail -1 | grep -oE '[0-9]+')
	host=$(host_of "${pid:-0}")
	if [ -z "$host" ]; then
		ok 1 "$op: its process is found"
		continue
	fi
	rss=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
	kill -9 "$host"
	wait_for 25 ended
	ok $? "$op: the session ends with its script's process"
	whole "$id" "$op"
	like "$("$sg" events "$id" 2>&1)" 'has died' "$op: and the record says why"
	[ "$op" != yes ] || [ "${SAN:-}" ] || {
		[ "${rss:-999999}" -lt 120000 ]
		ok $? "what nobody reads costs no memory (supervisor: $rss KiB)"
	}
done
finish
