#!/usr/bin/env bash
# Prose rules (tests/house/prose.py): the help uses no banned phrase; guides and tables (of commands, keys, and events),
# comments and tests break at most as many rules as tests/house/prose.budget allows. As TAP.
set -u
: "${SANDGLASS:?the program under test}"
cd "$(dirname "$0")/../.." || exit 1
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
n=0 bad=0
result() { # name, places: none is a pass
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		bad=1
		echo "not ok $n - $1"
		sed 's/^/#   /' <<<"$2"
	fi
}
places() { python3 tests/house/prose.py "$@"; }

# a number of places may not exceed its line in the budget; the numbers only fall
within() { # line of the budget, list of places
	local most count over=
	most=$(sed -n "s/^\([0-9]*\) $1\$/\1/p" tests/house/prose.budget)
	count=$(grep -c . <<<"$2")
	[ "$count" -le "${most:-0}" ] ||
		over="$count places, the budget is ${most:-0}: rewrite some ('python3 tests/house/prose.py FILE...' lists them)"
	result "$1: at most ${most:-0} places ($count)" "$over"
	[ "$count" -ge $((${most:-0} - 20)) ] || echo "# lower '$1' in tests/house/prose.budget to $count"
}

guides=$(ls README.md schema/README.md src/README.md ui/README.md lua/README.md plugins/README.md tests/README.md)
tables=$(ls src/*/*.def ui/*/*.def)
within 'guides and tables' "$(places $guides $tables)"
for topic in '' keys console exit; do
	"$SANDGLASS" help $topic
done >"$t/help.md"
result 'the help uses no banned phrase' "$(places "$t/help.md" | grep -vE ': [0-9]+ (words|columns)' | sed "s|^$t/||")"

list=$(find src ui lua plugins tests -name '*.c' -o -name '*.h' -o -name '*.lua' -o -name '*.md' -o -name '*.def' |
	grep -vE '^tests/(npm|fuzz/corpus)/' | LC_ALL=C sort | xargs python3 tests/house/prose.py)
within 'comments and tests' "$list"
echo "1..$n"
exit $bad
