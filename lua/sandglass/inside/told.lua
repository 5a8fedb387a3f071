-- Agents' own reports in one format for all protocols: texts put together from their pieces, calls
-- of tools from their updates. A report is recorded when it has news for the user. They are claims;
-- other events record the commands that ran.
local rt = require "sandglass.runtime"

local M = {}
local TEXT_MAX, DIFF_MAX, SAY_MAX = 16 << 10, 32 << 10, 160

-- As text: a table would be its address, which is another one each time.
local function str(v)
  if v == rt.core.null then return "" end
  if type(v) == "table" and not rt.is_error(v) then return rt.core.encode(v) end
  return tostring(v)
end
M.str = str

local function line_of(s)
  s = str(s):gsub("%s+", " ")
  if #s <= SAY_MAX then return s end
  local n = SAY_MAX - 3
  while n > 0 and (s:byte(n + 1) or 0) & 0xC0 == 0x80 do n = n - 1 end   -- not in the middle of a character
  return s:sub(1, n) .. "..."
end
M.line_of = line_of

local function short(s, max)
  if type(s) ~= "string" or #s <= max then return s end
  while max > 0 and (s:byte(max + 1) or 0) & 0xC0 == 0x80 do max = max - 1 end
  return s:sub(1, max)
end

local function given(v)
  if v == rt.core.null then return nil end
  return v
end
M.given = given

local TELLING = { pending = 1, in_progress = 1, completed = 2, failed = 2 }

-- t.put(what, say, fields); t.piece(what, text, id): a piece of a text or thought; t.flush();
-- t.aside(fn); t.call(id, fields): the news of a call; t.text: the last text, t.texts: the number
-- of texts. t.quiet: nothing is reported (while an earlier conversation is shown again).
function M.new(put)
  local t = { text = nil, texts = 0, quiet = false }
  local calls, open, usage = {}, nil, nil

  function t.put(what, say, fields)
    if t.quiet then return end
    t.flush()
    local body = fields or {}
    body.what, body.say = what, line_of(say)
    if what == "usage" then
      if body.say == usage then return end   -- some say the same again and again
      usage = body.say
    end
    put(body)
  end

  function t.flush()
    local o = open
    open = nil
    if not o then return end
    local text = table.concat(o.parts)
    if text == "" then return end
    if o.what == "text" then t.text, t.texts = text, t.texts + 1 end
    if not t.quiet then put { what = o.what, say = line_of(text), text = short(text, TEXT_MAX), text_bytes = #text > TEXT_MAX and #text or nil } end
  end

  -- Runs fn, which may report something in the middle of a text without ending the text.
  function t.aside(fn)
    local o = open
    open = nil
    fn()
    open = o
  end

  function t.piece(what, text, id)
    if type(text) ~= "string" then return end
    if open and (open.what ~= what or open.id ~= id) then t.flush() end
    open = open or { what = what, id = id, parts = {} }
    open.parts[#open.parts + 1] = text
  end

  -- fields that are there replace; told when it begins to be known by a title, and when it has ended.
  function t.call(id, fields)
    local c = calls[id] or { call = id, status = "pending" }
    calls[id] = c
    for k, v in pairs(fields) do c[k] = given(v) end
    for _, k in ipairs { "name", "title", "kind", "status" } do c[k] = c[k] ~= nil and str(c[k]) or nil end
    local stage = TELLING[c.status] or 1
    if stage <= (c.stage or 0) or (stage == 1 and not (c.title or c.name)) then return c end
    c.stage = stage
    local diffs = {}
    for i, d in ipairs(c.diffs or {}) do
      diffs[i] = { path = d.path, old = short(given(d.old), DIFF_MAX), new = short(given(d.new), DIFF_MAX) }
    end
    t.put("call", ("%s: %s"):format(c.status, c.title or c.name or id), {
      call = id, name = c.name, title = c.title and line_of(c.title), kind = c.kind, status = c.status, paths = c.paths, args = c.args,
      text = short(c.text, TEXT_MAX), diffs = #diffs > 0 and diffs or nil,
    })
    return c
  end
  function t.known(id) return calls[id] end

  function t.begin()
    t.flush()
    t.text = nil
  end
  return t
end

return M
