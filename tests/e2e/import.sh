#!/usr/bin/env bash
# Imports: counts match an independent count, invalid lines are marked, a failed import leaves nothing, and exports can
# be imported again.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
number() { sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
sums() { # an answer of import --json
	echo "$(number turns <<<"$1") $(number calls <<<"$1") $(number people <<<"$1") $(number tokens_in <<<"$1") $(number tokens_out <<<"$1")"
}

# Claude Code
want=$(python3 "$here/exchange/make_claude.py" "$t/claude.jsonl" 40)
got=$("$sg" import "$t/claude.jsonl" --name one --json)
is "$(sums "$got")" "$want" 'claude: answers, calls, people, tokens as they were made'
if command -v jq >/dev/null; then
	is "$(number turns <<<"$got") $(number calls <<<"$got") $(number tokens_out <<<"$got")" "$(jq -rs '[.[] | select(.type == "assistant") | .message]
		| [(group_by(.id) | length), ([.[].content[] | select(.type == "tool_use")] | length), (group_by(.id) | map(last.usage.output_tokens) | add)]
		| join(" ")' "$t/claude.jsonl")" 'claude: as jq counts'
else
	skip 'no jq here (apt-get install jq)'
fi
is "$(number kept <<<"$got") $(number gaps <<<"$got")" '4 0' 'claude: lines without a meaning are kept, no gap'
"$sg" verify one >"$t/out"
is $? 0 'an imported session verifies'
like "$("$sg" search 'echo 17' --in one)" 'exec: echo 17' 'it can be searched'
call=$("$sg" events one --filter 'cmd:"echo 17"' --json | head -1 | number seq)
is "$("$sg" out "one#$call")" 17 'output of a call'
said=$("$sg" events one --json | grep '"kind":"model.reply"' | grep -m1 '"text":"[^"]')
text=$(grep -oE '"text":"[A-Za-z0-9 ]+' <<<"$said" | cut -d'"' -f4)
like "$("$sg" out "one#$(grep -oE '"action":[0-9]+' <<<"$said" | cut -d: -f2)")" "^${text:-none}" 'the text of an answer, which did not come bit by bit'
like "$("$sg" out one --filter kind:model)" "^${text:-none}" 'also through a filter'
like "$("$(dirname "$sg")/sandglass-replay" "$t"/sessions/*-one-*.glass --screen "$(number seq <<<"$said")" --view agent --action "$(grep -oE '"action":[0-9]+' <<<"$said" | cut -d: -f2)")" "│.*${text:-none}" 'and on the screen of its agent'
is "$(sqlite3 "$t"/sessions/*one*.glass "SELECT count(*) FROM event e JOIN kind k ON k.number = e.kind WHERE k.name IN ('action.judged', 'action.started')")" 0 \
	'it claims no verdict and no start'
like "$("$sg" events one | grep 'exec: echo 3$')" '^00:00:14' 'times are those of the file'

# files that the real agents wrote (made as tests/e2e/agents_files.sh does; paths and long texts are cut)
real() { # form, jq program over all lines: turns calls tokens_in tokens_out
	got=$("$sg" import "$here/exchange/real/$1.jsonl" --name "real-$1" --json)
	is "$(number turns <<<"$got") $(number calls <<<"$got") $(number tokens_in <<<"$got") $(number tokens_out <<<"$got") $(number gaps <<<"$got")" \
		"$(jq -rs "$2 | join(\" \")" "$here/exchange/real/$1.jsonl") 0" "$1: a real file, as jq counts"
	codes=$("$sg" events "real-$1" --json | grep '"kind":"action.ended"' | grep -o '"code":[0-9]*' | grep -v ':0$' | head -1)
	is "$codes" '"code":2' "$1: the status of the command that failed"
}
document() { # the same for one that is a document
	got=$("$sg" import "$here/exchange/real/$1.json" --name "real-$1" --json)
	is "$(number turns <<<"$got") $(number calls <<<"$got") $(number tokens_in <<<"$got") $(number tokens_out <<<"$got") $(number gaps <<<"$got")" \
		"$(jq -rs "$2 | join(\" \")" "$here/exchange/real/$1.json") 0" "$1: a real file, as jq counts"
	"$sg" verify "real-$1" >"$t/out"
	ok $? "$1: it verifies"
}
if command -v jq >/dev/null; then
	. "$here/exchange/counts.bash"
	for form in claude codex codex-exec; do real $form "${count[$form]}"; done
	for form in inspect-2024 inspect-2025 swe-agent; do document $form "${count[$form]}"; done
else
	skip 'no jq here (apt-get install jq)'
fi

# broken lines
{ head -5 "$t/claude.jsonl"; echo '{"type":"assistant","message":'; printf '\377\376\n'; echo '[1,2'; tail -n +6 "$t/claude.jsonl" | head -20; head -c 50 "$t/claude.jsonl"; } >"$t/broken.jsonl"
got=$("$sg" import "$t/broken.jsonl" --name broken --json)
is "$? $(number gaps <<<"$got") $(number first_gap <<<"$got")" '0 4 6' 'broken lines are gaps, with the first line'
is "$("$sg" events broken | grep -c 'import.gap')" 4 'they are recorded'
"$sg" import --force "$t/broken.jsonl" --name broken2 >/dev/null 2>"$t/out"
like "$(cat "$t/out")" '4 parts unreadable, the first in line 6' 'people are told'

# what editors of other systems make of a file
for form in claude.jsonl half.json; do
	[ "$form" = claude.jsonl ] || echo '{"schema_version":"ATIF-v1.7","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"go"}]}' >"$t/$form"
	{ printf '\357\273\277'; sed 's/$/\r/' "$t/$form"; } >"$t/marked"
	is "$(sums "$("$sg" import "$t/marked" --name "marked-$form" --json)")" "$(sums "$("$sg" import --force "$t/$form" --name "plain-$form" --json)")" "$form: a mark in front and other ends of lines change nothing"
done

# numbers that can be none
{ head -3 "$t/claude.jsonl"; for i in 1 2; do
	echo '{"type":"assistant","sessionId":"x","uuid":"'$i'","message":{"id":"m'$i'","model":"m","role":"assistant","content":[{"type":"text","text":"yo"}],"usage":{"input_tokens":9223372036854775807,"output_tokens":'$i'}}}'
done; } >"$t/huge.jsonl"
like "$("$sg" import "$t/huge.jsonl" --name huge)" ' [0-9]+ tokens in, [0-9]+ out$' 'a count of tokens that can be none is not added up'
before=$(ls "$t/sessions" | wc -l)
head -c 5000 /dev/urandom >"$t/noise"
"$sg" import "$t/noise" >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'noise: one line'
"$sg" import "$t/noise" -F claude >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'noise that is said to be something: one line'
echo '{"schema_version":"ATIF-v1.7","steps":[' >"$t/half"
"$sg" import "$t/half" >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'half of a document: one line'
gzip -c "$t/claude.jsonl" >"$t/packed"
fails 'a compressed file is named' "2 parse '$t/packed'" "$sg" import "$t/packed"
is "$("$sg" import "$t" >/dev/null 2>&1; echo $?)" 2 'a folder, too'
"$sg" import "$t/no-such-file" >"$t/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ]
ok $? 'no such file: one line'
"$sg" import "$t/claude.jsonl" -F clawd >"$t/out" 2>&1
is $? 2 'an unknown form'
is "$(ls "$t/sessions" | wc -l)" "$before" 'nothing is left of what failed'

# Codex
cat >"$t/rollout.jsonl" <<'JSON'
{"timestamp":"2026-08-01T10:00:00.000Z","type":"session_meta","payload":{"id":"x","cwd":"/w","cli_version":"1"}}
{"timestamp":"2026-08-01T10:00:00.100Z","type":"turn_context","payload":{"cwd":"/w","model":"gpt-y"}}
{"timestamp":"2026-08-01T10:00:00.200Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}}
{"timestamp":"2026-08-01T10:00:01.200Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls\"]}","call_id":"c1"}}
{"timestamp":"2026-08-01T10:00:01.300Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":110},"last_token_usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":10}}}}
{"timestamp":"2026-08-01T10:00:02.200Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a.c\\n\",\"metadata\":{\"exit_code\":3}}"}}
{"timestamp":"2026-08-01T10:00:03.200Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
{"timestamp":"2026-08-01T10:00:03.300Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":230},"last_token_usage":{"input_tokens":110,"cached_input_tokens":100,"output_tokens":10}}}}
{"timestamp":"2026-08-01T10:00:03.400Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":230},"last_token_usage":{"input_tokens":110,"cached_input_tokens":100,"output_tokens":10}}}}
JSON
is "$(sums "$("$sg" import "$t/rollout.jsonl" --json)")" '2 1 1 210 20' 'codex rollout: a repeated count counts once'
like "$("$sg" events codex | grep '#.*done')" 'exit 3' 'codex: exit status'
cat >"$t/exec.jsonl" <<'JSON'
{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i0","type":"command_execution","command":"ls","aggregated_output":"","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i0","type":"command_execution","command":"ls","aggregated_output":"a.c\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"i1","type":"file_change","changes":[{"path":"a.c","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":500,"cached_input_tokens":100,"output_tokens":50}}
JSON
is "$(sums "$("$sg" import "$t/exec.jsonl" --json)")" '1 2 0 500 50' 'codex exec --json'
{ sed -n 1,3p "$t/exec.jsonl"; echo '{"type":"turn.failed","error":{"message":"stream lost"}}'; } >"$t/lost.jsonl"
is "$(sums "$("$sg" import "$t/lost.jsonl" --name lost --json)")" '1 1 0 0 0' 'codex exec: a command that was started and did not end is a call'
like "$("$sg" events lost)" '#[0-9]+ interrupted: the file ends without its result' 'without a result'
like "$("$sg" events lost | grep 'agent ended')" 'error, stream lost' 'how the turn ended'
like "$("$sg" ls --json | grep '"lost"')" '"state":"failed"' 'and the session did not end well'
cat >"$t/run.traj" <<'JSON'
{"trajectory":[{"action":"ls","observation":"a.c\n","response":"I look.","thought":"I look.","execution_time":0.1},
{"action":"submit","observation":"","response":"Done.","thought":"Done."}],"history":[],
"info":{"exit_status":"submitted","model_stats":{"tokens_sent":900,"tokens_received":90,"api_calls":2,"instance_cost":0.01}}}
JSON
is "$(sums "$("$sg" import "$t/run.traj" --json)")" '2 2 0 900 90' 'SWE-agent'
cat >"$t/costly.traj" <<'JSON'
{"trajectory":[{"action":"","observation":"Your output could not be parsed.","response":"Hm.","thought":"Hm."},{"action":"ls","observation":"a.c","response":"I look.","thought":"I look."}],
"history":[{"role":"system","content":"You work in a shell."},{"role":"user","content":"A demonstration","is_demo":true},{"role":"user","content":[{"type":"text","text":"fix the parser"}]},
{"role":"assistant","content":"Hm."},{"role":"user","content":"Your output could not be parsed."},{"role":"assistant","content":"I look."},{"role":"user","content":"a.c"}],
"replay_config":"{\"agent\": {\"model\": {\"name\": \"some-model\"}}}","info":{"exit_status":"exit_cost","model_stats":{"tokens_sent":NaN}}}
JSON
is "$(sums "$("$sg" import "$t/costly.traj" --name costly --json)")" '2 1 1 0 0' "SWE-agent: an answer without a command calls nothing; the task is a user's message"
like "$("$sg" events costly | grep 'agent .* with')" 'swe-agent with some-model' 'SWE-agent: the model that it was set to'
like "$("$sg" events costly | grep 'message by')" 'fix the parser' 'SWE-agent: the task, without its demonstration'
like "$("$sg" events costly | grep 'agent ended')" 'budget, exit_cost' 'SWE-agent: how it ended'
# Inspect: graders, agents below the agent, what a script put there, texts kept aside
cat >"$t/graded.json" <<'JSON'
{"version":2,"status":"success","eval":{"created":"2026-01-01T10:00:00+00:00","model":"p/m","metric":NaN,"low":-Infinity},"samples":[{"id":"one","epoch":1,
"messages":[{"role":"user","content":[{"type":"text","text":"attachment://aa"}]},
{"role":"assistant","content":"","tool_calls":[{"id":"s1","function":"bash","arguments":{"cmd":"id"}}]},{"role":"tool","tool_call_id":"s1","content":"me"},
{"role":"assistant","id":"m1","content":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"I look."}],"tool_calls":[{"id":"c1","function":"bash","arguments":{"cmd":"attachment://bb"}}]},
{"role":"tool","tool_call_id":"c1","content":"","error":{"type":"timeout","message":"too slow"}},{"role":"assistant","source":"generate","content":"Done."}],
"attachments":{"aa":"a long question","bb":"cat long.txt"},
"events":[{"event":"span_begin","id":"sp","name":"helper"},
{"event":"model","model":"p/small","span_id":"sp","timestamp":"2026-01-01T10:00:01+00:00","input":[{"role":"user","content":"look below"}],"output":{"choices":[{"message":{"id":"h1","role":"assistant","content":"","tool_calls":[{"id":"c9","function":"bash","arguments":{"cmd":"ls below"}}]}}],"usage":{"input_tokens":5,"output_tokens":1}}},
{"event":"tool","id":"c9","function":"bash","result":"b.c"},
{"event":"model","model":"p/m","timestamp":"2026-01-01T10:00:02+00:00","output":{"choices":[{"message":{"id":"m1","role":"assistant","content":"x"}}],"usage":{"input_tokens":10,"output_tokens":2,"input_tokens_cache_read":3}}},
{"event":"model","model":"p/m","timestamp":"2026-01-01T10:00:03+00:00","output":{"choices":[{"message":{"role":"assistant","content":"Done."}}],"usage":{"input_tokens":20,"output_tokens":4}}}],
"model_usage":{"p/m":{"input_tokens":31,"output_tokens":7,"input_tokens_cache_read":3},"p/small":{"input_tokens":5,"output_tokens":1}},
"scores":{"match":{"value":"C"}},"limit":{"type":"token","limit":40}}]}
JSON
is "$(sums "$("$sg" import "$t/graded.json" --name graded --json)")" '3 3 1 39 8' 'inspect: answers, calls and tokens of all who answered, and what the sums have beyond them'
out=$("$sg" events graded)
like "$out" 'one helper .*exec: ls below' 'inspect: the call of an agent below the agent'
like "$out" 'message by imported: a long question' 'inspect: a text that is kept aside'
like "$out" 'one exec: cat long.txt' 'inspect: also in the arguments of a call'
like "$out" '^10:00:02 .*one #[0-9]+ model answered: I look' 'inspect: an answer with its time, without what was thought'
like "$out" 'one agent ended: budget, token: Done' 'inspect: a limit that ended it'
like "$out" 'type=scores' 'inspect: scores are kept'
like "$("$sg" out "graded#$("$sg" events graded --filter 'cmd:"cat long.txt"' --json | head -1 | number seq)")" 'too slow' 'inspect: why a call failed'

