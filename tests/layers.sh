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
folder_of() { # src/record/read/feed.c -> record/read ; src/sandbox/workspace/x.c -> sandbox ; ui/views/x.c -> ui
	case $1 in
	src/record/read/*) echo record/read ;;
	src/*) f=${1#src/}; echo "${f%%/*}" ;;
	ui/*) echo ui ;;
	record/read/*) echo record/read ;;
	*) echo "${1%%/*}" ;;
	esac
}
while IFS=: read -r folder may; do
	[ -n "$folder" ] || continue
	case $folder in ui) where=ui ;; *) where=src/$folder ;; esac
	[ -d "$where" ] || continue
	wrong=
	while IFS= read -r hit; do
		file=${hit%%:*}
		[ "$(folder_of "$file")" = "$folder" ] || continue
		inc=$(printf '%s' "$hit" | sed 's/.*#include "\([^"]*\)".*/\1/')
		case $inc in kinds.inc | commands.inc | lua_files.inc | */*) ;; *.inc | *.def) continue ;; esac
		case $inc in kinds.inc | commands.inc | lua_files.inc) continue ;; esac
		to=$(folder_of "$inc")
		[ "$to" = "$folder" ] && continue
		case " $may " in *" $to "*) ;; *) wrong="$wrong$file includes \"$inc\"
" ;; esac
	done < <(grep -rn --include='*.[ch]' '^#include "' "$where")
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
archive.h|^src/sandbox/tar
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
