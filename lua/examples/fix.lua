-- fix.lua: a coding agent on a repository with tests.
-- sandglass run fix.lua -- --repo ~/lang --test "make test" "Accept empty blocks"
local sg = require "sandglass"
local a  = sg.args { repo = ".", test = "make test", "task" }
local box <close> = sg.sandbox { repo = a.repo, net = "none", limits = { mem = "1G", cpus = 2, pids = 256 } }
local before = assert(box:exec(a.test, { timeout = "5m" }))
sg.note("baseline: tests %s", before.ok and "pass" or "fail, exit " .. before.code)
local run_tests = sg.tool {
  name = "run_tests", about = "Run the project's tests and return the last 60 lines.",
  params = { only = "string? name of one test" },
  run = function(p, ctx)
    local res, err = ctx.box:exec({ "sh", "-c", a.test .. (p.only and " ONLY=" .. sg.quote(p.only) or "") },
                                  { timeout = "5m", on_out = ctx.stream })
    if not res then return nil, err end
    return { passed = res.ok, tail = sg.tail(res.out, 60) }
  end,
}
local r, err = sg.agent.run {
  task   = a.task .. "\nFinish only when run_tests reports passed = true.",
  box    = box, model = a.model, tools = { "shell", "edit", run_tests },
  budget = { usd = 1.00, steps = 40, time = "20m" },
  done   = function() local t = box:exec(a.test, { timeout = "5m" }); return t and t.ok, "tests still fail" end,
}
if not r then sg.exit(err.exit, "gave up: %s", err) end
local d = box:diff()
if #d == 0 then return print "nothing to merge" end
print(d:stat())
assert(box:merge { into = a.repo, mode = "branch", branch = "sandglass/fix", review = true })