# there and back
for form in atif inspect; do
	"$sg" export one -F $form -o "$t/one.$form" >/dev/null
	is "$(sums "$("$sg" import "$t/one.$form" --name $form --json)")" "$want" "$form: out and in again"
done
# Inspect's own archive, as its recorder lays it out
python3 - "$t/one.inspect" "$t/one.eval" "$t/other.zip" <<'P'
import json, sys, zipfile
log = json.load(open(sys.argv[1]))
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"], "plan": {}}))
    for s in log["samples"]:
        z.writestr("samples/%s_epoch_%d.json" % (s["id"], s["epoch"]), json.dumps(s))
    z.writestr("samples/bad_epoch_1.json", "{ no JSON")
    z.writestr("_journal/summaries/1.json", "[]")
    z.writestr("summaries.json", "[]")
    z.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
zipfile.ZipFile(sys.argv[3], "w").writestr("header.json.txt", "{}")
P
is "$(sums "$("$sg" import "$t/one.eval" --name eval --json 2>/dev/null)")" "$want" 'inspect: the samples of an .eval archive'
like "$("$sg" events eval --json | grep import.gap)" 'samples/bad_epoch_1.json: ' 'one that is broken is a gap with its name'
size=$(stat -c %s "$t/one.eval")
head -c $((size / 2)) "$t/one.eval" >"$t/half.eval"
"$sg" import "$t/half.eval" --name half >"$t/out" 2>&1
is "$?$(grep -c 'found nothing in the format inspect' "$t/out")$(grep -c "^sandglass: " "$t/out")" 211 'half an archive, of its only sample: refused in one line'
"$sg" import "$t/other.zip" --name zip >"$t/out" 2>&1
is "$?$(grep -c 'not an eval log' "$t/out")" 21 'another archive is refused'
"$sg" export atif -F atif -o "$t/again.atif" >/dev/null
is "$(python3 "$here/exchange/check_atif.py" "$t/again.atif")" "$(python3 "$here/exchange/check_atif.py" "$t/one.atif")" 'ATIF of ATIF: the same counts'
"$sg" export "one#$call" -F asciicast-v3 -o "$t/one.cast" >/dev/null
"$sg" import "$t/one.cast" --name cast >/dev/null
like "$("$sg" out "cast#$("$sg" events cast --filter kind:exec --json | head -1 | number seq)" | tr -d '\r')" '^17$' 'asciicast: out and in again'

