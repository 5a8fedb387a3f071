#!/usr/bin/env bash
# link.sh [MS...]: the round trips of exec, read, edit, snapshot, shell, and interpreter through links with a delay of
# 20, 40, and 100 ms: ssh (a real sshd) and each hosted backend (the fakes of the tests). What the same operation takes
# through a link without delay is subtracted.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-$PWD/build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
export SANDGLASS=$B/sandglass
bench=$PWD/tests/bench fakes=$PWD/tests/fakes
. tests/e2e/lib.sh
. tests/drivers/suite.bash
pids=
over() { kill $pids 2>/dev/null; wait $pids 2>/dev/null; sshd_stop; end_all; }
trap over EXIT
cd "$t" || exit 2
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
export E2B_API_KEY=e2b_00 DAYTONA_API_KEY=dtn_test RUNLOOP_API_KEY=ak_test MODAL_TOKEN_ID=ak-test MODAL_TOKEN_SECRET=as-test KUBERNETES_TOKEN=good-token no_proxy=127.0.0.1

relay() { # port, ms of a round trip: sets port and trip (us)
	rm -f link
	python3 "$bench/far_relay.py" "$1" "$(awk -v ms="$2" 'BEGIN { print ms / 2 }')" >link 2>/dev/null </dev/null &
	pids="$pids $!"
	wait_for 30 test -s link
	read -r port trip <link
}
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
		sed "s/^\([[:space:]]*Port\).*/\1 $port/" ssh/config >ssh/far
		sed "s/^\[127.0.0.1\]:[0-9]*/[127.0.0.1]:$port/" ssh/known >ssh/known.far && cat ssh/known.far >>ssh/known
		rows ssh "$ms" "{\"backend\": \"ssh\", \"host\": \"there\", \"config\": \"$t/ssh/far\", \"dir\": \"$t/far\"}"
		sshd_stop
		rm -rf ssh
	else
		echo "ssh is skipped: ${no_sshd:-no keys for sshd}"
	fi
done
for kind in e2b daytona runloop modal kubernetes; do
	[ $kind != modal ] || command -v node >/dev/null || continue
	python3 "$fakes/$kind.py" "$t/$kind.port" </dev/null >"$kind.log" 2>&1 &
	pids="$pids $!"
	wait_for 30 test -s $kind.port
	for ms in 0 "$@"; do
		relay "$(cat $kind.port)" "$ms"
		at=http://127.0.0.1:$port
		case $kind in
		e2b) export E2B_API_URL=$at E2B_SANDBOX_URL=$at ;;
		daytona) export DAYTONA_API_URL=$at/api ;;
		runloop) export RUNLOOP_BASE_URL=$at RUNLOOP_TUNNEL_URL=$at/tunnel ;;
		modal) export MODAL_SERVER_URL=$at ;;
		kubernetes) export KUBERNETES_API_URL=$at ;;
		esac
		rows $kind "$ms" "{\"backend\": \"$kind\"}"
	done
done
exit 0
