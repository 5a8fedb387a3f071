#!/usr/bin/env bash
# The include rule, as TAP: a directory includes only what stands before it in the list, and each third-party header is
# seen in its one place. Run from the top of the tree.
set -u
n=0 bad=0
result() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; printf '%s\n' "$3" | sed 's/^/#   /'; bad=1; fi; }

# every directory, low to high
order='
base base/text wire loop record/read record query http action
sandbox/workspace sandbox/view sandbox sandbox/common sandbox/guest sandbox/process sandbox/container sandbox/stream
sandbox/vm sandbox/hosted sandbox/pyodide
proxy control phrase ui/term ui/model ui/rows ui/frame ui/views ui
supervisor/core luahost secrets models hosted web cli/lib exchange sessions check catalog suite
supervisor/net supervisor/telemetry inside mcp
supervisor/box supervisor/trial supervisor/people ops supervisor serve terminal login
cli/front cli
launcher keeper guest script tls screen
'
# programs of their own: they see base and wire only (screen: the emulation, too), and nobody else sees them
programs=' launcher keeper guest script tls screen '
# what sandglass-replay is linked with sees nothing that can run
replay='phrase ui/term ui/model ui/rows ui/frame ui/views ui: base/text base wire record/read query phrase'
# "directory directory file includes": all includes from one directory into another
includes=$(grep -rn --include='*.[ch]' '^#include "' src ui | awk '
	function dir_of(p) { sub(/^src\//, "", p); sub(/\/[^\/]*$/, "", p); return p }
	{
		file = $0; sub(/:.*/, "", file)
		inc = $0; sub(/^[^"]*"/, "", inc); sub(/".*/, "", inc)
		if (inc ~ /^[^\/]*\.(inc|def)$/) next # made, or a table beside its reader
		from = dir_of(file); to = dir_of(inc)
		if (from != to) print from, to, file " includes " inc
	}')
wrong=$(ORDER="$order" OWN="$programs" awk '
	BEGIN { n = split(ENVIRON["ORDER"], d); for (i = 1; i <= n; i++) at[d[i]] = i
		n = split(ENVIRON["OWN"], d); for (i = 1; i <= n; i++) own[d[i]] }
	!($1 in at) { print $1 " is not in the list"; next }
	!($2 in at) { print $2 " is not in the list"; next }
	($1 in own) && $2 !~ /^(base|base\/text|wire)$/ && $1 " " $2 != "screen ui/term" || ($2 in own)' <<<"$includes" | sort -u)
result "$([ -z "$wrong" ] && echo 0 || echo 1)" 'each directory is in the list; programs of their own see base and wire' "$wrong"
wrong=$(RULE="$replay" awk '
	BEGIN { split(ENVIRON["RULE"], half, ": *"); n = split(half[1], a); for (i = 1; i <= n; i++) { of[a[i]]; may[a[i]] }
		n = split(half[2], a); for (i = 1; i <= n; i++) may[a[i]] }
	($1 in of) && !($2 in may)' <<<"$includes")
result "$([ -z "$wrong" ] && echo 0 || echo 1)" 'the console and its words see only what reads' "$wrong"
# what stands before it cannot include it in turn, so that no cycle can be
wrong=$(ORDER="$order" awk '
	BEGIN { n = split(ENVIRON["ORDER"], d); for (i = 1; i <= n; i++) at[d[i]] = i }
	at[$2] > at[$1]' <<<"$includes")
result "$([ -z "$wrong" ] && echo 0 || echo 1)" 'a directory includes only what stands before it' "$wrong"

# header: the places that may see it (extended regular expression over file names)
third='
uv.h|^src/loop/
jansson.h|^src/base/json\.h
sodium.h|^src/base/
utf8proc.h|^src/base/text/
zstd.h|^src/record/
sqlite3.h|^src/(record|query)/
git2.h|^src/(record|sandbox/workspace)/
git2/|^src/(record|sandbox/workspace)/
lua.h|^src/script/
lauxlib.h|^src/script/
lualib.h|^src/script/
curl/|^src/http/
archive.h|^src/(sandbox/container/tar|exchange/unzip)
seccomp.h|^src/(sandbox|launcher|guest)/|^src/base/confine\.h
ncurses.h|^ui/term/term_curses\.c
curses.h|^ui/term/term_curses\.c
vterm.h|^ui/
'
while IFS='|' read -r header places; do
	[ -n "$header" ] || continue
	wrong=$(grep -rln --include='*.[ch]' "^#include <[a-z0-9.]*/*$header" src ui | grep -vE "$places")
	result "$([ -z "$wrong" ] && echo 0 || echo 1)" "<$header> is seen in its place only" "$wrong"
done <<<"$third"
echo "1..$n"
exit $bad
