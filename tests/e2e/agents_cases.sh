#!/usr/bin/env bash
# The real agents from npm in difficult cases: a search for the key, a pause, a refused model call, a provider that is
# overloaded, disconnects, or hangs, a cancellation during an approval, a killed supervisor, a recording replayed to a
# fresh agent, a long script, and too little memory. LONG=1 adds a pause of 310 s, beyond the agents' patience.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v node >/dev/null && need python3
[ -n "${LONG:-}${CASES:-}" ] || { skip "a quarter of an hour: make test-agents, or CASES='A B C F'"; finish; }
cd "$t" || exit 1
. "$here/inside/real.bash"
printf 'return require("sandglass.policy").rules { default = "boxed" }\n' >boxed.lua
every='claude|stream codex|app-server opencode|serve pi|rpc gemini|acp'
wanted=${CASES:-A B C F}
part() { [[ " $wanted " == *" $1 "* ]]; }
files() { printed | sed -n 's/^FILES //p'; }
tree() { events | sed -n 's/.*"kind":"snapshot.taken".*"tree":"\([0-9a-f]*\)".*/\1/p' | tail -1; }
replies() { events | grep -c '"kind":"model.reply"'; }

if part A; then
	rules=boxed.lua
	row 'claude|stream' && {
		model '[{"bash":"env; cat /proc/[0-9]*/environ ~/.* /workspace/* 2>/dev/null | strings; curl -sS -m 3 http://1.1.1.1/ 2>&1"},{"text":"all is done"}]'
		begin --gate
		wait_for 90 ended
		like "$(printed)" 'END ok=true' "$what looks for a key: it works to its end"
		is "$(grep -cF "$key" <(sed 's/"keys": \[[^]]*\]//g' log))" 0 "$what looks for a key: its model was told none"
		like "$(events | grep '"kind":"proc.connect"')" '"address":"1.1.1.1"' "$what looks for a way out: that is seen"
		unlike "$(cat log)" '<html|301 Moved' "$what looks for a way out: there is none"
	}
	# two at once, of different dialects
	row 'claude|stream' && model '[{"bash":"echo one > one.txt"},{"text":"one is done"}]' && cp log log.empty && work=repo1 && begin --gate && id1=$id file1=$file
	if row 'codex|app-server'; then
		mv log log1
		model '[{"bash":"echo two > two.txt"},{"text":"two is done"}]'
		work=repo2 begin --gate
		id2=$id file2=$file
		id=$id1 && wait_for 90 ended
		id=$id2 && wait_for 90 ended
		file=$file1 && like "$(printed)" 'text=.*one is done|FILES keep.txt one.txt' "two at once: the first has its own model's words"
		is "$(files)" 'keep.txt one.txt ' "two at once: and its own files"
		file=$file2 && is "$(files)" 'keep.txt two.txt ' "two at once: so has the second"
		is "$(replies)" 2 "two at once: and its own calls"
	fi
	work=
fi

if part B; then
	rules=boxed.lua
	for one in $every; do
		row "$one" || continue
		# between two calls there is time enough to pause
		model '[{"bash":"touch a1"},{"pause":0.2,"bash":"touch a2"},{"bash":"touch a3"},{"text":"all is done"}]'
		begin --gate
		wait_for 90 ran_there 'touch a1'
		"$sg" pause -S "$id" >"$t/out" 2>&1
		sleep 6 # nothing may happen in it
		ran_there 'touch a2'
		is $? 1 "$what, paused: nothing more is done"
		"$sg" continue -S "$id" >"$t/out" 2>&1
		wait_for 90 ended
		is "$(files)" 'a1 a2 a3 keep.txt ' "$what, let go on: all is done"
		is "$(events | grep -c '"kind":"proc.exec".*"touch","a[123]"')" 3 "$what: each once"
		is "$(told | grep -c '^prompt ')" 1 "$what: without another turn"
		model '[{"status":529,"times":2,"then":{"bash":"touch after"}},{"text":"all is done"}]'
		begin --gate
		wait_for 90 ended
		like "$(files)" '^after ' "$what, its provider overloaded twice: it does it all the same"
		is "$(events | grep -c '"status":529')" 2 "$what: and the record has both"
		model '[{"cut":true,"times":1,"then":{"bash":"touch after"}},{"text":"all is done"}]'
		begin --gate
		wait_for 120 ended
		ok $? "$what, an answer that breaks off: it comes to an end"
		like "$(events)" '"incomplete":true' "$what: it is marked"
		"$sg" verify "$file" >"$t/out" 2>&1
		ok $? "$what: the record verifies"
	done
	# refused: no call of its model, by a rule
	cat >nomodel.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "no-model" { kind = "model", say = "No model today." } }
