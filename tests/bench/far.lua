-- N executions in a box at the end of a long way, each way of doing many. One line each: NAME, N, microseconds.
local sg = require "sandglass"
local a = sg.args { rounds = "1,100,200", config = "", dir = "" }
local box <close> = sg.sandbox { name = "far", backend = "ssh", host = "there", config = a.config, dir = a.dir }
local function cmd(i) return ("echo $((%d * %d))"):format(i, i) end
local function check(text, i) if tonumber(text:match "%d+") ~= i * i then sg.exit(1, "wrong answer: %s", text) end end

local ways = {
  { "one by one", function(n) for i = 1, n do check(assert(box:run(cmd(i))).out, i) end end },
  { "batched", function(n)
    local list = {}
    for i = 1, n do list[i] = cmd(i) end
    for i, r in ipairs(assert(box:batch(list))) do check(r.out, i) end
  end },
  { "stateful shell", function(n)
    local shell <close> = assert(box:shell())
    for i = 1, n do check(assert(shell:run(cmd(i))).out, i) end
  end },
  { "REPL", function(n)
    local p = assert(box:spawn({ "python3", "-uc", "import sys\nfor line in sys.stdin: print(eval(line))" }))
    local next_line = p:lines()
    for i = 1, n do
      p:write(("%d * %d\n"):format(i, i))
      check(next_line(), i)
    end
    p:write("", { eof = true })
    p:wait()
  end },
  { "agent inside", function(n)   -- a remote program that does the same alone; one action here
    local r = assert(box:run({ "sh", "-c", ("i=1; while [ $i -le %d ]; do sh -c \"echo \\$(($i * $i))\"; i=$((i + 1)); done"):format(n) }))
    check(r.out:match "(%d+)%s*$", n)
  end },
}
for _, way in ipairs(ways) do
  way[2](1)   -- what is made once is made
  for n in a.rounds:gmatch "%d+" do
    local t0 = os.clock()
    way[2](math.tointeger(n))
    print(("ROW|%s|%d|%d"):format(way[1], math.tointeger(n), (os.clock() - t0) * 1e6 // 1 | 0))
  end
end
