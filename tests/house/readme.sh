#!/usr/bin/env bash
# The README and the guides keep their word: pictures are the program's, commands, targets, and files exist.
set -u
: "${SANDGLASS:?the program under test}"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1; echo "not ok $n - $2"; fi; }
guides="README.md lua/README.md plugins/README.md ui/README.md src/README.md"
[ "$(wc -l <README.md)" -le 180 ]
ok $? 'the README has at most 180 lines'
python3 ui/hero.py tests/screens/approval-80x24.txt | cmp -s - ui/hero.svg
ok $? 'the hero picture is the golden approval screen (ui/hero.py draws it)'
for screen in fleet approval; do
	golden=$(sed '/^====/,$d' "tests/screens/$screen-80x24.txt")
	[[ $(cat ui/README.md) == *"$golden"* ]]
	ok $? "the picture of the $screen screen is the golden one"
done
names=$({ grep -hE '^    sandglass ' $guides; grep -ohE '`sandglass [^`]+' $guides; } |
	grep -oE 'sandglass [a-z][a-z-]+' | awk '{ print $2 }' | sort -u)
listed=$("$SANDGLASS" help --json | sed 's/.*"command":"\([a-z_-]*\)".*/\1/')
for name in $names; do
	grep -qx "$name" <<<"$listed"
	ok $? "command $name exists"
done
for target in $(cat $guides | grep -oE 'make (demo|test|check|bench|golden|fuzz|san|tidy)\b' | awk '{ print $2 }' | sort -u); do
	grep -qE "^([a-z -]+ )?$target( [a-z -]+)?:" Makefile
	ok $? "make $target exists"
done
for file in $(cat $guides | grep -oE '`(src|ui|lua|tests|schema|plugins)/[A-Za-z_./-]+`' | tr -d '`' | grep -v 'NAME' | sort -u); do
	[ -e "$file" ]
	ok $? "$file exists"
done
wide=$(python3 - $guides <<'P'
import sys
for path in sys.argv[1:]:
    for n, line in enumerate(open(path), 1):
        if len(line.rstrip("\n")) > 100 and not line.startswith("|"):
            print(f"{path}:{n}", end=" ")
P
)
[ -z "$wide" ]
ok $? "lines have at most 100 columns $wide"
echo "1..$n"
exit $bad
