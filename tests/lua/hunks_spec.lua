-- Hunks with fewer lines around them.
local hunks = require "sandglass.hunks"
local spec = require "spec"
local it, eq = spec.it, spec.eq

local head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
local two = head .. "@@ -2,10 +2,10 @@ here\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n"

it "as many as there are" (function() eq(hunks.context(two, 3), two) end)

it "one line: two changes stand apart" (function()
  eq(hunks.context(two, 1), head .. "@@ -4,3 +4,3 @@ here\n 4\n-5\n+five\n 6\n@@ -8,3 +8,3 @@\n 8\n-9\n+nine\n 10\n")
end)

it "none" (function()
  eq(hunks.context(two, 0), head .. "@@ -5 +5 @@ here\n-5\n+five\n@@ -9 +9 @@\n-9\n+nine\n")
end)

it "lines that were put in, and taken out" (function()
  eq(hunks.context(head .. "@@ -1,2 +1,3 @@\n a\n+b\n c\n", 0), head .. "@@ -1,0 +2 @@\n+b\n")
  eq(hunks.context(head .. "@@ -1,3 +1,2 @@\n a\n-b\n c\n", 0), head .. "@@ -2 +1,0 @@\n-b\n")
end)

it "a new file, a line without an end, what looks like a header" (function()
  local new = head .. "@@ -0,0 +1,2 @@\n+@@ -1 +1 @@\n+--- b\n\\ No newline at end of file\n"
  eq(hunks.context(new, 0), new)
  eq(hunks.context("", 0), "")
  eq(hunks.context(head .. "Binary files differ\n", 1), head .. "Binary files differ\n")
end)
