# For the measurements of remote sandboxes: a link with a delay, and the fakes of the tests. Sourced after e2e/lib.sh.
pids=
export E2B_API_KEY=e2b_00 DAYTONA_API_KEY=dtn_test RUNLOOP_API_KEY=ak_test MODAL_TOKEN_ID=ak-test MODAL_TOKEN_SECRET=as-test KUBERNETES_TOKEN=good-token no_proxy=127.0.0.1

relay() { # port, ms of a round trip: sets port and trip (us)
	rm -f link
	python3 "$here/../bench/far_relay.py" "$1" "$(awk -v ms="$2" 'BEGIN { print ms / 2 }')" >link 2>/dev/null </dev/null &
	pids="$pids $!"
	wait_for 30 test -s link
	read -r port trip <link
}
far_config() { # port of a relay before sshd: ssh/far is what ssh takes to get there
	sed "s/^\([[:space:]]*Port\).*/\1 $1/" ssh/config >ssh/far
	sed "s/^\[127.0.0.1\]:[0-9]*/[127.0.0.1]:$1/" ssh/known >ssh/known.far && cat ssh/known.far >>ssh/known
}
fake() { # hosted backend: its port comes to be in $t/KIND.port; false: it can't run here
	[ "$1" != modal ] || command -v node >/dev/null || return
	python3 "$here/../fakes/$1.py" "$t/$1.port" </dev/null >"$1.log" 2>&1 &
	pids="$pids $!"
	wait_for 30 test -s "$1.port"
}
fake_at() { # hosted backend, port: its plugin goes there
	local at=http://127.0.0.1:$2
	case $1 in
	e2b) export E2B_API_URL=$at E2B_SANDBOX_URL=$at ;;
	daytona) export DAYTONA_API_URL=$at/api ;;
	runloop) export RUNLOOP_BASE_URL=$at RUNLOOP_TUNNEL_URL=$at/tunnel ;;
	modal) export MODAL_SERVER_URL=$at ;;
	kubernetes) export KUBERNETES_API_URL=$at ;;
	esac
}
