-- Commands of the programs that `sandglass serve` serves, with their output: part of sandglass.serve.
local rt = require "sandglass.runtime"
local sg = require "sandglass"

local OUTPUT = 16 << 20        -- bytes of a command's output kept for later requests; the recording has all

local M = {}

local function keep(c, stream, data)
  c.bytes = c.bytes + #data
  if c.bytes > OUTPUT then
    if not c.cut then c.pieces[#c.pieces + 1] = { "err", "\n[sandglass: more output than is kept here; all of it is in the record]\n" } end
    c.cut = true
    return
  end
  c.pieces[#c.pieces + 1] = { stream, data }
end

-- The output of a command: all of it, or that of one stream.
function M.printed(c, stream)
  local t = {}
  for _, one in ipairs(c.pieces) do if not stream or one[1] == stream then t[#t + 1] = one[2] end end
  return table.concat(t)
end

local function over(c, r, err)
  if r then
    c.signal = r.signal
    c.code = r.code or 128 + (math.type(r.signal) == "integer" and r.signal or 9)
    c.event = r.event
    return
  end
  c.event, c.wrong, c.timeout = err.event, err, err.code == "timeout"
  c.code = c.timeout and 124 or err.code == "denied" and 126 or err.code == "cancelled" and 137 or 125
  keep(c, "err", ("sandglass: %s\n"):format(tostring(err)))
end

local function new_command(a) return { pieces = {}, subs = {}, bytes = 0, text = a.cmd or a.argv[#a.argv] } end

local function tell(c, stream, data)
  local now = table.move(c.subs, 1, #c.subs, 1, {})   -- not who comes while it waits: he has had this piece
  for _, told in ipairs(now) do told(stream, data) end
end

local function arguments(b, a)
  local args = { box = b.box.id }
  for k, v in pairs(a) do args[k] = v end
  if next(args.env or {}) == nil then args.env = nil end
  return args
end

-- Runs a command to its end. a: args of the operation box.exec. One that was not allowed has run, with code 126 and the reason on
-- stderr: what the model sees is the truth. Returns { code, signal?, pieces, timeout?, wrong? }.
function M.run(b, a)
  local c, args = new_command(a), arguments(b, a)
  args.stream, args.parallel = true, b.busy > 0 or nil
  b.busy = b.busy + 1
  local ok, v, err = pcall(rt.call, "box.exec", args, function(body) keep(c, body.stream or "out", body.data or "") end)
  b.busy = b.busy - 1
  if not ok then error(v, 0) end
  over(c, v, err)
  return c
end

-- Starts a command; stdin_open: until it is closed. With pty = true, cols and rows it has a terminal, whose output is "out".
-- told(stream, data) for each piece, then told() once; it may wait.
function M.start(b, a, told)
  local c = new_command(a)
  c.subs[1] = told
  local stdin = a.stdin_open
  local args = arguments(b, a)
  args.stdin_open = nil
  local v, err = rt.call("box.spawn", args)
  if not v then error(err, 0) end
  c.proc, c.event = v.proc, v.event
  if not stdin then rt.call("proc.write", { proc = c.proc, data = "", eof = true }) end
  b.who.wants:send(function()
    local ok, r, why = pcall(function()
      while true do
        local piece = rt.call("proc.read", { proc = c.proc })
        if not piece or piece.eof then break end
        keep(c, piece.stream or "out", piece.data or "")
        tell(c, piece.stream or "out", piece.data or "")
      end
      return rt.call("proc.wait", { proc = c.proc })
    end)
    if not ok then r, why = nil, rt.as_error(r) end   -- its agent was stopped: nobody waits for it in vain
    local before = #c.pieces
    over(c, r, why)
    if ok then   -- who takes them may let us wait, and nobody does so once the agent is to end
      ok, why = pcall(function()
        for i = before + 1, #c.pieces do tell(c, c.pieces[i][1], c.pieces[i][2]) end
      end)
    end
    rt.shield(function() tell(c) end)
    if not ok then error(why, 0) end
  end)
  return c
end

function M.input(c, data, eof)
  local v, err = rt.call("proc.write", { proc = c.proc, data = data, eof = eof })
  if not v then error({ refused = 410, text = tostring(err), code = "COMMAND_ALREADY_COMPLETED" }, 0) end
end

function M.signal(c, signal) return rt.call("proc.kill", { proc = c.proc, signal = signal }) end

-- The size of its terminal.
function M.resize(c, cols, rows)
  local v, err = rt.call("proc.resize", { proc = c.proc, cols = cols, rows = rows })
  if not v then error(err, 0) end
  return v
end

-- All that a command says, from its beginning (later: from now on) to its end, as write(stream, data); returns when it has ended,
-- or when write is false: who listened has gone, and is forgotten.
function M.follow(c, write, later)
  local at = later and #c.pieces + 1 or 1
  while c.pieces[at] do   -- write may wait, and more come meanwhile
    if write(c.pieces[at][1], c.pieces[at][2]) == false then return end
    at = at + 1
  end
  if c.code then return end
  local over = sg.channel(1)
  local function told(stream, data)
    if not stream or write(stream, data) == false then over:close() end
  end
  c.subs[#c.subs + 1] = told
  local ok, e = pcall(over.recv, over)
  for i, one in ipairs(c.subs) do
    if one == told then
      table.remove(c.subs, i)
      break
    end
  end
  if not ok then error(e, 0) end
end

-- Runs a small text of ours in the box for an operation that has no other way: its words are the text's $1, $2...
function M.ask(b, text, ...)
  local c = M.run(b, { argv = { "sh", "-c", text, "sh", ... } })
  return c.code, M.printed(c, "out"), M.printed(c, "err"), c
end

return M
