#!/usr/bin/env bash
# Line mode's verbs of the table, typed at its prompt. Answers and commands can't be confused. Also hostile text, host
# commands only with --trust, and filtered lists.
. "$(dirname "$0")/lib.sh"
need_boxes
need tmux
sg=$SANDGLASS
export TZ=UTC
cd "$t" || exit 1
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { p.ask "no-push" { cmd = "echo push *", why = "publishing needs a person" } }
L
cat >ask.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
local other <close> = sg.sandbox { name = "other" }
local function answer(a) return a and (a.text or a.choice) or "nothing" end
print("answered: " .. answer(sg.ask("which \27[31mcolour\226\128\174 \255 is it?")))
print(box:exec("echo push it") and "ran" or "did not run")
print(box:exec("echo plain") and "ran" or "did not run")
print("second: " .. answer(sg.ask { text = "go on?", choices = { "yes", "no" } }))
L
tm() { tmux -S "$t/tmux" "$@"; }
shows() { tm capture-pane -p -J -S - -t "$1" >"$t/out"; grep -qE -- "$2" "$t/out"; }
says() { tm send-keys -t line -l -- "$1"; tm send-keys -t line Enter; }
id=$("$sg" run -d ask.lua --policy policy.lua --hold 'cmd~plain' --name verbs </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
tm -f /dev/null new-session -d -s line -x 150 -y 60 "LC_ALL=C.UTF-8 $sg attach --no-tui $id; echo it has ended; exec sleep 60"
wait_for 30 shows line '^question [0-9]+: which .*colour.*is it'
ok $? 'a question is asked'
unlike "$(cat "$t/out")" $'\e|\u202e' 'its text can do nothing to the terminal'
says state
wait_for 30 shows line 'ambiguous: start with?'
ok $? 'a word that is a command is not taken for the answer'
says ':state'
wait_for 30 shows line '^question #[0-9]+: which .*colour'
ok $? 'with a colon it is a command; the question is shown as text'
unlike "$(cat "$t/out")" 'b64' 'not as base64'
says ':note'
wait_for 30 shows line "failed: no command 'note'|unknown command|no command"
ok $? 'a command that is none is not an answer either'
says '!touch x'
wait_for 30 shows line 'requires --trust'
ok $? 'commands of this machine are not run'
says '= show me'
wait_for 30 shows line 'answered: show me'
ok $? 'an answer that starts like a command is accepted with its prefix'
wait_for 30 shows line '^ask [0-9]+, risk'
ok $? 'then something is held'
act=$(grep -oE '^ask [0-9]+' "$t/out" | tail -1 | grep -oE '[0-9]+')
for v in "hold cmd~plain|cmd~plain" "pause script|pause" "step|step" "freeze work|freeze|frozen|FROZEN" "thaw work|thaw" \
	"mark $act here it is|here it is" "defer $act --note ask-ann|ask-ann" "say script hello there|hello there" "budget|no budget" "waivers $act|echo push it" \
	"dry-run $act|dry run" "diff --stat|" "events --last 2|event" "out $act|" "show $act|echo push it" "search push|push" "verify|chain"; do
	says "${v%%|*}"
	want=${v#*|}
	wait_for 30 shows line "${want:-> *$}"
	ok $? "typed: ${v%%|*}"
done
says 'merge'
wait_for 30 shows line 'several sandboxes are open \(work, other\): name one after the command'
ok $? 'with several sandboxes one must be named, and the message lists them'
says "rollback $act"
wait_for 30 shows line 'several sandboxes are open \(work, other\): name one with --box NAME'
ok $? 'and how'
says 'freeze nowhere'
wait_for 30 shows line "sandbox 'nowhere' not found; sandboxes: work, other"
ok $? 'an unknown sandbox: the known ones are listed'
says 'freeze work other'
wait_for 30 shows line "failed: .*'other'"
says 'freeze nowhere else'
wait_for 30 shows line "failed: .*'else'"
is "$(grep -c "'other'" "$t/out")" 1 'what was refused is told once'
says ':hold'
wait_for 30 shows line '> :hold$'
says ':budget'
twice() { shows line ''; [ "$(grep -c 'the session has no budget' "$t/out")" -ge 2 ]; }
wait_for 30 twice
unlike "$(cat "$t/out")" 'has gone' 'looking up what stands is nobody who comes and goes'
says 'kil 5'
wait_for 30 shows line "kill"
ok $? 'a typing error is reported'
says "approve $act"
wait_for 30 shows line 'note: ran'
ok $? "typed: approve $act"
wait_for 30 shows line 'HELD by hold.*echo plain|HELD.*echo plain'
ok $? 'the next one is stopped by the hold'
says ':continue'
wait_for 30 shows line '^question [0-9]+: go on'
ok $? 'continue lets go what only a hold stopped; the next question comes'
sleep 0.6 # input in the moment between two questions is discarded
says 2
wait_for 30 shows line 'second: no'
ok $? 'a number chooses'
wait_for 30 shows line 'it has ended'
ok $? 'the end'

# verbs on the work of a box: tried, made so, picked, merged, taken back, rolled back, killed, removed, closed
git init -q repo && seq 20 >repo/a.txt && git -C repo add . && git -C repo commit -qm one
cat >work.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work", repo = "repo" }
box:exec "sed -i 's/^5$/five/; s/^15$/fifteen/' a.txt"
local r, err = box:exec ": held; echo more >> a.txt; echo made"
print(r and "promoted: " .. r.out or "not: " .. err.msg)
r, err = box:exec "sleep 1000"
print("sleeper: " .. tostring(err))
sg.ask "enough?"
r, err = box:exec "true"
print(r and "still open" or "box: " .. tostring(err))
L
id=$("$sg" run -d work.lua --hold 'cmd~held' --name work </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
tm new-session -d -s w -x 150 -y 50 "LC_ALL=C.UTF-8 $sg attach --no-tui $id; echo it has ended; exec sleep 60"
wait_for 30 shows w '^ask [0-9]+, risk'
act=$(grep -oE '^ask [0-9]+' "$t/out" | grep -oE '[0-9]+')
verb() { # the input, the expected text, name
	tm send-keys -t w -l -- "$1"
	tm send-keys -t w Enter
	wait_for 30 shows w "$2"
	ok $? "${3:-typed: $1}"
}
verb "dry-run $act" "dry run: of #$act: exit 0"
verb "apply $act" 'note: promoted: made'
wait_for 30 shows w 'exec allowed: sleep 1000'
sleeper=$(grep -oE 'event [0-9]+ exec allowed: sleep 1000' "$t/out" | grep -oE '[0-9]+' | head -1)
first=$(grep -oE 'event [0-9]+ exec allowed: sed' "$t/out" | grep -oE '[0-9]+' | head -1)
verb "repeat $first" "repeat of #$first as #[0-9]+: same result|repeat: of #$first as #[0-9]+: same result"
verb 'events --follow' "--follow can't be used here"
verb "verify --check no-open --check no-such" "unknown check" 'typed: an option twice, each with its value'
unlike "$(cat "$t/out")" "--check '$id'" 'and nothing else as its value'
verb "review reject --hunks a.txt:2 -m 'not this'" 'review: a.txt hunk 2 rejected by [^ ]+: not this'
verb 'merge --hunks a.txt:1 --to kept' 'merge: succeeded, mode branch'
is "$(git -C repo show kept:a.txt | grep -cE '^(five|fifteen)$')" 1 'one hunk of it is on the branch'
verb 'undo' 'undo: undid the merge into refs/heads/kept'
is "$(git -C repo branch --list kept)" '' 'the branch has gone'
verb "rollback $act" 'rollback: to #'
verb 'undo' 'rollback: to #.*'
verb "kill $sleeper -m 'took too long'" 'sleeper: .*took too long' 'typed: kill, its reason reaches the script'
verb ":redact #$act --why 'a word' --yes" "redact: event #$act by .*: a word"
verb ':close work' 'box: work closed'
verb '= yes' 'note: box: ' 'a closed sandbox is an error for the script'
wait_for 30 shows w 'it has ended'
ok $? 'and the session ends'
unlike "$(cat "$t/out")" '(review.choice|merge.undone|action.cancel|redacted|box.frozen): [{]' 'every event has words'

# -q: pending approvals, errors, the script's output, the end
cat >quiet.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
box:exec "echo heard; exit 3"
print "said"
sg.warn "something to know"
local r, err = box:exec "echo push it"
print(r and "ran" or err.code)
sg.exit(1, "not done")
L
"$sg" run -q --no-tui --policy policy.lua quiet.lua --no-input </dev/null >"$t/quiet" 2>"$t/out"
is $? 8 '-q leaves the status'
is "$(grep -c . "$t/quiet")" 4 'and says only what counts'
like "$(cat "$t/quiet")" ': said' 'what the script prints'
like "$(cat "$t/quiet")" 'something to know' 'a warning'
like "$(tail -1 "$t/quiet")" 'session: (failed|succeeded)' 'and the end'

# filtered lists, and commands of the host
two=$("$sg" run -d ask.lua --policy policy.lua --name two </dev/null 2>"$t/out" | grep -oE 's-[0-9a-z]+' | head -1)
"$sg" attach --filter 'kidn:exec' "$two" </dev/null >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^2.*did you mean "kind"' 'an invalid filter is reported at once'
timeout 3 "$sg" watch --no-tui --filter 'kind:ask' "$two" </dev/null >"$t/filtered" 2>&1
like "$(cat "$t/filtered")" 'colour' 'watch --filter prints what matches'
unlike "$(cat "$t/filtered")" 'box' 'and nothing else'
tm new-session -d -s con -x 110 -y 30 "LC_ALL=C.UTF-8 $sg attach --trust --filter agent:none $two; exec sleep 60"
wait_for 30 shows con 'filter: agent:none|f: *agent:none|agent:none'
ok $? 'attach --filter: the console begins with it'
tm send-keys -t con -l ":!echo mine >$t/mine"
tm send-keys -t con Enter
wait_for 30 shows con 'exit 0; recorded as yours'
ok $? ':! runs a command of this machine with --trust'
is "$(cat mine 2>/dev/null)" mine 'it ran'
tm send-keys -t con Enter
out=$("$sg" events "$two" --json | grep control.host)
like "$out" '"cmd": ?"echo mine.*"who": ?\{|"who": ?\{.*"cmd": ?"echo mine' 'the record says what and who'
like "$out" '"status": ?0' 'and its end'
"$sg" stop --now -S "$two" >/dev/null 2>&1
tm kill-server
finish
