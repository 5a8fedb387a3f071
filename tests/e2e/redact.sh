#!/usr/bin/env bash
# Permanent removal of recorded data, from a running session and from an ended one.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
cat >"$t/fruit.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
box:exec("printf 'Mira'; printf 'bellenkompott-%s\n' $(seq 1 20)")
sg.note("%s%s", "Zwetschgen", "kuchen")
sg.ask("go on?", { "yes" })
L
"$sg" run "$t/fruit.lua" --name fruit >"$t/out" 2>&1 </dev/null &
run=$!
seq_of() { "$sg" events fruit --json | grep "\"kind\": *\"$1\"" | grep -E "${2:-.}" | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+' | head -1; }
wait_for 20 sh -c "'$sg' events fruit --json | grep -q '\"kind\": *\"ask\"'"
is $? 0 'a session runs'
note=$(seq_of note Zwetschgenkuchen) act=$(seq_of action.requested seq)
db=$(find "$HOME" -name '*.glass' | head -1)
"$sg" redact "fruit#$note" --yes >"$t/out2" 2>&1 </dev/null
is $? 2 'not without saying why'
"$sg" redact "fruit#$note" --why 'a secret cake' >"$t/out2" 2>&1 </dev/null
is $? 1 'not without being sure'
"$sg" redact "fruit#$note" --why 'a secret cake' --yes >"$t/out2" 2>&1 </dev/null
is $? 0 'an event of a session that runs'
grep -qa Zwetschgenkuchen "$db" "$db-wal"
is $? 1 'is gone from its file and its log'
# a copy in an archive, as a killed move leaves it, is an error until it is gone
day=${db##*/} day=${day:0:10}
at=${db%/*}/archive/${day//-//}/${db##*/}
mkdir -p "${at%/*}"
cp "$db" "$at"
"$sg" redact "fruit#$note" --why 'a secret cake' --yes >"$t/out2" 2>"$t/err2" </dev/null
is "$? $(cat "$t/out2") $(grep -c "$at" "$t/err2")" '1 removed: 1 1' 'a copy in an archive fails the redaction of a session that runs'
"$sg" redact "fruit#$note" --why 'a secret cake' --yes --json >"$t/out2" 2>"$t/err2" </dev/null
is "$? $(grep -c "catalog_left.*$at" "$t/out2")" '1 1' 'with --json, too'
rm -r "${db%/*}/archive"
"$sg" redact "fruit#$note" --why 'a secret cake' --yes >"$t/out2" 2>&1 </dev/null
is $? 0 'and passes when the copy is gone'
ask=$(seq_of ask)
"$sg" answer "$ask" yes >"$t/out2" 2>&1
wait $run
"$sg" redact "fruit#$act" --output --why 'too sweet' --yes >"$t/out2" 2>&1 </dev/null
is $? 0 'the output of an action of one that has ended'
like "$(cat "$t/out2")" 'removed permanently: [1-9]' 'and says how much'
unlike "$("$sg" out "fruit#$act" | tr -d '\0')" 'Mirabellenkompott' 'it is not shown after that'
"$sg" redact "fruit#$act" --why 'a recipe' --yes >"$t/out2" 2>&1 </dev/null
like "$(cat "$t/out2")" 'may remain in #[0-9]+ \(host.call\), #[0-9]+ \(action.judged\), #[0-9]+ \(host.frame\)$' 'of an action: other events that may contain it'
"$sg" redact "fruit#$(seq_of action.ended)" --why 'its end, too' --yes >"$t/out2" 2>&1 </dev/null
is "$("$sg" show fruit --json | grep -oE '"(actions|unsuccessful)": ?[0-9]+' | tr -d ' ' | paste -sd' ')" '"actions":1 "unsuccessful":0' 'an end that is removed is not counted as a failure'
"$sg" repeat "fruit#$act" >"$t/out2" 2>&1 </dev/null
like "$? $(cat "$t/out2")" "^2 .*#$act was redacted" 'what is removed cannot be run again: nobody has interrupted that'
"$sg" redact 'fruit#99999' --why x --yes >"$t/out2" 2>&1 </dev/null
is $? 2 'a missing event cannot be removed'
"$sg" redact 'fruit#1' --why x --yes >"$t/out2" 2>&1 </dev/null
[ $? -ne 0 ]
ok $? 'nor the first event, which says what session this is'
"$sg" verify fruit >"$t/out2" 2>&1
is $? 0 'the record verifies'
like "$(cat "$t/out2")" '[2-9] bodies redacted' 'and counts what is gone'
like "$("$sg" events fruit --json | grep '"redacted"')" '"who": ?"uid [0-9]+.*"why": ?"a secret cake"' 'with who and why'
like "$("$sg" show "fruit#$note")" 'redacted' 'the event is still there, without its body'

# a copy of the file (cp): redacting it does not touch the session
cp "$db" "$t/handed-on.glass"
"$sg" verify fruit | grep anchor >"$t/anchor"
"$sg" redact "$t/handed-on.glass#$ask" --why 'not for them' --yes >"$t/out2" 2>&1 </dev/null
is $? 0 'an event of a copy is removed'
like "$(cat "$t/out2")" 'a copy of session' 'which says that it is one'
"$sg" verify "$t/handed-on.glass" >"$t/out2" 2>&1
is $? 0 'the copy verifies'
"$sg" verify fruit >"$t/out2" 2>&1
is "$? $(grep anchor "$t/out2")" "0 $(cat "$t/anchor")" 'the session still reaches its anchors'

# a content that two sessions hold, removed from the one that is named
cat >"$t/pit.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
box:exec "echo Pflaumenkern >pit"
L
for name in older newer; do "$sg" run "$t/pit.lua" --name $name --no-input --no-tui >"$t/out" 2>&1 </dev/null; done
pit=$(echo Pflaumenkern | git hash-object --stdin)
"$sg" redact older --object "$pit" --why 'a pit' --yes >"$t/out2" 2>&1 </dev/null
is "$? $("$sg" cat pit --at newer) $("$sg" cat pit --at older 2>&1 | grep -c Pflaumenkern)" '0 Pflaumenkern 0' 'a content of the session that is named, not of the newest'
"$sg" redact -S newer --object "$pit" --why 'a pit' --yes >"$t/out2" 2>&1 </dev/null
is "$? $("$sg" cat pit --at newer 2>&1 | grep -c Pflaumenkern)" '0 0' 'or that an option names'

# a model's messages: removed wherever the text occurs
cat >"$t/told.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
sg.agent.run { task = "bake\n\"Quarktorte\" today", box = box, name = "baker" }
L
printf 'return { { call = { "shell", { cmd = "echo Quark; echo Torte" } } }, { say = "It is done." } }\n' >"$t/told.script.lua"
"$sg" run "$t/told.lua" --name told --no-input --no-tui --model "scripted:$t/told.script.lua" >"$t/out" 2>&1 </dev/null
call=$("$sg" events told --json | grep '"kind":"model.call"' | grep -oE '"seq":[0-9]+' | tail -1 | cut -d: -f2)
is "$("$sg" show "told#$call" | grep -c Quarktorte)" 1 'a model received a secret'
"$sg" redact told --messages $'\n"Quarktorte"' --why 'a secret cake' --yes >"$t/out2" 2>&1 </dev/null
is "$? $("$sg" show "told#$call" | grep -c Quarktorte) $("$sg" show "told#$call" | grep -c '<redacted>') $("$sg" show "told#$call" | grep -c 'Torte')" '0 0 1 2' 'the message is gone, the others stay'
"$sg" redact told --messages Quarktorte --why 'a secret cake' --yes >"$t/out2" 2>&1 </dev/null
like "$? $(cat "$t/out2")" '^2 sandglass: redact: ' 'once'
"$sg" verify told >"$t/out2" 2>&1
is $? 0 'and the record verifies'

# a secret of the configuration is known in each session that comes of another, too: nothing holds its value
mkdir -p "$HOME/.config/sandglass"
echo 'return { secrets = { CAKE = "env:THE_CAKE" }, env = { OVEN = "on" } }' >"$HOME/.config/sandglass/config.lua"
cat >"$t/cake.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
box:exec "printf Linzer; printf torte-2026"
box:exec "printf Linzertort; printf e-2026"
L
export THE_CAKE=Linzertorte-2026
"$sg" run "$t/cake.lua" --name cake --no-input --no-tui >"$t/out" 2>&1 </dev/null
acts=($("$sg" events cake --filter kind:exec --json | grep -oE '"seq":[0-9]+' | cut -d: -f2))
is "$("$sg" out "cake#${acts[1]}")" '<secret:CAKE>' 'a secret of the configuration is not in the record'
"$sg" fork "cake#${acts[0]}" --name torte --no-input --no-tui >"$t/out2" 2>&1 </dev/null
again=$("$sg" events torte --filter kind:exec --json | grep -oE '"seq":[0-9]+' | tail -1 | cut -d: -f2)
is "$("$sg" out "torte#$again")" '<secret:CAKE>' 'nor in that of a fork'
like "$("$sg" repeat "cake#${acts[1]}" 2>&1 </dev/null)" ': same result$' 'nor of a redo, which is the same then'
is "$("$sg" sandbox exec -- sh -c 'printf Linzer; printf "torte-2026 $OVEN"' 2>/dev/null)" '<secret:CAKE> on' 'the configuration holds for a command in a box, too'
is "$(cat "$HOME"/.local/share/sandglass/sessions/*.glass* | grep -ac Linzertorte-2026)" 0 'no file has it'
rm "$HOME/.config/sandglass/config.lua"
finish
