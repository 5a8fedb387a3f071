-- Parameters of tools: the short form, JSON Schema, checking and repairing arguments.
--   "string what it is"   "integer? = 10 how many"   "enum(a,b) mode"   "string[] files"   "boolean?"   "any"
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local core, fail = rt.core, rt.fail

local M = {}
local KINDS = { string = true, integer = true, number = true, boolean = true, object = true, any = true, enum = true }

local function list(t) return setmetatable(t, core.array_mt) end

local function default_of(where, kind, text)
  if kind == "integer" or kind == "number" then
    return tonumber(text) or fail("%s: '%s' is not a number", where, text)
  end
  if kind == "boolean" then return text == "true" end
  return text
end

-- One short form: schema, optional.
local function short(where, text)
  local kind, rest = text:match "^(%a+)(.*)$"
  if not kind or not KINDS[kind] then
    fail("%s: '%s' is not a type%s", where, kind or text, kind and check.suggest(kind, KINDS) or "")
  end
  local s = { type = kind }
  if kind == "enum" then
    local choices
    choices, rest = rest:match "^%(([^)]*)%)(.*)$"
    if not choices then fail("%s: enum wants its choices: enum(a,b)", where) end
    s.type, s.enum = "string", list {}
    for c in choices:gmatch "[^,]+" do s.enum[#s.enum + 1] = c:match "^%s*(.-)%s*$" end
  elseif kind == "any" then
    s.type = nil
  end
  if rest:sub(1, 2) == "[]" then
    s, rest = { type = "array", items = s }, rest:sub(3)
  end
  local optional = rest:sub(1, 1) == "?"
  if optional then rest = rest:sub(2) end
  local value, about = rest:match "^%s*=%s*(%S+)%s*(.*)$"
  if value then
    s.default, optional = default_of(where, kind, value), true
    rest = about
  end
  rest = rest:match "^%s*(.-)%s*$"
  if rest ~= "" then s.description = rest end
  return s, optional
end

-- A JSON Schema of an object from the short form; a table that is a schema already stays as it is.
function M.compile(where, params)
  if params == nil then params = {} end
  check.arg(where, "params", params, "table")
  if params.type == "object" and type(params.properties) == "table" then return params end
  local properties, required = {}, list {}
  for name, text in pairs(params) do
    if type(name) ~= "string" then fail("%s: params holds names, not a list", where) end
    local optional
    if type(text) == "table" then
      properties[name] = text
    else
      check.arg(where, "parameter '" .. name .. "'", text, "string")
      properties[name], optional = short(where .. ": parameter '" .. name .. "'", text)
    end
    if not optional then required[#required + 1] = name end
  end
  return { type = "object", properties = properties, required = required, additionalProperties = false }
end

local function kind_of(v)
  local t = type(v)
  if t == "number" then return math.type(v) == "integer" and "integer" or "number" end
  if t ~= "table" then return t end
  if v == core.null then return "null" end
  return (#v > 0 or core.metatable(v) == core.array_mt) and "array" or "object"
end

-- What a model most likely meant: numbers and lists written as strings, one value for a list.
local function repair(s, v)
  local kind, want = kind_of(v), s.type
  if want == "integer" and kind == "number" and v == math.floor(v) then return math.tointeger(v) end
  if kind == "string" then
    if want == "integer" then return math.tointeger(tonumber(v)) or v end
    if want == "number" then return tonumber(v) or v end
    if want == "boolean" and (v == "true" or v == "false") then return v == "true" end
    if want == "array" or want == "object" then
      local parsed = core.decode(v)
      if type(parsed) == "table" and kind_of(parsed) == want then return parsed end
    end
  end
  if want == "array" and kind ~= "array" then
    if kind == "object" and next(v) == nil then return list {} end
    if kind ~= "object" or (s.items and s.items.type == "object") then return { v } end
  end
  if want == "string" and (kind == "integer" or kind == "number") then return tostring(v) end
  if want == "object" and kind == "array" and #v == 0 then return {} end
  return v
end

local function is_kind(v, want)
  local kind = kind_of(v)
  return kind == want or (want == "number" and kind == "integer")
end

local validate

local function object(s, v, path)
  local out = {}
  for k, item in pairs(v) do
    local sub = s.properties and s.properties[k]
    if sub and item ~= core.null then
      local good, wrong = validate(sub, item, path == "" and k or path .. "." .. k)
      if wrong then return nil, wrong end
      out[k] = good
    elseif not sub and s.properties and s.additionalProperties == false then
      return nil, ("no parameter '%s'%s"):format(path == "" and tostring(k) or path .. "." .. k,
        check.suggest(k, s.properties))
    else
      out[k] = item
    end
  end
  for _, name in ipairs(s.required or {}) do
    if out[name] == nil then
      return nil, ("parameter '%s' is missing"):format(path == "" and name or path .. "." .. name)
    end
  end
  for name, sub in pairs(s.properties or {}) do
    if out[name] == nil and sub.default ~= nil then out[name] = sub.default end
  end
  return out
end

function validate(s, v, path)
  v = repair(s, v)
  if s.type and not is_kind(v, s.type) then
    return nil, ("parameter '%s' is %s, %s is wanted"):format(path, kind_of(v), s.type)
  end
  if s.enum then
    local found
    for _, c in ipairs(s.enum) do found = found or c == v end
    if not found then
      return nil, ("parameter '%s' is '%s', one of %s is wanted"):format(path, tostring(v), table.concat(s.enum, ", "))
    end
  end
  if s.minimum and v < s.minimum then return nil, ("parameter '%s' is less than %s"):format(path, s.minimum) end
  if s.maximum and v > s.maximum then return nil, ("parameter '%s' is more than %s"):format(path, s.maximum) end
  if s.type == "array" and s.items then
    local out = list {}
    for i, item in ipairs(v) do
      local good, wrong = validate(s.items, item, path .. "[" .. i .. "]")
      if wrong then return nil, wrong end
      out[i] = good
    end
    return out
  end
  if s.type == "object" and (s.properties or s.required) then return object(s, v, path) end
  return v
end

-- Arguments as the tool gets them (repaired, with defaults), or nil and one line for the model.
function M.check(schema, args)
  if type(args) ~= "table" then args = type(args) == "string" and core.decode(args) or args end
  if type(args) ~= "table" then return nil, "the arguments are not an object" end
  return object(schema, args, "")
end

return M
