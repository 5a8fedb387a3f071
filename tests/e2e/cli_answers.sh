#!/usr/bin/env bash
# Outcomes that users read from commands: JSON where it is offered, events that don't exist, what init and trust did.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
export SANDGLASS_SESSIONS=$t/sessions
mkdir -p "$t/repo" && cd "$t/repo" || exit 1
field() { python3 -c 'import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print(" ".join(str(o.get(k)) for k in sys.argv[1:]))' "$@"; }
is "$("$sg" policy check >"$t/out" 2>&1; echo "$? $(wc -l <"$t/out")")" '2 2' 'policy check without a file: an error and its remedy'
like "$(cat "$t/out")" "'sandglass init'" 'which names init'
"$sg" init -q >"$t/out" 2>&1
is "$? $(wc -c <"$t/out")" '0 0' 'init -q prints nothing'
is "$("$sg" init --json | field path done trusted | sed -n 1p)" '.sandglass/policy.lua kept True' 'init --json: each file, what became of it, its trust'
echo >>.sandglass/policy.lua
is "$("$sg" init --json | field trusted | sed -n 1p)" False 'a changed file is not trusted'
is "$("$sg" trust --json </dev/null 2>/dev/null | field state | sed -n 1p)" changed 'trust --json'
"$sg" trust --yes >"$t/out" 2>&1
like "$(tail -1 "$t/out")" '^2 of 2 files trusted' 'trust prints its result'
is "$("$sg" trust --json | field trusted files | tail -1)" '2 2' 'in JSON, too'
cat >"$t/a.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { keep = true }
box:write("a.txt", "one\ntwo\n")
L
"$sg" run --no-tui -q --name a "$t/a.lua" >"$t/out" 2>&1 </dev/null
is "$("$sg" cat a.txt --json | field path size_bytes mode data)" "$(printf 'a.txt 8 0644 one\ntwo\n')" 'cat --json'
is "$("$sg" index a --json | field complete)" True 'index --json'
for c in events verify claims simulate show diff 'cat a.txt --at' 'export -F jsonl'; do
	# shellcheck disable=SC2086
	"$sg" $c 'a#99999' >"$t/out" 2>"$t/err" </dev/null
	is "$? $(wc -c <"$t/out") $(head -1 "$t/err" | grep -c 'no event #99999')" '2 0 1' "$c: an event behind the end"
done
for more in '' '--redact 1'; do # small files have small pages
	# shellcheck disable=SC2086
	"$sg" export a -F glass -o "$t/copy.glass" -f $more >"$t/out" 2>&1
	"$sg" verify "$t/copy.glass" >"$t/out" 2>&1
	is $? 0 "a copy of a small session is intact ($more)"
done
"$sg" run --no-tui -q --name a "$t/a.lua" >"$t/out" 2>&1 </dev/null
remedy() { # hint, command...: one error, then the hint
	local hint=$1
	shift
	"$sg" "$@" >"$t/out" 2>"$t/err" </dev/null
	is "$? $(wc -l <"$t/err") $(tail -1 "$t/err" | grep -c -e "$hint")" '2 2 1' "$*: $hint"
}
remedy 'by its id' show a
remedy 'by its id' undo -S a
remedy '-U 2' search one -C 2
remedy '--box' diff nosuch
finish
