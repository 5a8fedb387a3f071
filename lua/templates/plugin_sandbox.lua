-- @NAME@: boxes of ... ('plugin ls' shows this line)
-- A kind of box in one file: how to get a box, run text in its shell, and give it back. All else that users do with a box (files,
-- snapshots, diffs, undo, approvals, the record) is made of that. The file has no key and no network of its own: host.http is its
-- only way out, to the addresses below alone; "{key}" is filled in outside of it, and every request is in the record.
--   @CAPS@_API_KEY=... sandglass plugin test @NAME@.lua     does it do what every kind of box must do?
--   sandglass run --backend ./@NAME@.lua agent.lua
--   sandglass plugin add @NAME@.lua                 from then on it is --backend @NAME@
-- It is written for an API with POST /boxes, POST /boxes/ID/exec, PUT /boxes/ID/file, DELETE /boxes/ID and GET /boxes: make it yours.
-- 'sandglass help plugins' says all that such a file may return.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "@NAME@", about = "@NAME@: boxes of ...",
  url = "https://api.example.com/v1", hosts = p.list { "*.example.com" },
  env = { key = "@CAPS@_API_KEY", url = "@CAPS@_URL" },          -- names of variables; the second may replace the address above
  auth = p.list { "Authorization: Bearer {key}" },               -- headers of every request
}

-- A sandbox is a plain table that finds it again, also from another process after ours has died. It
-- needs at least its id and its tag, by which orphaned sandboxes are found.
local function box_of(b)
  return { id = b.id, tag = b.labels and b.labels["sandglass-box"] }
end

-- o: name, tags (put them on the box: tags["sandglass-box"] is its own), env, image, limits, ttl (seconds until the service may take
-- it away), hosts that it may reach, options (what a script gave as options = { ... }).
function M.open(o, host)
  if #o.hosts > 0 then host.fail("unable", "@NAME@: net must be \"none\": it has no list of hosts") end
  local b = host.http { method = "POST", path = "/boxes", want = "json",
    json = { name = o.name, labels = o.tags, env = o.env, image = o.image, ttl = o.ttl } }.json
  if type(b.id) ~= "string" then host.fail("bad", "@NAME@: the answer to POST /boxes names no box") end
  host.keep(box_of(b))      -- at once: from here on it is given back whatever happens
  return box_of(b)          -- wait here until it runs, if that takes a while: host.sleep(0.5)
end

-- Runs text in the box's sh. Its output is passed on as it arrives; its exit status is ignored because the output contains it.
-- For an API that sends all output at the end, without a stream: host.out(host.http { ... }.body), and poll = 20 above.
function M.exec(box, text, host)
  host.stream({ method = "POST", path = ("/boxes/%s/exec"):format(sandbox.escape(box.id)), json = { command = text } },
    function(piece) host.out(piece) end)
end

-- A sandbox that is already gone is not an error.
function M.close(box, host)
  host.http { method = "DELETE", path = "/boxes/" .. sandbox.escape(box.id), accept = { [404] = true } }
end

-- May be left away, as list below: then what is large goes as text through exec, in many pieces.
function M.write(box, path, bytes, host)
  host.http { method = "PUT", path = ("/boxes/%s/file?path=%s"):format(sandbox.escape(box.id), sandbox.escape(path)), body = bytes, again = true }
end

-- Boxes with these tags: for what a session that was killed left behind, and for a box whose opening was answered and never heard.
function M.list(tags, host)
  local found = p.list {}
  for _, b in ipairs(host.http { path = "/boxes?labels=" .. sandbox.escape(p.encode(tags)), want = "json" }.json) do
    found[#found + 1] = box_of(b)
  end
  return found
end

return M
