#!/usr/bin/env bash
# A supervisor may open as many descriptors as the hard limit allows; its children keep the soft limit that you have.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
hard=$(ulimit -Hn)
[ "$hard" = unlimited ] || [ "$hard" -gt 300 ] || { skip "the hard limit is $hard"; finish; }
ulimit -Sn 256
cat >host.lua <<'L'
local sg = require "sandglass"
print("host " .. sg.host.exec({ "sh", "-c", "ulimit -Sn; echo end" }).out)
print("fds " .. sg.host.exec({ "sh", "-c", "readlink /proc/self/fd/* | grep -cE 'glass|anon_inode|sandglass'; true" }).out)
print("signals " .. sg.host.exec({ "sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status | tr -s '\\n\\t' ' '" }).out)
sg.sleep(30)
L
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
id=$("$sg" run -d host.lua --policy any.lua </dev/null 2>out)
asked() { "$sg" events "$id" 2>/dev/null | grep -q 'signals '; }
wait_for 30 asked
ok $? 'commands of the host run'
limit() { awk '/Max open files/ { print $4, $5 }' "/proc/$1/limits"; }
is "$(limit "$(supervisor "$id")")" "$hard $hard" 'the soft limit of the supervisor is the hard one'
"$sg" events "$id" >events
is "$(grep -oE 'host [0-9]+' events | head -1)" 'host 256' 'a child has the limit of before'
is "$(grep -oE 'fds [0-9]+' events | head -1)" 'fds 0' 'and no descriptor of the supervisor'
like "$(grep -oE 'signals .*' events)" 'SigBlk: 0000000000000000 SigIgn: 0000000[018]{2}0000000' 'no signal is blocked or ignored, but the two of the C library'
launcher=$(pgrep -P "$(supervisor "$id")" -f launcher | head -1)
is "$(limit "$launcher" | cut -d' ' -f1)" 256 'nor has the launcher a higher limit'
"$sg" stop --now -S "$id" >out 2>&1
finish
