#!/usr/bin/env bash
# The ssh driver with a real sshd on loopback: the suites, remains of dead sandboxes, and the refusals.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
sshd_start || { skip "${no_sshd:-no keys for sshd}"; finish; }
trap 'sshd_stop; end_all' EXIT
box() { printf '{"backend": "ssh", "host": "%s", "config": "%s", "dir": "%s"%s}' "$1" "${3:-$t/ssh/config}" "$t/far" "${2:-}"; }
export DRIVER_OPTIONS="{\"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\"}"
contract ssh ssh
none_left() { [ -z "$(ls "$t/far/boxes")" ]; }
none_left
ok $? 'nothing is left there but our program'
mkdir -p "$t/far/boxes/orphan-1.4194305" # no process has this number
conform ssh ssh "$(box there)"
like "$(head -1 "$t/suite")" 'ssh, profile (reduced|none)' 'ssh: its isolation level is printed'
none_left
ok $? 'nor what a machine that lost its power kept: the next box removes it'
try_box "$(box there)" ssh ''
# the second box finds no landlock there (a filter of system calls hides it): it would have no walls
cat >"$t/nowall.py" <<'P'
import ctypes, os, struct
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]   # landlock_create_ruleset: ENOSYS
insns = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(insns)))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, prog, 0, 0): raise SystemExit("no seccomp here")
os.execvp("sh", ["sh", "-c", os.environ["SSH_ORIGINAL_COMMAND"]])
P
keys=$t/ssh/authorized
cp "$keys" "$t/keys.were"
cut_walls() { sed -i "s,^,command=\"python3 $t/nowall.py\" ," "$keys"; }
BEFORE_TRY=cut_walls try_box "$(box there)" ssh 'the second sandbox has no isolation'
cp "$t/keys.were" "$keys"
if [ -n "${LONG:-}" ]; then # killed, and not gone on with for a while
	printf 'local box <close> = require("sandglass").sandbox(require("sandglass").json.decode [[%s]])\nprint "waits"\nrequire("sandglass").sleep(60)\n' "$(box there)" >stays.lua
	id=$("$SANDGLASS" run -d stays.lua 2>"$t/out")
	stays() { "$SANDGLASS" events "$id" 2>/dev/null | grep -q waits; }
	wait_for 30 stays
	kill -9 "$(supervisor "$id")"
	named() { "$SANDGLASS" doctor --paths 2>&1 | grep -qE "^elsewhere +ssh +there:$t/far/boxes/c-"; }
	wait_for 30 named
	ok $? 'doctor --paths names the folder over there meanwhile'
	"$SANDGLASS" resume -d "$id" >"$t/out" 2>&1
	"$SANDGLASS" stop --now -S "$id" >"$t/out" 2>&1
	wait_for 30 none_left
	unlike "$("$SANDGLASS" doctor --paths 2>&1)" '^elsewhere' 'and not when the session has ended'
fi
wait_for 30 none_left
ok $? 'and nothing is left there'
cat >limits.lua <<L
local sg = require "sandglass"
local how = sg.json.decode [[$(box there)]]
local box <close> = sg.sandbox(how)
print(box:exec("cat /proc/self/limits").out)
how.limits = { pids = 700, mem = "1G" }
local small <close> = sg.sandbox(how)
print(small:exec("cat /proc/self/limits").out)
L
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
"$SANDGLASS" run limits.lua --policy any.lua --no-tui --no-input </dev/null >"$t/out" 2>&1
limit() { grep -oE "Max $1 +[0-9]+" "$t/out" | grep -oE '[0-9]+$' | tr '\n' ' '; }
is "$(limit processes)/$(limit 'address space')/$(limit 'file size')" '4096 700 /8589934592 1073741824 /8589934592 8589934592 ' 'commands have limits, yours or ours'

cp "$t/ssh/config" "$t/ssh/refused" && sed -i "s,/key$,/other," "$t/ssh/refused"
refused "$(box there '' "$t/ssh/refused")" "on 'there': .*Permission denied.*names? one with key=" 'a key that is not taken'
refused "$(box nowhere.invalid)" "'nowhere.invalid': .*is the name right" 'a machine that nobody knows'
refused "$(box there ', "port": 1')" 'Connection refused; does sshd run there' 'no sshd'
cp "$t/ssh/config" "$t/ssh/stranger" && sed -i "s,/known$,/unknown," "$t/ssh/stranger"
refused "$(box there '' "$t/ssh/stranger")" 'Host key verification failed; connect once by hand' 'a machine whose key is not known'
refused '{"backend": "ssh"}' 'missing option: host = ' 'no machine'
refused "$(box -oProxyCommand=x)" 'invalid host name' 'an option for a name'
refused "$(box there ', "key": "/nowhere/key"')" "read the key '/nowhere/key'" 'a key that is not there'
refused "$(box there ', "hots": "x"')" "unknown option 'hots'" 'a wrong option'
finish
