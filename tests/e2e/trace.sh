#!/usr/bin/env bash
# Programs and connections of a sandbox are recorded as the kernel sees them, below the command or tool call that caused
# them. A pattern makes a process wait for approval. Hostile cases: daemons, closed descriptors, an exec bomb, and a
# supervisor killed while a process waits for it.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
cd "$t" || exit 1
cat >cmd.lua <<'L'
local sg = require "sandglass"
local a = sg.args { trace = true, hold = "", backend = "process", pids = 200, "cmd" }
local box <close> = sg.sandbox { name = "b", backend = a.backend, trace = a.trace and "exec" or false, hold_exec = a.hold ~= "" and a.hold or nil,
  limits = { pids = a.pids } }
local r, err = box:exec(a.cmd, { timeout = "60s" })
print("[" .. (r and r.out .. r.err or tostring(err)) .. "]")
for _ = 1, r and r.out:find "wait" and 300 or 0 do
  if box:exec("test -e /workspace/done").ok then break end
  sg.sleep "100ms"
end
L
events() { "$sg" events "$file" --json 2>/dev/null; }
run() { # arguments...: status, recording in $file, output in $out
	timeout 100 ${as:-} "$sg" run --no-tui --no-input cmd.lua -- "$@" >"$t/out" 2>&1 </dev/null
	status=$? out=$(cat "$t/out")
	file=$(ls -t "${home:-$HOME}"/.local/share/sandglass/sessions/*.glass | head -1)
}
ran() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "proc.exec": print(("late " if e["body"].get("late") else "") + " ".join(e["body"].get("argv", ["?"])))'; }
field() { events | python3 -c 'import json, sys
kind, key = sys.argv[1:]
for e in map(json.loads, sys.stdin):
    if e["kind"] == kind: print(e.get(key, e["body"].get(key)))' "$@"; }

# --- recorded programs ---
run 'cd /tmp; ls / >/dev/null; (echo x; /bin/echo y z) >/dev/null; env A=1 true; exec true last'
is $status 0 'a watched box: the script ends well'
is "$(ran | tail -n +2 | tr '\n' ';')" 'ls /;/bin/echo y z;env A=1 true;true;true last;' 'every program, in its order, tried folders of PATH not among them'
id=$(events | sed -n 's/^{"schema":1,"seq":\([0-9]*\),.*"kind":"action.requested".*/\1/p' | head -1)
is "$(field proc.exec cause | sort -u)" "$id" 'below the command that caused them'
is "$(field proc.exec cwd | tr '\n' ' ')" '/workspace /tmp /tmp /tmp /tmp /tmp ' 'with their directory'
like "$out" 'ran 5 programs: ls, echo, env, true$' 'on one line, too'
"$sg" verify "$file" >"$t/out" 2>&1
ok $? 'the record verifies'
run --no-trace 'true; /bin/true'
is "$(events | grep -c '"kind":"proc\.')" 0 'a box that is not watched tells nothing'
run 'bash -c "exec 3<>/dev/tcp/127.0.0.1/9" 2>/dev/null; echo done'
is "$(field proc.connect address) $(field proc.connect port)" '127.0.0.1 9' 'a connection: where to'

cat >shell.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { trace = "exec" }
local sh <close> = assert(box:shell())
assert(sh:run "cd /tmp")
assert(sh:run "/bin/echo in a shell")
L
timeout 60 "$sg" run --no-tui shell.lua >"$t/out" 2>&1 </dev/null
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
id=$(events | grep '"kind":"action.requested"' | grep '"cmd":"/bin/echo in a shell"' | sed 's/^{"schema":1,"seq":\([0-9]*\),.*/\1/')
is "$(events | grep '"kind":"proc.exec"' | grep '"in","a","shell"' | grep -c "\"action\":$id,")" 1 'in a shell that stays: below the command that was typed'

# --- hostile ---
run 'setsid sh -c "sleep 0.3; (setsid sh -c \"/bin/echo daemon; touch done\" &)" >/dev/null 2>&1 & echo wait'
like "$(ran)" 'late /bin/echo daemon' 'a daemon is recorded although its command has ended'
after=$(events | python3 -c 'import json, sys
ended = set()
for e in map(json.loads, sys.stdin):
    if e["kind"] == "action.ended": ended.add(e["action"])
    if e["kind"] == "proc.exec" and e["body"].get("argv") == ["/bin/echo", "daemon"]: print(e["action"] in ended)')
is "$after" True 'after its end, and as of it'
run 'i=0; while [ $i -lt 60 ]; do eval "exec $i>&-"; i=$((i + 1)); done 2>/dev/null; exec /bin/true closed'
like "$(ran)" '/bin/true closed' 'who closes everything is seen all the same'
run 'printf "#!/bin/sh\nexec /bin/echo script\n" >s; chmod +x s; ./s >/dev/null; /nowhere/x; ./s a b 2>/dev/null >&2; perl -e "exec {\"/bin/echo\"} \"a\nb\", \"\e[31m\"" >/dev/null'
like "$(ran)" '^\./s$' 'a script is recorded by the name it was called by'
unlike "$(ran)" '^/nowhere' 'a missing program does not run'
unlike "$(cat "$t/out")" "$(printf '\033')" 'words for a terminal do not reach it'
run 'ln -s /proc/self/root r; /proc/self/root/bin/echo 1; r/bin/echo 2; mkdir t; cd t; rmdir ../t; ../../bin/echo 3; ../../../bin/echo 4'
is "$(ran | grep -c '^[./a-z]*bin/echo [1-4]$')" 4 'programs run through /proc, from a removed directory, or from above the root are recorded'
run 'exec 2>/dev/null; ln -s /bin/nothing n; ./n; /bin/../bin/./nothing; ../bin/nothing; env PATH=/bin:/sbin:/workspace:/no:n:/usr/bin nothing'
is "$(ran | grep -c '^[^ ]*nothing\|^\./n')" 0 'a missing program is not recorded, whatever the links'
run --pids 40 'b() { while :; do /bin/true & /bin/true; done; }; for i in 1 2 3 4 5 6; do b & done 2>/dev/null; sleep 1; echo over; kill 0'
is $status 0 'a bomb of execs: the session ends well'
[ "$(ran | grep -c '^/bin/true')" -gt 20 ]
ok $? 'and they are recorded'
"$sg" verify "$file" >"$t/out" 2>&1
ok $? 'and the record verifies'

if [ -n "${LONG:-}" ]; then
	run 'i=0; while [ $i -lt 10500 ]; do /bin/true; i=$((i + 1)); done'
	is "$(ran | wc -l) $(field proc.gap execs)" '10000 501' 'beyond 10,000 only the number is recorded'
	[ "$(stat -c %s "$file")" -lt 8000000 ]
	ok $? 'and the record stays small'
fi

# --- elsewhere ---
run --backend host --hold 'x *' true
is "$status" 6 'a backend that cannot hold refuses to'
like "$out" "hold_exec: backend 'host'" 'and says which'
printf 'return require("sandglass.policy").rules { default = "boxed" }\n' >any.lua
timeout 60 "$sg" run --no-tui --policy any.lua cmd.lua -- --backend host true >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" "'b' .*'host'" 'a backend without this ability reports this'

# --- a person decides ---
held() { "$sg" state -S "$1" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held "$1")" ]; }
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$1"; }
begin() { # name, command: its id in $s, its supervisor in $pid
	line=$("$sg" run -d cmd.lua --name "$1" --json -- --hold 'touch ...' "$2" 2>"$t/out")
	s=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
	pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
	wait_for 30 is_held "$s"
}
begin yes 'sh -c "touch a; ls"'
ok $? 'a process waits where its pattern matches'
like "$("$sg" state -S "$s" --json)" '"reasons": ?\["hold"\]' 'as a hold'
"$sg" freeze -S "$s" >/dev/null 2>&1
"$sg" thaw -S "$s" >/dev/null 2>&1
"$sg" approve "$s#$(held "$s")" >"$t/out" 2>&1
wait_for 20 ended "$s"
ok $? 'approved: it continues, although its sandbox was frozen meanwhile'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
like "$(events | grep '"kind":"note"')" '\[a' 'and has done it'
is "$(ran | grep -c '^touch a')" 1 'it is recorded once'
is "$(field action.requested tool | grep -c execve)" 1 'one question'
begin no 'touch a; echo "$?"; ls'
"$sg" deny "$s#$(held "$s")" >"$t/out" 2>&1
wait_for 20 ended "$s"
ok $? 'denied: it continues'
file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
like "$(events | grep '"kind":"note"')" '\[126' 'and was not allowed to'
is "$(ran | grep -c touch)$(field action.requested tool | grep -c execve)" "$(ran | grep -c 'sh -c')1" 'denied once is denied in every folder of PATH'
nr=59
[ "$(uname -m)" = x86_64 ] || nr=221 # execve
run --hold 'touch ...' 'perl -e "exec {\"/bin/touch\"} \"x\", \"a\""; /proc/self/root/bin/touch b; perl -e "\$p = \"/bin/touch\"; syscall('$nr', \$p, 0, 0)"
perl -e "\$p = \"/bin/touch\"; \$a = pack(\"Q*\", 8, 0); syscall('$nr', \$p, \$a, 0); print int(\$!)"; exec ls touch'
is "$(ran | grep -c '^[^ ]*touch\|^x a') $(field action.requested argv | grep -c "^\['/[a-z/]*/bin/touch', '[ab]'\]\|^\['/bin/touch', 'a'\]\|^\['/bin/touch'\]")" '0 3' 'a file waits, whatever it is called and on whatever way'
like "$(field box.warn text)" 'name can.t be read' 'what cannot be read is refused'
like "$(ran)" '^ls touch' 'and nothing else'
run --hold 'env x' 'env $(for i in $(seq 70); do echo A$i=1; done) true; printf "%s" $(seq 70) >/dev/null; ls $(seq 70)'
is "$(field action.requested tool | grep -c execve) $(ran | grep -c '^env ') $(ran | grep -c '^ls 1 2')" '1 0 1' 'of more words than are read the first one decides'
begin gone 'touch a & sleep 0.2; kill -9 $!; wait; echo killed'
wait_for 20 ended "$s"
ok $? 'a process killed while pending asks no further question'
below() { # process: its children, their children and so on
	local p
	for p in $(pgrep -P "$1"); do echo "$p"; below "$p"; done
}
none_of() { # processes...: what lives of them stands in out (who waits only for its parent's word lives no more)
	ps -o pid=,ppid=,stat=,wchan:30=,args= -p "$(echo "$@" | tr ' ' ,)" | awk '$3 !~ /^Z/' >"$t/out"
	[ ! -s "$t/out" ]
}
begin orphan 'exec touch a'
all=$(below "$pid")
kill -9 "$pid"
wait_for 20 ended "$s"
[ -n "$all" ] && wait_for 20 none_of $all
ok $? 'a supervisor is killed: what waited for it does not hang'

# --- an ordinary user ---
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	home=$t/uhome
	mkdir "$home" "$t/urun" "$t/prog"
	cp "${sg%/*}"/sandglass* "$t/prog/" 2>/dev/null
	cp cmd.lua "$home/"
	chmod 755 "$t/prog" "$t"/prog/*
	chown -R 6173 "$home" "$t/urun"
	root=$sg sg=$t/prog/sandglass as="env HOME=$home XDG_RUNTIME_DIR=$t/urun setpriv --reuid 6173 --regid 6173 --clear-groups"
	cd "$home" || exit 1
	run 'true; /bin/echo user'
	cd "$t" || exit 1
	sg=$root as=
	like "$(ran)" '/bin/echo user' 'an ordinary user sees the same'
	is "$(field proc.exec unread | sort -u)" None 'all of it'
else
	skip 'an ordinary user: needs root and setpriv'
fi
finish
