-- A copy of an agent's own session: the files of its home from which its protocol loads it. A fork has the files of the workspace
-- and a new home, so it gets this copy. It is taken when a turn ends and, while it is small, when the agent asks for a permission.
local quote = require "sandglass.text".sg.quote

local M = { OFTEN_MAX = 1 << 20 }
local TEXT_MAX = 8 << 20
local FILES_MAX = TEXT_MAX // 4 * 3   -- bytes, before base64

-- A session that is too large leaves nothing in the recording. One line, so that secrets in it are found there.
local TAKE = [[cd %s && [ -e %s ] || exit 1
kb=$(du -sk %s | cut -f1)
[ "${kb:-0}" -le %d ] || { printf 'it has %%s KB' "$kb" >&2; exit 3; }
tar -cf - %s | head -c %d | base64 | tr -d '\n']]

-- The place below its home; "." is all of it.
function M.place(profile, o) return o.kept or profile.kept or (profile.terminal or {}).kept or "." end

-- The copy as text; nil if there is nothing yet, or nil and why not.
function M.take(box, home, place)
  local parts, size = {}, 0
  local at = quote(place)
  local r, err = box:exec(TAKE:format(quote(home), at, at, FILES_MAX >> 10, at, FILES_MAX + 1), {
    on_out = function(s, stream)
      if stream ~= "out" then return end
      size = size + #s
      parts[#parts + 1] = size <= TEXT_MAX and s or nil
    end,
  })
  if not r then return nil, err.msg end
  if r.code == 3 then return nil, r.err end
  if size > TEXT_MAX then return nil, ("it has more than %d KB"):format(FILES_MAX >> 10) end
  if r.ok and size == 0 then return nil, r.err end   -- no tar or no base64
  return r.ok and table.concat(parts) or nil
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
