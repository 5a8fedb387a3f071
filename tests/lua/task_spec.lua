local sg = require "sandglass"
local spec = require "spec"
local it, eq, fails = spec.it, spec.eq, spec.fails
local clock = os.clock

local function took(fn)
  local from = clock()
  fn()
  return math.floor((clock() - from) * 10 + 0.5) / 10
end

it "sleep takes its time and no more" (function()
  eq(took(function() sg.sleep(2) end), 2.0)
  eq(took(function() sg.sleep "500ms" end), 0.5)
end)

it "map runs at the same time and keeps the order" (function()
  local out
  eq(took(function() out = sg.map({ 3, 1, 2 }, function(n) sg.sleep(n) return n * 10 end) end), 3.0)
  eq(out, { 30, 10, 20 })
end)

it "map with a limit" (function()
  local most, now = 0, 0
  eq(took(function()
    sg.map({ 1, 1, 1, 1 }, function()
      now = now + 1
      most = math.max(most, now)
      sg.sleep(1)
      now = now - 1
    end, { limit = 2 })
  end), 2.0)
  eq(most, 2)
end)

it "map of an empty list" (function() eq(sg.map({}, function() end), {}) end)

it "map: nil becomes false" (function() eq(sg.map({ 1, 2 }, function(n) if n == 1 then return 5 end end),
  { 5, false }) end)

