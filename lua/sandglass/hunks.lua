-- Hunks of a unified diff with fewer lines around their changes: what fell together for the sake of those stands apart then.
local M = {}

local function count(text) return text == "" and 1 or math.tointeger(text) end

-- The lines of a hunk from line @at on, each with the one that says that no line end follows it.
local function read_hunk(lines, at, old, new)
  local items = {}
  while lines[at] and (old > 0 or new > 0 or lines[at]:sub(1, 1) == "\\") do
    local sign = lines[at]:sub(1, 1)
    if sign == "\\" then
      if #items == 0 then break end
      items[#items].note = lines[at]
    else
      items[#items + 1] = { text = lines[at], sign = sign }
      if sign ~= "+" then old = old - 1 end
      if sign ~= "-" then new = new - 1 end
    end
    at = at + 1
  end
  return items, at
end

local function near_a_change(items, context)
  local near = {}
  for i, item in ipairs(items) do
    if item.sign == "+" or item.sign == "-" then
      for k = math.max(1, i - context), math.min(#items, i + context) do near[k] = true end
    end
  end
  return near
end

local function range(from, nr)
  if nr == 1 then return tostring(from) end
  return ("%d,%d"):format(nr == 0 and from - 1 or from, nr)
end

-- Puts the hunks that are left of one into @out; the first keeps what stands behind its @@.
local function write_hunks(out, items, old, new, section, context)
  local near = near_a_change(items, context)
  local i = 1
  while i <= #items do
    local part, olds, news = {}, 0, 0
    local first_old, first_new = old, new
    while i <= #items and (near[i] or #part == 0) do
      local item = items[i]
      local is_old, is_new = item.sign ~= "+" and 1 or 0, item.sign ~= "-" and 1 or 0
      old, new = old + is_old, new + is_new
      if near[i] then
        part[#part + 1] = item.text
        part[#part + 1] = item.note
        olds, news = olds + is_old, news + is_new
      else
        first_old, first_new = old, new
      end
      i = i + 1
    end
    if #part > 0 then
      out[#out + 1] = ("@@ -%s +%s @@%s"):format(range(first_old, olds), range(first_new, news), section)
      table.move(part, 1, #part, #out + 1, out)
      section = ""
    end
  end
end

-- The text of a diff with at most @context lines around each change; it never adds lines.
function M.context(text, context)
  local lines, out, at = {}, {}, 1
  for line in text:gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
  if lines[#lines] == "" then lines[#lines] = nil end
  while lines[at] do
    local old, olds, new, news, section = lines[at]:match "^@@ %-(%d+),?(%d*) %+(%d+),?(%d*) @@(.*)$"
    if old then
      olds, news = count(olds), count(news)
      local items, behind = read_hunk(lines, at + 1, olds, news)
      write_hunks(out, items, math.tointeger(old) + (olds == 0 and 1 or 0), math.tointeger(new) + (news == 0 and 1 or 0), section, context)
      at = behind
    else
      out[#out + 1] = lines[at]
      at = at + 1
    end
  end
  return #out > 0 and table.concat(out, "\n") .. "\n" or ""
end

return M
