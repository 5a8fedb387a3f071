#!/usr/bin/env bash
# Labels: given at run, changed on running and ended sessions; commands over many sessions choose by them, with and without
# the catalog; the chain still verifies.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
cat >"$t/a.lua" <<'LUA'
require("sandglass").note("quokka")
LUA
run() { "$sg" run "$t/a.lua" --no-tui "$@" >"$t/out" 2>&1 </dev/null; }
run --name one --label team=core --label nightly
is $? 0 'a session with labels'
run --name two --label team=web
run --name three
labels() { "$sg" ls --json "$1" | python3 -c 'import json, sys; print(json.dumps(json.loads(sys.stdin.readline())["labels"], sort_keys=True))'; }
is "$(labels one)" '{"nightly": "", "team": "core"}' 'ls --json shows names and values'
is "$(labels three)" '{}' 'and none'
names() { "$sg" ls --all --json "$@" | python3 -c 'import json, sys; print(*sorted(json.loads(x)["name"] for x in sys.stdin))'; }
choices() {
	is "$(names --label team)" 'one two' "NAME: it is there, whatever its value ($1)"
	is "$(names --label team=core)" 'one' "NAME=VALUE ($1)"
	is "$(names --label team!=core)" 'three two' "NAME!=VALUE, also without the label ($1)"
	is "$(names --label '!nightly' --label team)" 'two' "!NAME, and two labels ($1)"
	is "$("$sg" search quokka kind:note --label team=web --json | wc -l)" 1 "search ($1)"
	is "$("$sg" report --json --label team | tail -1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["sessions"])')" 2 "report ($1)"
}
choices 'from the files'
touch -d '1 minute ago' "$t"/sessions/*.glass
"$sg" index --catalog -q
choices 'from the catalog'
is "$("$sg" complete -- ls --label t | cut -f1 | sort | tr '\n' ' ')" 'team=core team=web ' 'completion offers the labels of the catalog'
took() { "$sg" report --json | python3 -c 'import json, sys; print(*[x["took_us"] for x in map(json.loads, sys.stdin) if x.get("name") == "three"])'; }
before=$(took)
"$sg" label three nightly=1 'note=two words' >"$t/out" 2>&1
is $? 0 'labels of an ended session'
like "$(cat "$t/out")" '^s-[a-z0-9]+:.* note=two words' 'label prints the labels of the session'
is "$(labels three)" '{"nightly": "1", "note": "two words"}' 'are there at once'
is "$(took)" "${before:-none}" 'report: the session took as long as before'
"$sg" label three nightly- --json >"$t/out" 2>&1
is "$(labels three)" '{"note": "two words"}' 'and removed by NAME-, also with an option after it'
"$sg" verify three >"$t/out" 2>&1
is $? 0 'the chain still verifies'
is "$("$sg" events three --json --filter kind:session.labeled | wc -l)" 2 'each change is an event'
"$sg" label one older=1 >"$t/out" 2>&1
is "$("$sg" events --json 2>/dev/null | head -1 | grep -o '"name":"[a-z]*"' | head -1)" '"name":"three"' 'the newest session is the one that started last, not the one with a new label'
before=$("$sg" events three --json | wc -l)
for word in '' '=x' '-x' 'a b' $'a=\x01' "$(printf '%064d' 1)"; do
	"$sg" label three -- "$word" >"$t/out" 2>&1 && ok 1 "'$word' is refused"
done
for words in 'a=1 a=2' 'a=1 a-'; do
	"$sg" label three $words >"$t/out" 2>&1 && ok 1 "'$words' is refused"
done
is "$("$sg" events three --json | wc -l)" "$before" 'a label of another form, or two of one name, change nothing'
run --name bad --label 'a b'
is $? 2 'and starts no session'
is "$(names)" 'one three two' '(it is not there)'
"$sg" ls --label 'a b' >"$t/out" 2>&1
is $? 2 'as a choice, neither'
# when over the sessions that a label chooses
git init -q "$t/repo" && echo base >"$t/repo/f" && git -C "$t/repo" add f && git -C "$t/repo" commit -qm base
cat >"$t/edit.lua" <<'LUA'
local box <close> = require("sandglass").sandbox { repo = "repo" }
assert(box:exec { "sh", "-c", "echo wallaby >> f" })
LUA
for name in four five; do (cd "$t" && "$sg" run edit.lua --no-tui --name $name --label nr=$name >"$t/out" 2>&1 </dev/null); done
when() { "$sg" when wallaby --all --json "$@" | python3 -c 'import json, sys; print(*(json.loads(x)["session"] for x in sys.stdin))'; }
ids=$("$sg" ls --json --label nr | python3 -c 'import json, sys; print(*reversed([json.loads(x)["session"] for x in sys.stdin]))')
is "$(when)" "$ids" 'when --all: each session, oldest first'
is "$(when --label nr=five)" "${ids#* }" 'and the one with the label'
compared() { "$sg" compare --json "$@" | jq -r 'select(.name).name' | sort | tr '\n' ' '; }
is "$(compared --label nr)" 'five four ' 'compare: those that a label chooses'
"$sg" compare --label nr=five >"$t/out" 2>&1
is $? 2 'one is too few'
blamed() { "$sg" blame f --all --json "$@" | jq -r 'select(.text == "wallaby").session'; }
for how in files catalog; do
	age=300
	[ $how = files ] || for f in $(ls -tr "$t"/sessions/*.glass); do touch -d "$((age--)) seconds ago" "$f"; done
	[ $how = files ] || "$sg" index --catalog -q
	is "$(blamed)" "${ids#* }" "blame --all: the newest session that changed the file ($how)"
	is "$(blamed --label nr=four)" "${ids% *}" "with a label ($how)"
	"$sg" blame nowhere --all >"$t/out" 2>&1
	is $? 2 "and none ($how)"
	is "$(when --path f)" "$ids" "when --path: sessions that changed the file ($how)"
	is "$(when --path g)" '' "or none ($how)"
done
"$sg" redact four --object "$(printf 'base\nwallaby\n' | git hash-object --stdin)" --why test --yes >"$t/out" 2>&1 </dev/null
touch -d '1 hour ago' "$("$sg" ls --json --label nr=four | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')"
is "$? $(when 2>"$t/err")" "0 ${ids#* }" 'a content that one session lacks is found in the next one'
# by a script; a resumed script does not label again
cat >"$t/label.lua" <<'LUA'
local sg = require "sandglass"
assert(sg.label { stage = "one", flaky = true, team = "core" })
assert(sg.label { flaky = false })
assert(not sg.label { ["a b"] = true })
assert(not pcall(sg.label, { a = 1 }))
sg.ask("continue?")
LUA
"$sg" run -d "$t/label.lua" --name script >"$t/out" 2>&1 </dev/null
script=$("$sg" ls --json | jq -r 'select(.name == "script").session')
labeled() { [ "$(labels "$script")" = '{"stage": "one", "team": "core"}' ]; }
wait_for 20 labeled
ok $? 'a script sets and removes labels'
"$sg" label "$script" stage=two >"$t/out" 2>&1
kill -9 "$(head -1 "$("$sg" ls --json | jq -r 'select(.name == "script").path')-lease" | cut -d' ' -f1)"
off() { [ "$("$sg" ls --json | jq -r 'select(.name == "script").live')" = false ]; }
wait_for 20 off
"$sg" resume -d "$script" >"$t/out" 2>&1 </dev/null
asked() { [ "$("$sg" ls --json | jq -r 'select(.name == "script").asks')" -gt 0 ]; }
wait_for 20 asked
is "$(labels "$script")" '{"stage": "two", "team": "core"}' 'and a resumed one leaves the labels that you set since'
"$sg" stop --now -S "$script" >/dev/null 2>&1
over() { "$sg" archive --force "$script" -n >/dev/null 2>&1; }
wait_for 20 over
# moved, exported, and removed by label
would() { "$sg" "$@" -n --json 2>/dev/null | jq -r .name | sort | tr '\n' ' '; }
is "$(would archive --force --label nr=five)" 'five ' 'archive: those with the label'
"$sg" archive --force --label nr=five >"$t/out" 2>&1
is "$? $(find "$t/sessions/archive" -name '*-five-*.glass' | wc -l)" '0 1' 'and they are moved'
is "$(would archive --restore --label nr)" 'five ' 'or back'
"$sg" archive one --label team >"$t/out" 2>&1
is $? 2 'a name and a label are too much'
"$sg" export --all -F tables -o "$t/tables" --label nr >"$t/out" 2>&1
is "$? $(cat "$t"/tables/sessions/*/*.jsonl | jq -r .name | sort | tr '\n' ' ')" '0 five four ' 'export: the sessions with the label'
is "$(would prune --label team=web)" 'two ' 'prune: those with the label'
is "$(would prune --label team --older-than 1h)" '' 'and of this age'
cp "$t"/sessions/*-three-*.glass "$t/three"
printf 'damaged' | dd of="$(echo "$t"/sessions/*-three-*.glass)" bs=1 seek=20 conv=notrunc 2>/dev/null
touch -d '2 minutes ago' "$t"/sessions/*-three-*.glass
[[ " $(would prune --label '!team') " != *three* ]]
ok $? 'a session whose labels cannot be read is not removed'
cp "$t/three" "$(echo "$t"/sessions/*-three-*.glass)"
# the settings
mkdir -p "$HOME/.config/sandglass"
policy() { printf 'local c = require "sandglass.config"\nc.keep = %s\nreturn c\n' "$1" >"$HOME/.config/sandglass/config.lua"; }
touch -d '40 days ago' "$t"/sessions/*-{one,two,three}-*.glass
policy '{ days = 30 }'
is "$(would prune)" 'one three two ' 'settings: keep.days'
policy '{ days = 30, label = { "nightly", "team=web" } }'
is "$(would prune)" 'three ' 'keep.label keeps'
policy '{ size = "100K" }'
is "$(would prune | grep -c 'one.*three.*two')" 1 'keep.size: the oldest'
policy '{ size = "100G" }'
is "$(would prune)" '' 'if they take more'
policy '{ label = { "a b" }, days = 1 }'
"$sg" prune -n >"$t/out" 2>&1
is $? 2 'a setting of another form is refused'
run --name four
is "$? $(grep -c 'keep\.label' "$t/out") $(names | grep -cw three)" '0 1 1' 'and a run that ends names it, and removes nothing'
policy '{ label = { "nightly" } }'
"$sg" prune -n >"$t/out" 2>&1
is $? 2 'a label alone removes nothing'
rm "$HOME/.config/sandglass/config.lua"
# while it runs
cat >"$t/wait.lua" <<'LUA'
local sg = require "sandglass"
sg.ask("done?")
LUA
"$sg" run -d "$t/wait.lua" --name live --label team=core >"$t/out" 2>&1 </dev/null
id=$(tail -1 "$t/out" | grep -o 's-[a-z0-9]*' | head -1)
"$sg" label "$id" nightly team- >"$t/out" 2>&1
is $? 0 'labels of a running session'
is "$(labels "$id")" '{"nightly": ""}' 'are there'
"$sg" label -S "$id" one=1 >"$t/out" 2>&1
is "$? $(labels "$id")" '0 {"nightly": "", "one": "1"}' 'a single one, with --in'
"$sg" stop --now -S "$id" >/dev/null 2>&1
finish
