#!/usr/bin/env bash
# sandglass diff of a binary file: a terminal shows its size, --binary and a pipe the patch that git apply takes.
# search: -U prints lines around a hit, and -C names a directory as in every command.
. "$(dirname "$0")/lib.sh"
need_boxes
cd "$t" || exit 1
git init -q repo && printf 'a\0b' >repo/bin && printf 'one\n' >repo/text && git -C repo add -A && git -C repo commit -qm first
cat >change.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo" }
box:exec "printf 'a\\0bcd' >bin; echo two >>text; printf 'before\\n%s\\nafter\\n' $((123 * 1001))"
L
timeout 60 "$SANDGLASS" run change.lua --name change --no-tui --no-input >"$t/out" 2>&1 </dev/null
is $? 0 'a session that changes a binary file'
seen() { script -qec "PAGER=cat GIT_PAGER=cat '$SANDGLASS' diff $*" /dev/null </dev/null | tr -d '\r'; }
seen change >shown
is "$(grep -c 'binary file changed, 5 bytes' shown) $(grep -c 'GIT binary patch' shown) $(grep -c '^.*+two' shown)" '1 0 1' 'a terminal shows the size, and the text as before'
seen change --binary >shown
is "$(grep -c 'GIT binary patch' shown)" 1 '--binary shows the patch'
"$SANDGLASS" diff change >patch
git -C repo apply ../patch && cmp -s repo/bin <(printf 'a\0bcd')
is $? 0 'a pipe receives a patch that git applies'
is "$("$SANDGLASS" search 123123 -U 1 2>&1 | grep -cE '(before|after)$')" 2 'search -U 1: the lines around'
"$SANDGLASS" search 123123 -C "$t" >"$t/out" 2>&1
is $? 0 'search -C DIR runs there'
finish
