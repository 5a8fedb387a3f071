#!/usr/bin/env bash
# A function or file-level variable has at least two words and one definition in src and ui, so that grep, ctags,
# backtraces, and profilers find it. As TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
list=$(find src ui -name '*.c' | LC_ALL=C sort | xargs awk '
	function name_of(s) {
		gsub(/"[^"]*"/, "", s)
		gsub(/\{[^}]*\}/, "", s)
		sub(/ = .*/, "", s)
		sub(s ~ /^[^(]*\[/ || s !~ /\(/ ? "[=;\\[].*" : "\\(.*", "", s)
		sub(/[ \t]+$/, "", s)
		sub(/.*[ \t*]/, "", s)
		return s
	}
	/^[A-Za-z][^()=]*\(.*[^;,]$/ && !/^static [^()]*\(\*/ || /^static [^()]*( =|;|\[)/ {
		s = name_of($0)
		if (s ~ /^[a-z][a-z_0-9]*$/) print s, FILENAME ":" FNR, FILENAME
	}' | grep -vE '^(main|wcwidth) ') # the C library has wcwidth, too
n=0 bad=0
result() {
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		bad=1
		echo "not ok $n - $1"
		sed 's/^/#   /' <<<"$2"
	fi
}
[ "$(wc -l <<<"$list")" -gt 8000 ] && few= || few=$(wc -l <<<"$list")
result 'definitions are found' "$few"
result 'a name has two words (say <file>_<name>)' "$(awk '$1 !~ /_/ { print $2 ": " $1 }' <<<"$list")"
result 'a name has one definition' "$(awk '!seen[$1, $3]++ { n[$1]++; at[$1] = at[$1] " " $2 }
	END { for (s in n) if (n[s] > 1) print s ":" at[s] }' <<<"$list" | LC_ALL=C sort)"
result 'no header is named inner.h' "$(find src ui -name 'inner.h')"
echo "1..$n"
exit $bad
