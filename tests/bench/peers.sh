#!/usr/bin/env bash
# peers.sh PROGRAM...: runs it with a docker engine; without a running engine, with one of its own (as root). So the
# container backend and its comparison are measured in the same run.
set -u
own='' work=$(mktemp -d)
over() {
	[ -z "$own" ] || { kill "$own"; wait "$own"; } 2>/dev/null
	umount -q "$work"/data/* 2>/dev/null
	rm -rf "$work"
}
trap over EXIT
answers() { timeout 10 docker info >/dev/null 2>&1; }
if [ "$(id -u)" = 0 ] && command -v dockerd >/dev/null && command -v docker >/dev/null && ! answers; then
	export DOCKER_HOST=unix://$work/docker.sock
	dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$work/data" --exec-root "$work/exec" -H "$DOCKER_HOST" \
		-p "$work/docker.pid" >"$work/log" 2>&1 </dev/null &
	own=$!
	end=$((SECONDS + 30))
	until answers || [ $SECONDS -ge $end ] || ! kill -0 "$own" 2>/dev/null; do sleep 0.2; done
fi
"$@"
