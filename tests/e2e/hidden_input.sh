#!/usr/bin/env bash
# Input without terminal echo is not recorded, only its size: a password, and input of a full-screen program. Echoed
# input is recorded.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
newest() { ls -t "$SANDGLASS_SESSIONS"/*.glass | head -1; }
cat >type.py <<'P'
import os, pty, sys, time, select
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "sandbox", "shell"])
seen = b""
def wait(s):
    global seen
    end = time.time() + 40
    while s not in seen and time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try: seen += os.read(fd, 4096)
            except OSError: break
    found = s in seen
    seen = seen.split(s)[-1] if found else seen
    return found
def say(s): os.write(fd, s + b"\r")
wait(b"$ ")
say(b"read -r -s -p 'One''word: ' P; echo len=${#P}")
wait(b"Oneword: "); time.sleep(0.3); say(b"canary-one"); wait(b"len=10")
say(b"stty -icanon -echo; echo raw''mode; head -c 10 >/dev/null; stty sane; echo back''again")
wait(b"rawmode"); time.sleep(0.3); os.write(fd, b"canary-two"); wait(b"backagain")
say(b"echo cat''reads; cat; echo over''it")
wait(b"catreads"); time.sleep(0.3); say(b"plain-three"); wait(b"plain-three\r\nplain-three"); os.write(fd, b"\x04"); wait(b"overit")
say(b"exit")
wait(b"a line that never comes")
try: os.waitpid(pid, 0)
except OSError: pass
P
timeout 110 python3 type.py "$SANDGLASS" >/dev/null 2>&1
s=$(newest)
"$SANDGLASS" events "$s" --json >events
is "$(grep -c canary events)" 0 'input without echo is in no event of your own shell'
is "$(cat "$SANDGLASS_SESSIONS"/*.glass* | grep -ac canary)" 0 'nor anywhere in its file'
[ "$(jq -s '[.[] | select(.kind == "proc.stdin" and .body.hidden) | .body.data_bytes] | add' events)" -ge 20 ]
ok $? 'its length is'
jq -rj 'select(.kind == "proc.stdin") | .body.data // empty' events | grep -q plain-three
ok $? 'what a terminal echoes is recorded'

# --- a token that is typed key by key, in a session that keeps none ---
mkdir -p "$HOME/.config/sandglass"
printf 'local c = require "sandglass.config"\nc.keep = { tokens = false }\nreturn c\n' >"$HOME/.config/sandglass/config.lua"
python3 - type.py >keys.py <<'P'
import sys
head = open(sys.argv[1]).read().split("say(b\"read")[0]
print(head + """
def keys(s):
    for c in s:
        os.write(fd, bytes([c])); time.sleep(0.01)
keys(b"stty cols 40; T=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; echo typed''it ${#T}\\r"); wait(b"typedit 40")
say(b"cat"); time.sleep(0.3); keys(b"k=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\\r"); time.sleep(0.3); os.write(fd, b"\\x04")
say(b"exit")
wait(b"a line that never comes")
""")
P
timeout 60 python3 keys.py "$SANDGLASS" >/dev/null 2>&1
s=$(newest)
"$SANDGLASS" events "$s" --json >events
is "$(cat "$SANDGLASS_SESSIONS"/*.glass* 2>/dev/null | grep -ac -e zQWB -e HcVY -e DkxkJ)" 0 'a token that you type key by key is nowhere in the file'
jq -rj 'select(.kind == "proc.stdin") | .body.data // empty' events >typed
grep -q '^k=<secret:token-github-[0-9]*>' <(tr '\r' '\n' <typed)
ok $? 'the input has a name in its place'
is "$(jq -r 'select(.kind == "secret.seen") | .body.shape' events | sort -u)" github 'and it is noted'
"$SANDGLASS" verify "$s" >"$t/out" 2>&1
is $? 0 'the session verifies'
finish
