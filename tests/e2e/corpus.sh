#!/usr/bin/env bash
# Recorded sessions (tests/corpus/sessions.tar.zst) are read as on the day they were recorded: show, events, verify,
# exports, replayed lines, and screens equal tests/corpus/NAME/. GOLDEN=1 rewrites those files; look at the difference.
. "$(dirname "$0")/lib.sh"
need zstd
sg=$SANDGLASS
corpus=$here/../corpus
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -m 700 "$SANDGLASS_SESSIONS"
zstd -dcq "$corpus/sessions.tar.zst" | tar -C "$SANDGLASS_SESSIONS" --no-same-owner -xf -
cd "$SANDGLASS_SESSIONS" || exit 1

replay() { timeout 60 "$sg-replay" "$@" </dev/null; }
actions_of() { # each action in full, as text
	local seq
	for seq in $(sed -n 's/.*"seq":\([0-9]*\),.*"kind":"action.requested".*/\1/p' "$t/new/events.jsonl" | head -25); do
		echo "== $seq"
		"$sg" show "$1#$seq"
	done
}
outputs_of() { # session: fills $t/new
	"$sg" events "$1" --all --json >"$t/new/events.jsonl"
	"$sg" events "$1" >"$t/new/events.txt"
	"$sg" show "$1" >"$t/new/show.txt"
	"$sg" show "$1" --handoff >"$t/new/handoff.txt"
	actions_of "$1" >"$t/new/actions.txt"
	"$sg" verify "$1" --json --anchor '' >"$t/new/verify.jsonl"
	"$sg" export "$1" -F markdown >"$t/new/report.md"
	"$sg" export "$1" -F atif >"$t/new/atif.json"
	replay --no-tui "$1" >"$t/new/replay.txt"
	for view in fleet agent log; do
		replay --screen 0 --size 100x30 --view $view "$1"
	done >"$t/new/screens.txt"
}
# paths of this run differ
masked() { sed -e "s|$t|DIR|g"; }
# short texts are kept as they are, others compressed
compare() { # session, file
	local golden=$corpus/$1/${2##*/}
	case ${2##*/} in show.txt | handoff.txt | verify.jsonl | screens.txt | errors.txt) ;; *) golden+=.zst ;; esac
	zstd -dcfq "$golden" >"$t/want" 2>/dev/null
	if [ -n "${GOLDEN:-}" ] && ! cmp -s "$t/want" "$2"; then
		mkdir -p "$corpus/$1"
		case $golden in *.zst) zstd -19 -qcf "$2" ;; *) cat "$2" ;; esac >"$golden"
		cp "$2" "$t/want"
	fi
	diff "$t/want" "$2" >"$t/out"
	ok $? "$1: ${2##*/}"
}

nr=0
for file in *.glass; do
	name=${file%.glass} name=${name#*-*-*-} name=${name%-*}
	nr=$((nr + 1))
	mkdir -p "$t/new"
	rm -f "$t/new"/*
	outputs_of "./$file" 2>"$t/new/errors.txt"
	for of in "$t/new"/*; do
		masked <"$of" >"$t/masked" && mv "$t/masked" "$of"
		compare "$name" "$of"
	done
	cat "$t/new/events.jsonl" >>"$t/events"
done
if python3 -c 'import jsonschema' 2>"$t/out"; then
	python3 "$corpus/check_schema.py" "$here/../../schema/events.json" <"$t/events" >"$t/out" 2>&1
	is "$(cat "$t/out")" "$(wc -l <"$t/events" | tr -d ' ')" 'each event obeys schema/events.json'
else
	skip "python3 has no jsonschema"
fi
[ "$nr" -ge 10 ]
ok $? "the corpus has its sessions ($nr)"
finish
