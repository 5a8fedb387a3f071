#!/usr/bin/env bash
# Walks over every command of the table: its help, an unknown option, its completed options, and --json of each reading
# command, line by line. Impossible requests are refused before the start.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
export TZ=UTC
cd "$t" || exit 1
cat >note.lua <<'L'
local sg = require "sandglass"
sg.note("walked %s", "here")
L
"$sg" run --no-tui note.lua </dev/null >"$t/out" 2>&1
is $? 0 'a session to look at'
"$sg" completion bash >completion.bash
# shellcheck disable=SC1091
. ./completion.bash
names=$("$sg" help --json | sed 's/.*"command":"\([a-z_-]*\)".*/\1/')
walked=0
for name in $names; do
	walked=$((walked + 1))
	case $name in claude | codex | opencode | gemini | pi | copilot) continue ;; esac # what they are given is the agent's
	said=$("$sg" "$name" --no-such-option 2>&1 </dev/null)
	[ $? -eq 2 ] && [ "$(printf '%s\n' "$said" | wc -l)" -le 2 ] && [[ $said == *"sandglass: $name: unknown option '--no-such-option'"* ]]
	ok $? "$name: an unknown option is told in at most two lines"
	usage=$("$sg" help "$name")
	first=$(printf '%s\n' "$usage" | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | head -1)
	[ -n "$first" ] || continue
	COMP_WORDS=("$sg" "$name" "$first") COMP_CWORD=2 COMPREPLY=()
	_sandglass
	[[ " ${COMPREPLY[*]} " == *" $first"* ]]
	ok $? "$name: $first is completed"
done
[ "$walked" -ge 50 ]
ok $? 'the table has its commands'

if command -v python3 >/dev/null; then
	while read -r words; do
		# shellcheck disable=SC2086
		"$sg" $words --json </dev/null >lines 2>"$t/out"
		python3 -c 'import json,sys
rows = [json.loads(l) for l in open("lines")]
sys.exit(not (rows and all(isinstance(r, dict) and r.get("schema") for r in rows)))' 2>>"$t/out"
		ok $? "$words --json: objects with a schema, one a line"
	done <<-L
		ls
		show
		events
		verify
		search walked
		config
		doctor
		help
		version
		show --handoff
		policy explain 'git push'
		show s-none
	L
else
	skip 'python3 reads the JSON: apt-get install python3'
fi

for wrong in "dockr:'container'" "proces:'process'" "xyzzy:Available: process"; do
	"$sg" run --backend "${wrong%%:*}" note.lua </dev/null >"$t/out" 2>&1
	like "$?.$(grep -c "^sandglass: " "$t/out").$(tr '\n' ' ' <"$t/out")" "^2\.1\..*unknown backend '${wrong%%:*}'.*${wrong#*:}" "--backend ${wrong%%:*}"
done
is "$("$sg" ls --json | wc -l)" 1 'nothing was started'
finish
