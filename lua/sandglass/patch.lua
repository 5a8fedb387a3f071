-- apply_patch: a patch in the form models know best. Each file is read, changed in memory and written; nothing is
-- written before all of it fits.
--   *** Begin Patch / *** Update File: path / @@ a line above / " same" "-old" "+new" / *** Add File: path / "+line"
--   *** Delete File: path / *** End Patch
local rt = require "sandglass.runtime"
local text = require "sandglass.text".sg

local M = {}

local function wrong(fmt, ...) return nil, rt.err { code = "io", msg = "patch: " .. fmt:format(...) } end

local function lines_of(s)
  local list = {}
  for line in (s:sub(-1) == "\n" and s or s .. "\n"):gmatch "(.-)\r?\n" do list[#list + 1] = line end
  return list
end

-- { { op = "update"|"add"|"delete", path =, hunks = { { anchor =, old = {}, new = {} } }, lines = {} } }
local function parse(patch)
  local files, file, hunk = {}, nil, nil
  for n, line in ipairs(lines_of(patch)) do
    local op, path = line:match "^%*%*%* (%a+) File: (.+)$"
    if op then
      if op ~= "Update" and op ~= "Add" and op ~= "Delete" then
        return wrong("line %d: '%s File' is not known", n, op)
      end
      file, hunk = { op = op:lower(), path = path:match "^%s*(.-)%s*$", hunks = {}, lines = {} }, nil
      files[#files + 1] = file
    elseif line:match "^%*%*%* Begin Patch" or line:match "^%*%*%* End Patch" or line:match "^%*%*%* End of File" then
      hunk = nil
    elseif not file then
      if line ~= "" then return wrong("line %d stands before the first '*** Update File:'", n) end
    elseif file.op == "add" then
      if line:sub(1, 1) ~= "+" then return wrong("line %d: a line of a new file begins with +", n) end
      file.lines[#file.lines + 1] = line:sub(2)
    elseif line:sub(1, 2) == "@@" then
      hunk = { anchor = line:match "^@@%s*(.-)%s*$", old = {}, new = {} }
      file.hunks[#file.hunks + 1] = hunk
    else
      if not hunk then
        hunk = { anchor = "", old = {}, new = {} }
        file.hunks[#file.hunks + 1] = hunk
      end
      local sign, rest = line:sub(1, 1), line:sub(2)
      if sign == "-" or sign == " " or line == "" then hunk.old[#hunk.old + 1] = rest end
      if sign == "+" or sign == " " or line == "" then hunk.new[#hunk.new + 1] = rest end
      if not sign:match "[-+ ]" and line ~= "" then return wrong("line %d begins neither with space, - nor +", n) end
    end
  end
  if #files == 0 then return wrong "there is no '*** Update File:', '*** Add File:' or '*** Delete File:'" end
  return files
end

local function same(a, b, loose)
  if loose then return a:match "^%s*(.-)%s*$" == b:match "^%s*(.-)%s*$" end
  return a == b
end

-- Where `old` stands in `lines` from `from` on; exact first, then without white space at the ends.
local function find(lines, old, from)
  for pass = 1, 2 do
    for i = from, #lines - #old + 1 do
      local good = true
      for j = 1, #old do
        if not same(lines[i + j - 1], old[j], pass == 2) then
          good = false
          break
        end
      end
      if good then return i end
    end
  end
end

local function apply_hunks(file, data)
  local lines, at = lines_of(data), 1
  for n, h in ipairs(file.hunks) do
    if h.anchor ~= "" then
      local a = find(lines, { h.anchor }, at)
      if a then at = a + 1 end
    end
    local i = #h.old == 0 and #lines + 1 or find(lines, h.old, at) or find(lines, h.old, 1)
    if not i then
      return wrong("%s: the text of change %d is not there: %s", file.path, n,
        text.tail(table.concat(h.old, " | "), 1):sub(1, 120))
    end
    local out = table.move(lines, 1, i - 1, 1, {})
    table.move(h.new, 1, #h.new, #out + 1, out)
    at = #out + 1
    table.move(lines, i + #h.old, #lines, #out + 1, out)
    lines = out
  end
  return table.concat(lines, "\n") .. (#lines > 0 and "\n" or "")
end

function M.apply(patch, box)
  local files, err = parse(patch)
  if not files then return nil, err end
  for _, f in ipairs(files) do
    if f.op == "update" then
      local data
      data, err = box:read(f.path)
      if not data then return nil, err end
      f.data, err = apply_hunks(f, data)
      if not f.data then return nil, err end
    elseif f.op == "add" then
      f.data = table.concat(f.lines, "\n") .. (#f.lines > 0 and "\n" or "")
    end
  end
  local done = {}
  for _, f in ipairs(files) do
    local ok
    if f.op == "delete" then
      ok, err = box:run { "rm", "--", f.path }
    else
      ok, err = box:write(f.path, f.data)
    end
    if not ok then
      err.msg = err.msg .. (#done > 0 and " (already done: " .. table.concat(done, ", ") .. ")" or "")
      return nil, err
    end
    done[#done + 1] = f.op .. " " .. f.path
  end
  return table.concat(done, "\n")
end

return M
