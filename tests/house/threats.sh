#!/usr/bin/env bash
# The table of threats in src/sandbox/README.md: each row has an answer for each level and names a check of a hostile test.
set -u
cd "$(dirname "$0")/../.." || exit 1
page=src/sandbox/README.md n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1; echo "not ok $n - $2"; fi; }
levels=$(sed -n '/^| level /,/^$/s/^| `\([a-z ]*\)` .*/\1/p' "$page")
head=$(grep -m1 '^| threat ' "$page" | tr '|' '\n' | sed 's/^ *//; s/ *$//' | grep -vE '^(threat|test|)$')
[ "$levels" = "$head" ]
ok $? 'the table has a column for each level'
for level in enforced 'best effort' reduced; do
	grep -q "\"$level\"" src/sandbox/common/profile.c && grep -qx "$level" <<<"$levels"
	ok $? "$level: a level that the program names"
done
while IFS='|' read -r _ threat rest; do
	test=${rest%|*} answers=${rest%|*}
	test=$(sed 's/^ *//; s/ *$//' <<<"${test##*|}") answers=$(tr -d ' ' <<<"${answers%|*}")
	[[ $answers =~ ^((yes|partly|no)\|){4}(yes|partly|no)$ ]]
	ok $? "an answer for each level:$threat"
	[[ $test == none:* ]] || grep -qF -- "${test#*: }" "tests/hostile/${test%%:*}"
	ok $? "and the check is there:$threat"
done < <(sed -n '/^| threat /,/^$/p' "$page" | sed '1,2d; /^$/d')
[ "$n" -gt 30 ]
ok $? 'the table was read'
echo "1..$n"
exit $bad
