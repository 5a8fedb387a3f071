#!/usr/bin/env bash
# The README keeps its word: its picture is the program's, its commands and make targets exist.
set -u
: "${SANDGLASS:?the program under test}"
top=$(cd "$(dirname "$0")/../.." && pwd)
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1; echo "not ok $n - $2"; fi; }
picture=$(sed -n '/^```text$/,/^```$/p' "$top/README.md" | sed '1d;$d')
golden=$(sed '/^====/,$d' "$top/tests/screens/fleet-80x24.txt")
[ "$picture" = "$golden" ]
ok $? 'the picture is the screen that tests/unit/ui/t_screens compares with the program'
names=$(sed -n '/^## Commands$/,/^## HACKING$/p' "$top/README.md" | tr '\n' ' ' | grep -oE '`[a-z ]+`' | head -1 | tr -d '`')
[ "$(echo "$names" | wc -w)" -gt 30 ]
ok $? 'commands are listed'
for name in $names; do
	"$SANDGLASS" help "$name" >/dev/null 2>&1
	ok $? "command $name exists"
done
for target in $(grep -oE 'make (demo|test|check|bench|golden|fuzz|san|tidy)\b' "$top/README.md" | awk '{ print $2 }' | sort -u); do
	grep -qE "^([a-z -]+ )?$target( [a-z -]+)?:" "$top/Makefile"
	ok $? "make $target exists"
done
for file in $(grep -oE '`(src|ui|lua|tests|schema)/[A-Za-z_./-]+`' "$top/README.md" | tr -d '`' | grep -v 'NAME' | sort -u); do
	[ -e "$top/$file" ]
	ok $? "$file exists"
done
echo "1..$n"
exit $bad
