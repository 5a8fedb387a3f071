#!/usr/bin/env bash
# Repeats a recorded command in a real terminal: both runs side by side, live, and then their comparison. The command
# line reports data missing from the recording and pending approvals.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need tmux
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions TERM=screen
mkdir repo && git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
cat >r.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "repo", name = "work" }
box:exec "cat a.txt; echo two >>a.txt"
box:exec("for i in 1 2 3 4; do echo step $i; sleep 0.7; done; date +%N; date +%N >stamp", { env = { TOKEN = "x" } })
box:exec "cat a.txt; : waits"
sg.ask { text = "enough?", choices = { "yes" } }
L
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules {
  p.allow "most" { kind = "exec" },
  p.ask "slowly" { cmd = ": waits", why = "a person looks first" },
}
L
id=$("$sg" run -d r.lua --policy policy.lua 2>out)
is $? 0 "a session with commands"
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 20 is_held
"$sg" approve "$(held)" -S "$id" >out 2>&1
is $? 0 "one of which a person allows"
asks() { "$sg" events "$id" --json | grep -q '"kind":"ask"'; }
wait_for 30 asks
nth() { "$sg" events "$id" --json | grep '"kind":"action.requested"' | sed -n "$1p" | grep -oE '"seq":[0-9]+' | cut -d: -f2; }
one=$(nth 1) two=$(nth 2) three=$(nth 3)

# --- the command line ---
out=$("$sg" repeat "$id#$two" 2>err)
is $? 1 "redo of a command that prints the time: differs"
like "$(cat err)" 'the run lacks: environment values' "values that the recording lacks are reported"
like "$out" 'stdout +differs from line 5' "compared"
"$sg" repeat "$id#$three" >again 2>err &
redo=$!
waits() { grep -q "sandglass approve [0-9]* -S" err; }
wait_for 20 waits
ok $? "a second run reports its pending approval"
like "$(cat err)" "sandglass approve [0-9]+ -S $id" "and what to type"
[ ! -s again ]
ok $? "nothing is compared meanwhile"
eval "$(grep -oE 'approve [0-9]+ -S .*' err | sed "s|^|$sg |")" >out 2>&1
wait $redo
is $? 0 "approved: the same"
like "$(cat again)" 'stdout +same' "compared"

# --- its sandboxes are trials: they affect no other sandbox ---
unlike "$("$sg" tree "$id")" '# sandbox' 'tree: the box of the agent alone'
is "$("$sg" cat a.txt --at "$id" | head -1)" one 'cat: no box has to be named'
unlike "$("$sg" diff "$id")" '^# sandbox' 'diff: the box of the agent alone'
box=$("$sg" events "$id" --json | grep -oE '"name":"redo-[0-9]+' | head -1 | cut -d'"' -f4)
like "$("$sg" diff "$id" --box "$box")" '^diff --git' 'diff --box: one of a redo'
again=$("$sg" events "$id" --json | grep '"kind":"action.ended"' | sed -n 4p | grep -oE '"action":[0-9]+' | cut -d: -f2)
like "$("$sg" tree "$id#$again")" "# sandbox $box" 'an event of it names it too'
like "$("$sg" events "$id" | grep -E "^[0-9:]+ UTC +$again ")" 'exec: .* by ' "the repeat is recorded as the user's work"
like "$("$sg" export "$id" -F markdown)" '- by `.*` \(the name is claimed\)' 'also in a report'
like "$("$sg" tree "$id" -o "$t/then")" "^$t/then: 2 files as after #[0-9]+" 'checked out files are counted'

