#!/usr/bin/env bash
# A merge of two sandboxes is killed at each of its steps (failpoint_hit("merge-several-...") in the sources): the command on
# the recording of an ended session, and the supervisor of a running one. Before its events are committed, `undo` brings
# back every byte and every ref, and another merge has all of the work; afterwards, the merge stands.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
top=$(cd "$here/../.." && pwd)
git init -q one
seq -f 'line %g' 30 >one/a.txt
echo two >one/b.txt
git -C one add -A
git -C one commit -qm base
cp -a one two
for repo in one two; do
	cat >$repo.lua <<-L
		local sg = require "sandglass"
		local a = sg.sandbox { repo = "one", name = "a" }
		local b = sg.sandbox { repo = "$repo", name = "b" }
		assert(a:run "sed -i 's/^line 3$/line THREE/' a.txt; echo a >from-a")
		assert(b:run "sed -i 's/^line 28$/line LATE/' a.txt; echo b >from-b")
		sg.ask { text = "continue?", choices = { "yes" } }
	L
done
base=$(git -C one write-tree)
session() { # script, [failpoint of the supervisor]
	rm -rf one two
	git init -q one
	git -C one fetch -q ../base.git "$base" && git -C one checkout -qB main FETCH_HEAD
	cp -a one two
	id=$(FAILPOINT=${2:-} "$sg" run -d "$1.lua" 2>out)
	wait_for 30 sh -c "'$sg' ls --waiting | grep -q '^$id#'"
}
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
# every file, index entry and ref of both repositories
state() {
	for repo in one two; do
		git -C $repo for-each-ref
		git -C $repo rev-parse HEAD
		git -C $repo status --porcelain
		(cd $repo && find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum)
	done
}
events() { "$sg" events "$id" --all --json | jq -r "select(.kind == \"$1\") | .box" | wc -l; }
work() { # mode: what the merge has brought
	case $1 in
	--apply) (cd one && sed -n '3p;28p' a.txt && ls) ;;
	*) git -C one show "sandglass/$id:a.txt" | sed -n '3p;28p' && git -C one ls-tree --name-only "sandglass/$id" ;;
	esac 2>&1 | xargs
}
git clone -q --bare one base.git
base=$(git -C one rev-parse HEAD)
points=$(grep -rhoE --include='*.c' 'failpoint_hit\("merge-several-[^"]+"\)' "$top/src" | cut -d'"' -f2 | sort -u)
is "$(xargs <<<"$points")" 'merge-several-back merge-several-begun merge-several-done merge-several-one merge-several-recorded' 'the steps of such a merge'
all='line THREE line LATE a.txt b.txt from-a from-b'
turn=0 # every second one is left to LONG; each step and each mode is among the others, for either kind of session
for how in ended live; do
	for point in begun one:1 one:2 done recorded back; do
		for mode in --apply --to=; do
			[ $mode = --to= ] && [ $point = back ] && continue # needs an index that can't be written
			turn=$((turn + 1))
			[ -z "${LONG:-}" ] && [ $((turn % 2)) = 0 ] && [ $point != back ] && continue
			script=one
			[ $point = back ] && script=two
			session $script "$([ $how = live ] && echo merge-several-$point)"
			if [ $how = ended ]; then
				"$sg" stop --now -S "$id" >out 2>&1
				wait_for 30 ended
			fi
			before=$(state)
			[ $point = back ] && touch two/.git/index.lock
			name="$how, $point, ${mode%=}"
			how_to=$mode
			[ $mode = --to= ] && how_to="--to=sandglass/$id"
			{ FAILPOINT=$([ $how = ended ] && echo merge-several-$point) "$sg" merge "$id" --all "$how_to" </dev/null >out 2>&1; } 2>/dev/null
			[ $? != 0 ]
			ok $? "$name: killed"
			wait_for 30 ended
			rm -f two/.git/index.lock
			if [ $point = recorded ]; then
				is "$(events merge.done)" 2 "$name: the merge stands"
				"$sg" undo "$id" --json >out 2>&1
				is "$? $(jq -r '.result.merges | length' out) $(state)" "0 2 $before" "$name: undo of both"
				continue
			fi
			is "$(events merge.done)" 0 "$name: no event says that it is merged"
			"$sg" undo "$id" --json >out 2>err
			status=$?
			[ $point = begun ] || is "$status $(jq -r '[.result.merges // [.result] | .[].interrupted] | unique | join(" ")' out)" '0 true' "$name: undo takes it back"
			is "$(state)" "$before" "$name: as it was before"
			left=$(ls "$HOME"/.local/state/sandglass/merging 2>/dev/null | grep -c "^$id" || :)
			[ $point = begun ] || is "$left" 0 "$name: no intent is left"
			"$sg" merge "$id" --all "$how_to" </dev/null >out 2>&1
			is "$? $([ $script = one ] && work $mode)" "0 $([ $script = one ] && echo "$all")" "$name: another merge brings all"
			"$sg" undo "$id" >out 2>&1
			is "$? $(state)" "0 $before" "$name: and undo takes that back"
			"$sg" verify "$id" >out 2>&1
			ok $? "$name: the recording verifies"
		done
	done
done

