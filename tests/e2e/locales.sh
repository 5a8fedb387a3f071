#!/usr/bin/env bash
# No output depends on the locale or the time zone: the same short session gives the same events and the same JSON, also
# if the zone changes during the session.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cd "$t" || exit 1
mkdir repo && git init -q repo && printf 'eins\nzwei\n' >repo/f && git -C repo add f && git -C repo commit -qm one
cat >job.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "job", repo = "repo", limits = { cpus = 1.5 } }
assert(box:exec "printf '日本語 ıİ %s\n' 1.5 >> f; echo ISTANBUL >> i")
print(("%.2f %s"):format(1.5, ("TITLE"):lower()))
print(box:diff():stat())
assert(box:exec({ "sh", "-c", "date +%Z; exit 3" }))
L
asked() { grep -E '"kind": ?"(note|action\.(requested|ended))"' | sed -E 's/.*"kind": ?"([a-z.]*)".*/\1/' ; }
# Each locale is made here if the machine has it not, and shows that it is in force: a number, a letter, a day.
witness() {
	case $1 in
	de_DE*) LC_ALL=$1 locale decimal_point ;;
	tr_TR*) LC_ALL=$1 bash -c 'x=i; echo "${x^}"' ;;
	ja_JP*) LC_ALL=$1 date -u -d @0 +%A ;;
	esac 2>/dev/null
}
witnesses() { echo "$(witness de_DE.UTF-8) $(witness tr_TR.UTF-8) $(witness ja_JP.UTF-8)"; }
if [ "$(witnesses)" != ', İ 木曜日' ]; then
	need localedef
	mkdir locales
	for l in de_DE tr_TR ja_JP; do
		localedef -i $l -f UTF-8 "locales/$l.UTF-8" >>"$t/out" 2>&1
	done
	export LOCPATH=$t/locales
fi
is "$(witnesses)" ', İ 木曜日' 'the locales are in force'
for l in C de_DE.UTF-8 tr_TR.UTF-8 ja_JP.UTF-8; do
	LC_ALL=$l LANG=$l TZ=UTC timeout 60 "$sg" run job.lua --name "l-$l" >"$t/out" 2>&1 </dev/null
	is $? 0 "$l: the session ends well"
	like "$(cat "$t/out")" '1\.50 title' "$l: numbers and letters as ever"
	LC_ALL=$l "$sg" verify "l-$l" >"$t/out" 2>&1
	is $? 0 "$l: verifies"
	LC_ALL=$l "$sg" diff "l-$l" >"$t/diff-$l" 2>"$t/out"
	cmp -s "$t/diff-C" "$t/diff-$l"
	ok $? "$l: the same diff"
	LC_ALL=$l "$sg" events "l-$l" --json | tee "$t/json-$l" | asked >"$t/kinds-$l"
	cmp -s "$t/kinds-C" "$t/kinds-$l"
	ok $? "$l: the same actions in the same order"
	LC_ALL=$l "$sg" events l-C --json >"$t/again" 2>"$t/out"
	LC_ALL=C "$sg" events l-C --json | cmp -s - "$t/again"
	ok $? "$l: the same session as the same JSON"
	LC_ALL=$l "$sg" replay l-C --screen >"$t/screen-$l" 2>"$t/out"
	is $? 0 "$l: a screen"
	[ $l = C ] || is "$(cat "$t/screen-$l")" "$(cat "$t/screen-de_DE.UTF-8")" "$l: the same one as elsewhere"
done

# the zone of the machine changes while a session runs; those who look live in another one, too
cat >zone.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "zone" }
assert(box:exec "echo one")
assert(box:exec("echo two", { env = { TZ = "Asia/Tokyo" } }))
assert(box:exec "echo three")
L
# (a zone file is what a person's machine has; without any installed a rule does)
zone=:$t/localtime
cp /usr/share/zoneinfo/Asia/Tokyo localtime 2>/dev/null || zone=JST-9
id=$(TZ=$zone "$sg" run -d zone.lua --hold 'cmd:*two*' 2>"$t/out")
held() { TZ=America/Los_Angeles "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 20 is_held
[ "$zone" = JST-9 ] || { cp /usr/share/zoneinfo/America/Los_Angeles new && mv new localtime; } # 17 hours back
TZ=Pacific/Kiritimati "$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
is $? 0 'a decision from another zone'
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 20 ended
TZ=Asia/Tokyo "$sg" verify "$id" >"$t/out" 2>&1
is $? 0 'the record verifies'
TZ=Asia/Kathmandu "$sg" events "$id" --json >"$t/json"
times=$(grep -oE '"time": ?"[^"]*"' "$t/json")
is "$times" "$(printf '%s\n' "$times" | sort)" 'times in the record never go back'
is "$(TZ=UTC "$sg" events "$id" --json | cksum)" "$(cksum <"$t/json")" 'JSON is in UTC wherever it is read'
finish
