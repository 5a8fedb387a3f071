#!/usr/bin/env bash
# Invalid input to a run gives one clear line with the error, its place, and the remedy, and the right status. Nothing
# is started or changed.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
mkdir repo && git init -q repo && echo one >repo/f && git -C repo add f && git -C repo commit -qm one
before=$(cd repo && find . -type f -exec cksum {} + | sort | cksum)
bad() { # name, status, expression, words...: what stands on stderr is one line that matches
	local name=$1 status=$2 what=$3
	shift 3
	timeout 60 "$@" >"$t/stdout" 2>"$t/out" </dev/null
	like $? "^$status\$" "$name: status $status"
	like "$(cat "$t/out")" "$what" "$name: says what and where"
	is "$(grep -c "^sandglass: " "$t/out")" 1 "$name: in one line"
	[ -z "$(ls "$XDG_RUNTIME_DIR/sandglass" 2>/dev/null)" ]
	ok $? "$name: nothing is left running"
	for f in $(find "$HOME" -name '*.glass'); do
		"$sg" verify "$f" >"$t/verify" 2>&1 || { cp "$t/verify" "$t/out"; ok 1 "$name: the record that was begun is whole"; }
		[ ! -e "$f-wal" ] || ok 1 "$name: the record that was begun was closed"
	done
	rm -f "$HOME"/.local/share/sandglass/sessions/*
}
# The same with nobody looking and for machines: the error, no id, and nothing that runs on.
every_way() { # name, status, expression, words after `run`...
	local name=$1 status=$2 what=$3
	shift 3
	bad "$name, --no-tui" "$status" "$what" "$sg" run --no-tui -q "$@"
	bad "$name, -d" "$status" "$what" "$sg" run -d "$@"
	is "$(cat "$t/stdout")" '' "$name, -d: no id is printed"
	bad "$name, -d --json" "$status" "$what" "$sg" run -d --json "$@"
	like "$(cat "$t/stdout")" "^\{\"schema\":1,\"error\":\{.*\},\"exit\":$status\}\$" "$name, -d --json: an object that says so"
	bad "$name, --json" "$status" "$what" "$sg" run --json "$@"
	like "$(tail -1 "$t/stdout")" "\"status\":$status|\"exit\":$status\}" "$name, --json: the last line says so"
}
script() { printf 'local sg = require "sandglass"\n%s\n' "$2" >"$1.lua"; }
script good 'print "fine"'
script syntax 'local x = = 2'
script option 'local box <close> = sg.sandbox { repos = {}, rpeo = "." }'
script nowhere 'local box <close> = sg.sandbox { repo = "/nowhere/at/all" }'
script model 'local box <close> = sg.sandbox {}
local r = assert(sg.agent.run { task = "x", box = box, model = "nobody:knows-this" })'
printf 'local p = require "sandglass.policy"\nreturn p.rules {\n  p.alow "x" { cmd = "ls *" },\n}\n' >policy.lua
printf 'local p = require "sandglass.policy"\nreturn p.rules {\n  p.allow "x" { cmmd = "ls *" },\n}\n' >option_policy.lua

every_way 'syntax error' 3 'syntax\.lua:2' syntax.lua
every_way 'bad policy' 3 'policy\.lua:3' good.lua --policy policy.lua
every_way 'option of a rule' 3 'option_policy\.lua:3.*cmmd|cmmd.*option_policy\.lua:3' good.lua --policy option_policy.lua
every_way 'unknown model' 3 "--model: .*'nobody:x'" good.lua --model nobody:x
every_way 'model without a provider' 3 "--model: .*PROVIDER:NAME.*'nobody'" good.lua --model nobody
every_way 'bad hold' 2 'hold' good.lua --hold 'kind:('
every_way 'bad option' 2 "did you mean '--policy'" good.lua --polcy x
"$sg" run -d good.lua >"$t/stdout" 2>"$t/out"
like "$?$(cat "$t/stdout")" '^0s-[a-z0-9]{6}$' 'run -d of a script that ends at once: its id'
bad 'syntax error' 3 'syntax\.lua:2' "$sg" run syntax.lua
bad 'unknown option of sg.sandbox' 3 "option\.lua:2.*rpeo.*did you mean 'repo'|rpeo.*did you mean 'repo'.*option\.lua:2" "$sg" run option.lua
bad 'a function that a policy has not' 3 'policy\.lua:3.*' "$sg" run good.lua --policy policy.lua
bad 'an option that a rule has not' 3 "option_policy\.lua:3.*cmmd.*did you mean 'cmd'|cmmd.*did you mean 'cmd'.*option_policy\.lua:3" "$sg" run good.lua --policy option_policy.lua
bad 'a policy that is not there' 2 'nopolicy\.lua' "$sg" run good.lua --policy nopolicy.lua
bad 'a script that is not there' 2 'noscript\.lua' "$sg" run noscript.lua
bad 'a directory for a script' 2 'repo' "$sg" run repo
bad 'an unknown option' 2 "did you mean '--policy'" "$sg" run good.lua --polcy x
bad 'an unknown command' 2 "did you mean 'run'" "$sg" rum good.lua
bad 'a budget that is none' 2 'budget' "$sg" run good.lua --budget usd=lots
bad 'a hold filter that is none' 2 'hold' "$sg" run good.lua --hold 'kind:('
if boxes; then
	rm -f "$HOME"/.local/share/sandglass/sessions/*
	bad 'a workspace that is not there' 1 '/nowhere/at/all' "$sg" run nowhere.lua --no-tui -q
	bad 'a model that nobody knows' 3 "nobody:knows-this|'nobody'" "$sg" run model.lua -q
	bad 'a workspace that is not there, -d' 1 '/nowhere/at/all' "$sg" run -d nowhere.lua
	bad 'an unknown option of sg.sandbox, -d' 3 "rpeo.*did you mean 'repo'" "$sg" run -d option.lua
	bad 'a model that nobody knows, -d' 3 "'nobody'" "$sg" run -d model.lua
	hide='mount --bind /dev/null "$(command -v bwrap)" && exec "$@"'
	if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
		script box 'local box <close> = sg.sandbox {}'
		bad 'no bubblewrap' 6 '(bubblewrap|bwrap).*' unshare -m sh -c "$hide" - "$sg" run box.lua -q
	else skip 'bubblewrap cannot be hidden here'; fi
else skip 'no box can be opened here'; fi

# session files
"$sg" run good.lua >/dev/null 2>&1 </dev/null
whole=$(find "$HOME" -name '*.glass')
mv "$whole" "$t/whole.glass"
printf 'not a session\n' >foreign.glass
head -c 3000 whole.glass >damaged.glass
cp whole.glass newer.glass && chmod 644 newer.glass
mkdir folder.glass
sqlite3 newer.glass 'pragma user_version = 999' 2>/dev/null || printf '\377' | dd of=newer.glass bs=1 seek=60 conv=notrunc 2>/dev/null
for c in show events verify diff out resume replay export simulate fork; do
	words=$c
	case $c in replay) words="replay --screen" ;; export) words="export -F markdown" ;; esac
	at='' && [ $c = fork ] && at='#5'
	[ $c = out ] && at='#5'
	# shellcheck disable=SC2086
	{
		bad "$c: foreign" 2 "foreign\.glass.*not a session" "$sg" $words "$t/foreign.glass$at"
		bad "$c: damaged" 9 'damaged\.glass' "$sg" $words "$t/damaged.glass$at"
		bad "$c: of a newer version" 2 'newer\.glass.*(newer|version|format)' "$sg" $words "$t/newer.glass$at"
		bad "$c: a directory" 2 'folder\.glass.*(directory|folder)' "$sg" $words "$t/folder.glass$at"
		bad "$c: not there" 2 'nothing\.glass' "$sg" $words "$t/nothing.glass$at"
	}
done
# a third-party image: readable, but not usable
script waits 'print "waits" sg.sleep(60)'
id=$("$sg" run -d waits.lua --name busy)
waiting() { "$sg" events "$id" 2>/dev/null | grep -q waits; }
wait_for 20 waiting
busy=$(ls "$HOME"/.local/share/sandglass/sessions/*-busy-*.glass)
for c in resume 'prune --yes'; do
	# shellcheck disable=SC2086
	timeout 60 "$sg" $c "$id" >"$t/stdout" 2>"$t/out" </dev/null
	like "$?$(cat "$t/out")" "^1sandglass: .*(${id#s-}.*is running|process [0-9]+ writes session .*${id#s-})" "$c: one that is written: says so"
	is "$(grep -c "^sandglass: " "$t/out")" 1 "$c: one that is written: in one line"
done
for c in verify show events; do
	timeout 60 "$sg" $c "$busy" >"$t/out" 2>&1 </dev/null
	is $? 0 "$c: one that is written can be looked at"
done
"$sg" stop --now -S "$id" >"$t/out" 2>&1
gone() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 20 gone
"$sg" verify "$busy" >"$t/out" 2>&1
is $? 0 'and it was not harmed'
rm -f "$HOME"/.local/share/sandglass/sessions/*
# something else where ours should be
printf 'x\n' >"$t/file"
bad 'a file for the folder of sessions' '[12]' "$t/file.*(directory|folder)" "$sg" run good.lua --sessions "$t/file"
bad 'a directory for the configuration' 2 "'.*repo' is a directory" "$sg" --config "$t/repo" run good.lua
is "$(cd repo && find . -type f -exec cksum {} + | sort | cksum)" "$before" 'nothing was changed'
finish
