-- The smallest runner: it "name" (function); eq, fails. Prints TAP without numbers; t_specs.c counts.
local M = {}

local function show(v)
  if type(v) ~= "table" then return type(v) == "string" and ("%q"):format(v) or tostring(v) end
  local parts = {}
  for k, item in pairs(v) do parts[#parts + 1] = tostring(k) .. "=" .. show(item) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function M.it(name)
  return function(fn)
    local ok, err = xpcall(fn, function(e) return tostring(e) .. "\n#   at "
      .. tostring(type(e) == "table" and e.at) end)
    if ok then return print("ok - " .. name) end
    print("not ok - " .. name)
    print("#   " .. tostring(err))
  end
end

function M.eq(got, want, what)
  if show(got) ~= show(want) then
    error((what and what .. ": " or "") .. "got " .. show(got) .. ", want " .. show(want), 2)
  end
end

-- fn must raise an error whose text is (or, with ~, holds) `want`.
function M.fails(want, fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then error("it did not fail", 2) end
  local text = tostring(err)
  local good = want:sub(1, 1) == "~" and text:find(want:sub(2), 1, true) or text == want
  if not good then error("failed with " .. show(text) .. ", want " .. show(want), 2) end
  return err
end

return M
