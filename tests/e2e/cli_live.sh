#!/usr/bin/env bash
# The console's verbs from another shell: the addressed session, the first decision, and a watcher's view.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
if ! boxes; then
	skip 'no box can be opened here'
	finish
fi
cd "$t" || exit 1
cat >live.lua <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
local r, err = box:exec "echo first"
print(r and "ran: " .. r.out or "not run: " .. tostring(err))
r, err = box:exec "echo second"
print(r and "ran: " .. r.out or "not run: " .. tostring(err))
LUA
held() { "$sg" state -S "$1" --json | grep -o '"action":[0-9]*' | head -1 | cut -d: -f2; }
is_held() { [ -n "$(held "$1")" ]; }
ended() { ! "$sg" ls --live --json | grep -q "\"$1\""; }

one=$("$sg" run -d live.lua --hold kind:exec --name one)
like "$one" '^s-[a-z0-9]{6}$' 'run -d prints the id'
wait_for 10 is_held "$one"
ok $? 'its first command is held'
is "$("$sg" state --json | jq -r '.result.held[] | "\(.kind) \(.cmd)"' | head -1)" 'exec echo first' 'state says what waits'
like "$("$sg" state)" '^sandbox [a-z0-9]+: ([0-9]+ process|no command is running)' 'and the running commands in its sandbox as text'
unlike "$("$sg" state)" '[{}]' 'nothing of it is JSON'
like "$("$sg" show "$(held "$one")" | grep ^time)" '^time +[0-9-]+ [0-9:]{8} [A-Z]' 'the time of an event has its seconds'
fails 'a name that nobody has' "1 noent 'nobody'" "$sg" pause nobody
like "$("$sg" ls --live)" "^$one +waiting .*\(1 held\)" 'ls says so'
like "$("$sg")" "^$one waiting  one  \(1 held\)" 'and sandglass alone'
a=$(held "$one")
like "$("$sg" complete -- approve '')" "^$a	" 'completion offers its number'
fails 'an action that is not pending cannot be approved, and the pending one is named' "1 noent #99999 #$a" "$sg" approve 99999
"$sg" approve "$one#$a" -m 'fine with me' >"$t/out" 2>&1
is "$? $(cat "$t/out")" "0 approved #$a" 'approve by session#number prints the result'
"$sg" approve "$a" -S "$one" >"$t/out" 2>&1
is $? 1 'the second decision is refused'
like "$(cat "$t/out")" "$(id -un) at [0-9]{2}:[0-9]{2}" 'and told who was first and when'

