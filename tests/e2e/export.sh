#!/usr/bin/env bash
# Exports: each format is written completely or not at all, and read by a third-party reader if one is installed.
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
[ -s "$whole" ]
ok $? 'a session'
actions=$("$sg" events whole --json | grep -c '"kind":"action.requested"')
replies=$("$sg" events whole --json | grep -c '"kind":"model.reply"')

# what people type
fails 'an unknown form: the near one is named, and the command that lists them' "2 usage 'html5' 'html' --list" "$sg" export whole -F html5
fails 'also when only its beginning was typed' "2 usage 'asciicast' 'asciicast-v2'" "$sg" export whole -F asciicast
fails 'no form: the same command is named' '2 usage --list' "$sg" export whole
is "$("$sg" export --list | wc -l)" "$("$sg" export --list --json | grep -c '"needs_output"')" 'the list, with and without --json'
is "$("$sg" export whole -F md | head -3)" "$("$sg" export whole -F markdown | head -3)" "what only one form's files end in names it, too"
"$sg" export whole -F json >"$t/out" 2>&1
is $? 2 'what several end in names none'
"$sg" export whole -F git >"$t/out" 2>&1
is $? 2 'a folder wants -o'
echo mine >"$t/there"
for other in otel:otlp sandglass:glass; do
	"$sg" export whole -F "${other%:*}" -o "$t/other" -f --json >"$t/out" 2>&1
	like "$?$(cat "$t/out")" "^0.*\"format\":\"${other#*:}\"" "-F ${other%:*}: ${other#*:}"
	rm -f "$t/other"
done
"$sg" export whole -F jsonl -o "$t/there" >"$t/out" 2>&1
is "$?$(cat "$t/there")" "2mine" 'a file that is there is kept'
"$sg" export whole -F jsonl -o "$t/no/such/folder" >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'a place that is not there: one line'
like "$("$sg" export whole -F jsonl -o "$t/j" --json)" '^\{"schema":1,"session":"s-f00001","format":"jsonl",' '--json tells what was written'
is "$(ls "$t" | grep -c part-)" 0 'nothing half is left'

