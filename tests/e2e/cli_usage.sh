#!/usr/bin/env bash
# The command line: help for every command, one clear line for bad input, exit statuses, and completion scripts.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1

run() { # words...: fills out, err, rc
	out=$("$sg" "$@" 2>"$t/err" </dev/null)
	rc=$?
	err=$(cat "$t/err")
}
fails() { # status, expression for stderr, words...
	local status=$1 what=$2
	shift 2
	run "$@"
	is "$rc" "$status" "status $status: sandglass $*"
	like "$err" "$what" "says why: sandglass $*"
	lines=$(printf '%s\n' "$err" | wc -l)
	[ "$lines" -le 2 ]
	ok $? "in at most two lines: sandglass $*"
}

run
is "$rc" 0 'without a word'
is "$(printf '%s\n' "$out" | wc -l)" 3 'without a word: what to do, in three lines'

names=$("$sg" help --json | sed 's/.*"command":"\([a-z_-]*\)".*/\1/')
[ "$(printf '%s\n' "$names" | wc -l)" -ge 30 ]
ok $? 'the table has its commands'
for name in $names; do
	run help "$name"
	[ "$rc" -eq 0 ] && [[ $out == "usage: sandglass $name"* ]] && [[ $out == *'  $ sandglass '* ]]
	ok $? "help $name, with an example"
	run "$name" -h
	[ "$rc" -eq 0 ] && [[ $out == "usage: sandglass $name"* ]]
	ok $? "$name -h"
	run "$name" --no-such-option
	is "$rc" 2 "$name --no-such-option"
done
for topic in filter rules ids exit files variables 'lua Rule' 'lua sg.Time' 'lua log:each' 'lua box:exec'; do
	# shellcheck disable=SC2086
	run help $topic
	is "$rc" 0 "help $topic"
done

related=$("$sg" help pause | sed -n '/^See also/,$p' | tr -s '\n ' ' ')
like "$related" '^See also: .*continue.*step.*freeze' 'help: related commands'
unlike "$related" 'pause' 'but not itself'

fails 2 "unknown command 'evnts'; did you mean 'events'" evnts
fails 2 "did you mean '--follow'" events --folow
fails 2 "missing value" events --filter
fails 2 "session 's-nope' not found" show s-nope
fails 2 "nothing.glass" show "$t/nothing.glass"
fails 2 "directory" verify "$t/"
fails 2 "no running session" pause
fails 2 "-C: " -C "$t/nowhere" ls
fails 2 "Give --from" new
fails 2 "did you mean" new --from codin
fails 2 "expected check, .*got .chek." policy chek
fails 2 "--color: expected" --color sometimes ls
printf 'this is not a session, but long enough to have a header of some kind or other in it' >"$t/foreign.glass"
fails 2 "foreign.glass" show "$t/foreign.glass"
run ls --jsn
is "$rc" 2 'a misspelt common option'
run show s-nope --json
is "$rc" 2 'errors with --json keep their status'
like "$out" '^\{"schema":1,"error":\{"code":"noent","text":' 'and are an object'

for shell in bash zsh fish; do
	run completion $shell
	is "$rc" 0 "completion $shell"
	printf '%s\n' "$out" >"$t/completion.$shell"
done
bash -n "$t/completion.bash"
ok $? 'the bash script is bash'
command -v zsh >/dev/null && { zsh -n "$t/completion.zsh"; ok $? 'the zsh script is zsh'; }
command -v fish >/dev/null && { fish -n "$t/completion.fish"; ok $? 'the fish script is fish'; }
is "$(
	. "$t/completion.bash"
	COMP_WORDS=("$sg" eve) COMP_CWORD=1
	_sandglass
	echo "${COMPREPLY[*]}"
)" events 'bash completes a command'
is "$(
	. "$t/completion.bash"
	COMP_WORDS=("$sg" events --fol) COMP_CWORD=2
	_sandglass
	echo "${COMPREPLY[*]}"
)" --follow 'bash completes an option'

mkdir work && cd work || exit 1
for p in coding fanout inside bare; do
	run new "my-$p" --from $p
	is "$rc" 0 "new --from $p"
	[ -s "my-$p.lua" ]
	ok $? "new --from $p writes the script"
done
before=$(cat my-bare.lua | cksum)
fails 2 "already exists" new my-bare --from coding
is "$(cat my-bare.lua | cksum)" "$before" 'nothing was written over'
[ ! -e my-bare.script.lua ]
ok $? 'nothing half done'

# a word that a command does not know does nothing
run mcp add keeps -- true
is "$rc" 0 'an MCP server'
fails 2 "expected add, .*got 'tset'" mcp tset keeps
fails 2 'missing argument' mcp rm
fails 2 'rm: unexpected argument' mcp rm keeps more
like "$("$sg" mcp ls)" '^keeps ' 'it is still there'
fails 2 "expected exec, .*got 'lx'|'lx'; did you mean 'ls'" sandbox lx
fails 2 "expected exec, .*got 'frobnicate'" sandbox frobnicate
fails 2 "session 's-nope00' not found" redact s-nope00#3
fails 2 'Not a directory' trust my-bare.lua

if "$sg" version -q >/dev/full 2>/dev/null; then ok 1 'a full disk is not success'; else ok 0 'a full disk is not success'; fi
LC_ALL=tr_TR.UTF-8 run help events
like "$out" '^usage: sandglass events' 'nothing follows the locale'
# the library of scripts, from the types: every function has a word of its own
"$sg" help lua >"$t/out"
is "$(grep -c '^  [a-z]*[.:][a-z_.]*(' "$t/out")" "$("$sg" help lua --json | grep -c '"args":"(')" 'help lua lists every function'
is "$(grep '^  [^ ]' "$t/out" | grep -cvE '^  [^ ]+\([^)]*\)( +[^ ]|$)')" 0 'and says of each what it does'
unlike "$(cat "$t/out")" '^[^(]*[ ][^(]*\([^)]*$' 'none of its sentences leaves a parenthesis open'
like "$("$sg" help lua box:exec)" '^box:exec\(cmd, o\)' 'one of them in full'
like "$("$sg" help lua ExecOpts)" '^  timeout sg.Time\?' 'a table of options'
like "$("$sg" help lua exec --json | head -1)" '"name":"box:exec","args":"\(cmd, o\)"' '--json'
"$sg" help lua sandbx >"$t/out" 2>&1
like "$? $(cat "$t/out")" "^2 .*did you mean 'sg.sandbox'" 'a near name is proposed'

for topic in filter rules ids exit files variables; do "$sg" help $topic --json; done >"$t/topics" 2>"$t/out"
is "$? $(grep -c '"topic":' "$t/topics")" '0 6' 'the topics of help are objects, too'
like "$("$sg" help filter)" '@name .*:filter save NAME' 'a saved filter: how it is saved'
finish