it "map: an error value cancels the rest" (function()
  local finished = {}
  local out, err = sg.map({ 1, 2, 3 }, function(n)
    sg.sleep(n)
    if n == 2 then return nil, select(2, sg.json.decode "{") end
    finished[#finished + 1] = n
    return n
  end)
  eq(out, nil)
  eq(err.code, "io")
  eq(finished, { 1 })
end)

it "map: a raised error is raised, at once, after the others were stopped" (function()
  local closed = 0
  local from = clock()
  fails("~boom", function()
    sg.map({ 1, 9 }, function(n)
      local guard <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
      sg.sleep(n)
      error "boom"
    end)
  end)
  eq(closed, 2)
  eq(math.floor(clock() - from + 0.5), 1)
end)

it "map: collect gives values and errors in order" (function()
  local out = sg.map({ 1, 2, 3 }, function(n)
    if n == 2 then error "two" end
    return n
  end, { on_error = "collect" })
  eq(out[1], 1)
  eq(sg.is_error(out[2]), true)
  eq(out[2].code, "script")
  eq(out[3], 3)
end)

it "map: a time-out stops the rest; collect keeps what there is" (function()
  local out = sg.map({ 1, 9 }, function(n) sg.sleep(n) return n end, { timeout = 3, on_error = "collect" })
  eq(out[1], 1)
  eq(out[2].code, "timeout")
  local none, err = sg.map({ 1, 9 }, function(n) sg.sleep(n) return n end, { timeout = 3 })
  eq(none, nil)
  eq(err.code, "timeout")
end)

it "all keeps the keys" (function()
  eq(sg.all { a = function() sg.sleep(1) return 1 end, b = function() return 2 end }, { a = 1, b = 2 })
end)

it "race: the first value wins, the others are cancelled and waited for" (function()
  local ended = {}
  local v, i = sg.race {
    function() sg.sleep(5) ended[#ended + 1] = "slow" return "slow" end,
    function()
      local guard <close> = setmetatable({}, { __close = function() ended[#ended + 1] = "closed" end })
      sg.sleep(9)
    end,
    function() sg.sleep(1) return "fast" end,
  }
  eq(v, "fast")
  eq(i, 3)
  eq(ended, { "closed" })
end)

it "race: failures do not win; all failing gives the last error" (function()
  eq((sg.race { function() error "x" end, function() sg.sleep(1) return 2 end }), 2)
  local v, err = sg.race { function() error "x" end, function() sg.sleep(1) error "y" end }
  eq(v, nil)
  eq(tostring(err):find "y" ~= nil, true)
end)

it "spawn and await" (function()
  local t = sg.spawn(function(a, b) sg.sleep(1) return a + b, "two" end, 3, 4)
  eq({ t:await() }, { 7, "two" })
  eq(t:done(), true)
  eq({ t:await() }, { 7, "two" }, "again")
end)

it "await: what a task raised is nil and the error" (function()
  local t = sg.spawn(function() error "broken" end)
  local v, err = t:await()
  eq(v, nil)
  eq(err.code, "script")
end)

it "await with a time-out leaves the task running" (function()
  local t = sg.spawn(function() sg.sleep(3) return "done" end)
  local v, err = t:await(1)
  eq(v, nil)
  eq(err.code, "timeout")
  eq(t:await(), "done")
end)

it "cancel raises at the wait, and again at each later wait" (function()
  local seen = {}
  local t = sg.spawn(function()
    for _ = 1, 3 do
      local ok, err = pcall(sg.sleep, 10)
      seen[#seen + 1] = ok or err.code
    end
  end)
  sg.sleep(1)
  t:cancel "enough"
  local v, err = t:await()
  eq(seen, { "cancelled", "cancelled", "cancelled" })
  eq({ v, err }, {})
end)

it "a cancelled command ends at once" (function()
  local box <close> = sg.sandbox {}
  local t = sg.spawn(function() return box:exec "sleep 100" end)
  sg.sleep(1)
  eq(took(function() t:cancel() t:await() end), 0.0)
end)

it "shield: cleanup may wait while being cancelled" (function()
  local cleaned
  local t = sg.spawn(function()
    local ok = pcall(sg.sleep, 10)
    sg.shield(function() sg.sleep(2) cleaned = true end)
    return ok
  end)
  sg.sleep(1)
  t:cancel()
  eq(took(function() t:await() end), 2.0)
  eq(cleaned, true)
end)

it "a task may be cancelled before it has begun" (function()
  local ran
  local t = sg.spawn(function() sg.sleep(0) ran = true end)
  t:cancel()
  eq((select(2, t:await())).code, "cancelled")
  eq(ran, nil)
end)

it "scope waits for its tasks" (function()
  local n = 0
  eq(took(function()
    eq(sg.scope(function()
      for i = 1, 3 do sg.spawn(function() sg.sleep(i) n = n + 1 end) end
      return "value"
    end), "value")
  end), 3.0)
  eq(n, 3)
end)

it "scope: the first failure cancels the others and its body, and is raised" (function()
  local log = {}
  fails("~first", function()
    sg.scope(function()
      sg.spawn(function() sg.sleep(1) error "first" end)
      sg.spawn(function()
        local ok, err = pcall(sg.sleep, 50)
        log[#log + 1] = "sibling " .. err.code
        error(err, 0)
      end)
      local ok, err = pcall(sg.sleep, 50)
      log[#log + 1] = "body " .. tostring(ok)
      error(err, 0)
    end)
  end)
  table.sort(log)
  eq(log, { "body false", "sibling cancelled" })
  sg.sleep(1) -- the scope is behind us: waiting works again
end)

it "a failure that nobody awaits is raised where the task's block ends" (function()
  local t = sg.spawn(function()
    sg.spawn(function() error "lost" end)
    sg.sleep(1)
    return "fine"
  end)
  local v, err = t:await()
  eq(v, nil)
  eq(tostring(err):find "lost" ~= nil, true)
end)

it "leaving a function cancels nothing, leaving the block of a <close> task does" (function()
  local reached
  do
    local t <close> = sg.spawn(function() sg.sleep(5) reached = true end)
    sg.sleep(1)
  end
  eq(reached, nil)
end)

it "nested scopes cancel inwards" (function()
  local log = {}
  local t = sg.spawn(function()
    sg.scope(function()
      sg.spawn(function()
        sg.map({ 1, 2 }, function(i)
          local guard <close> = setmetatable({}, { __close = function() log[#log + 1] = i end })
          sg.sleep(100)
        end)
      end)
      sg.sleep(100)
    end)
  end)
  sg.sleep(1)
  t:cancel()
  t:await()
  eq(log, { 1, 2 })
end)

it "timeout gives the values, or nil and an error" (function()
  eq({ sg.timeout(5, function(a) sg.sleep(1) return a, 2 end, 1) }, { 1, 2 })
  local v, err = sg.timeout("1s", function() sg.sleep(5) return 1 end)
  eq(v, nil)
  eq(err.code, "timeout")
  fails("~inner", function() sg.timeout(1, function() error "inner" end) end)
end)

it "timeout inside timeout" (function()
  local v, err = sg.timeout(1, function()
    return sg.timeout(10, function() sg.sleep(20) end)
  end)
  eq(v, nil)
  eq(err.code, "timeout")
end)

it "channel hands over in order" (function()
  local ch, got = sg.channel(), {}
  sg.scope(function()
    sg.spawn(function()
      for i = 1, 3 do ch:send(i) end
      ch:close()
    end)
    for v in ch:each() do got[#got + 1] = v end
  end)
  eq(got, { 1, 2, 3 })
  eq(ch:recv(), nil)
  eq(ch:send(1), false)
end)

it "channel with room does not wait" (function()
  local ch = sg.channel(2)
  eq(took(function() ch:send "a" ch:send "b" end), 0.0)
  eq({ ch:recv(), ch:recv() }, { "a", "b" })
  local v, err = ch:recv(1)
  eq(v, nil)
  eq(err.code, "timeout")
end)

it "a receiver that was cancelled takes nothing" (function()
  local ch = sg.channel()
  local t = sg.spawn(function() return ch:recv() end)
  sg.sleep(0)
  t:cancel()
  t:await()
  local u = sg.spawn(function() return ch:recv() end)
  ch:send "x"
  eq(u:await(), "x")
end)

it "a script's own coroutines may wait" (function()
  local gen = coroutine.wrap(function()
    for i = 1, 2 do
      sg.sleep(1)
      coroutine.yield(i)
    end
  end)
  eq(took(function() eq({ gen(), gen() }, { 1, 2 }) end), 2.0)
end)

it "sort may wait and is stable" (function()
  local list = { { 2, "a" }, { 1, "b" }, { 2, "c" }, { 1, "d" } }
  table.sort(list, function(x, y) sg.sleep(0) return x[1] < y[1] end)
  eq(list, { { 1, "b" }, { 1, "d" }, { 2, "a" }, { 2, "c" } })
end)

it "gsub with a function that waits says what is wrong" (function()
  fails("~can't wait here", function() ("x"):gsub("x", function() sg.sleep(1) end) end)
end)

it "a thousand tasks" (function()
  local list = {}
  for i = 1, 1000 do list[i] = i end
  local out
  eq(took(function() out = sg.map(list, function(i) sg.sleep(1) return i end) end), 1.0)
  eq(#out, 1000)
end)