L
	for one in $every; do
		row "$one" || continue
		rules=nomodel.lua
		model '[{"bash":"touch after"},{"text":"all is done"}]'
		begin --gate
		wait_for 90 ended
		like "$(told; printed)" 'No model today' "$what, its model refused: it says why"
		is "$(wc -l <log)" 0 "$what: and nothing was asked"
	done
	rules=boxed.lua
	# stands still in the middle of an answer: a person breaks off the turn
	row 'claude|stream' && {
		model '[{"stall":60,"then":{"bash":"touch after"},"times":9},{"text":"all is done"}]'
		begin --gate
		wait_for 60 test -s log
		"$sg" kill it --turn -S "$id" >"$t/out" 2>&1
		wait_for 20 ended
		ok $? "$what, an answer that stands still: its turn can be broken off"
		model '[{"stall":60,"then":{"bash":"touch after"},"times":9},{"text":"all is done"}]'
		begin --gate
		wait_for 60 test -s log
		kill -9 "$(super_pid)"
		wait_for 20 ended
		"$sg" verify "$file" >"$t/out" 2>&1
		ok $? "$what, the supervisor killed while a call is under way: the record is whole up to there"
		is "$(pgrep -fc "$program.*stream-json" -u "$(id -u)")" 0 "$what: and nothing of it goes on"
	}
	if [ -n "${LONG:-}" ]; then
		ids=
		for one in $every; do
			row "$one" || continue
			model '[{"bash":"touch a1"},{"pause":0.2,"bash":"touch a2"},{"text":"all is done"}]'
			work=repo-$agent begin --gate
			wait_for 90 ran_there 'touch a1'
			"$sg" pause -S "$id" >"$t/out" 2>&1
			ids="$ids $id|$file|${what// /_}"
		done
		sleep 310
		for one in $ids; do
			IFS='|' read -r id file what <<<"$one"
			"$sg" continue -S "$id" >"$t/out" 2>&1
			wait_for 120 ended
			is "$(files)" 'a1 a2 keep.txt ' "${what//_/ }, paused for 310 s: all is done then"
			is "$(events | grep -c '"kind":"proc.exec".*"touch","a[12]"')" 2 "${what//_/ }: each once"
		done
	fi
fi

if part C; then
	rules=ask.lua
	for one in 'claude|stream' 'codex|app-server' 'opencode|serve' 'opencode|acp' 'gemini|acp' 'claude|acp'; do
		row "$one" || continue
		model '[{"bash":"touch asked"},{"text":"all is done"}]'
		begin
		wait_for 90 is_held
		"$sg" kill it --turn -S "$id" >"$t/out" 2>&1
		wait_for 30 ended
		ok $? "$what, cancelled while a person is asked: it ends"
		like "$(told)" '^turn \| cancelled' "$what: as cancelled"
		unlike "$(files)" asked "$what: and nothing is done"
		is_held
		is $? 1 "$what: and nobody is asked any more"
	done
fi

if part F; then
	rules=boxed.lua
	row 'pi|rpc' && {
		model '[{"bash":"echo hello > hello.txt; seq 100 > n.txt"},{"text":"all is done"}]'
		more="--cassette $t/calls.jsonl --record"
		begin --gate
		wait_for 90 ended
		first=$(tree)
		like "$(printed)" 'END ok=true' "$what, its calls kept: it works to its end"
		kill "${pids##* }"
		more="--cassette $t/calls.jsonl"
		begin --gate
		wait_for 90 ended
		like "$(printed)" 'END ok=true' "$what, a fresh one, its model's answers from the record: it works to its end"
		is "$(tree)" "$first" "$what: and its files are the same"
		more=
	}
	row 'codex|app-server' && {
		sizes=
		for steps in 50 200; do
			model "$(python3 -c "import json; print(json.dumps([{'bash': 'echo %d >> n.txt' % i} for i in range($steps)] + [{'text': 'all is done'}]))")"
			begin --gate
			pid=$(super_pid) most=0
			while ! ended; do
				now=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
				[ "${now:-0}" -gt $most ] && most=$now
				sleep 0.3
			done
			like "$(printed)" 'END ok=true' "$what, $steps steps: it works to its end"
			is "$(events | grep -c '"kind":"tool.end"')" $steps "$what: every call of a tool is in the record"
			sizes="$sizes $(stat -c %s "$file")"
		done
		[ "$most" -gt 0 ] && [ "$most" -lt 65536 ]
		ok $? "$what: the supervisor stays below 64 MB ($most KB)"
		# all that was before goes out with each call, and is kept once
		read -r few many <<<"$sizes"
		[ "$many" -lt $((few * 5)) ]
		ok $? "$what: four times the steps, $((many * 10 / few)) tenths of the session file"
	}
	for one in 'codex|app-server' 'pi|rpc'; do
		row "$one" || continue
		model '[{"bash":"touch after"},{"text":"all is done"}]'
		begin --gate --mem 256M
		wait_for 90 ended
		like "$(files)" '^after ' "$what, 256 MB: it runs"
	done
	row 'opencode|serve' && {
		model '[{"bash":"touch after"},{"text":"all is done"}]'
		begin --gate --mem 256M
		wait_for 200 ended
		like "$(events | grep '"kind":"agent.end"')" 'the agent ran out of memory .*(before|in the middle of) its turn|opens no session' "$what, 256 MB are too little: it ran out of memory, and how far it came"
	}
fi
rules=
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" "$t"/repo* 2>/dev/null | wc -l)" 0 "the key is in no file"
finish
