#!/usr/bin/env bash
# Allow rules that match more or less than their author probably meant: 'policy check' names them, and a session that
# loads them warns. Then policies that come over a pipe.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cat >"$t/policy.lua" <<'L'
local p = require "sandglass.policy"
return p.rules {
  p.allow "a-narrow" { cmd = "git push*" },
  p.allow "b-scripts" { cmd = { "ls *", "sh *" } },
  p.allow "c-scripts" { cmd = "/usr/bin/python3.11 *" },
  p.allow "d-programs" { cmd = "git*" },
  p.allow "e-hosts" { kind = "connect", host = "*example.com" },
  p.allow "f-urls" { kind = "fetch", url = "https://a.example*" },
  p.ask "g-bare" { cmd = "git push" },
  p.allow "no-words" { cmd = { "git push *", "sh build.sh *", "ls", "*", "./x/*" } },
  p.allow "no-hosts" { kind = "connect", host = { "*.example.com", "*", "a.example" } },
  p.allow "no-urls" { kind = "fetch", url = { "https://a.example/*", "https://*.example.com/*", "*" } },
  p.ask "no-ask" { cmd = { "git push*", "sh *", "git push ... -f" } },
  p.deny "no-deny" { cmd = "git*", host = "*example.com" },
}
L
"$sg" policy check "$t/policy.lua" --json >"$t/out" 2>&1
is $? 0 'the file is valid'
is "$(python3 -c '
import json, sys
for line in open(sys.argv[1]):
    rule = json.loads(line)
    if "doubt" in rule:
        print(rule["rule"], rule["doubt"]["kind"], rule["doubt"]["pattern"])
' "$t/out")" 'a-narrow narrow git push*
b-scripts scripts sh *
c-scripts scripts /usr/bin/python3.11 *
d-programs programs git*
e-hosts hosts *example.com
f-urls urls https://a.example*
g-bare bare git push' 'each doubt and no other'

# --- a session that loads it ---
echo 'print "done"' >"$t/x.lua"
cd "$t" || exit 1
"$sg" run --policy policy.lua x.lua --name doubts >"$t/out" 2>&1 </dev/null
is $? 0 'the session runs'
warned() { # file: the rules that its session warned about
	"$sg" events doubts --json 2>/dev/null | python3 -c '
import json, re, sys
for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] == "super.warn" and "policy.lua:" in event["body"]["text"]:
        print(re.search("rule .([a-z-]+).:", event["body"]["text"]).group(1), bool(event["body"].get("fix")))
'
}
is "$(warned)" 'a-narrow True
b-scripts True
c-scripts True
d-programs True
e-hosts True
f-urls True' 'and warns about each allow, with what to write instead'

# --- over a pipe ---
rule='return require("sandglass.policy").rules { require("sandglass.policy").deny "no-host" { kind = "host" } }'
echo 'local r, e = require("sandglass").host.exec { "true" }; print(r and "ran" or e.code .. " " .. tostring(e.rule))' >h.lua
piped() { # words...: how the rule of the pipe ends the script's command
	timeout 60 "$sg" run --no-tui --no-input "$@" h.lua >"$t/out" 2>&1
	status=$?
	sed -n 's/.* note: //p' "$t/out"
}
is "$(piped --policy <(echo "$rule") </dev/null)" 'denied no-host' 'a policy from a pipe of the shell'
is "$(echo "$rule" | piped --policy /dev/stdin)" 'denied no-host' 'from standard input'
is "$("$sg" policy check <(echo "$rule") | grep -c '1 rule')" 1 'policy check reads one, too'
piped --policy <(:) </dev/null >empty
is "$status:$(wc -l <"$t/out")" 2:1 'an empty one: one line, and no session'
mkfifo fifo
piped --policy fifo </dev/null >none
is "$status:$(wc -l <"$t/out")" 2:1 'a named pipe is refused'
finish