# what agents say at their end is held against what they did, though nobody saw them do it
cat >"$t/says.jsonl" <<'J'
{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"x","timestamp":"2026-01-01T10:00:00Z","cwd":"/w","version":"2.0","message":{"role":"user","content":"fix it"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"x","timestamp":"2026-01-01T10:00:01Z","message":{"id":"m1","role":"assistant","model":"c","content":[{"type":"tool_use","id":"t0","name":"Edit","input":{"file_path":"/w/src/a.c","old_string":"a","new_string":"b"}},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"git push"}}],"usage":{"input_tokens":10,"output_tokens":5}}}
{"type":"user","uuid":"u2","parentUuid":"a1","sessionId":"x","timestamp":"2026-01-01T10:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"edited","is_error":false}]},"toolUseResult":{"filePath":"/w/src/a.c"}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"x","timestamp":"2026-01-01T10:00:03Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false}]},"toolUseResult":{"stdout":"ok","stderr":"","interrupted":false}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"x","timestamp":"2026-01-01T10:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"Exit code 128\nno remote","is_error":true}]},"toolUseResult":"Error: Exit code 128"}
{"type":"assistant","uuid":"a2","parentUuid":"u4","sessionId":"x","timestamp":"2026-01-01T10:00:05Z","message":{"id":"m2","role":"assistant","model":"c","content":[{"type":"text","text":"All tests pass. I edited `src/a.c`. I pushed it. I created `b.c`."}],"usage":{"input_tokens":20,"output_tokens":7}}}
J
"$sg" import "$t/says.jsonl" --name says >/dev/null
out=$("$sg" claims says --json)
verdict() { jq -r --arg c "$1" 'select(.text | startswith($c)) | "\(.agent) \(.verdict)"' <<<"$out"; }
is "$(verdict 'All tests pass')" 'claude supported' 'claims of an import: its tests ran, and ended with 0'
is "$(verdict 'I edited `src/a.c`')" 'claude supported' 'a file that it edited'
is "$(verdict 'I pushed it')" 'claude contradicted' 'a push that failed'
is "$(verdict 'I created `b.c`')" 'claude unsupported' 'a file of which nothing is known'
"$sg" verify says --check tests_after_edit --check 'paths=*/src/*' >"$t/out" 2>&1
is "$? $(grep -c '  ok    check' "$t/out")" '0 2' 'checks of an import'
"$sg" verify says --check 'paths=test/*' >"$t/out" 2>&1
is "$? $(grep -c 'FAIL  check.*1 change: /w/src/a.c' "$t/out")" '1 1' 'its edit elsewhere is found'

