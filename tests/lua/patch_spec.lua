-- apply_patch: patches from models in all their formats, and the refusals.
local patch = require "sandglass.patch"
local rt = require "sandglass.runtime"
local spec = require "spec"
local it, eq = spec.it, spec.eq

-- Files in a table instead of a box.
local function box_of(files)
  local b = { files = files, writes = 0 }
  local function gone(path) return nil, rt.err { code = "io", msg = path .. ": no such file" } end
  function b:read(path)
    if self.files[path] == nil then return gone(path) end
    return self.files[path]
  end
  function b:write(path, data)
    self.files[path], self.writes = data, self.writes + 1
    return 1
  end
  function b:run(argv)
    local path = argv[3]:match "^%./(.*)$"
    if self.files[path] == nil then return gone(path) end
    self.files[path], self.writes = nil, self.writes + 1
    return { ok = true }
  end
  return b
end

local function lines(...) return table.concat({ ... }, "\n") end
local function whole(...) return lines("*** Begin Patch", lines(...), "*** End Patch") end

local function becomes(data, want, ...)
  local b = box_of { f = data }
  local v, err = patch.apply(whole("*** Update File: f", ...), b)
  eq(v and b.files.f or err.msg, want)
end

local function refused(files, text, ...)
  local b = box_of(files)
  local v, err = patch.apply(whole(...), b)
  eq({ v, err and err.msg, b.writes }, { nil, "patch: " .. text, 0 })
end

it "changes one by one, with and without a line above" (function()
  becomes("a\nb\nc\n", "a\nB\nc\n", "@@", " a", "-b", "+B", " c")
  becomes("a\nb\nc\n", "a\nB\nc\n", "-b", "+B")
  becomes("a\nb\nc\n", "a\nb\nnew\nc\n", "@@ b", "+new")
  becomes("a\nb\n", "a\nb\nc\n", "@@", "+c")
  becomes("a\nb\nc\nd\n", "A\nb\nc\nD\n", "@@", "-a", "+A", "@@", "-d", "+D")
  becomes("f()\n  x\ng()\n  x\n", "f()\n  x\ng()\n  y\n", "@@ g()", "-  x", "+  y")
  becomes("class A\n  def f\n    x\nclass B\n  def f\n    x\n", "class A\n  def f\n    x\nclass B\n  def f\n    y\n",
    "@@ class B", "@@   def f", "-    x", "+    y")
  becomes("def foo(self):\n  x\n", "def foo(self):\n  y\n", "@@ def foo", "-  x", "+  y")
  becomes("a\n\nb\n", "a\n\nc\n", "@@", " a", "", "-b", "+c")
  becomes("x\nx\n", "x\ny\n", "@@", "-x", "+y", "*** End of File")
  becomes("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@", " a", "-b", "+c")
  becomes("", "a\n", "@@", "+a")
end)

it "line ends and a missing one at the end stay as they are" (function()
  becomes("a\r\nb\r\nc\r\n", "a\r\nB\r\nnew\r\nc\r\n", "@@", " a", "-b", "+B", "+new", " c")
  becomes("a\r\nb\nc\r\n", "a\r\nb\nC\r\n", "@@", " b", "-c", "+C")
  becomes("a\nb", "a\nB", "@@", "-b", "+B")
  becomes("a\nb", "a\nb\nc", "@@", " b", "+c")
  becomes("a\r\nb", "a\r\nb\r\nc", "@@", " b", "+c")
  becomes("a\nb", "a", "@@", " a", "-b")
  becomes("a", "a\nb", "@@", " a", "+b")
  local b = box_of { f = "a\nb\n" }
  eq(patch.apply((whole("*** Update File: f", "@@", "-b", "+c"):gsub("\n", "\r\n")), b), "update f")
  eq(b.files.f, "a\nc\n")
end)

it "white space that the patch has wrong is the file's" (function()
  becomes("\tif x then  \n\t\ty\n", "\tif x then  \n\t\tz\n", "@@", " if x then", "-y", "+\t\tz")
  becomes("say \u{201C}hi\u{201D} \u{2014} now\nb\n", "say \u{201C}hi\u{201D} \u{2014} now\nc\n", "@@", ' say "hi" - now',
    "-b", "+c")
end)

it "new, deleted and moved files; one file twice" (function()
  local b = box_of { old = "1\n", keep = "k\n", ["d/from"] = "a\nb\n" }
  eq(patch.apply(whole("*** Add File: new/x", "+one", "+", "+two", "", "*** Delete File: old", "*** Update File: d/from",
    "*** Move to: e/to", "@@", "-a", "+A", "*** Update File: /workspace/keep", "@@", "-k", "+l", "*** Update File: ./keep", "@@",
    "-l", "+m"), b), "add new/x\ndelete old\ndelete d/from\nadd e/to\nupdate keep")
  eq(b.files, { ["new/x"] = "one\n\ntwo\n", ["e/to"] = "A\nb\n", keep = "m\n" })
  b = box_of { f = "a\n" }
  eq(patch.apply(whole("*** Delete File: f", "*** Add File: f", "+b"), b), "update f")
  eq(b.files, { f = "b\n" })
  eq(patch.apply(whole("*** Update File: f", "*** Move to: g"), b), "delete f\nadd g")
  eq(patch.apply(whole("*** Update File: g", "@@", " b"), b), "nothing changed: the files are so already")
  eq(patch.apply("apply_patch <<'EOF'\n" .. whole("*** Add File: h", "+x") .. "\nEOF\n", b), "add h")
  eq(patch.apply(whole("*** Add File: i", "+a", "", "+b"), b), "add i")
  eq(b.files.i, "a\n\nb\n")
end)

