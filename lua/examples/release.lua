-- A check file: conditions that must hold before a release.
--   sandglass verify s-7k2m9q --with release.lua        over a recorded session
--   assert(sg.check "release.lua")                      in a script, before it merges or pushes
local v = require "sandglass.verify"
local checks = require "sandglass.checks"

return v.checks(function(log, t)
  checks.run("tests_after_edit", log, t, { "make test*" })
  checks.run("no_secrets", log, t)
  t:none("no network except the registry", log:find "kind:connect not host:packages.example.org")
  for e in log:each "verdict:allow by:human" do
    t:check("approval #" .. e.id .. " names a person", e.person ~= nil, { e })
  end
  t:max("cost", log:sum "cost", 2.00)
  t:max("longest wait for a person", log:max "wait_s", 600, { warn = true })
  t:equal("the snapshots are what the changes make", log:rebuild_tree(), log:final_tree())
  if log:count 'cmd:"git tag*"' == 0 then
    t:skip("signed tag", "no tag was made")
  else
    t:check("signed tag", log:last 'cmd:"git tag -s*"' ~= nil)
  end
end)
