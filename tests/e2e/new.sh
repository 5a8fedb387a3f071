#!/usr/bin/env bash
# `new`: four questions at a terminal, the pattern with its reasons, and a script that works unchanged; the same by
# options. Leaving early writes nothing.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
mkdir "$t/w" && cd "$t/w" || exit 1
git init -q . && printf 'test:\n\ttrue\n' >Makefile && git add . && git commit -qm one
# --- by options: each answer counts, and the reason is printed ---
plan() { # pattern, expression for the reasons, options...
	local pattern=$1 why=$2
	shift 2
	rm -f x.lua x.script.lua
	"$sg" new x "$@" >"$t/out" 2>&1 </dev/null
	like "$?$(cat "$t/out")" "^0pattern: .*\\($pattern\\)" "new $*: $pattern"
	like "$(tr '\n' ' ' <"$t/out")" "$why" "new $*: and why"
	[ -s x.lua ]
	ok $? "new $*: its script is there"
}
plan coding 'because the loop is yours.*because a change takes effect at once.*because keys and prompts never' \
	--coupling tool --iteration fast --keys outside --mirror no
plan inside 'because the program expects.*although a change takes effect at once' --coupling inside --iteration fast --keys anywhere --mirror yes
plan coding 'although the program expects files' --coupling inside --iteration fast --keys outside --mirror no
plan inside 'because it works as on your own host' --coupling inside --mirror yes
plan coding 'although it works as on your own host' --coupling tool --mirror yes

# --- at a terminal ---
if command -v tmux >/dev/null; then
	tm() { tmux -S "$t/tmux" "$@"; }
	shows() { tm capture-pane -p -J -S - >"$t/screen"; grep -qE -- "$1" "$t/screen"; }
	say() { tm send-keys -l -- "$1" && tm send-keys Enter; }
	asks() { # number of prompts, words of the last question
		wait_for 10 sh -c "[ \$(tmux -S '$t/tmux' capture-pane -p -S - | grep -c '^\\[1\\]') = $1 ]" && shows "$2"
		ok $? "asks: $2"
	}
	tm -f /dev/null new-session -d -x 100 -y 40 "exec bash --norc --noprofile -i"
	tm send-keys -l "PS1='ready> '; clear" && tm send-keys Enter
	wait_for 10 shows '^ready>'
	say "$sg new four; echo status \$?"
	asks 1 'What is the agent'
	say 7
	asks 2 'Type 1, 2, or the word'
	say inside
	asks 3 'How often will you change the agent itself'
	say 2
	asks 4 'Where may keys and prompts be'
	say any
	asks 5 'exactly as on your own host'
	[ ! -e four.lua ]
	ok $? 'nothing is written before all is known'
	say 2
	wait_for 10 shows 'status 0'
	ok $? 'four answers'
	shows 'pattern: the agent runs inside the sandbox .inside.' && shows 'because the program expects' && shows 'wrote four.lua'
	ok $? 'name the pattern, with its reasons'
	[ -s four.lua ]
	ok $? 'and its script is written'
	tm send-keys -l "clear; $sg new five; echo status \$?" && tm send-keys Enter
	asks 1 'What is the agent'
	tm send-keys C-d
	wait_for 10 shows 'status 8'
	ok $? 'the end of the input: status 8'
	[ ! -e five.lua ]
	ok $? 'and nothing is written'
	tm kill-server
else
	skip 'no tmux: apt-get install tmux'
fi

# --- what is written works ---
for p in coding fanout inside bare; do "$sg" new "my-$p" --from $p >"$t/out" 2>&1; done
"$sg" new my-coding --from bare --force >"$t/out" 2>&1
like "$?$(head -3 my-coding.lua)" '^0.*my-coding' '--force writes over what is there'
"$sg" new my-coding --from coding --force >"$t/out" 2>&1
need_boxes
for p in coding fanout inside bare; do
	timeout 60 "$sg" run --no-tui -d "my-$p.lua" >id 2>"$t/out"
	id=$(cat id)
	ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
	step() { # confirms the step of a pending action
		h=$("$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+')
		[ -z "$h" ] || "$sg" approve "$h" -S "$id" >/dev/null 2>&1
		ended
	}
	wait_for 60 step
	like "$("$sg" events "$id" 2>&1 | tail -1)" 'session ended: successful' "$p: the script runs as it was written"
	[ ! -e "my-$p.script.lua" ] && continue
	like "$("$sg" events "$id" 2>&1)" "scripted:my-$p.script.lua" "$p: with the scripted model that lies beside it"
done

# --- no script at all: the built-in agent ---
before=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | wc -l)
"$sg" run -e 'say hello' --model scripted:demo --repo . --budget steps=5 --dry-run >"$t/out" 2>&1 </dev/null
like "$?$(tr '\n' ' ' <"$t/out")" '^0would run .nothing started.* args .*"--repo","\.".*say hello' 'run -e --dry-run says what would be run'
is "$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | wc -l)" "$before" 'and starts nothing'
timeout 60 "$sg" run -e 'say hello' --model scripted:demo --repo . --test true --no-tui --no-input >"$t/out" 2>&1 </dev/null
is $? 8 'run -e TASK --repo .: no reviewer can allow its merge'
like "$("$sg" diff --name-only)" '^hello.txt' 'its work is in the record'
[ ! -e hello.txt ]
ok $? 'and not in the repository'
finish