# On another machine: its shell gets the words as they were typed here.
mkdir -p far/bin
ln -s "$sg" far/bin/sandglass
cat >far/bin/ssh <<'S'
#!/bin/sh
printf '%s\n' "$@" >"$FAR/words"
while [ $# -gt 1 ]; do shift; done
exec sh -c "$1"
S
chmod +x far/bin/ssh
b=$(held "$one")
[ -n "$b" ] || { wait_for 10 is_held "$one"; b=$(held "$one"); }
FAR=$t/far PATH=$t/far/bin:$PATH timeout 60 "$sg" watch --host me@there --no-tui --filter 'kind:exec or "it'\''s"' "$one" </dev/null >far/out 2>&1 &
far=$!
wait_for 10 test -s far/words
is "$(cat far/words)" "--
me@there
sandglass watch --filter 'kind:exec or \"it'\\''s\"' --no-tui '$one'" 'watch --host: what ssh is given'
wait_for 10 grep -q 'exec.*echo first' far/out
ok $? 'and the session there is shown'
kill "$far"
wait "$far" 2>/dev/null
fails 'an option of ssh is no machine' '2 usage --host' "$sg" watch --host -oProxyCommand=true "$one"

two=$("$sg" run -d live.lua --hold kind:exec --name two)
wait_for 10 is_held "$two"
fails 'with several sessions the one must be named: all are listed' "2 usage $one $two --in" "$sg" pause
"$sg" pause -S two
is $? 0 'by name'
like "$("$sg" state -S "${two%??}")" '^paused' 'by a beginning of the id'
no=$(held "$two")
"$sg" deny "$no" -S two -m 'not today' >"$t/out" 2>&1
is "$? $(cat "$t/out")" "0 denied #$no" 'deny'
is "$("$sg" hold -S two --json | jq -r .result.hold)" kind:exec 'hold says what it holds'
is "$("$sg" hold -S two --clear --json | jq -r .result.hold)" '' 'and when it holds nothing'
"$sg" continue -S two
is $? 0 'clear the hold, continue'
wait_for 10 ended "$two"
ok $? 'it ends'
out=$("$sg" events "$two")
like "$out" 'not today' 'the reason is recorded'
like "$out" 'command deny, [0-9]+ by ' 'who asked for what, too'
like "$out" 'not run: .*not today' 'the script receives the message'

timeout 30 "$sg" events -f "$one" >"$t/follow" 2>&1 &
follower=$!
wait_for 10 is_held "$one"
b=$(held "$one")
echo 'echo edited' >"$t/edited"
EDITOR="cp $t/edited" "$sg" approve "$one#$b" --edit >"$t/out" 2>&1
is $? 0 'approve --edit'
wait_for 10 ended "$one"
wait $follower
is $? 0 'events -f ends with the session'
like "$(cat "$t/follow")" 'ran: edited|started as edited: .*echo edited' 'what ran is what was edited'
like "$(tail -1 "$t/follow")" 'session ended' 'the last line is the end'
"$sg" verify "$one" >/dev/null
is $? 0 'the record is whole'
is "$(sqlite3 "$HOME"/.local/share/sandglass/sessions/*-"${one#s-}".glass "SELECT what, wanted IS NOT NULL AND wanted <> what FROM v_action WHERE action = $b")" \
	'echo edited|1' 'for people with sqlite3, too: what ran, and what was wanted'
is "$(sqlite3 "$HOME"/.local/share/sandglass/sessions/*-"${one#s-}".glass "SELECT count(*) FROM v_action WHERE wanted IS NOT NULL")" 1 'which no other action has'
git init -q repo && echo old >repo/a && git -C repo add . && git -C repo commit -qm first && chmod -R a+rX repo
mkdir plain
cat >stay.lua <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "fix", repo = "repo" }
box:exec "echo made >made; mkdir sub; seq 3 >sub/three; echo of-git >.git/own"
local _, why = box:merge { into = "plain", mode = "branch", branch = "made" }
print("merge: " .. tostring(why))
sg.mark "ready"
sg.sleep "1h"
LUA
cat >rules.lua <<'LUA'
local p = require "sandglass.policy"
return p.rules { p.deny "no-keys" { kind = "put", path = "**/*.key", say = "Keys stay outside." } }
LUA
three=$("$sg" run -d stay.lua --policy rules.lua --name three)
is_ready() { "$sg" events "$three" --json | grep -q '"text":"ready"'; }
wait_for 10 is_ready
ok $? 'a box that stays'
like "$("$sg" events "$three")" "merge: .*/plain' is not a git repository; use the modes apply or patch" 'a merge that cannot be: nobody is asked'
is "$("$sg" diff three --name-only | xargs)" 'made sub sub/three' "diff: the workspace's own files"
is "$("$sg" diff three --name-only --path .git)" '.git/own' "what git keeps is shown to who names it"
is "$("$sg" mark --json "$three#3" 'look here' | jq -r '.result.event | type')" number 'a bookmark names its event'
like "$("$sg" merge "$three/fix" --dry-run)" '^would merge: 2 changes to /.*/repo, refs/heads/[^ ]* \(#[0-9]+\)$' 'so does a merge'
mkdir got
is "$("$sg" sandbox cp fix:sub/three got --json | jq -r '"\(.done) \(.path) \(.bytes) \(.host | split("/") | last)"')" 'get sub/three 6 three' 'sandbox cp copies out of a box'
is "$(tr '\n' ' ' <got/three)" '1 2 3 ' 'the same bytes, into a folder'
echo mine >in.txt
like "$("$sg" sandbox cp in.txt "$three:fix:sub/" --json 2>&1)" '^\{"schema":1,"session":"'"$three"'","action":[0-9]+,"done":"put","box":"fix","path":"sub/in.txt","host":".*/in.txt","bytes":5\}$' 'and into one'
"$sg" sandbox cp three:fix:/workspace/sub/in.txt back.txt >"$t/out" 2>&1 && cmp -s in.txt back.txt
ok $? 'it is there'
touch a.key
"$sg" sandbox cp a.key fix: >"$t/out" 2>&1
like "$? $(cat "$t/out")" '^1 .*denied: Keys stay outside' 'what a rule denies is denied'
out=$("$sg" events "$three")
like "$out" 'command box_copy, get, fix, .* by ' 'it is recorded as a command'
like "$("$sg" events "$three" --json | grep action.decided)" '"by":"human".*"name"' 'its question was answered by its person'
shot=$("$sg" sandbox snapshot fix 'so far' --json | sed 's/.*"snapshot":\([0-9]*\),"label":"so far".*/\1/')
like "$shot" '^[0-9]+$' 'sandbox snapshot, with a label'
echo other >in.txt && "$sg" sandbox cp in.txt fix:sub/in.txt >"$t/out" 2>&1 && "$sg" rollback "$shot" >"$t/out" 2>&1 && "$sg" sandbox cp -q fix:sub/in.txt then.txt
is "$(cat then.txt)" mine 'rollback goes back to it'
like "$(cat "$t/out")" "^files are as they were at #$shot: [0-9]+ changes? \\(#[0-9]+\\)$" 'and prints the restored files'
for wrong in 'cp a b' 'cp fix:a fix:b' 'cp fix: .' 'cp fix:none .' 'cp none:a .' 'cp fix:made no/such/' 'cp fix:made' 'snapshot none' 'rm none' 'prone' 'ls fix'; do
	out=$("$sg" sandbox $wrong 2>&1 </dev/null)
	s=$?
	like "$s $(printf '%s\n' "$out" | wc -l) $out" '^[1-9] [12] sandglass' "sandbox $wrong: $(printf '%s' "$out" | head -1)"
done
like "$("$sg" sandbox rm fix 2>&1 </dev/null; echo "=$?")" "nothing closed: sandbox fix of $three: .*3 files not merged" 'sandbox rm asks, and names what is not merged'
is "$("$sg" sandbox rm fix --yes)" 'closed fix' '--yes closes it'
unlike "$("$sg" sandbox ls)" "$three +fix +[0-9]+ processes" 'it has gone'
"$sg" stop --now -S three >/dev/null
wait_for 10 ended "$three"
"$sg" verify "$three" >"$t/out" 2>&1
is $? 0 'the record is whole'
is "$("$sg" sandbox prune -n 2>&1)" "$("$sg" prune --boxes -n 2>&1)" 'sandbox prune is prune --boxes'
like "$("$sg" ls --live 2>&1)" "^sandglass: ls: no running session in '.*'$" 'ls --live: those that are there do not run'
[ -z "$(ls "$XDG_RUNTIME_DIR/sandglass" 2>/dev/null)" ]
ok $? 'no socket is left'

finish
