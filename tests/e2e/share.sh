#!/usr/bin/env bash
# A session shared with a unix group: two other users of the host, one in the group and one outside; to watch and to
# decide. Their limits, their recorded identity, and closed directories.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
own=sgo$$ member=sgm$$ other=sgx$$ group=sgg$$
no_users() { skip "$1: run this as root where users can be added (apt-get install passwd)"; finish; }
[ "$(id -u)" -eq 0 ] || no_users 'users can be made by root only'
command -v useradd >/dev/null && command -v runuser >/dev/null || no_users 'no useradd or runuser'
gone() {
	as own stop --now >/dev/null 2>&1 # a shared session would be found by every other test on the machine
	for u in "$own" "$member" "$other"; do userdel -f "$u" >/dev/null 2>&1; done
	groupdel "$group" >/dev/null 2>&1
	end_all
}
trap gone EXIT
{ groupadd "$group" && useradd -M -d "$t/own" -G "$group" "$own" && useradd -M -d "$t/member" -G "$group" "$member" &&
	useradd -M -d "$t/other" "$other"; } >"$t/out" 2>&1 || no_users "a user cannot be added ($(tail -1 "$t/out"))"
for u in own member other; do
	mkdir -p "$t/$u/run"
	chown -R "${!u}": "$t/$u"
	chmod 700 "$t/$u/run"
done
as() { # user, words: sandglass as that user
	local u=$1
	shift
	(cd "$t/$u" && exec runuser -u "${!u}" -- env -u XDG_DATA_HOME HOME="$t/$u" XDG_RUNTIME_DIR="$t/$u/run" USER=liar TZ=UTC "$sg" "$@" </dev/null)
}
as_member() { as member "$@"; }
as member version >"$t/out" 2>&1 || no_users "another user cannot run the program ($(tail -1 "$t/out"))"
cat >"$t/own/two.lua" <<'L'
local sg = require "sandglass"
for i = 1, 9 do
  local r, err = sg.host.fetch("http://127.0.0.1:9/" .. i)
  print(r and "fetched" or "not: " .. tostring(err))
