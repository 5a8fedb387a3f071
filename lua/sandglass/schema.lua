-- Parameters of tools: the short form, JSON Schema, checking and repairing arguments.
--   "string what it is"   "integer? = 10 how many"   "enum(a,b) mode"   "string[] files"   "boolean?"   "any"
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local regex = require "sandglass.regex"
local core, fail = rt.core, rt.fail

local M = {}
local KINDS = { string = true, integer = true, number = true, boolean = true, object = true, any = true, enum = true }

local look = {}              -- looks at schemas before anything is checked by them
local root                   -- of the schema that is being checked: what "$ref" begins at
local strict, depth = false, 0
local DEEPEST = 200

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
    if not choices then fail("%s: enum: missing choices: enum(a,b)", where) end
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

-- A JSON Schema of an object from the short form; a complete schema stays unchanged. given: a
-- third-party schema, which its owner checks. Otherwise a keyword that can't be checked here is an
-- error, because the author would rely on it.
function M.compile(where, params, given)
  if params == nil then params = {} end
  check.arg(where, "params", params, "table")
  if params.type == "object" and type(params.properties) == "table" then
    if not given then look.schema(where, params) end
    return params
  end
  local properties, required = {}, list {}
  for name, text in pairs(params) do
    if type(name) ~= "string" then fail("%s: params holds names, not a list", where) end
    local optional
    if type(text) == "table" then
      if not given then look.schema(where .. ": parameter '" .. name .. "'", text) end
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

-- The most likely meaning of a model's argument: numbers and lists written as strings, one value
-- for a list.
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

local function object_of(s, v, path)
  local out, properties = {}, s.properties or {}
  local function at(name) return path == "" and tostring(name) or path .. "." .. tostring(name) end
  for k, item in pairs(v) do
    local sub = properties[k]
    local known = sub ~= nil
    if not known then sub = s.additionalProperties end
    if not known and sub == false then
      return nil, ("unknown parameter '%s'%s"):format(at(k), check.suggest(k, properties))
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

local function distinct(v)
  local seen = {}
  for _, item in ipairs(v) do
    local key = core.encode(item)
    if seen[key] then return false end
    seen[key] = true
  end
  return true
end

local function keys(v)
  local n = 0
  for _ in pairs(v) do n = n + 1 end
  return n
end

