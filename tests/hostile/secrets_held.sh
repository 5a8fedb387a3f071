#!/usr/bin/env bash
# Secrets of the session itself (environment, kept, file, command): a sandbox prints them in pieces and in every
# encoding, a host tool gets them by name, and an action that names one is pending approval. Their values appear
# nowhere: not in the session file during or after the run (with its log), and not on the control socket, in the script,
# on screens, in --json, in the search, or in a merge.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS here=$(cd "$(dirname "$0")" && pwd)
need_boxes
command -v python3 >/dev/null && command -v zstd >/dev/null || { skip 'python3 or zstd is missing'; finish; }
first=(Kx9/v+e 'we"ll-k' plain-f cmd:=5)
second=('n 5518-env' '6627-kept' 7736-file 8845-command)
value=() && for i in 0 1 2 3; do value[i]=${first[i]}${second[i]}; done
export CANARY_API_KEY=${value[0]}
printf '%s\n' "${value[1]}" | "$sg" secret set CANARY_KEPT >"$t/out"
is $? 0 'secret set keeps one from standard input'
mkdir -p "$HOME/.config/sandglass" "$t/keys" && (umask 077 && printf '%s\n' "${value[2]}" >"$t/keys/file")
printf '#!/bin/sh\nprintf %%s%%s "%s" "%s"\n' "${first[3]}" "${second[3]}" >"$t/keys/command" && chmod 700 "$t/keys/command"
cat >"$HOME/.config/sandglass/config.lua" <<L
local c = require "sandglass.config"
c.secrets = { CANARY_FILE = "file:$t/keys/file", CANARY_COMMAND = { "$t/keys/command" } }
return c
L
"$sg" secret ls >"$t/out" 2>&1
for name in CANARY_API_KEY CANARY_KEPT CANARY_FILE CANARY_COMMAND; do
	like "$(cat "$t/out")" "^$name " "secret ls names $name"
	"$sg" secret test $name >>"$t/out" 2>&1
	is $? 0 "secret test can read $name"
done
for i in 0 1 2 3; do
	grep -qF -- "${value[i]}" "$t/out"
	is $? 1 "and its value is not shown ($i)"
done
chmod 644 "$t/keys/file"
like "$("$sg" secret test CANARY_FILE)" 'chmod 600' 'a file that others can read is refused'
chmod 600 "$t/keys/file"