echo 'return require("sandglass.policy").rules { default = "boxed", require("sandglass.policy").deny "no-push" { cmd = "git push *" } }' >"$t/no.lua"
out=$("$sg" policy past "$t/no.lua" says --json)
is "$(jq -r 'select(.what == "git push") | "\(.was.kind) \(.change) \(.rule)"' <<<"$out")" 'exec now_denied no-push' 'a policy over an import: the actions it would have denied'
is "$(tail -1 <<<"$out" | jq .now_allowed)" 0 'and nothing there was denied or asked'

# money: what the file says, or list prices (claude-sonnet-4-5: 3 and 15 dollars; above 200,000 tokens 6 and 22.5)
priced() { # model, usage, what else the line says
	printf '%s\n' '{"type":"user","uuid":"a","sessionId":"'"$1$4"'","cwd":"/w","message":{"role":"user","content":"go"}}' \
		'{"type":"assistant","uuid":"b","sessionId":"'"$1$4"'"'"$3"',"message":{"id":"m","role":"assistant","model":"'"$1"'","content":[],"usage":'"$2"'}}' >"$t/priced.jsonl"
	"$sg" import "$t/priced.jsonl" --name "priced$4" --json >"$t/out"
	"$sg" events "priced$4" --json | grep '"kind":"model.reply"' | grep -oE '"cost_(uusd|unknown)":[0-9a-z]*' | paste -sd' '
}
is "$(priced claude-sonnet-4-5 '{"input_tokens":1000,"output_tokens":100}' '' 1)" '"cost_uusd":4500 "cost_unknown":false' 'a list price'
is "$(priced claude-sonnet-4-5 '{"input_tokens":250000,"output_tokens":100}' '' 2)" '"cost_uusd":1502250 "cost_unknown":false' 'that of a long request'
is "$(priced claude-sonnet-4-5 '{"input_tokens":1000,"output_tokens":100}' ',"costUSD":0.5' 3)" '"cost_uusd":500000 "cost_unknown":false' 'what the file says comes first'
is "$(priced no-such-model '{"input_tokens":1000,"output_tokens":100}' '' 4)" '"cost_unknown":true' 'without either it is unknown'

# ten times as many lines cost about ten times as much (a square would cost a hundred times)
python3 "$here/exchange/make_claude.py" "$t/small.jsonl" 600 >/dev/null
python3 "$here/exchange/make_claude.py" "$t/large.jsonl" 6000 >/dev/null
cpu() { # processor time in ms of an import: what neighbours do does not count
	TIMEFORMAT='%U %S'
	{ time "$sg" import "$1" --name "$2" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'
}
small=$(cpu "$t/small.jsonl" small) large=$(cpu "$t/large.jsonl" large)
[ "$large" -lt $((40 * small + 500)) ]
ok $? "linear: $small ms and $large ms of processor time for ten times as many"
finish
