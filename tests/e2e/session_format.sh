#!/usr/bin/env bash
# schema/README.md: each of its shell blocks runs on a finished session as printed.
. "$(dirname "$0")/lib.sh"
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ]; then
	skip "$make is not built (make helpers)"
	finish
fi
top=$(cd "$here/../.." && pwd)
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -m 700 "$t/sessions"
FILE=$("$make" "$t/sessions" guide 500 2 1)
export FILE
mkdir "$t/bin" "$t/work"
ln -s "$SANDGLASS" "$t/bin/sandglass"
ln -s "$top/tests" "$top/schema" "$t/work/"
PATH=$t/bin:$PATH
nr=$(grep -c '^```sh$' "$top/schema/README.md")
[ "$nr" -ge 3 ]
ok $? "the guide has blocks of shell ($nr)"
for i in $(seq "$nr"); do
	awk -v want="$i" '/^```sh$/ { n++; on = n == want; next } /^```$/ { on = 0 } on' "$top/schema/README.md" >"$t/block"
	(cd "$t/work" && bash -eu "$t/block") >"$t/out" 2>&1
	is $? 0 "block $i runs" || sed 's/^/# /' "$t/out"
	[ -s "$t/out" ]
	ok $? "block $i prints something"
done
finish
