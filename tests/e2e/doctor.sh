#!/usr/bin/env bash
# `doctor`: one line per check, and a result that tells if sandboxes can be opened. `--paths` lists all files of
# sandglass on the host while a session runs; afterwards no process uses them.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
export TMPDIR=$t/tmp
mkdir "$TMPDIR"
"$sg" doctor >"$t/out" 2>&1
is $? 0 'ready'
is "$(grep -vcE '^(ok|NO|-) +[^ ]|^ +repair: |^ready: ' "$t/out")" 0 'a line a check, with its repair below what is not well'
like "$(tail -1 "$t/out")" '^ready: process backend, isolation level (enforced|best effort); .*model' 'the last one says what can be done'
is "$("$sg" doctor | grep -cE '^- +daytona sandboxes +no DAYTONA_API_KEY')" 1 'what need not be here is no "ok", and no repair either'
echo made-up-key | "$sg" secret set DAYTONA_API_KEY >"$t/out" 2>&1
echo made-up-key | "$sg" secret set ANTHROPIC_API_KEY >>"$t/out" 2>&1
like "$("$sg" doctor | tr '\n' ' ')" 'ok +daytona sandboxes +DAYTONA_API_KEY is set.*model key in ANTHROPIC_API_KEY' 'a key that is kept counts, as a variable does'
"$sg" secret rm DAYTONA_API_KEY && "$sg" secret rm ANTHROPIC_API_KEY
like "$("$sg" doctor -q | head -1)" '^(NO|ready:)' '-q: only what is not well'
is "$("$sg" doctor --json | grep -c '"schema":1')" "$("$sg" doctor --json | wc -l)" '--json: an object a line'
like "$("$sg" doctor --json | tail -1)" '"ready":true,"backend":"process"' 'the last line has the result'
mkdir -p "$HOME/.config/sandglass"
echo 'return {' >"$HOME/.config/sandglass/config.lua"
"$sg" doctor >"$t/out" 2>&1
is $? 3 'a broken configuration: not well, the status of a file that is wrong'
like "$(head -1 "$t/out")" '^NO +configuration +.*config\.lua' 'and a row, with the file'
like "$(cat "$t/out")" '^ok +landlock ' 'beside all others'
like "$(tail -1 "$t/out")" '^not ready: ' 'and nothing is ready'
"$sg" doctor --json >"$t/out" 2>&1
like "$(head -1 "$t/out")" '"check":"configuration","ok":false,"value":".*config.lua' 'as JSON, too'
like "$(tail -1 "$t/out")" '"ready":false' 'the last one, too'
rm "$HOME/.config/sandglass/config.lua"

mkdir repo && git init -q repo && echo one >repo/f && git -C repo add f && git -C repo commit -qm one
cat >wait.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = "repo" }
assert(box:exec "echo two >> f")
sg.store("s"):set("k", 1)
print "waits"
sg.sleep(100)
L
id=$("$sg" run -d wait.lua 2>"$t/out")
wait_for 30 sh -c "'$sg' events $id 2>/dev/null | grep -q waits"
"$sg" doctor --paths --json >paths 2>"$t/out"
listed() { grep -oE '"path":"[^"]*"' paths | cut -d'"' -f4; }
lost=
while read -r path; do # another session may end meanwhile: then the next list lacks what was its own
	[ -e "$path" ] || ! "$sg" doctor --paths --json 2>/dev/null | grep -qF "\"$path\"" || lost="$lost $path"
done < <(listed)
is "$lost" '' 'all that is listed is there'
lost=
while read -r file; do
	while read -r path; do case $file/ in "${path%/}"/*) continue 2 ;; esac; done < <(listed)
	lost="$lost $file"
done < <(find "$HOME" "$XDG_RUNTIME_DIR" "$TMPDIR" -mindepth 1 ! -type d ! -name .gitconfig; find /tmp -maxdepth 1 -name "sandglass-*$id*")
is "$lost" '' 'every file and socket of ours is in the list'
for what in sessions state 'box' socket program; do like "$(grep -c "\"what\":\"$what\"" paths)" '^[1-9]' "listed: $what"; done
like "$("$sg" doctor --paths)" "^socket .*$id" 'as text, too'
"$sg" stop --now -S "$id" >"$t/out" 2>&1
wait_for 20 sh -c "! '$sg' ls --live 2>/dev/null | grep -q $id"
unlike "$("$sg" doctor --paths)" '^(socket|box|elsewhere|rented|dead cgroup) ' 'after the end no socket, box or group is left'
finish
