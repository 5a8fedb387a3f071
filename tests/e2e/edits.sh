#!/usr/bin/env bash
# Edits of files with CR LF, mixed line ends, and a UTF-8 byte order mark keep them. An edit without a match shows the
# nearest lines.
. "$(dirname "$0")/lib.sh"
need_boxes
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >s.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox {}
local function try(what, before, old, new, after, o)
  box:write("f", before)
  local ok, e = box:edit("f", old, new, o)
  local got = ok and box:read "f"
  print((got == after and "GOOD " or "BAD ") .. what .. (got == after and "" or (": %q %s"):format(tostring(got), tostring(e))))
end
try("line ends of CR LF", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n")
try("a new line in a line", "a\r\nb\r\nc\r\n", "b", "b\nx", "a\r\nb\r\nx\r\nc\r\n")
try("mixed line ends", "a\r\nb\nc\r\n", "a\nb\nc", "A\nB\nC", "A\r\nB\nC\r\n")
try("a mark of UTF-8", "\xEF\xBB\xBFa\r\nb\r\n", "a\nb\n", "x\n", "\xEF\xBB\xBFx\r\n")
try("the mark in the old text", "\xEF\xBB\xBFa\nb\n", "\xEF\xBB\xBFa", "x", "\xEF\xBB\xBFx\nb\n")
try("plain line ends", "a\nb\n", "a\nb", "x\ny", "x\ny\n")
try("line ends that are said", "a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n")
try("every place", "a\r\nb\r\na\r\n", "a", "x\ny", "x\r\ny\r\nb\r\nx\r\ny\r\n", { all = true })
try("the last line", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc")
box:write("f", "one\n  function two(a, b)\n    return a\nend\n")
local ok, e = box:edit("f", "function two(a,b)\nreturn a\n", "x")
print((not ok and tostring(e):find "2:   function two%(a, b%)\n3:     return a" and "GOOD" or "BAD") .. " the nearest lines")
box:write("f", "a\na\n")
ok, e = box:edit("f", "a", "x")
print((not ok and tostring(e):find "more than once" and "GOOD" or "BAD") .. " two places")
L
timeout 100 "$SANDGLASS" run --no-tui --no-input --policy any.lua s.lua </dev/null >log 2>&1
sed -n 's/.* note: //p' log >"$t/out"
while read -r how what; do
	[ "$how" = GOOD ]
	ok $? "$what"
done <"$t/out"
is "$(grep -c . "$t/out")" 11 "all of it was tried"
finish
