#!/usr/bin/env bash
# In an environment like a plain debian:12 container (root, no namespaces, no mounts) all commands succeed at isolation
# level `reduced`, and only with consent. Needs the helper `container`; run by root.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
container=${SANDGLASS%/*}/helpers/hostile/container
[ -x "$container" ] || { skip 'the helper hostile/container is not built (make helpers)'; finish; }
"$container" true 2>"$t/out" || { skip "$(head -1 "$t/out")"; finish; }
in_it() { timeout 100 "$container" "$@"; }

in_it unshare -m true 2>/dev/null
[ $? -ne 0 ]
ok $? 'namespaces are refused in these surroundings'
in_it "$sg" demo </dev/null >"$t/out" 2>&1
is $? 0 'the demo ends well'
like "$(cat "$t/out")" 'reduced' 'and says that the profile is reduced'

mkdir "$t/repo"
git init -q "$t/repo"
echo one >"$t/repo/f"
git -C "$t/repo" add f
git -C "$t/repo" commit -qm one
echo canary-reduced-5521 >"$t/own"
chmod 600 "$t/own"
cat >"$t/work.lua" <<L
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "small", repo = a.repo }
print("profile " .. box.profile)
local function show(name, cmd)
  local r, err = box:exec(cmd)
  print(name .. "=" .. (r and (r.out .. r.err):gsub("%s+", " ") .. " exit " .. tostring(r.code) or tostring(err)))
end
show("uid", "id -u")
show("own", "cat $t/own")
show("root", "ls /root")
show("home", "ls $HOME")
show("supervisor", "cat /proc/\$(cat /proc/1/task/1/children | cut -d' ' -f1)/environ | wc -c")
show("net", "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9), 1)' 2>&1 | tail -1")
show("net6", "python3 -c 'import socket; socket.socket(socket.AF_INET6)' 2>&1 | tail -1")
show("perl", "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or die \"no socket: \$!\\n\"; print \"a socket\\n\"'")
assert(box:write("g", "two\n"))
local snap = assert(box:snapshot "kept")
assert(box:exec "echo three >> f; rm g; sleep 31277 & disown; sleep 31277 &")
print(box:diff():stat())
assert(box:rollback(snap))
show("rolled back", "cat f g")
assert(box:merge { into = a.repo, mode = "branch", branch = "reduced" })
L
in_it "$sg" run "$t/work.lua" --no-input -- --repo "$t/repo" </dev/null >"$t/out" 2>&1
is $? 6 'a script whose reduced box nobody has accepted does not run: status 6'
like "$(cat "$t/out")" 'accept reduced' 'the option is named'
is "$(grep -c '^sandglass: .*accept reduced' "$t/out")" 1 'in one line'

cat >"$t/policy.lua" <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed" }
L
in_it "$sg" run "$t/work.lua" --accept reduced --policy "$t/policy.lua" --name small -- --repo "$t/repo" </dev/null >"$t/out" 2>&1 &
run=$!
held() { "$sg" state --json 2>/dev/null | grep -oE '"(action|id)": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 60 is_held && "$sg" approve "$(held)" >/dev/null
ok $? 'the merge asks'
wait $run
is $? 0 'with --accept reduced it runs to its end'
out=$(cat "$t/out")
like "$out" 'profile reduced' 'the script gets the isolation level'
like "$out" 'uid=[1-9][0-9]* ' 'its processes are not root'
unlike "$out" 'canary-reduced' "the user's own file was not read"
like "$out" 'own=.*([Pp]ermission denied|No such file)' 'and the sandbox is restricted'
like "$out" 'root=.*[Pp]ermission denied' 'nor can it list the home folder of root'
like "$out" 'home=.*([Pp]ermission denied|No such file)' "nor the user's"
unlike "$out" '(perl|net|net6)=.*(a socket|refused)' 'it has no internet socket'
like "$out" 'perl=.*(denied|not permitted|not supported)' 'not even a closed one'
like "$out" 'rolled back=one two' 'a rollback brings everything back'
is "$(git -C "$t/repo" show reduced:g 2>&1)" two 'the merge has arrived'
is "$(git -C "$t/repo" status --porcelain)" '' 'the working files were not touched'
in_it "$sg" verify small >"$t/out" 2>&1
is $? 0 'verify'
in_it "$sg" replay small --screen >"$t/out" 2>&1
is $? 0 'replay --screen'
like "$(cat "$t/out")" 'small' 'shows the session'
# trying before and running again, where the workspace is a copy
cat >"$t/try.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "small", repo = sg.args[1] }
box:exec "echo early >> f; echo h0 > ~/h0; cat f"
local r, err = box:exec ": held; cat f; echo two >> f; echo new > g; echo h > ~/h; rm ~/h0; echo t > $TMPDIR/x; exit 3"
print(r and ("end " .. r.code .. " [" .. r.out .. "]") or ("err " .. tostring(err)))
print("after: " .. box:exec("cat f g; ls ~").out)
L
in_it "$sg" run "$t/try.lua" --accept reduced --policy "$t/policy.lua" --hold 'cmd~held' --name try -- "$t/repo" </dev/null >"$t/ran" 2>&1 &
run=$!
wait_for 60 is_held
h=$(held)
out=$("$sg" dry-run "$h" --json 2>"$t/err")
is $? 0 'a preview where the workspace is a copy'
is "$(jq -r '.result | "\(.code) \(.files | length) \(.added) \(.removed)"' <<<"$out")" '3 4 3 1' 'has exit status and sum'
is "$(jq -r '.result.files[] | select(.path == "f") | "\(.op) \(.added) \(.removed)"' <<<"$out")" 'M 1 0' 'each file, against what the box has now'
is "$(jq -r '.result.files[] | select(.op == "D") | "\(.repo) \(.path)"' <<<"$out")" ':home h0' 'home counts'
out=$(jq -r '.result.incomplete[]' <<<"$out")
like "$out" '^tmp$' 'its /tmp is not kept'
like "$out" '^blind$' "the report names this level's blindness for network use"
is "$(held)" "$h" 'the action still waits'
first=$("$sg" events try --json | grep -m1 '"kind":"action.requested"' | grep -oE '"seq":[0-9]+' | grep -oE '[0-9]+')
out=$("$sg" repeat "$first" 2>&1)
is $? 0 'a recorded command runs again in a copy'
like "$out" 'files +same' 'and its files are compared'
"$sg" apply "$h" >"$t/out" 2>&1
is $? 0 'promote'
wait $run
like "$(tr '\n' ' ' <"$t/ran")" 'end 3 .one' 'the script gets what the preview had'
like "$("$sg" events try | sed 's, ↵,,g')" 'after: one early two new h ?$' 'and the copy exactly its difference'
"$sg" verify try >"$t/out" 2>&1
is $? 0 'the record verifies'

# no default allows here: a command of the user's own waits as well, with a message
in_it "$sg" sandbox exec --accept reduced -- sh -c 'exit 3' </dev/null >"$t/ran" 2>&1 &
run=$!
is_told() { grep -q "sandglass approve [1-9]" "$t/ran"; }
wait_for 60 is_told && "$sg" approve "$(held)" >"$t/out" 2>&1
ok $? 'sandbox exec reports the pending command and how to continue'
wait $run
is $? 3 'approved, it ends with the status of the command'

pgrep -f 'sleep 31277' >"$t/out"
is $? 1 'no process survives'
cat >"$t/many.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "many", limits = { files = 2000 }, accept = "reduced" }
local at = box:run("pwd").out
local r = box:exec "i=0; while [ $i -lt 60000 ]; do : >f$i; i=$((i+1)); done; sleep 60"
print("more=" .. tostring(r and r.code) .. " in " .. at)
L
echo 'return require("sandglass.policy").rules { default = "allow" }' >"$t/allow.lua"
closed=$HOME/closed
mkdir -m 700 "$closed" "$closed/state" # nobody else passes: the files of the sandbox are elsewhere
XDG_STATE_HOME=$closed/state in_it "$sg" run --no-tui --no-input --policy "$t/allow.lua" "$t/many.lua" >"$t/out" 2>&1 </dev/null
like "$(cat "$t/out")" 'more=(false|nil) in /(var/)?tmp/sandglass-' 'a limit of files holds also where the state directory is closed to others'
finish
