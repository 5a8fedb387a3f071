#!/usr/bin/env bash
# Prose rules: guides, tables of the help and of events, manual pages, and the help itself break none; comments and
# tests break at most as many as tests/house/prose.budget says. The budget only falls. As TAP.
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

zero=$(ls README.md schema/README.md src/README.md ui/README.md lua/README.md plugins/README.md tests/README.md \
	src/*/*.def ui/*.def)
result 'guides and tables break no rule' "$(places $zero)"
"$SANDGLASS" help >"$t/help.md"
for topic in $("$SANDGLASS" help --json | sed 's/.*"command":"\([a-z_-]*\)".*/\1/'); do
	"$SANDGLASS" help "$topic" 2>/dev/null
done | sed 's/|//g' >"$t/commands.md"
for page in man/*.[1-9]; do
	[ -e "$page" ] && sed 's/^\.[A-Z][A-Za-z]* *//; s/\\f[A-Z]//g' "$page"
done >"$t/manual.md"
result 'the help and the manual pages use no banned phrase' "$(places "$t"/*.md | grep -vE ': [0-9]+ (words|columns)' | sed "s|^$t/||")"

budget=$(grep -oE '^[0-9]+' tests/house/prose.budget)
list=$(find src ui lua plugins tests -name '*.c' -o -name '*.h' -o -name '*.lua' -o -name '*.md' -o -name '*.def' |
	grep -vE '^tests/(npm|fuzz/corpus)/' | LC_ALL=C sort | xargs python3 tests/house/prose.py)
count=$(grep -c . <<<"$list")
over=
[ "$count" -le "$budget" ] || over="$count places, the budget is $budget: rewrite some (python3 tests/house/prose.py FILE lists them)"
result "comments and tests break at most $budget rules ($count)" "$over"
slack=
[ $((budget - count)) -le 60 ] || slack="only $count places are left: lower the number in tests/house/prose.budget to $count"
result 'the budget follows the count down' "$slack"
echo "1..$n"
exit $bad