# half of a session file
head -c 40000 "$whole" >"$t/half.glass"
"$sg" export "$t/half.glass" -F jsonl -o "$t/h" >"$t/out" 2>&1
[ $? -ne 0 ] && [ ! -e "$t/h" ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'half of a session file: one line, no file'
head -c 3000 /dev/urandom >"$t/noise.glass"
"$sg" export "$t/noise.glass" -F atif -o "$t/h" >"$t/out" 2>&1
[ $? -ne 0 ] && [ ! -e "$t/h" ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'noise: one line, no file'

# jsonl
is "$(wc -l <"$t/j")" $(($(sqlite3 "$whole" 'SELECT count(*) FROM event') + 1)) 'jsonl: every event'
python3 -c 'import json,sys; [json.loads(l) for l in open(sys.argv[1])]' "$t/j"
ok $? 'jsonl: each line is JSON'

# casts
for v in 2 3; do
	"$sg" export whole -F asciicast-v$v -o "$t/v$v.cast" >/dev/null
	read -r out marks < <(python3 "$here/exchange/check_cast.py" "$t/v$v.cast")
	[ "${out:-0}" -gt "$actions" ] && [ "$marks" = $((actions - replies)) ]
	ok $? "asciicast $v: rules kept, a marker for each action"
done
python3 "$here/exchange/check_cast.py" "$t/v2.cast" text | tail -n +2 >"$t/a"
python3 "$here/exchange/check_cast.py" "$t/v3.cast" text | tail -n +2 >"$t/b"
cmp -s "$t/a" "$t/b"
ok $? 'asciicast 2 and 3 draw the same'
if command -v asciinema >/dev/null; then
	"$sg" export "whole#$("$sg" events whole --filter kind:exec --json | sed 's/.*"seq":\([0-9]*\),.*/\1/' | head -1)" \
		-F asciicast-v2 -o "$t/one.cast" >/dev/null
	LC_ALL=C.UTF-8 script -qec "asciinema play -s 100 -i 0.01 $t/one.cast" "$t/typescript" </dev/null >/dev/null
	is $? 0 'asciinema plays it'
else
	skip 'asciinema is not installed (apt-get install asciinema)'
fi

# conversations
"$sg" export whole -F atif -o "$t/atif" >/dev/null
read -r steps calls in out < <(python3 "$here/exchange/check_atif.py" "$t/atif")
is "$calls" $((actions - replies)) 'ATIF: rules kept, every action is a call'
is "$in $out" "$(sqlite3 -separator ' ' "$whole" "SELECT sum(json_extract(body, '\$.usage.in')), sum(json_extract(body, '\$.usage.out')) FROM event WHERE kind = 431")" 'ATIF: tokens'
"$sg" export whole -F inspect -o "$t/inspect.json" >/dev/null
python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(sum(e["event"]=="tool" for s in d["samples"] for e in s["events"]))' "$t/inspect.json" >"$t/n"
is "$(cat "$t/n")" $((actions - replies)) 'Inspect: every action is a tool event'
if python3 -c 'import inspect_ai' 2>/dev/null; then
	python3 -c 'import sys; from inspect_ai.log import read_eval_log; read_eval_log(sys.argv[1])' "$t/inspect.json"
	ok $? 'Inspect: its own reader takes it'
else
	skip 'inspect_ai is not installed (pip install inspect_ai)'
fi
"$sg" export whole -F otlp -o "$t/otlp" >/dev/null
read -r spans how < <(python3 "$here/exchange/check_otlp.py" "$t/otlp")
is "$spans" $((actions + 3 + 1)) "OTLP: a span for each action, agent and the session ($how)"
"$sg" export whole -F markdown >"$t/md"
like "$(cat "$t/md")" "^\\| actions \\| $((actions - replies)) \\|" 'Markdown: sums'

like "$(cat "$t/md")" '^- \*\*#[0-9]+\*\* exec .*: exit 2, ' 'Markdown: a command that failed is not called ok'
unlike "$(cat "$t/md")" ': ok, exit' 'nor one that did both'

# recorded text stays text in a page: a hostile file name, output, and answer
cat >"$t/hostile.lua" <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:exec "echo '</script><script>document.title=1</script><img src=x onerror=alert(1)>'; printf '\\033]52;c;eA==\\007\\033[31mred\\033[0m\\n'"
box:write("a<b>.txt", "one\ntwo\n")
box:edit("a<b>.txt", "two", "zwei")
box:exec "kill -9 $$"
LUA
accept_any
timeout 120 "$sg" run "$t/hostile.lua" --name hostile --no-input --no-tui $accept >"$t/out" 2>&1 </dev/null
ok $? 'a session with hostile content'
"$sg" export hostile -F html -o "$t/page.html" >/dev/null
is "$(grep -c '<script' "$t/page.html")" 2 'HTML: no script but its own two blocks'
like "$(cat "$t/page.html")" "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]*'; style-src 'sha256-" 'HTML: its policy lets nothing else run'
want=$(python3 - "$t/page.html" <<'PY'
import base64, hashlib, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
code = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
print("sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode())
PY
)
grep -qF "script-src '$want'" "$t/page.html"
ok $? 'HTML: the policy names the hash of the script'
browser=$(command -v chromium-headless-shell || command -v chromium || true)
if [ -n "$browser" ]; then
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$t/chrome" --virtual-time-budget=3000 --dump-dom \
		"file://$t/page.html" >"$t/dom" 2>/dev/null
	like "$(cat "$t/dom")" '<article class="action' 'HTML: a browser plays it'
	unlike "$(cat "$t/dom")" '<title>1|<img' 'HTML: nothing recorded has become markup'
else
	skip 'no Chromium here (apt-get install chromium-headless-shell)'
fi
"$sg" export hostile -F asciicast-v3 -o "$t/hostile.cast" >/dev/null
python3 "$here/exchange/check_cast.py" "$t/hostile.cast" >/dev/null
ok $? 'a cast does not speak to the clipboard'

# a command that a signal has ended is nowhere told as ok
is "$("$sg" export hostile -F md | grep -o 'kill -9.*: [a-z]* [0-9]*') $("$sg" export hostile -F asciicast-v2 | grep -o 'signal 9') $("$sg" export hostile -F html | grep -o '"end":"[^"]* 9"') \
$("$sg" export hostile -F atif | jq -c '[.. | .signal? // empty]') $("$sg" export hostile -F inspect | jq -c '[.. | .metadata?.end? // empty] | last') \
$("$sg" export hostile -F otlp | jq -c '[.. | select(.key? == "error.type") | .value.stringValue]')" 'kill -9 $$`: signal 9 signal 9 "end":"signal 9" [9] "signal 9" ["signal 9"]' 'a signal is said in each form'
"$sg" export hostile -F atif -o "$t/signal.atif" >/dev/null && "$sg" import "$t/signal.atif" --name signal >/dev/null
like "$("$sg" events signal --filter is:error)" 'exec: kill -9' 'and comes back with an import'

# a part of it
is "$("$sg" export hostile -F jsonl --filter 'kind:write,edit' | jq -r 'select(.kind == "action.requested") | .body.kind' | xargs)" 'write edit' 'jsonl: only what a filter matches'
is "$("$sg" export hostile -F jsonl --filter 'is:error' | jq -r 'select(.kind) | .kind' | xargs)" 'action.requested action.judged action.started action.ended' 'with all that belongs to it'
is "$("$sg" export hostile -F asciicast-v2 --filter kind:edit | grep -c '"m"') $("$sg" export hostile -F html --filter kind:edit | grep -c '"type":"action"')" '1 1' 'a recording and a page, too'
fails 'a form that cannot is named, with the option' '2 usage atif --filter' "$sg" export hostile -F atif --filter kind:edit -o none
like "$("$sg" export hostile -F jsonl --filter 'cmd:nowhere' 2>&1)" 'nothing matches the filter' 'so does one that finds nothing'

fails 'an event that is not there' '2 noent #99999' "$sg" export 'hostile#99999' -F jsonl -o none

# files at any event
is "$(sqlite3 "$SANDGLASS_SESSIONS"/*hostile*.glass "SELECT count(*), sum(json_extract(body, '\$.shared')), sum(json_array_length(body, '\$.by')) FROM event WHERE kind = 210 AND json_extract(body, '\$.changed') > 0")" \
	'2|0|2' 'each change is that of one action: a command before it that changed nothing has no part in it'
is "$("$sg" cat 'a<b>.txt' --at hostile)" $'one\nzwei' 'cat: at the end'
first=$("$sg" events hostile --filter kind:write --json | sed 's/.*"seq":\([0-9]*\),.*/\1/' | head -1)
edit=$("$sg" events hostile --filter kind:edit --json | sed 's/.*"seq":\([0-9]*\),.*/\1/' | head -1)
is "$("$sg" cat 'a<b>.txt' --at "hostile#$first")" $'one\ntwo' 'cat: at an action'
like "$("$sg" tree hostile)" '^A file 0644  a<b>\.txt$' 'tree'
like "$("$sg" blame 'a<b>.txt' --at hostile)" "^#$edit +2  zwei" 'blame: the edited line'
like "$("$sg" blame 'a<b>.txt' --at hostile)" "^#$first +1  one" 'blame: the line that stayed'
like "$("$sg" blame 'a<b>.txt' --at hostile --json | sed -n 2p)" "\"action\":$edit,.*\"verdict\":\"allow\"" 'blame --json: action and verdict'
is "$("$sg" when two --at hostile --json | sed 's/.*"what":"\([a-z]*\)".*"action":\([0-9]*\).*/\1 \2/')" "appeared $first
vanished $edit" 'when: appeared, vanished'
"$sg" when nowhere --at hostile >/dev/null 2>"$t/out"
is "$? $(grep -c 'when: no recorded file change' "$t/out")" '1 1' 'when: not at all, and it says so'
"$sg" tree hostile -o "$t/co" >/dev/null
is "$(cat "$t/co/a<b>.txt")" $'one\nzwei' 'tree -o: written'
"$sg" cat none --at hostile >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'cat: a file of which nothing is known: one line'

# git
"$sg" export hostile -F git -o "$t/h.git" >/dev/null
git --git-dir="$t/h.git" fsck --strict >"$t/out" 2>&1
ok $? 'git: fsck'
is "$(git --git-dir="$t/h.git" show 'HEAD:a<b>.txt')" $'one\nzwei' 'git: the last commit has the last files'
is "$(git --git-dir="$t/h.git" show 'HEAD~1:a<b>.txt')" $'one\ntwo' 'git: the one before the ones before'
like "$(git --git-dir="$t/h.git" log -1 --format=%B)" "^Sandglass-Action: #$edit" 'git: trailers'
"$sg" export hostile -F git -o "$t/h.git" >"$t/out" 2>&1
is $? 2 'git: never into a folder that is there'
mkdir "$t/apply" && git -C "$t/apply" init -q
"$sg" export hostile -F patch >"$t/p" && git -C "$t/apply" apply "$t/p"
is "$(cat "$t/apply/a<b>.txt")" $'one\nzwei' 'patch: git applies it'

# One command changes more files than the list of its snapshot holds: the rest is evidence, too.
mkdir "$t/w" && git init -q "$t/w/repo" && echo was >"$t/w/repo/zold"
cat >"$t/w/wide.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo", name = "b" }
assert(box:run "mkdir d; for i in $(seq 2100); do echo $i >d/$i; done; rm zold; echo evil >zz")
assert(box:run "rm -r d zz; echo was >zold; echo 1 >a; mkdir e; echo 1 >e/f")
assert(box:run "rm -r e; echo 1 >e; rm a; mkdir a; echo 1 >a/b")
assert(box:run "rm e; mkdir e; ln -s a lk; mkfifo p")
L
cat >"$t/w/tree.lua" <<'L'
return require("sandglass.verify").checks(function(log, t) t:equal("trees", log:final_tree(), log:rebuild_tree()) end)
L
cd "$t/w" || exit 1
"$sg" run --no-tui --no-input --name wide wide.lua >"$t/out" 2>&1 </dev/null
is $? 0 'thousands of files changed at once'
ran=($("$sg" events wide --filter kind:exec --json | jq .seq))
out=$("$sg" verify wide --check 'paths=d/*,zold,a,a/*,e,e/*,lk,p' --with tree.lua)
is $? 1 'a check of paths fails'
like "$out" 'nothing outside .*: 2 changes: zz, zz ' 'for the one file that is behind the end of the list'
like "$out" 'ok +tree.lua +trees: equal' 'and the changes still make the trees'
is "$("$sg" when evil --at wide --json 2>&1 | jq -r '"\(.what) \(.path) \(.who.action)"')" "appeared zz ${ran[0]}
vanished zz ${ran[1]}" 'when: it appeared, and vanished'
"$sg" cat d/2000 --at wide >"$t/out" 2>&1
like "$? $(cat "$t/out")" "^2 .*#${ran[1]} removed it" 'a file that is gone behind the end of the list is gone'
is "$("$sg" cat d/999 --at "wide#${ran[0]}")" 999 'and was there before'
is "$("$sg" blame d/2000 --all 2>&1 >/dev/null | grep -cE "session s-[a-z0-9]+: .*#${ran[1]} removed it")" 1 'blame --all names the session by its id'
like "$("$sg" cat zold --at "wide#${ran[0]}" 2>&1)" "#${ran[0]} removed it" 'one of the base, too'
"$sg" export wide -F git -o "$t/wide.git" >"$t/out" 2>&1
at=($(git -C "$t/wide.git" log --reverse --all --format=%h))
like "$(cat "$t/out")" 'left out: contents of p \(no file\)$' 'git: what it cannot hold is said'
is "$(git -C "$t/wide.git" ls-tree -r "${at[4]}" | cut -d' ' -f1,2 | paste -d: - <(git -C "$t/wide.git" ls-tree -r --name-only "${at[4]}") | xargs)" '100644 blob:a/b 120000 blob:lk 100644 blob:zold' 'git: a link is one, a folder in the place of a file is none'
is "$(git -C "$t/wide.git" ls-tree -r --name-only "${at[0]}" | xargs) $(git -C "$t/wide.git" ls-tree -r --name-only "${at[2]}" | xargs)" 'zold a e/f zold' 'git: the base and each commit have what was there, and no more'

# a file that is moved keeps who wrote its lines
mkdir "$t/mv" && printf 'one\ntwo\n' >"$t/mv/old" && chmod -R a+rX "$t/mv"
cat >"$t/moved.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = sg.args { repo = "." }.repo, name = "b" }
assert(box:run "sed -i s/two/TWO/ old; echo x >other")
assert(box:run "mkdir d; mv old d/new")
assert(box:run "echo three >>d/new; mv other d/o")
assert(box:run "mv d/new last")
L
"$sg" run --no-tui --no-input --name moved "$t/moved.lua" -- --repo "$t/mv" >"$t/out" 2>&1 </dev/null
ran=($("$sg" events moved --filter kind:exec --json | jq .seq))
is "$("$sg" blame last --at moved --json | jq -r '"\(.action // "base") \(.text)"')" "base one
${ran[0]} TWO
${ran[2]} three" 'blame through moves: base, and the two that wrote'
is "$("$sg" blame d/o --at moved --json | jq -r .action)" "${ran[0]}" 'of each file its own'

# A command that a user has edited: exports, checks, and blame show the command that ran and the requested one.
mkdir "$t/e" && git init -q "$t/e/repo"
cat >"$t/e/turns.lua" <<'L'
return { { call = { "shell", { cmd = "echo wanted >m.txt" } } }, { say = "done" } }
L
cat >"$t/e/edit.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo", name = "b" }
assert(sg.agent.run { task = "x", box = box, model = "scripted:turns.lua", name = "a" })
L
echo 'local p = require "sandglass.policy" return p.rules { default = "boxed", p.ask "all" { cmd = "echo *" } }' >"$t/e/asks.lua"
cat >"$t/e/check.lua" <<'L'
return require("sandglass.verify").checks(function(log, t)
  for e in log:each "kind:exec" do t:check(("ran %s, wanted %s"):format(e.cmd, e.proposed), true) end
end)
L
cd "$t/e" || exit 1
"$sg" run --no-tui --name changed --policy asks.lua edit.lua >"$t/out" 2>&1 </dev/null &
held() { "$sg" state -S changed 2>/dev/null | grep -oE 'HELD #[0-9]+'; }
wait_for 30 held
held=$(held)
"$sg" approve "${held##*#}" -S changed --cmd 'echo edited >m.txt' -m 'like this' >/dev/null
wait
like "$("$sg" verify changed --with check.lua)" 'ran echo edited >m.txt, wanted echo wanted >m.txt' 'edited: a check sees what ran'
for word in 'cmd:"echo edited*"' 'cmd~wanted'; do
	like "$("$sg" search "$word" --in changed 2>&1)" 'echo (wanted|edited) >m.txt  \(edited; ran: echo edited >m.txt\)' "search $word: either leads to it"
done
out=$("$sg" blame m.txt --at changed)
like "$out" 'a exec echo edited >m.txt' 'blame names the command that wrote the line'
like "$out" 'wanted +echo wanted >m.txt' 'beside the one that was wanted'
like "$out" 'message +like this' 'and what the person said'
for F in markdown otlp html inspect atif asciicast-v3; do
	"$sg" export changed -F $F >"$t/out" 2>/dev/null
	is "$(grep -q 'echo edited >m' "$t/out" && grep -q 'echo wanted >m' "$t/out"; echo $?)" 0 "$F has both"
done
is "$("$sg" export changed -F inspect 2>/dev/null | jq -r '.samples[].events[] | select(.event == "approval") | .decision, .modified.arguments.cmd, .call.arguments.cmd')" \
	$'modify\necho edited >m.txt\necho wanted >m.txt' 'inspect: as its own modified call'
"$sg" export changed -F git -o "$t/e.git" >/dev/null
like "$(git --git-dir="$t/e.git" log -1 --format=%B)" '^exec echo edited >m.txt$' 'git: what ran, byte for byte'
like "$(git --git-dir="$t/e.git" log -1 --format=%B)" '^Sandglass-Proposed: echo wanted >m.txt$' 'git: and the requested command'
git --git-dir="$t/e.git" fsck --strict >"$t/out" 2>&1
ok $? 'git: fsck of that'
finish
