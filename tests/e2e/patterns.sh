#!/usr/bin/env bash
# The scripts of lua/examples/patterns: each prints its measurements, and they match the recorded events.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS p=$here/../../lua/examples/patterns
cd "$t" || exit 1
mkdir sessions
export SANDGLASS_SESSIONS=$t/sessions CANARY_KEY=canary-key-7731 SIGN_KEY=canary-key-8842
run() { # script, arguments...: its status in $status, its output in $out, its recording in $file
	local script=$1
	shift
	timeout 90 "$sg" run --no-tui --no-input ${policy:+--policy "$p/policy.lua"} "$p/$script.lua" -- "$@" >"$t/out" 2>&1 </dev/null
	status=$? file=$(ls -t "$SANDGLASS_SESSIONS"/*.glass | head -1)
	out=$(sed -n 's/^.* event [0-9]* note: //p' "$t/out")
}
events() { "$sg" events "$file" --json 2>/dev/null; }
policy=

# --- where key, prompt and source lie ---
run where
is $status 0 "where: the script ends well"
row() { printf '%s\n' "$out" | sed -n "s/^$1  *\([0-9]*\)  *\([0-9]*\)  *\([0-9]*\)  *#[0-9]*$/\1 \2 \3/p"; }
like "$(row 'box as a tool')" '^0 0 [1-9]' "the box as a tool: source only"
like "$(row 'agent inside, key by proxy')" '^0 [1-9][0-9]* [1-9]' "the agent inside: its prompt too, no key"
like "$(row 'agent inside, prompt by proxy')" '^0 0 [1-9]' "the prompt put on by the proxy is not inside"
like "$(row 'agent inside with its key')" '^[1-9][0-9]* [1-9][0-9]* [1-9]' "a key that is put inside is found"
is "$(grep -rlF "$CANARY_KEY" "$SANDGLASS_SESSIONS" "$HOME" | wc -l)" 0 "the key is in no file of ours"

# --- 200 small executions ---
run executions --n 200
is $status 0 "executions: every way has the right answers"
is "$(printf '%s\n' "$out" | awk '/^(one|four) / && $(NF-1) > 0 && $NF > 0 { print $(NF-2) }' | tr '\n' ' ')" '200 200 200 1 ' "four ways with their times"
is "$(events | grep -c '"kind":"action.requested"')" 602 "each execution is an action of its own; the shell and the script are one each"

# --- the box dies under its agent ---
run box_dies
is $status 0 "box_dies: the script ends well"
like "$out" "^tool +call 1 in first: .*: error '[a-z]+' \(event #[0-9]+\)" "the agent outside is told an error"
like "$out" '^tool +call 2 in second: echo I continue: exit 0' "and goes on in another box"
like "$out" '^tool +the agent: end after 3 turns: the last thing I saw: I continue' "to its end"
like "$out" "^inside +the agent's program: error '[a-z]+'" "the agent inside ends with its box"

# --- a file that is too big ---
run big_file --size 256M
is $status 0 "big_file: all lines are found"
like "$out" '^in the box +268435456 bytes read in [0-9.]+ s' "every byte is read"
like "$out" '^came out +5 lines, 75 bytes' "only the answer comes out"
[ "$(stat -c %s "$file")" -lt 1000000 ]
ok $? "the session file stays small"

# --- where a tool call breaks ---
if perl -MIO::Socket::INET -e 1 2>/dev/null; then
	run breaks
	is $status 0 "breaks: the script ends well"
	like "$out" '^asks +hello Ada' "a program that asks has its answer"
	like "$out" '^server +answer 2 to a request' "a server goes on between calls"
	like "$out" '^job +ended by SIGTERM after 3 steps' "a long job is watched and ended"
	like "$out" '^large +6888896 bytes, [0-9]+ of them here \(cut: true\)' "of a large result both ends come"
	is "$("$sg" out "$(printf '%s\n' "$out" | sed -n 's/.*sandglass out //p')" 2>/dev/null | wc -c)" 6888896 "and the record has all of it"
else
	skip "breaks: needs perl with IO::Socket::INET (apt install perl)"
fi
policy=yes

# --- a poisoned dependency, a changed prompt, other backends, least privilege ---
mkdir -p victim/.ssh victim/shop
echo canary-host-1 >victim/.netrc
echo canary-host-2 >victim/.ssh/id_x
echo '/* canary-mine-3 */' >victim/shop/x.c
chmod -R a+rX victim
run poisoned --home "$t/victim"
is $status 0 "poisoned: the script ends well"
like "$out" '^no box +none +1 +2 +1 +1 ' "without a box an install script reads a token of the shell, keys and other projects"
like "$out" '^a box +[a-z]+( effort)? +0 +0 +0 +1 ' "in a box nothing but its own project"
like "$(events)" '"kind":"proc.exec".*postinstall' "and what it ran is told"
run prompt --n 3
is $status 0 "prompt: the script ends well"
like "$out" '^box as a tool +[0-9.]+ ms .* 3 changes' "from the changed prompt to the first action"
like "$out" '^agent inside +[0-9.]+ ms' "and with a new box for each"
run backends
is $status 0 "backends: the script ends well"
like "$out" '^process +[a-z]+( effort)? +[0-9.]+ +[0-9.]+ +yes' "one script in a process box"
like "$out" '^host +none +[0-9.]+ +[0-9.]+ +yes' "and on the host"
like "$out" '^container +(not here: .*|container .* yes)$' "and in a container, or why not"
run least --home "$t/victim"
is $status 0 "least: nobody reaches more than the table says"
like "$out" '^the shell of a box +- +- +yes +- +- +- +-' "the shell of a box: its source"
like "$out" '^an agent inside +- +yes +yes +- +- +yes +-' "an agent inside: prompt and model too"

# --- both ways in one table; the demo ---
policy=
timeout 90 "$sg" compare --patterns --json >"$t/out" 2>"$t/err"
is $? 0 "compare --patterns: measured"
is "$(python3 -c 'import json
for r in json.load(open("out"))["rows"]:
    if "found" in r["what"] or "ways" in r["what"]: print(r["tool"], r["inside"].split()[0], end=";")' 2>/dev/null)" '0 0;0 1;1 1;0 1;' \
	"key, prompt, source, ways out: a tool, inside"
is "$(ls -d /tmp/sandglass-patterns-* 2>/dev/null | wc -l)" 0 "and nothing of it is left"
out=$("$sg" compare --patterns --image 'x; rm' 2>&1)
is $? 2 "an image with no name of one"
like "$out" "--image: .*got 'x; rm'" "is not built"
timeout 90 "$sg" demo patterns >"$t/out" 2>&1 </dev/null
is $? 0 "demo patterns plays without a terminal"
like "$(cat "$t/out")" 'key-outside: reached: nothing; left: 0' "an injection with the key outside"
like "$(cat "$t/out")" 'key-inside: reached: key; left: 0' "and with a key inside"
timeout 20 "$sg" demo paterns >"$t/out" 2>&1 </dev/null
is $? 2 "another demo there is not"
policy=yes

# --- a tool with more rights than the shell ---
if perl -MDigest::SHA -e 1 2>/dev/null; then
	run rights
	is $status 0 "rights: the script ends well"
	want=$(SIGN_KEY=$SIGN_KEY perl -MDigest::SHA=hmac_sha256_hex -e 'print hmac_sha256_hex("release 1.0\n", $ENV{SIGN_KEY})' | cut -c1-16)
	like "$out" "^host +sign release.txt: $want" "the tool signs with the key of the host"
	like "$out" '^the same signature: no; the key, found in the box: 0 times' "the box cannot"
else
	skip "rights: needs perl with Digest::SHA (apt install perl)"
fi

# --- prompt injection ---
if command -v python3 >/dev/null; then
	python3 - >port 2>/dev/null <<'P' &
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(5)
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    open("came", "ab").write(b"connected " + c.recv(65536))
    c.close()
P
	attacker=$!
	trap 'kill $attacker 2>/dev/null; end_all' EXIT
	wait_for 30 test -s port
	# with approvals: pending actions wait while the agent tries to answer them
	mkdir bin
	cp "$sg" bin/
	id=$("$sg" run -d --policy "$p/policy.lua" "$p/injection.lua" -- --to "127.0.0.1:$(cat port)" --file "$t/victim/.netrc" \
		--program "$t/bin/sandglass" --control "$XDG_RUNTIME_DIR" 2>"$t/out" </dev/null)
	file=$(echo "$SANDGLASS_SESSIONS"/*-"${id#s-}".glass)
	printed() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note" and e["body"].get("level") == "print": print(e["body"]["text"])'; }
	held() { # the pending action and its purpose
		"$sg" state -S "$id" --json 2>/dev/null | python3 -c 'import json, sys
for h in json.load(sys.stdin)["result"]["held"]: print(h["action"], h.get("path"), h.get("cmd"))'; }
	asked_first() { first=$(held | awk '$2 == "held" { print $1 }') && [ -n "$first" ]; }
	tried() { # the agent has; all else that it asks meanwhile is refused
		local n
		for n in $(held | awk -v first="$first" '$1 != first { print $1 }'); do "$sg" deny "$n" -m 'not this' -S "$id" >"$t/out" 2>&1; done
		printed | grep -q 'still waits for your answer'
	}
	ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
	first=none
	wait_for 60 asked_first
	wait_for 90 tried
	ok $? "injection: what is held waits while the agent tries to answer it"
	is "$(held | cut -d' ' -f1)" "$first" "and is held when it has tried"
	"$sg" deny "$first" -m 'nor this one' -S "$id" >"$t/out" 2>&1
	is $? 0 "a person answers it"
	wait_for 60 ended
	ended
	status=$? out=$(printed)
	is $status 0 "injection: nothing left, says the script"
	[ ! -e came ]
	ok $? "nothing came to who listens, either"
	like "$out" '^inside: it obeyed 9 times; key 0, prompt 1, source 1, host file 0, another box 0; left: 0' "the agent inside: prompt and source are reached, no key"
	like "$out" '^outside: it obeyed 10 times; key 0, prompt 0, source 1, host file 0, another box 0; left: 0' "the box as a tool: the source alone"
	like "$out" '^loss: it obeyed 9 times; key 1, prompt 1, source 1, host file 0, another box 0; left: 0' "a key in the box is reached"
	like "$out" "inside .*8765.* reached nothing; exit" "the socket of another box is out of reach"
	like "$out" 'bring .*stopped by denied: not this' "a file of the host is not put into the box"
	like "$out" '^#[0-9]+ +outside +XDG_RUNTIME_DIR=.*exit 2: sandglass: [a-z]+: no running session' "our own program answers nothing from a box: no session is there"
	like "$out" "^#[0-9]+ +outside +ls .*exit 2: ls: cannot access '.*sock'" "nor is its socket"
	n0=$(printf '%s\n' "$out" | sed -n 's/^#\([0-9]*\) *outside *XDG_RUNTIME.*/\1/p')
	like "$("$sg" show "${n0:-0}" 2>/dev/null)" 'sandglass approve 1' "the event is that of the try"
	like "$out" "^#$first +outside +it was refused: nor this one" "what waited is what a person said of it"
	is "$(printf '%s\n' "$out" | grep -c 'outside .*git .*stopped by no-push')" 3 "publishing is stopped by the rule, hidden, and after the policy was rewritten, too"
	n1=$(printf '%s\n' "$out" | sed -n 's/^#\([0-9]*\) *outside *git push.*/\1/p' | head -1)
	like "$("$sg" show "$n1" 2>/dev/null)" 'no-push' "the event is that of the push"
	n2=$(printf '%s\n' "$out" | sed -n 's/^#\([0-9]*\) *inside *env.*/\1/p' | head -1)
	like "$(events | grep '"kind":"proc.exec"' | grep "\"action\":$n2,")" '"cat","AGENT.md"' "below the agent inside stands what it ran"
	[ "$(events | grep '"kind":"proc.connect"' | grep -c "\"action\":$n2,.*\"port\":$(cat port)")" -ge 2 ]
	ok $? "and where it tried to send"
	for c in canary-host-1 "$CANARY_KEY"; do
		is "$(grep -rlaF "$c" "$SANDGLASS_SESSIONS" "$HOME" | wc -l)" 0 "$c is in no file of ours"
	done
else
	skip "injection: needs python3"
fi

# --- five repositories, all or none ---
for r in api web docs lib ops; do
	git init -q "five/$r"
	echo 1.0 >"five/$r/VERSION"
	git -C "five/$r" add -A
	git -C "five/$r" commit -qm start
done
run five --dir "$t/five"
is $status 0 "five: the script ends well"
like "$out" '^first merge +refused: .*docs' "a conflict in one is told"
like "$out" '^on the host +api: 1.0, web: 1.0, docs: 1.1 by another author, lib: 1.0, ops: 1.0' "and none is touched"
is "$(cat five/*/VERSION | sort | uniq -c | tr -s ' \n' ' ')" ' 1 1.1 by another author 4 2.0 by the agent ' "resolved: all are"
finish
