#!/usr/bin/env bash
# After output or a file with a live token comes an event that names its shape and place, not its value; once per
# action, or per box. With keep.tokens = false the token is nowhere in the session file.
. "$(dirname "$0")/lib.sh"
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
cat >run.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:run "for i in 1 2 3; do printf 'x=ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 17; done"
box:run "printf 'x=ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 18"
box:run "head -c 65520 /dev/zero | tr '\\0' ' '; printf ' ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 17"
L
"$SANDGLASS" run run.lua --name seen --no-tui --no-input </dev/null >out 2>&1
is $? 0 'commands print'
"$SANDGLASS" events seen --json >events
is "$(jq -r 'select(.kind == "secret.seen") | "\(.body.shape) \(.body.off) \(.body.len)"' events | tr '\n' ,)" 'github 2 40,github 65521 40,' \
	'a token is seen once per command, also across segments; a wrong check digit is none'
is "$(jq -c 'select(.kind == "secret.seen")' events | grep -c zQWB)" 0 'its value is not in the event'
"$SANDGLASS" verify seen >out 2>&1
is $? 0 'the session verifies'

# --- files, and a session that keeps no tokens ---
mkdir repo && git -C repo init -q && echo base >repo/base && git -C repo add . && git -C repo -c user.name=a -c user.email=a@b commit -qm base
cat >files.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo" }
box:run "printf 'key=ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq%s\\n' 17 >token; echo plain >plain"
box:run "printf '# again\\n' >>token"
-- in pieces, by two writes with a pause
local r = box:run "printf 'x=ghp_zQWBuTSOoRi4A9sp'; sleep 0.3; printf 'HcVY5ncnsDkxkJ0mLq%s\\nend\\n' 17"
box:run "echo '-----BEGIN RSA PRIVATE KEY-----'; printf 'MIIE%s\\n' vQIBADANBgkqhkiG9w0BAQ; echo '-----END RSA PRIVATE KEY-----'; echo end"
L
value=zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq
seen() { jq -r 'select(.kind == "secret.seen") | "\(.body.where) \(.body.shape) \(.body.redacted // false)"' events | tr '\n' ,; }
"$SANDGLASS" run files.lua --name kept --no-tui --no-input </dev/null >out 2>&1
is $? 0 'commands write files'
"$SANDGLASS" events kept --json >events
is "$(seen)" 'file github false,output github false,output private key false,' 'a file is scanned, once for all its versions'
oid=$(jq -r 'select(.kind == "secret.seen" and .body.where == "file") | .body.oid' events)
is "$oid" "$(printf 'key=ghp_%s17\n' "$value" | git hash-object --stdin)" 'the event names the content'
cat >config.lua <<'L'
local c = require "sandglass.config"
c.keep = { tokens = false }
return c
L
"$SANDGLASS" run files.lua --name hidden --config config.lua --no-tui --no-input </dev/null >out 2>&1
is $? 0 'the same without tokens in the recording'
"$SANDGLASS" events hidden --json >events
is "$(seen)" 'file github true,output github true,output private key true,' 'the same are seen'
"$SANDGLASS" export hidden -F jsonl >exported
ok $? 'it is exported'
session=$(jq -r 'select(.kind == "session.start") | .body.id' events)
for id in $(jq -r 'select(.kind == "action.requested") | .seq' events); do "$SANDGLASS" out "$session#$id"; done >outputs 2>&1
is "$(grep -c -e "${value}17" -e MIIEvQ exported events outputs | tr '\n' ,)" 'exported:0,events:0,outputs:0,' 'no token is in events or output'
is "$(grep -c '^x=<secret:token-github-[0-9]*>$' outputs) $(grep -c '^<secret:token-private-key-[0-9]*>$' outputs) $(grep -c '^end$' outputs)" '1 1 2' \
	'a name stands for it, also where a pause parted it'
is "$("$SANDGLASS" tree "$session" --json | jq -r 'select(.path == "token" or .path == "plain") | "\(.path) \(.hash_only)"' | sort | tr '\n' ,)" 'plain false,token true,' \
	'the file with it is kept by hash only'
"$SANDGLASS" verify hidden >out 2>&1
is $? 0 'that session verifies'
cat >sent.lua <<L
local box <close> = require "sandglass".sandbox { repo = "repo" }
local token = "ghp_$value" .. "17"
local sh = box:shell()
assert(sh:run("echo 'IFS= read -r x' >ask"))
assert(sh:send("sh ask\\n" .. token .. "\\n"))
assert(sh:run "true")
sh:close()
local cat = box:spawn { "cat" }
assert(cat:write("in " .. token .. "\\n", { eof = true }))
cat:wait()
L
"$SANDGLASS" run sent.lua --name sent --config config.lua --no-tui --no-input </dev/null >out 2>&1
is $? 0 'a script types a token'
"$SANDGLASS" events sent --json >events
is "$(grep -c "${value}17" events) $(jq -r 'select(.kind == "proc.stdin") | .body.data // empty' events | grep -c '<secret:token-github-')" '0 2' \
	'the recording has a name for it in their input and in the calls'
finish
