#!/usr/bin/env bash
# link.sh [MS...]: the round trips of exec, read, edit, snapshot, shell, and interpreter through links with a delay of
# 20, 40, and 100 ms: ssh (a real sshd) and each hosted backend (the fakes of the tests). What the same operation takes
# through a link without delay is subtracted.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-$PWD/build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
export SANDGLASS=$B/sandglass
bench=$PWD/tests/bench
. tests/e2e/lib.sh
. tests/drivers/suite.bash
. tests/bench/remote.bash
over() { kill $pids 2>/dev/null; wait $pids 2>/dev/null; sshd_stop; end_all; }
trap over EXIT
cd "$t" || exit 2
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua

measure() { # the box as JSON: the microseconds of each operation
	timeout 300 "$SANDGLASS" run --no-tui --no-input --policy allow.lua "$bench/link.lua" -- --how "$1" >out 2>&1 </dev/null && grep -aoE 'ROW\|.*' out
}
# What an operation takes beyond a link without delay, in round trips of that link.
rows() { # backend, ms, the box as JSON
	if ! measure "$3" >us; then
		printf '%-12s %4d ms: not here: %s\n' "$1" "$2" "$(grep -a '^sandglass:' out | tail -1 | cut -c1-140)"
	elif [ "$2" = 0 ]; then
		cp us base
	else
		printf '%-12s %4d ms:' "$1" "$2"
		awk -F'|' -v trip=$((trip - base_trip)) 'FNR == NR { base[$2] = $3; next } { n = ($3 - base[$2]) / trip; printf " %s %.1f", $2, n < 0 ? 0 : n; if ($2 == "shell") shell = n }
			END { print " round trips; shell (reach 1.5)", shell <= 1.5 ? "PASS" : "FAIL" }' base us
	fi
	[ "$2" != 0 ] || base_trip=$trip
}

[ $# -gt 0 ] || set -- 20 40 100
for ms in 0 "$@"; do
	if sshd_start; then
		relay "$sshd_port" "$ms"
		far_config "$port"
		rows ssh "$ms" "{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/far\", \"dir\": \"$t/far\"}"
		sshd_stop
		rm -rf ssh
	else
		echo "ssh is skipped: ${no_sshd:-no keys for sshd}"
	fi
done
for kind in e2b daytona runloop modal kubernetes; do
	fake $kind || continue
	for ms in 0 "$@"; do
		relay "$(cat $kind.port)" "$ms"
		fake_at $kind "$port"
		rows $kind "$ms" "{\"backend\": \"$kind\"}"
	done
done
exit 0
