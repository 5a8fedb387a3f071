#!/usr/bin/env bash
# Reads a recorded session from the command line: complete, interrupted, damaged, and read-only.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ]; then
	skip "$make is not built (make helpers)"
	finish
fi
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -m 700 "$t/sessions"
whole=$("$make" "$t/sessions" whole 2000 3 1)
torn=$("$make" "$t/sessions" torn 400 2 20002 --crash)
[ -s "$whole" ] && [ -s "$torn" ]
ok $? 'two sessions'

states() { "$sg" ls --json | jq -r '"\(.name) \(.state)"' | sort | xargs; }
is "$(states)" 'torn interrupted whole ended' 'ls: one has ended, one was broken off'
like "$("$sg" ls)" " torn .*'sandglass resume s-[a-z0-9]+'" 'and how to continue it'
is "$("$sg" ls --json | grep -c '^{"schema":1,"session":"s-')" 2 'ls --json: a line each'
id=$("$sg" ls whole --json | sed 's/.*"session":"\([^"]*\)".*/\1/')
like "$id" '^s-[a-z0-9]{6}$' 'an id'

is "$("$sg" show "$id" --json | jq -r .state)" ended 'show by id'
is "$("$sg" show "${id%?}" --json | jq -r .name)" whole 'show by a beginning of the id'
is "$("$sg" show whole --json | jq -r .session)" "$id" 'show by name'
like "$("$sg" show "$whole")" '^name +whole' 'show by path'

all=$("$sg" events "$id" --json | wc -l)
is "$all" "$("$sg" show "$id" --json | sed 's/.*"events":\([0-9]*\).*/\1/')" 'events --json: every event'
is "$("$sg" events "$id" --json | sed 's/.*"seq":\([0-9]*\).*/\1/' | head -1)" 1 'events begin with 1'
is "$("$sg" events "$id" --all | wc -l)" "$all" 'events --all: a line each'
is "$("$sg" events "$id" --last 7 | wc -l)" 7 'events --last'
is "$("$sg" events "$id" --all --since $((all - 3)) | wc -l)" 3 'events --since'
is "$("$sg" events "$id" --all -f | wc -l)" "$all" 'events -f of an ended session ends'
execs=$("$sg" events "$id" --filter kind:exec | wc -l)
[ "$execs" -gt 0 ] && [ "$execs" -lt "$all" ]
ok $? 'events --filter'
unlike "$("$sg" events "$id")" $'\033' 'no escape reaches the screen'

