#!/usr/bin/env bash
# Every test script runs: it has the executable bit, and tests/suite names its folder; what tests/alone and tests/waiting name is there. TAP.
set -u
n=0 bad=0
result() { n=$((n + 1)); if [ -z "$1" ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; printf '%s\n' "$1" | sed 's/^/#   /'; bad=1; fi; }

result "$(grep -lE '^#!' $(find tests -name '*.sh') | while read -r f; do [ -x "$f" ] || echo "$f"; done)" 'every script that says what runs it is executable'
# tests/sessions makes what other tests read, tests/bench is run by make bench, tests/npm and tests/vm fetch
result "$(for d in $(find tests -mindepth 2 -maxdepth 2 -name '*.sh' ! -path "tests/sessions/*" ! -path "tests/bench/*" ! -path "tests/npm/*" ! -path "tests/vm/*" -perm -u+x -printf "%h\n" | sort -u); do
	grep -qE "scripts ${d#tests/}\b" tests/suite || echo "$d"; done)" 'every folder of scripts is in tests/suite'
result "$(sed 's/[[:space:]]*#.*//; /^$/d' tests/alone tests/waiting | while read -r f; do
	[ -e "tests/$f" ] || [ -e "tests/unit/$f.c" ] || echo "$f"; done)" 'tests/alone and tests/waiting name programs that are there'
result "$(find tests -name '*.sh' -perm -u+x -exec sh -c 'for f; do bash -n "$f" 2>&1; done' sh {} +)" 'every script is well formed'
echo "1..$n"
exit $bad
