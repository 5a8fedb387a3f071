#!/usr/bin/env bash
# One call that changes or opens a file of sandglass fails, once: while a session runs, and while commands redact,
# label, catalog, merge, and prune ended ones. The command ends with a named error or continues; the session verifies,
# and the same command works afterwards. A few calls of each command; with LONG all of them. The recorder's own calls:
# unit/record/t_io_faults.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need_boxes
need jq
cd "$t" || exit 1
${CC:-gcc} -shared -fPIC -O1 -w -o fault.so "$here/../crash/preload/io_faults.c" -ldl 2>"$t/out" || { skip "no library can be built: $(head -1 "$t/out")"; finish; }
git init -q repo
echo one >repo/f
git -C repo add f
git -C repo commit -qm one
cat >work.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "b", repo = "repo" }
assert(box:run "echo two >> f; seq 1 400")
sg.note("a plum cake")
if sg.args { merge = "no" }.merge == "yes" then assert(box:merge { into = "repo", mode = "branch", branch = "made" }) end
L
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
work() { "$sg" run work.lua --policy any.lua --no-tui --no-input --name "$1" -- "${@:2}" >"$t/out" 2>&1 </dev/null; }
work old
is $? 0 'a session to work on'
note=$("$sg" events old --json | jq -r 'select(.kind == "script.note" or .kind == "note") | .seq' | head -1)
[ -n "$note" ] || note=$("$sg" events old --json | jq -r 'select(.body | tostring | contains("plum cake")) | .seq' | head -1)
like "$note" '^[0-9]+$' 'with a note'
cp -a "$HOME" home.was
cp -a repo repo.was
again() { rm -rf "$HOME" repo; cp -a home.was "$HOME"; cp -a repo.was repo; }
count=0 harm=
# One command as the user gives it: it must have worked when it says so.
do_it() { # what
	case $1 in
	run) work new --merge yes ;;
	redact) "$sg" redact "old#$note" --why cake --yes >"$t/out" 2>&1 </dev/null ;;
	label) "$sg" label old kept >"$t/out" 2>&1 </dev/null ;;
	catalog) "$sg" index --catalog >"$t/out" 2>&1 </dev/null ;;
	merge) "$sg" merge -S old --to made >"$t/out" 2>&1 </dev/null ;;
	prune) "$sg" prune old --yes >"$t/out" 2>&1 </dev/null ;;
	esac
}
done_well() { # what: is its effect there?
	case $1 in
	run) [ "$(git -C repo show made:f 2>/dev/null | tail -1)" = two ] ;;
	redact) ! "$sg" events old --json | jq -c "select(.seq == $note)" | grep -q 'plum cake' ;;
	label) "$sg" ls --json | jq -r 'select(.name == "old") | .labels | tostring' | grep -q kept ;;
	merge) [ "$(git -C repo show made:f 2>/dev/null | tail -1)" = two ] ;;
	prune) ! "$sg" ls --json | jq -r .name | grep -qx old ;;
	esac
}
report() { # what, number, problem
	harm="$harm $1:$2"
	echo "# $1, call $2 ($(cat "$t/note")): $3"
	sed 's/^/#   /' "$t/out" | tail -3
}
one() { # what, number of the call, error number: 1 if there is no such call
	local rc who=old
	again
	rm -f "$t/note"
	FAULT_AT=$2 FAULT_ERRNO=$3 FAULT_BELOW=$HOME/.local FAULT_ALSO=$t/repo/ FAULT_NOTE=$t/note LD_PRELOAD=$t/fault.so do_it "$1"
	rc=$?
	[ -e "$t/note" ] || return 1
	count=$((count + 1))
	[ "$1" = run ] && who=new
	if [ $rc -ge 124 ]; then report "$1" "$2" "status $rc"
	elif [ $rc != 0 ] && ! grep -q '^sandglass: .' "$t/out"; then report "$1" "$2" "status $rc without a named error"
	elif [ $rc = 0 ] && ! done_well "$1"; then report "$1" "$2" 'it says that it worked'
	fi
	if "$sg" ls --json 2>/dev/null | jq -r .name | grep -qx $who && ! "$sg" verify $who >"$t/out" 2>&1; then
		report "$1" "$2" 'the session does not verify'
	fi
	# the next time
	if [ "$1" = run ]; then
		"$sg" ls --json 2>/dev/null | jq -r 'select(.name == "new") | .state' | grep -q interrupted &&
			{ timeout 60 "$sg" resume new --no-input --no-tui >"$t/out" 2>&1 </dev/null || grep -qE 'before its script started|how it ended is not known' "$t/out" ||
				report run "$2" 'it does not resume'; }
	elif ! done_well "$1"; then
		do_it "$1" && done_well "$1" || report "$1" "$2" 'the next time does not work, either'
	fi
	"$sg" ls >"$t/out" 2>&1 || report "$1" "$2" 'ls fails'
}
for what in ${FAULTS_OF:-run redact label catalog merge prune}; do
	calls=0
	before=$harm
	step=${LONG:+1}
	[ "$what" = run ] && step=${step:-211} || step=${step:-127}
	for ((at = ${FAULT_FROM:-3}; at < 5000; at += step)); do
		one "$what" "$at" $((at % 2 ? 5 : 28)) || break # EIO, ENOSPC
		calls=$((calls + 1))
	done
	[ "$harm" = "$before" ]
	ok $? "$what: each of $calls calls that failed ends well:${harm#"$before"}"
done
[ $count -gt 10 ]
ok $? "calls were made to fail ($count)"
finish
