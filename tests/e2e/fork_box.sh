#!/usr/bin/env bash
# A copy of a sandbox: the same files, of any kind and with any running commands. After the copy the two are
# independent.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
mkdir repo && seq 3 >repo/a && head -c 17M /dev/zero >repo/base.img && git -C repo init -q && git -C repo add a && git -C repo commit -qm one && chmod -R a+rX repo
cat >fork.lua <<'L'
local sg = require "sandglass"
local src = sg.sandbox { name = "src", repo = "repo", limits = { disk = "1G" } }
local function see(what, box, cmd)
  local r = box:exec(cmd)
  print(what .. ": " .. (r and (r.out .. r.err):gsub("%s+", " ") or "?"))
end
assert(src:exec [[rm base.img; head -c 20M /dev/urandom >large; (sha256sum <large) >sum; echo four >>a; mkdir -p d/e; echo x >d/e/x
ln -s a way; ln d/e/x d/hard; printf 'n' >'new
line'; mkfifo pipe; echo hidden >secret; echo in >d/shut; chmod 000 secret; chmod 000 d]])
assert(src:exec "echo 1 >b.src; cp b.src c.built")
assert(src:exec "sleep 0.05; echo 2 >b.src")
local before = assert(src:snapshot "before")

-- with what nobody in it may read, and with a large file that the session does not hold
local one = assert(src:fork { name = "one" })
see("files", one, "sha256sum <large | cmp - sum && cat a; ls base.img; stat -c '%a %n' secret d; chmod 700 d secret; cat secret d/shut d/e/x; cat new*; readlink way; stat -c %F pipe")
see("ages", one, "[ b.src -nt c.built ] && [ a -ot c.built ] && echo kept")
-- each on its own
assert(src:exec "echo source >>a; rm large")
assert(one:exec "echo fork >>a; echo own >own")
see("source", src, "tail -1 a; ls own large")
see("copy", one, "tail -1 a; cat own; ls large")
-- back in one of them, and that taken back
assert(src:rollback(before))
see("back", src, "tail -1 a; ls own; stat -c %s large")
see("stays", one, "tail -1 a; cat own")
local old = assert(src:fork { name = "old", at = before })
see("then", old, "tail -1 a; ls large")
old:close()

-- while processes live, which go on in the first only
assert(src:spawn "i=0; while :; do i=$((i+1)); echo $i >n.tmp; mv n.tmp n; sleep 0.01; done")
see("writes", src, "while [ ! -s n ]; do sleep 0.05; done; echo yes")
local two = assert(src:fork { name = "two" })
see("still", two, "a=$(cat n); sleep 0.3; [ \"$a\" = \"$(cat n)\" ] && echo stands")
see("runs", src, "a=$(cat n); sleep 0.3; [ \"$a\" != \"$(cat n)\" ] && echo goes on")
-- a fork of a fork, after which both before it are gone
local three = assert(two:fork { name = "three" })
src:close()
two:close()
see("orphan", three, "cat a; chmod 700 d && cat d/shut; echo last >>a; tail -1 a")
sg.mark "ready"
sg.sleep "1h"
L
id=$("$sg" run -d fork.lua)
is_ready() { ! "$sg" state -S "$id" >/dev/null 2>&1 || "$sg" events "$id" --json | grep -q '"text":"ready"'; }
wait_for 60 is_ready
said() { "$sg" events "$id" --json | jq -r 'select(.kind == "note" or .kind == "host.end") | .body | .text // .why' | grep "^$1: " | cut -d' ' -f2-; }
"$sg" events "$id" >"$t/out" 2>&1
is "$(said files)" "1 2 3 four 0 secret 0 d hidden in x na fifo ls: cannot access 'base.img': No such file or directory " 'every file, also unreadable and large ones'
is "$(said ages)" 'kept ' 'with its time: a file built before the source change stays older'
is "$(said source)" "source ls: cannot access 'own': No such file or directory ls: cannot access 'large': No such file or directory " 'what the copy writes is not in the source'
is "$(said copy)" 'fork own large ' 'nor the other way round'
like "$(said back)" "^four ls: cannot access 'own': No such file or directory stat: cannot statx 'large'" 'the source is rolled back; content kept only as a hash is missing'
is "$(said stays)" 'fork own ' 'which leaves the copy alone'
is "$(said still) $(said runs)" 'stands  goes on ' 'processes continue in the source only'
like "$(said orphan)" '^1 2 3 four .*in last ' 'a fork of a fork outlives both'
"$sg" rollback before -S "$id" >"$t/out" 2>&1
"$sg" prune --boxes --yes >"$t/out" 2>&1
"$sg" sandbox cp -q three:a back && is "$(tail -1 back)" last 'and prune'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "fork.done") | .body.how' | xargs)" 'copy copy copy copy' 'each is in the record'
missing=$("$sg" events "$id" --json | jq -c 'select(.kind == "rollback.done") | [.body.missing, .body.why]')
is "$missing" '[["large"],null]' 'a rollback names missing content and still succeeds'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "box.warn") | .body.text' | sort)" \
	"$(printf "the recording lacks the contents of 1 file, so sandbox %s doesn't have them: large\\n" "'old'" "'src'")" 'and is reported, as for a copy at that event'
"$sg" stop --now -S "$id" >/dev/null 2>&1
ended() { ! "$sg" state -S "$id" >/dev/null 2>&1; }
wait_for 20 ended
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
cmp -s <(seq 3) repo/a && [ "$(stat -c %s repo/base.img)" = 17825792 ]
ok $? 'the repository is as it was'
finish
