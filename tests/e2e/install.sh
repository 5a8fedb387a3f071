#!/usr/bin/env bash
# `make install` puts all of it into place, what lies there works by itself, wherever it has been moved; `make uninstall`
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
is "$(ls "$root/libexec/sandglass" | tr '\n' ' ')" 'sandglass-guest sandglass-host sandglass-keeper sandglass-launcher ' 'four for the program'
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

# Somewhere else, with a PATH of its own: the programs of the system, but no build folder.
mv "$root" "$t/moved"
export PATH=$t/moved/bin:/usr/bin:/bin SANDGLASS=$t/moved/bin/sandglass
cd "$t" || exit 1
like "$(command -v sandglass)" "^$t/moved/bin/" 'sandglass is the installed one'
timeout 120 sandglass demo </dev/null >"$t/out" 2>&1
is $? 0 'the demo ends well'
like "$(cat "$t/out")" 'after: tests pass' 'its agent has repaired the program'
like "$(tail -1 "$t/out")" "^That was recorded: 'sandglass replay s-[a-z0-9]{6}' plays it" 'and says how to see it again'
$(sed -n "s/^That was recorded: '\(sandglass replay s-[a-z0-9]*\)'.*/\1/p" "$t/out") --screen </dev/null >"$t/again" 2>&1
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
is "$(cd "$root" && find . -type f -o -type l | sort | tr '\n' ' ')" './bin/other ./share/other ' 'nothing of ours is left, what is not ours stays'
is "$(find "$root" -name '*sandglass*')" '' 'nor an empty folder by our name'
make_ uninstall DESTDIR="$t/dest" PREFIX=/opt/glass
is $? 0 'a second time does no harm'
finish