-- Bounds of a value by its kind: keyword, measure, comparison that fails, error text.
local NUMBER = {
  { "minimum", nil, less, "is less than %s" },
  { "maximum", nil, more, "is more than %s" },
  { "exclusiveMinimum", nil, function(n, at) return n <= at end, "is not more than %s" },
  { "exclusiveMaximum", nil, function(n, at) return n >= at end, "is not less than %s" },
  { "multipleOf", nil, function(n, at) return at > 0 and math.abs(n / at - math.floor(n / at + 0.5)) > 1e-9 end,
    "is not a multiple of %s" },
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
  object = {
    { "minProperties", keys, less, "has fewer than %s names" },
    { "maxProperties", keys, more, "has more than %s names" },
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

-- Does it fit as it is, with nothing repaired?
local function fits(s, v, path)
  local before = strict
  strict = true
  local _, wrong = validate(s, v, path)
  strict = before
  return wrong == nil
end

local function one_of(forms, v, path)
  local n = 0
  for _, sub in ipairs(forms) do n = n + (fits(sub, v, path) and 1 or 0) end
  if n > 1 then return nil, ("parameter '%s' fits %d of its forms, expected 1"):format(path, n) end
  return any_of(forms, v, path)
end

local function all_of(forms, v, path)
  for _, sub in ipairs(forms) do
    local wrong
    v, wrong = validate(sub, v, path)
    if wrong then return nil, wrong end
  end
  return v
end

-- "#/$defs/name" in the schema that is checked by.
function look.target(ref)
  local at = root
  local tail = ref:match "^#(.*)$"
  if not tail or tail ~= "" and tail:sub(1, 1) ~= "/" then return nil end
  for step in tail:gmatch "/([^/]*)" do
    step = step:gsub("%%(%x%x)", function(h) return string.char(tonumber(h, 16)) end):gsub("~1", "/"):gsub("~0", "~")
    if type(at) ~= "table" then return nil end
    local i = math.tointeger(tonumber(step))
    local below = at[step]
    if below == nil and i then below = at[i + 1] end
    at = below
  end
  return at
end

local function day_of(y, m, d)
  local last = { 31, (y % 4 == 0 and y % 100 ~= 0 or y % 400 == 0) and 29 or 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
  return m >= 1 and m <= 12 and d >= 1 and d <= last[m]
end

local function is_date(s)
  local y, m, d = s:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)$"
  return y ~= nil and day_of(tonumber(y), tonumber(m), tonumber(d))
end

local function is_time(s)
  local h, m, sec, rest = s:match "^(%d%d):(%d%d):(%d%d)(.*)$"
  rest = rest and rest:gsub("^%.%d+", "")
  return h ~= nil and tonumber(h) < 24 and tonumber(m) < 60 and tonumber(sec) <= 60
    and (rest:lower() == "z" or rest:match "^[+-]%d%d:%d%d$" ~= nil)
end

local function is_ipv4(s)
  local n = 0
  for part in (s .. "."):gmatch "([^.]*)%." do
    n = n + 1
    if not part:find "^%d%d?%d?$" or #part > 1 and part:sub(1, 1) == "0" or tonumber(part) > 255 then return false end
  end
  return n == 4
end

local FORMATS = {
  date = is_date, time = is_time, ipv4 = is_ipv4,
  ["date-time"] = function(s)
    local d, t = s:match "^(.-)[Tt ](.*)$"
    return d ~= nil and is_date(d) and is_time(t)
  end,
  email = function(s) return #s <= 254 and s:find "^[^%s@]+@[^%s@]+%.?[^%s@.]+$" ~= nil end,
  uri = function(s) return s:find "^%a[%w+.-]*:[^%s<>\"{}|\\^`%c]*$" ~= nil end,
  uuid = function(s) return s:gsub("%x", "h") == ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh") end,
  hostname = function(s)
    for part in (s .. "."):gmatch "([^.]*)%." do
      if #part > 63 or not part:find "^%w[%w-]*$" or part:sub(-1) == "-" then return false end
    end
    return s ~= "" and #s <= 253
  end,
  regex = function(s) return regex.compile(s) ~= nil end,
}

local compiled = {}

local function matches(pattern, v)
  if compiled[pattern] == nil then compiled[pattern] = regex.compile(pattern) or false end
  local m = compiled[pattern]
  return not m or (utf8.len(v) ~= nil and #v <= 65536 and regex.find(m, v))
end

local function text_wrong(s, v, path)
  if s.pattern and not matches(s.pattern, v) then
    return ("parameter '%s' does not match %s"):format(path, s.pattern)
  end
  local is = s.format and FORMATS[s.format]
  if is and not is(v) then return ("parameter '%s': expected %s"):format(path, s.format) end
end

local function same(a, b)
  if a == b then return true end
  return type(a) == "table" and type(b) == "table" and core.encode(a) == core.encode(b)
end

-- Type, choices, bounds, and formats of one value, without its contents.
local function shallow(s, v, path)
  if s.type and not is_kind(v, s.type) then
    local want = type(s.type) == "table" and table.concat(s.type, " or ") or s.type
    return nil, ("parameter '%s': expected %s, got %s"):format(path, want, kind_of(v))
  end
  local choices = s.enum or (s.const ~= nil and { s.const })
  if choices then
    local found
    for _, c in ipairs(choices) do found = found or same(c, v) end
    if not found then
      return nil, ("parameter '%s': expected one of %s, got '%s'"):format(path, listed(choices), tostring(v))
    end
  end
  local wrong = out_of_bounds(s, v, path) or type(v) == "string" and text_wrong(s, v, path)
  if wrong then return nil, wrong end
  if s.uniqueItems == true and kind_of(v) == "array" and not distinct(v) then
    return nil, ("parameter '%s' has an item twice"):format(path)
  end
  return v
end

-- Schemas over the same value: each may repair it.
local function combined(s, v, path)
  local wrong
  if s["$ref"] then
    local target = look.target(s["$ref"])
    if target == nil then return nil, ("the schema of '%s' points nowhere: %s"):format(path, s["$ref"]) end
    v, wrong = validate(target, v, path)
    if wrong then return nil, wrong end
  end
  for _, step in ipairs { { "allOf", all_of }, { "anyOf", any_of }, { "oneOf", one_of } } do
    if s[step[1]] then
      v, wrong = step[2](s[step[1]], v, path)
      if wrong then return nil, wrong end
    end
  end
  if s["not"] ~= nil and fits(s["not"], v, path) then
    return nil, ("parameter '%s' is what it must not be"):format(path)
  end
  return v
end

local function inside(s, v, path)
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
    return object_of(s, v, path)
  end
  return v
end

function validate(s, v, path)
  if s == false then return nil, ("parameter '%s' is not allowed"):format(path) end
  if type(s) ~= "table" then return v end
  if depth >= DEEPEST then return nil, ("parameter '%s' is nested too deeply"):format(path) end
  depth = depth + 1
  local wrong
  if not strict then v = repair(s, v) end
  v, wrong = shallow(s, v, path)
  if not wrong then v, wrong = combined(s, v, path) end
  if not wrong then v, wrong = inside(s, v, path) end
  depth = depth - 1
  if wrong then return nil, wrong end
  return v
end

-- Arguments as the tool gets them (repaired, with defaults), or nil and one line for the model.
function M.check(schema, args)
  if type(args) ~= "table" then args = type(args) == "string" and core.decode(args) or args end
  if type(args) ~= "table" then return nil, "the arguments are not an object" end
  root, strict, depth = schema, false, 0
  local wrong = out_of_bounds(schema, args, "")
  if not wrong then args, wrong = combined(schema, args, "") end
  if wrong then return nil, (wrong:gsub("parameter ''", "the whole", 1)) end
  return object_of(schema, args, "")
end

-- Looking at a schema when it is registered -------------------------------------------------------------------------

local function set(words)
  local t = {}
  for w in words:gmatch "%S+" do t[w] = true end
  return t
end
local CHECKED = set [[type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern
  format minItems maxItems uniqueItems items minProperties maxProperties properties required additionalProperties anyOf oneOf
  allOf not $ref $defs definitions default]]
local SAYS_ONLY = set [[title description examples example deprecated readOnly writeOnly $schema $id $comment $anchor
  contentMediaType contentEncoding nullable]]
local NOT_CHECKED = set [[patternProperties propertyNames prefixItems additionalItems contains minContains maxContains
  unevaluatedProperties unevaluatedItems dependentRequired dependentSchemas dependencies if then else $dynamicRef
  $recursiveRef contentSchema]]
local KINDS_OF = set "string integer number boolean object array null"
local SAY_FORMATS = set [[int32 int64 float double byte binary password json-pointer relative-json-pointer iri uri-reference
  uri-template iri-reference idn-email idn-hostname ipv6 duration]]

local function unsupported(where, key)
  fail("%s: unsupported schema keyword '%s'; leave it out, and check in `run`", where, key)
end

local function keyword(where, key, v)
  if key == "pattern" then
    check.arg(where, "pattern", v, "string")
    local _, wrong = regex.compile(v)
    if wrong then fail("%s: the pattern '%s' is not understood: %s", where, v:sub(1, 80), wrong) end
  elseif key == "format" then
    check.arg(where, "format", v, "string")
    if not FORMATS[v] and not SAY_FORMATS[v] then
      fail("%s: unknown format '%s'%s", where, v, check.suggest(v, FORMATS))
    end
  elseif key == "type" then
    for _, kind in ipairs(type(v) == "table" and v or { v }) do
      if not KINDS_OF[kind] then fail("%s: no type '%s'%s", where, tostring(kind), check.suggest(kind, KINDS_OF)) end
    end
  elseif key == "$ref" then
    check.arg(where, "$ref", v, "string")
    local target = look.target(v)
    if type(target) ~= "table" and type(target) ~= "boolean" then
      fail("%s: $ref '%s' points nowhere; only '#/...' within the schema is followed", where, v:sub(1, 80))
    end
  elseif key == "enum" or key == "required" then
    check.arg(where, key, v, "table")
  end
end

local ONE = set "not items additionalProperties"
local SOME = set "anyOf oneOf allOf"
local NAMED = set "properties $defs definitions"

-- A "$ref" that leads to itself without a step into the value.
local function in_circle(s, seen, n)
  if type(s) ~= "table" or n > 100 then return n > 100 end
  if seen[s] then return true end
  seen[s] = true
  local round = s["$ref"] and in_circle(look.target(s["$ref"]), seen, n + 1)
  for key in pairs(SOME) do
    for _, sub in ipairs(type(s[key]) == "table" and s[key] or {}) do round = round or in_circle(sub, seen, n + 1) end
  end
  round = round or s["not"] ~= nil and in_circle(s["not"], seen, n + 1)
  seen[s] = nil
  return round
end

local function walk(where, s, level)
  if type(s) == "boolean" then return end
  check.arg(where, "a schema", s, "table")
  if level > 50 then fail("%s: the schema is nested too deeply", where) end
  for key, v in pairs(s) do
    if type(key) ~= "string" then fail("%s: a schema holds names, not a list", where) end
    if NOT_CHECKED[key] then unsupported(where, key) end
    if not CHECKED[key] and not SAYS_ONLY[key] and key:sub(1, 2) ~= "x-" then
      fail("%s: the schema keyword '%s' is not known%s", where, key, check.suggest(key, CHECKED))
    end
    keyword(where, key, v)
    if key == "items" and core.metatable(v) == core.array_mt then unsupported(where, "items as a list") end
    if ONE[key] then walk(where, v, level + 1) end
    for name, sub in pairs((SOME[key] or NAMED[key]) and check.arg(where, key, v, "table") or {}) do
      walk(NAMED[key] and ("%s: '%s'"):format(where, name) or where, sub, level + 1)
    end
  end
  if s["$ref"] and in_circle(s, {}, 0) then fail("%s: $ref '%s' leads round in a circle", where, s["$ref"]) end
end

function look.schema(where, s)
  root = s
  walk(where, s, 0)
end

return M