a=$("$sg" events "$id" --filter 'kind:exec' --json | sed 's/.*"seq":\([0-9]*\),.*/\1/' | head -1)
like "$("$sg" show "$id#$a")" 'kind +action.requested' 'show an action'
b=$("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "exec" and .body.args) | .seq' | head -1)
b=${b:-$a}
is "$("$sg" show "$id#$b" | grep -c '^{')" 0 'for reading: no JSON'
is "$("$sg" show "$id#$b" --verbose | grep -c '^{$')" 1 '--verbose: the recorded request'
is "$("$sg" show "$id#$b" --json | head -1 | jq -r .kind)" action.requested '--json: the raw event'
"$sg" out "$id#$a" >"$t/o1" 2>"$t/e1"
is $? 0 'out'
"$sg" out "$id#$a" -f >"$t/o2" 2>"$t/e2"
cmp -s "$t/o1" "$t/o2" && cmp -s "$t/e1" "$t/e2"
ok $? 'out -f gives the same'

row() { "$sg" ls whole --json | jq -r "[$1] | join(\" \")"; }
is "$(row '(.agents | length), .cost_unknown, .unmerged, .verified')" '3 false 0 ' 'ls: agents, a known cost, nothing unmerged, not verified'
is "$(row '.failed, .denied')" "$("$sg" report "$id" --json | jq -r 'select(.session) | "\(.failed) \(.denied + .denied_by_rule)"')" 'failed and denied as report counts them'
out=$("$sg" verify "$id" --json)
is $? 0 'verify'
is "$(row .verified)" verified 'ls shows that it is verified'
is "$(tail -1 <<<"$out" | jq -r '"\(.session) \(.verdict)"')" "$id verified" 'verify prints its verdict'
out=$("$sg" verify "$id" --quick --json)
is "$?:$(tail -1 <<<"$out" | jq -r '"\(.skipped):\(.ok)"')" 0:5:6 'verify --quick: the checks of events, and the skipped ones'
is "$(tail -1 <<<"$out" | jq -r .verdict)" 'verified in part' 'and no more is claimed'
"$sg" verify "$id" --junit "$t/report.xml" >/dev/null
like "$(cat "$t/report.xml")" '<testsuite name="sandglass verify[^"]*".*failures="0"' 'a JUnit report'
"$sg" verify torn >/dev/null
is $? 0 'what a killed supervisor leaves verifies'

# bytes changed in each table of the recording; derived data (indexes, search) is not evidence
size=$(stat -c %s "$whole")
for table in event segment object message; do
	at=$(sqlite3 "$whole" "SELECT pgoffset + pgsize - 100 FROM dbstat WHERE name = '$table' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET 1")
	cp "$whole" "$t/bad.glass"
	printf '\x5a\xa5\x5a\xa5' | dd of="$t/bad.glass" bs=1 seek="$at" conv=notrunc 2>/dev/null
	"$sg" verify "$t/bad.glass" --anchor '' >"$t/out" 2>&1
	is $? 9 "changed bytes in $table are found: status 9"
done
head -c $((size / 2)) "$whole" >"$t/half.glass"
"$sg" verify "$t/half.glass" --anchor '' >"$t/out" 2>&1
is $? 9 'half a file: status 9'
: >"$t/empty.glass"
"$sg" show "$t/empty.glass" >"$t/out" 2>&1
rc=$?
[ $rc -eq 2 ] || [ $rc -eq 9 ]
ok $? 'an empty file is refused'

mkdir "$t/ro" && cp "$whole" "$t/ro/" && chmod 555 "$t/ro"
like "$("$sg" show "$t/ro/${whole##*/}")" '^state +ended' 'a read-only folder'
chmod 755 "$t/ro"

like "$("$sg" search kind:exec --in "$id" -n 3 2>/dev/null | head -1)" "^$id#[0-9]+: " 'search'
echo 'require("sandglass").note("first\nneedle-%s here\nlast", "word")' >"$t/hay.lua"
"$sg" run "$t/hay.lua" --no-tui --name hay >"$t/out" 2>&1 </dev/null
hit() { "$sg" search needle-word --json "$@" 2>"$t/err" | jq -c .match; }
is "$(hit -U 1)" '{"stream":"message","line":"needle-word here","from":0,"len":11,"before":["first"],"after":["last"]}' 'search: the line of a hit, with context'
is "$("$sg" search needle-word --color always | grep -c "$(printf '\033')\\[1;31mneedle-word")" 1 'the hit is in color'
is "$("$sg" search 'needle-%s' >"$t/out"; echo $?)" 1 'the source of a script is left out'
is "$("$sg" search 'needle-%s' --script --json | jq -r .match.stream)" script 'unless it is asked for'
"$sg" search no-such-word-anywhere >/dev/null
is $? 1 'search that finds nothing'
"$sg" search kind:exec --in "$id" --open --no-tui </dev/null >"$t/out" 2>&1
is $? 0 'search --open'
first=$(sed -n "1s/^$id#\([0-9]*\): .*/\1/p" "$t/out")
like "$(sed -n 2p "$t/out")" " event ${first:-none} exec " 'replays the session from the first match'
"$sg" search no-such-word-anywhere --open >"$t/out" 2>&1
is "$?$(cat "$t/out")" 1 'and nothing when nothing was found'
[ "$("$sg" diff "$id" | wc -l)" -gt 0 ]
ok $? 'diff'
like "$("$sg" diff "$id" --stat)" '[0-9]+ files?  ?\+[0-9]+ -[0-9]+' 'diff --stat'

is "$(
	. <("$sg" completion bash)
	COMP_WORDS=("$sg" show "$id") COMP_CWORD=2
	_sandglass
	echo "${COMPREPLY[*]}"
)" "$id" 'bash completes an id'

"$sg" prune whole >/dev/null 2>&1 </dev/null
is $? 8 'prune does not remove without a yes'
[ -e "$whole" ]
ok $? 'it is there'
env -u USER -u SANDGLASS_USER "$sg" prune whole --yes >/dev/null
[ ! -e "$whole" ] && [ ! -e "$whole-lease" ]
ok $? 'prune --yes'
like "$("$sg" prune --removed)" "chain [0-9a-f]{16} +by $(id -un) +whole" 'a line stays that says what is gone'
fails 'a removed session cannot be shown, and the error names the removal' "2 noent $id whole $(id -un) --removed" "$sg" show whole
mkdir "$t/copies" && echo x >"$t/copies/copy.glass"
like "$(SANDGLASS_SESSIONS=$t/copies "$sg" ls 2>&1)" "  1 [.]glass file there is not named" 'a file with another name is not kept quiet'
is "$("$sg" prune --removed --json | grep -cE '"chain":"[0-9a-f]{64}"')" 1 'with the end of its chain'
mkfifo "$t/hold"
live=$("$make" "$t/sessions" live 200 1 3 --live <"$t/hold" >"$t/live" & exec 9>"$t/hold"; for _ in $(seq 100); do [ -s "$t/live" ] && break; sleep 0.1; done; cat "$t/live"; "$sg" prune live --yes >"$t/out" 2>&1; echo "prune $?"; exec 9>&-; wait)
like "$live" 'prune 1' 'a session that runs is not removed'
like "$(cat "$t/out")" 'is running' 'and says why'

# what boxes have left behind: of a session that has ended, of one that was broken off, of nobody; a rented one
boxes=$HOME/.local/state/sandglass/box rented=$HOME/.local/state/sandglass/rented
over=$("$make" "$t/sessions" over 100 1 31) broken=$("$make" "$t/sessions" broken 100 1 32 --crash)
over=s-$(basename "${over##*-}" .glass) broken=s-$(basename "${broken##*-}" .glass)
mkdir -p "$boxes/$over/b/up" "$boxes/$broken" "$boxes/s-nobody" "$rented"
head -c 3000000 /dev/urandom >"$boxes/$over/b/up/file"
head -c 9000 /dev/urandom >"$boxes/s-nobody/file"
echo '{"id":"sbx-77"}' >"$rented/daytona-0123456789abcdef.json"
like "$("$sg" prune "$over" -n)" ' (2\.9|3\.0) MiB ' 'prune counts what the boxes of a session take'
out=$("$sg" prune --boxes -n)
is $? 0 'prune --boxes says what there is'
like "$(head -1 <<<"$out")" "2\.[89] MiB +folder +$boxes/$over" 'the largest first'
like "$out" "interrupted: .sandglass resume $broken. continues" 'a session that can be resumed keeps its own'
like "$out" "not in the sessions directory: sandglass prune --boxes s-nobody" 'one that nobody here knows is named'
like "$out" "its supervisor has died: sandglass sandbox exec --backend daytona" 'so is what gives back a rented one'
"$sg" prune --boxes >"$t/out" 2>&1 </dev/null
is $? 8 'it does not remove without a yes'
mkdir "$t/elsewhere"
cp "$t"/sessions/*-"${broken#s-}".glass "$t/elsewhere"
ln -s "$t"/sessions/*-"${broken#s-}".glass "$boxes/$broken/.of"
like "$("$sg" prune --boxes -n --sessions "$t/elsewhere")" "interrupted: .sandglass resume $broken. continues" 'also where only a copy of it lies'
mkdir "$t/elsewhere/2026-11-21-folder-abcdef.glass"
"$sg" prune --older-than 0s --yes --sessions "$t/elsewhere" >"$t/out" 2>&1
is "$? $(ls "$t/elsewhere" | xargs) $(wc -l <"$t/elsewhere/removed.jsonl") $(ls -d "$boxes/$broken")" "0 2026-11-21-folder-abcdef.glass removed.jsonl 1 $boxes/$broken" \
	'the copy can be removed, what is no file is left, and the boxes stay'
"$sg" prune --boxes --yes --json >"$t/out"
is "$? $(grep -c '"removed":true' "$t/out") $(ls "$boxes" | tr '\n' ' ')" "0 1 $(printf '%s\n' "$broken" s-nobody | sort | tr '\n' ' ')" 'it removes what nobody needs'
"$sg" prune --boxes s-nobody --yes >/dev/null 2>&1
is "$? $(ls "$boxes")" "0 $broken" 'and the named ones'
finish