end
L
mkdir -p "$t/own/.local/share"
chown -R "$own": "$t/own"
held() { as own state --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { h=$(held) && [ -n "$h" ] && [ "$h" != "${1:-}" ]; }
none_live() { ! as own ls --live 2>/dev/null | grep -q s-; }

# an error gives one line before anything starts
for wrong in "$group:rule" "nogroup$$" ":watch" "$other"; do
	as own run -d two.lua --share "$wrong" >"$t/out" 2>&1
	is "$?.$(grep -c "^sandglass: " "$t/out")" 2.1 "--share $wrong"
done
chmod 700 "$t/own"
as own run -d two.lua --share "$group" >"$t/out" 2>&1
like "$? $(tr '\n' ' ' <"$t/out")" "^1 .*chmod o\+x $t/own'" 'a home that is closed: one line, with what to do'
is "$(grep -c "^sandglass: " "$t/out")" 1 'one'
chmod 711 "$t/own"

# to decide
as own run -d two.lua --share "$group:decide" >"$t/id" 2>"$t/out"
is $? 0 'shared to decide'
like "$(cat "$t/out")" "group $group watches and decides in this session with 'sandglass attach $t/own/.*\.glass'" 'it says how they get there'
file=$(grep -oE '/[^ ]*\.glass' "$t/out")
wait_for 30 is_held
ok $? 'something waits'
a=$(held)
as member events "$file" >"$t/out" 2>&1
is $? 0 'a member reads the session'
like "$(cat "$t/out")" 'fetch' 'all of it'
as other events "$file" >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^[1-9].*(ermission denied)' 'who is not in the group cannot'
as other approve "$a" -S "$file" >"$t/out" 2>&1
like "$?$(cat "$t/out")" '^[1-9].*(ermission denied|not permitted)' 'nor decide'
as member state -S "$file" >"$t/out" 2>&1
like "$? $(tr '\n' ' ' <"$t/out")" "^0 .*HELD #$a" 'a member sees what waits'
id=s-$(basename "$file" .glass | grep -oE '[^-]*$')
as member state -S "$id" >"$t/out" 2>&1
like "$?$(cat "$t/out")" "^0.*HELD #$a" 'a member finds it by its id, without the path'
like "$(as member ls --waiting 2>&1)" "^$id#$a " 'and among what waits'
like "$(as member ls --live 2>&1)" "^$id " 'and among what runs'
like "$(as member ls 2>&1)" "^$id +waiting .*\(1 held\)  \(shared by $own\)$" 'and among all sessions: whose it is, and what waits'
like "$(as member ls --json 2>&1)" "\"shared_by\": ?\"$own\".*\"role\": ?\"decide\"" 'for programs, too'
like "$(as member 2>&1)" "^sandglass attach $id .*which $own shares with you" 'without a word, too'
unlike "$(as own ls 2>&1)" 'shared by' 'its owner needs no such word'
like "$(as other ls 2>&1)" 'no sessions' 'who is not in the group has none'
unlike "$(as other ls --live 2>&1)$(as other ls --waiting 2>&1)" "$id" 'who is not in the group does not'
as member attach --no-tui --json >"$t/attached" 2>&1 &
follows=$!
wait_for 20 grep -q '"kind":"session.start"' "$t/attached"
ok $? 'attach without a word, when nothing of his own runs'
kill -TERM "$(pgrep -u "$member" -f 'attach --no-tui')"
wait_for 20 eval '! kill -0 '"$follows"' 2>/dev/null'
ok $? 'SIGTERM ends it, though a member may not stop the session'
wait "$follows"
is $? 143 'with its status'
like "$(cat "$t/attached")" "'sandglass attach $id' returns$" 'and what he can do'
as member deny "$a" -m 'use the mirror' -S "$file" >"$t/out" 2>&1
is $? 0 'a member decides'
wait_for 30 is_held "$a"
ok $? 'and it continues'
out=$(as own events "$file" --json | grep action.decided)
like "$out" "\"name\": ?\"$member\"" 'the record says who: the name that the system knows, not the one that is claimed'
like "$out" "\"group\": ?\"$group\"" 'and as a member of which group'
like "$out" "\"uid\": ?$(id -u "$member")" 'and the uid'
unlike "$out" liar 'nothing claimed'
like "$(as own events "$file" --json | grep control.share)" "\"group\": ?\"$group\".*\"role\": ?\"decide\"" 'the sharing itself is in the record'
b=$(held)
for cmd in "stop --now" "merge" "redact #$b --why x --yes" "budget --usd 5" "undo"; do
	# shellcheck disable=SC2086
	fails "not for a member: $cmd" "1 denied '${cmd%% *}'" as_member $cmd -S "$file"
done
fails 'nor a rule of the project' '1 denied --rule --session' as_member approve "$b" --rule 'x *' -S "$file"
[ "$(held)" = "$b" ]
ok $? 'it still waits'
as own stop --now >"$t/out" 2>&1
wait_for 30 none_live
[ ! -e "${file%.glass}.sock" ]
ok $? 'the socket goes with the session'
as member verify "$file" >"$t/out" 2>&1
like "$(cat "$t/out")" 'chain' 'a member can check what is left'

# to watch
as own run -d two.lua --share "$group:watch" >"$t/id" 2>"$t/out"
file=$(grep -oE '/[^ ]*\.glass' "$t/out")
wait_for 30 is_held
a=$(held)
fails 'who may watch cannot decide' "1 denied 'deny' watch" as_member deny "$a" -S "$file"
like "$(as member ls 2>&1)" "\(shared by $own, to watch\)$" 'ls shows this'
if command -v tmux >/dev/null; then
	tm() { tmux -S "$t/tmux" "$@"; }
	shows() { tm capture-pane -p -t con >"$t/out"; grep -qE -- "$1" "$t/out"; }
	chmod 711 "$t"
	tm -f /dev/null new-session -d -s con -x 100 -y 30 "cd $t/member; runuser -u $member -- env HOME=$t/member XDG_RUNTIME_DIR=$t/member/run LC_ALL=C.UTF-8 $sg attach $file; exec sleep 60"
	wait_for 30 shows 'shared with you to watch'
	ok $? 'the console of a member'
	tm send-keys -t con a
	wait_for 30 shows '127.0.0.1'
	ok $? 'shows what waits'
	tm kill-server
else
	skip 'no tmux: apt-get install tmux'
	skip 'no tmux: apt-get install tmux'
fi
as own stop --now >"$t/out" 2>&1
wait_for 30 none_live
ok $? 'the end'
finish
