#!/usr/bin/env bash
# The ssh driver with a real sshd on loopback: the conformance suite, a script, a supervisor that is killed, what is refused.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
sshd_start || { skip "${no_sshd:-no keys for sshd}"; finish; }
trap 'sshd_stop; end_all' EXIT
box() { printf '{"backend": "ssh", "host": "%s", "config": "%s", "dir": "%s"%s}' "$1" "${3:-$t/ssh/config}" "$t/far" "${2:-}"; }
export DRIVER_OPTIONS="{\"host\": \"there\", \"config\": \"$t/ssh/config\", \"dir\": \"$t/far\"}"
conform ssh ssh
case $(ls "$t/far/boxes") in '') ok 0 'nothing is left there but our program' ;; *) ok 1 'something is left there' ;; esac

mkdir -p "$t/far/boxes/orphan-1.4194305" # no process has this number
use_box "$(box there)" ssh '(reduced|none)' "$t/far/boxes/c-[0-9a-f]+\.[0-9]+/workspace"
[ ! -e "$t/far/boxes/orphan-1.4194305" ]
ok $? 'what a machine that lost its power kept is removed by the next box'

# what a command in a shell that stays has changed comes here with its end: as much as a look afterwards finds
cd "$t/use" && cp "$here/../drivers/far_shell.lua" .
timeout 200 "$SANDGLASS" run --no-tui --policy any.lua far_shell.lua -- "$(box there)" </dev/null >"$t/out" 2>&1
is $? 0 'a shell that stays, far away'
like "$(cat "$t/out")" 'same 37' 'its commands: nothing that one of them wrote is found later, its own mark printed or not'
unlike "$(cat "$t/out")" 'late after' 'not once'
like "$(cat "$t/out")" 'job 8 0' 'what a job writes after the prompt is found by the next look'
like "$(cat "$t/out")" 'stopped timeout before' 'a command that is stopped'
cd "$t" || exit

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
BEFORE_TRY=cut_walls try_box "$(box there)" ssh 'the second box has no walls .*nothing would hold a try in'
cp "$t/keys.were" "$keys"
if [ -n "${LONG:-}" ]; then
	resume_box "$(box there)" ssh
	like "$paths" "elsewhere +ssh +there:$t/far/boxes/c-" 'doctor --paths names the folder over there meanwhile'
	unlike "$("$SANDGLASS" doctor --paths 2>&1)" '^elsewhere' 'and not when the session has ended'
fi
wait_for 30 sh -c "[ -z \"\$(ls '$t/far/boxes')\" ]"
ok $? 'and nothing is left there'

cp "$t/ssh/config" "$t/ssh/refused" && sed -i "s,/key$,/other," "$t/ssh/refused"
refused "$(box there '' "$t/ssh/refused")" "on 'there': .*Permission denied.*names? one with key=" 'a key that is not taken'
refused "$(box nowhere.invalid)" "'nowhere.invalid': .*is the name right" 'a machine that nobody knows'
refused "$(box there ', "port": 1')" 'Connection refused; does sshd run there' 'no sshd'
cp "$t/ssh/config" "$t/ssh/stranger" && sed -i "s,/known$,/unknown," "$t/ssh/stranger"
refused "$(box there '' "$t/ssh/stranger")" 'Host key verification failed; connect once by hand' 'a machine whose key is not known'
refused '{"backend": "ssh"}' 'needs a machine: host = ' 'no machine'
refused "$(box -oProxyCommand=x)" 'is not the name of a machine' 'an option for a name'
refused "$(box there ', "key": "/nowhere/key"')" "the key '/nowhere/key' cannot be read" 'a key that is not there'
refused "$(box there ', "hots": "x"')" "no option 'hots'" 'a wrong option'
finish