# --- the screen ---
T="tmux -L redo-$$ -f /dev/null"
trap '$T kill-server 2>/dev/null; end_all' EXIT
screen() { $T capture-pane -p; }
shows() { screen >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
keys() { $T send-keys "$@"; sleep 0.3; }
$T new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg attach $id"
wait_for 10 shows 'fleet'
keys ":goto $two" Enter
wait_for 5 shows 'log of|TIMELINE'
keys r
wait_for 10 shows "repeat #$two"
ok $? "r opens the two panes"
wait_for 20 shows 'step 1 .*step 1'
ok $? "both runs stand side by side"
unlike "$(cat "$t/screen")" 'step 4 .*step 4' "the second one is shown while it runs"
sees 'the run lacked: environment values' "with the missing values"
wait_for 20 shows 'DIFFERS'
ok $? "then they are compared"
sees 'stdout +differs from line 5 ' "output"
sees 'status +same, exit 0' "exit status"
sees 'stamp: was file' "and files"
sees '^! [0-9]+ .*! [0-9]+' "where they differ first is marked in both"
$T resize-window -x 80 -y 24
wait_for 5 shows 'Tab recorded'
ok $? "80x24: one pane"
sees 'NOW #' "the second run"
keys Tab
wait_for 5 shows "RECORDED #$two.*Tab now"
ok $? "Tab goes over"
keys q
wait_for 5 shows 'log of|TIMELINE'
ok $? "q goes back"
$T resize-window -x 120 -y 36
keys ":repeat $three" Enter
wait_for 20 shows 'pending approval'
ok $? "held: the screen says so"
keys a
wait_for 5 shows 'WHY IT NEEDS APPROVAL'
ok $? "a opens the approval"
sleep 0.6
keys y
wait_for 20 shows 'the same|same result'
ok $? "approved, it is compared"
keys ":repeat $one" Enter
wait_for 20 shows 'files +same'
ok $? "a command by its number, from the line"
sees "#$one has run again: the same" "its end is told where its beginning was"
keys C-r
wait_for 5 shows 'apply the changes of #[0-9]+ from its own sandbox to work'
ok $? "Ctrl-r asks whether its changes are taken over"
keys y
wait_for 10 shows 'the files of work are so already'
ok $? "they are: here there is nothing left to do"
keys ':repeat! 1' Enter
sees '#1 was not repeated' "and of another the line says that it has not"
tmux_end $T
"$sg" stop -S "$id" >out 2>&1
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 10 ended
"$sg" verify "$id" >out 2>&1
is $? 0 "the record verifies"
is "$("$sg" compare "$id" "$id" 2>&1 | sed -n 2p | cut -d' ' -f2)" stopped "a session that a person ended counts as stopped, not as failed"

# --- the record afterwards ---
$T new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg replay $id"
wait_for 10 shows 'rec|REPLAY|replay'
keys ":repeat" Enter
wait_for 5 shows "repeat #$one.*(the same|same result)"
ok $? "replay shows how it compared"
keys r
sleep 0.3
sees 'read only' "and runs nothing"
keys q
keys ":repeat $one" Enter
sees "repeat #$one.*(the same|same result)" "by its number, too"
keys ":repeat 1" Enter
sees 'repeat: read only' "where none ran again, nothing does"
keys ':sql SELECT seq, kind FROM event LIMIT 2' Enter
sees '2 rows$' ':sql gives a table'
sees 'Enter goes to the event' 'from which Enter leads on'
keys q
keys ':sql SELECT count(*) AS n FROM event' Enter
sees '1 row$' 'one of sums'
unlike "$(screen)" 'Enter goes to the event' 'leads nowhere, and does not say so'
tmux_end $T
"$sg" sandbox exec -- true >out 2>&1
$T new-session -d -x 120 -y 36 "LC_ALL=C.UTF-8 $sg replay $id $("$sg" ls | grep -v "$id" | head -1 | cut -d' ' -f1)"
wait_for 10 shows 'fleet: 2 sessions'
keys ':sql SELECT count(*) AS n FROM event' Enter
sees '1 row of s-[0-9a-z]+$' 'of several sessions it says which one was asked'
# --- what cannot be ---
before=$(ls "$SANDGLASS_SESSIONS")
for word in "$id#99999" "$id#1"; do
	"$sg" repeat "$word" >out 2>&1
	is "$? $(grep -c "^sandglass: " out)" '2 1' "$word cannot be run again: one line"
done
is "$(ls "$SANDGLASS_SESSIONS")" "$before" 'and no session is made for it'
finish
