#!/usr/bin/env bash
# The table of tests/fuzz/README.md: each target is there and has a corpus, each parser is a file, and no target is left out.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1; echo "not ok $n - $2"; sed 's/^/#   /' <<<"$3"; fi; }
rows=$(grep -E '^\| .*`[a-z_0-9]+` \|$' tests/fuzz/README.md)
named=$(sed -E 's/.*`([a-z_0-9]+)` \|$/\1/' <<<"$rows" | sort)
targets=$(basename -a tests/fuzz/f_*.c | sed 's/^f_//; s/\.c$//' | sort)
differ=$(diff <(echo "$named") <(echo "$targets") | grep '^[<>]')
[ -z "$differ" ] && [ "$(wc -l <<<"$named")" -gt 40 ]
ok $? 'each target has a row, and each row a target' "$differ"
missing=$(for t in $named; do [ -n "$(ls -A "tests/fuzz/corpus/$t" 2>/dev/null)" ] || echo "$t"; done)
[ -z "$missing" ]
ok $? 'each has a corpus' "$missing"
missing=$(awk -F'|' '{ print $4 }' <<<"$rows" | grep -oE '`[^`]+`' | tr -d '\`' | while read -r f; do [ -f "$f" ] || echo "$f"; done)
[ -z "$missing" ]
ok $? 'each parser is a file' "$missing"
echo "1..$n"
exit $bad
