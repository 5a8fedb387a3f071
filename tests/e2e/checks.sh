#!/usr/bin/env bash
# Checks over a recording: a user's own file, live (sg.check) and offline (verify --with), gives the same verdicts. Also
# built-in checks by name, reports in four formats, and claims against recorded commands.
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS
repo=$t/words
mkdir "$repo"
printf 'test:\n\tgrep -q right word\n' >"$repo/Makefile"
echo wrong >"$repo/word"
git init -q "$repo"
git -C "$repo" add . && git -C "$repo" commit -qm begin
cp "$here/../../lua/examples/release.lua" "$t/release.lua"
cat >"$t/turns.lua" <<'L'
return {
  { call = { "shell", { cmd = "make test" } } },
  { call = { "edit", { path = "word", old = "wrong", new = "right" } } },
  { call = { "shell", { cmd = "make test" } } },
  { say = "I fixed `word`. All tests pass. I ran `make lint` successfully. I pushed the branch.\nI created `notes.txt`. It should work." },
}
L
cat >"$t/fix.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "words", name = "fix" }
local r = assert(sg.agent.run { task = "fix it", box = box, model = "scripted:turns.lua", name = "fixer" })
local ok, results = sg.check "release.lua"
for _, x in ipairs(results) do print(x.result, x.name) end
print("live", ok)
assert(box:run "echo again >> word")
print("stale", (sg.check "release.lua"))
print("wrong", select(2, sg.check "nofile.lua"))
L
cd "$t" || exit 1
"$sg" run --no-tui --name fix fix.lua >out 2>&1 </dev/null
is $? 0 'a script that checks itself'
like "$(cat out)" '(^|[^a-z])live[[:space:]]+true' 'live: all checks pass'
like "$(cat out)" 'stale[[:space:]]+false' 'live: after a further change they do not'
like "$(cat out)" "wrong.*nofile.lua" 'a file that is not there is an error value'
s=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass)
"$sg" search wrong >out 2>&1
like "$(cat out)" 'fixer (message|args) +wrong' 'search: the action that said it'
unlike "$(cat out)" 'host\.(frame|call)' "and not the script's frames"
like "$("$sg" search wrong kind:host.frame 2>&1)" '^s-[a-z0-9]+#[0-9]+: ' 'unless that is asked for'
unlike "$("$sg" search '(wrong or localhost.)' 2>&1)" 'host\.(frame|call)' 'a word that ends in "host." does not ask for it'
"$sg" verify "$s" >v 2>&1
is $? 0 'the record verifies'
"$sg" verify "$s" --with release.lua --junit j.xml --tap r.tap --sarif r.sarif >v 2>&1
is $? 1 'offline: the same file, the same verdict: status 1'
like "$(cat v)" 'FAIL  release.lua tests ran after the last edit: edited after the last run' 'which one, and why'
like "$(cat v)" 'ok    release.lua the snapshots are what the changes make' 'the trees agree with the changes'
live=$(sqlite3 "$s" "SELECT body FROM event WHERE kind=600 ORDER BY seq DESC LIMIT 1" | python3 -c 'import json,sys; print(sorted((r["name"],r["result"]) for r in json.load(sys.stdin)["results"]))')
off=$("$sg" verify "$s" --with release.lua --json 2>/dev/null | python3 -c 'import json,sys; print(sorted((r["check"],r["result"]) for r in map(json.loads,sys.stdin) if r.get("group")=="release.lua"))')
is "$live" "$off" 'each check has live and offline the same verdict'
python3 - <<'P' >p 2>&1
import json, re, xml.etree.ElementTree as E
x = E.parse("j.xml").getroot().find("testsuite")
cases = x.findall("testcase")
assert int(x.get("tests")) == len(cases) > 10 and int(x.get("failures")) == len(x.findall("testcase/failure")) == 1
tap = open("r.tap").read().splitlines()
assert tap[0] == "TAP version 14" and tap[1] == "1..%d" % len(cases)
assert sum(l.startswith("not ok") for l in tap) == 1 and sum(bool(re.match(r"(not )?ok \d+ - ", l)) for l in tap) == len(cases)
s = json.load(open("r.sarif"))
run = s["runs"][0]
assert s["version"] == "2.1.0" and len(run["results"]) == len(cases)
bad = [r for r in run["results"] if r["level"] == "error"]
assert len(bad) == 1 and bad[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("release.lua") or bad
assert all([l["fullyQualifiedName"].split("#")[1] for l in r["locations"][0]["logicalLocations"]] == [str(e) for e in r["properties"]["evidence"]]
           for r in run["results"] if r["properties"]["evidence"]) and bad[0]["properties"]["evidence"]
assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
print("fine")
P
is "$(cat p)" fine 'JUnit, TAP and SARIF say the same'
"$sg" verify "$s" -q --check no_secrets --check attributed --check 'paths=word' --check ordered --check egress >v 2>&1
is $? 0 'checks of ours'
"$sg" verify "$s" --check 'paths=src/*' >v 2>&1
is $? 1 'a change outside of the paths'
like "$(cat v)" 'FAIL  check .*word' 'is named'
out=$("$sg" verify "$s" --check claim 2>&1)
is "$? $(grep -c "^sandglass: " <<<"$out")" '2 1' 'an unknown check: before anything is read'
fails 'suggests the nearest' "2 usage 'claim' 'claims'" "$sg" verify "$s" --check claim
cat >secrets.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b" }
assert(box:run "printf 'github_p'; printf 'at_11AAAAAAA0aBcDeFgHiJkL_mnopqrs\n'; printf 'A%s' SIAABCDEFGHIJKLMNOP >&2")
L
"$sg" run --no-tui --no-input --name secrets --sessions leaked secrets.lua >out 2>&1 </dev/null
"$sg" verify secrets --sessions leaked --check no_secrets >v 2>&1
is "$? $(grep -c 'FAIL  check       no [AG][a-zA-Z]* [a-z]*: [0-9]* found' v) $(grep -c 'ok    check' v)" '1 2 8' 'secrets in outputs alone, and which'
for c in budgets=x no_rubber_stamp=soon paths attributed=ann; do
	out=$("$sg" verify "$s" --check "$c" 2>&1)
	is "$? $(grep -c "^sandglass: " <<<"$out")" '2 1' "$c: what it does not take is said before anything is read"
done
fails 'and the message names the error' "2 usage --check 'attributed=ann' 'ann'" "$sg" verify "$s" --check attributed=ann
echo 'return 7' >seven.lua
fails 'a file that is not a check file: named, with the expected result' '3 script seven.lua v.checks' "$sg" verify "$s" --with seven.lua
cat >bad.lua <<'L'
local v = require "sandglass.verify"
return v.checks(function(log, t)
  t:check("first", true)
  log:find "kind:exek"
end)
L
out=$("$sg" verify "$s" --with bad.lua 2>&1)
is $? 1 'a check that raises has failed'
like "$out" "FAIL  bad.lua .*exek" 'with its reason'
cat >limits.lua <<'L'
local v = require "sandglass.verify"
return v.checks(function(log, t)
  local first = log:first "kind:exec"
  t:min("something ran", log:count "kind:exec", 1)
  t:min("more ran", 1, 2, { warn = true })
  t:warn("nothing ran", log:event(first.id).kind ~= "exec", first)
  t:warn("it is itself", log:event(first.id).id == first.id)
end)
L
out=$("$sg" verify "$s" --with limits.lua 2>&1)
like "$out" 'ok +limits.lua +something ran: [0-9]+ of at least 1' 't:min: a least value'
like "$out" 'warn +limits.lua +more ran: 1 of at least 2' 'that is not reached'
like "$out" 'warn +limits.lua +nothing ran +\(#[0-9]+\)' 't:warn: no failure, with its evidence'
like "$out" 'ok +limits.lua +it is itself' 'and log:event'
unlike "$out" 'FAIL +limits.lua' 'none of it fails'
cat >endless.lua <<'L'
return require("sandglass.verify").checks(function(log, t) log:sql "DELETE FROM event" end)
L
out=$("$sg" verify "$s" --with endless.lua 2>&1)
like "$out" 'only SELECT' 'the record cannot be changed by a check'
verdict() { # session, the beginning of a claim: agent, kind, and verdict of each that begins so
	jq -r --arg c "$2" 'select(.text | startswith($c)) | "\(.agent) \(.kind) \(.verdict)"' <<<"$1" | sort | xargs
}
out=$("$sg" claims "$s" --json)
is $? 1 'claims that do not hold'
is "$(verdict "$out" 'All tests pass')" 'fixer tests stale' 'tests passed, then a file was changed'
is "$(verdict "$out" 'I fixed `word`')" 'fixer files supported' 'the file was edited'
is "$(verdict "$out" 'I ran `make lint`')" 'fixer ran unsupported' 'a command that never ran'
is "$(verdict "$out" 'I pushed')" 'fixer pushed unsupported' 'a push that never was'
is "$(verdict "$out" 'I created `notes.txt`')" 'fixer files unsupported' 'a file that was not made'
is "$(jq -r .text <<<"$out" | grep -c 'should work')" 0 'an intention is not a claim'
is "$("$sg" claims "$s" --json | python3 -c 'import json,sys; print(sum(1 for l in sys.stdin if json.loads(l)["evidence"] is not None))')" 5 'as JSON'
fails 'an agent that is none has not claimed nothing' "2 noent 'fixed'" "$sg" claims "$s" --agent fixed
cat >"$t/tried.lua" <<'L'
local turns = {
  { call = { "shell", { cmd = "git add -A && git commit -qm x && git push origin main" } } },
  { call = { "edit", { path = "word", old = "wrong", new = "right" } } },
  { call = { "shell", { cmd = "make test" } } },
  { say = "I edited `word`, and all tests pass. I pushed the branch. I created `notes.txt`." },
}
return turns
L
sed 's/turns.lua/tried.lua/; /sg.check/d; /again/d; /live/d; /for _/d' fix.lua >tries.lua
"$sg" run --no-tui --name tries --sessions tried tries.lua >out 2>&1 </dev/null
out=$("$sg" claims tries --sessions tried --json)
is "$(verdict "$out" 'I pushed the branch')" 'fixer pushed contradicted' 'a push that was tried and failed speaks against the claim, also as the last of several commands'
is "$(jq -r 'select(.kind == "pushed") | "\(.why | test("[1-9]")) \(.evidence | length > 0)"' <<<"$out")" 'true true' 'with how it ended, and where'
is "$(jq -r 'select(.text | startswith("I created")) | .why | contains("notes.txt")' <<<"$out")" true 'what a file should have come to'
is "$(verdict "$out" 'I edited `word`, and all tests pass.')" 'fixer files supported fixer tests supported' 'a sentence of two claims: each has its verdict'
is "$(jq -r 'select(.verdict == "supported") | .evidence | length > 0' <<<"$out" | sort -u)" true 'and its evidence'
# Text about tests, tests in a condition, and hidden statuses are not evidence. The programs that the line ran count, with their own statuses.
claimed() { # name, command line: the verdict about the claim that the tests pass
	printf 'return { { call = { "shell", { cmd = %s } } }, { say = "All tests pass. I committed it." } }\n' "[[$2]]" >"$t/said.lua"
	sed 's/turns.lua/said.lua/; /sg.check/d; /again/d; /live/d; /for _/d' fix.lua >says.lua
	"$sg" run --no-tui --no-input --name "$1" --sessions said says.lua >out 2>&1 </dev/null
	verdict "$("$sg" claims "$1" --sessions said --json)" "${3:-All tests pass}"
}
why() { "$sg" claims "$1" --sessions said --json | jq -r 'select(.text | startswith("All tests")) | .why'; }
is "$(claimed echoes 'echo make test: passed; git commit --dry-run; true')" 'fixer tests unsupported' 'a command that only says that it tests'
is "$(claimed masks 'make test || true')" 'fixer tests unsupported' 'an exit status that is hidden'
like "$(why masks)" 'make test \|\| true' 'names the line that hides it'
is "$(claimed pipes 'sed -i s/wrong/right/ word && bash -c "set -o pipefail; make test 2>&1 | tail -3" && git commit -qam x')" 'fixer tests supported' \
	'behind a pipe that keeps it, and among others, it is known'
is "$(verdict "$("$sg" claims pipes --sessions said --json)" 'I committed it')" 'fixer committed supported' 'of each of them'
is "$(verdict "$("$sg" claims echoes --sessions said --json)" 'I committed it')" 'fixer committed unsupported' 'and a commit that was only tried on is none'
is "$(claimed behind 'sed -i s/wrong/right/ word && make test && sed -i s/right/better/ word') $(why behind | grep -c word)" 'fixer tests stale 1' \
	'what the same line changes behind its tests is no part of them'
"$sg" verify behind --sessions said --check tests_after_edit >out 2>&1
is "$? $(grep -c 'edited after the last run' out)" '1 1' 'a check reports it, too'
is "$(claimed writes 'sed -i s/wrong/right/ word && make test | tee log >log2 && cat word')" 'fixer tests unsupported' 'a pipe hides the status, as ever'
is "$(claimed keeps 'sed -i s/wrong/right/ word && bash -c "set -o pipefail; make test 2>&1 | tee log" && cat word')" 'fixer tests supported' \
	'what is written of their output is theirs'
is "$(claimed killed 'kill -9 $$; make test') $(why killed | grep -c 'signal 9')" 'fixer tests contradicted 1' 'tests that a signal has ended did not pass'
like "$("$sg" report killed --sessions said --json | grep '"actions"')" '"failed":1' 'and count as failed in a report'
like "$("$sg" compare killed masks --sessions said --no-tui)" 'make test -> signal 9' 'compare says how they ended'
like "$("$sg" verify --list)" '^tests_after_edit' 'the list of ours'
finish