it "text that stands twice is not guessed at" (function()
  refused({ f = "x\ny\nx\n" }, "f: change 1 fits at line 1 and at line 3: give more lines around it, or '@@ a line above it'",
    "*** Update File: f", "@@", "-x", "+z")
  becomes("x\ny\nx\n", "x\ny\nz\n", "@@", " y", "-x", "+z")
end)

it "a text that is missing: the nearest lines" (function()
  refused({ f = "a\n  b = 1\n  c = 2\nd\n" }, "f: the text of change 1 is not there: c = 3\nThe nearest lines are:\n2:   b = 1\n3:   c = 2",
    "*** Update File: f", "@@", " b = 1", "-c = 3", "+c = 4")
end)

it "nothing is written unless all of it fits" (function()
  refused({ f = "a\n", g = "b\n" }, "g: the text of change 1 is not there: zzz", "*** Update File: f", "@@", "-a", "+c",
    "*** Update File: g", "@@", "-zzz", "+y")
  refused({ f = "a\n" }, "f is there already: use '*** Update File:'", "*** Add File: n", "+1", "*** Add File: f", "+b")
  refused({ f = "a\n", g = "b\n" }, "g exists: can't move f to it", "*** Update File: f", "*** Move to: g")
  refused({}, "can't read f: f: no such file", "*** Delete File: f")
  refused({ f = "a\n" }, "f: change 1: the line '@@ nowhere' is not there", "*** Update File: f", "@@ nowhere", "-a", "+b")
end)

it "paths are in the workspace and not in .git" (function()
  for path, why in pairs {
    ["/etc/passwd"] = "lies outside of the workspace", ["~/.ssh/config"] = "lies outside of the workspace",
    ["../x"] = "leads upwards; name the file from the workspace", ["a/../../x"] = "leads upwards; name the file from the workspace",
    ["/workspace/../etc/x"] = "leads upwards; name the file from the workspace",
    [".git/hooks/pre-commit"] = "is below .git: use git itself", ["sub/.GIT/config"] = "is below .git: use git itself",
    [".git ./config"] = "is below .git: use git itself", ["git~1/config"] = "is below .git: use git itself",
    ["."] = "is not a file path", ["dir/"] = "is not a file path", ["a\tb"] = "is not a file path",
  } do
    refused({}, ("line 2: '%s' %s"):format(path, why), "*** Add File: " .. path, "+x")
    refused({ f = "a\n" }, ("line 3: '%s' %s"):format(path, why), "*** Update File: f", "*** Move to: " .. path)
  end
  eq(patch.apply(whole("*** Add File: .gitignore", "+x", "*** Add File: .github/w", "+y"), box_of {}), "add .gitignore\nadd .github/w")
end)

it "text that is not a patch gives one line" (function()
  local function says(text, want)
    local v, err = patch.apply(text, box_of { f = "a\n" })
    eq({ v, err.msg }, { nil, "patch: " .. want })
  end
  says("", "'*** Update File:', '*** Add File:', or '*** Delete File:' not found")
  says("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "this is a diff; begin with '*** Begin Patch' and '*** Update File: path'")
  says("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", "'*** End Patch' is missing: is it cut off?")
  says(whole("*** Rename File: f"), "line 2: 'Rename File' is not known; there is Update, Add and Delete")
  says(whole("-a"), "line 2 comes before the first '*** Update File:', '*** Add File:' or '*** Delete File:'")
  says(whole("*** Update File: f"), "f: has no changes")
  says(whole("*** Update File: f", "a"), "line 3 of f begins neither with space, - nor +: a")
  says(whole("*** Add File: n", "x"), "line 3: a line of a new file begins with +")
  says(whole("*** Delete File: f", "-a"), "line 3: nothing follows '*** Delete File: f'")
  says(whole("*** Move to: f"), "line 2: 'Move to' must follow 'Update File' directly")
  says(("x"):rep((1 << 20) + 1), "it is longer than 1 MiB")
end)

it "time has a limit" (function()
  local b = box_of { f = ("x\n"):rep(20000) }
  local v, err = patch.apply(whole("*** Update File: f", "@@", (" x\n"):rep(9000) .. "-y"), b)
  eq({ v, err.msg }, { nil, "patch: it is too large to be looked for" })
end)