# another merge, without an undo in between
session one
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 ended
before=$(state)
{ FAILPOINT=merge-several-one:2 "$sg" merge "$id" --all --apply </dev/null >out 2>&1; } 2>/dev/null
is "$("$sg" doctor --paths --json 2>out | jq -r 'select(.what == "interrupted merge") | .path' | wc -l)" 1 'doctor names a session with a merge that was killed'
half=$(state)
"$sg" merge "$id" --all -n </dev/null >out 2>err
is "$(grep -c 'interrupted merge of a' err) $(state)" "1 $half" 'a dry run names it and takes nothing back'
echo mine >>one/from-a
"$sg" merge "$id" --all --apply --leave from-a </dev/null >out 2>err
is "$? $(cat one/from-a | xargs) $(events merge.undone) $(events merge.done)" '0 a mine 2 2' 'a merge takes the killed one back first; a file that you have changed since stays'
is "$(grep -c 'a' err)" 1 'and names its sandboxes'

# a process of the killed merge that may still write holds its intent: undo waits, and undoes nothing else
session one
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 ended
before=$(state)
{ FAILPOINT=merge-several-one:2 "$sg" merge "$id" --all --apply </dev/null >out 2>&1; } 2>/dev/null
half=$(state)
exec 9<"$(ls "$HOME/.local/state/sandglass/merging/$id".*)"
flock 9
timeout 2 "$sg" undo "$id" >out 2>&1
is "$? $(state)" "124 $half" 'undo waits while the intent is held'
exec 9<&-
"$sg" undo "$id" >out 2>&1
is "$? $(state)" "0 $before" 'then it takes the merge back'

# --- the child that writes is killed between two renames, and so is the one that restores -----------------------------
beside() { (cd one && find . -path ./.git -prune -o -name '.sandglass-*' -print); }
cut_short() { # failpoint of the child: a merge that left a file beside one of the user's
	session one
	"$sg" stop --now -S "$id" >out 2>&1
	wait_for 30 ended
	before=$(state)
	FAILPOINT=$1 "$sg" merge "$id/a" --apply </dev/null >out 2>&1
}
cut_short merge-fresh
is "$? $(state)" "1 $before" 'killed while it writes: nothing is left'
cut_short merge-exchanged
is "$? $(beside | wc -l) $(events merge.failed)" '1 1 1' 'killed after the exchange: the merge fails and leaves a file'
name=$(beside)
"$sg" undo "$id" --json >out 2>err
is "$? $(jq -r '[.result.targets[].leftover[] | .what, .of] | join(" ")' out) $(beside)$(state)" "0 removed a.txt $before" 'undo names and removes it'
cut_short merge-exchanged
"$sg" merge "$id/a" --apply </dev/null >out 2>err
is "$? $(beside) $(grep -c "'$(basename "$name" | cut -c1-11)" err) $(sed -n 3p one/a.txt)" '0  1 line THREE' 'the next merge names and removes it'
cut_short merge-exchanged
echo theirs >"one/$(beside)"
"$sg" undo "$id" --json >out 2>err
is "$? $(jq -r '[.result.targets[] | .leftover[].what, .kept[]] | join(" ")' out) $(beside)$(cat one/a.txt)" '0 put back a.txt theirs' "another process's version returns to its place"
cut_short merge-exchanged
echo theirs >"one/$(beside)"
echo mine >one/a.txt
"$sg" undo "$id" --json >out 2>err
is "$? $(jq -r '[.result.targets[].leftover[].what] | join(" ")' out) $(cat "one/$(beside)") $(cat one/a.txt)" '0 kept theirs mine' 'and stays if yet another version is there'
cut_short merge-exchanged
half=$(sed -n 3p one/a.txt)
"$sg" prune "$id" --yes </dev/null >out 2>err
is "$? $(grep -c "'$PWD/one/.sandglass-" err) $(beside) $(sed -n 3p one/a.txt)" "0 1  $half" 'prune names and removes it; the change stays'
for boxes in a 'a b'; do
	session one merge-exchanged # the supervisor's children
	before=$(state)
	"$sg" merge -S "$id" $boxes --apply >out 2>&1
	is "$? $(beside | wc -l)" '1 1' "live: the merge of $boxes fails and leaves a file"
	is "$("$sg" merge -S "$id" $boxes -n --json 2>err | jq -c '.result.interrupted')" '["a"]' 'live: a dry run names the sandbox whose merge was interrupted'
	"$sg" stop --now -S "$id" >out 2>&1
	wait_for 30 ended
	"$sg" undo "$id" >out 2>&1
	is "$? $(beside)$(state)" "0 $before" 'live: undo after the end takes it back'
done

# --- a repository is gone ---------------------------------------------------------------------------------------------
session two
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 ended
"$sg" merge "$id" --all --apply </dev/null >out 2>&1
mv two away
"$sg" undo "$id" --json >out 2>err
is "$? $(jq -r '[.result.merges[].targets[].gone == true] | sort | join(" ")' out) $(sed -n 3p one/a.txt)" '0 false true line 3' 'a repository that is gone is named, and the other one undone'
session one
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 ended
"$sg" merge "$id" --all --apply </dev/null >out 2>&1
mv one gone
"$sg" undo "$id" >out 2>&1
is "$? $(events merge.undone)" '2 0' 'undo of a merge whose only repository is gone undoes nothing'
mv gone one
"$sg" undo "$id" >out 2>&1
is "$? $(sed -n 3p one/a.txt)" '0 line 3' 'until that is there again'

# prune: the recording goes, the changes stay
session one
"$sg" stop --now -S "$id" >out 2>&1
wait_for 30 ended
{ FAILPOINT=merge-several-one:2 "$sg" merge "$id" --all --apply </dev/null >out 2>&1; } 2>/dev/null
before=$(state)
"$sg" prune "$id" --yes </dev/null >out 2>&1
is "$? $(state)" "0 $before" 'prune leaves the changes of a killed merge'
is "$(ls "$HOME/.local/state/sandglass/merging" | grep -c "^$id" || :)" 0 'and removes its intent'
finish
