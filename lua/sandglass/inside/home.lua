-- The files of an agent's home, and the agent's changes to them. Its settings are rules on disk that only it reads.
local rt = require "sandglass.runtime"
local quote = require "sandglass.text".sg.quote

local M = {}
local PATCH_MAX = 16 << 10

-- Its path in a sandbox: beside a workspace at an unusual place.
function M.of(box)
  local at = box.workspace:match "^(.+)/workspace$"
  return at and at .. "/home" or "/home/agent"
end

-- profile.files(x), how.files(x): the first files (a file that starts with "#!" is executable);
-- profile.settings: more files of that kind, which the agent may make.
function M.new(profile, x, how)
  local h = { files = profile.files and profile.files(x) or {} }
  for path, text in pairs(how.files and how.files(x) or {}) do h.files[path] = text end

  function h.write(box)
    for path, text in pairs(h.files) do
      local full = x.home .. "/" .. path
      -- words, no shell: rules over commands then see what they are
      local r, err = box:exec { "mkdir", "-p", full:match "^(.*)/" }
      if r then r, err = box:exec({ "dd", "status=none", "of=" .. full }, { stdin = text }) end
      if r and r.ok and text:sub(1, 2) == "#!" then r, err = box:exec { "chmod", "755", full } end
      if not r then return nil, err end
      if not r.ok then return nil, rt.err { code = "backend", msg = ("inside: can't write '%s': %s"):format(full, r.err) } end
    end
    return true
  end

  -- Paths of changed files, and the difference as a patch.
  function h.changed(box)
    local texts, changed, patches = {}, {}, {}
    for _, path in ipairs(profile.settings or {}) do texts[path] = "" end
    for path, text in pairs(h.files) do texts[path] = text end
    for path, text in pairs(texts) do
      local label = quote(path)
      local r = box:exec(("diff -u -N --label %s --label %s - %s || :"):format(label, label, quote(x.home .. "/" .. path)), { stdin = text })
      if r and r.ok and r.out ~= "" then
        changed[#changed + 1] = path
        patches[#patches + 1] = r.out
      end
    end
    return changed, #patches > 0 and table.concat(patches):sub(1, PATCH_MAX) or nil
  end
  return h
end

return M
