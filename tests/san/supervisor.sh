#!/usr/bin/env bash
# The whole program under ASan and UBSan (build/san): the main job and the demo, with FULL=1 also every operation of a
# script. Any report of a sanitiser is a failure, whatever else went well; leaks count.
set -u
cd "$(dirname "$0")/../.."
export SAN=1 SANDGLASS=${SAN_SANDGLASS:-$PWD/build/san/sandglass}
[ -x "$SANDGLASS" ] || {
	echo '1..0 # skip no sanitised program: make B=build/san SAN=1 all'
	exit 0
}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
export ASAN_OPTIONS=detect_leaks=1:log_exe_name=1:log_path=$d/report UBSAN_OPTIONS=print_stacktrace=1:log_path=$d/report
n=0 bad=0
ran() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ] && ! ls "$d"/report* >/dev/null 2>&1; then
		echo "ok $n - $2"
	else
		bad=1
		echo "not ok $n - $2 (status $1)"
		grep '^not ok' "$d/out" | head -20 | sed 's/^/#   /'
		for f in "$d"/report*; do [ -f "$f" ] && head -30 "$f" | sed 's/^/#   /' && rm -f "$f"; done
	fi
}
tests/e2e/first.sh >"$d/out" 2>&1 </dev/null
ran $? 'a program is repaired and published'
mkdir -m 700 "$d/home" "$d/run"
HOME=$d/home XDG_RUNTIME_DIR=$d/run timeout 100 "$SANDGLASS" demo >"$d/out" 2>&1 </dev/null
ran $? 'the demo'
if [ -n "${FULL:-}" ]; then
	tests/e2e/every_op.sh >"$d/out" 2>&1 </dev/null
	ran $? 'every operation of a script, and the end of its process in each wait'
fi
echo "1..$n"
exit $bad
