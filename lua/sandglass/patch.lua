-- Unchanged text stays byte for byte: line ends (also CR LF, each as it was), a missing one at the
-- end, white space that the patch got wrong. Paths are below the workspace and outside .git.
local rt = require "sandglass.runtime"

local M = {}

local PATCH_MOST, FILES_MOST, WORK_MOST = 1 << 20, 200, 20000000

local function wrong(fmt, ...) return nil, rt.err { code = "io", msg = "patch: " .. fmt:format(...) } end

-- Reading --------------------------------------------------------------------------------------------------------

local function lines_of(s)
  local list = {}
  for line in (s:sub(-1) == "\n" and s or s .. "\n"):gmatch "(.-)\r?\n" do list[#list + 1] = line end
  return list
end

-- A path below /workspace, or nil and why not.
local function path_of(path)
  local p = path:gsub("^/workspace/+", "")
  if p == "" or p:find "%c" then return nil, "is not a file path" end
  if p:sub(1, 1) == "/" or p:sub(1, 1) == "~" then return nil, "lies outside of the workspace" end
  local parts = {}
  for part in p:gmatch "[^/]+" do
    if part == ".." then return nil, "leads upwards; name the file from the workspace" end
    local low = part:lower():gsub("[ .]+$", "")
    if low == ".git" or low == "git~1" then return nil, "is below .git: use git itself" end
    if part ~= "." then parts[#parts + 1] = part end
  end
  if #parts == 0 or p:sub(-1) == "/" then return nil, "is not a file path" end
  return table.concat(parts, "/")
end

local OPS = { Update = "update", Add = "add", Delete = "delete" }

local function begin_file(word, path, n)
  local op = OPS[word]
  if not op then return wrong("line %d: '%s File' is not known; there is Update, Add and Delete", n, word) end
  local name, why = path_of(path:match "^%s*(.-)%s*$")
  if not name then return wrong("line %d: '%s' %s", n, path:sub(1, 200), why) end
  return { op = op, path = name, hunks = {}, lines = {} }
end

local function new_hunk(file)
  local hunk = { anchors = {}, rows = {}, changes = 0 }
  file.hunks[#file.hunks + 1] = hunk
  return hunk
end

local function add_row(file, hunk, line, n)
  local sign, rest = line:sub(1, 1), line:sub(2)
  if line == "" then sign = " " end
  if sign ~= " " and sign ~= "-" and sign ~= "+" then
    return wrong("line %d of %s begins neither with space, - nor +: %s", n, file.path, line:sub(1, 80))
  end
  if not hunk or hunk.at_end then hunk = new_hunk(file) end
  hunk.rows[#hunk.rows + 1] = { sign, rest }
  if sign ~= " " then hunk.changes = hunk.changes + 1 end
  return hunk
end

-- One line; the file and the hunk that the next one belongs to, or nil and an error.
local function take(files, file, hunk, line, n)
  local word, path = line:match "^%*%*%* (%a+) File: ?(.*)$"
  local target = line:match "^%*%*%* Move to: ?(.*)$"
  if word then
    local f, err = begin_file(word, path, n)
    if not f then return nil, err end
    files[#files + 1] = f
    return f
  elseif target then
    if not file or file.op ~= "update" or file.to or #file.hunks > 0 then
      return wrong("line %d: 'Move to' must follow 'Update File' directly", n)
    end
    local name, why = path_of(target:match "^%s*(.-)%s*$")
    if not name then return wrong("line %d: '%s' %s", n, target:sub(1, 200), why) end
    file.to = name
    return file
  elseif line:match "^%*%*%* End of File%s*$" then
    if not hunk then return wrong("line %d: 'End of File' without a change before it", n) end
    hunk.at_end = true
    return file, hunk
  elseif line:sub(1, 4) == "*** " and (not file or file.op ~= "update") then
    return wrong("line %d is not understood: %s", n, line:sub(1, 80))
  elseif not file then
    if line:match "^%s*$" then return nil end
    return wrong("line %d comes before the first '*** Update File:', '*** Add File:' or '*** Delete File:'", n)
  elseif file.op == "delete" then
    if line:match "^%s*$" then return file end
    return wrong("line %d: nothing follows '*** Delete File: %s'", n, file.path)
  elseif file.op == "add" then
    if line == "" then
      file.blank = (file.blank or 0) + 1   -- between two files, or a line whose + was forgotten
      return file
    end
    if line:sub(1, 1) ~= "+" then return wrong("line %d: a line of a new file begins with +", n) end
    for _ = 1, file.blank or 0 do file.lines[#file.lines + 1] = "" end
    file.blank = 0
    file.lines[#file.lines + 1] = line:sub(2)
    return file
  elseif line:sub(1, 2) == "@@" then
    if not hunk or #hunk.rows > 0 then hunk = new_hunk(file) end
    local anchor = line:match "^@@%s?(.-)%s*$"
    anchor = anchor:match "^%-%d+[,%d]* %+%d+[,%d]* @@%s?(.-)$" or anchor   -- as diff writes it: the numbers are not used
    if anchor ~= "" and anchor ~= "@@" then hunk.anchors[#hunk.anchors + 1] = anchor end
    return file, hunk
  end
  local h, err = add_row(file, hunk, line, n)
  if not h then return nil, err end
  return file, h
end

-- Rows at the end of a hunk that are empty and are no change: models put an empty line between files.
local function trim(hunk)
  while #hunk.rows > 1 and hunk.rows[#hunk.rows][1] == " " and hunk.rows[#hunk.rows][2] == "" do
    hunk.rows[#hunk.rows] = nil
    hunk.trimmed = true
  end
end

local function parse(patch)
  if #patch > PATCH_MOST then return wrong("it is longer than 1 MiB") end
  local files, file, hunk, begun, ended = {}, nil, nil, false, false
  for n, line in ipairs(lines_of(patch)) do
    if not begun and line:match "^%s*%*%*%* Begin Patch%s*$" then
      begun = true
    elseif line:match "^%*%*%* End Patch%s*$" then
      ended = true
      break
    elseif begun or line:match "^%*%*%* %a+ File:" then
      begun = true
      local err
      file, hunk = take(files, file, hunk, line, n)
      if not file and rt.is_error(hunk) then err, hunk = hunk, nil end
      if err then return nil, err end
    elseif line:match "^%-%-%- " or line:match "^diff %-%-git " then
      return wrong "this is a diff; begin with '*** Begin Patch' and '*** Update File: path'"
    end   -- words or a here document around the patch
  end
  if #files == 0 then return wrong "'*** Update File:', '*** Add File:', or '*** Delete File:' not found" end
  if #files > FILES_MOST then return wrong("it changes more than %d files", FILES_MOST) end
  if begun and not ended then return wrong "'*** End Patch' is missing: is it cut off?" end
  for _, f in ipairs(files) do
    for _, h in ipairs(f.hunks) do trim(h) end
    if f.op == "update" and #f.hunks == 0 and not f.to then return wrong("%s: has no changes", f.path) end
  end
  return files
end

-- Finding --------------------------------------------------------------------------------------------------------

local LOOKS = { ["\u{2010}"] = "-", ["\u{2011}"] = "-", ["\u{2012}"] = "-", ["\u{2013}"] = "-", ["\u{2014}"] = "-",
  ["\u{2212}"] = "-", ["\u{2018}"] = "'", ["\u{2019}"] = "'", ["\u{201C}"] = '"', ["\u{201D}"] = '"', ["\u{A0}"] = " ",
  ["\u{202F}"] = " " }

-- From exact to loose: white space at the end, at both ends, signs that look alike.
local FORMS = {
  function(s) return s end,
  function(s) return (s:gsub("%s+$", "")) end,
  function(s) return s:match "^%s*(.-)%s*$" end,
  function(s) return (s:gsub("[\xC2\xE2][\x80-\xBF]+", LOOKS):gsub("\xC2\xA0", " "):match "^%s*(.-)%s*$") end,
}

local function mapped(list, form)
  local out = {}
  for i, s in ipairs(list) do out[i] = form(s) end
  return out
end

-- Places from `from` to `to` at which `old` stands; more than one only as far as two.
local function places(lines, old, from, to, work)
  local found = {}
  for i = from, to do
    local j = 1
    while j <= #old and lines[i + j - 1] == old[j] do j = j + 1 end
    work.n = work.n + j
    if work.n > WORK_MOST then return wrong "it is too large to be looked for" end
    if j > #old then
      found[#found + 1] = i
      if #found == 2 then break end
    end
  end
  return found
end

-- Where `old` stands: the first place behind an anchor, else the only one. at_end: the last lines of the file.
local function find(text, old, o, work)
  local last = #text - #old + 1
  for _, form in ipairs(FORMS) do
    local lines, want = mapped(text, form), mapped(old, form)
    work.n = work.n + #text
    if o.at_end then
      local f, err = places(lines, want, math.max(last, 1), last, work)
      if not f then return nil, err end
      if f[1] then return f[1] end
    end
    local f, err = places(lines, want, o.from, last, work)
    if not f then return nil, err end
    if #f == 1 or f[1] and (o.first or o.at_end) then return f[1] end
    if #f > 1 then return nil, nil, f end
  end
end

-- Applying -------------------------------------------------------------------------------------------------------

-- { text = lines without their ends, ends = what ended each }
local function split(data)
  local text, ends = {}, {}
  for line, e in data:gmatch "([^\n]*)(\n?)" do
    if line ~= "" or e ~= "" then
      if e ~= "" and line:sub(-1) == "\r" then line, e = line:sub(1, -2), "\r\n" end
      text[#text + 1], ends[#ends + 1] = line, e
    end
  end
  return { text = text, ends = ends }
end

local function join(f)
  local out = {}
  for i, line in ipairs(f.text) do out[i] = line .. f.ends[i] end
  return table.concat(out)
end

local function brief(rows)
  for _, r in ipairs(rows) do
    if r[2]:match "%S" then return r[2]:match "^%s*(.-)%s*$":sub(1, 100) end
  end
  return "(empty lines)"
end

-- The line of an anchor: all of it, else a part.
local function anchor_at(f, anchor, from, work)
  local a = find(f.text, { anchor }, { from = from, first = true }, work)
  for i = from, a and 0 or #f.text do
    if f.text[i]:find(anchor, 1, true) then return i end
  end
  return a
end

local NEAR_WORK, NEAR_LINES = 2000000, 12   -- comparisons; lines that are shown

local function trimmed(line) return line:match "^%s*(.-)%s*$" end

-- Where most of the old lines stand: that line, or nil; and the first old line that does not.
local function near_at(f, old)
  if #f.text * #old > NEAR_WORK then return nil end
  local most, at, missing = 0, nil, nil
  local want, have = {}, {}
  for i, line in ipairs(old) do want[i] = trimmed(line) end
  for i, line in ipairs(f.text) do have[i] = trimmed(line) end
  for i = 1, #have do
    local n, first = 0, nil
    for k, line in ipairs(want) do
      if have[i + k - 1] ~= line then first = first or k elseif line ~= "" then n = n + 1 end
    end
    if n > most then most, at, missing = n, i, first end
  end
  return at, missing
end

-- The text that is missing, and the nearest lines of the file with their numbers.
local function not_there(path, n, h, f, old)
  local at, missing = near_at(f, old)
  if not at then return wrong("%s: the text of change %d is not there: %s", path, n, brief(h.rows)) end
  local shown = {}
  for i = at, math.min(at + math.min(#old, NEAR_LINES) - 1, #f.text) do shown[#shown + 1] = ("%d: %s"):format(i, f.text[i]:sub(1, 200)) end
  return wrong("%s: the text of change %d is not there: %s\nThe nearest lines are:\n%s", path, n, trimmed(old[missing or 1]):sub(1, 100),
    table.concat(shown, "\n"))
end

local function place_of(path, n, h, f, cursor, work)
  local old, from, first = {}, cursor, false
  for _, r in ipairs(h.rows) do if r[1] ~= "+" then old[#old + 1] = r[2] end end
  for _, anchor in ipairs(h.anchors) do
    local a = anchor_at(f, anchor, from, work) or anchor_at(f, anchor, 1, work)
    if not a then return wrong("%s: change %d: the line '@@ %s' is not there", path, n, anchor:sub(1, 100)) end
    from, first = a + 1, true
  end
  if #old == 0 then
    if first and not h.at_end then return from end
    return #f.text + 1
  end
  local o = { from = from, first = first, at_end = h.at_end }
  local i, err, many = find(f.text, old, o, work)
  if not i and first then   -- the line of the anchor may be part of the change itself
    o.from = math.max(from - 1, 1)
    i, err, many = find(f.text, old, o, work)
  end
  if not i and not many and not err and cursor > 1 then
    o.from = 1
    i, err, many = find(f.text, old, o, work)
  end
  if i then return i end
  if err then return nil, err end
  if many then
    return wrong("%s: change %d fits at line %d and at line %d: give more lines around it, or '@@ a line above it'", path, n,
      many[1], many[2])
  end
  return not_there(path, n, h, f, old)
end

-- Puts rows into the file at line i. Kept lines stay the file's own; new lines end like their
-- neighbors.
local function put(f, h, i)
  local text, ends = table.move(f.text, 1, i - 1, 1, {}), table.move(f.ends, 1, i - 1, 1, {})
  local usual = ends[#ends] or f.ends[i] or "\n"
  if usual == "" then usual = f.ends[1] ~= "" and f.ends[1] or "\n" end
  local at = i
  for _, r in ipairs(h.rows) do
    if r[1] == "+" then
      text[#text + 1], ends[#ends + 1] = r[2], usual
    else
      if r[1] == " " then text[#text + 1], ends[#ends + 1] = f.text[at], f.ends[at] end
      at = at + 1
    end
  end
  local cursor = #text + 1
  table.move(f.text, at, #f.text, #text + 1, text)
  table.move(f.ends, at, #f.ends, #ends + 1, ends)
  local open = f.ends[#f.ends] == ""   -- the file had no line end at its end: so it stays
  for k = 1, #ends do if ends[k] == "" and k < #ends then ends[k] = usual end end
  if #ends > 0 then ends[#ends] = open and "" or ends[#ends] == "" and usual or ends[#ends] end
  f.text, f.ends = text, ends
  return cursor
end

local function update(path, hunks, data, work)
  local f, cursor = split(data), 1
  for n, h in ipairs(hunks) do
    local i, err = place_of(path, n, h, f, cursor, work)
    if not i then return nil, err end
    cursor = put(f, h, i)
  end
  return join(f)
end

-- The files as the patch makes them: nothing is written here. state[path] = { data = or false (gone), was = or false }
local function look(state, path, box)
  local s = state[path]
  if not s then
    local data, err = box:read(path)
    if not data and err.code ~= "io" then return nil, err end
    s = { data = data or false, was = data or false, err = err }
    state[path] = s
    state[#state + 1] = path
  end
  return s
end

local function try(f, state, box, work)
  local s, err = look(state, f.path, box)
  if not s then return nil, err end
  if f.op == "add" then
    if s.data then return wrong("%s is there already: use '*** Update File:'", f.path) end
    s.data = table.concat(f.lines, "\n") .. (#f.lines > 0 and "\n" or "")
    return true
  end
  if not s.data then return wrong("can't read %s: %s", f.path, s.err and tostring(s.err) or "it was deleted before") end
  if f.op == "delete" then
    s.data = false
    return true
  end
  local data
  data, err = update(f.path, f.hunks, s.data, work)
  if not data then return nil, err end
  if f.to and f.to ~= f.path then
    local t
    t, err = look(state, f.to, box)
    if not t then return nil, err end
    if t.data then return wrong("%s exists: can't move %s to it", f.to, f.path) end
    s.data, t.data = false, data
  else
    s.data = data
  end
  return true
end

local function write(path, s, box)
  if s.data == s.was then return nil end
  if not s.data then
    local ok, err = box:run { "rm", "--", "./" .. path }
    return ok and "delete " .. path, err
  end
  local ok, err = box:write(path, s.data)
  return ok and (s.was and "update " or "add ") .. path, err
end

function M.apply(patch, box)
  local files, err = parse(patch)
  if not files then return nil, err end
  local state, work = {}, { n = 0 }
  for _, f in ipairs(files) do
    local ok
    ok, err = try(f, state, box, work)
    if not ok then return nil, err end
  end
  local done = {}
  for _, path in ipairs(state) do
    local what
    what, err = write(path, state[path], box)
    if err then
      err.msg = err.msg .. (#done > 0 and " (already done: " .. table.concat(done, ", ") .. ")" or "")
      return nil, err
    end
    done[#done + 1] = what
  end
  return #done > 0 and table.concat(done, "\n") or "nothing changed: the files are so already"
end

return M
