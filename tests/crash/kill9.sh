#!/usr/bin/env bash
# kill -9 of supervisor, launcher, keeper, Lua host, or guest at random moments (15; LONG=1: 1,000). The file opens and
# verifies, `resume` closes open actions as interrupted, and no process of a sandbox survives.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
accept_any
rounds=${KILLS:-15} # three of each process
[ -n "${LONG:-}" ] && rounds=1000
mkdir "$t/repo"
echo start >"$t/repo/f"
cat >"$t/busy.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box = sg.sandbox { name = "busy", repo = a.repo }
for i = 1, 40 do
  local r, err = box:exec(("echo line %d >> f; sleep 0.01 & seq 1 200; wait"):format(i))
  if not r then
    if err.code == "cancelled" then error(err) end
    sg.note("%s", err)
    box:close()
    box = sg.sandbox { name = "busy", repo = a.repo }
  end
end
L
# every process whose command line or parent says that it belongs to supervisor $1
family() {
	local todo=$1 all=
	while [ -n "$todo" ]; do
		local next=
		for p in $todo; do
			all="$all $p"
			next="$next $(cat /proc/"$p"/task/*/children 2>/dev/null)"
		done
		todo=$(echo $next)
	done
	echo $all
}
# waits until none of these processes is left; names those that stay
gone() {
	local p left
	for _ in $(seq 300); do
		left=
		for p in "$@"; do [ -d "/proc/$p" ] && [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$p/stat" 2>/dev/null)" != Z ] && left="$left $p"; done
		[ -z "$left" ] && return 0
		sleep 0.1
	done
	for p in $left; do
		echo "# survivor of $want in round $round: $(grep -E '^(Name|State|Pid|PPid):' "/proc/$p/status" | tr -s '\t\n' ' ') $(tr '\0' ' ' <"/proc/$p/cmdline") $(grep -o 'sandglass-.*' "/proc/$p/cgroup" | head -1)"
	done
	return 1
}
who_is() { { tr "\0" " " <"/proc/$1/cmdline"; } 2>/dev/null | cut -d" " -f1; }
lost=0 unverified=0 survivors=0 open=0 done_=0 hit=
RANDOM=${SEED:-4711}
for round in $(seq "$rounds"); do
	line=$("$sg" run $accept -d "$t/busy.lua" --json -- --repo "$t/repo" 2>"$t/out") || { lost=$((lost + 1)); continue; }
	id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
	sup=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
	sleep "0.$(printf '%03d' $((RANDOM % 350)))"
	all=$(family "$sup")
	case $((round % 5)) in
	0) want=supervise ;; 1) want=sandglass-launcher ;; 2) want=sandglass-keeper ;; 3) want=sandglass-host ;; 4) want=guest ;;
	esac
	victim=$sup
	for p in $all; do
		case $(who_is "$p") in *$want) victim=$p ;; esac
	done
	[ "$want" = supervise ] && victim=$sup
	[ "$victim" = "$sup" ] && hit="$hit supervise" || hit="$hit $want" # a process that did not exist yet could not be killed
	kill -9 "$victim" 2>/dev/null
	if [ "$victim" = "$sup" ]; then
		gone $all || survivors=$((survivors + 1))
		"$sg" verify "$id" >"$t/out" 2>&1 || unverified=$((unverified + 1))
		timeout 60 "$sg" resume "$id" --no-input >"$t/out" 2>&1 </dev/null || true
	else
		for _ in $(seq 600); do kill -0 "$sup" 2>/dev/null || break; sleep 0.1; done
		kill -0 "$sup" 2>/dev/null && { lost=$((lost + 1)); kill -9 "$sup"; }
		gone $all || survivors=$((survivors + 1))
	fi
	"$sg" verify "$id" >"$t/verify" 2>&1 || { unverified=$((unverified + 1)); cp "$t/verify" "$t/out"; }
	grep -qE 'actions? (is|are) open' "$t/verify" && { open=$((open + 1)); cp "$t/verify" "$t/out"; }
	done_=$((done_ + 1))
	rm -f "$HOME"/.local/share/sandglass/sessions/*"${id#s-}"*
done
echo "# killed:$(tr ' ' '\n' <<<"$hit" | sed '/^$/d' | sort | uniq -c | tr -s '\n ' ' ')"
is "$lost" 0 "of $rounds sessions none hangs or cannot begin"
is "$unverified" 0 'every record verifies'
is "$survivors" 0 'no process survives'
is "$open" 0 'no action stays open'
is "$done_" "$rounds" 'all rounds were played'
finish
