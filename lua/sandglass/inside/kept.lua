-- A copy of an agent's own session: the files of its home from which its protocol loads it. A fork has the files of the workspace
-- and a new home, so it gets this copy. It is taken when a turn ends and, while it is small, when the agent asks for a permission.
local quote = require "sandglass.text".sg.quote

local M = { OFTEN_MAX = 1 << 20 }
local TEXT_MAX = 24 << 20

-- The place below its home; "." is all of it.
function M.place(profile, o) return o.kept or profile.kept or (profile.terminal or {}).kept or "." end

-- The copy as text; nil if there is nothing yet, or nil and why not.
function M.take(box, home, place)
  local parts, size = {}, 0
  local r, err = box:exec(("cd %s && [ -e %s ] && tar -cf - %s | base64"):format(quote(home), quote(place), quote(place)), {
    on_out = function(s, stream)
      if stream ~= "out" then return end
      size = size + #s
      parts[#parts + 1] = size <= TEXT_MAX and s or nil
    end,
  })
  if not r then return nil, err.msg end
  if size > TEXT_MAX then return nil, ("it has %d MB"):format(size >> 20) end
  return r.ok and size > 0 and table.concat(parts) or nil
end

-- Is a session of it in its home?
function M.there(box, home, place)
  local r = box:exec { "find", home .. "/" .. place, "-type", "f" }
  return r ~= nil and r.out ~= ""
end

function M.bring(box, home, text)
  local r, err = box:exec(("cd %s && base64 -d | tar -xf -"):format(quote(home)), { stdin = text })
  if r and r.ok then return true end
  return nil, r and r.err or err.msg
end

return M
