#!/usr/bin/env bash
# Remote sandboxes: 1, 100, and 200 commands over a link of 20 ms each way (a real sshd behind a delaying relay), in
# five ways. Also many hosted sandboxes at once from one supervisor (a fake provider), with its memory.
set -u
cd "$(dirname "$0")/../.." || exit 2
export SANDGLASS=$PWD/${B:-build}/sandglass
bench=$PWD/tests/bench rounds=${1:-1,100,200} fleet=${2:-100}
. tests/e2e/lib.sh
. tests/drivers/suite.bash
. tests/bench/remote.bash
verdict() { [ "$1" = 1 ] && echo PASS || echo FAIL; }
over() { kill $pids 2>/dev/null; sshd_stop; end_all; }
trap over EXIT
cd "$t" || exit 2

if boxes && sshd_start; then
	relay "$sshd_port" 40
	far_config "$port"
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
	"$SANDGLASS" run --no-tui --no-input --policy allow.lua "$bench/far.lua" -- --rounds "$rounds" --config "$t/ssh/far" --dir "$t/far" >out 2>&1 </dev/null ||
		{ tail -5 out >&2; exit 2; }
	printf 'a byte there and back: %d us\n' "$trip"
	# reach: one round trip for each that waits for its answer, few for all of them where nothing waits (a half more is allowed)
	grep -oE 'ROW\|.*' out | while IFS='|' read -r _ way n us; do
		trips=$((us * 10 / trip))
		case $way in 'one by one' | 'stateful shell' | REPL) most=$((n * 15)) ;; *) most=$((40 + n * 2)) ;; esac
		printf '%-16s %4d executions: %8d us, %6d.%d round trips (reach %d.%d) %s\n' "$way" "$n" "$us" $((trips / 10)) $((trips % 10)) \
			$((most / 10)) $((most % 10)) "$([ "$n" = 1 ] && echo || verdict $((trips <= most)))"
	done
	# a line there and its answer, beyond the way itself: what arrives is passed on at once, in both directions
	IFS='|' read -r _ way n us < <(grep -oE 'ROW\|REPL\|.*' out | tail -1)
	beyond=$((us / n - trip))
	printf 'output passed on: %d us beyond the way, there and back, the mean of %d (reach 20000) %s\n' "$beyond" "$n" "$(verdict $((beyond <= 20000)))"
	sshd_stop
else
	echo 'the far link is skipped: no sshd, or no boxes'
fi

fake e2b
fake_at e2b "$(cat e2b.port)"
rss() { # N: KiB of the supervisor at its most, and when N boxes are open and have worked
	local id pid memory
	id=$("$SANDGLASS" run -d "$bench/fleet.lua" -- --n "$1" </dev/null 2>why) || { cat why >&2; exit 2; }
	worked() { "$SANDGLASS" events "$id" --json 2>/dev/null | grep -q '"text":"MEASURE done'; }
	wait_for 200 worked || { "$SANDGLASS" events "$id" | tail -3 >&2; exit 2; }
	pid=$("$SANDGLASS" events "$id" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')
	"$SANDGLASS" events "$id" --json | grep -oE 'ROW\|[0-9]+\|[0-9]+\|[0-9]+' | head -1 >"row.$1"
	memory=$(awk '/VmHWM/ { most = $2 } /VmRSS/ { print most, $2 }' "/proc/$pid/status")
	"$SANDGLASS" stop --now -S "$id" >/dev/null 2>&1
	echo "$memory"
}
nr_few=$((fleet / 4)) # enough that all shared memory exists: an additional sandbox then costs only its own
read -r _ few < <(rss $nr_few)
read -r many_most many < <(rss "$fleet")
IFS='|' read -r _ _ open_us work_us <"row.$fleet"
printf '%d rented boxes at once: open %d ms, three commands in each %d ms (fakes of this machine)\n' "$fleet" $((open_us / 1000)) $((work_us / 1000))
each=$(((many - few) / (fleet - nr_few)))
printf '%-44s %6d KiB each (supervisor: %d MiB with %d, %d MiB with %d; reach 256) %s\n' 'a rented box more, when it has worked' "$each" $((few / 1024)) \
	"$nr_few" $((many / 1024)) "$fleet" "$(verdict $((each <= 256)))"
opening=$(((many_most - many) / 1024)) # for the eight that are filled at once, however many there are
printf '%-44s %6d MiB beside the %d MiB that stay (reach 64) %s\n' 'all of them, while they are opened' "$opening" $((many / 1024)) "$(verdict $((opening <= 64)))"