repo=$t/repo
mkdir "$repo" && git init -q "$repo" && echo one >"$repo/a.txt" && printf 'key = %s\n' "${value[2]}" >"$repo/settings.ini"
git -C "$repo" add -A && git -C "$repo" commit -qm one
cat >"$t/allow.lua" <<'L'
local p = require "sandglass.policy"
return p.rules { p.allow "host" { tool = "sg.host.exec" }, p.ask "look" { cmd = "echo look *" } }
L
cat >"$t/held.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = ".", first = "", second = "" }
local names = { "CANARY_API_KEY", "CANARY_KEPT", "CANARY_FILE", "CANARY_COMMAND" }
for _, n in ipairs(names) do sg.secret(n) end
local box <close> = sg.sandbox { name = "b", repo = a.repo }
-- a command is read while the box is opened; to be told its value is to wait for it
assert(sg.host.exec({ "true" }, { env = { K = sg.secret "CANARY_COMMAND" } }))
local i = 0
for pair in (a.first):gmatch "([^|]+)" do
  i = i + 1
  local rest, k = nil, 0
  for s in (a.second):gmatch "([^|]+)" do k = k + 1; if k == i then rest = s end end
  local seen = 0
  local r = assert(box:exec({ "sh", "-c", [[
    printf '[%s' "$1"; sleep 0.2; printf '%s] ' "$2"
    printf '%s' "$1" >&2; sleep 0.1; printf '%s\n' "$2" >&2
    printf 'user:%s%s!' "$1" "$2" | base64 -w0; echo
    printf '%s%s' "$1" "$2" | od -An -v -tx1 | tr -d ' \n'; echo
    printf '{"k":"%s%s"}\n' "$1" "$2" | sed 's/\([^:{]\)"\([^}]\)/\1\\"\2/'
    printf '%s%s\n' "$1" "$2" | sed 's,/,%2F,g;s,+,%2B,g;s, ,%20,g;s,",%22,g;s,:,%3A,g;s,=,%3D,g'
    yes "$1$2" | head -20000
  ]], "x", pair, rest }, { on_out = function(s) seen = seen + #s end }))
  print("box says", r.out:sub(1, 60), r.err)
  local p = box:spawn({ "sh", "-c", 'printf %s "$1"; sleep 0.1; printf %s "$2"', "x", pair, rest })
  print("process says", tostring(p:wait().out))
  local h = assert(sg.host.exec({ "sh", "-c", 'printf "%s" "$K" | wc -c; cat; tr "\\0" " " </proc/$$/cmdline' },
    { env = { K = sg.secret(names[i]) }, stdin = sg.secret(names[i]) }))
  print("host says", h.out)
  box:exec("echo look " .. pair .. rest)
end
print("in the box:", box:exec("env; cat settings.ini; cat /proc/*/environ | tr '\\0' '\\n'").out)
print("a box takes none", pcall(box.exec, box, "env", { env = { K = sg.secret "CANARY_KEPT" } }))
print("unknown", select(2, sg.host.exec({ "true" }, { env = { K = sg.secret "NO_SUCH" } })))
box:exec("echo two >> a.txt; git add -A; git commit -qm two")
print(box:diff():patch())
L
joined() { local IFS='|'; printf '%s' "$*"; }
timeout 120 "$sg" run "$t/held.lua" --name held --policy "$t/allow.lua" -- --repo "$repo" --first "$(joined "${first[@]}")" \
	--second "$(joined "${second[@]}")" >"$t/screen" 2>&1 </dev/null &
run=$!
db() { find "$HOME" -name '*.glass' | head -1; }
holds() { "$sg" state --json 2>/dev/null | grep -q '"held": *\[{'; }
: >"$t/live"
for i in 0 1 2 3; do
	wait_for 12 holds
	is $? 0 "the action that names secret $i is held"
	sock=$(ls "$XDG_RUNTIME_DIR"/sandglass/*.sock | head -1)
	timeout 10 python3 "$here/listen.py" "$sock" 0.5 >>"$t/traffic"
	cat "$(db)" "$(db)-wal" >>"$t/live" 2>/dev/null
	"$sg" state --json >>"$t/json" 2>&1
	id=$("$sg" state --json | grep -oE '"action": ?[0-9]+' | grep -oE '[0-9]+' | head -1)
	"$sg" approve "$id" >>"$t/json" 2>&1
	wait_for 10 sh -c "! '$sg' state --json 2>/dev/null | grep -q '\"action\": *$id,'"
done
wait $run
is $? 0 'the session ends well'
file=$(db)
"$sg" events held --json >>"$t/json" 2>&1
"$sg" show held --json >>"$t/json" 2>&1
for act in $("$sg" events held --json | grep "\"action.requested\"" | grep -oE "\"seq\": ?[0-9]+" | grep -oE "[0-9]+"); do
	"$sg" out "held#$act" >>"$t/told" 2>&1
	"$sg" out "held#$act" --json >>"$t/json" 2>&1
done
"$sg" diff held >"$t/patch" 2>&1
"$sg" merge -S held --to review >>"$t/told" 2>&1
git -C "$repo" log -p --all -- a.txt >>"$t/patch" 2>&1
git -C "$repo" diff HEAD review >>"$t/patch" 2>&1
timeout 60 "$sg-replay" --screens "$file" >"$t/console" 2>&1
like "$(cat "$t/screen")" 'box says.*<secret:CANARY_API_KEY>' 'a secret split over two chunks reaches the script as its name'
like "$(cat "$t/screen")" 'process says.*<secret:CANARY_KEPT>' 'also from a process that runs on'
like "$(cat "$t/screen")" 'host says.*'"${#value[2]}"'' 'a host tool gets the value by name'
like "$(cat "$t/screen")" 'a box takes none.*false' 'a box does not'
like "$(cat "$t/screen")" 'unknown.*secret .NO_SUCH. not found' 'one that is not there is an error that says what to do'
like "$("$sg" events held --json | grep '"box.ready"')" 'settings.ini' 'a tracked file that holds one is hidden'
like "$(tr -d "\0" <"$t/traffic")" '"held"' 'the traffic on the control socket was heard'
like "$(cat "$t/console")" 'secret:CANARY_' 'the screens were drawn'
like "$(cat "$t/patch")" '^\+two' 'the merge was exported'
like "$(git -C "$repo" ls-tree -r --name-only review)" '^settings.ini$' 'and has not taken away what was hidden'
"$sg" verify held >"$t/out" 2>&1
is $? 0 'the record verifies'
python3 "$here/look_for.py" "$file" "${value[@]}" >"$t/out" 2>&1
is $? 0 'nowhere in any value of the record, unpacked, in any form'
for i in 0 1 2 3; do
	for where in live traffic json told patch screen console; do
		grep -aqF -- "${value[i]}" "$t/$where"
		is $? 1 "found nowhere: secret $i in $where"
	done
	cat "$file"* | grep -aqF -- "${value[i]}"
	is $? 1 "found nowhere: secret $i in the file as it lies there, also in what is free in it"
	is "$("$sg" search "${second[i]}" -S held --json | grep -c "${value[i]}")" 0 "found nowhere: secret $i by a search"
	found=$(grep -rlaF -- "${value[i]}" "$HOME" "$XDG_RUNTIME_DIR" 2>/dev/null | grep -v '/sandglass/secrets/' || true)
	is "$found" '' "found nowhere: secret $i in the boxes' folders, caches and state"
done

# --- in the arguments of a script, under a name that tells nothing ---
export SPOON=canary-spoon-4711 FORK=canary-fork-0815
cat >"$t/args.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { token = "", other = "" }
print("token " .. a.token)
local known, later = sg.secret "SPOON", sg["sec" .. "ret"] "FORK" -- and the script ends before it has come
L
timeout 60 "$sg" run "$t/args.lua" --name args --no-tui -- --token "$SPOON" --other "$FORK" >"$t/screen" 2>&1 </dev/null
is $? 0 'a script gets a secret in its arguments'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*args*.glass | head -1)
is "$(cat "$file" "$t/screen" | grep -aqF "$SPOON" && echo there)" '' 'one that its text declares is in no event, not in the first either'
like "$(cat "$t/screen")" 'token <secret:SPOON>' 'and the script sees its name'
like "$("$sg" events "$file" --json | grep '"kind":"note"')" '"level":"warn".*arguments.*FORK' 'a secret learned too late is reported'
finish
