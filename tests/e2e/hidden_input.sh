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
wait(b"nothing comes any more")
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
finish
