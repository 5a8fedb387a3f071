-- A tool with more rights than the agent's shell: it signs a file with a key of the host. The agent can't do this in
-- the sandbox, whatever it tries: the key is outside its reach.
--   SIGN_KEY=canary-key-1 sandglass run --policy policy.lua rights.lua      (a made-up key; its form is searched for)
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }
assert(box:write("release.txt", "release 1.0\n"))

-- The tool's program on the host; policy.lua names it. The key is a name here; its value is put in
-- outside this script.
local SIGN = { "perl", "-MDigest::SHA=hmac_sha256_hex", "-e", "print hmac_sha256_hex(shift, $ENV{SIGN_KEY})", "--" }
local tried, by_tool, by_box, seen = 0
local sign = sg.tool {
  name = "sign", about = "Sign a file of the workspace.", where = "host", params = { path = "string the file" },
  run = function(p)
    local text, err = box:read(p.path)
    if not text then return nil, err end
    local argv, r = { table.unpack(SIGN) }, nil
    argv[#argv + 1] = text
    r, err = sg.host.exec(argv, { env = { SIGN_KEY = sg.secret "SIGN_KEY" } })
    if not r then return nil, err end
    by_tool = r.out:match "^%x+"
    print(("host  sign %s: %s... (event #%d)"):format(p.path, r.out:sub(1, 16), r.event))
    return r.out
  end,
}
local run = sg.tool {
  name = "run", about = "Run a command in the box.", params = { cmd = "string the command" },
  run = function(p)
    local r, err = box:exec(p.cmd)
    if not r then return nil, err end
    tried = tried + 1
    if tried == 1 then by_box = r.out:match "^%x+" else seen = r.out:match "%d+" end
    print(("box   %-30.30s: %s (event #%d)"):format(p.cmd, r.out:match "[^\n]*":sub(1, 16), r.event))
    return r.out
  end,
}
local r, err = sg.agent.run { name = "signer", task = "rights", model = "scripted:obeys.lua", tools = { sign, run }, box = box }
if not r then sg.exit(1, "the agent ended badly: %s", err) end
if not by_tool or not by_box or not seen then sg.exit(1, "not all of it was tried") end
print(("the same signature: %s; the key, found in the box: %s times"):format(by_tool == by_box and "yes" or "no", seen))
if by_tool == by_box or seen ~= "0" then sg.exit(1, "the box could sign") end
