#!/usr/bin/env bash
# python.sh DIR: the Python programs for hosted sandboxes from PyPI, in their own directory, in the tested versions.
# Installed ones stay; missing packages are reported and left out.
set -u
dir=${1:?a folder}
good() {
	[ -x "$dir/bin/python" ] &&
		"$dir/bin/python" -c 'import daytona, langchain_daytona, langchain_anthropic, deepagents, e2b, modal' 2>/dev/null
}
# A venv knows its own path: the new one is made in place, with the one that was there beside it until it is good. Who was
# interrupted has left both: the one beside is then the whole one.
if [ -e "$dir.was" ] && ! good; then
	rm -rf "${dir:?}"
	mv "$dir.was" "$dir"
fi
rm -rf "${dir:?}.was"
good && exit 0
[ -e "$dir" ] && mv "$dir" "$dir.was"
if python3 -m venv "$dir" && timeout 900 "$dir/bin/pip" install -q --disable-pip-version-check 'daytona==0.226.1' 'e2b==2.63.0' 'modal==1.6.4' \
	'deepagents==0.7.32' 'langchain-daytona==0.0.9' 'langchain-anthropic==1.7.7'; then
	rm -rf "$dir.was"
else
	rm -rf "${dir:?}"
	[ -e "$dir.was" ] && mv "$dir.was" "$dir"
	echo "pip could not fetch Python's SDKs; the tests that need them are left out" >&2
fi
exit 0
