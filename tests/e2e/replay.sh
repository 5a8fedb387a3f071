#!/usr/bin/env bash
# A recording by commands: steps, jumps, seeks, own bookmarks outside the file, screens at the cursor, and a growing
# session. Invalid, truncated, reversed, and newer files give one clear line, never a crash.
. "$(dirname "$0")/lib.sh"
make=${SANDGLASS%/*}/helpers/sessions/make_session
replay=$SANDGLASS-replay
file=$("$make" "$t" small 1500 4)
by() { printf '%s\n' "$@" | timeout 60 "$replay" --step "$file" 2>&1; }

before=$(sha256sum "$file")
out=$(by 'next error' next turn 50% where)
like "$out" '^1> error #[0-9]+' 'to the next error'
like "$out" ' FAILED: ' 'the event at the cursor is printed'
like "$out" 'turn #[0-9]+' 'to the next turn'
like "$out" 'event [0-9]+ of [0-9]+, [0-9]+:[0-9]{2} of [0-9]+:[0-9]{2}, .* cost so far \$' 'where it is, in words'
like "$(by end where)" 'event ([0-9]+) of \1,' 'the end'
like "$(by '#700' prev next event-back where)" 'event 701 of' 'back and on'
like "$(by 'seek 2:05' where)" ', 2:0[0-5] of' 'to a time since the beginning'
like "$(by 'seek 14:34:12' where)" ', 2:0[0-5] of [0-9:]+, 14:34:' 'to a time of day'
like "$(by 'seek 2:05' 'seek +90s' where)" ', 3:3[0-5] of' 'to so much later'
like "$(by 700 'seek +1ms' where)" 'event 701 of' 'which is the next event where nothing happens meanwhile'
like "$(by 'seek 99:00')" 'seek: expected 50%.* 0:45' 'an invalid place is reported'
like "$(by 400 fleet)" '^400> [^$]*\$0\.[0-9]+' 'a screen as of the cursor'
[ "$(by 400 fleet | cksum)" != "$(by 1200 fleet | cksum)" ]
ok $? 'another place, another screen'
like "$(by 300 'mark a look here' 600 mark bookmarks)" 'a +#300 .* look here' 'marks are listed'
like "$(by bookmarks)" '#600' 'and are there the next time'
like "$(by 'go a' where)" 'event 300 of' 'and gone to by their letter'
like "$(by 'next mark' 'next mark' 'next mark')" 'mark #600' 'and one after the other'
is "$(sha256sum "$file")" "$before" 'the record is not written to'
is "$(stat -c %a "$HOME"/.local/state/sandglass/marks/*.jsonl)" 600 'the marks are nobody else'\''s'
shown() { sed -nE '/FILES/,$s/^ ([AMDTm] [^ ]+) +[-+].*\|.*/\1/p' | sort; }
b=$(sqlite3 -readonly "$file" "SELECT json_extract(body, '$.name') FROM event WHERE kind = 200 LIMIT 1")
cli=$("$SANDGLASS" diff "$file#300" "$file#1200" --box "$b" --stat 2>"$t/out" | sed -nE 's/^([AMDTm])  ([^ ]+) .*/\1 \2/p' | sort)
is "$(by 1200 agent 'diff 300 1200' | shown)" "$cli" 'files between two events, as the one program says'
is "$(by 300 'mark f' 1200 'mark g' agent 'diff f g' | shown)" "$cli" 'and between two marks'
like "$(by 'diff nowhere')" "bookmark or event 'nowhere' not found" 'an unknown place is reported'
like "$(by 800 timeline)" 'exec +\|.*\|' 'lanes over time'
like "$(by 'ruler tokens' timeline)" 'tokens +\|.*\|' 'which count the requested values'
like "$(by 900 out)" '^  cc -O2' 'output as of the cursor'
like "$(by 'approve 5' 'pause all' 'exec rm')" 'read only|there is no command' 'nothing runs'
like "$("$SANDGLASS" replay "$file" --step <<<where)" 'event 1 of' 'the same by the one program'
for how in --no-tui '--speed 64'; do
	# shellcheck disable=SC2086
	"$SANDGLASS" replay "$file" --at 1490 $how --json </dev/null >"$t/out" 2>&1
	is "$(sed -n '1s/.*"seq":\([0-9]*\),.*/\1/p' "$t/out") $(wc -l <"$t/out")" "1490 $(($("$SANDGLASS" events "$file" --all --json | wc -l) - 1489))" \
		"$how --at: from this event on"
done

# --- beside each other ---
other=$("$make" "$t" other 800 2 9)
both=$("$SANDGLASS" replay "$file" "$other" --screen --at 500 2>&1)
like "$both" '2 sessions +6 agents' 'two sessions in one fleet'
like "$both" 's-f00009' 'each by its name'
[ "$(printf '%s' "$both" | cksum)" != "$("$SANDGLASS" replay "$file" "$other" --screen --at 100 | cksum)" ]
ok $? 'both as of the cursor'
"$SANDGLASS" replay "$file" --json >"$t/lines" 2>&1 </dev/null
is "$? $(grep -vc '^{.*}$' "$t/lines")" '0 0' '--json prints a JSON object a line'
[ "$(wc -l <"$t/lines")" -gt 1000 ]
ok $? 'for each event'
"$SANDGLASS" replay "$file" --step --json >"$t/out" 2>&1 </dev/null
is "$? $(grep -c . "$t/out")" '2 1' '--step with --json is refused in one line'
"$replay" --step "$file" "$other" >"$t/out" 2>&1 </dev/null
is $? 2 'by words it is one at a time'

# --- a session that runs ---
mkfifo "$t/feed" "$t/say"
"$make" "$t" grows 400 1 7 --live <"$t/feed" >"$t/path" 2>&1 &
maker=$!
exec 7>"$t/feed"
live() { grow=$(ls "$t"/*-grows-*.glass 2>/dev/null) && [ -n "$grow" ] && [ -s "$t/path" ]; }
wait_for 30 live
grow=$(ls "$t"/*-grows-*.glass)
"$replay" --step "$grow" <"$t/say" >"$t/out" 2>&1 &
reader=$!
exec 8>"$t/say"
echo follow >&8
wait_for 20 grep -q 'follows the end' "$t/out"
ok $? 'a session that runs is followed'
echo 'a line that comes now' >&7
wait_for 20 grep -q 'event [0-9]* output$' "$t/out"
printf '\nwhere\nout\n' >&8
wait_for 20 grep -q 'a line that comes now' "$t/out"
ok $? 'new events appear'
exec 8>&-
wait "$reader"
is $? 0 'the end of the input ends it'
exec 7>&-
wait "$maker"

# --- files that are not what they should be ---
says() { # file, pattern, name: exits with one line on standard error
	local rc
	timeout 20 "$replay" --screen 0 "$1" >"$t/screen" 2>"$t/out" </dev/null
	rc=$?
	[ $rc -gt 0 ] && [ $rc -lt 100 ] && [ "$(grep -c "^sandglass: " "$t/out")" = 1 ] && grep -qE "$2" "$t/out"
	ok $? "$3: $(head -c 150 "$t/out" | tr '\n' ' ')"
}
: >"$t/empty.glass"
head -c 100000 /dev/urandom >"$t/noise.glass"
head -c 5000 "$file" >"$t/cut.glass"
cp "$file" "$t/newer.glass"
sqlite3 "$t/newer.glass" 'PRAGMA user_version=9999' 2>/dev/null
sqlite3 "$t/other.glass" 'CREATE TABLE x(y)'
says "$t/none.glass" 'none.glass' 'no file'
says "$t" 'directory' 'a folder'
says "$t/empty.glass" 'empty.glass' 'an empty file'
says "$t/noise.glass" 'noise.glass' 'noise'
says "$t/other.glass" 'other.glass' 'another program'\''s database'
says "$t/newer.glass" 'newer' 'a newer format'
says "$t/cut.glass" 'cut.glass' 'the beginning of a file'
for wrong in '--at zz' '--screen -5' '--action 4x'; do
	"$replay" $wrong "$file" </dev/null >"$t/out" 2>&1
	like "$?$(cat "$t/out")" '^2.*expected the number of an event' "$wrong: one line, nothing shown"
done
last=$("$SANDGLASS" events "$file" --all --json | wc -l)
for past in '--no-tui --at' '--screen --at' '--step --at'; do
	"$SANDGLASS" replay "$file" $past $((last + 1)) </dev/null >"$t/out" 2>"$t/err"
	is "$? $(wc -c <"$t/out") $(wc -l <"$t/err")" '2 0 1' "$past with an event that the session does not have"
	"$SANDGLASS" replay "$file" $past "$last" </dev/null >"$t/out" 2>&1
	is "$?" 0 "$past with its last event"
done
crashed=0
for i in $(seq 12); do # a stretch is noise: whatever can be read is shown, or one line says why not
	cp "$file" "$t/hurt.glass"
	head -c 600 /dev/urandom | dd of="$t/hurt.glass" bs=1 seek=$((i * $(stat -c %s "$file") / 13)) conv=notrunc 2>/dev/null
	printf '50%%\nfleet\nnext error\nout\nfiles\nend\n' | timeout 20 "$replay" --step "$t/hurt.glass" >"$t/out" 2>&1
	[ $? -ge 100 ] && crashed=$((crashed + 1))
done
is "$crashed" 0 'twelve hurt files: no crash, no hanging'
finish
