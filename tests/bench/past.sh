#!/usr/bin/env bash
# What people ask of a long record, as they ask it (the program's start is in it): past.sh SESSION TENTH [ROUNDS]
#
#   search   a rare phrase, words that stand nowhere, two that never meet, a common one, a field and a word; times, numbers, kinds, states,
#            hosts, a regular expression: through the index of the file. The first 100, in a tenth of a second
#   blame    of a file that was changed often, over the snapshots of one box; pickaxe the same over its contents: in ten times as many
#            events ten times as many snapshots, so at most ten times as long
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
filter() { search "$*" "$*"; }
filter 'dur>2390ms dur<2395ms' # some, that few of a block are
filter 'dur>1h'                # none
filter 'cost>$5'
filter 'tokens>10'
filter 'lines>1M'
filter 'exit>100'
filter 'exit:77'
filter 'turn:1000'
filter 'turn:100000'
filter 'turn>1000'
filter 'text~xyzzy[0-9]+'
filter 'text:xyzzy'
filter 'cmd~^pip3'
filter 'since:2026-01-01'
filter 'until:2025-11-21'
filter 'is:pending'
filter 'is:live'
filter 'is:error dur>3s'
filter 'is:marked'
filter 'has:note'
filter 'kind:snapshot has:diff'
filter 'kind:session.*'
filter 'kind:agent.end'
filter 'host:good.example'
filter 'host:*.example'
filter 'verdict:ask risk:high'
rounds=3
box() { ask "$1" "SELECT box FROM event WHERE kind = 210 AND instr(body, 'README.md') > 0 LIMIT 1"; } # one that has the file
blame() { median "$sg" blame README.md --at "$1" --box "$(box "$1")"; }
pickaxe() { median "$sg" when 'changed 3 times' --at "$1" --box "$(box "$1")"; }
grows() { # what, ms, ms of a tenth
	awk -v w="$1" -v a="$2" -v b="$3" 'BEGIN { r = b > 0 ? a / b : 99
		printf "  %-24s %8.1f ms, of a tenth %7.1f ms     ratio %5.2f  reach 10  %s\n", w, a, b, r, r <= 10 ? "PASS" : "FAIL" }'
}
grows 'blame of a file' "$(blame "$long")" "$(blame "$tenth")"
grows 'when a text appeared' "$(pickaxe "$long")" "$(pickaxe "$tenth")"
