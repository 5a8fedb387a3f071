-- Small helpers for text and JSON.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local core = rt.core

local sg = { json = {} }

-- The last n lines.
function sg.tail(s, n)
  check.arg("tail", "the text", s, "string")
  check.arg("tail", "the number of lines", n, "integer?")
  n = n or 10
  local at, last = #s, s:sub(-1) == "\n" and #s - 1 or #s
  for _ = 1, n do
    at = last
    while at > 0 and s:byte(at) ~= 10 do at = at - 1 end
    if at == 0 then return s end
    last = at - 1
  end
  return s:sub(at + 1)
end

-- One word for sh, whatever is in it.
function sg.quote(s)
  check.arg("quote", "the text", s, "string")
  if s:find("\0", 1, true) then rt.fail "quote: an argument can't contain a NUL byte" end
  if s ~= "" and not s:find "[^%w@%%+=:,./_-]" then return s end
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

function sg.json.encode(v, o)
  o = check.options("json.encode", o, { pretty = "boolean" })
  local ok, text = pcall(core.encode, v, o.pretty)
  if not ok then rt.fail("json.encode: %s", text) end
  return text
end

-- The value, or nil and an error with code "io".
function sg.json.decode(text)
  check.arg("json.decode", "the text", text, "string")
  local v, wrong = core.decode(text)
  if v == nil and wrong then return nil, rt.err { code = "io", msg = wrong } end
  return v
end

-- "message.content[0].text": nil where something is missing. [0] is the first element, as in JSON.
function sg.json.path(v, path)
  check.arg("json.path", "the path", path, "string")
  for name, index in path:gmatch "([^.%[%]]*)%[?(%d*)%]?%.?" do
    if name ~= "" then
      if type(v) ~= "table" then return nil end
      v = v[name]
    end
    if index ~= "" then
      if type(v) ~= "table" then return nil end
      v = v[math.tointeger(index) + 1]
    end
  end
  if v == core.null then return nil end
  return v
end

-- Marks a table as a list, so that an empty one becomes [] and not {}.
function sg.json.list(t)
  check.arg("json.list", "the argument", t or {}, "table")
  return setmetatable(t or {}, core.array_mt)
end
sg.json.null = core.null

return { sg = sg }
