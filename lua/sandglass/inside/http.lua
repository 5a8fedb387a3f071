-- HTTP/1.1 and server-sent events with a server that listens in a box, over box:dial. Each connection is in the record, whole.
--   local c = http.new(box, port, { headers of every request })
--   c.ask(method, path, body?, headers?)   { status, headers, text, json? (decoded) }; or nil and an error. body: a table
--   c.events(path, headers?)               next(): { id?, event, data } or nil at its end; or nil and an error
--   c.close()
--   c.give_up()                            what is asked now gets no answer
-- c.wait: how long to retry a connection, in seconds.
local rt = require "sandglass.runtime"

local M = {}
local LINE_MAX, BODY_MAX = 1 << 20, 64 << 20

local function broken(what) return rt.err { code = "backend", msg = "the server in the sandbox " .. what } end

-- Reads bytes of a connection on demand; returns nil at its end.
local function reader(conn)
  local parts, held = {}, 0
  local function more()
    local data = conn:read()
    if not data then return false end
    parts[#parts + 1], held = data, held + #data
    return true
  end
  local function joined()
    if #parts > 1 then parts = { table.concat(parts) } end
    return parts[1] or ""
  end
  local function take(n)
    local s = joined()
    parts, held = { s:sub(n + 1) }, #s - n
    return s:sub(1, n)
  end
  local r = {}

  function r.line()
    local seen = 1
    while true do
      local s = joined()
      local nl = s:find("\n", seen, true)
      if nl then return (take(nl):gsub("\r?\n$", "")) end
      seen = #s + 1
      if held > LINE_MAX or not more() then return nil end
    end
  end

  function r.bytes(n)
    while held < n do if not more() then return nil end end
    return take(n)
  end

  function r.some()
    if held == 0 and not more() then return nil end
    return take(held)
  end
  return r
end

-- Status and headers; nil if the connection ends before.
local function head_of(r)
  local status, headers
  repeat
    local first = r.line()
    if not first then return nil end
    status = tonumber(first:match "^HTTP/1%.%d (%d%d%d)")
    if not status then return nil end
    headers = {}
    while true do
      local line = r.line()
      if not line then return nil end
      if line == "" then break end
      local name, value = line:match "^([^:]+):%s*(.-)%s*$"
      if name then headers[name:lower()] = value end
    end
  until status >= 200 or status == 101
  return math.tointeger(status), headers
end

-- The body in pieces: next() until nil; state.whole when all of it has come.
local function body_of(r, status, headers)
  local state = { whole = false }
  if status == 204 or status == 304 then
    state.whole = true
    return function() end, state
  end
  if (headers["transfer-encoding"] or ""):lower():find("chunked", 1, true) then
    return function()
      if state.whole then return nil end
      local size = tonumber((r.line() or ""):match "^%x+" or "", 16)
      if not size or size > BODY_MAX then return nil end
      if size > 0 then
        local piece = r.bytes(size)
        if piece then r.line() end
        return piece
      end
      repeat local line = r.line() until not line or line == ""
      state.whole = true
    end, state
  end
  local left = tonumber(headers["content-length"] or "")
  if not left then
    state.last = true   -- the end of the connection is its end
    return function()
      local piece = r.some()
      state.whole = not piece
      return piece
    end, state
  end
  return function()
    if left == 0 then
      state.whole = true
      return nil
    end
    local piece = r.bytes(math.min(left, 1 << 16))
    left = left - (piece and #piece or 0)
    return piece
  end, state
end

local function request(method, path, port, all)
  local lines = { ("%s %s HTTP/1.1"):format(method, path), "host: 127.0.0.1:" .. port }
  for _, set in ipairs(all) do
    for k, v in pairs(set) do lines[#lines + 1] = k .. ": " .. v end
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- next() of the events of a stream (the WHATWG's rules): the fields of one, at its empty line.
local function events_of(pieces)
  local rest, id = "", nil
  local function line()
    while true do
      local at, last = rest:find("\r\n", 1, true)
      local other = rest:find "[\r\n]"
      if other and not (at and at <= other) and not (other == #rest and rest:byte(other) == 13) then at, last = other, other end
      if at then
        local l = rest:sub(1, at - 1)
        rest = rest:sub(last + 1)
        return l
      end
      local piece = #rest <= BODY_MAX and pieces()
      if not piece then return nil end
      rest = rest .. piece
    end
  end
  return function()
    local data, event = nil, "message"
    while true do
      local l = line()
      if not l then return nil end
      if l == "" then
        if data then return { id = id, event = event, data = table.concat(data, "\n") } end
        event = "message"
      else
        local field, value = l:match "^([^:]*):? ?(.*)$"
        if field == "data" then
          data = data or {}
          data[#data + 1] = value
        elseif field == "event" then
          event = value
        elseif field == "id" then
          id = value
        end
      end
    end
  end
end

function M.new(box, port, headers)
  local c, idle, open, readers, asking = { wait = 0 }, {}, {}, {}, {}

  local function leave(conn)
    open[conn.id], readers[conn.id] = nil, nil
    conn:close()
  end

  -- A connection on which the request is under way, and the head of its answer.
  local function begin(text)
    while true do
      local conn = table.remove(idle)
      local again, err = conn ~= nil, nil
      if not conn then conn, err = box:dial(port, { wait = c.wait }) end
      if not conn then return nil, err end
      open[conn.id] = conn
      readers[conn.id] = readers[conn.id] or reader(conn)
      asking[conn.id] = conn
      local sent = conn:write(text)
      local status, head
      if sent then status, head = head_of(readers[conn.id]) end
      asking[conn.id] = nil
      if status then return conn, status, head end
      conn:kill()
      local _, why = conn:wait()
      leave(conn)
      if not again then return nil, why or broken "closed the connection" end
      -- it closed one that lay idle: a new one
    end
  end

  function c.ask(method, path, body, more)
    local text = body and rt.core.encode(body) or ""
    local own = { ["content-length"] = tostring(#text), ["content-type"] = body and "application/json" or nil, accept = "application/json" }
    local conn, status, head = begin(request(method, path, port, { headers, own, more or {} }) .. text)
    if not conn then return nil, status end
    local parts, size = {}, 0
    local pieces, state = body_of(readers[conn.id], status, head)
    for piece in pieces do
      parts[#parts + 1], size = piece, size + #piece
      if size > BODY_MAX then break end
    end
    if state.whole and not state.last and (head.connection or ""):lower() ~= "close" then idle[#idle + 1] = conn else leave(conn) end
    if not state.whole then return nil, broken "cut off its answer" end
    local answer = { status = status, headers = head, text = table.concat(parts) }
    answer.json = rt.core.decode(answer.text)
    return answer
  end

  function c.events(path, more)
    local conn, status, head = begin(request("GET", path, port, { headers, { accept = "text/event-stream" }, more or {} }))
    if not conn then return nil, status end
    if status ~= 200 then
      leave(conn)
      return nil, broken(("answers %d to %s"):format(status, path))
    end
    local next_event = events_of((body_of(readers[conn.id], status, head)))
    return function()
      local ev = next_event()
      if not ev then leave(conn) end
      return ev
    end
  end

  -- The client has left.
  function c.give_up()
    c.wait = 0
    for _, conn in pairs(asking) do conn:kill() end
  end

  function c.close()
    for _, conn in pairs(open) do leave(conn) end
    idle, open = {}, {}
  end
  return c
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

function M.basic(user, password)
  local s, out = user .. ":" .. password, {}
  for i = 1, #s, 3 do
    local a, b, c = s:byte(i, i + 2)
    local n = a << 16 | (b or 0) << 8 | (c or 0)
    for k = 18, 0, -6 do
      local at = n >> k & 63
      out[#out + 1] = ALPHABET:sub(at + 1, at + 1)
    end
    if not b then out[#out - 1] = "=" end
    if not c then out[#out] = "=" end
  end
  return "Basic " .. table.concat(out)
end

return M
