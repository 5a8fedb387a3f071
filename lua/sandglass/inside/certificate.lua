-- The certificate of the session's authority in an agent's home: the agent insists on https, and TLS for its maker's host ends at our
-- proxy (a route with `tls`). A resumed session has another authority, so the file is written before each start.
local rt = require "sandglass.runtime"
local call = rt.call

local M = { path = ".config/sandglass/ca.pem" }

-- true, or nil and an error.
function M.write(box, home)
  local v, err = call("proxy.certificate", {})
  if not v then return nil, err end
  local full = home .. "/" .. M.path
  local r
  r, err = box:exec { "mkdir", "-p", full:match "^(.*)/" }
  if r then r, err = box:exec({ "dd", "status=none", "of=" .. full }, { stdin = v.pem }) end
  if not r then return nil, err end
  if not r.ok then return nil, rt.err { code = "backend", msg = ("inside: can't write '%s': %s"):format(full, r.err) } end
  return true
end

return M
