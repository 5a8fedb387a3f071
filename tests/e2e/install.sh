#!/usr/bin/env bash
# `make install` installs all files, and the installed program works wherever the directory is moved. `make uninstall`
# leaves nothing behind.
. "$(dirname "$0")/lib.sh"
top=$(cd "$here/../.." && pwd)
build=${SANDGLASS%/sandglass}
build=${build#"$top/"}
make_() { make --no-print-directory -s -C "$top" B="$build" "$@" </dev/null >"$t/out" 2>&1; }

make_ install DESTDIR="$t/dest" PREFIX=/opt/glass
is $? 0 'make install DESTDIR=... PREFIX=/opt/glass'
[ "$bad" = 0 ] || finish
root=$t/dest/opt/glass
is "$(find "$t/dest" -mindepth 1 -maxdepth 1 | wc -l) $(ls "$t/dest/opt")" '1 glass' 'nothing lies outside the prefix'
is "$(ls "$root/bin" | tr '\n' ' ')" 'sandglass sandglass-replay ' 'two programs for people'
is "$(ls "$root/libexec/sandglass" | tr '\n' ' ')" 'sandglass-git sandglass-guest sandglass-guest.gz sandglass-host sandglass-keeper sandglass-launcher sandglass-screen sandglass-tls ' 'what the program runs'
[ -f "$root/share/sandglass/lua/meta/sandglass.d.lua" ]
ok $? 'the types of the Lua library, for editors'
[ -f "$root/share/sandglass/lua/examples/fix.lua" ]
ok $? 'the examples'
[ -s "$root/share/sandglass/FORMAT.md" ]
ok $? 'the file format'
cmp -s "$root/share/sandglass/sandglass_backend.py" "$top/plugins/deepagents/sandglass_backend.py"
ok $? 'what a deep agent in Python imports: all else of plugins/ is in the program'
bash -n "$root/share/bash-completion/completions/sandglass" 2>"$t/out" && grep -q sandglass "$root/share/bash-completion/completions/sandglass"
ok $? 'completion for bash'
[ -s "$root/share/zsh/site-functions/_sandglass" ] && [ -s "$root/share/fish/vendor_completions.d/sandglass.fish" ]
ok $? 'and for zsh and fish'

# Manual pages: their content, and no complaint from their readers.
man=$root/share/man
is "$(cd "$man" && find . -type f | sort | tr '\n' ' ')" './man1/sandglass.1 ./man3/sandglass-lua.3 ./man5/sandglass-policy.5 ./man7/sandglass-backends.7 ./man7/sandglass-console.7 ./man7/sandglass-events.7 ./man7/sandglass-filter.7 ./man7/sandglass-tutorial.7 ' 'manual pages'
if command -v mandoc >/dev/null; then
	mandoc -Tlint -W warning "$man"/*/* >"$t/out" 2>&1
	is "$?$(cat "$t/out")" 0 'mandoc finds nothing wrong with them'
else
	skip 'mandoc reads the manual pages: apt-get install mandoc'
fi
if command -v groff >/dev/null; then
	for page in "$man"/*/*; do
		groff -ww -man -Tascii -P-c -P-b -P-u -rLL=80n "$page" >"$t/${page##*/}" 2>"$t/out"
		is "$?$(cat "$t/out")" 0 "groff finds nothing wrong with ${page##*/}"
		# code of the guides has up to 100 columns, and cannot be filled
		case $page in *-tutorial.7 | *-backends.7 | *-console.7) most=110 ;; *) most=80 ;; esac
		is "$(awk -v most=$most 'length > most' "$t/${page##*/}")" '' "$most columns are enough for ${page##*/}"
	done
	has() { grep -qE -- "$2" "$t/$1"; ok $? "$1: $3"; }
	unsaid=
	for name in $("$SANDGLASS" help --json | sed 's/.*"command":"\([a-z_-]*\)".*/\1/'); do
		grep -q "^   $name\$" "$t/sandglass.1" || unsaid="$unsaid $name"
	done
	is "$unsaid" '' 'every command is in sandglass(1)'
	unsaid=
	for option in $("$SANDGLASS" help --json | grep -oE '"name":"[a-z0-9-]+"' | sed 's/.*:"//; s/"//' | sort -u); do
		grep -qE "^ +(-., )?--$option( |\$)" "$t/sandglass.1" || unsaid="$unsaid $option"
	done
	is "$unsaid" '' 'and every option'
	for section in 'EXIT STATUS' ENVIRONMENT FILES EXAMPLES 'SEE ALSO'; do has sandglass.1 "^$section\$" "$section"; done
	has sandglass.1 '^ +130, 143$' 'exit statuses'
	has sandglass.1 'sandglass policy explain .git push origin main.$' 'an example with its quotes'
	has sandglass.1 "printf 'next error\\\\nmark a why\\?" 'backslashes come out as they are typed'
	has sandglass.1 '^ +\.sandglass/added\.lua' 'a line that begins with a dot'
	unsaid=
	for call in $("$SANDGLASS" help lua --json | grep '"args"' | sed 's/.*"name":"\([^"]*\)".*/\1/'); do
		grep -q "^   $call(" "$t/sandglass-lua.3" || unsaid="$unsaid $call"
	done
	is "$unsaid" '' 'every function is in sandglass-lua(3)'
	has sandglass-policy.5 '^ +on_timeout\?' 'what a rule can say'
	has sandglass-filter.7 'cmd~"\\bcurl\\b"' 'an expression of the filter language'
else
	skip 'groff reads the manual pages: apt-get install groff-base'
fi
is "$(awk 'BEGIN { getline; print $4 }' <(SOURCE_DATE_EPOCH=0 "$SANDGLASS" help --man sandglass))" 1970-01-01 'the builder of a package says of which day they are'
"$SANDGLASS" help --man nothing >"$t/out" 2>&1
is $? 2 'a page that there is not'
like "$(cat "$t/out")" 'there are sandglass, sandglass-lua, sandglass-policy, sandglass-filter' 'and the error lists the known names'

# Somewhere else, with a PATH of its own: the programs of the system, but no build folder.
mv "$root" "$t/moved"
export PATH=$t/moved/bin:/usr/bin:/bin SANDGLASS=$t/moved/bin/sandglass
cd "$t" || exit 1
like "$(command -v sandglass)" "^$t/moved/bin/" 'sandglass is the installed one'
timeout 120 sandglass demo </dev/null >"$t/out" 2>&1
is $? 0 'the demo ends well'
like "$(cat "$t/out")" 'after: tests pass' 'its agent has repaired the program'
demo=$(sed -n "s/^Recorded as \(s-[a-z0-9]*\).*/\1/p" "$t/out")
like "$demo" '^s-[a-z0-9]{6}$' 'and names its session'
sandglass replay "$demo" --screen </dev/null >"$t/again" 2>&1
is $? 0 'which works'
unlike "$(cat "$t/out")" "$top" 'nothing of the source tree is named'
accept_any
mkdir "$t/repo"
cat >"$t/one.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo" }
print(assert(box:run "echo from the box").out)
L
timeout 60 sandglass run "$t/one.lua" $accept --name one </dev/null >"$t/out" 2>&1
is $? 0 'a script runs'
like "$(cat "$t/out")" 'from the box' 'its box works'
sandglass verify one >"$t/out" 2>&1
is $? 0 'the session verifies'
file=$(ls "$HOME"/.local/share/sandglass/sessions/*one*.glass)
sandglass-replay "$file" --screen 0 </dev/null >"$t/out" 2>&1
is $? 0 'sandglass-replay shows it'
like "$(cat "$t/out")" 'one' 'by its name'
sandglass doctor >"$t/out" 2>&1
unlike "$(cat "$t/out")" "$top" 'doctor finds what is installed, not what was built'

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$t/dest/opt"
mv "$t/moved" "$root"
touch "$root/bin/other" "$root/share/other"
make_ uninstall DESTDIR="$t/dest" PREFIX=/opt/glass
is $? 0 'make uninstall'
is "$(cd "$root" && find . -type f -o -type l | sort | tr '\n' ' ')" './bin/other ./share/other ' 'our files are gone, all others stay'
is "$(find "$root" -name '*sandglass*')" '' 'nor an empty folder by our name'
make_ uninstall DESTDIR="$t/dest" PREFIX=/opt/glass
is $? 0 'a second time does no harm'
finish
