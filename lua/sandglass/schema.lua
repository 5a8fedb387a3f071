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
  if want == "integer" and kind == "number" and v == math.floor(v) then return math.tointeger(v) or v end
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
  if type(want) == "table" then
    for _, w in ipairs(want) do if is_kind(v, w) then return true end end
    return false
  end
  local kind = kind_of(v)
  return kind == want or (want == "number" and kind == "integer")
end

local validate

local function object(s, v, path)
  local out, properties = {}, s.properties or {}
  local function at(name) return path == "" and tostring(name) or path .. "." .. tostring(name) end
  for k, item in pairs(v) do
    local sub = properties[k]
    local known = sub ~= nil
    if not known then sub = s.additionalProperties end
    if not known and sub == false then
      return nil, ("no parameter '%s'%s"):format(at(k), check.suggest(k, properties))
    end
    if sub == nil then
      out[k] = item
    elseif not (known and item == core.null) then
      local good, wrong = validate(sub, item, at(k))
      if wrong then return nil, wrong end
      out[k] = good
    end
  end
  for name, sub in pairs(properties) do
    if out[name] == nil and type(sub) == "table" then out[name] = sub.default end
  end
  for _, name in ipairs(s.required or {}) do
    if out[name] == nil then return nil, ("parameter '%s' is missing"):format(at(name)) end
  end
  return out
end

local function listed(values)
  local words = {}
  for i, v in ipairs(values) do words[i] = tostring(v) end
  return table.concat(words, ", ")
end

local function characters(v) return utf8.len(v) or #v end
local function count(v) return #v end
local function less(n, at) return n < at end
local function more(n, at) return n > at end

-- Bounds of a value by its kind: keyword, what is measured, when it is wrong, in which words.
local NUMBER = {
  { "minimum", nil, less, "is less than %s" },
  { "maximum", nil, more, "is more than %s" },
  { "exclusiveMinimum", nil, function(n, at) return n <= at end, "is not more than %s" },
  { "exclusiveMaximum", nil, function(n, at) return n >= at end, "is not less than %s" },
}
local BOUNDS = {
  number = NUMBER, integer = NUMBER,
  string = {
    { "minLength", characters, less, "is shorter than %s characters" },
    { "maxLength", characters, more, "is longer than %s characters" },
  },
  array = {
    { "minItems", count, less, "has fewer than %s items" },
    { "maxItems", count, more, "has more than %s items" },
  },
}

local function out_of_bounds(s, v, path)
  for _, b in ipairs(BOUNDS[kind_of(v)] or {}) do
    local at, measure = s[b[1]], b[2]
    if type(at) == "number" and b[3](measure and measure(v) or v, at) then
      return ("parameter '%s' " .. b[4]):format(path, at)
    end
  end
end

local function any_of(forms, v, path)
  local wrong
  for _, sub in ipairs(forms) do
    local good, why = validate(sub, v, path)
    if not why then return good end
    wrong = wrong or why
  end
  if not wrong then return v end
  return nil, ("%s (none of its %d forms fits)"):format(wrong, #forms)
end

-- Type, choices, bounds and forms of one value; what is inside of it is not looked at.
local function shallow(s, v, path)
  if s.type and not is_kind(v, s.type) then
    local want = type(s.type) == "table" and table.concat(s.type, " or ") or s.type
    return nil, ("parameter '%s' is %s, %s is wanted"):format(path, kind_of(v), want)
  end
  local choices = s.enum or (s.const ~= nil and { s.const })
  if choices then
    local found
    for _, c in ipairs(choices) do found = found or c == v end
    if not found then
      return nil, ("parameter '%s' is '%s', one of %s is wanted"):format(path, tostring(v), listed(choices))
    end
  end
  local wrong = out_of_bounds(s, v, path)
  if wrong then return nil, wrong end
  local forms = s.anyOf or s.oneOf
  if forms then return any_of(forms, v, path) end
  return v
end

function validate(s, v, path)
  if s == false then return nil, ("parameter '%s' is not allowed"):format(path) end
  if type(s) ~= "table" then return v end
  local wrong
  v, wrong = shallow(s, repair(s, v), path)
  if wrong then return nil, wrong end
  local kind = kind_of(v)
  if kind == "array" and s.items ~= nil then
    local out = list {}
    for i, item in ipairs(v) do
      local good, bad = validate(s.items, item, path .. "[" .. i .. "]")
      if bad then return nil, bad end
      out[i] = good
    end
    return out
  end
  if kind == "object" and (s.properties or s.required or s.additionalProperties ~= nil) then
    return object(s, v, path)
  end
  return v
end

-- Arguments as the tool gets them (repaired, with defaults), or nil and one line for the model.
function M.check(schema, args)
  if type(args) ~= "table" then args = type(args) == "string" and core.decode(args) or args end
  if type(args) ~= "table" then return nil, "the arguments are not an object" end
  return object(schema, args, "")
end

return M
