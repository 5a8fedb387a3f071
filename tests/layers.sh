#!/usr/bin/env bash
# The include rule, as TAP: a folder includes only what stands above it in the list, and each third-party header is seen
# in its one place. Run from the top of the tree.
set -u
n=0 bad=0
result() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; printf '%s\n' "$3" | sed 's/^/#   /'; bad=1; fi; }

# folder: what it may include besides itself
rules='
base:
wire: base
loop: base wire
record/read: base wire
record: base wire loop record/read
query: base wire loop record record/read
http: base wire loop record query
action: base wire loop record record/read query http
sandbox: base wire loop record record/read query http action
proxy: base wire loop record record/read query http action sandbox
control: base wire loop record record/read query http action sandbox proxy
app: base wire loop record record/read query http action sandbox proxy control ui
launcher: base wire
keeper: base wire
guest: base wire
script: base wire
ui: base wire record/read query
'
# every include that its folder may not make, as "folder<TAB>file includes ..."
wrong_of_all=$(grep -rn --include='*.[ch]' '^#include "' src ui | RULES="$rules" awk '
	function folder_of(p) {
		sub(/^src\//, "", p)
		if (p ~ /^record\/read\//) return "record/read"
		sub(/\/.*/, "", p)
		return p
	}
	BEGIN {
		split(ENVIRON["RULES"], line, "\n")
		for (i in line) {
			colon = index(line[i], ":")
			if (colon) may[substr(line[i], 1, colon - 1)] = " " substr(line[i], colon + 1) " "
		}
	}
	{
		file = $0; sub(/:.*/, "", file)
		inc = $0; sub(/^[^"]*"/, "", inc); sub(/".*/, "", inc)
		if (inc ~ /^[^\/]*\.(inc|def)$/) next # made, or a table beside its reader
		from = folder_of(file); to = folder_of(inc)
		if (from in may && from != to && !index(may[from], " " to " ")) printf "%s\t%s includes \"%s\"\n", from, file, inc
	}')
while IFS=: read -r folder may; do
	[ -n "$folder" ] || continue
	case $folder in ui) where=ui ;; *) where=src/$folder ;; esac
	[ -d "$where" ] || continue
	wrong=$(awk -F '\t' -v f="$folder" '$1 == f { print $2 }' <<<"$wrong_of_all")
	result "$([ -z "$wrong" ] && echo 0 || echo 1)" "$folder includes only what stands above it" "$wrong"
done <<<"$rules"

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
archive.h|^src/(sandbox/tar|app/exchange/unzip)
seccomp.h|^src/(sandbox|script|launcher|guest)/
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
