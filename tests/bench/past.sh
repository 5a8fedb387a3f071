#!/usr/bin/env bash
# What people ask of a long record, as they ask it (the program's start is in it): past.sh SESSION TENTH [ROUNDS]
#
#   search   a rare phrase, words that stand nowhere, two that never meet, a common one, a field and a word: through the index of the file
#   blame    of a file that was changed often, over the snapshots of one box; pickaxe the same over its contents
set -u
sg=$PWD/${B:-build}/sandglass
long=$1 tenth=$2 rounds=${3:-9}
export SANDGLASS_SESSIONS=${long%/*}
median() { # command...: ms
	for _ in $(seq "$rounds"); do
		local from=${EPOCHREALTIME/./}
		"$@" >/dev/null
		[ $? -le 1 ] || { echo "past.sh: $* failed" >&2; exit 2; }
		echo $((${EPOCHREALTIME/./} - from))
	done | sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / 1000 }'
}
search() { # what, words...
	local what=$1
	shift
	median "$sg" search "$@" -q --in "$long" | awk -v w="search: $what" \
		'{ printf "  %-44s %8.1f ms     reach 100  %s\n", w, $1, $1 <= 100 ? "PASS" : "FAIL" }'
}
ask() { sqlite3 -readonly "$1" "$2"; }
events=$(ask "$long" 'SELECT max(seq) FROM event')
from=$SECONDS
"$sg" index "$long" -q || exit 2
echo "  what the end of the session left out of its index: $((SECONDS - from)) s"
echo "  $events events; starting the program: $(median "$sg" version) ms"
search 'commands that failed, the first 100' kind:exec is:error
search 'a rare phrase' '"turn 777 of ada"'
search 'words that stand nowhere' xyzzy plugh
search 'two common words that never meet' octal isdigit
search 'a common word, the first 100' assertion
search 'a field and a word, the first 100' kind:exec make
rounds=3
box() { ask "$1" 'SELECT min(box) FROM event WHERE box > 0'; }
blame() { median "$sg" blame README.md --at "$1" --box "$(box "$1")"; }
echo "  blame of a file: $(blame "$long") ms, of a tenth of the events $(blame "$tenth") ms;" \
	"when: $(median "$sg" when 'changed 3 times' --at "$long" --box "$(box "$long")") ms"
